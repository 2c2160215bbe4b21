//! Who moves when: stages one after the other, the members of a stage side by side.

use super::config::{Named, RunConfig, ScheduleConfig, bad};
use crate::error::{Error, Result};
use crate::system::{Component, SubsystemId, SystemGraph, evaluation_order, strongly_connected};

/// Stages of a macro step, and how many steps each subsystem takes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// In order of time.
    pub stages: Vec<Vec<SubsystemId>>,
    /// Per subsystem: it moves every n-th step, by n steps.
    pub every: Vec<u32>,
}

impl Schedule {
    /// Resolves names and checks that every subsystem moves exactly once.
    pub fn new(config: &RunConfig, graph: &SystemGraph) -> Result<Self> {
        let stages = match &config.schedule {
            ScheduleConfig::Named(Named::Parallel) => vec![(0..graph.len()).collect()],
            ScheduleConfig::Named(Named::Sequence) => {
                automatic_order(graph).into_iter().map(|id| vec![id]).collect()
            }
            ScheduleConfig::Order(names) => {
                names.iter().map(|name| Ok(vec![graph.find(name)?])).collect::<Result<_>>()?
            }
            ScheduleConfig::Groups(groups) => groups
                .iter()
                .map(|names| names.iter().map(|name| graph.find(name)).collect())
                .collect::<Result<_>>()?,
        };
        check_once(&stages, graph)?;
        let mut every = vec![1; graph.len()];
        for (name, count) in &config.every {
            if *count == 0 {
                return Err(bad(&format!("run.every.{name}"), count, "must be at least 1"));
            }
            every[graph.find(name)?] = *count;
        }
        Ok(Schedule { stages, every })
    }

    /// True if some subsystem moves less often than the others.
    pub fn is_multi_rate(&self) -> bool {
        self.every.iter().any(|n| *n > 1)
    }
}

fn check_once(stages: &[Vec<SubsystemId>], graph: &SystemGraph) -> Result<()> {
    let mut seen = vec![false; graph.len()];
    for id in stages.iter().flatten() {
        if std::mem::replace(&mut seen[*id], true) {
            return Err(Error::Duplicate { kind: "schedule entry", name: graph.name(*id).into() }.into());
        }
    }
    match seen.iter().position(|s| !s) {
        Some(missing) => {
            Err(bad("run.schedule", graph.name(missing), "is missing: every subsystem must be named once"))
        }
        None => Ok(()),
    }
}

/// Along the connections; inside a cycle, outputs that depend on inputs of the same instant come after those that do not,
/// then the order of definition.
fn automatic_order(graph: &SystemGraph) -> Vec<SubsystemId> {
    let mut sources = vec![Vec::new(); graph.len()];
    for wire in graph.wires() {
        let to = graph.subsystem_of_input(wire.target);
        if wire.from != to {
            sources[to].push(wire.from);
        }
    }
    for wire in graph.message_wires().iter().filter(|wire| wire.from != wire.to) {
        sources[wire.to].push(wire.from);
    }
    let mut rank = vec![0; graph.len()];
    for (place, component) in evaluation_order(graph).iter().enumerate() {
        let members: Vec<SubsystemId> = match component {
            Component::Direct(ids) => ids.clone(),
            Component::Loop(outputs) => outputs.iter().map(|o| graph.subsystem_of_output(*o)).collect(),
        };
        members.iter().for_each(|id| rank[*id] = place + 1);
    }
    let mut order = Vec::with_capacity(graph.len());
    for mut component in strongly_connected(&sources) {
        component.sort_by_key(|id| (rank[*id], *id));
        order.extend(component);
    }
    order
}

//! Who advances when: stages in sequence, the members of a stage in parallel.

use super::config::{Named, RunConfig, ScheduleConfig};
use crate::coupling::{MethodInfo, methods};
use crate::error::{Error, Result, Subject, bad};
use crate::iteration::IterationKind;
use crate::system::{
    Component, OutputId, Signal, SubsystemId, SystemGraph, evaluation_order, feeders, is_cycle,
    strongly_connected, tear,
};
use std::ops::Range;

/// Stages of a macro step, and how many steps each subsystem takes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// In order of time.
    pub stages: Vec<Vec<SubsystemId>>,
    /// Per subsystem: it advances every n-th step, by n steps.
    pub every: Vec<u32>,
    /// Stages that are repeated together: the loops of an iteration of steps.
    pub loops: Vec<Range<usize>>,
}

impl Schedule {
    /// Resolves names and checks that every subsystem advances exactly once.
    pub fn new(config: &RunConfig, graph: &SystemGraph) -> Result<Self> {
        let is_repeated = config.iteration.as_ref().is_some_and(|i| i.kind == IterationKind::Step);
        let (stages, loops) = match is_repeated {
            true => iterated(config, graph)?,
            false => (Schedule::stages(config, graph)?, Vec::new()),
        };
        check_once(&stages, graph)?;
        let mut every = vec![1; graph.len()];
        for (name, count) in &config.every {
            if *count == 0 {
                return Err(bad(&format!("run.every.{name}"), count, "must be at least 1"));
            }
            every[graph.find(name)?] = *count;
        }
        let schedule = Schedule { stages, every, loops };
        if is_repeated && schedule.is_multi_rate() {
            return Err(Error::Unsupported {
                what: "step iteration with several rates".into(),
                reason: "the members of a loop repeat one common step; remove `every`".into(),
            }
            .into());
        }
        Ok(schedule)
    }

    /// The stages as the settings say.
    fn stages(config: &RunConfig, graph: &SystemGraph) -> Result<Vec<Vec<SubsystemId>>> {
        Ok(match &config.schedule {
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
        })
    }

    /// After how many macro steps all rates meet; as many as can be counted if that is beyond all counting.
    pub fn period(&self) -> u64 {
        self.period_of(0..self.every.len())
    }

    /// The same of some subsystems.
    pub(crate) fn period_of(&self, members: impl Iterator<Item = SubsystemId>) -> u64 {
        let divisor = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        members
            .map(|id| u64::from(self.every[id]))
            .fold(1_u64, |all, n| (all / divisor(all, n)).saturating_mul(n))
    }

    /// True if some subsystem advances less often than the others.
    pub fn is_multi_rate(&self) -> bool {
        self.every.iter().any(|n| *n > 1)
    }
}

fn check_once(stages: &[Vec<SubsystemId>], graph: &SystemGraph) -> Result<()> {
    let mut is_named = vec![false; graph.len()];
    for id in stages.iter().flatten() {
        if std::mem::replace(&mut is_named[*id], true) {
            return Err(Error::Duplicate { kind: "schedule entry", name: graph.name(*id).into() }.into());
        }
    }
    match is_named.iter().position(|s| !s) {
        Some(missing) => {
            Err(bad("run.schedule", graph.name(missing), "is missing: every subsystem must be named once"))
        }
        None => Ok(()),
    }
}

/// Along the connections; inside a cycle, outputs that depend on inputs of the same instant come after those that do not,
/// then the order of definition.
fn automatic_order(graph: &SystemGraph) -> Vec<SubsystemId> {
    let mut rank = vec![0; graph.len()];
    for (place, component) in evaluation_order(graph).iter().enumerate() {
        let members: Vec<SubsystemId> = match component {
            Component::Direct(ids) => ids.clone(),
            Component::Loop(outputs) => outputs.iter().map(|o| graph.subsystem_of_output(*o)).collect(),
        };
        members.iter().for_each(|id| rank[*id] = place + 1);
    }
    let mut order = Vec::with_capacity(graph.len());
    for mut component in strongly_connected(&feeders(graph)) {
        component.sort_by_key(|id| (rank[*id], *id));
        order.extend(component);
    }
    order
}

/// Stages, and which of them are repeated together.
type Staged = (Vec<Vec<SubsystemId>>, Vec<Range<usize>>);

/// With step iteration all subsystems advance along the connections: what feeds a loop before it, what it feeds after it. The
/// members of a loop move in the order in which it is cut.
fn iterated(config: &RunConfig, graph: &SystemGraph) -> Result<Staged> {
    if !matches!(config.schedule, ScheduleConfig::Named(_)) {
        return Err(Error::Unsupported {
            what: "a schedule with step iteration".into(),
            reason: "it advances subsystems along the connections, and loops in the order of their cuts; remove `schedule`"
                .into(),
        }
        .into());
    }
    if !config.coupling.interpolates() {
        return Err(Error::Unsupported {
            what: Subject::named(
                config.coupling.name(),
                format!("`{}` with step iteration", config.coupling.name()),
            ),
            reason: format!("inputs are interpolated between communication points; use {}", interpolating()),
        }
        .into());
    }
    let sources = feeders(graph);
    let (mut stages, mut loops): Staged = (Vec::new(), Vec::new());
    for members in strongly_connected(&sources) {
        let first = stages.len();
        if !is_cycle(&sources, &members) {
            let feeds = |stage: &Vec<SubsystemId>| sources[members[0]].iter().any(|s| stage.contains(s));
            let is_free = loops.last().is_none_or(|l| l.end < first);
            // Side by side with those before it, if nothing in between feeds it.
            match stages.last_mut() {
                Some(last) if is_free && !feeds(last) => last.push(members[0]),
                _ => stages.push(members),
            }
        } else {
            stages.extend(levels(graph, &members));
            loops.push(first..stages.len());
        }
    }
    Ok((stages, loops))
}

/// Methods that step iteration takes: `zoh` (constant), `foh` (linear) or others.
fn interpolating() -> String {
    let named = |info: &MethodInfo| Some(format!("`{}` ({})", info.name, info.interpolates?));
    let all: Vec<String> = methods().into_iter().filter_map(named).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "no iteration".into(),
    }
}

/// Subsystems that feed each other: a loop for the iteration of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubsystemLoop {
    /// Its members.
    pub members: Vec<SubsystemId>,
    /// Outputs that are guessed.
    pub torn: Vec<OutputId>,
    /// True if no smaller set of outputs cuts the loop, false if a heuristic found it.
    pub is_smallest: bool,
}

/// All loops of subsystems, algebraic or not.
pub fn subsystem_loops(graph: &SystemGraph) -> Vec<SubsystemLoop> {
    let sources = feeders(graph);
    let cut = |members: Vec<SubsystemId>| {
        let (signals, outputs) = signals(graph, &members);
        let tearing = tear(members.len(), &signals);
        let torn = tearing.torn.iter().map(|s| outputs[*s]).collect();
        SubsystemLoop { members, torn, is_smallest: tearing.is_smallest }
    };
    let loops = strongly_connected(&sources).into_iter().filter(|members| is_cycle(&sources, members));
    loops.map(cut).collect()
}

/// What the members of a loop give each other, and the outputs that are.
fn signals(graph: &SystemGraph, members: &[SubsystemId]) -> (Vec<Signal>, Vec<OutputId>) {
    let place = |id: SubsystemId| members.binary_search(&id).ok();
    let (mut signals, mut outputs) = (Vec::new(), Vec::new());
    for (from, &id) in members.iter().enumerate() {
        for output in graph.outputs_of(id) {
            let wires = graph.wires_from(id).iter().map(|w| graph.wires()[*w]);
            let targets = wires.filter(|w| w.source == output).map(|w| graph.subsystem_of_input(w.target));
            let to: Vec<usize> = targets.filter_map(place).collect();
            if !to.is_empty() {
                signals.push(Signal { from, to, weight: 1 });
                outputs.push(output);
            }
        }
    }
    (signals, outputs)
}

/// The members of a loop in stages: each is fed by earlier stages and torn outputs alone.
fn levels(graph: &SystemGraph, members: &[SubsystemId]) -> Vec<Vec<SubsystemId>> {
    let (signals, _) = signals(graph, members);
    let tearing = tear(members.len(), &signals);
    let mut level = vec![0; members.len()];
    for &node in &tearing.order {
        for (s, signal) in signals.iter().enumerate().filter(|(_, signal)| signal.from == node) {
            if !tearing.torn.contains(&s) {
                signal.to.iter().for_each(|to| level[*to] = level[*to].max(level[node] + 1));
            }
        }
    }
    let count = level.iter().max().map_or(0, |most| most + 1);
    let of = |l: usize| (0..members.len()).filter(|k| level[*k] == l).map(|k| members[k]).collect();
    (0..count).map(of).collect()
}

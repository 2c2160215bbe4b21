//! Changes of parameters and free inputs at given times.

use super::config::bad;
use crate::error::{Error, Result};
use crate::system::{InputId, SubsystemId, SystemGraph, VariableId, VariableKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[[at]] time = 1.0, set = { "left.m" = 12 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub time: f64,
    /// New values by full name.
    pub set: BTreeMap<String, f64>,
}

/// What a change acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    Variable(SubsystemId, VariableId),
    FreeInput(InputId),
}

/// One value to be set at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Assignment {
    pub(super) time: f64,
    pub(super) target: Target,
    pub(super) value: f64,
}

/// All assignments in order of time.
pub(super) fn resolve(changes: &[Change], graph: &SystemGraph) -> Result<Vec<Assignment>> {
    let mut assignments = Vec::new();
    for change in changes {
        for (name, value) in &change.set {
            for (what, number) in [("time", change.time), (name.as_str(), *value)] {
                if !number.is_finite() {
                    return Err(Error::NotFinite { place: format!("at.{what}"), value: number }.into());
                }
            }
            let target = target(name, graph)?;
            assignments.push(Assignment { time: change.time, target, value: *value });
        }
    }
    assignments.sort_by(|a, b| a.time.total_cmp(&b.time));
    Ok(assignments)
}

/// Parameters, states and inputs that nothing is connected to can be set.
pub(super) fn target(name: &str, graph: &SystemGraph) -> Result<Target> {
    let (id, variable) = graph.split_name(name, "variable")?;
    let ports = graph.ports(id);
    let settable = ports.all().filter(|(v, _)| v.kind != VariableKind::Output);
    let known = || settable.map(|(_, v)| format!("{}.{}", graph.name(id), v.name)).collect();
    // What can be set comes first: a state may share its name with an output.
    let order = [VariableKind::Parameter, VariableKind::Input, VariableKind::Local, VariableKind::Output];
    let found = order.into_iter().find_map(|kind| {
        let index = ports.find(kind, variable)?;
        Some(VariableId { kind, index })
    });
    match found {
        None => Err(Error::Unknown { kind: "parameter or input", name: name.into(), known: known() }.into()),
        Some(VariableId { kind: VariableKind::Input, index }) => {
            let input = graph.inputs_of(id).start + index;
            if graph.is_free(input) {
                Ok(Target::FreeInput(input))
            } else {
                Err(bad("at.set", name, "is connected; only unconnected inputs can be set"))
            }
        }
        Some(VariableId { kind: VariableKind::Output, .. }) => {
            Err(bad("at.set", name, "is an output; only parameters and unconnected inputs can be set"))
        }
        Some(variable) => Ok(Target::Variable(id, variable)),
    }
}

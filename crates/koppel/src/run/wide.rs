//! Integers with more digits than a floating-point number has: they are refused where somebody uses them, and only there.

use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::record::{Record, Source};
use crate::system::{OutputId, VariableId, VariableKind};

/// Up to here every whole number is a floating-point number; this one may also be the next, rounded.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// An output that must be exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct WideOutput {
    output: OutputId,
    /// By whom, for messages.
    used: &'static str,
}

impl Simulation {
    /// Outputs of that kind which are connected, asked for by name, or looked at by the stop condition. Those which are
    /// recorded with all others are rounded.
    pub(super) fn wide_outputs(&self, record: &Record) -> Vec<WideOutput> {
        let is_all = record.patterns().contains(&"all");
        let recorded =
            self.columns.list().iter().filter(|_| !is_all).filter_map(|column| match column.source {
                Source::Variable { subsystem, variable } => Some((subsystem, variable)),
                _ => None,
            });
        let recorded: Vec<_> = recorded.collect();
        let watched = self.condition.as_ref().map_or(&[][..], |condition| condition.variables());
        let mut list = Vec::new();
        for slot in &self.slots {
            let wide = self.graph.ports(slot.id).outputs.iter().enumerate().filter(|(_, port)| port.is_wide);
            for (index, _) in wide {
                let output = slot.outputs.start + index;
                let this = (slot.id, VariableId { kind: VariableKind::Output, index });
                let used = match () {
                    () if self.graph.wires().iter().any(|wire| wire.source == output) => "connected",
                    () if recorded.contains(&this) => "recorded",
                    () if watched.contains(&this) => "part of the stop condition",
                    () => continue,
                };
                list.push(WideOutput { output, used });
            }
        }
        list
    }

    /// Refuses those that are not exact.
    pub(super) fn check_exact(&self, time: f64) -> Result<()> {
        let value = |wide: &WideOutput| self.board.outputs[wide.output];
        match self.wide.iter().find(|wide| value(wide).abs() >= LARGEST) {
            Some(wide) => Err(Error::NotExact {
                output: self.graph.output_name(wide.output),
                value: value(wide),
                time,
                used: wide.used,
            }
            .into()),
            None => Ok(()),
        }
    }
}

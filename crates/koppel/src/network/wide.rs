//! Integers with more digits than a floating-point number has: they are refused where somebody uses them, and only there.

use crate::error::{Error, Result};
use crate::record::{Columns, Condition, Record, Source};
use crate::system::{OutputId, SystemGraph, VariableId, VariableKind};

/// Up to here every whole number is a floating-point number; this one may also be the next, rounded.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Outputs that must be exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct WideOutputs(Vec<WideOutput>);

/// One of them.
#[derive(Clone, Copy, Debug)]
struct WideOutput {
    output: OutputId,
    /// By whom, for messages.
    used: &'static str,
}

impl WideOutputs {
    /// Wide outputs which are connected, recorded by name, or part of the stop condition. Those which are
    /// recorded with all others are rounded.
    pub(crate) fn new(
        graph: &SystemGraph,
        record: &Record,
        columns: &Columns,
        condition: Option<&Condition>,
    ) -> Self {
        let is_all = record.patterns().contains(&"all");
        let recorded = columns.list().iter().filter(|_| !is_all).filter_map(|column| match column.source {
            Source::Variable { subsystem, variable } => Some((subsystem, variable)),
            _ => None,
        });
        let recorded: Vec<_> = recorded.collect();
        let watched = condition.map_or(&[][..], |condition| condition.variables());
        let mut list = Vec::new();
        for id in 0..graph.len() {
            let wide = graph.ports(id).outputs.iter().enumerate().filter(|(_, port)| port.is_wide);
            for (index, _) in wide {
                let output = graph.outputs_of(id).start + index;
                let this = (id, VariableId { kind: VariableKind::Output, index });
                let used = match () {
                    () if graph.wires().iter().any(|wire| wire.source == output) => "connected",
                    () if recorded.contains(&this) => "recorded",
                    () if watched.contains(&this) => "part of the stop condition",
                    () => continue,
                };
                list.push(WideOutput { output, used });
            }
        }
        WideOutputs(list)
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses those that are not exact.
    pub(crate) fn check(&self, graph: &SystemGraph, outputs: &[f64], time: f64) -> Result<()> {
        match self.0.iter().find(|wide| outputs[wide.output].abs() >= LARGEST) {
            Some(wide) => Err(Error::NotExact {
                output: graph.output_name(wide.output),
                value: outputs[wide.output],
                time,
                used: wide.used,
            }
            .into()),
            None => Ok(()),
        }
    }
}

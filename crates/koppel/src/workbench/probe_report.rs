//! What exciting the subsystems before a run has shown, for the user.

use crate::identify::{Origin, Probed, Range};
use crate::linalg::Complex;
use crate::system::{SubsystemId, SystemGraph};
use serde::Serialize;

/// Of one subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Its name.
    pub subsystem: String,
    /// Inputs that were excited, with the ranges they are measured by.
    pub inputs: Vec<PortRange>,
    /// Outputs, with the same.
    pub outputs: Vec<PortRange>,
    /// Amplitude of the excitation, relative to the ranges of the inputs.
    pub amplitude: Option<f64>,
    /// How many nodes of the past its model uses.
    pub order: Option<usize>,
    /// Error of its model over one step ahead on data kept back, relative to the ranges.
    pub error: Option<f64>,
    /// Poles of its model in 1/s, slowest first; of a pair the one above the real axis.
    pub poles: Vec<Pole>,
    /// Time it took.
    pub seconds: f64,
    /// Calls of its stepping function, or sub-steps of a native model; 0 if all was known.
    pub step_calls: u64,
    /// All was known from an earlier run.
    pub from_cache: bool,
    /// Why there is no model.
    pub reason: Option<String>,
    /// If there is none: the connections that begin as holds.
    pub connections: Vec<String>,
}

/// A pole in 1/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pole {
    /// Real part: negative if it decays.
    pub re: f64,
    /// Imaginary part, not negative.
    pub im: f64,
}

impl From<Complex> for Pole {
    fn from(z: Complex) -> Self {
        Pole { re: z.re, im: z.im }
    }
}

/// How much a signal moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortRange {
    /// Name of the port.
    pub name: String,
    /// Its unit.
    pub unit: Option<String>,
    /// The range.
    pub range: f64,
    /// Where it comes from.
    pub from: Origin,
}

impl ProbeReport {
    /// In place of one of an earlier round, whose work is added.
    pub(super) fn after(self, before: Option<&ProbeReport>) -> Self {
        let Some(before) = before else { return self };
        ProbeReport {
            seconds: self.seconds + before.seconds,
            step_calls: self.step_calls + before.step_calls,
            from_cache: self.from_cache && before.from_cache,
            ..self
        }
    }

    /// Of one subsystem; `tau` is its sub-step.
    pub(super) fn new(
        graph: &SystemGraph,
        id: SubsystemId,
        probed: &Probed,
        outputs: &[Option<Range>],
        tau: f64,
    ) -> Self {
        let ports = graph.ports(id);
        let inputs = probed.inputs.iter().zip(&probed.input_ranges).map(|(place, range)| PortRange {
            name: ports.inputs[*place].name.clone(),
            unit: ports.inputs[*place].unit.clone(),
            range: *range,
            from: Origin::Sources,
        });
        let ranges = outputs.iter().zip(&probed.output_ranges);
        let outputs = ports.outputs.iter().zip(ranges).map(|(port, (known, range))| PortRange {
            name: port.name.clone(),
            unit: port.unit.clone(),
            range: *range,
            from: known.map_or(Origin::Assumed, |known| known.origin),
        });
        let fit = probed.fit.as_ref();
        let wires = graph.wires().iter().enumerate();
        let mut leaving: Vec<String> = wires
            .filter(|(_, wire)| graph.outputs_of(id).contains(&wire.source) && fit.is_none())
            .flat_map(|(number, _)| {
                (0..graph.inputs()).filter(move |i| graph.wires_into(*i).contains(&number))
            })
            .map(|input| graph.connection_name(input))
            .collect();
        leaving.dedup();
        ProbeReport {
            subsystem: graph.name(id).into(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            amplitude: fit.map(|_| probed.amplitude),
            order: fit.map(crate::identify::NodeFit::order),
            error: fit.map(|fit| fit.error),
            poles: fit.map_or_else(Vec::new, |fit| fit.poles(tau).into_iter().map(Pole::from).collect()),
            reason: probed.reason.clone(),
            connections: leaving,
            ..ProbeReport::default()
        }
    }
}

//! Deferred correction: what an input lacked over the last step, on average, is given back in the next.
//!
//!   correction = (1/H) ∫ (v - u_ex) dt     over the step that has ended
//!
//! v is what should have arrived, u_ex the last extrapolation without its own correction (`extrapolated`), or what was
//! really given (`applied`).

use super::View;
use crate::error::{Result, bad};
use crate::system::{InputId, SubsystemId, Wire};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// What the correction is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The last extrapolation without its correction.
    #[default]
    Extrapolated,
    /// The input as it was given, correction included.
    Applied,
}

/// Largest gain against the applied input under Gauss-Seidel.
const LARGEST_GAIN: f64 = 0.9;

/// Corrections of all inputs, and means of all outputs over the last step.
#[derive(Clone, Debug)]
pub(super) struct Deferred {
    against: Against,
    gain: f64,
    /// Gain times the equation above.
    pub(super) correction: Vec<f64>,
    /// Means of the outputs over the last step of their subsystem.
    pub(super) means: Vec<f64>,
    /// Outputs at its start.
    before: Vec<f64>,
    is_under_way: bool,
}

impl Deferred {
    pub(super) fn new(against: Against, gain: f64) -> Self {
        let empty = Vec::new;
        Deferred { against, gain, correction: empty(), means: empty(), before: empty(), is_under_way: false }
    }

    /// Refuses what does not decay: against the applied input the correction c answers itself, c^{k+1} = -α c^k + ..., and what
    /// the subsystems add to that, of the size of the step, has the wrong sign under Gauss-Seidel.
    pub(super) fn start(&mut self, view: &View<'_>) -> Result<()> {
        if self.against == Against::Applied && self.gain > LARGEST_GAIN && view.stages.iter().any(|s| *s > 0)
        {
            let problem = format!(
                "is too large for against = \"applied\" in a sequential schedule: the correction would not decay; use at most {LARGEST_GAIN}, against = \"extrapolated\", or schedule = \"parallel\""
            );
            return Err(bad("gain", self.gain, &problem));
        }
        let inputs = view.graph.inputs();
        self.correction = vec![0.0; inputs];
        self.means = view.outputs.to_vec();
        self.before = view.outputs.to_vec();
        self.is_under_way = false;
        Ok(())
    }

    /// Mean of a subsystem's outputs over the step it has taken.
    pub(super) fn note(&mut self, view: &View<'_>, id: SubsystemId, samples: &crate::signal::Samples) {
        let range = view.graph.outputs_of(id);
        if samples.mean(&mut self.means[range.clone()]).is_none() {
            for output in range {
                self.means[output] = 0.5 * (self.before[output] + view.outputs[output]);
            }
        }
    }

    /// The past of outputs that have jumped counts no more. Before [`Deferred::prepare`].
    pub(super) fn follow_jumps(&mut self, view: &View<'_>) {
        for range in view.jumped().map(|id| view.graph.outputs_of(id)) {
            self.means[range.clone()].copy_from_slice(&view.outputs[range]);
        }
    }

    /// Corrections for the step ahead, with `mean(wire)` what arrived on a wire, on average.
    pub(super) fn prepare(&mut self, view: &View<'_>, last_size: f64, mean: impl Fn(&Wire) -> f64) {
        for input in 0..self.correction.len() {
            let wires = &view.graph.wires()[view.graph.wires_into(input)];
            if !self.is_under_way || wires.is_empty() {
                continue;
            }
            let newest = view.given(input, last_size) - self.correction[input];
            // Its past says nothing of what follows.
            if wires.iter().any(|wire| view.has_jumped[wire.from]) {
                self.correction[input] = 0.0;
                continue;
            }
            let given = match self.against {
                Against::Applied => mean_given(view, input, last_size),
                Against::Extrapolated => newest,
            };
            let arrived = view.graph.offset(input) + wires.iter().map(&mean).sum::<f64>();
            self.correction[input] = self.gain * (arrived - given);
        }
        self.before.copy_from_slice(view.outputs);
        self.is_under_way = true;
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        for list in [&mut self.correction, &mut self.means, &mut self.before] {
            tape.values(list);
        }
        tape.flag(&mut self.is_under_way);
    }
}

/// Mean of what an input was given over the step that has ended.
pub(super) fn mean_given(view: &View<'_>, input: InputId, size: f64) -> f64 {
    view.predicted.mean(input, size)
}

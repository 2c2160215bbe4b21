//! Step 1 on learned models: how far outputs are from those of an ideal coupling.
//!
//!   δ^k = (I - J_1 L)⁻¹ [J_y δ^{k-1} + J_1 ε^k + older terms]                         (2.57)
//!
//! | symbol   | meaning                                        | here                |
//! | ε        | L y - u at communication points, corrected by (2.58) | `epsilon`     |
//!
//! Genser 2020, 2.2.2. `J_0` is zero: the input of the step before counts as known.

use super::past::Past;
use crate::coupling::View;
use crate::coupling::deferred::mean_given;
use crate::coupling::model_based::{wired, wired_linear};
use crate::identify::{Identifier, IdentifyConfig, InterfaceModel};
use crate::linalg::Lu;
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId};
use crate::tape::Tape;

/// δ, and what it follows from.
#[derive(Default)]
pub(super) struct Distance {
    pub(super) delta: Vec<f64>,
    pub(super) past: Past,
    /// Means of the outputs over the last step, and outputs as it left them.
    means: Vec<f64>,
    ended: Vec<f64>,
    /// L y at the last communication point.
    arrived: Vec<f64>,
    epsilon: Vec<f64>,
    /// What (2.58) adds to ε.
    correction: Vec<f64>,
    wired: Vec<f64>,
    next: Vec<f64>,
}

impl Distance {
    /// For models that are learned as `config` says.
    pub(super) fn new(
        identifiers: &[Identifier],
        config: impl Fn(SubsystemId) -> IdentifyConfig,
        view: &View<'_>,
    ) -> Self {
        let (of_inputs, of_outputs) = (vec![0.0; view.graph.inputs()], vec![0.0; view.graph.outputs()]);
        Distance {
            past: Past::new(identifiers, config, view),
            means: view.outputs.to_vec(),
            ended: view.outputs.to_vec(),
            arrived: view.history.arrivals().to_vec(),
            delta: of_outputs.clone(),
            next: of_outputs,
            epsilon: of_inputs.clone(),
            correction: of_inputs.clone(),
            wired: of_inputs,
        }
    }

    /// Takes what was seen of a subsystem inside the step.
    pub(super) fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) {
        let range = view.graph.outputs_of(subsystem);
        self.ended[range.clone()].copy_from_slice(&view.outputs[range.clone()]);
        if samples.mean(&mut self.means[range.clone()]).is_none() {
            self.means[range.clone()].copy_from_slice(&view.outputs[range]);
        }
    }

    /// Notes what has arrived at the communication point.
    pub(super) fn arrive(&mut self, view: &View<'_>) {
        self.arrived.copy_from_slice(view.history.arrivals());
    }

    /// While models are not trusted nothing is known of δ.
    pub(super) fn forget(&mut self) {
        self.delta.fill(0.0);
        self.past.forget();
    }

    /// (2.57), with ε corrected to its mean over a step of the size `last` if one is given, (2.58) to (2.60).
    pub(super) fn solve(
        &mut self,
        view: &View<'_>,
        (models, identifiers): (&[InterfaceModel], &[Identifier]),
        closed: &Lu,
        last: Option<f64>,
    ) {
        // With outputs as the step left them: a jump from outside at this instant is none of the coupling's.
        wired(view, &self.ended, &mut self.epsilon);
        wired(view, &self.means, &mut self.wired);
        for input in 0..self.epsilon.len() {
            if view.graph.is_free(input) {
                (self.epsilon[input], self.correction[input]) = (0.0, 0.0);
                continue;
            }
            self.epsilon[input] -= view.applied[input];
            self.correction[input] = last.map_or(0.0, |size| self.correction(view, input, size));
        }
        for (id, model) in models.iter().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            for (row, output) in y.clone().enumerate() {
                let mut sum: f64 =
                    model.s_y.row(row).iter().zip(&self.delta[y.clone()]).map(|(a, b)| a * b).sum();
                sum += self.past.sum(view, id, row, identifiers);
                for (column, input) in u.clone().enumerate() {
                    sum += model.s_d[(row, column)] * (self.epsilon[input] + self.correction[input]);
                }
                self.next[output] = sum;
            }
        }
        closed.solve_in_place(&mut self.next);
        std::mem::swap(&mut self.delta, &mut self.next);
        // δ of the start of the step is in `next` now.
        wired_linear(view, &self.delta, &mut self.wired);
        let Distance { past, epsilon, correction, wired, next, .. } = self;
        past.push(next, |input| epsilon[input] + correction[input] + wired[input] - view.graph.offset(input));
    }

    /// What (2.58) adds to ε of an input; its mean is in `wired`.
    fn correction(&self, view: &View<'_>, input: InputId, size: f64) -> f64 {
        // At the start of the step inputs may have jumped: ε after that.
        let begin = self.arrived[input] - view.given(input, 0.0);
        self.wired[input] - mean_given(view, input, size) - 0.5 * (self.epsilon[input] + begin)
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        let Distance { delta, means, ended, arrived, .. } = self;
        [delta, means, ended, arrived].into_iter().for_each(|list| tape.values(list));
        self.past.state(tape);
    }
}

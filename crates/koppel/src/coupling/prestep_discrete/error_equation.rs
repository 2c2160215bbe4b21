//! Step 1 in discrete time.

use super::PrestepDiscrete;
use crate::coupling::View;
use crate::coupling::deferred::mean_given;
use crate::coupling::model_based::{ErrorEquationConfig, wired, wired_linear};
use crate::system::InputId;

impl PrestepDiscrete {
    /// While models are not trusted nothing is known of δ; ε goes on, for the step in which they are.
    pub(super) fn rest(&mut self, view: &View<'_>) {
        self.delta.fill(0.0);
        self.older.forget();
        self.see(view);
        self.epsilon.copy_from_slice(&self.now);
    }

    /// ε with outputs as the step left them: a jump from outside at this instant is none of the coupling's.
    fn see(&mut self, view: &View<'_>) {
        wired(view, &self.ended, &mut self.now);
        for (input, epsilon) in self.now.iter_mut().enumerate() {
            *epsilon = if view.graph.is_free(input) { 0.0 } else { *epsilon - view.applied[input] };
        }
    }

    /// (2.57) with ε corrected to the mean seen inside the step, (2.58) to (2.60).
    pub(super) fn solve_error_equation(&mut self, view: &View<'_>) {
        if self.settings.error_equation == ErrorEquationConfig::Reset || !self.is_under_way {
            self.delta.fill(0.0);
            self.older.forget();
        }
        self.see(view);
        wired_linear(view, &self.delta, &mut self.inputs);
        wired(view, &self.means, &mut self.ideal);
        self.errors.fill(0.0);
        for (id, model) in self.models.iter().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            for (row, output) in y.clone().enumerate() {
                let mut sum: f64 =
                    model.s_y.row(row).iter().zip(&self.delta[y.clone()]).map(|(a, b)| a * b).sum();
                sum += self.older.sum(view, id, row, &self.identifiers);
                for (column, input) in u.clone().enumerate() {
                    let now = self.now[input];
                    let last = self.epsilon[input];
                    let correction = self.correction(view, input);
                    let wired = self.inputs[input] - view.graph.offset(input);
                    sum += model.s_u[(row, column)] * (wired + last + correction);
                    sum += model.s_d[(row, column)] * (now + correction);
                }
                self.errors[output] = sum;
            }
        }
        self.closed.solve_in_place(&mut self.errors);
        std::mem::swap(&mut self.delta, &mut self.errors);
        self.remember(view);
        self.epsilon.copy_from_slice(&self.now);
    }

    /// What (2.58) adds to ε of an input.
    fn correction(&self, view: &View<'_>, input: InputId) -> f64 {
        if !self.settings.intermediate || !self.is_under_way || view.graph.is_free(input) {
            return 0.0;
        }
        // At the begin of the step inputs may have jumped: ε after that.
        let begin = self.arrived[input] - view.given(input, 0.0);
        self.ideal[input] - mean_given(view, input, self.size) - 0.5 * (self.now[input] + begin)
    }

    /// Keeps δ of the begin of the step (in `errors`) and the gaps of its end for models that reach further back.
    fn remember(&mut self, view: &View<'_>) {
        wired_linear(view, &self.delta, &mut self.inputs);
        let mut older = std::mem::take(&mut self.older);
        older.push(&self.errors, |input| {
            self.now[input] + self.correction(view, input) + self.inputs[input] - view.graph.offset(input)
        });
        self.older = older;
    }
}

//! Steps 1 and 2 in discrete time.

use super::PrestepDiscrete;
use crate::coupling::View;
use crate::coupling::model_based::{ErrorEquationConfig, wired};

impl PrestepDiscrete {
    /// Steps 1 and 2; false if the models have no solution.
    pub(super) fn extrapolate(&mut self, view: &View<'_>) -> bool {
        self.open.as_mut_slice().fill(0.0);
        (0..view.outputs.len()).for_each(|output| self.open[(output, output)] = 1.0);
        for wire in view.graph.wires() {
            let id = view.graph.subsystem_of_input(wire.target);
            let (input, outputs) = (wire.target - view.graph.inputs_of(id).start, view.graph.outputs_of(id));
            for (row, output) in outputs.enumerate() {
                self.open[(output, wire.source)] -= self.models[id].s_d[(row, input)] * wire.gain;
            }
        }
        if self.closed.refactor(&self.open).is_err() {
            return false;
        }
        if self.settings.error_equation != ErrorEquationConfig::Off {
            self.solve_error_equation(view);
        }
        for (ideal, (y, delta)) in self.extrapolated.iter_mut().zip(view.outputs.iter().zip(&self.delta)) {
            *ideal = y + delta;
        }
        // L ỹ + w^k
        wired(view, &self.extrapolated, &mut self.inputs);
        self.inputs.iter_mut().zip(&self.external).for_each(|(u, e)| *u += e);
        self.add_external(view, view.step.end() - 1e-9 * view.step.size);
        self.errors.fill(0.0);
        for (id, model) in self.models.iter().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            model.add_rates(
                &self.extrapolated[y.clone()],
                &self.inputs[u.clone()],
                &mut self.errors[y.clone()],
            );
            if self.settings.error_equation != ErrorEquationConfig::Off {
                for (row, output) in y.clone().enumerate() {
                    self.errors[output] += self.older.sum(view, id, row, &self.identifiers);
                }
            }
            for (input, column) in u.zip(0..) {
                self.ideal[input] = view.graph.offset(input) + self.external[input];
                for (row, output) in y.clone().enumerate() {
                    self.errors[output] += model.s_d[(row, column)] * self.ideal[input];
                }
            }
        }
        self.extrapolated.copy_from_slice(&self.errors);
        self.closed.solve_in_place(&mut self.extrapolated);
        wired(view, &self.extrapolated, &mut self.model_based);
        self.model_based.iter().chain(&self.extrapolated).all(|value| value.is_finite())
    }

    pub(super) fn add_external(&mut self, view: &View<'_>, time: f64) {
        self.external.fill(0.0);
        for (input, signal) in view.graph.externals() {
            self.external[*input] += signal.value(time);
        }
    }
}

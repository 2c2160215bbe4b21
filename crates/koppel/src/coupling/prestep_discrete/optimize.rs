//! Step 3 in discrete time: (2.65) of Genser 2020 for any number of inputs and outputs.

use super::PrestepDiscrete;
use crate::coupling::View;
use crate::coupling::model_based::ErrorEquationConfig;
use crate::error::{Error, Result};

impl PrestepDiscrete {
    /// Step 3 where it changes something. Inputs of other methods, and those whose sources have moved, stay as predicted.
    pub(super) fn optimize(&mut self, view: &View<'_>) -> Result<()> {
        for (id, model) in self.models.iter().enumerate() {
            let is_idle =
                self.settings.error_equation == ErrorEquationConfig::Off && model.s_u.max_abs() == 0.0;
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            if is_idle || u.is_empty() || y.is_empty() {
                continue;
            }
            let ports = view.graph.ports(id);
            let size_of = |nominal: Option<f64>| {
                if self.settings.nominal { nominal.map_or(1.0, f64::abs).max(f64::MIN_POSITIVE) } else { 1.0 }
            };
            let of_output = |row: usize| size_of(ports.outputs[row].nominal);
            let of_input = |column: usize| size_of(ports.inputs[column].nominal);
            self.scaled.copy_from(&model.s_d);
            for row in 0..y.len() {
                for (column, entry) in self.scaled.row_mut(row).iter_mut().enumerate() {
                    let is_free = self.is_free[u.start + column];
                    *entry *= if is_free { of_input(column) / of_output(row) } else { 0.0 };
                }
            }
            let inverse = &mut self.inverse;
            self.pseudo_inverse.of(&self.scaled, 1e-8, inverse).map_err(|source| Error::Linalg {
                what: format!("the input optimisation of `{}`", view.graph.name(id)),
                source,
            })?;
            for column in 0..u.len() {
                for (row, entry) in inverse.row_mut(column).iter_mut().enumerate() {
                    *entry *= of_input(column) / of_output(row);
                }
            }
            for (row, output) in y.clone().enumerate() {
                let mut rest = self.extrapolated[output] - model.constant[row];
                for (column, other) in y.clone().enumerate() {
                    rest -= model.s_y[(row, column)] * view.outputs[other];
                }
                for (column, input) in u.clone().enumerate() {
                    rest -= model.s_u[(row, column)] * self.given[input];
                    rest -= model.s_d[(row, column)] * (self.model_based[input] + self.external[input]);
                }
                self.errors[output] = rest;
            }
            for (column, input) in u.enumerate() {
                let row = inverse.row(column).iter().zip(&self.errors[y.clone()]);
                self.model_based[input] += row.map(|(a, b)| a * b).sum::<f64>();
            }
        }
        Ok(())
    }
}

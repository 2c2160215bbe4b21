//! The model-based pre-step method on models learned during the run: difference equations from one communication point to the next.
//!
//!   step 1   ỹ = y + δ                                                                 `learned_models`
//!   step 2   ŷ = (I - J_1 L)⁻¹ [J_y ỹ + J_1 w + c]                                      (2.63)
//!   step 3   u = (L ŷ)_i + J_1⁺ (ŷ_i - J_y y - J_1 ((L ŷ)_i + w) - c)                   (2.65)
//!
//! | symbol   | meaning                                        | here                |
//! | J        | interface model y^{k+1} = J_y y^k + J_1 u^{k+1} + c | `models`       |
//! | w        | offsets and external signals at T^{k+1}        | `external`          |
//!
//! u is the input at the end of the step; the run's `hold` says whether it is held or moved to. Genser 2020, 2.2.2 to 2.4.
//! Differs in: c and w, which the thesis leaves out. With step 1 off, step 3 changes nothing.

use crate::coupling::learned_models::{LearnedModels, LearnedSettings};
use crate::coupling::model_based::{ErrorEquationConfig, free_inputs, wired};
use crate::coupling::{Coupling, Needs, Polynomials, Report, View, write_value};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, PseudoInverse, dot};
use crate::signal::Samples;
use crate::system::{InputId, SubsystemId};
use crate::tape::Tape;

/// The method.
pub(super) struct LearnedPrestep {
    models: LearnedModels,
    /// Weighs step 3 by nominal values.
    nominal: bool,
    /// Inputs that step 3 may choose.
    is_free: Vec<bool>,
    /// Inputs for the step ahead.
    inputs: Vec<f64>,
    external: Vec<f64>,
    extrapolated: Vec<f64>,
    /// What is missing at ŷ.
    rest: Vec<f64>,
    inverse: Matrix,
    scaled: Matrix,
    pseudo_inverse: PseudoInverse,
}

impl LearnedPrestep {
    pub(super) fn new(settings: LearnedSettings, nominal: bool) -> Result<Self> {
        Ok(LearnedPrestep {
            models: LearnedModels::new(settings)?,
            nominal,
            is_free: Vec::new(),
            inputs: Vec::new(),
            external: Vec::new(),
            extrapolated: Vec::new(),
            rest: Vec::new(),
            inverse: Matrix::default(),
            scaled: Matrix::default(),
            pseudo_inverse: PseudoInverse::default(),
        })
    }

    /// Step 2; false if it leads nowhere.
    fn extrapolate(&mut self, view: &View<'_>) -> bool {
        let end = view.step.end() - 1e-9 * view.step.size;
        self.external.copy_from_slice(self.models.external(view, end));
        for (id, model) in self.models.models.iter().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            let ideal = &mut self.rest[y.clone()];
            for (ideal, output) in ideal.iter_mut().zip(y.clone()) {
                *ideal = view.outputs[output] + self.models.delta()[output];
            }
            for (row, output) in y.clone().enumerate() {
                let mut sum = dot(model.s_y.row(row), &self.rest[y.clone()]) + model.constant[row];
                if self.models.settings.error_equation != ErrorEquationConfig::Off {
                    sum += self.models.older(view, id, row);
                }
                for (column, input) in u.clone().enumerate() {
                    sum += model.s_d[(row, column)] * (view.graph.offset(input) + self.external[input]);
                }
                self.extrapolated[output] = sum;
            }
        }
        self.models.closed.solve_in_place(&mut self.extrapolated);
        wired(view, &self.extrapolated, &mut self.inputs);
        self.inputs.iter().chain(&self.extrapolated).all(|value| value.is_finite())
    }

    /// Step 3. Inputs of other methods, and those whose sources have moved, stay as predicted.
    fn optimize(&mut self, view: &View<'_>) -> Result<()> {
        for (id, model) in self.models.models.iter().enumerate() {
            let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
            if u.is_empty() || y.is_empty() {
                continue;
            }
            let ports = view.graph.ports(id);
            let size_of = |nominal: Option<f64>| {
                if self.nominal { nominal.map_or(1.0, f64::abs).max(f64::MIN_POSITIVE) } else { 1.0 }
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
                    rest -= model.s_d[(row, column)] * (self.inputs[input] + self.external[input]);
                }
                self.rest[output] = rest;
            }
            for (column, input) in u.enumerate() {
                let row = inverse.row(column).iter().zip(&self.rest[y.clone()]);
                self.inputs[input] += row.map(|(a, b)| a * b).sum::<f64>();
            }
        }
        Ok(())
    }
}

impl Coupling for LearnedPrestep {
    fn needs(&self) -> Needs {
        self.models.needs()
    }

    fn start(&mut self, view: &View<'_>, inputs: &[InputId]) -> Result<()> {
        self.models.start(view)?;
        self.is_free = free_inputs(view, inputs);
        for list in [&mut self.inputs, &mut self.external] {
            *list = vec![0.0; view.graph.inputs()];
        }
        for list in [&mut self.extrapolated, &mut self.rest] {
            *list = vec![0.0; view.graph.outputs()];
        }
        Ok(())
    }

    fn prepare(&mut self, view: &View<'_>) -> Result<()> {
        self.models.prepare(view)?;
        if self.models.phase.share > 0.0 && !self.extrapolate(view) {
            self.models.phase.give_up();
        }
        let is_optimized = self.models.settings.error_equation != ErrorEquationConfig::Off
            && self.models.phase.share > 0.0
            && !self.models.phase.is_modified;
        if is_optimized {
            self.optimize(view)?;
        }
        self.models.conclude(view);
        Ok(())
    }

    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()> {
        let share = self.models.phase.share;
        for &input in inputs {
            // Where sources have moved already, their values are better than any prediction.
            let own = view.stages[view.graph.subsystem_of_input(input)];
            let mut wires = view.graph.wires_into(input);
            let have_moved = wires.all(|wire| view.stages[view.graph.wires()[wire].from] < own);
            let by_signals = self.models.signal_based[input];
            let value = if have_moved {
                view.arrival(input)
            } else if share == 0.0 {
                by_signals
            } else {
                share * self.inputs[input] + (1.0 - share) * by_signals
            };
            write_value(self.models.settings.hold, view, input, value, out.of(input));
        }
        Ok(())
    }

    fn observe(&mut self, view: &View<'_>, subsystem: SubsystemId, samples: &Samples) -> Result<()> {
        self.models.observe(view, subsystem, samples);
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        self.models.state(tape);
    }

    fn report(&self) -> &dyn Report {
        &self.models
    }
}

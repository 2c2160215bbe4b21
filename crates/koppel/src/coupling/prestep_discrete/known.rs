//! Models of known equations in discrete time.
//!
//! With x = y - S_d u, P_0 and P_1 the integrals of the exponential over H and Φ = I + S_y P_0,
//!
//!   x^{k+1} = Φ x^k + P_0 c + P_0 B u^{k+1}                                        the input is held
//!   x^{k+1} = Φ x^k + P_0 c + P_0 B u^k + P_1 B (u^{k+1} - u^k) / H                it moves from u^k to u^{k+1}
//!
//! so J_y = Φ, J_0 = -Φ S_d (+ P_0 B - P_1 B / H), J_1 = S_d + P_0 B (or P_1 B / H): Genser 2020, (2.18) to (2.20), with c and
//! for both shapes of the input. Where outputs are read fresh, with u⁻ instead of the input u^k at the end of the step, x^k is
//! y - S_d u⁻; `shift` = -Φ S_d (u⁻ - u^k) makes up for it.

use super::PrestepDiscrete;
use crate::coupling::{Hold, View};
use crate::error::{Error, Result};
use crate::identify::InterfaceModel;
use crate::linalg::{Integrals, Matrix};
use crate::system::SystemGraph;
use crate::tape::Tape;

/// What the conversion needs, and the last step to judge the models by.
#[derive(Default)]
pub(super) struct Known {
    /// Per subsystem: Φ, P_0, S_d.
    parts: Vec<[Matrix; 3]>,
    integrals: Integrals,
    room: [Matrix; 3],
    b: Matrix,
    product: Matrix,
    /// What the matrices were made for.
    fits: Option<(u64, u64)>,
    /// -Φ S_d (u⁻ - u^k).
    pub(super) shift: Vec<f64>,
    /// What the models expect at the end of the step if all inputs were zero.
    expected: Vec<f64>,
}

impl Known {
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let s_d = |id| Matrix::zeros(graph.outputs_of(id).len(), graph.inputs_of(id).len());
        let parts = (0..graph.len()).map(|id| [Matrix::default(), Matrix::default(), s_d(id)]).collect();
        let zeros = vec![0.0; graph.outputs()];
        Known { parts, shift: zeros.clone(), expected: zeros, ..Known::default() }
    }

    /// What the step that has ended is judged by: its expectation, S_d, and J_1 of the models.
    pub(super) fn state(&mut self, models: &mut [InterfaceModel], tape: &mut Tape<'_>) {
        tape.values(&mut self.expected);
        for ([_, _, s_d], model) in self.parts.iter_mut().zip(models) {
            tape.numbers(s_d.as_mut_slice());
            tape.numbers(model.s_d.as_mut_slice());
        }
        if tape.is_reading() {
            self.fits = None;
        }
    }
}

impl PrestepDiscrete {
    /// Judges the models by the step that has ended.
    pub(super) fn judge_known(&mut self, view: &View<'_>) {
        self.quality.note(view.outputs);
        for id in 0..view.graph.len() {
            // A jump from outside is no fault of the model: its figure stays.
            if !self.is_under_way {
                self.figures[id] = 0.0;
            } else if !view.has_jumped[id] {
                self.figures[id] = self.figure(view, id);
            }
        }
    }

    /// Converts the models for the step ahead.
    pub(super) fn convert(&mut self, view: &View<'_>) -> Result<()> {
        let key = (view.models.version(), view.step.size.to_bits());
        let is_old = self.known.fits != Some(key);
        for id in 0..view.graph.len() {
            if is_old {
                self.discretize(view, id)?;
            }
            self.write_constants(view, id);
        }
        self.known.fits = Some(key);
        self.recursion.as_mut().map_or(Ok(()), |recursion| recursion.fit(view))
    }

    /// Figure of a model for the step that has ended; J_1 is still that of the step.
    fn figure(&mut self, view: &View<'_>, id: usize) -> f64 {
        let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let (model, s_d) = (&self.models[id], &self.known.parts[id][2]);
        for (row, output) in y.clone().enumerate() {
            let mut error = view.outputs[output] - self.known.expected[output];
            for (column, input) in u.clone().enumerate() {
                error -= model.s_d[(row, column)] * self.given[input];
                error -= s_d[(row, column)] * (view.read_with[input] - view.applied[input]);
            }
            self.errors[output] = error;
        }
        self.quality.figure(y.start, &self.errors[y])
    }

    fn discretize(&mut self, view: &View<'_>, id: usize) -> Result<()> {
        let (model, size) = (view.models.of(id), view.step.size);
        let Known { parts, integrals, room, b, product, .. } = &mut self.known;
        integrals.both(&model.s_y, size, room).map_err(|source| Error::Linalg {
            what: format!("the model of `{}` in discrete time", view.graph.name(id)),
            source,
        })?;
        let [p0, p1, _] = room;
        let [transition, first, s_d] = &mut parts[id];
        model.s_y.mul_into(p0, transition);
        transition.add_to_diagonal(1.0);
        first.copy_from(p0);
        s_d.copy_from(&model.s_d);
        model.write_input_matrix(b);
        let discrete = &mut self.models[id];
        discrete.s_y.copy_from(transition);
        transition.mul_into(s_d, &mut discrete.s_u);
        discrete.s_u.scale(-1.0);
        discrete.s_d.copy_from(s_d);
        if self.settings.hold == Hold::Constant {
            p0.mul_add(b, &mut discrete.s_d);
        } else {
            p1.mul_into(b, product);
            discrete.s_d.add_scaled(1.0 / size, product);
            discrete.s_u.add_scaled(-1.0 / size, product);
            p0.mul_add(b, &mut discrete.s_u);
        }
        Ok(())
    }

    /// What fresh reading has put right already, S_d (u⁻ - u^k), is no distance any more: taken off ỹ.
    pub(super) fn take_off_reading(&mut self, view: &View<'_>) {
        for (id, [_, _, s_d]) in self.known.parts.iter().enumerate() {
            let inputs = view.graph.inputs_of(id);
            for (row, output) in view.graph.outputs_of(id).enumerate() {
                let seen = s_d.row(row).iter().zip(inputs.clone());
                let seen = seen.map(|(d, input)| d * (view.read_with[input] - view.applied[input]));
                self.extrapolated[output] -= seen.sum::<f64>();
            }
        }
    }

    /// P_0 c, the shift by fresh reading, and what is expected without further input.
    fn write_constants(&mut self, view: &View<'_>, id: usize) {
        let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
        let Known { parts, shift, expected, .. } = &mut self.known;
        let [transition, first, s_d] = &parts[id];
        let model = &mut self.models[id];
        first.mul_vec_into(&view.models.of(id).constant, &mut model.constant);
        let jumps = &mut self.errors[y.clone()];
        for (row, jump) in jumps.iter_mut().enumerate() {
            let inputs = s_d.row(row).iter().zip(u.clone());
            *jump = inputs.map(|(d, input)| d * (view.applied[input] - view.read_with[input])).sum();
        }
        transition.mul_vec_into(jumps, &mut shift[y.clone()]);
        let expected = &mut expected[y.clone()];
        for ((expected, shift), constant) in expected.iter_mut().zip(&shift[y.clone()]).zip(&model.constant) {
            *expected = shift + constant;
        }
        model.s_y.mul_vec_add(&view.outputs[y], expected);
        model.s_u.mul_vec_add(&self.given[u], expected);
    }
}

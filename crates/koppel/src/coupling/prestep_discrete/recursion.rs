//! Step 1 in discrete time, solved on parts of the step: the second use of intermediate values in Genser 2020, 2.2.2.
//!
//!   δ^j = (I - J̃_1 L)⁻¹ [J̃_y δ^{j-1} + J̃_1 ε^j],     ã = a^{1/q},     b̃ = b / Σ_{i<q} ã^i                      (1)
//!
//! with learned models of first order carried to the q-th part of the step: (4.13) and (4.14) the other way round. A model
//! with a ≤ 0 changes sign at every step and has no such part; then the step is solved once, with (2.58). Models of known
//! equations are solved in parts as in continuous time.

use super::PrestepDiscrete;
use crate::coupling::View;
use crate::coupling::model_based::{ClosedLoop, ErrorEquation, ErrorEquationConfig, distance};
use crate::error::Result;
use crate::identify::InterfaceModel;
use crate::linalg::{Lu, Matrix};
use crate::tape::Tape;

/// Models of a part of the step, and room.
pub(super) struct Recursion {
    pub(super) equation: ErrorEquation,
    parts: u32,
    models: Vec<InterfaceModel>,
    open: Matrix,
    loops: Lu,
    next: Vec<f64>,
    inputs: Vec<f64>,
    /// Only for models of known equations.
    pub(super) closed: ClosedLoop,
    fits: Option<(u64, u64)>,
}

impl Recursion {
    pub(super) fn new(equation: ErrorEquation, parts: u32, view: &View<'_>) -> Self {
        let graph = view.graph;
        let hold = |id| InterfaceModel::hold(graph.inputs_of(id).len(), graph.outputs_of(id).len());
        Recursion {
            equation,
            parts,
            models: (0..graph.len()).map(hold).collect(),
            open: Matrix::identity(graph.outputs()),
            loops: Lu::default(),
            next: vec![0.0; graph.outputs()],
            inputs: vec![0.0; graph.inputs()],
            closed: ClosedLoop::default(),
            fits: None,
        }
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.equation.state(tape);
        tape.values(&mut self.equation.inside);
        if tape.is_reading() {
            self.fits = None;
        }
    }

    /// Matrices of known equations for the step ahead, before anybody moves.
    pub(super) fn fit(&mut self, view: &View<'_>) -> Result<()> {
        let key = (view.models.version(), view.step.size.to_bits());
        if self.fits != Some(key) {
            self.closed.join(view)?;
            self.equation.fit(&self.closed, view.step.size)?;
            self.fits = Some(key);
        }
        Ok(())
    }

    /// The models of a part of the step; false if there are none.
    fn carry(&mut self, view: &View<'_>, whole: &[InterfaceModel]) -> bool {
        self.open.set_identity(view.outputs.len());
        for (part, whole) in self.models.iter_mut().zip(whole) {
            for row in 0..whole.outputs() {
                let a = whole.s_y[(row, row)];
                if a <= 0.0 {
                    return false;
                }
                let root = a.powf(1.0 / f64::from(self.parts));
                let sum = (0..self.parts).fold(0.0, |sum, _| 1.0 + root * sum);
                part.s_y[(row, row)] = root;
                for column in 0..whole.inputs() {
                    part.s_d[(row, column)] = whole.s_d[(row, column)] / sum;
                }
            }
        }
        for wire in view.graph.wires() {
            let id = view.graph.subsystem_of_input(wire.target);
            let input = wire.target - view.graph.inputs_of(id).start;
            for (row, output) in view.graph.outputs_of(id).enumerate() {
                self.open[(output, wire.source)] -= self.models[id].s_d[(row, input)] * wire.gain;
            }
        }
        self.loops.refactor(&self.open).is_ok()
    }
}

impl PrestepDiscrete {
    /// δ at the end of the step that has ended; false if the models cannot be carried to a part of it.
    pub(super) fn recurse(&mut self, view: &View<'_>) -> bool {
        let PrestepDiscrete { recursion: Some(recursion), models, delta, size, .. } = self else {
            return false;
        };
        if !recursion.carry(view, models) {
            return false;
        }
        if self.settings.error_equation == ErrorEquationConfig::Reset {
            delta.fill(0.0);
        }
        let Recursion { equation, models, loops, next, .. } = recursion;
        equation.walk(view, *size, |_, epsilon| {
            for (id, model) in models.iter().enumerate() {
                let (u, y) = (view.graph.inputs_of(id), view.graph.outputs_of(id));
                for (row, output) in y.enumerate() {
                    let driven = model.s_d.row(row).iter().zip(&epsilon[u.clone()]);
                    let driven: f64 = driven.map(|(b, e)| b * e).sum();
                    next[output] = model.s_y[(row, row)] * delta[output] + driven;
                }
            }
            loops.solve_in_place(next);
            delta.copy_from_slice(next);
        });
        true
    }

    /// δ of known equations at the communication point.
    pub(super) fn known_distance(&mut self, view: &View<'_>) {
        let Some(Recursion { equation, closed, next, inputs, .. }) = &mut self.recursion else { return };
        for (input, epsilon) in inputs.iter_mut().enumerate() {
            *epsilon =
                if view.graph.is_free(input) { 0.0 } else { view.arrival(input) - view.read_with[input] };
        }
        distance(closed, &equation.zeta, inputs, next, &mut self.delta);
    }
}

//! What the coupled system makes of inputs that deviate from what they should be.
//!
//! With e_j known deviations of the inputs, the models give
//!
//!   ε_j = (I - b_0 L)⁻¹ (Σ_{i≥1} a_i ε_{j-i} + Σ_{i≥1} b_i η_{j-i} + b_0 e_j),     η_j = L ε_j + e_j          (1)
//!
//! The quality figure (`estimate`) follows it from step to step, a repeated step (`repetition`) within that step.

use super::member::Member;
use super::pool::Pool;
use crate::identify::{NodeModel, Size};
use crate::linalg::{Lu, Matrix};

/// Those of the run so far, for the quality figure.
pub(super) const LASTING: usize = 0;
/// Those of the newest step alone.
pub(super) const NEWEST: usize = 1;

/// Takes a model out of those of a subsystem.
pub(super) type Choice = fn(&Pool) -> &NodeModel;

/// ε and η of one subsystem, scaled, a row per node as in `Member::y`.
#[derive(Clone, Debug)]
pub(super) struct Deviation {
    pub(super) size: Size,
    pub(super) y: Vec<f64>,
    pub(super) u: Vec<f64>,
}

impl Deviation {
    pub(super) fn new(size: Size, nodes: usize) -> Self {
        let rows = size.past + nodes;
        Deviation { size, y: vec![0.0; rows * size.outputs], u: vec![0.0; rows * size.inputs] }
    }

    /// As if nothing had deviated before.
    pub(super) fn forget(&mut self) {
        self.y.fill(0.0);
        self.u.fill(0.0);
    }

    /// ε at the nodes of the step.
    pub(super) fn outputs(&self) -> &[f64] {
        &self.y[self.size.past * self.size.outputs..]
    }

    /// η at the nodes of the step; e before (1) is solved.
    pub(super) fn inputs_mut(&mut self) -> &mut [f64] {
        &mut self.u[self.size.past * self.size.inputs..]
    }

    /// The nodes of the step become the past, multiplied by a factor.
    pub(super) fn shift(&mut self, factor: f64) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let (of_y, of_u) = (self.y.len() - past * n, self.u.len() - past * m);
        self.y.copy_within(of_y.., 0);
        self.u.copy_within(of_u.., 0);
        self.y[..past * n].iter_mut().chain(&mut self.u[..past * m]).for_each(|v| *v *= factor);
    }
}

/// Room for (1).
pub(super) struct Coupled {
    matrix: Matrix,
    lu: Lu,
    all: Vec<f64>,
}

impl Coupled {
    pub(super) fn new(outputs: usize) -> Self {
        let matrix = Matrix::identity(outputs);
        let mut lu = Lu::default();
        // Room for the factors, whatever the models.
        let _ = lu.refactor(&matrix);
        Coupled { matrix, lu, all: vec![0.0; outputs] }
    }

    /// (1) over the nodes of a step, for one kind of deviations and one model of each; false if it cannot be solved.
    pub(super) fn follow(
        &mut self,
        members: &mut [Member],
        nodes: usize,
        kind: usize,
        model: Choice,
    ) -> bool {
        self.matrix.as_mut_slice().fill(0.0);
        for member in members.iter() {
            for (row, output) in member.outputs.clone().enumerate() {
                self.matrix[(output, output)] += 1.0;
                for wire in &member.wires {
                    let direct = model(&member.pool).direct(row, wire.input);
                    self.matrix[(output, wire.source)] -= direct * wire.gain;
                }
            }
        }
        if self.lu.refactor(&self.matrix).is_err() {
            return false;
        }
        for node in 1..=nodes {
            for member in members.iter() {
                let Deviation { y, u, .. } = &member.deviations[kind];
                model(&member.pool).node_deviation(y, u, node - 1, &mut self.all[member.outputs.clone()]);
            }
            self.lu.solve_in_place(&mut self.all);
            for member in members.iter_mut() {
                let Deviation { size, y, u } = &mut member.deviations[kind];
                let row = size.past - 1 + node;
                y[row * size.outputs..][..size.outputs].copy_from_slice(&self.all[member.outputs.clone()]);
                for wire in &member.wires {
                    u[row * size.inputs + wire.input] += wire.gain * self.all[wire.source];
                }
            }
        }
        true
    }
}

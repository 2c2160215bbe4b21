//! All interface models joined by the wiring, u = L y + w.
//!
//! With x = y - S_d u (no jumps, no derivative of u), B = S_u + S_y S_d and M = (I - S_d L)⁻¹:
//!
//!   y = M (x + S_d w),     x' = A x + B̄ w + c,     A = S_y + B L M,     B̄ = B (I + L M S_d)            (1)
//!
//! The distance δ to the ideally coupled outputs follows the same matrices with ε = L y + w - u in place of w:
//!
//!   δ = M (ζ + S_d ε),     ζ' = A ζ + B̄ ε                                                        (2)
//!
//! which is Genser 2020, (2.34) and (2.37), free of the derivatives of u and ε, and with the jumps of δ at communication
//! points contained in ε: ζ is continuous.

use crate::coupling::View;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, inverse};

/// The matrices of (1).
#[derive(Clone, Debug, Default)]
pub(in crate::coupling) struct ClosedLoop {
    /// A.
    pub(in crate::coupling) a: Matrix,
    /// B̄.
    pub(in crate::coupling) b: Matrix,
    /// M.
    pub(in crate::coupling) m: Matrix,
    /// All S_d, block by block.
    pub(in crate::coupling) s_d: Matrix,
    /// False if no model has feed-through: then M = I.
    pub(in crate::coupling) is_direct: bool,
}

impl ClosedLoop {
    /// Joins the models; an error if the feed-through of the models is a loop without a solution.
    pub(in crate::coupling) fn new(view: &View<'_>) -> Result<Self> {
        let (graph, models) = (view.graph, view.models);
        let (n, inputs) = (graph.outputs(), graph.inputs());
        let mut s_y = Matrix::zeros(n, n);
        let (mut b, mut s_d) = (Matrix::zeros(n, inputs), Matrix::zeros(n, inputs));
        for id in 0..graph.len() {
            let (row, column) = (graph.outputs_of(id).start, graph.inputs_of(id).start);
            let model = models.of(id);
            s_y.set_block(row, row, &model.s_y);
            b.set_block(row, column, &model.input_matrix());
            s_d.set_block(row, column, &model.s_d);
        }
        let is_direct = s_d.max_abs() > 0.0;
        let m = if is_direct { inverse_of_loop(view, &s_d)? } else { Matrix::identity(n) };
        let mut lm = Matrix::zeros(inputs, n);
        for wire in graph.wires() {
            for (sum, m) in lm.row_mut(wire.target).iter_mut().zip(m.row(wire.source)) {
                *sum += wire.gain * m;
            }
        }
        let a = &s_y + &by_blocks(view, &b, &lm);
        let b = if is_direct { &b + &by_blocks(view, &b, &(&lm * &s_d)) } else { b };
        Ok(ClosedLoop { a, b, m, s_d, is_direct })
    }
}

/// M.
fn inverse_of_loop(view: &View<'_>, s_d: &Matrix) -> Result<Matrix> {
    let n = s_d.rows();
    let mut open = Matrix::identity(n);
    for wire in view.graph.wires() {
        for row in 0..n {
            open[(row, wire.source)] -= s_d[(row, wire.target)] * wire.gain;
        }
    }
    inverse(&open).map_err(|source| {
        Error::Linalg { what: "the algebraic loop of the interface models".into(), source }.into()
    })
}

/// A product whose left factor has one block per subsystem.
fn by_blocks(view: &View<'_>, left: &Matrix, right: &Matrix) -> Matrix {
    let mut product = Matrix::zeros(left.rows(), right.cols());
    for id in 0..view.graph.len() {
        for row in view.graph.outputs_of(id) {
            for column in view.graph.inputs_of(id) {
                let factor = left[(row, column)];
                for (sum, right) in product.row_mut(row).iter_mut().zip(right.row(column)) {
                    *sum += factor * right;
                }
            }
        }
    }
    product
}

/// What outputs become at the inputs: L y + offsets, and behind a table what has arrived there.
pub(in crate::coupling) fn wired(view: &View<'_>, y: &[f64], out: &mut [f64]) {
    wired_linear(view, y, out);
    for (input, _) in view.graph.maps() {
        out[*input] = view.arrival(*input);
    }
}

/// L y + offsets, one value per input; nothing passes a table.
pub(in crate::coupling) fn wired_linear(view: &View<'_>, y: &[f64], out: &mut [f64]) {
    out.copy_from_slice(view.graph.offsets());
    for wire in view.graph.wires() {
        out[wire.target] += wire.gain * y[wire.source];
    }
}

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
use crate::linalg::{Lu, Matrix};

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
    workspace: Workspace,
}

/// Room for the matrices on the way.
#[derive(Clone, Debug, Default)]
struct Workspace {
    /// B of one subsystem and of all, L M, I - S_d L, and L M S_d.
    input: Matrix,
    lm: Matrix,
    open: Matrix,
    lmd: Matrix,
    lu: Lu,
}

impl ClosedLoop {
    /// Joins the models; an error if the feed-through of the models is a loop without a solution. Allocates only at the
    /// first call.
    pub(in crate::coupling) fn join(&mut self, view: &View<'_>) -> Result<()> {
        let (graph, models) = (view.graph, view.models);
        let (n, inputs) = (graph.outputs(), graph.inputs());
        let ClosedLoop { a, b, m, s_d, is_direct, workspace } = self;
        if workspace.open.rows() != n {
            // Feed-through that is zero now may come later.
            workspace.open.set_identity(n);
            let _ = workspace.lu.refactor(&workspace.open);
            workspace.input.reshape(n, inputs);
            workspace.lm.reshape(inputs, n);
            workspace.lmd.reshape(inputs, inputs);
        }
        a.reshape(n, n);
        b.reshape(n, inputs);
        s_d.reshape(n, inputs);
        *is_direct = false;
        for id in 0..graph.len() {
            let (row, column) = (graph.outputs_of(id).start, graph.inputs_of(id).start);
            let model = models.of(id);
            a.set_block(row, row, &model.s_y);
            model.write_input_matrix(&mut workspace.input);
            b.set_block(row, column, &workspace.input);
            s_d.set_block(row, column, &model.s_d);
            *is_direct |= model.s_d.max_abs() > 0.0;
        }
        if !*is_direct {
            m.set_identity(n);
            for wire in graph.wires() {
                let id = graph.subsystem_of_input(wire.target);
                for row in graph.outputs_of(id) {
                    a[(row, wire.source)] += b[(row, wire.target)] * wire.gain;
                }
            }
            return Ok(());
        }
        let Workspace { input, lm, open, lmd, lu } = workspace;
        open.set_identity(n);
        for wire in graph.wires() {
            for row in graph.outputs_of(graph.subsystem_of_input(wire.target)) {
                open[(row, wire.source)] -= s_d[(row, wire.target)] * wire.gain;
            }
        }
        lu.invert(open, m).map_err(|source| Error::Linalg {
            what: "the algebraic loop of the interface models".into(),
            source,
        })?;
        lm.reshape(inputs, n);
        for wire in graph.wires() {
            for (sum, m) in lm.row_mut(wire.target).iter_mut().zip(m.row(wire.source)) {
                *sum += wire.gain * m;
            }
        }
        // Zeros outside the blocks of B cost nothing.
        b.mul_add(lm, a);
        lm.mul_into(s_d, lmd);
        lmd.add_to_diagonal(1.0);
        input.copy_from(b);
        input.mul_into(lmd, b);
        Ok(())
    }
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

//! How errors spread through a linear system.
//!
//! Defects δ of the connections disturb each subsystem, and what they make of its outputs disturbs the next:
//!
//!   e' = A e + B w,   e_y = C e + D w,   w = δ + L e_y                                     (1)
//!
//! block by block, one block a subsystem. Over a part of a step of length h, w goes straight, and every block is solved exactly
//! ([`Stride`]). With r what its outputs are at the end without w there, and S = C Γ_1 / h + D what w there adds,
//!
//!   (I - L S) w = δ + L r                                                                       (2)
//!
//! is solved for w by sparse factors, which stay the same as long as h and the subsystems do. Nothing is as large as the square of the
//! number of states. What is exact without coupling stays exact, and loops of subsystems that neither lose nor gain energy do not in (2).

use super::inside::Inside;
use super::stride::Stride;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, SparseLu};
use crate::system::{StateSpace, SystemGraph};

/// Multiplications by which the fastest mode is found: what has not died out by half of them shows in the other half.
const POWERS: u32 = 40;

/// e of (1), and w at the begin and the end of a part.
pub(super) struct Spread {
    /// Where the states of each subsystem begin.
    begins: Vec<usize>,
    pub(super) state: Vec<f64>,
    begin: Vec<f64>,
    end: Vec<f64>,
    /// e_y, or r of (2).
    outputs: Vec<f64>,
    /// Factors of I - L D; none if D is zero where it matters.
    through: Option<SparseLu>,
}

/// The solution over parts of one length.
pub(super) struct Part {
    /// Factors of I - L S.
    factors: SparseLu,
    /// What w at the end adds to states and outputs, of each subsystem.
    ends: Vec<Matrix>,
}

/// L M for a block-diagonal M, as entries.
fn entries<'a>(
    graph: &SystemGraph,
    block: impl Fn(usize) -> (&'a Matrix, usize),
) -> Vec<(usize, usize, f64)> {
    let mut entries = Vec::new();
    for wire in graph.wires() {
        let id = graph.subsystem_of_output(wire.source);
        let (matrix, above) = block(id);
        let row = matrix.row(above + wire.source - graph.outputs_of(id).start);
        for (input, value) in graph.inputs_of(id).zip(row) {
            if *value != 0.0 && wire.gain != 0.0 {
                entries.push((wire.target, input, wire.gain * value));
            }
        }
    }
    entries
}

fn factors(graph: &SystemGraph, entries: &[(usize, usize, f64)]) -> Result<SparseLu> {
    SparseLu::of_identity_less(graph.inputs(), entries)
        .map_err(|source| Error::Linalg { what: "closing the loops of the errors".into(), source }.into())
}

impl Spread {
    /// Of nothing, for these subsystems.
    pub(super) fn new(graph: &SystemGraph, parts: &[Inside]) -> Result<Self> {
        let mut spread = Spread {
            begins: Vec::new(),
            state: Vec::new(),
            begin: vec![0.0; graph.inputs()],
            end: vec![0.0; graph.inputs()],
            outputs: vec![0.0; graph.outputs()],
            through: None,
        };
        spread.renew(graph, parts)?;
        Ok(spread)
    }

    /// Takes the subsystems as they are now. What has spread stays, if they have the same number of states.
    pub(super) fn renew(&mut self, graph: &SystemGraph, parts: &[Inside]) -> Result<()> {
        let mut states = 0;
        self.begins.clear();
        for part in parts {
            self.begins.push(states);
            states += part.matrices.states();
        }
        self.state.resize(states, 0.0);
        let entries = entries(graph, |id| (&parts[id].matrices.d, 0));
        self.through = if entries.is_empty() { None } else { Some(factors(graph, &entries)?) };
        Ok(())
    }

    /// The solution over parts whose strides these are.
    pub(super) fn part(&self, graph: &SystemGraph, parts: &[Inside], strides: &[Stride]) -> Result<Part> {
        let ends: Vec<Matrix> =
            parts.iter().zip(strides).map(|(part, stride)| stride.of_end(part.matrices.inputs())).collect();
        let entries = entries(graph, |id| (&ends[id], parts[id].matrices.states()));
        Ok(Part { factors: factors(graph, &entries)?, ends })
    }

    /// A state was set: it has no error.
    pub(super) fn clear_state(&mut self, id: usize, index: usize) {
        self.state[self.begins[id] + index] = 0.0;
    }

    /// Goes on by a step with these defects at the ends of its parts.
    pub(super) fn follow(
        &mut self,
        graph: &SystemGraph,
        parts: &[Inside],
        (part, strides): (&Part, &mut [Stride]),
        defects: &Matrix,
    ) {
        self.begin_with(graph, parts, defects.row(0));
        for j in 1..defects.rows() {
            for (id, stride) in strides.iter_mut().enumerate() {
                let (states, inputs) =
                    (self.begins[id]..self.begins[id] + parts[id].matrices.states(), graph.inputs_of(id));
                stride.walk_to_zero(
                    &mut self.state[states],
                    &self.begin[inputs],
                    &mut self.outputs[graph.outputs_of(id)],
                );
            }
            self.end.copy_from_slice(defects.row(j));
            arrive(graph, &self.outputs, &mut self.end);
            part.factors.solve_in_place(&mut self.end);
            for (id, matrix) in part.ends.iter().enumerate() {
                let (first, w) = (self.begins[id], &self.end[graph.inputs_of(id)]);
                for i in 0..parts[id].matrices.states() {
                    self.state[first + i] += crate::linalg::dot(matrix.row(i), w);
                }
            }
            std::mem::swap(&mut self.begin, &mut self.end);
        }
    }

    /// w of the states as they are with these defects, into `begin`; e_y without it, into `outputs`.
    fn begin_with(&mut self, graph: &SystemGraph, parts: &[Inside], defects: &[f64]) {
        for (id, part) in parts.iter().enumerate() {
            let StateSpace { c, .. } = &part.matrices;
            let states = &self.state[self.begins[id]..self.begins[id] + part.matrices.states()];
            c.mul_vec_into(states, &mut self.outputs[graph.outputs_of(id)]);
        }
        self.begin.copy_from_slice(defects);
        arrive(graph, &self.outputs, &mut self.begin);
        if let Some(through) = &self.through {
            through.solve_in_place(&mut self.begin);
        }
    }

    /// e_y now, with these defects.
    pub(super) fn outputs(
        &mut self,
        graph: &SystemGraph,
        parts: &[Inside],
        defects: &[f64],
        error: &mut [f64],
    ) {
        self.begin_with(graph, parts, defects);
        error.copy_from_slice(&self.outputs);
        for (id, part) in parts.iter().enumerate() {
            part.matrices.d.mul_vec_add(&self.begin[graph.inputs_of(id)], &mut error[graph.outputs_of(id)]);
        }
    }

    /// How fast the fastest mode of the whole is, coupled, in rad/s, about: by the power method, for an odd start.
    pub(super) fn fastest(&mut self, graph: &SystemGraph, parts: &[Inside]) -> f64 {
        let kept = std::mem::take(&mut self.state);
        self.state = (0..kept.len()).map(|i| 1.0 + (7.0 * i as f64).sin()).collect();
        let still = vec![0.0; graph.inputs()];
        let mut growth = 0.0;
        for k in 0..POWERS {
            self.begin_with(graph, parts, &still);
            let mut next = Vec::with_capacity(kept.len());
            for (id, part) in parts.iter().enumerate() {
                let StateSpace { a, b, .. } = &part.matrices;
                let mut rate = a.mul_vec(&self.state[self.begins[id]..self.begins[id] + a.rows()]);
                b.mul_vec_add(&self.begin[graph.inputs_of(id)], &mut rate);
                next.extend(rate);
            }
            let size = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size == 0.0 || !size.is_finite() {
                growth = f64::NEG_INFINITY;
                break;
            }
            next.iter_mut().for_each(|x| *x /= size);
            self.state = next;
            if k >= POWERS / 2 {
                growth += size.ln();
            }
        }
        self.state = kept;
        (growth / f64::from(POWERS / 2)).exp()
    }
}

/// Adds what outputs make of the inputs they are connected to.
fn arrive(graph: &SystemGraph, outputs: &[f64], inputs: &mut [f64]) {
    for wire in graph.wires() {
        inputs[wire.target] += wire.gain * outputs[wire.source];
    }
}

//! How far outputs have got from those of the ideal coupling, as far as the models can tell: the live quality figure.
//!
//! An input lacks what was not predicted at a node, and what the line between nodes cuts off,
//!
//!   e_j = v_j - u_j - (v_{j+1} - 2 v_j + v_{j-1}) / 12                                       (1)
//!
//! with v = L y what should have been given. The error ε of the outputs then obeys the equations of the coupled system,
//!
//!   ε_j = (I - b_0 L)⁻¹ (Σ_{i≥1} a_i ε_{j-i} + Σ_{i≥1} b_i η_{j-i} - b_0 e_j),     η_j = L ε_j - e_j         (2)
//!
//! With E the root mean square of ε over the nodes of a step and its outputs, and D the mean of |v - u| and of what lines cut
//! off, |v_{j+1} - 2 v_j + v_{j-1}| / 12, each relative to the range so far, the figure of a subsystem is the mean of
//!
//!   √(min(E, 1) min(D, 0.2))                                                                     (3)
//!
//! over about the last ten steps. E knows what the system does with errors, but trusts the models; D trusts nobody. Their
//! geometric mean told bad runs from good ones better than either.

use super::member::Member;
use super::take;
use crate::identify::Size;
use crate::linalg::{Lu, Matrix};

/// Estimates are not followed beyond this many ranges.
const WORST: f64 = 10.0;
/// E and D are not counted beyond these: the first movements are measured against ranges that have hardly begun.
const LARGEST_ERROR: f64 = 1.0;
const LARGEST_DEFECT: f64 = 0.2;
/// How much of the mean (3) remains after one step.
const MEMORY: f64 = 0.9;

/// ε and η of one subsystem.
#[derive(Clone, Debug)]
pub(super) struct Error {
    size: Size,
    /// A row per node as in `Member::y`.
    y: Vec<f64>,
    u: Vec<f64>,
    /// v_0 of the step that has ended.
    first: Vec<f64>,
    /// Extremes of outputs and of v so far, scaled.
    outputs: Vec<[f64; 2]>,
    inputs: Vec<[f64; 2]>,
    /// Means over the last step, relative to the ranges: |v - u|, and what lines cut off.
    pub(super) defect: f64,
    pub(super) curvature: f64,
    /// Sums behind the mean of (3).
    sum: f64,
    weight: f64,
}

impl Error {
    pub(super) fn new(size: Size, nodes: usize) -> Self {
        let rows = size.past + nodes;
        Error {
            size,
            y: vec![0.0; rows * size.outputs],
            u: vec![0.0; rows * size.inputs],
            first: vec![0.0; size.inputs],
            outputs: vec![[0.0; 2]; size.outputs],
            inputs: vec![[0.0; 2]; size.inputs],
            defect: 0.0,
            curvature: 0.0,
            sum: 0.0,
            weight: 0.0,
        }
    }

    /// (1), into the rows of η; with v, u and y at the nodes of the step that has ended.
    pub(super) fn take_in(&mut self, arrived: &[f64], given: &[f64], y: &[f64]) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let nodes = self.y.len() / n.max(1) - past;
        for (i, y) in y.iter().enumerate() {
            widen(&mut self.outputs[i % n], *y);
        }
        arrived.iter().enumerate().for_each(|(i, v)| widen(&mut self.inputs[i % m], *v));
        (self.defect, self.curvature) = (0.0, 0.0);
        for k in 0..m {
            let v = |node: usize| if node == 0 { self.first[k] } else { arrived[(node - 1) * m + k] };
            let range = self.inputs[k][1] - self.inputs[k][0];
            let share = if range > 0.0 { 1.0 / (range * (nodes * m) as f64) } else { 0.0 };
            for node in 1..=nodes {
                // The last node takes the curvature of the one before; with one node it has none.
                let middle = node.min(nodes - 1);
                let bend =
                    if middle == 0 { 0.0 } else { (v(middle + 1) - 2.0 * v(middle) + v(middle - 1)) / 12.0 };
                let lacked = v(node) - given[(node - 1) * m + k];
                self.u[(past - 1 + node) * m + k] = bend - lacked;
                self.defect += lacked.abs() * share;
                self.curvature += bend.abs() * share;
            }
        }
        if nodes > 0 {
            self.first.copy_from_slice(&arrived[(nodes - 1) * m..]);
        }
    }

    /// E.
    fn size_of_error(&self) -> f64 {
        let Size { outputs: n, past, .. } = self.size;
        let range = |k: usize| self.outputs[k][1] - self.outputs[k][0];
        let squares = self.y[past * n..].iter().enumerate().map(|(i, y)| {
            let range = range(i % n);
            if range > 0.0 { (y / range) * (y / range) } else { 0.0 }
        });
        (squares.sum::<f64>() / (self.y.len() - past * n).max(1) as f64).sqrt()
    }

    /// The mean of (3), this step included.
    fn figure(&mut self, error: f64) -> f64 {
        let error = if error < LARGEST_ERROR { error } else { LARGEST_ERROR };
        let defect = self.defect + self.curvature;
        let defect = if defect < LARGEST_DEFECT { defect } else { LARGEST_DEFECT };
        self.sum = MEMORY * self.sum + (error * defect).sqrt();
        self.weight = MEMORY * self.weight + 1.0;
        self.sum / self.weight
    }

    fn shift(&mut self, factor: f64) {
        let Size { outputs: n, inputs: m, past } = self.size;
        let (of_y, of_u) = (self.y.len() - past * n, self.u.len() - past * m);
        self.y.copy_within(of_y.., 0);
        self.u.copy_within(of_u.., 0);
        self.y[..past * n].iter_mut().chain(&mut self.u[..past * m]).for_each(|v| *v *= factor);
    }

    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        memory.extend([self.defect, self.curvature, self.sum, self.weight]);
        for list in [&self.y, &self.u, &self.first] {
            memory.extend_from_slice(list);
        }
        self.outputs.iter().chain(&self.inputs).for_each(|ends| memory.extend(ends));
    }

    pub(super) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        let mut rest = memory;
        let mut numbers = [0.0; 4];
        take(&mut rest, &mut numbers);
        [self.defect, self.curvature, self.sum, self.weight] = numbers;
        for list in [&mut self.y, &mut self.u, &mut self.first] {
            take(&mut rest, list);
        }
        self.outputs.iter_mut().chain(&mut self.inputs).for_each(|ends| take(&mut rest, ends));
        rest
    }
}

fn widen(ends: &mut [f64; 2], value: f64) {
    *ends = [ends[0].min(value), ends[1].max(value)];
}

/// Room for (2).
pub(super) struct Estimate {
    matrix: Matrix,
    lu: Lu,
    all: Vec<f64>,
}

impl Estimate {
    pub(super) fn new(outputs: usize) -> Self {
        let matrix = Matrix::identity(outputs);
        let mut lu = Lu::default();
        // Room for the factors, whatever the models.
        let _ = lu.refactor(&matrix);
        Estimate { matrix, lu, all: vec![0.0; outputs] }
    }

    /// (2) over the step that has ended; the figures of all subsystems.
    pub(super) fn advance(&mut self, members: &mut [Member], nodes: usize, figures: &mut [f64]) {
        self.matrix.as_mut_slice().fill(0.0);
        for member in members.iter() {
            for (row, output) in member.outputs.clone().enumerate() {
                self.matrix[(output, output)] += 1.0;
                for wire in &member.wires {
                    let direct = member.pool.model().direct(row, wire.input);
                    self.matrix[(output, wire.source)] -= direct * wire.gain;
                }
            }
        }
        if self.lu.refactor(&self.matrix).is_err() {
            return;
        }
        for node in 1..=nodes {
            for member in members.iter() {
                let error = &member.error;
                member.pool.model().node_deviation(
                    &error.y,
                    &error.u,
                    node - 1,
                    &mut self.all[member.outputs.clone()],
                );
            }
            self.lu.solve_in_place(&mut self.all);
            for member in members.iter_mut() {
                let Size { outputs: n, inputs: m, past } = member.error.size;
                let row = past - 1 + node;
                member.error.y[row * n..][..n].copy_from_slice(&self.all[member.outputs.clone()]);
                for wire in &member.wires {
                    member.error.u[row * m + wire.input] += wire.gain * self.all[wire.source];
                }
            }
        }
        let mut worst: f64 = 0.0;
        for (member, figure) in members.iter_mut().zip(figures.iter_mut()) {
            let error = member.error.size_of_error();
            worst = if error.is_finite() { worst.max(error) } else { f64::INFINITY };
            *figure = member.error.figure(error);
        }
        // What has lost itself is brought back, so that it can still be heard.
        let factor = if worst < WORST {
            1.0
        } else if worst.is_finite() {
            WORST / worst
        } else {
            0.0
        };
        for member in members {
            if factor == 0.0 {
                member.error.y.fill(0.0);
                member.error.u.fill(0.0);
            }
            member.error.shift(factor);
        }
    }
}

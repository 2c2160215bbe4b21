//! How far outputs have got from those of the ideal coupling, as far as the models can tell: the live quality figure.
//!
//! An input lacks what was not predicted at a node, and what the line between nodes cuts off,
//!
//!   e_j = v_j - u_j - (v_{j+1} - 2 v_j + v_{j-1}) / 12                                       (1)
//!
//! with v = L y what should have been given. The error ε of the outputs then obeys the equations of the coupled system with
//! inputs that deviate by -e, (1) of `deviation`                                                             (2)
//!
//! With E the root mean square of ε over the nodes of a step and its outputs, and D the mean of |v - u| and of what lines cut
//! off, |v_{j+1} - 2 v_j + v_{j-1}| / 12, each relative to the range so far, the figure of a subsystem is the mean of
//!
//!   √(min(E, 1) min(D, 0.2))                                                                     (3)
//!
//! over about the last ten steps, as if five without error had gone before: the first movements are measured against ranges that
//! have hardly begun. E knows what the system does with errors, but trusts the models; D trusts nobody. Their
//! geometric mean told bad runs from good ones better than either. What lines cut off is never given back, and where a
//! system forgets nothing (a relay that is late stays late) it adds up unseen by E: twelve times its mean since the start, as
//! if thirty steps without had gone before, is the figure if that is more.

use super::deviation::{Coupled, Deviation, LASTING};
use super::member::Member;
use super::pool::Pool;
use crate::identify::Size;
use crate::tape::Tape;

/// Estimates are not followed beyond this many ranges.
const WORST: f64 = 10.0;
/// E and D are not counted beyond these: the first movements are measured against ranges that have hardly begun.
const LARGEST_ERROR: f64 = 1.0;
const LARGEST_DEFECT: f64 = 0.2;
/// How much what lines cut off counts, and steps without it that are taken to have gone before.
const OF_CUT: f64 = 12.0;
const BEFORE: f64 = 30.0;
/// How much of the mean (3) remains after one step, and steps without error that are taken to have gone before.
const MEMORY: f64 = 0.9;
const QUIET: f64 = 5.0;

/// What the figure of one subsystem is made of, besides ε.
#[derive(Clone, Debug)]
pub(super) struct Error {
    size: Size,
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
    /// What lines have cut off since the start, and in how many steps.
    cut: f64,
    steps: f64,
}

impl Error {
    pub(super) fn new(size: Size) -> Self {
        Error {
            size,
            first: vec![0.0; size.inputs],
            outputs: vec![[0.0; 2]; size.outputs],
            inputs: vec![[0.0; 2]; size.inputs],
            defect: 0.0,
            curvature: 0.0,
            sum: 0.0,
            weight: QUIET,
            cut: 0.0,
            steps: 0.0,
        }
    }

    /// (1), into `e`; with v, u and y at the nodes of the step that has ended.
    pub(super) fn take_in(&mut self, arrived: &[f64], given: &[f64], y: &[f64], e: &mut [f64]) {
        let Size { outputs: n, inputs: m, .. } = self.size;
        let nodes = y.len() / n.max(1);
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
                e[(node - 1) * m + k] = bend - lacked;
                self.defect += lacked.abs() * share;
                self.curvature += bend.abs() * share;
            }
        }
        if nodes > 0 {
            self.first.copy_from_slice(&arrived[(nodes - 1) * m..]);
        }
    }

    /// Root mean square of deviations of the outputs at nodes, relative to their ranges so far, which count as no smaller
    /// than `least`.
    pub(super) fn size_of(&self, outputs: &[f64], least: f64) -> f64 {
        let n = self.size.outputs;
        let squares = outputs.iter().enumerate().map(|(i, y)| {
            let range = (self.outputs[i % n][1] - self.outputs[i % n][0]).max(least);
            if range > 0.0 { (y / range) * (y / range) } else { 0.0 }
        });
        (squares.sum::<f64>() / outputs.len().max(1) as f64).sqrt()
    }

    /// Mean of what inputs lack at nodes, relative to their ranges so far, which count as no smaller than `least`; of the
    /// input that lacks most.
    pub(super) fn size_of_inputs(&self, lacked: &[f64], least: f64) -> f64 {
        let m = self.size.inputs;
        let of = |k: usize| {
            let range = (self.inputs[k][1] - self.inputs[k][0]).max(least);
            let sum: f64 = lacked.iter().skip(k).step_by(m).map(|e| e.abs()).sum();
            sum * m as f64 / (range * lacked.len() as f64)
        };
        (0..m)
            .map(of)
            .fold(0.0, |worst: f64, size| if size <= worst || worst.is_nan() { worst } else { size })
    }

    /// The figure, this step included.
    fn figure(&mut self, error: f64) -> f64 {
        let error = if error < LARGEST_ERROR { error } else { LARGEST_ERROR };
        let defect = self.defect + self.curvature;
        let defect = if defect < LARGEST_DEFECT { defect } else { LARGEST_DEFECT };
        self.sum = MEMORY * self.sum + (error * defect).sqrt();
        self.weight = MEMORY * self.weight + 1.0;
        self.cut += if self.curvature < LARGEST_DEFECT { self.curvature } else { LARGEST_DEFECT };
        self.steps += 1.0;
        (self.sum / self.weight).max(OF_CUT * self.cut / (self.steps + BEFORE))
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        let Error { defect, curvature, sum, weight, cut, steps, first, outputs, inputs, .. } = self;
        [defect, curvature, sum, weight, cut, steps].into_iter().for_each(|number| tape.number(number));
        tape.values(first);
        tape.values(outputs.as_flattened_mut());
        tape.values(inputs.as_flattened_mut());
    }
}

fn widen(ends: &mut [f64; 2], value: f64) {
    *ends = [ends[0].min(value), ends[1].max(value)];
}

/// (2) over the step that has ended; the figures of all subsystems.
pub(super) fn advance(coupled: &mut Coupled, members: &mut [Member], nodes: usize, figures: &mut [f64]) {
    if !coupled.follow(members, nodes, LASTING, Pool::model) {
        return;
    }
    let mut worst: f64 = 0.0;
    for (member, figure) in members.iter_mut().zip(figures.iter_mut()) {
        let error = member.error.size_of(member.deviations[LASTING].outputs(), 0.0);
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
    for Deviation { y, u, .. } in members.iter_mut().map(|member| &mut member.deviations[LASTING]) {
        if factor == 0.0 {
            y.fill(0.0);
            u.fill(0.0);
        }
    }
    members.iter_mut().for_each(|member| member.deviations[LASTING].shift(factor));
}

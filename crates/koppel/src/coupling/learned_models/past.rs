//! δ of steps before the last, for models that reach further back.
//!
//! δ obeys the difference equation of the outputs it belongs to, with the gap between ideal and given inputs in their place:
//!
//!   δ^k = Σ_{j≥1} A_j δ^{k-j} + Σ_{j≥1} B_j g^{k-j+1},     g = ε + L δ                                        (1)
//!
//! (2.57) is j = 1, which is J_y and J_1; the rest is here. Without it a model of second order, whose A_1 exceeds one wherever
//! it swings, makes δ grow without end. Step 2 continues ỹ in the same way: what the ideal past adds to the measured one is
//! the sum of (1) again, a step later.

use crate::coupling::View;
use crate::identify::{Identifier, IdentifyConfig};
use crate::system::SubsystemId;
use crate::tape::Tape;

/// How the parameters of a learned model are arranged.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// a_1 .. a_N of the output itself, then b_1 .. b_M of each input.
    Rls { n: usize, m: usize },
    /// All outputs of the step before, of the one before that, ..., then all inputs of this step, ...
    Moesp { rows: usize },
}

impl Layout {
    /// Steps the equation reaches back: in outputs and in inputs, the one at hand included.
    fn reach(self) -> (usize, usize) {
        match self {
            Layout::Rls { n, m } => (n, m),
            Layout::Moesp { rows } => (rows.saturating_sub(1), rows),
        }
    }
}

/// δ and g of earlier steps, newest first.
#[derive(Debug, Default)]
pub(super) struct Past {
    layouts: Vec<Layout>,
    outputs: usize,
    inputs: usize,
    /// δ^{k-2}, δ^{k-3}, ...
    deltas: Vec<f64>,
    /// g^{k-1}, g^{k-2}, ...
    gaps: Vec<f64>,
}

impl Past {
    /// For models that are learned as `config` says.
    pub(super) fn new(
        identifiers: &[Identifier],
        config: impl Fn(SubsystemId) -> IdentifyConfig,
        view: &View<'_>,
    ) -> Self {
        let layout = |(id, identifier): (usize, &Identifier)| match (identifier, config(id)) {
            (Identifier::Rls(_), IdentifyConfig::Rls(config)) => {
                Layout::Rls { n: config.outputs, m: config.inputs }
            }
            (Identifier::Moesp(moesp), _) => Layout::Moesp { rows: moesp.rows() },
            (Identifier::Rls(_), IdentifyConfig::Moesp(_)) => Layout::Rls { n: 1, m: 1 },
        };
        let layouts: Vec<Layout> = identifiers.iter().enumerate().map(layout).collect();
        let longest = |of: fn((usize, usize)) -> usize| {
            layouts.iter().map(|layout| of(layout.reach())).max().unwrap_or(1).saturating_sub(1)
        };
        let (outputs, inputs) = (view.graph.outputs(), view.graph.inputs());
        Past {
            deltas: vec![0.0; longest(|reach| reach.0) * outputs],
            gaps: vec![0.0; longest(|reach| reach.1) * inputs],
            outputs,
            inputs,
            layouts,
        }
    }

    /// The part of (1) with j > 1, of one output of a subsystem, for the next step to be pushed.
    pub(super) fn sum(
        &self,
        view: &View<'_>,
        id: SubsystemId,
        row: usize,
        identifiers: &[Identifier],
    ) -> f64 {
        let (Some(layout), Some(identifier)) = (self.layouts.get(id), identifiers.get(id)) else {
            return 0.0;
        };
        let (y, u) = (view.graph.outputs_of(id), view.graph.inputs_of(id));
        let (back, given) = layout.reach();
        let mut sum = 0.0;
        for lag in 1..back {
            let deltas = &self.deltas[(lag - 1) * self.outputs..][y.clone()];
            match layout {
                Layout::Rls { .. } => sum += identifier.parameter(row, lag) * deltas[row],
                Layout::Moesp { .. } => {
                    let at = |column: usize| identifier.parameter(row, lag * y.len() + column);
                    sum += deltas.iter().enumerate().map(|(column, delta)| at(column) * delta).sum::<f64>();
                }
            }
        }
        for lag in 1..given {
            let gaps = &self.gaps[(lag - 1) * self.inputs..][u.clone()];
            let at = |column: usize| match layout {
                Layout::Rls { n, m } => identifier.parameter(row, n + column * m + lag),
                Layout::Moesp { rows } => {
                    identifier.parameter(row, (rows - 1) * y.len() + lag * u.len() + column)
                }
            };
            sum += gaps.iter().enumerate().map(|(column, gap)| at(column) * gap).sum::<f64>();
        }
        sum
    }

    /// A step has ended: δ at its start, and g at its end.
    pub(super) fn push(&mut self, delta: &[f64], gap: impl Fn(usize) -> f64) {
        if !self.deltas.is_empty() {
            self.deltas.rotate_right(self.outputs);
            self.deltas[..self.outputs].copy_from_slice(delta);
        }
        if !self.gaps.is_empty() {
            self.gaps.rotate_right(self.inputs);
            self.gaps[..self.inputs].iter_mut().enumerate().for_each(|(input, place)| *place = gap(input));
        }
    }

    /// Nothing is known of earlier steps.
    pub(super) fn forget(&mut self) {
        self.deltas.fill(0.0);
        self.gaps.fill(0.0);
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.deltas);
        tape.values(&mut self.gaps);
    }
}

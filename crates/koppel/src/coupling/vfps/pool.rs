//! The experts of one subsystem: models of its nodes that compete.
//!
//! The fitted velocity form, three that were adapted during the run, the position form, and two that know nothing of inputs:
//! outputs that stay, and outputs that go straight on. After every step each is rolled over it with the inputs that were given,
//!
//!   E ← 0.97 E + Σ_j |y_j - ŷ_j|²
//!
//! and the one with the smallest E is used. Those that know nothing of inputs must be clearly better, unless all models are
//! poor.

use super::adaptation::{Adaptation, TRUST};
use crate::identify::{NodeFit, NodeModel, Size};
use crate::tape::Tape;
use std::ops::Range;

/// How much of a score remains after one step.
const MEMORY: f64 = 0.97;
/// An expert that knows nothing of inputs must be this much better than all models.
const CLEARLY: f64 = 0.25;
/// Share of what moves, squared, that a model may miss before that handicap is dropped.
const POOR: f64 = 0.05;
/// Share of what moved in one step, squared, that an expert may miss before it is doubted.
const MUCH: f64 = 0.1;
/// Scores of one step are not counted above this: one miss must not exclude an expert for ever.
const WORST: f64 = 1e4;

const FITTED: usize = 0;
const POSITION: usize = 1 + TRUST.len();
/// Models come first; then outputs that stay, and outputs that go straight on.
const MODELS: usize = POSITION + 1;
const CONSTANT: usize = MODELS;
const EXPERTS: usize = MODELS + 2;

/// All of them.
pub(super) struct Pool {
    experts: Vec<NodeModel>,
    scores: [f64; EXPERTS],
    chosen: usize,
    /// Whether the expert in use has missed much of what moved in the step that has ended.
    pub(super) is_doubted: bool,
    adaptation: Adaptation,
    /// What an expert makes of the nodes of a step.
    rolled: Vec<f64>,
}

impl Pool {
    pub(super) fn new(fit: &NodeFit, nodes: usize) -> Self {
        let size = fit.velocity.size;
        let mut experts = vec![fit.velocity.clone(); POSITION];
        experts.extend([fit.position.clone(), NodeModel::constant(size), NodeModel::straight(size)]);
        Pool {
            experts,
            scores: [0.0; EXPERTS],
            chosen: FITTED,
            is_doubted: false,
            adaptation: Adaptation::new(fit, size.outputs),
            rolled: vec![0.0; (size.past + nodes) * size.outputs],
        }
    }

    /// The expert in use.
    pub(super) fn expert(&self) -> &NodeModel {
        &self.experts[self.chosen]
    }

    /// The best that knows inputs.
    pub(super) fn model(&self) -> &NodeModel {
        &self.experts[self.best(0..MODELS)]
    }

    /// Whether what it has learned is not yet used.
    pub(super) fn is_unlearned(&self) -> bool {
        !(1..POSITION).contains(&self.chosen)
    }

    /// What was fitted before the run.
    pub(super) fn fitted(&self) -> &NodeModel {
        &self.experts[FITTED]
    }

    fn best(&self, among: Range<usize>) -> usize {
        among.reduce(|best, e| if self.scores[e] < self.scores[best] { e } else { best }).unwrap_or(FITTED)
    }

    /// Goes back to what was fitted before the run, and then to a hold; false if that is in use already.
    pub(super) fn simplify(&mut self) -> bool {
        let before = self.chosen;
        self.chosen = if before == FITTED || before == CONSTANT { CONSTANT } else { FITTED };
        self.chosen != before
    }

    /// Scores all experts by the nodes that follow the past, with what a squared error of each output counts.
    pub(super) fn score(&mut self, y: &[f64], u: &[f64], weights: &[f64], nodes: usize) {
        let Size { outputs, past, .. } = self.expert().size;
        let from = past * outputs;
        let (mut missed, mut moved) = (0.0, 0.0);
        for (number, (expert, score)) in self.experts.iter().zip(&mut self.scores).enumerate() {
            self.rolled[..from].copy_from_slice(&y[..from]);
            expert.roll(&mut self.rolled, u, nodes);
            let pairs = self.rolled[from..].iter().zip(&y[from..]).zip(weights.iter().cycle());
            let sum: f64 = pairs.map(|((a, b), weight)| weight * (a - b) * (a - b)).sum();
            let sum = if sum <= WORST { sum } else { WORST };
            *score = MEMORY * *score + sum;
            if number == self.chosen {
                missed = sum;
            }
            if number == CONSTANT {
                moved = sum;
            }
        }
        self.is_doubted = missed > MUCH * moved;
    }

    /// Adapts the experts that learn.
    pub(super) fn adapt(&mut self, y: &[f64], u: &[f64], nodes: usize) {
        self.adaptation.note(y, u, self.experts[FITTED].size.past, nodes);
        let (fitted, others) = self.experts.split_at_mut(1);
        for (trust, model) in TRUST.iter().zip(others) {
            self.adaptation.adapt(*trust, &fitted[0], model);
        }
    }

    /// The expert with the smallest score; those without a model only where they are clearly better.
    pub(super) fn select(&mut self) {
        let (model, signal) = (self.best(0..MODELS), self.best(MODELS..EXPERTS));
        // A model that explains less than that of what moves is no better founded than a line.
        let is_poor = self.scores[model] > POOR * self.scores[CONSTANT];
        let handicap = if is_poor { 1.0 } else { CLEARLY };
        self.chosen = if self.scores[signal] < handicap * self.scores[model] { signal } else { model };
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.numbers(&mut self.scores);
        tape.count_to(&mut self.chosen, EXPERTS as u64 - 1);
        tape.flag(&mut self.is_doubted);
        self.experts[1..POSITION].iter_mut().for_each(|expert| tape.numbers(&mut expert.coefficients));
        self.adaptation.state(tape);
    }
}

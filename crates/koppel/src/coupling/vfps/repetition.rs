//! Steps that are taken again, where every subsystem can go back to their begin.
//!
//! After a step the outputs at all nodes are known. Inputs should have been v = L y and were u. With e = v - u the models tell
//! what the outputs become if the inputs are put right, together with what follows from that for the inputs of all others: (1)
//! of `deviation`, with nothing before the step. The next trial is given
//!
//!   u + η,     η_j = L ε_j + e_j
//!
//! For models that are right this is the solution; for those that are not it is a step of Newton's method with an
//! approximate derivative, and the subsystems themselves tell the rest. So an event inside a step, of which no model knows,
//! is there in the second trial. A trial is good enough if ε, and a quarter of e, are small against the ranges; if none is,
//! the best is taken.

use super::Vfps;
use super::deviation::NEWEST;
use super::member::Member;
use crate::coupling::{Trial, View};

/// Share of its range that outputs may be wrong by the inputs of one step.
const TOLERANCE: f64 = 1e-3;
/// Of what inputs lack, relative to their ranges, this counts as much.
const OF_INPUTS: f64 = 0.25;
/// Ranges count as no smaller than this part of those the models were made with: at the start nothing has moved.
const LEAST: f64 = 0.1;
/// A step is given up if this many trials were no better than the best.
const PATIENCE: u32 = 3;

/// The trials of the step under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Repetition {
    /// Why there is none.
    pub(super) lack: Option<String>,
    trials: usize,
    fruitless: u32,
    best: f64,
    /// What the best was given, as `Vfps::nodes`.
    nodes: Vec<f64>,
    is_last: bool,
}

impl Repetition {
    /// Room for so many nodes.
    pub(super) fn make_room(&mut self, nodes: &[f64]) {
        self.nodes.clear();
        self.nodes.extend_from_slice(nodes);
    }

    /// Before the first trial of a step.
    pub(super) fn begin(&mut self) {
        (self.trials, self.fruitless, self.best, self.is_last) = (0, 0, f64::INFINITY, false);
    }
}

impl Vfps {
    /// Whether the step should be taken again, with what is then in `nodes`.
    pub(super) fn try_again(&mut self, view: &View<'_>, trial: Trial) -> bool {
        if !self.is_whole(view.step.size) || self.repetition.is_last {
            return false;
        }
        self.repetition.trials += 1;
        let size = if trial == Trial::Done { self.find_correction() } else { f64::INFINITY };
        let repetition = &mut self.repetition;
        if size < repetition.best {
            repetition.best = size;
            repetition.fruitless = 0;
            repetition.nodes.copy_from_slice(&self.nodes);
        } else {
            repetition.fruitless += 1;
        }
        if size <= TOLERANCE {
            return false;
        }
        let is_over = repetition.trials >= self.config.trials || repetition.fruitless >= PATIENCE;
        if !is_over && size.is_finite() {
            self.correct();
            return true;
        }
        if repetition.best == f64::INFINITY {
            // Not everybody can go this way; one that nobody is surprised by is left.
            let is_first = repetition.trials == 1;
            self.plan_newest();
            return is_first;
        }
        repetition.is_last = true;
        let is_best = size <= repetition.best;
        self.nodes.copy_from_slice(&self.repetition.nodes);
        !is_best
    }

    /// ε and η of the trial; its size.
    fn find_correction(&mut self) -> f64 {
        let width = self.now.len();
        self.members.iter().for_each(|member| member.tell(&mut self.seen, width));
        let mut lacked: f64 = 0.0;
        for member in &mut self.members {
            lacked = lacked.max(member.lacks(&self.seen, width, LEAST));
        }
        if !self.coupled.follow(&mut self.members, self.parts, NEWEST) {
            return OF_INPUTS * lacked;
        }
        let missed = |member: &Member| member.error.size_of(member.deviations[NEWEST].outputs(), LEAST);
        let sizes = self.members.iter().map(missed).chain([OF_INPUTS * lacked]);
        sizes.fold(0.0, |worst: f64, size| if size <= worst || worst.is_nan() { worst } else { size })
    }

    /// Adds η to what is given.
    fn correct(&mut self) {
        let m = self.parts;
        let mut lists = self.nodes.chunks_exact_mut(m + 1);
        for member in &self.members {
            for (k, nodes) in member.owned().zip(&mut lists) {
                nodes[1..].iter_mut().enumerate().for_each(|(j, u)| *u += member.correction(k, j + 1));
            }
        }
    }

    /// Gives what arrived last.
    fn plan_newest(&mut self) {
        let mut lists = self.nodes.chunks_exact_mut(self.parts + 1);
        for member in &self.members {
            for (k, nodes) in member.owned().zip(&mut lists) {
                nodes[1..].fill(member.arrived_last(k));
            }
        }
    }
}

//! Steps that are repeated, where every subsystem can roll back to their start.
//!
//! After a step the outputs at all nodes are known. Inputs should have been v = L y and were u. With e = v - u the models tell
//! what the outputs become if the inputs are put right, together with what follows from that for the inputs of all others: (1)
//! of `deviation`, with nothing before the step. The next trial is given
//!
//!   u + η,     η_j = L ε_j + e_j
//!
//! For models that are right this is the solution; for those that are not it is a step of Newton's method with an
//! approximate derivative, and the subsystems themselves tell the rest: an event inside a step, of which no model knows, is
//! there in the second trial, and the trials together show how η really follows u (`secant`). Models that fit what was seen may
//! still be wrong about what inputs do. Where ε leaves everything seen so far by a factor of three, the fitted ones take their
//! place, and if they go astray too, none: inputs then get what has arrived, η = e.
//!
//! A trial is good enough if ε, and a quarter of e, are small against the ranges; if none is, the best is taken.

use super::Vfps;
use super::deviation::{Choice, NEWEST};
use super::member::Member;
use super::pool::Pool;
use super::secant::Secant;
use crate::coupling::{StepResult, View};

/// Share of its range that outputs may be wrong by the inputs of one step.
const TOLERANCE: f64 = 1e-4;
/// Of what inputs lack, relative to their ranges, this counts as much.
const OF_INPUTS: f64 = 0.25;
/// Ranges count as no smaller than this part of those the models were made with: at the start nothing has moved.
const LEAST: f64 = 0.1;
/// A step is given up if this many trials were no better than the best.
const PATIENCE: u32 = 3;

/// The trials of the step under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Repetition {
    trials: usize,
    fruitless: u32,
    best: f64,
    /// What the best was given, as `Prediction::nodes`.
    nodes: Vec<f64>,
    is_last: bool,
    /// Models that have led astray in this step are replaced by simpler ones.
    level: usize,
    secant: Secant,
    /// u and η of a trial, relative to the ranges.
    given: Vec<f64>,
    wanted: Vec<f64>,
}

/// Models a correction may come from, best first; without any, inputs are given what arrived.
const CHOICES: [Choice; 2] = [Pool::model, Pool::fitted];

impl Repetition {
    /// Room for these nodes, so many of them without those at the start of a step.
    pub(super) fn allocate(&mut self, nodes: &[f64], inner: usize) {
        self.nodes.clear();
        self.nodes.extend_from_slice(nodes);
        self.secant.allocate(inner);
        for list in [&mut self.given, &mut self.wanted] {
            list.clear();
            list.resize(inner, 0.0);
        }
    }

    /// Before the first trial of a step.
    pub(super) fn begin(&mut self) {
        (self.trials, self.fruitless, self.best, self.is_last) = (0, 0, f64::INFINITY, false);
        self.level = 0;
        self.secant.begin();
    }
}

impl Vfps {
    /// Whether the step should be repeated, with what is then in `nodes`.
    pub(super) fn try_again(&mut self, view: &View<'_>, result: StepResult) -> bool {
        if !self.prediction.is_whole(view.step.size) || self.repetition.is_last {
            return false;
        }
        self.repetition.trials += 1;
        let size = if result == StepResult::Completed { self.find_correction() } else { f64::INFINITY };
        let repetition = &mut self.repetition;
        if size < repetition.best {
            repetition.best = size;
            repetition.fruitless = 0;
            repetition.nodes.copy_from_slice(&self.prediction.nodes);
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
            // Not every subsystem can do this; the others are left.
            let is_first = repetition.trials == 1;
            self.plan_newest();
            return is_first;
        }
        repetition.is_last = true;
        let is_best = size <= repetition.best;
        self.prediction.nodes.copy_from_slice(&self.repetition.nodes);
        !is_best
    }

    /// ε and η of the trial; its size.
    fn find_correction(&mut self) -> f64 {
        let width = self.now.len();
        self.prediction.members.iter().for_each(|member| member.copy_outputs(&mut self.node_outputs, width));
        let worse = |a: f64, b: f64| if b <= a || a.is_nan() { a } else { b };
        let largest_defect = |member: &mut Member| member.largest_defect(&self.node_outputs, width, LEAST);
        let worst = self.prediction.members.iter_mut().map(largest_defect).fold(0.0, worse);
        while let Some(model) = CHOICES.get(self.repetition.level) {
            let is_solved =
                self.coupled.follow(&mut self.prediction.members, self.prediction.parts, NEWEST, *model);
            if is_solved && !self.prediction.members.iter().any(Member::is_correction_astray) {
                break;
            }
            self.repetition.level += 1;
            self.repetition.secant.begin();
            self.prediction.members.iter_mut().for_each(Member::begin_correction);
        }
        let missed = |member: &Member| member.error.size_of(member.deviations[NEWEST].outputs(), LEAST);
        self.prediction.members.iter().map(missed).fold(OF_INPUTS * worst, worse)
    }

    /// Adds η to what is given, corrected by what the trials have shown.
    fn correct(&mut self) {
        let m = self.prediction.parts;
        let Repetition { secant, given, wanted, .. } = &mut self.repetition;
        let owned =
            || self.prediction.members.iter().flat_map(|member| member.owned().map(move |k| (member, k)));
        let places = owned().zip(self.prediction.nodes.chunks_exact(m + 1));
        let lists = given.chunks_exact_mut(m).zip(wanted.chunks_exact_mut(m));
        for (((member, k), nodes), (given, wanted)) in places.zip(lists) {
            for j in 1..=m {
                given[j - 1] = nodes[j] / member.input_range(k);
                wanted[j - 1] = member.correction(k, j);
            }
        }
        secant.improve(given, wanted);
        for (((member, k), nodes), wanted) in
            owned().zip(self.prediction.nodes.chunks_exact_mut(m + 1)).zip(wanted.chunks_exact(m))
        {
            nodes[1..].iter_mut().zip(wanted).for_each(|(u, add)| *u += add * member.input_range(k));
        }
    }

    /// Gives what arrived last.
    fn plan_newest(&mut self) {
        let mut lists = self.prediction.nodes.chunks_exact_mut(self.prediction.parts + 1);
        for member in &self.prediction.members {
            for (k, nodes) in member.owned().zip(&mut lists) {
                nodes[1..].fill(member.arrived_last(k));
            }
        }
    }
}

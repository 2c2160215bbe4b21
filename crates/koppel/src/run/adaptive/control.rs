//! How long the next step is.
//!
//! A PI control on r, what is watched relative to the tolerance, which should be 1:
//!
//!   H_{n+1} = 0.9 · r_n^{-(k_I + k_P)} · r_{n-1}^{k_P} · H_n,     k_I = 0.3 / k,   k_P = 0.4 / k                    (1)
//!
//! | symbol  | meaning                                                          | here          |
//! | r_n     | largest error of a connection at the end of step n, per tolerance | `ratio`       |
//! | k       | r goes with H^k: one more than the order of the hold             | `order`       |
//!
//! Gustafsson 1991; with power in place of errors Sadjina et al. 2017. There is no going back: a step whose r is above 1 has
//! been made, and shortens the next.
//!
//! **Guard.** What a coupling does wrong in a step depends on its length, and where errors of steps of one length cancel
//! in the course of an oscillation, those of changing ones do not. So the step is kept within a dead band; it shrinks as
//! soon as (1) says so, but grows only after some steps of one length, and only if (1) with the worst of them says so;
//! and its length is one of 1, 2, 3, 4, 6, 8, 12, 16, ... ticks.

use super::config::{AdaptiveConfig, Watched};
use crate::signal::Clock;
use crate::system::{Bond, InputId, SystemGraph};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// A part of a tick that is no time.
const NO_TIME: f64 = 1e-9;

/// A range below this share of the largest value counts as this.
const NO_RANGE: f64 = 1e-3;

/// Ranges below this are nothing, in any unit.
const NOTHING: f64 = 1e-12;

/// Errors below this share of the tolerance do not count as smaller.
const SMALLEST_RATIO: f64 = 1e-4;

/// The lengths of the steps of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSizes {
    /// How often the step was changed.
    pub changes: u64,
    /// The smallest, in s.
    pub smallest: f64,
    /// The largest, in s.
    pub largest: f64,
    /// The mean, in s.
    pub mean: f64,
    /// Steps whose error was above the tolerance.
    pub missed: u64,
}

/// Chooses steps.
pub(in crate::run) struct Control {
    settings: AdaptiveConfig,
    order: f64,
    /// Length of a tick, in s.
    tick: f64,
    most: u64,
    bonds: Vec<Bond>,
    /// Inputs that are watched, and their nominal values, NaN if not known.
    inputs: Vec<(InputId, f64)>,
    /// Extremes so far: of what arrives at each watched input, or of the power of each bond.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Ticks of the coming step.
    stride: u64,
    /// r of the last step.
    ratio: f64,
    /// Largest r, and steps, since the last change.
    worst: f64,
    kept: u64,
    taken: u64,
    changes: u64,
    missed: u64,
    smallest: u64,
    largest: u64,
    last: u64,
    /// No step goes beyond this point of the grid.
    pub(in crate::run) limit: u64,
}

impl Control {
    pub(super) fn new(settings: &AdaptiveConfig, tick: f64, terms: usize, graph: &SystemGraph) -> Self {
        // What is held because it jumps tells nothing of the step.
        let is_watched = |input: &InputId| {
            !graph.is_free(*input) && !graph.input_variable(*input).is_held && graph.map(*input).is_none()
        };
        let nominal = |input| (input, graph.input_variable(input).nominal.map_or(f64::NAN, f64::abs));
        let (bonds, inputs) = match settings.on {
            Watched::Power => (Bond::all(graph), Vec::new()),
            Watched::Defect => {
                (Vec::new(), (0..graph.inputs()).filter(is_watched).map(nominal).collect::<Vec<_>>())
            }
        };
        let count = bonds.len().max(inputs.len());
        Control {
            order: terms.max(1) as f64,
            tick,
            most: ((settings.max / tick * (1.0 + 1e-9)) as u64).max(1),
            bonds,
            inputs,
            low: vec![f64::INFINITY; count],
            high: vec![f64::NEG_INFINITY; count],
            stride: 1,
            ratio: 1.0,
            worst: 0.0,
            kept: 0,
            taken: 0,
            changes: 0,
            missed: 0,
            smallest: u64::MAX,
            largest: 0,
            last: 0,
            limit: u64::MAX,
            settings: settings.clone(),
        }
    }

    pub(super) fn has_something_to_watch(&self) -> bool {
        !self.low.is_empty()
    }

    /// Ticks of the step that begins at `index`. It ends at the stop time, at the next row, and at the next jump: a timed
    /// change or a jump of an external signal, after which steps are small again.
    pub(in crate::run) fn next_ticks(&mut self, clock: &Clock, index: u64, to_row: u64, jump: f64) -> u64 {
        let to_jump = (jump - clock.time(index)) / clock.size();
        if to_jump < 1.0 - NO_TIME {
            self.restart();
        }
        let whole = (to_jump + NO_TIME).max(1.0) as u64;
        self.stride(index, (clock.steps() - index).min(to_row).min(whole))
    }

    /// Ticks of the step that begins at `index`, of at most `most` to the next point that must be met: two about equal
    /// steps rather than a long and a short one.
    #[inline]
    fn stride(&self, index: u64, most: u64) -> u64 {
        let most = most.min(self.limit.saturating_sub(index)).max(1);
        match self.stride {
            stride if stride >= most => most,
            stride if 2 * stride > most => most.div_ceil(2),
            stride => stride,
        }
    }

    /// The largest step, in ticks.
    pub(in crate::run) fn most(&self) -> u64 {
        self.most
    }

    pub(in crate::run) fn taken(&self) -> u64 {
        self.taken
    }

    /// Length of the last step, in s; not a number before the first.
    pub(in crate::run) fn last_size(&self) -> f64 {
        if self.last == 0 { f64::NAN } else { self.last as f64 * self.tick }
    }

    /// After a jump nothing is known of what follows: from the smallest step on.
    fn restart(&mut self) {
        self.change(1);
        self.ratio = 1.0;
    }

    /// Chooses the next step by one of so many ticks that has ended.
    pub(in crate::run) fn end_step(
        &mut self,
        ticks: u64,
        outputs: &[f64],
        arrivals: &[f64],
        applied: &[f64],
    ) {
        let before = std::mem::replace(&mut self.ratio, 1.0);
        let ratio = self.see(outputs, arrivals, applied).max(SMALLEST_RATIO);
        self.ratio = ratio;
        self.taken += 1;
        self.last = ticks;
        self.smallest = self.smallest.min(ticks);
        self.largest = self.largest.max(ticks);
        self.missed += u64::from(ratio > 1.0);
        self.worst = self.worst.max(ratio);
        // A step that was cut and is good tells nothing of a whole one.
        let is_whole = ticks >= self.stride;
        if !is_whole && ratio <= 1.0 {
            return;
        }
        self.kept += u64::from(is_whole);
        let AdaptiveConfig { dead_band, growth, shrink, rest, .. } = self.settings;
        let wanted = ticks as f64 * self.factor(ratio, before).clamp(shrink, growth);
        let now = self.stride as f64;
        if wanted < now / (1.0 + dead_band) {
            self.change(self.rung(wanted));
        } else if is_whole && wanted > now * (1.0 + dead_band) && self.kept >= u64::from(rest) {
            let careful = now * self.factor(self.worst, self.worst).min(growth);
            if careful > now * (1.0 + dead_band) || rest == 0 {
                self.change(self.rung(if rest == 0 { wanted } else { wanted.min(careful) }));
            }
            (self.worst, self.kept) = (0.0, 0);
        }
    }

    /// (1).
    fn factor(&self, ratio: f64, before: f64) -> f64 {
        let (k_i, k_p) = (0.3 / self.order, 0.4 / self.order);
        0.9 * ratio.powf(-(k_i + k_p)) * before.powf(k_p)
    }

    /// The largest length that occurs, up to so many ticks.
    fn rung(&self, ticks: f64) -> u64 {
        let ticks = ticks.clamp(1.0, self.most as f64);
        if self.settings.dead_band == 0.0 {
            return ticks.round() as u64;
        }
        // Rounded to the nearest in the geometric sense, so that growth by half a rung is not lost.
        let power = 2_u64.pow(ticks.log2().floor() as u32);
        let rungs = [power, power + power / 2, 2 * power];
        let distance = |rung: u64| (rung as f64 / ticks).ln().abs();
        let nearest = rungs.into_iter().min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(power);
        nearest.min(self.most)
    }

    fn change(&mut self, stride: u64) {
        if stride != self.stride {
            self.stride = stride;
            self.changes += 1;
            self.worst = 0.0;
            self.kept = 0;
        }
    }

    /// Notes what has arrived, and tells the largest error per tolerance.
    fn see(&mut self, outputs: &[f64], arrivals: &[f64], applied: &[f64]) -> f64 {
        let Control { inputs, bonds, low, high, settings, .. } = self;
        let mut largest = 0.0_f64;
        let extremes = low.iter_mut().zip(high.iter_mut());
        for ((input, nominal), (low, high)) in inputs.iter().zip(extremes) {
            let value = arrivals[*input];
            (*low, *high) = (low.min(value), high.max(value));
            let range = (*high - *low).max(NO_RANGE * high.abs().max(low.abs())).max(NOTHING);
            let scale = if *nominal > 0.0 { *nominal } else { range };
            largest = largest.max((value - applied[*input]).abs() / scale);
        }
        for (bond, high) in bonds.iter().zip(high) {
            let (gives, takes) = bond.powers(outputs, applied);
            *high = high.max(gives.abs()).max(takes.abs()).max(NOTHING);
            largest = largest.max((takes - gives).abs() / *high);
        }
        largest / settings.tolerance
    }

    /// The lengths of the steps so far, which took the run so far.
    pub(in crate::run) fn sizes(&self, time: f64) -> StepSizes {
        let is_under_way = self.taken > 0;
        StepSizes {
            changes: self.changes,
            smallest: if is_under_way { self.smallest as f64 * self.tick } else { self.tick },
            largest: self.largest.max(1) as f64 * self.tick,
            mean: if is_under_way { time / self.taken as f64 } else { self.tick },
            missed: self.missed,
        }
    }

    /// Shows `tape` everything the next step depends on, and what was counted.
    pub(in crate::run) fn state(&mut self, tape: &mut Tape<'_>) {
        let Control { stride, kept, taken, changes, missed, smallest, largest, last, .. } = self;
        for count in [stride, kept, taken, changes, missed, smallest, largest, last] {
            tape.count(count);
        }
        tape.number(&mut self.ratio);
        tape.number(&mut self.worst);
        tape.numbers(&mut self.low);
        tape.numbers(&mut self.high);
    }
}

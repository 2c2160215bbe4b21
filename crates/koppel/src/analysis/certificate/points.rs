//! Outputs at communication points, kept so that a run can be compared with another one.

use crate::error::Result;
use crate::record::Nothing;
use crate::run::{Flow, Run};
use crate::signal::{Bounds, Deviation};

/// Numbers that are kept, at most: 128 MB.
const MOST: usize = 16_000_000;

/// Points of the polynomial between two rows.
const CUBIC: usize = 4;

/// The begin of a run, as a share of it, and its end.
const EARLY: f64 = 0.2;

/// Parts of a run over which means are taken.
const THIRDS: usize = 3;

/// Of differences above this share of the range, this share may come from what turns between communication points.
const NOTICED: f64 = 0.01;
const UNRESOLVED: f64 = 0.3;

/// Times and outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Points {
    times: Vec<f64>,
    /// Row by row.
    values: Vec<f64>,
    width: usize,
    is_full: bool,
}

/// How far one output of two runs lies apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) rms: f64,
    pub(super) largest: f64,
    /// When that was.
    pub(super) time: f64,
    /// The smaller of the ranges of both runs at the points of the coarser one, as [`super::signal::range`] counts them.
    pub(super) range: f64,
    /// Root mean square of what the finer run turns between its own points: of the cubic less the line.
    turning: f64,
    /// Root mean square of the difference over the first fifth, [`EARLY`].
    pub(super) early: f64,
    /// Root mean square of its means over each third.
    lasting: f64,
}

impl Difference {
    /// True if the output changes too fast between the points of the finer run to be compared elsewhere.
    pub(super) fn is_unresolved(&self) -> bool {
        self.rms > NOTICED * self.range && self.turning > UNRESOLVED * self.rms
    }

    /// Over the range.
    pub(super) fn relative(&self) -> f64 {
        if self.rms == 0.0 { 0.0 } else { self.rms / self.range }
    }

    /// What lasts of it, over the range.
    pub(super) fn lasting(&self) -> f64 {
        if self.lasting == 0.0 { 0.0 } else { self.lasting / self.range }
    }
}

impl Points {
    /// For so many outputs.
    pub(super) fn new(width: usize) -> Self {
        Points { width, ..Points::default() }
    }

    /// Runs to the end and keeps all communication points. `go_on` is asked at each of them; nothing if it said no.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn of(run: &mut Run, go_on: &mut (dyn FnMut(&Run) -> bool + Send)) -> Result<Option<Self>> {
        let mut points = Points::new(run.graph().outputs());
        let mut is_stopped = false;
        points.note(run);
        run.run(&mut Nothing, &mut |run| {
            if run.is_inside_step() {
                return Ok(Flow::Continue);
            }
            points.note(run);
            is_stopped = !go_on(run);
            Ok(if is_stopped { Flow::Stop } else { Flow::Continue })
        })?;
        Ok((!is_stopped).then_some(points))
    }

    /// Keeps the outputs of now.
    pub(super) fn note(&mut self, run: &Run) {
        self.add(run.time(), run.network().outputs());
    }

    fn add(&mut self, time: f64, outputs: &[f64]) {
        if self.times.last().is_some_and(|last| time <= *last) {
            return;
        }
        if self.values.len() + outputs.len() > MOST {
            self.is_full = true;
            return;
        }
        self.times.push(time);
        self.values.extend_from_slice(outputs);
    }

    /// True if there were more points than are kept.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn start(&self) -> f64 {
        self.times.first().copied().unwrap_or(f64::NAN)
    }

    pub(super) fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(f64::NAN)
    }

    pub(super) fn bounds(&self, output: usize) -> Bounds {
        Bounds::of(self.values.iter().skip(output).step_by(self.width.max(1)).copied())
    }

    fn row(&self, k: usize) -> &[f64] {
        &self.values[k * self.width..(k + 1) * self.width]
    }

    /// How much of what an output moves over the last fifth is from each point to the next: 1 if it swings between two values, 1/2 if
    /// it takes four points to come back.
    pub(super) fn swinging(&self, output: usize) -> f64 {
        let begin = ((1.0 - EARLY) * self.times.len() as f64) as usize;
        let mean = (begin..self.times.len()).map(|k| self.row(k)[output]).sum::<f64>()
            / (self.times.len() - begin).max(1) as f64;
        let (mut moves, mut turns) = (Deviation::default(), Deviation::default());
        for k in begin.max(1)..self.times.len().saturating_sub(1) {
            let [before, now, after] = [k - 1, k, k + 1].map(|k| self.row(k)[output]);
            moves.add(now - mean);
            turns.add(0.25 * (after - 2.0 * now + before));
        }
        if moves.rms() > 0.0 { turns.rms() / moves.rms() } else { 0.0 }
    }

    /// How far the outputs are apart, at the points of the coarser run: the finer one is a cubic in between.
    ///
    /// `range` is the range of an output with these bounds.
    pub(super) fn differences(
        coarse: &Points,
        fine: &Points,
        range: &dyn Fn(usize, &Bounds) -> f64,
    ) -> Vec<Difference> {
        let width = coarse.width;
        // What has been in between, as a start that vanishes with the step, is no part of the range.
        let mut seen = vec![Bounds::NONE; width];
        coarse.values.iter().take(width).zip(&mut seen).for_each(|(y, seen)| seen.add(*y));
        let mut deviations = vec![Deviation::default(); width];
        let mut turnings = vec![Deviation::default(); width];
        let mut early = vec![Deviation::default(); width];
        let mut means = vec![[(0.0, f64::MIN_POSITIVE); THIRDS]; width];
        let mut worst = vec![(0.0, f64::NAN); width];
        let (mut from, last) = (0, fine.times.len());
        for (k, time) in coarse.times.iter().enumerate() {
            if last < CUBIC || *time <= fine.start() {
                continue;
            }
            if *time > fine.end() + 1e-9 * (time - coarse.times[0]) {
                break;
            }
            // The two points before and the two behind, as far as there are any.
            while from + CUBIC < last && fine.times[from + 2] < *time {
                from += 1;
            }
            let times = &fine.times[from..from + CUBIC];
            let weights = lagrange(times, *time);
            let left = times.partition_point(|t| t <= time).clamp(1, CUBIC - 1) - 1;
            let share = (time - times[left]) / (times[left + 1] - times[left]);
            // How far it is through the run, and through a third of it, at whose ends means fade.
            let way = (time - coarse.start()) / (coarse.end() - coarse.start());
            let third = ((THIRDS as f64 * way) as usize).min(THIRDS - 1);
            let weight = (std::f64::consts::PI * (THIRDS as f64 * way - third as f64)).sin().powi(2);
            for (output, (deviation, worst)) in deviations.iter_mut().zip(&mut worst).enumerate() {
                let value: f64 = (0..CUBIC).map(|j| weights[j] * fine.row(from + j)[output]).sum();
                seen[output].add(value);
                let y = |j: usize| fine.row(from + j)[output];
                turnings[output].add(value - y(left) - share * (y(left + 1) - y(left)));
                let difference = coarse.row(k)[output] - value;
                deviation.add(difference);
                if way <= EARLY {
                    early[output].add(difference);
                }
                let (sum, weights) = &mut means[output][third];
                (*sum, *weights) = (*sum + weight * difference, *weights + weight);
                if difference.is_nan() || difference.abs() > worst.0 {
                    *worst = (difference.abs(), *time);
                }
            }
        }
        let one = |(output, (deviation, (largest, time))): (usize, (&Deviation, (f64, f64)))| {
            let (rms, turning) = (deviation.rms(), turnings[output].rms());
            let range = range(output, &coarse.bounds(output)).min(range(output, &seen[output]));
            let mut lasting = Deviation::default();
            means[output].iter().for_each(|(sum, weights)| lasting.add(sum / weights));
            let (early, lasting) = (early[output].rms(), lasting.rms());
            Difference { rms, largest, time, range, turning, early, lasting }
        };
        deviations.iter().zip(worst).enumerate().map(one).collect()
    }
}

/// Weights of the values at four times in the cubic through them.
fn lagrange(times: &[f64], time: f64) -> [f64; CUBIC] {
    std::array::from_fn(|j| {
        let others = (0..CUBIC).filter(|k| *k != j);
        others.map(|k| (time - times[k]) / (times[j] - times[k])).product()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize, step: f64, y: impl Fn(f64) -> [f64; 2]) -> Points {
        let mut points = Points::new(2);
        (0..=count).for_each(|k| points.add(step * k as f64, &y(step * k as f64)));
        points
    }

    /// A cubic is reproduced between the points, and what is added to it is found.
    #[test]
    fn differences_of_runs_with_other_steps() {
        let cubic = |t: f64| [t * t * t - 2.0 * t, 1.0];
        let fine = points(100, 0.0618, cubic);
        let range = |_: usize, bounds: &Bounds| bounds.range();
        let same = Points::differences(&points(60, 0.1, cubic), &fine, &range);
        assert!(same.iter().all(|one| one.largest < 1e-10), "{same:?}");
        let moved = points(60, 0.1, |t| [cubic(t)[0] + 0.5, 1.0 + if t > 5.95 { 2.0 } else { 0.0 }]);
        let found = Points::differences(&moved, &fine, &range);
        assert!((found[0].rms - 0.5).abs() < 1e-10, "{found:?}");
        assert_eq!((found[1].largest, found[1].time), (2.0, 6.0));
        assert!(found[1].range < 1e-12, "{found:?}");
        assert!((found[0].lasting() * found[0].range - 0.5).abs() < 1e-10, "{found:?}");
    }

    #[test]
    fn swings_from_point_to_point() {
        let swinging = |period: f64| {
            let turn = 2.0 * std::f64::consts::PI / period;
            points(1000, 1.0, |t| [3.0 + (turn * t).cos(), 0.0]).swinging(0)
        };
        assert!((swinging(2.0) - 1.0).abs() < 1e-3 && (swinging(4.0) - 0.5).abs() < 1e-3);
        assert!(swinging(20.0) < 0.03 && points(10, 1.0, |_| [1.0, 1.0]).swinging(0) == 0.0);
    }

    #[test]
    fn more_points_than_are_kept_are_noticed() {
        let mut points = Points::new(MOST);
        points.add(0.0, &vec![0.0; MOST]);
        assert!(!points.is_full());
        points.add(1.0, &vec![0.0; MOST]);
        assert!(points.is_full() && points.times.len() == 1);
    }
}

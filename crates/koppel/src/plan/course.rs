//! The outputs of a run over time, and how far two of them lie apart.
//!
//!   e_i = √(1/K Σ_k (y_i^k - ŷ_i(t_k))²) / (max ŷ_i - min ŷ_i),     k = 1..K                           (1)
//!
//! ŷ is linear between the points of the finer run. The same measure as that of the forecast.

use crate::run::Run;

/// An output that moves less than this part of its size stands still.
const STILL: f64 = 1e-9;

/// Outputs at communication points.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    times: Vec<f64>,
    /// Row by row.
    values: Vec<f64>,
    width: usize,
}

impl Course {
    /// Adds where a run stands; `order` are its subsystems in the order of the columns.
    pub(super) fn add(&mut self, run: &Run, order: &[usize]) {
        self.times.push(run.time());
        let graph = run.graph();
        for id in order {
            let signals =
                graph.outputs_of(*id).zip(run.outputs(*id)).filter(|(output, _)| graph.is_signal(*output));
            self.values.extend(signals.map(|(_, y)| y));
        }
        self.width = self.values.len() / self.times.len();
    }

    /// The newest row.
    pub(super) fn last(&self) -> &[f64] {
        &self.values[self.values.len() - self.width..]
    }

    /// The last time.
    pub(super) fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// Where each output has been: lowest and highest.
    pub(super) fn ranges(&self) -> Vec<(f64, f64)> {
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); self.width];
        for row in self.values.chunks(self.width.max(1)) {
            ranges.iter_mut().zip(row).for_each(|(range, y)| *range = (range.0.min(*y), range.1.max(*y)));
        }
        ranges
    }

    /// (1) of the worst output, this course against a finer one; nothing if nothing moves there. Infinite if this one did not reach
    /// as far.
    pub(super) fn error(&self, reference: &Course) -> Option<f64> {
        let sizes: Vec<f64> = reference.ranges().into_iter().map(size).collect();
        if sizes.iter().all(|size| *size == 0.0) {
            return None;
        }
        let spacing = self.times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        if self.end() < reference.end() - 1.001 * spacing || self.values.iter().any(|y| !y.is_finite()) {
            return Some(f64::INFINITY);
        }
        let mut squares = vec![0.0; self.width];
        let (mut at, mut number) = (0, 0.0);
        for (time, row) in self.times.iter().zip(self.values.chunks(self.width)).skip(1) {
            if *time > reference.end() * (1.0 + 1e-12) {
                break;
            }
            while at + 2 < reference.times.len() && reference.times[at + 1] < *time {
                at += 1;
            }
            for (k, y) in row.iter().enumerate() {
                squares[k] += (y - reference.between(at, *time, k)).powi(2);
            }
            number += 1.0;
        }
        let judged = squares.iter().zip(&sizes).filter(|(_, size)| **size > 0.0);
        Some(judged.map(|(square, size)| (square / f64::max(number, 1.0)).sqrt() / size).fold(0.0, f64::max))
    }

    /// Where this course and a coarser one of twice the step lead to if errors shrink like the step: 2 y - y_coarse, at the points of
    /// the coarser one.
    pub(super) fn beyond(&self, coarse: &Course) -> Course {
        let (mut limit, mut at) = (Course { width: self.width, ..Course::default() }, 0);
        for (time, row) in coarse.times.iter().zip(coarse.values.chunks(self.width.max(1))) {
            while at + 2 < self.times.len() && self.times[at + 1] < *time {
                at += 1;
            }
            limit.times.push(*time);
            limit.values.extend(row.iter().enumerate().map(|(k, y)| 2.0 * self.between(at, *time, k) - y));
        }
        limit
    }

    /// One output on the line from row `at` to the next.
    fn between(&self, at: usize, time: f64, output: usize) -> f64 {
        let next = (at + 1).min(self.times.len() - 1);
        let (from, to) = (self.values[at * self.width + output], self.values[next * self.width + output]);
        let length = self.times[next] - self.times[at];
        if length > 0.0 { from + (to - from) * ((time - self.times[at]) / length).min(1.0) } else { to }
    }
}

/// How far an output moves; 0 if it stands still.
fn size((low, high): (f64, f64)) -> f64 {
    let size = high - low;
    if size > STILL * low.abs().max(high.abs()) && size.is_finite() { size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(times: &[f64], values: &[f64]) -> Course {
        Course { times: times.to_vec(), values: values.to_vec(), width: 1 }
    }

    #[test]
    fn the_error_is_the_distance_over_the_range() {
        let fine = course(&[0.0, 1.0, 2.0, 3.0, 4.0], &[0.0, 1.0, 2.0, 3.0, 4.0]);
        let coarse = course(&[0.0, 1.5, 3.0, 4.0], &[0.0, 1.5 + 0.4, 3.0 + 0.4, 4.0 + 0.4]);
        let error = coarse.error(&fine);
        assert!(error.is_some_and(|error| (error - 0.1).abs() < 1e-12), "{error:?}");
    }

    #[test]
    fn a_run_that_ended_early_is_infinitely_wrong_and_one_at_rest_cannot_be_judged() {
        let fine = course(&[0.0, 1.0, 2.0, 3.0, 4.0], &[0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(course(&[0.0, 1.0], &[0.0, 1.0]).error(&fine), Some(f64::INFINITY));
        let still = course(&[0.0, 1.0, 2.0], &[5.0, 5.0, 5.0]);
        assert_eq!(still.error(&still), None);
    }
}

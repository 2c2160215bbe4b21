//! A run's rows in memory, and how far two runs lie apart.
//!
//!   e_i = √(1/K Σ_k (y_i^k - ŷ_i(t_k))²) / (max ŷ_i - min ŷ_i),     k = 1..K                           (1)
//!
//! ŷ is linear between the points of the reference. Chen et al. 2021, (15).

use super::Recorder;
use crate::error::Result;
use crate::signal::{Bounds, Deviation};

/// Signals over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Communication points.
    pub times: Vec<f64>,
    /// One row per time.
    pub rows: Vec<Vec<f64>>,
}

/// A moment between two rows.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The row before, or at that time.
    pub row: usize,
    /// Share of the next row.
    share: f64,
}

/// Rows closer than this, as a share of their distance, are at the same time.
const SAME: f64 = 1e-6;

impl Trajectory {
    /// One column over time.
    pub fn column(&self, index: usize) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().map(move |row| row[index])
    }

    /// How many columns.
    pub fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Where each column lies.
    pub fn bounds(&self) -> Vec<Bounds> {
        (0..self.width()).map(|index| Bounds::of(self.column(index))).collect()
    }

    /// The last time; NaN without rows.
    pub fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(f64::NAN)
    }

    /// Where a time lies; `from` is the row found last. None beyond the ends.
    pub fn moment(&self, time: f64, from: usize) -> Option<Moment> {
        let last = self.times.len().checked_sub(1)?;
        let mut row = from.min(last);
        while row < last && self.times[row + 1] <= time {
            row += 1;
        }
        while row > 0 && self.times[row] > time {
            row -= 1;
        }
        let distance = match row {
            row if row < last => self.times[row + 1] - self.times[row],
            // Where a change is, a time may stand twice.
            _ => {
                let before = self.times[..last].iter().rfind(|time| **time < self.times[last]);
                before.map_or(1.0, |before| self.times[last] - before)
            }
        };
        match (time - self.times[row]) / distance {
            share if share.abs() <= SAME => Some(Moment { row, share: 0.0 }),
            share if share >= 1.0 - SAME && row < last => Some(Moment { row: row + 1, share: 0.0 }),
            share if share > 0.0 && row < last => Some(Moment { row, share }),
            _ => None,
        }
    }

    /// Value of a column; between two rows on the line through them.
    pub fn value(&self, index: usize, at: Moment) -> f64 {
        let from = self.rows[at.row][index];
        match at.share {
            0.0 => from,
            share => from + share * (self.rows[at.row + 1][index] - from),
        }
    }

    /// (1) of the worst column against a finer trajectory; nothing if nothing moves there. Infinite if this one did not reach as far.
    pub fn error(&self, reference: &Trajectory) -> Option<f64> {
        let ranges: Vec<f64> = reference.bounds().iter().map(Bounds::movement).collect();
        if ranges.iter().all(|range| *range == 0.0) {
            return None;
        }
        let spacing = self.times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        let has_come = self.end() >= reference.end() - 1.001 * spacing;
        if !has_come || self.rows.iter().flatten().any(|y| !y.is_finite()) {
            return Some(f64::INFINITY);
        }
        let mut deviations = vec![Deviation::default(); self.width()];
        let mut row = 0;
        for (time, own) in self.times.iter().zip(&self.rows).skip(1) {
            let Some(at) = reference.moment(*time, row) else { break };
            row = at.row;
            for (k, (deviation, y)) in deviations.iter_mut().zip(own).enumerate() {
                deviation.add(y - reference.value(k, at));
            }
        }
        let judged = deviations.iter().zip(&ranges).filter(|(_, range)| **range > 0.0);
        Some(judged.map(|(deviation, range)| deviation.rms() / range).fold(0.0, f64::max))
    }

    /// Where this trajectory and a coarser one of twice the step lead to if errors shrink like the step: 2 y - y_coarse, at the
    /// points of the coarser one.
    pub fn extrapolated(&self, coarse: &Trajectory) -> Trajectory {
        let mut limit = Trajectory::default();
        let mut row = 0;
        for (time, coarse) in coarse.times.iter().zip(&coarse.rows) {
            // A run that ended early stays where it was.
            let last = Moment { row: self.rows.len() - 1, share: 0.0 };
            let at = self.moment(*time, row).unwrap_or(last);
            row = at.row;
            limit.times.push(*time);
            limit.rows.push(coarse.iter().enumerate().map(|(k, y)| 2.0 * self.value(k, at) - y).collect());
        }
        limit
    }
}

impl Recorder for Trajectory {
    fn row(&mut self, time: f64, values: &[f64]) -> Result<()> {
        self.times.push(time);
        self.rows.push(values.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trajectory(times: &[f64], values: &[f64]) -> Trajectory {
        Trajectory { times: times.to_vec(), rows: values.iter().map(|y| vec![*y]).collect() }
    }

    #[test]
    fn it_is_a_line_between_rows_and_ends_at_its_ends() {
        let signal = trajectory(&[0.0, 0.1, 0.3], &[0.0, 1.0, -1.0]);
        let at = |time| signal.moment(time, 0).map(|moment| signal.value(0, moment));
        assert_eq!(at(0.0), Some(0.0));
        assert_eq!(at(0.1 + 1e-12), Some(1.0));
        assert!((at(0.2).unwrap()).abs() < 1e-12);
        assert_eq!(at(0.3 + 1e-12), Some(-1.0));
        assert!(at(0.31).is_none() && at(-0.01).is_none());
        assert_eq!((signal.bounds()[0].range(), signal.bounds()[0].largest(), signal.end()), (2.0, 1.0, 0.3));
        let changed = trajectory(&[0.0, 0.1, 0.1], &[0.0, 1.0, -1.0]);
        assert_eq!(changed.moment(0.1, 0).map(|moment| changed.value(0, moment)), Some(-1.0));
    }

    #[test]
    fn the_error_is_the_distance_over_the_range() {
        let fine = trajectory(&[0.0, 1.0, 2.0, 3.0, 4.0], &[0.0, 1.0, 2.0, 3.0, 4.0]);
        let coarse = trajectory(&[0.0, 1.5, 3.0, 4.0], &[0.0, 1.5 + 0.4, 3.0 + 0.4, 4.0 + 0.4]);
        let error = coarse.error(&fine);
        assert!(error.is_some_and(|error| (error - 0.1).abs() < 1e-12), "{error:?}");
    }

    #[test]
    fn a_run_that_ended_early_is_infinitely_wrong_and_one_at_rest_cannot_be_judged() {
        let fine = trajectory(&[0.0, 1.0, 2.0, 3.0, 4.0], &[0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(trajectory(&[0.0, 1.0], &[0.0, 1.0]).error(&fine), Some(f64::INFINITY));
        let still = trajectory(&[0.0, 1.0, 2.0], &[5.0, 5.0, 5.0]);
        assert_eq!(still.error(&still), None);
    }
}

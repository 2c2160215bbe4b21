//! Measures that follow a run row by row; nothing of the course itself is kept.

use std::sync::Arc;

use koppel::expression::Expression;
use koppel::record::Recorder;
use koppel::signal::Bounds;

use super::reference_signals::ReferenceSignals;
use crate::settings::{Combine, Limit, Statistic};

/// What is known of a sequence of numbers.
#[derive(Clone, Copy, Debug)]
struct Tally {
    count: u64,
    sum: f64,
    squares: f64,
    bounds: Bounds,
    last: f64,
    integral: f64,
    time: f64,
}

impl Tally {
    const NEW: Tally = Tally {
        count: 0,
        sum: 0.0,
        squares: 0.0,
        bounds: Bounds::NONE,
        last: f64::NAN,
        integral: 0.0,
        time: 0.0,
    };

    fn note(&mut self, time: f64, value: f64) {
        if self.count > 0 {
            self.integral += 0.5 * (value + self.last) * (time - self.time);
        }
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.bounds.add(value);
        (self.last, self.time) = (value, time);
    }

    fn take(&self, take: Statistic) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        let count = self.count as f64;
        match take {
            Statistic::Final => self.last,
            Statistic::Max => self.bounds.high,
            Statistic::Min => self.bounds.low,
            Statistic::Mean => self.sum / count,
            Statistic::Rms => (self.squares / count).sqrt(),
            Statistic::Range => self.bounds.high - self.bounds.low,
            Statistic::Integral => self.integral,
        }
    }
}

/// A measure that follows the run, with signals by their number.
#[derive(Clone, Debug)]
pub(super) enum Follow {
    Signal {
        of: Expression,
        signals: Vec<usize>,
        take: Statistic,
    },
    /// `references` are the numbers of the signals in the reference, `owners` those of their subsystems.
    Error {
        signals: Vec<usize>,
        references: Vec<usize>,
        owners: Vec<usize>,
        take: Statistic,
        is_relative: bool,
        combine: Combine,
    },
    Bounded {
        signals: Vec<usize>,
        references: Vec<usize>,
        limit: Limit,
    },
}

struct Tracker<'a> {
    follow: &'a Follow,
    tallies: Vec<Tally>,
    values: Vec<f64>,
}

/// All such measures of one run.
pub(super) struct Meter<'a> {
    trackers: Vec<Tracker<'a>>,
    reference: Option<Arc<ReferenceSignals>>,
    /// Column of each signal in this run.
    columns: Vec<usize>,
    row: usize,
    rows: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(
        follows: &'a [Follow],
        reference: Option<Arc<ReferenceSignals>>,
        columns: Vec<usize>,
    ) -> Self {
        let tracker = |follow: &'a Follow| {
            let (tallies, values) = match follow {
                Follow::Signal { signals, .. } => (1, signals.len()),
                Follow::Error { signals, .. } | Follow::Bounded { signals, .. } => (signals.len(), 0),
            };
            Tracker { follow, tallies: vec![Tally::NEW; tallies], values: vec![0.0; values] }
        };
        Meter { trackers: follows.iter().map(tracker).collect(), reference, columns, row: 0, rows: 0 }
    }

    /// The numbers, in the order of `follows`.
    pub(super) fn values(&self) -> Vec<f64> {
        self.trackers.iter().map(|tracker| tracker.value(self.reference.as_deref())).collect()
    }
}

impl Tracker<'_> {
    fn value(&self, reference: Option<&ReferenceSignals>) -> f64 {
        match self.follow {
            Follow::Signal { take, .. } => self.tallies[0].take(*take),
            Follow::Error { references, owners, take, is_relative, combine, .. } => {
                let error = |k: usize| {
                    let range = reference.map_or(1.0, |reference| reference.bounds[references[k]].range());
                    let scale = if *is_relative && range > 0.0 { range } else { 1.0 };
                    self.tallies[k].take(*take) / scale
                };
                let errors: Vec<f64> = (0..references.len()).map(error).collect();
                combined(&errors, owners, *combine)
            }
            Follow::Bounded { references, limit, .. } => {
                let is_within = |(tally, column): (&Tally, &usize)| {
                    let limit = match limit {
                        Limit::Below(limit) => *limit,
                        Limit::Times(factor) => {
                            factor * reference.map_or(f64::NAN, |c| c.bounds[*column].largest())
                        }
                    };
                    tally.bounds.high <= limit && -tally.bounds.low <= limit
                };
                f64::from(u8::from(self.tallies.iter().zip(references).all(is_within)))
            }
        }
    }
}

/// Genser 2020, (3.9): the mean over the signals of each subsystem, then the Euclidean norm over subsystems.
fn combined(errors: &[f64], owners: &[usize], combine: Combine) -> f64 {
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
        sum / f64::from(count.max(1))
    };
    match combine {
        Combine::Max if errors.iter().any(|error| error.is_nan()) => f64::NAN,
        Combine::Max => errors.iter().copied().fold(0.0, f64::max),
        Combine::Mean => mean(&mut errors.iter().copied()),
        Combine::Norm => {
            let count = owners.iter().max().map_or(0, |last| last + 1);
            let of = |owner: usize| {
                mean(&mut errors.iter().zip(owners).filter(|(_, o)| **o == owner).map(|(error, _)| *error))
            };
            // Without squares, which overflow in runs that almost did.
            (0..count).map(of).fold(0.0, f64::hypot)
        }
    }
}

impl Recorder for Meter<'_> {
    fn row(&mut self, time: f64, row: &[f64]) -> koppel::Result<()> {
        let mut moment = None;
        if let Some(reference) = &self.reference {
            let found = reference.signals.moment(time, self.row).ok_or_else(|| {
                let end = reference.signals.end();
                let source = format!("the reference ends at t = {end} s, the run is at t = {time} s").into();
                Box::new(koppel::Error::Recorder { source })
            })?;
            self.row = found.row;
            moment = Some((reference, found));
        }
        let Meter { trackers, columns, rows, .. } = self;
        for tracker in trackers {
            let Tracker { follow, tallies, values } = tracker;
            match follow {
                Follow::Signal { of, signals, .. } => {
                    values.iter_mut().zip(signals).for_each(|(value, signal)| *value = row[columns[*signal]]);
                    tallies[0].note(time, of.evaluate(time, values));
                }
                // The start is the same for all: (3.10) counts from the first step on.
                Follow::Error { .. } if *rows == 0 => {}
                Follow::Error { signals, references, .. } => {
                    let Some((reference, moment)) = moment else { continue };
                    for ((tally, signal), column) in tallies.iter_mut().zip(signals).zip(references) {
                        tally.note(
                            time,
                            (row[columns[*signal]] - reference.signals.value(*column, moment)).abs(),
                        );
                    }
                }
                Follow::Bounded { signals, .. } => {
                    tallies
                        .iter_mut()
                        .zip(signals)
                        .for_each(|(tally, signal)| tally.note(time, row[columns[*signal]]));
                }
            }
        }
        *rows += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_of_a_course() {
        let mut tally = Tally::NEW;
        for (time, value) in [(0.0, 1.0), (1.0, 3.0), (3.0, -1.0)] {
            tally.note(time, value);
        }
        let taken = |take| tally.take(take);
        assert_eq!(taken(Statistic::Final), -1.0);
        assert_eq!((taken(Statistic::Max), taken(Statistic::Min), taken(Statistic::Range)), (3.0, -1.0, 4.0));
        assert_eq!(taken(Statistic::Mean), 1.0);
        assert_eq!(taken(Statistic::Rms), (11.0_f64 / 3.0).sqrt());
        assert_eq!(taken(Statistic::Integral), 2.0 + 2.0);
    }

    /// Two signals of one subsystem and one of another: ((0.1 + 0.3) / 2, 0.4) has the norm sqrt(0.04 + 0.16).
    #[test]
    fn errors_become_one() {
        let errors = [0.1, 0.3, 0.4];
        assert!((combined(&errors, &[0, 0, 1], Combine::Norm) - 0.2_f64.sqrt()).abs() < 1e-15);
        assert_eq!(combined(&errors, &[0, 0, 1], Combine::Max), 0.4);
        assert!((combined(&errors, &[0, 0, 1], Combine::Mean) - 0.8 / 3.0).abs() < 1e-15);
        assert!(combined(&[f64::NAN, 1.0], &[0, 1], Combine::Max).is_nan());
    }
}

//! What a run did: steps, where the time went, and how far inputs were from what they should have been.

use serde::{Deserialize, Serialize};

/// Largest coupling error of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Defect {
    /// `a.x -> b.u`.
    pub connection: String,
    /// Unit of the input, if it has one.
    pub unit: Option<String>,
    /// Largest |L y - u| at the end of a step.
    pub largest: f64,
    /// When that was.
    pub time: f64,
    /// Range of the arriving values so far: the measure for `largest`.
    pub range: f64,
}

/// A subsystem's part of the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Name of the subsystem.
    pub subsystem: String,
    /// Its solver.
    pub solver: String,
    /// Seconds of all steps, estimated from the first and a sample of the others.
    pub seconds: f64,
    /// Mean seconds per step after the first, measured on a sample of the steps.
    pub seconds_per_step: f64,
    /// Steps it took, estimated from the macro steps.
    pub steps: u64,
}

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Macro steps done.
    pub steps: u64,
    /// Per subsystem.
    pub shares: Vec<Share>,
    /// Per connected input.
    pub defects: Vec<Defect>,
    /// Stages that run on several threads.
    pub parallel_stages: usize,
}

/// Running extremes of one connected input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    pub(super) largest: f64,
    pub(super) time: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Default for Extremes {
    fn default() -> Self {
        Extremes { largest: 0.0, time: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Extremes {
    /// Notes that `arrival` should have been applied at `time`, and was `error` away.
    #[inline]
    pub(super) fn note(&mut self, arrival: f64, error: f64, time: f64) {
        self.low = self.low.min(arrival);
        self.high = self.high.max(arrival);
        if error > self.largest {
            self.largest = error;
            self.time = time;
        }
    }
}

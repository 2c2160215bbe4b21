//! What a run did: steps, where the time went, and how far inputs were from what they should have been.

use serde::{Deserialize, Serialize};
use std::ops::Range;

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
    /// Mean seconds per step, measured on a sample of the steps.
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

/// Running extremes of all inputs, one list each so that the loop over them is short.
#[derive(Clone, Debug, Default)]
pub(super) struct Extremes {
    largest: Vec<f64>,
    time: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Extremes {
    pub(super) fn new(inputs: usize) -> Self {
        Extremes {
            largest: vec![0.0; inputs],
            time: vec![0.0; inputs],
            low: vec![f64::INFINITY; inputs],
            high: vec![f64::NEG_INFINITY; inputs],
        }
    }

    /// Notes that these inputs should have been `offsets + sums` at `end`, and were `applied`.
    #[inline]
    pub(super) fn note(&mut self, inputs: Range<usize>, offsets: &[f64], sums: &[f64], applied: &[f64], end: f64) {
        let (largest, time) = (&mut self.largest[inputs.clone()], &mut self.time[inputs.clone()]);
        let (low, high) = (&mut self.low[inputs.clone()], &mut self.high[inputs.clone()]);
        let (offsets, sums, applied) = (&offsets[inputs.clone()], &sums[inputs.clone()], &applied[inputs.clone()]);
        for i in 0..inputs.len() {
            let arrival = offsets[i] + sums[i];
            let error = (arrival - applied[i]).abs();
            low[i] = if arrival < low[i] { arrival } else { low[i] };
            high[i] = if arrival > high[i] { arrival } else { high[i] };
            let is_larger = error > largest[i];
            largest[i] = if is_larger { error } else { largest[i] };
            time[i] = if is_larger { end } else { time[i] };
        }
    }

    /// What is known of one input.
    pub(super) fn defect(&self, input: usize) -> Defect {
        let range = (self.high[input] - self.low[input]).max(0.0);
        Defect { largest: self.largest[input], time: self.time[input], range, ..Defect::default() }
    }
}

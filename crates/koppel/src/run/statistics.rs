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

    /// Notes that these inputs should have been `arrivals` at `end`, and were `applied`.
    ///
    /// New extremes are rare: eight inputs at a time are only compared, and looked at one by one when one of them has a
    /// new extreme.
    pub(super) fn note(&mut self, inputs: Range<usize>, arrivals: &[f64], applied: &[f64], end: f64) {
        const BLOCK: usize = 8;
        let mut first = inputs.start;
        while first < inputs.end {
            let block = first..(first + BLOCK).min(inputs.end);
            first = block.end;
            let now = arrivals[block.clone()].iter().zip(&applied[block.clone()]);
            let known = self.largest[block.clone()]
                .iter()
                .zip(&self.low[block.clone()])
                .zip(&self.high[block.clone()]);
            let is_new = now.zip(known).fold(false, |any, ((value, given), ((largest, low), high))| {
                any | ((value - given).abs() > *largest) | (value < low) | (value > high)
            });
            if is_new {
                block.for_each(|input| self.note_one(input, arrivals[input], applied[input], end));
            }
        }
    }

    fn note_one(&mut self, input: usize, value: f64, given: f64, end: f64) {
        self.low[input] = self.low[input].min(value);
        self.high[input] = self.high[input].max(value);
        let error = (value - given).abs();
        if error > self.largest[input] {
            self.largest[input] = error;
            self.time[input] = end;
        }
    }

    /// What is known of one input.
    pub(super) fn defect(&self, input: usize) -> Defect {
        let range = (self.high[input] - self.low[input]).max(0.0);
        Defect { largest: self.largest[input], time: self.time[input], range, ..Defect::default() }
    }
}

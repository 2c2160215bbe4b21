//! What a run did: steps, where the time went, and how far inputs were from what they should have been.

use super::iterate::LoopWork;
use super::simulation::{Simulation, view};
use super::slot::Slot;
use crate::coupling::Review;
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
    /// What the run has shown of the models of its coupling, if it has any.
    pub review: Option<Review>,
    /// Per iterated loop.
    pub loops: Vec<LoopWork>,
    /// Steps that were cut in half because a loop did not converge.
    pub halvings: u64,
}

/// Inputs that are compared together.
const BLOCK: usize = 8;

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
    /// New extremes are rare: a block of inputs at a time is only compared, and looked at one by one when one of them has a
    /// new extreme.
    #[inline]
    pub(super) fn note(&mut self, inputs: Range<usize>, arrivals: &[f64], applied: &[f64], end: f64) {
        let (values, _) = arrivals[inputs.clone()].as_chunks::<BLOCK>();
        let (given, _) = applied[inputs.clone()].as_chunks::<BLOCK>();
        for block in 0..values.len() {
            let first = inputs.start + block * BLOCK;
            if self.is_new(first, &values[block], &given[block]) {
                (first..first + BLOCK).for_each(|i| self.note_one(i, arrivals[i], applied[i], end));
            }
        }
        let rest = inputs.start + values.len() * BLOCK..inputs.end;
        rest.for_each(|i| self.note_one(i, arrivals[i], applied[i], end));
    }

    /// True if one of a block of inputs has a new extreme.
    #[inline]
    fn is_new(&self, first: usize, values: &[f64; BLOCK], given: &[f64; BLOCK]) -> bool {
        let known = |list: &[f64]| -> [f64; BLOCK] { std::array::from_fn(|i| list[first..first + BLOCK][i]) };
        let (largest, low, high) = (known(&self.largest), known(&self.low), known(&self.high));
        (0..BLOCK).fold(false, |any, i| {
            any | ((values[i] - given[i]).abs() > largest[i]) | (values[i] < low[i]) | (values[i] > high[i])
        })
    }

    #[inline]
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

impl Simulation {
    /// How far each input was, at the end of its step, from what it should have been.
    #[inline]
    pub(super) fn note_defects(&mut self, end: f64) {
        let Simulation { extremes, graph, board, slots, .. } = self;
        let mut note = |inputs| extremes.note(inputs, board.history.arrivals(), &board.applied, end);
        if self.is_multi_rate {
            let here = slots.iter().enumerate().filter(|(id, _)| board.history.reached(*id) == end);
            here.for_each(|(_, slot)| note(slot.inputs.clone()));
        } else {
            note(0..graph.inputs());
        }
    }

    /// The work on each iterated loop so far.
    pub fn loop_works(&self) -> impl Iterator<Item = &LoopWork> {
        self.consistency.works().chain(self.steps.works())
    }

    /// Numbers of the run so far.
    pub fn statistics(&self) -> Statistics {
        let share = |slot: &Slot| {
            let steps = self.index.div_ceil(u64::from(slot.every));
            let (seconds, seconds_per_step) = (slot.seconds(steps), slot.seconds_per_step());
            let (subsystem, solver) = (self.graph.name(slot.id).into(), slot.subsystem.solver());
            Share { subsystem, solver, seconds, seconds_per_step, steps }
        };
        let defect = |input: usize| {
            let unit = self.graph.input_variable(input).unit.clone();
            Defect { connection: self.graph.connection_name(input), unit, ..self.extremes.defect(input) }
        };
        Statistics {
            steps: self.index,
            shares: self.slots.iter().map(share).collect(),
            defects: (0..self.graph.inputs()).filter(|i| !self.graph.is_free(*i)).map(defect).collect(),
            parallel_stages: self.stages.iter().filter(|stage| stage.is_parallel).count(),
            review: self.coupling.review(&view(&self.graph, &self.board, self.clock.step(self.index, 1))),
            loops: self.loop_works().cloned().collect(),
            halvings: self.halvings,
        }
    }
}

//! How many evaluations loops took, and what was left.

use crate::record::{Column, Source};
use serde::{Deserialize, Serialize};

/// The work on one iterated loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopWork {
    /// `outputs` or `step`.
    pub kind: String,
    /// Subsystems and signals of the loop, in words.
    pub path: String,
    /// Signals that are guessed.
    pub unknowns: Vec<String>,
    /// Communication points at which it was iterated.
    pub points: u64,
    /// Evaluations of the loop in all, those for differences and for steps that were halved included.
    pub evaluations: u64,
    /// Most evaluations at one communication point.
    pub most: u32,
    /// Evaluations at the last communication point.
    pub last: u32,
    /// Largest relative residual of the last communication point.
    pub residual: f64,
    /// Largest relative residual that was left at any communication point.
    pub worst_residual: f64,
    /// Communication points at which it did not converge.
    pub unconverged: u64,
    /// The first of them.
    pub first_unconverged: Option<f64>,
    /// Communication points at which the cut was not good enough, so that all signals were guessed.
    pub solved_whole: u64,
}

/// What is counted per communication point, to take back attempts that lead nowhere. Evaluations were made all the same.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    points: u64,
    most: u32,
    last: u32,
    residual: f64,
    worst_residual: f64,
    unconverged: u64,
    first_unconverged: Option<f64>,
    solved_whole: u64,
}

impl LoopWork {
    pub(crate) fn mark(&self) -> Counts {
        let LoopWork { points, most, last, residual, worst_residual, .. } = *self;
        let LoopWork { unconverged, first_unconverged, solved_whole, .. } = *self;
        Counts { points, most, last, residual, worst_residual, unconverged, first_unconverged, solved_whole }
    }

    /// Takes back all that was counted since.
    pub(crate) fn roll_back(&mut self, mark: &Counts) {
        (self.points, self.most, self.last) = (mark.points, mark.most, mark.last);
        (self.residual, self.worst_residual) = (mark.residual, mark.worst_residual);
        (self.unconverged, self.first_unconverged) = (mark.unconverged, mark.first_unconverged);
        self.solved_whole = mark.solved_whole;
    }

    /// Mean evaluations per communication point.
    pub fn mean(&self) -> f64 {
        self.evaluations as f64 / self.points.max(1) as f64
    }

    pub(crate) fn note(&mut self, evaluations: u32, residual: f64) {
        self.points += 1;
        self.evaluations += u64::from(evaluations);
        self.most = self.most.max(evaluations);
        self.last = evaluations;
        self.residual = residual;
        self.worst_residual = self.worst_residual.max(residual);
    }

    pub(crate) fn note_unconverged(&mut self, time: f64) {
        self.unconverged += 1;
        self.first_unconverged.get_or_insert(time);
    }
}

/// Columns that tell of so many iterated loops: evaluations and residual of each at the last communication point.
pub(crate) fn columns(loops: usize) -> Vec<Column> {
    let column = |index: usize| {
        let (what, description) = match index % 2 {
            0 => ("iterations", "evaluations of the loop at the last communication point"),
            _ => ("residual", "largest relative residual that was left"),
        };
        Column {
            name: format!("loops[{}].{what}", index / 2 + 1),
            unit: Some("1".into()),
            description: description.into(),
            source: Source::Loop(index),
        }
    };
    (0..2 * loops).map(column).collect()
}

/// The value of such a column.
pub(crate) fn column_value<'a>(mut works: impl Iterator<Item = &'a LoopWork>, index: usize) -> f64 {
    works
        .nth(index / 2)
        .map_or(f64::NAN, |work| if index.is_multiple_of(2) { f64::from(work.last) } else { work.residual })
}

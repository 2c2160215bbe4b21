//! How much signals move: what everything is measured by.
//!
//! An output's range is its nominal value where one is declared; else how far it moves in the run with inputs at rest; else
//! its value at the start. What rests at zero gets its range from what reaches it: inputs move by the ranges of their
//! sources and of external signals, and the outputs by what they then do. Nothing is taken from a run of the whole system.

use super::excitation::excite;
use super::{Answer, Probe, QuestionKind};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Moves smaller than this, relative to the value, are none.
const STILL: f64 = 1e-6;
/// Ranges are no smaller than this part of the value at the start.
const SMALLEST: f64 = 1e-2;
/// Of an input's range, what it is excited with to see how far outputs go.
const SHARE: f64 = 0.25;

/// Steps in which they go there: in a closed loop few go on in one direction for longer.
const STEPS: usize = 2;

/// How much a signal moves, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The range.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where the range of a signal comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A nominal value.
    Nominal,
    /// How far it moves with inputs at rest.
    AtRest,
    /// Its value at the start.
    Start,
    /// How far it moves when inputs move by their ranges.
    Excited,
    /// How far the models take it under the external signals of the run.
    Rehearsal,
    /// The ranges of what is connected to it, and of external signals.
    Sources,
    /// Nothing is known: 1.
    Assumed,
}

impl Origin {
    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Origin::Nominal => "nominal value",
            Origin::AtRest => "movement with inputs at rest",
            Origin::Start => "start value",
            Origin::Excited => "movement during probing",
            Origin::Rehearsal => "prediction by the models",
            Origin::Sources => "connected signal",
            Origin::Assumed => "assumed",
        }
    }
}

/// What is known of the ranges of one subsystem's outputs.
pub type KnownRanges = Vec<Option<Range>>;

impl Probe<'_> {
    /// Ranges by nominal values, by moves with inputs at rest, or by start values.
    pub fn ranges_at_rest(&self, nominal: &[Option<f64>]) -> KnownRanges {
        let range = |k: usize| {
            let found = |origin: Origin| move |value: f64| Range { value, origin };
            let declared = nominal[k].map(f64::abs).filter(|range| *range > 0.0 && range.is_finite());
            let value = self.subject.place.outputs[k].abs();
            let moves = spread(&self.free, self.subject.outputs.len(), k);
            let moved = (moves > STILL * value && moves > 0.0).then_some(moves.max(SMALLEST * value));
            declared
                .map(found(Origin::Nominal))
                .or(moved.map(found(Origin::AtRest)))
                .or((value > 0.0).then_some(value).map(found(Origin::Start)))
        };
        (0..self.subject.outputs.len()).map(range).collect()
    }

    /// Fills in what is not known by how far outputs move when the inputs move by their ranges.
    pub fn ranges_excited(&mut self, inputs: &[f64], known: &mut KnownRanges) -> Result<()> {
        let answer = self.ask(QuestionKind::Moves(inputs.to_vec()), |probe| {
            let moves = excite(2000, inputs, SHARE, probe.subject.place.nodes, STEPS);
            let seen = probe.experiment(&moves, STEPS)?;
            let rows = seen.len().min(probe.free.len());
            let difference: Vec<f64> = seen.iter().zip(&probe.free).take(rows).map(|(a, b)| a - b).collect();
            let width = probe.subject.outputs.len();
            Ok(Answer::Moves((0..width).map(|k| spread(&difference, width, k)).collect()))
        })?;
        let Answer::Moves(moves) = answer else { return Ok(()) };
        for (range, moves) in known.iter_mut().zip(moves).filter(|(range, _)| range.is_none()) {
            let is_one = moves > 0.0 && moves.is_finite();
            *range = is_one.then_some(Range { value: moves, origin: Origin::Excited });
        }
        Ok(())
    }
}

/// Largest less smallest value of one column.
fn spread(rows: &[f64], width: usize, column: usize) -> f64 {
    let values = rows.iter().skip(column).step_by(width);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    (high - low).max(0.0)
}

//! How much signals move: what everything is measured by.
//!
//! An output's range is its nominal value where one is declared; else how far it moves in the run with inputs at rest; else
//! its value at the start. What rests at zero gets its range from what reaches it: inputs move by the ranges of their
//! sources and of external signals, and the outputs by what they then do. Nothing is taken from a run of the whole system.

use super::Probe;
use super::excitation::excite;
use crate::error::Result;

/// Moves smaller than this, relative to the value, are none.
const STILL: f64 = 1e-6;
/// Ranges are no smaller than this part of the value at the start.
const SMALLEST: f64 = 1e-2;
/// Of an input's range, what it is excited with to see how far outputs go.
const SHARE: f64 = 0.25;

/// Steps in which they go there: in a closed loop few go on in one direction for longer.
const STEPS: usize = 2;

/// What is known of the ranges of one subsystem's outputs.
pub type Known = Vec<Option<f64>>;

impl Probe<'_> {
    /// Ranges by nominal values, by moves with inputs at rest, or by start values.
    pub fn ranges_at_rest(&self, nominal: &[Option<f64>]) -> Known {
        let range = |k: usize| {
            let declared = nominal[k].map(f64::abs).filter(|range| *range > 0.0 && range.is_finite());
            let value = self.place.outputs[k].abs();
            let moves = spread(&self.free, self.outputs.len(), k);
            declared
                .or((moves > STILL * value && moves > 0.0).then_some(moves.max(SMALLEST * value)))
                .or((value > 0.0).then_some(value))
        };
        (0..self.outputs.len()).map(range).collect()
    }

    /// Fills in what is not known by how far outputs move when the inputs move by their ranges.
    pub fn ranges_excited(&mut self, inputs: &[f64], known: &mut Known) -> Result<()> {
        let moves = excite(2000, inputs, SHARE, self.place.nodes, STEPS);
        let seen = self.experiment(&moves, STEPS)?;
        let rows = seen.len().min(self.free.len());
        let difference: Vec<f64> = seen.iter().zip(&self.free).take(rows).map(|(a, b)| a - b).collect();
        for (k, range) in known.iter_mut().enumerate().filter(|(_, range)| range.is_none()) {
            let moves = spread(&difference, self.outputs.len(), k);
            *range = (moves > 0.0 && moves.is_finite()).then_some(moves);
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

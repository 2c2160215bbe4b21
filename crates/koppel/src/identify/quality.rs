//! How well a model predicted the last step.
//!
//!   ε_i = (1/n) Σ_j |y_j - ȳ_j| / range of y_j so far,     ε = ‖(ε_1, ε_2, ...)‖₂             (1)
//!
//! ȳ is the model's prediction of the new output from the one before, under the inputs really given. Genser 2020, (2.92)
//! and (2.93). An output that has never moved counts as well predicted if the prediction does not move either.

use crate::tape::Tape;

/// Ranges of all outputs so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quality {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Quality {
    /// Nothing has been seen of so many outputs.
    pub(crate) fn new(outputs: usize) -> Self {
        Quality { low: vec![f64::INFINITY; outputs], high: vec![f64::NEG_INFINITY; outputs] }
    }

    /// Notes the present outputs.
    pub(crate) fn note(&mut self, outputs: &[f64]) {
        for ((low, high), y) in self.low.iter_mut().zip(&mut self.high).zip(outputs) {
            *low = low.min(*y);
            *high = high.max(*y);
        }
    }

    /// ε_i of (1) for a subsystem whose outputs begin at `first`, from the errors of its predictions.
    pub(crate) fn figure(&self, first: usize, errors: &[f64]) -> f64 {
        let relative = |(j, error): (usize, &f64)| {
            let (low, high) = (self.low[first + j], self.high[first + j]);
            // Round-off of a constant signal is no error.
            let smallest = 1e-12 * low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
            error.abs() / (high - low).max(smallest)
        };
        errors.iter().enumerate().map(relative).sum::<f64>() / errors.len().max(1) as f64
    }

    /// Shows `tape` everything.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.low);
        tape.values(&mut self.high);
    }
}

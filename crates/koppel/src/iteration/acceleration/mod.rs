//! From a guess z and what it leads to, g(z), to the next guess. The residual is r = g(z) - z; lengths are weighted,
//! ‖r‖² = Σ (w_i r_i)², w_i = 1 / size of signal i.

mod aitken;
mod broyden;
mod iqn_ils;
mod newton;

use super::config::{AccelerationKind, IterationConfig};
use crate::linalg::{LinalgError, Matrix};
use crate::tape::Tape;

/// What a method wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The new guess tried.
    Try,
    /// The derivatives of g where the guess is, by [`Acceleration::learn`]; then to be asked again.
    Differences,
}

/// A way to make the next guess.
pub(super) trait Acceleration: Send {
    /// A new communication point.
    fn begin(&mut self) {}

    /// Replaces z by the next guess, or asks for differences.
    fn next(&mut self, weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next;

    /// Takes ∂g/∂z.
    fn learn(&mut self, _derivatives: &Matrix) -> Result<(), LinalgError> {
        Ok(())
    }

    /// True if a guess that makes things worse is taken back by half.
    fn is_damped(&self) -> bool {
        false
    }

    /// Shows `tape` everything the next communication point depends on.
    fn state(&mut self, _tape: &mut Tape<'_>) {}
}

/// Builds the method for so many unknowns.
pub(super) fn build(config: &IterationConfig, unknowns: usize) -> Box<dyn Acceleration> {
    match config.acceleration {
        AccelerationKind::FixedPoint => Box::new(FixedPoint),
        AccelerationKind::Aitken => Box::new(aitken::Aitken::new(unknowns, config.reuse)),
        AccelerationKind::Broyden => Box::new(broyden::Broyden::new(unknowns, config.reuse)),
        AccelerationKind::IqnIls => Box::new(iqn_ils::IqnIls::new(unknowns, config.reuse)),
        AccelerationKind::Newton => Box::new(newton::Newton::new(unknowns, config.reuse)),
    }
}

/// z ← g(z): converges while the loop's gain is below 1.
struct FixedPoint;

impl Acceleration for FixedPoint {
    fn next(&mut self, _weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next {
        z.iter_mut().zip(residual).for_each(|(z, r)| *z += r);
        Next::Try
    }
}

/// Σ w² a b.
fn dot(weight: &[f64], a: &[f64], b: &[f64]) -> f64 {
    weight.iter().zip(a).zip(b).map(|((w, a), b)| w * w * a * b).sum()
}

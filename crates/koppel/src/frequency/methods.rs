//! 1 + φ of every signal-based method, which each method tells itself ([`crate::coupling::Method::transfer`]).
//!
//! What a model-based method does depends on its models: it is no filter.

use crate::coupling::{CouplingConfig, Harmonic, Hold};
use crate::error::Result;
use crate::linalg::Complex;
use std::f64::consts::TAU;

/// 1 + φ of a method at s; `None` for methods that are no filters.
pub fn transfer(coupling: &CouplingConfig, hold: Hold, step: f64, s: Complex) -> Result<Option<Complex>> {
    match coupling {
        CouplingConfig::Method(own) => own.transfer(&Harmonic { s, step, hold }),
        CouplingConfig::Mixed { .. } | CouplingConfig::Auto(_) => Ok(None),
    }
}

/// |φ| of methods over normalised frequency f H: one row per method, `None` for those that are no filters.
pub fn error_table(
    couplings: &[CouplingConfig],
    hold: Hold,
    frequencies: &[f64],
) -> Result<Vec<Option<Vec<f64>>>> {
    let error = |coupling: &CouplingConfig, f: f64| {
        let found = transfer(coupling, hold, 1.0, Complex::imaginary(TAU * f))?;
        Ok(found.map(|transfer| (transfer - Complex::ONE).abs()))
    };
    couplings.iter().map(|coupling| frequencies.iter().map(|f| error(coupling, *f)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::{HinfConfig, StartUp};

    /// Chen et al. 2021, (5): |φ| → x/2, 5x²/12, 3x³/8.
    #[test]
    fn errors_of_holds_have_their_orders() {
        let start = StartUp::Constant;
        let holds = [CouplingConfig::zoh(), CouplingConfig::foh(start), CouplingConfig::soh(start)];
        let f = 1e-3;
        let table = error_table(&holds, Hold::Constant, &[f]).unwrap();
        for (row, (power, factor)) in table.iter().zip([(1, 0.5), (2, 5.0 / 12.0), (3, 0.375)]) {
            let expected = factor * (TAU * f).powi(power);
            let found = row.as_ref().unwrap()[0];
            assert!((found / expected - 1.0).abs() < 0.01, "{found} against {expected}");
        }
    }

    /// Chen et al. 2021, Fig. 4: with the proposed weights of order 2 and 3 the error lies below that of every hold; with
    /// order 1 it does where holds of high order are no longer good.
    #[test]
    fn hinf_is_better_over_a_wide_range() {
        let start = StartUp::Constant;
        let hinf = |weight_order, disc| {
            CouplingConfig::from(HinfConfig { weight_order, disc: Some(disc), ..HinfConfig::default() })
        };
        let all = [
            CouplingConfig::zoh(),
            CouplingConfig::foh(start),
            CouplingConfig::soh(start),
            hinf(1, 0.1),
            hinf(2, 0.1),
            hinf(3, 0.1),
        ];
        let table = error_table(&all, Hold::Constant, &[0.05, 0.1, 0.2, 0.3]).unwrap();
        let at = |method: usize, f: usize| table[method].as_ref().unwrap()[f];
        for f in 0..4 {
            let best = (0..3).map(|hold| at(hold, f)).fold(f64::INFINITY, f64::min);
            let first = if f < 2 { 4 } else { 3 };
            assert!((first..6).all(|method| at(method, f) < best), "frequency {f}: {table:?}");
            assert!(at(3, f) < 0.65 * at(0, f), "order 1 against zoh, frequency {f}: {table:?}");
        }
    }
}

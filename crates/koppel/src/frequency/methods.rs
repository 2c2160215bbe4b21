//! 1 + φ of every signal-based method.
//!
//! With x = s H, m = (1 - e^{-x})/x the mean over a step and e^{-x} its delay, a value that is given at T^k becomes
//!
//!   held: m,     a line from the last one: m²                                              (1)
//!
//! | method        | 1 + φ                                                                         |
//! | zoh           | (1)                                                                           |
//! | foh, soh      | (1 + x) m², (1 + 3x/2 + x²) m³                          Chen et al. 2021, (4) |
//! | relaxed       | (1 - α)/(1 - α e^{-x}) times (1)                                              |
//! | anti-aliasing | m times (1), or m times foh                                                   |
//! | nepce         | (b + c) times (1), b = 1 or m, c = α (m - b e^{-x}), or against what was applied |
//! |               | c = α (m - b d)/(1 + α d), d = e^{-x}, or e^{-x} (1 + e^{-x})/2 if it is a line |
//! | hinf          | K1 zoh K2                                                                     |
//!
//! What a model-based method does depends on its models: it has no entry.

use crate::coupling::{Against, CouplingConfig, Hold};
use crate::error::Result;
use crate::hinf::{HoldOrder, designed};
use crate::linalg::Complex;
use std::f64::consts::TAU;

/// 1 + φ of a method at s; `None` for methods that are no filters.
pub fn transfer(coupling: &CouplingConfig, hold: Hold, step: f64, s: Complex) -> Result<Option<Complex>> {
    let of = |order: HoldOrder| order.transfer(step, s);
    let (mean, delay) = (of(HoldOrder::Zoh), (s * -step).exp());
    let shape = match hold {
        Hold::Constant => mean,
        Hold::Continuous => mean * mean,
    };
    Ok(Some(match coupling {
        CouplingConfig::Zoh {} => shape,
        CouplingConfig::Foh { .. } => of(HoldOrder::Foh),
        CouplingConfig::Soh { .. } => of(HoldOrder::Soh),
        CouplingConfig::Relaxed { alpha } => shape * (1.0 - alpha) / (Complex::ONE - delay * *alpha),
        CouplingConfig::AntiAliasing { order: 0 } => mean * shape,
        CouplingConfig::AntiAliasing { .. } => mean * of(HoldOrder::Foh),
        CouplingConfig::Nepce { gain, against, anti_aliasing } => {
            let base = if *anti_aliasing { mean } else { Complex::ONE };
            let correction = match against {
                Against::Extrapolated => (mean - base * delay) * *gain,
                Against::Applied => {
                    let given = match hold {
                        Hold::Constant => delay,
                        Hold::Continuous => delay * (Complex::ONE + delay) * 0.5,
                    };
                    (mean - base * given) * *gain / (Complex::ONE + given * *gain)
                }
            };
            (base + correction) * shape
        }
        CouplingConfig::Hinf(config) => {
            let design = designed(&config.specification(step))?;
            let designed = Complex::ONE - design.real_error(s);
            designed * (1.0 / design.static_gain())
        }
        _ => return Ok(None),
    }))
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
        let holds = [CouplingConfig::Zoh {}, CouplingConfig::Foh { start }, CouplingConfig::Soh { start }];
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
            CouplingConfig::Hinf(HinfConfig { weight_order, disc: Some(disc), ..HinfConfig::default() })
        };
        let all = [
            CouplingConfig::Zoh {},
            CouplingConfig::Foh { start },
            CouplingConfig::Soh { start },
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

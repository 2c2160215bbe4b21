//! Linear filters on connections.
//!
//! A filter takes the place of a loop's feed-through: its output is a state, so the loop is broken, at the price of other
//! dynamics (Kübler & Schiehlen 2000, (27)). It is part of the subsystem the connection starts from:
//!
//!   `pt1`      1 / (1 + s/ω)
//!   `pt2`      1 / (1 + 2 ζ s/ω + (s/ω)²),   ζ = 1/√2: poles at 45°
//!   `general`  numerator / denominator in s, highest power first, with more poles than zeros
//!   `auto`     the fastest `pt2` with which the loop is stable at the run's step

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::state_space::StateSpace;
use serde::{Deserialize, Serialize};

/// A filter as the user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FilterConfig {
    /// One pole.
    Pt1 {
        /// Corner frequency, in rad/s.
        omega: f64,
    },
    /// A pair of poles.
    Pt2 {
        /// Corner frequency, in rad/s.
        omega: f64,
        /// Damping ratio.
        #[serde(default = "forty_five_degrees")]
        damping: f64,
    },
    /// Any transfer function with more poles than zeros.
    General {
        /// Coefficients in s, highest power first.
        numerator: Vec<f64>,
        /// Coefficients in s, highest power first.
        denominator: Vec<f64>,
    },
    /// The fastest `pt2` that is stable; chosen before the run.
    Auto {},
}

fn forty_five_degrees() -> f64 {
    std::f64::consts::FRAC_1_SQRT_2
}

/// An output that is another one after a filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filtered {
    /// Place of the other one among the outputs.
    pub of: usize,
    /// The filter.
    pub filter: FilterConfig,
}

impl FilterConfig {
    /// With poles at 45°.
    pub fn pt2(omega: f64) -> Self {
        FilterConfig::Pt2 { omega, damping: forty_five_degrees() }
    }

    /// The matrices; an error in words of the user if there are none. `name` is that of the connection.
    pub fn matrices(&self, name: &str) -> Result<StateSpace> {
        let refused = |value: String, problem: &str| {
            Err(Error::Setting { what: format!("filter of {name}"), value, problem: problem.into() }.into())
        };
        match self {
            FilterConfig::Pt1 { omega } | FilterConfig::Pt2 { omega, .. }
                if !(omega.is_finite() && *omega > 0.0) =>
            {
                refused(format!("omega = {omega}"), "must be positive: it is the corner frequency in rad/s")
            }
            FilterConfig::Pt2 { damping, .. } if !(damping.is_finite() && *damping > 0.0) => {
                refused(format!("damping = {damping}"), "must be positive")
            }
            FilterConfig::Pt1 { omega } => companion(name, &[*omega], &[1.0, *omega]),
            FilterConfig::Pt2 { omega, damping } => {
                companion(name, &[omega * omega], &[1.0, 2.0 * damping * omega, omega * omega])
            }
            FilterConfig::General { numerator, denominator } => {
                let all = numerator.iter().chain(denominator);
                if all.clone().any(|c| !c.is_finite()) || numerator.is_empty() {
                    return refused("general".into(), "needs finite numbers in numerator and denominator");
                }
                let (numerator, denominator) = (trimmed(numerator), trimmed(denominator));
                if denominator.len() < 2 || numerator.len() >= denominator.len() {
                    return refused(
                        "general".into(),
                        "needs a denominator of higher degree than the numerator: else the loop is not broken",
                    );
                }
                if denominator.last() == Some(&0.0) {
                    return refused(
                        "general".into(),
                        "must not integrate: the last number of the denominator is 0",
                    );
                }
                companion(name, numerator, denominator)
            }
            FilterConfig::Auto {} => refused("auto".into(), "has not been chosen yet"),
        }
    }
}

/// Without zeros in front.
fn trimmed(coefficients: &[f64]) -> &[f64] {
    let zeros = coefficients.iter().take_while(|c| **c == 0.0).count();
    &coefficients[zeros..]
}

/// Companion form in the time of the filter itself, so that its entries are alike in size: with s = ω p,
/// x' = ω (A x + b u), A the companion matrix of the denominator in p.
fn companion(name: &str, numerator: &[f64], denominator: &[f64]) -> Result<StateSpace> {
    let n = denominator.len() - 1;
    let omega = (denominator[n] / denominator[0]).abs().powf(1.0 / n as f64);
    // Coefficient of p^k, lowest first, with the highest of the denominator normed to 1.
    let scaled = |list: &[f64], k: usize| {
        let at = list.len().checked_sub(k + 1);
        at.map_or(0.0, |at| list[at] / denominator[0] * omega.powi(k as i32 - n as i32))
    };
    let a = Matrix::from_fn(n, n, |i, j| {
        let last = if i + 1 == n { -scaled(denominator, j) } else { 0.0 };
        omega * (last + f64::from(u8::from(j == i + 1)))
    });
    let b = Matrix::from_fn(n, 1, |i, _| if i + 1 == n { omega } else { 0.0 });
    let c = Matrix::from_fn(1, n, |_, j| scaled(numerator, j));
    StateSpace::new(name, a, b, c, Matrix::zeros(1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{eigenvalues, solve};

    #[test]
    fn poles_and_gain_are_those_asked_for() {
        let pt2 = FilterConfig::pt2(1900.0).matrices("x").unwrap();
        for pole in eigenvalues(&pt2.a).unwrap() {
            assert!((pole.abs() - 1900.0).abs() < 1e-9 && (pole.re + pole.im.abs()).abs() < 1e-9);
        }
        let general = FilterConfig::General {
            numerator: vec![3.0, 20.0],
            denominator: vec![1.0, 111.0, 1110.0, 1000.0],
        };
        let general = general.matrices("x").unwrap();
        let mut poles: Vec<f64> = eigenvalues(&general.a).unwrap().iter().map(|pole| pole.re).collect();
        poles.sort_by(f64::total_cmp);
        for (pole, expected) in poles.iter().zip([-100.0, -10.0, -1.0]) {
            assert!((pole - expected).abs() < 1e-10 * expected.abs(), "{pole}");
        }
        for (filter, gain) in [(pt2, 1.0), (general, 0.02)] {
            let rest = solve(&filter.a, &filter.b).unwrap();
            assert!((-(&filter.c * &rest)[(0, 0)] - gain).abs() < 1e-12);
        }
    }

    #[test]
    fn filters_that_break_no_loop_are_refused() {
        for (filter, word) in [
            (FilterConfig::Pt1 { omega: 0.0 }, "positive"),
            (FilterConfig::Pt2 { omega: 1.0, damping: -1.0 }, "positive"),
            (FilterConfig::General { numerator: vec![1.0, 1.0], denominator: vec![1.0, 2.0] }, "degree"),
            (FilterConfig::General { numerator: vec![1.0], denominator: vec![1.0, 0.0] }, "integrate"),
        ] {
            let error = filter.matrices("a -> b").unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("a -> b"), "{error}");
        }
    }
}

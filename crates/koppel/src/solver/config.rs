//! Which micro solver, with which settings, as plain data.

use super::error::SolverError;
use crate::linalg::Complex;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A micro solver. Steps in s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SolverConfig {
    /// Explicit Euler, order 1.
    Euler {
        /// Micro step.
        step: f64,
    },
    /// The classical Runge-Kutta method, order 4.
    Rk4 {
        /// Micro step.
        step: f64,
    },
    /// Dormand-Prince 5(4) with step control.
    Adaptive(Tolerances),
    /// Rosenbrock method RODAS4, order 4(3), with step control.
    Stiff(Tolerances),
    /// Matrix exponential; for linear models, which carry it out themselves.
    Exact {},
}

/// What step control aims at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerances {
    /// Local error allowed per size of the state.
    pub rtol: f64,
    /// Local error allowed besides.
    pub atol: f64,
    /// Longest micro step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_step: Option<f64>,
    /// First micro step; without it, it is estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_step: Option<f64>,
    /// Most micro steps, accepted or not, within one call.
    pub max_steps: u64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Tolerances { rtol: 1e-8, atol: 1e-10, max_step: None, initial_step: None, max_steps: 1_000_000 }
    }
}

impl Default for SolverConfig {
    fn default() -> Self {
        SolverConfig::Adaptive(Tolerances::default())
    }
}

impl SolverConfig {
    /// Whether the settings make sense.
    pub fn validate(&self) -> Result<(), SolverError> {
        match self {
            SolverConfig::Euler { step } | SolverConfig::Rk4 { step } => positive("step", *step),
            SolverConfig::Adaptive(tolerances) | SolverConfig::Stiff(tolerances) => tolerances.validate(),
            SolverConfig::Exact {} => Ok(()),
        }
    }

    /// The micro step, if it is fixed.
    pub fn fixed_step(&self) -> Option<f64> {
        match self {
            SolverConfig::Euler { step } | SolverConfig::Rk4 { step } => Some(*step),
            _ => None,
        }
    }

    /// How fast a mode e^{λt} grows if it is solved with a fixed micro step h, in 1/s: ln|R(hλ)| / h with the method's
    /// R(z) = Σ_j z^j / j!, up to its order.
    pub(crate) fn growth_rate(&self, mode: Complex) -> Option<f64> {
        let (step, order) = match self {
            SolverConfig::Euler { step } => (*step, 1),
            SolverConfig::Rk4 { step } => (*step, 4),
            _ => return None,
        };
        let z = mode * step;
        let sum =
            (1..=order).rev().fold(Complex::ONE, |sum, j| Complex::ONE + z * sum * (1.0 / f64::from(j)));
        Some(sum.abs().ln() / step)
    }
}

impl fmt::Display for SolverConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolverConfig::Euler { step } => write!(f, "euler, step {step}"),
            SolverConfig::Rk4 { step } => write!(f, "rk4, step {step}"),
            SolverConfig::Adaptive(t) => write!(f, "adaptive, rtol {:e}", t.rtol),
            SolverConfig::Stiff(t) => write!(f, "stiff, rtol {:e}", t.rtol),
            SolverConfig::Exact {} => write!(f, "exact"),
        }
    }
}

impl Tolerances {
    fn validate(&self) -> Result<(), SolverError> {
        if !self.rtol.is_finite() || self.rtol < 0.0 {
            let wanted = "a finite number not below zero";
            return Err(SolverError::Setting { field: "rtol", value: self.rtol, wanted });
        }
        positive("atol", self.atol)?;
        positive("max_step", self.max_step.unwrap_or(1.0))?;
        positive("initial_step", self.initial_step.unwrap_or(1.0))?;
        positive("max_steps", self.max_steps as f64)
    }
}

fn positive(field: &'static str, value: f64) -> Result<(), SolverError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(SolverError::Setting { field, value, wanted: "a finite number above zero" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_settings_are_refused() {
        let tolerances = Tolerances::default();
        let refused = [
            SolverConfig::Euler { step: 0.0 },
            SolverConfig::Rk4 { step: f64::NAN },
            SolverConfig::Adaptive(Tolerances { rtol: -1.0, ..tolerances }),
            SolverConfig::Adaptive(Tolerances { atol: 0.0, ..tolerances }),
            SolverConfig::Stiff(Tolerances { max_step: Some(-1.0), ..tolerances }),
            SolverConfig::Stiff(Tolerances { initial_step: Some(f64::INFINITY), ..tolerances }),
            SolverConfig::Stiff(Tolerances { max_steps: 0, ..tolerances }),
        ];
        for config in refused {
            assert!(matches!(config.validate(), Err(SolverError::Setting { .. })), "{config:?}");
        }
        assert_eq!(SolverConfig::default().validate(), Ok(()));
    }
}

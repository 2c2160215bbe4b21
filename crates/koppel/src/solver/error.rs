//! What can go wrong inside a micro solver.

use thiserror::Error;

use crate::diagnostic::{Diagnostic, Seconds};

/// Why a solver could not be built, or did not reach the end time.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum SolverError {
    #[error("solver: `{field}` is {value}, but must be {wanted}")]
    Setting { field: &'static str, value: f64, wanted: &'static str },
    #[error("solver `exact` integrates linear models only")]
    NotLinear { hint: &'static str },
    #[error("derivative of state {index} is not finite (t = {} s)", Seconds(*.time))]
    NonFinite { time: f64, index: usize, hint: &'static str },
    #[error("micro step shrank to {step:e} s and still misses the tolerance (t = {} s)", Seconds(*.time))]
    StepUnderflow { time: f64, step: f64, hint: &'static str },
    #[error("more than {limit} micro steps before t = {} s (reached t = {} s)", Seconds(*.end), Seconds(*.time))]
    TooManySteps { time: f64, end: f64, limit: u64, hint: &'static str },
}

impl SolverError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SolverError::Setting { .. } => None,
            SolverError::NotLinear { hint }
            | SolverError::NonFinite { hint, .. }
            | SolverError::StepUnderflow { hint, .. }
            | SolverError::TooManySteps { hint, .. } => Some((*hint).to_owned()),
        }
    }
}

impl Diagnostic for SolverError {
    fn time(&self) -> Option<f64> {
        match *self {
            SolverError::Setting { .. } | SolverError::NotLinear { .. } => None,
            SolverError::NonFinite { time, .. }
            | SolverError::StepUnderflow { time, .. }
            | SolverError::TooManySteps { time, .. } => Some(time),
        }
    }

    fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }
}

//! What can go wrong inside a micro solver.

use thiserror::Error;

/// Why a solver could not be built, or did not reach the end time.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the fields are named by the messages")]
pub enum SolverError {
    #[error("solver: `{field}` is {value}, but must be {wanted}")]
    Setting { field: &'static str, value: f64, wanted: &'static str },
    #[error("solver `exact` integrates linear models only\n  hint: {hint}")]
    NotLinear { hint: &'static str },
    #[error("derivative of state {index} is not finite (t = {time} s)\n  hint: {hint}")]
    NonFinite { time: f64, index: usize, hint: &'static str },
    #[error("micro step shrank to {step:e} s and still misses the tolerance (t = {time} s)\n  hint: {hint}")]
    StepUnderflow { time: f64, step: f64, hint: &'static str },
    #[error("more than {limit} micro steps before t = {end} s (reached t = {time} s)\n  hint: {hint}")]
    TooManySteps { time: f64, end: f64, limit: u64, hint: &'static str },
}

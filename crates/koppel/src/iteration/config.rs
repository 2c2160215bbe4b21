//! How loops are iterated, as plain data.

use crate::error::{Result, bad};
use serde::{Deserialize, Serialize};

/// `[run] iteration = { kind = "outputs", acceleration = "broyden", tolerance = 1e-8 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterationConfig {
    /// What is repeated.
    pub kind: IterationKind,
    /// How the next guess is made.
    #[serde(default)]
    pub acceleration: AccelerationKind,
    /// Largest residual of a guessed signal, relative to its nominal value, or else to its largest value so far.
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    /// Most evaluations of a loop at one communication point.
    #[serde(default = "max_iterations")]
    pub max_iterations: u32,
    /// What happens when that is not enough.
    #[serde(default)]
    pub otherwise: OnNonConvergence,
    /// Whether only the smallest cut of a loop is guessed.
    #[serde(default = "yes")]
    pub torn: bool,
    /// Whether what was learned of a loop is used at the next communication point.
    #[serde(default = "yes")]
    pub reuse: bool,
}

/// What is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IterationKind {
    /// The evaluation of outputs at the communication point, y = g(x, L y): Kübler & Schiehlen 2000, (20).
    Outputs,
    /// The macro step with interpolated inputs: (24). Members of a loop must be able to roll back.
    Step,
}

/// How the next guess is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccelerationKind {
    /// The result is the next guess.
    FixedPoint,
    /// A part of the way to the result, which Aitken's formula adapts.
    Aitken,
    /// Broyden's quasi-Newton method.
    #[default]
    Broyden,
    /// Least squares over the differences seen (IQN-ILS).
    IqnIls,
    /// Newton's method, derivatives by differences, kept as long as they serve.
    Newton,
}

/// What happens when a loop has not converged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnNonConvergence {
    /// The run goes on with the last guess, and the summary tells how often.
    Accept,
    /// The run ends with an error.
    #[default]
    Stop,
    /// The step is repeated in two halves, each of which may be halved again.
    Halve,
}

fn tolerance() -> f64 {
    1e-8
}

fn max_iterations() -> u32 {
    50
}

fn yes() -> bool {
    true
}

impl IterationConfig {
    /// With defaults for the rest.
    pub fn new(kind: IterationKind, acceleration: AccelerationKind) -> Self {
        IterationConfig {
            kind,
            acceleration,
            tolerance: tolerance(),
            max_iterations: max_iterations(),
            otherwise: OnNonConvergence::default(),
            torn: true,
            reuse: true,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(bad("run.iteration.tolerance", self.tolerance, "must lie between 0 and 1"));
        }
        if self.max_iterations == 0 {
            return Err(bad("run.iteration.max_iterations", 0, "must be at least 1"));
        }
        Ok(())
    }
}

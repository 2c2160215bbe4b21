//! How inputs are predicted over the coming step: one file per method.
//!
//! A coupling sees numbers, never a subsystem. It is asked for a subsystem's inputs just before that subsystem moves, so
//! Gauss-Seidel needs no code here: if a source has moved already, its newest arrival lies ahead and the same polynomial
//! interpolates.

mod anti_aliasing;
mod config;
mod hold;
mod mixed;
mod relaxed;

pub use config::{CouplingConfig, build};
pub use hold::StartUp;

use crate::error::Result;
use crate::signal::{History, Request, Samples, Step};
use crate::system::{InputId, SubsystemId, SystemGraph};
use serde::{Deserialize, Serialize};

/// The shape of an input that a method gives as one value (MATH: `hold`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// The value, over the whole step.
    #[default]
    Constant,
    /// A line from the value at the end of the last step to the new one: no jumps, one step late.
    Continuous,
}

/// What a coupling knows when it is asked.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The step ahead.
    pub step: Step,
    /// The wiring.
    pub graph: &'a SystemGraph,
    /// What has arrived, with times.
    pub history: &'a History,
    /// What each input was given at the end of its last step, without external signals.
    pub applied: &'a [f64],
}

impl View<'_> {
    /// The newest value that arrived at an input, offset included.
    #[inline]
    pub fn arrival(&self, input: InputId) -> f64 {
        self.history.arrivals()[input]
    }
}

/// Where a method writes: the coefficients of all inputs, the run's [`Needs::terms`] for each.
pub struct Polynomials<'a> {
    /// Coefficients per input, constant term first.
    pub terms: usize,
    /// Input by input.
    pub coefficients: &'a mut [f64],
}

impl Polynomials<'_> {
    /// All coefficients of one input.
    #[inline]
    pub fn of(&mut self, input: InputId) -> &mut [f64] {
        &mut self.coefficients[input * self.terms..][..self.terms]
    }
}

/// What a method needs the engine to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Arrivals per wire.
    pub depth: usize,
    /// Coefficients it writes per input.
    pub terms: usize,
    /// Intermediate outputs.
    pub samples: Request,
    /// Whether the run begins with a cascade of small steps instead of an assumed constant past.
    pub reduced_start: bool,
}

/// A way to predict inputs.
pub trait Coupling: Send + Sync {
    /// What it needs.
    fn needs(&self) -> Needs;

    /// Once before the run, after the consistent start.
    fn start(&mut self, _view: &View<'_>) -> Result<()> {
        Ok(())
    }

    /// Global work at T^k; nobody has moved.
    fn prepare(&mut self, _view: &View<'_>) -> Result<()> {
        Ok(())
    }

    /// Writes all coefficients of these inputs, in ascending order, of subsystems that are about to move.
    fn input(&self, view: &View<'_>, inputs: &[InputId], out: &mut Polynomials<'_>) -> Result<()>;

    /// A subsystem has moved; called when intermediate outputs were asked for.
    fn moved(&mut self, _view: &View<'_>, _subsystem: SubsystemId, _samples: &Samples) -> Result<()> {
        Ok(())
    }

    /// The outputs of a subsystem have jumped at T^k, by a timed change; the history has been restarted.
    fn jumped(&mut self, _view: &View<'_>, _subsystem: SubsystemId) {}

    /// Appends everything the next step depends on.
    fn save(&self, _memory: &mut Vec<f64>) {}

    /// Takes back what `save` wrote and returns the rest.
    fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        memory
    }
}

/// Writes one value as the method's `hold` says.
#[inline]
fn write_value(hold: Hold, view: &View<'_>, input: InputId, value: f64, out: &mut [f64]) {
    if hold == Hold::Constant {
        write(out, [value]);
    } else {
        let before = view.applied[input];
        write(out, [before, (value - before) / view.step.size]);
    }
}

/// Writes the first coefficients and zeros for the rest.
#[inline]
fn write<const N: usize>(out: &mut [f64], coefficients: [f64; N]) {
    let (first, rest) = out.split_at_mut(N);
    first.copy_from_slice(&coefficients);
    for c in rest {
        *c = 0.0;
    }
}

/// Coefficients that `write_value` needs.
fn terms_of(hold: Hold) -> usize {
    match hold {
        Hold::Constant => 1,
        Hold::Continuous => 2,
    }
}

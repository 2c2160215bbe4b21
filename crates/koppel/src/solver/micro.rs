//! The micro solver of a model: one of the methods of this room, with its buffers and its memory.
//!
//! A window [t₀, t₁] is one macro step or one piece of it; within it the inputs are smooth, at its ends they may
//! jump. Nothing is carried from window to window but the memory of step control.

use super::config::{SolverConfig, Tolerances};
use super::control::{self, Memory, NOTHING_KNOWN};
use super::dormand_prince::DormandPrince;
use super::error::SolverError;
use super::fixed::{self, Euler, Method as _, Rk4};
use super::rhs::Rhs;
use super::rodas::Rodas;
use std::ops::ControlFlow;

/// Integrates x' = f(t, x) over one window after another.
#[derive(Debug, Clone)]
pub struct Solver {
    method: Method,
    dim: usize,
}

#[derive(Debug, Clone)]
enum Method {
    Euler { method: Euler, step: f64 },
    Rk4 { method: Rk4, step: f64 },
    Adaptive { method: DormandPrince, tolerances: Tolerances, memory: Memory },
    Stiff { method: Rodas, tolerances: Tolerances, memory: Memory },
}

impl Solver {
    /// A solver for `dim` states with all its buffers.
    pub fn new(config: &SolverConfig, dim: usize) -> Result<Solver, SolverError> {
        config.validate()?;
        let memory = NOTHING_KNOWN;
        let method = match *config {
            SolverConfig::Euler { step } => Method::Euler { method: Euler::new(dim), step },
            SolverConfig::Rk4 { step } => Method::Rk4 { method: Rk4::new(dim), step },
            SolverConfig::Adaptive(tolerances) => {
                Method::Adaptive { method: DormandPrince::new(dim), tolerances, memory }
            }
            SolverConfig::Stiff(tolerances) => Method::Stiff { method: Rodas::new(dim), tolerances, memory },
            SolverConfig::Exact {} => {
                let hint = "choose `adaptive` or `stiff` for this model";
                return Err(SolverError::NotLinear { hint });
            }
        };
        Ok(Solver { method, dim })
    }

    /// Moves `x` from `t0` to `t1`; `observe` sees time and state after every micro step, the last at `t1` exactly.
    /// On an error `x` is the last accepted state (with a fixed step: the one that is not finite).
    pub fn advance<R: Rhs + ?Sized>(
        &mut self,
        rhs: &mut R,
        t0: f64,
        t1: f64,
        x: &mut [f64],
        observe: &mut impl FnMut(f64, &[f64]),
    ) -> Result<(), SolverError> {
        let mut go_on = |_: &mut R, t: f64, x: &[f64]| {
            observe(t, x);
            ControlFlow::Continue(())
        };
        self.advance_until(rhs, t0, t1, x, &mut go_on).map(|_| ())
    }

    /// As [`Solver::advance`], but stops after the micro step at which `observe` breaks, which sees the right-hand side
    /// too. Returns the time reached.
    pub fn advance_until<R: Rhs + ?Sized>(
        &mut self,
        rhs: &mut R,
        t0: f64,
        t1: f64,
        x: &mut [f64],
        observe: &mut impl FnMut(&mut R, f64, &[f64]) -> ControlFlow<()>,
    ) -> Result<f64, SolverError> {
        self.check(rhs, t0, t1, x);
        if t1 == t0 {
            return Ok(t0);
        }
        let window = (t0, t1);
        match &mut self.method {
            Method::Euler { method, step } => fixed::advance(method, *step, rhs, window, x, observe),
            Method::Rk4 { method, step } => fixed::advance(method, *step, rhs, window, x, observe),
            Method::Adaptive { method, tolerances, memory } => {
                control::advance((method, tolerances, memory), rhs, window, x, observe)
            }
            Method::Stiff { method, tolerances, memory } => {
                control::advance((method, tolerances, memory), rhs, window, x, observe)
            }
        }
    }

    /// Moves `x` from `t0` to `t1` by one step of the method, without looking at its error and without a trace in the
    /// memory: to look for a point inside a micro step that was accepted.
    pub fn leap<R: Rhs + ?Sized>(
        &mut self,
        rhs: &mut R,
        t0: f64,
        t1: f64,
        x: &mut [f64],
    ) -> Result<(), SolverError> {
        self.check(rhs, t0, t1, x);
        if t1 == t0 {
            return Ok(());
        }
        match &mut self.method {
            Method::Euler { method, .. } => method.step(rhs, t0, t1 - t0, x),
            Method::Rk4 { method, .. } => method.step(rhs, t0, t1 - t0, x),
            Method::Adaptive { method, tolerances, .. } => {
                control::leap((method, tolerances), rhs, (t0, t1), x)?;
            }
            Method::Stiff { method, tolerances, .. } => {
                control::leap((method, tolerances), rhs, (t0, t1), x)?
            }
        }
        match x.iter().position(|value| !value.is_finite()) {
            Some(index) => {
                let hint = "check the inputs and the state of the model";
                Err(SolverError::NonFinite { time: t1, index, hint })
            }
            None => Ok(()),
        }
    }

    fn check<R: Rhs + ?Sized>(&self, rhs: &R, t0: f64, t1: f64, x: &[f64]) {
        assert!(
            x.len() == self.dim && rhs.dim() == self.dim,
            "the solver was built for another number of states"
        );
        assert!(t0.is_finite() && t1.is_finite() && t1 >= t0, "a window ends after it starts");
    }

    /// All that the next window depends on besides the state; empty for fixed steps.
    pub fn memory(&self) -> &[f64] {
        match &self.method {
            Method::Euler { .. } | Method::Rk4 { .. } => &[],
            Method::Adaptive { memory, .. } | Method::Stiff { memory, .. } => memory,
        }
    }

    /// Goes back to what [`Solver::memory`] returned earlier.
    pub fn set_memory(&mut self, saved: &[f64]) {
        match &mut self.method {
            Method::Euler { .. } | Method::Rk4 { .. } => {
                assert!(saved.is_empty(), "fixed steps have no memory")
            }
            Method::Adaptive { memory, .. } | Method::Stiff { memory, .. } => memory.copy_from_slice(saved),
        }
    }

    /// Forgets everything, as a new solver.
    pub fn reset(&mut self) {
        match &mut self.method {
            Method::Euler { .. } | Method::Rk4 { .. } => {}
            Method::Adaptive { memory, .. } | Method::Stiff { memory, .. } => *memory = NOTHING_KNOWN,
        }
    }
}

#[cfg(test)]
mod tests;

//! Solvers with a fixed micro step: explicit Euler and the classical Runge-Kutta method.
//!
//!   Euler  x_{k+1} = x_k + h f(t_k, x_k)                                                 (1)
//!   RK4    x_{k+1} = x_k + h/6 (f₁ + 2 f₂ + 2 f₃ + f₄)                                   (2)
//!
//! Orders 1 and 4. Hairer, Nørsett & Wanner, Solving ODEs I, I.7 and table II.1.2.
//!
//! The window [t₀, t₁] takes n = ⌈(t₁ - t₀)/h - 10⁻⁹⌉ steps from t₀ + k h; the last is shortened (or stretched by at
//! most 10⁻⁹ h) to end at t₁.

use super::error::SolverError;
use super::rhs::Rhs;
use std::ops::ControlFlow;

/// Beyond this count a step number is no longer exact in f64.
const MOST_STEPS: f64 = 9e15;

/// One step of a method: state at t becomes state at t + h.
pub(super) trait Method {
    /// Replaces `x` by the state after the step.
    fn step<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, h: f64, x: &mut [f64]);
}

/// Takes all micro steps of a window, or those up to where `observe` stops it; the time reached.
pub(super) fn advance<M: Method, R: Rhs + ?Sized>(
    method: &mut M,
    h: f64,
    rhs: &mut R,
    (t0, t1): (f64, f64),
    x: &mut [f64],
    observe: &mut impl FnMut(&mut R, f64, &[f64]) -> ControlFlow<()>,
) -> Result<f64, SolverError> {
    let steps = ((t1 - t0) / h - 1e-9).ceil().max(1.0);
    if steps > MOST_STEPS {
        let hint = "take a longer micro step";
        return Err(SolverError::TooManySteps { time: t0, end: t1, limit: MOST_STEPS as u64, hint });
    }
    let steps = steps as u64;
    for k in 0..steps {
        let t = t0 + k as f64 * h;
        let rest = t1 - t;
        let last = k + 1 == steps;
        let size = if last && (rest - h).abs() > 1e-9 * h { rest } else { h };
        method.step(rhs, t, size, x);
        let reached = if last { t1 } else { t0 + (k + 1) as f64 * h };
        if let Some(index) = x.iter().position(|value| !value.is_finite()) {
            let hint = "take a shorter micro step, or check the inputs of the model";
            return Err(SolverError::NonFinite { time: reached, index, hint });
        }
        if observe(rhs, reached, x).is_break() {
            return Ok(reached);
        }
    }
    Ok(t1)
}

/// Explicit Euler, equation (1).
#[derive(Debug, Clone)]
pub(super) struct Euler {
    slope: Vec<f64>,
}

impl Euler {
    pub(super) fn new(dim: usize) -> Euler {
        Euler { slope: vec![0.0; dim] }
    }
}

impl Method for Euler {
    fn step<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, h: f64, x: &mut [f64]) {
        rhs.derivative(t, x, &mut self.slope);
        for (x, f) in x.iter_mut().zip(&self.slope) {
            *x += h * f;
        }
    }
}

/// The classical Runge-Kutta method, equation (2).
#[derive(Debug, Clone)]
pub(super) struct Rk4 {
    stages: [Vec<f64>; 4],
    trial: Vec<f64>,
}

impl Rk4 {
    pub(super) fn new(dim: usize) -> Rk4 {
        Rk4 { stages: std::array::from_fn(|_| vec![0.0; dim]), trial: vec![0.0; dim] }
    }
}

impl Method for Rk4 {
    fn step<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, h: f64, x: &mut [f64]) {
        let [f1, f2, f3, f4] = &mut self.stages;
        rhs.derivative(t, x, f1);
        move_along(x, 0.5 * h, f1, &mut self.trial);
        rhs.derivative(t + 0.5 * h, &self.trial, f2);
        move_along(x, 0.5 * h, f2, &mut self.trial);
        rhs.derivative(t + 0.5 * h, &self.trial, f3);
        move_along(x, h, f3, &mut self.trial);
        rhs.derivative(t + h, &self.trial, f4);
        for i in 0..x.len() {
            x[i] += h / 6.0 * (f1[i] + 2.0 * (f2[i] + f3[i]) + f4[i]);
        }
    }
}

fn move_along(x: &[f64], h: f64, slope: &[f64], out: &mut [f64]) {
    for ((out, x), f) in out.iter_mut().zip(x).zip(slope) {
        *out = x + h * f;
    }
}

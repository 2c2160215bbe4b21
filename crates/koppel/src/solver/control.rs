//! Step-size control shared by the adaptive solvers.
//!
//! A trial step of size h with the scaled error
//!
//!   e = √(1/n Σ (err_i / sc_i)²),     sc_i = atol + rtol · max(|x_i|, |x̂_i|)             (1)
//!
//! is accepted when e ≤ 1. The next step follows the PI rule
//!
//!   h' = h · 0.9 · e^-α · e_prev^β,     limited to [h/5, 10 h], not above h after a rejection            (2)
//!
//! | symbol | meaning                         | Dormand-Prince        | RODAS4       |
//! | e_prev | error of the accepted step before, at least 10⁻⁴ |       |              |
//! | α, β   | gains                           | 1/5 - 3/4 β, β = 0.04 | 1/4, β = 0   |
//!
//! Hairer, Nørsett & Wanner, Solving ODEs I, (II.4.11), (II.4.13); the PI rule: Hairer & Wanner, Solving ODEs II, IV.2.
//!
//! Differs from the book in: a step that was cut to meet the end of the window says nothing about the natural step,
//! so it never shortens it and leaves e_prev alone; a rest between one and two steps is halved instead of leaving a
//! sliver. The memory (h, e_prev) lives on between windows and is all that does.

use super::config::Tolerances;
use super::error::SolverError;
use super::rhs::Rhs;
use std::ops::ControlFlow;

const SAFETY: f64 = 0.9;
const SHRINK_MOST: f64 = 0.2;
const GROW_MOST: f64 = 10.0;

/// A method that can try a step and tell its error.
pub(super) trait Embedded {
    /// Order p of the error estimate: e grows with h^p.
    const ESTIMATE: i32;
    /// β of (2).
    const BETA: f64;

    /// Prepares f at the start of the window.
    fn start<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, x: &[f64]);
    /// f at the newest accepted point, and room for two states.
    fn buffers(&mut self) -> Buffers<'_>;
    /// Tries a step from `x`; the scaled error (1), not finite when the step failed.
    fn attempt<R: Rhs + ?Sized>(&mut self, rhs: &mut R, trial: &Trial<'_>, tolerances: &Tolerances) -> f64;
    /// Moves `x` to the end of the trial.
    fn accept(&mut self, x: &mut [f64]);
    /// Prepares f at the accepted point for the next trial of the same window.
    fn resume<R: Rhs + ?Sized>(&mut self, rhs: &mut R, t: f64, x: &[f64]);
}

/// Parts of a method's memory.
pub(super) struct Buffers<'a> {
    /// f at the newest accepted point.
    pub(super) slope: &'a [f64],
    /// State of the last trial; free between trials.
    pub(super) moved: &'a mut [f64],
    /// Error of the last trial; free between trials.
    pub(super) changed: &'a mut [f64],
}

/// A step to try.
pub(super) struct Trial<'a> {
    /// Start time.
    pub(super) t: f64,
    /// End time; t + h but for round-off at the end of the window.
    pub(super) end: f64,
    /// Size.
    pub(super) h: f64,
    /// State at t.
    pub(super) x: &'a [f64],
    /// Whether an earlier trial started from the same point.
    pub(super) repeated: bool,
}

/// What lives on from window to window: the natural step (0: not known yet) and the error of the last full step.
pub(super) type Memory = [f64; 2];

pub(super) const NOTHING_KNOWN: Memory = [0.0, 1e-4];

/// Steps from `t0` to `t1`, or to where `observe` stops it; the time reached.
pub(super) fn advance<M: Embedded, R: Rhs + ?Sized>(
    (method, tolerances, memory): (&mut M, &Tolerances, &mut Memory),
    rhs: &mut R,
    (t0, t1): (f64, f64),
    x: &mut [f64],
    observe: &mut impl FnMut(&mut R, f64, &[f64]) -> ControlFlow<()>,
) -> Result<f64, SolverError> {
    let longest = tolerances.max_step.unwrap_or(f64::INFINITY);
    method.start(rhs, t0, x);
    check_slope(method.buffers().slope, t0)?;
    if memory[0] == 0.0 {
        memory[0] = match tolerances.initial_step {
            Some(step) => step,
            None => first_step(method, rhs, (t0, t1), x, tolerances),
        };
    }
    let mut t = t0;
    let mut natural = memory[0].min(longest);
    let mut repeated = false;
    for _ in 0..tolerances.max_steps {
        let (h, cut) = fit(natural, t1 - t);
        let end = if h == t1 - t { t1 } else { t + h };
        let trial = Trial { t, end, h, x, repeated };
        if cut == Cut::Natural && 0.1 * h <= t.abs() * f64::EPSILON {
            return Err(underflow(method, rhs, &trial));
        }
        let error = method.attempt(rhs, &trial, tolerances);
        if error <= 1.0 {
            let mut proposed = h * growth::<M>(error, memory[1]);
            if repeated {
                proposed = proposed.min(h);
            }
            if cut == Cut::Natural {
                natural = proposed.min(longest);
                memory[1] = error.max(1e-4);
            } else {
                natural = natural.max(proposed).min(longest);
            }
            memory[0] = natural;
            t = end;
            method.accept(x);
            if observe(rhs, t, x).is_break() || t >= t1 {
                return Ok(t);
            }
            method.resume(rhs, t, x);
            check_slope(method.buffers().slope, t)?;
            repeated = false;
        } else {
            natural = if error.is_finite() { h * growth::<M>(error, 1.0).min(SAFETY) } else { 0.1 * h };
            repeated = true;
            if 0.1 * natural <= t.abs() * f64::EPSILON || natural < f64::MIN_POSITIVE {
                return Err(underflow(method, rhs, &trial));
            }
        }
    }
    let hint = "loosen the tolerances, or use `method = \"stiff\"`";
    Err(SolverError::TooManySteps { time: t, end: t1, limit: tolerances.max_steps, hint })
}

/// One step of the method, whatever its error.
pub(super) fn leap<M: Embedded, R: Rhs + ?Sized>(
    (method, tolerances): (&mut M, &Tolerances),
    rhs: &mut R,
    (t0, t1): (f64, f64),
    x: &mut [f64],
) -> Result<(), SolverError> {
    method.start(rhs, t0, x);
    check_slope(method.buffers().slope, t0)?;
    method.attempt(rhs, &Trial { t: t0, end: t1, h: t1 - t0, x, repeated: false }, tolerances);
    method.accept(x);
    Ok(())
}

#[derive(PartialEq)]
enum Cut {
    Natural,
    Shortened,
}

/// The step to try: the natural one unless the window ends within two of them.
fn fit(natural: f64, rest: f64) -> (f64, Cut) {
    if (rest - natural).abs() <= 1e-9 * natural {
        (rest, Cut::Natural)
    } else if rest < natural {
        (rest, Cut::Shortened)
    } else if rest < 2.0 * natural * (1.0 - 1e-9) {
        (0.5 * rest, Cut::Shortened)
    } else {
        (natural, Cut::Natural)
    }
}

/// Factor of equation (2).
fn growth<M: Embedded>(error: f64, before: f64) -> f64 {
    let alpha = 1.0 / f64::from(M::ESTIMATE) - 0.75 * M::BETA;
    let factor = SAFETY * error.powf(-alpha) * before.powf(M::BETA);
    factor.clamp(SHRINK_MOST, GROW_MOST)
}

/// First step: Hairer, Nørsett & Wanner, Solving ODEs I, II.4, "Starting step size".
fn first_step<M: Embedded, R: Rhs + ?Sized>(
    method: &mut M,
    rhs: &mut R,
    (t0, t1): (f64, f64),
    x: &[f64],
    tolerances: &Tolerances,
) -> f64 {
    let scaled = |i: usize, value: f64| value / (tolerances.atol + tolerances.rtol * x[i].abs());
    let Buffers { slope, moved, changed } = method.buffers();
    let speed = norm(slope.iter().enumerate().map(|(i, f)| scaled(i, *f)));
    let state = norm(x.iter().enumerate().map(|(i, x)| scaled(i, *x)));
    let guess = if state < 1e-5 || speed < 1e-5 { 1e-6 } else { 0.01 * state / speed };
    let ahead = guess.min(t1 - t0);
    for ((moved, x), f) in moved.iter_mut().zip(x).zip(slope) {
        *moved = x + ahead * f;
    }
    rhs.derivative(t0 + ahead, moved, changed);
    let bend = norm(changed.iter().zip(slope).enumerate().map(|(i, (g, f))| scaled(i, g - f))) / ahead;
    let fastest = speed.max(bend);
    if !fastest.is_finite() {
        return guess;
    }
    let second = if fastest <= 1e-15 {
        (1e-3 * guess).max(1e-6)
    } else {
        (0.01 / fastest).powf(1.0 / f64::from(M::ESTIMATE))
    };
    second.min(100.0 * guess)
}

/// Root of the mean square.
fn norm(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    (values.map(|value| value * value).sum::<f64>() / count).sqrt()
}

/// Equation (1).
pub(super) fn scaled_error(error: &[f64], before: &[f64], after: &[f64], tolerances: &Tolerances) -> f64 {
    let scale = |a: f64, b: f64| tolerances.atol + tolerances.rtol * a.abs().max(b.abs());
    norm(error.iter().zip(before).zip(after).map(|((error, a), b)| error / scale(*a, *b)))
}

fn check_slope(slope: &[f64], time: f64) -> Result<(), SolverError> {
    match slope.iter().position(|value| !value.is_finite()) {
        Some(index) => {
            let hint = "check the inputs and the state of the model";
            Err(SolverError::NonFinite { time, index, hint })
        }
        None => Ok(()),
    }
}

/// Tells a model that cannot be evaluated ahead from one that cannot be followed.
fn underflow<M: Embedded, R: Rhs + ?Sized>(method: &mut M, rhs: &mut R, trial: &Trial<'_>) -> SolverError {
    let Buffers { slope, moved, changed } = method.buffers();
    for ((moved, x), f) in moved.iter_mut().zip(trial.x).zip(slope) {
        *moved = x + trial.h * f;
    }
    rhs.derivative(trial.end, moved, changed);
    match changed.iter().position(|value| !value.is_finite()) {
        Some(index) => {
            let hint = "the model leaves its domain however short the step; check its inputs and parameters";
            SolverError::NonFinite { time: trial.t, index, hint }
        }
        None => {
            let hint = "the model may jump or have a pole here; loosen the tolerances, or let the step end at the jump";
            SolverError::StepUnderflow { time: trial.t, step: trial.h, hint }
        }
    }
}

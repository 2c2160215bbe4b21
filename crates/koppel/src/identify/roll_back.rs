//! A linear model of a black box that can be rolled back, by trial steps under moved inputs.
//!
//! Each input is moved up and down by δ and held over K trial steps of h, from the same saved state. The response to a
//! unit step, g_k = (y_k(u + δ) - y_k(u - δ)) / 2δ, is taken as that of a model whose states are the outputs without
//! their feed-through, z = y - D u:
//!
//!   g_k = D + Σ_{i<k} Φ^i Γ,     v_k = g_{k+1} - g_k = Φ^k Γ                                          (1)
//!
//!   Φ = argmin Σ_k ‖v_{k+1} - Φ v_k‖²,     A = log Φ / h,     B = P_0(A, h)^{-1} Γ,     C = I          (2)
//!
//! with Γ = Φ^{-1} v_1 and D = g_1 - Γ, or Γ = v_0 = g_1 and D = 0 where the output does not depend on the input
//! directly. (2) is solved in the directions in which outputs really move (singular values of all v). It is exact, but for
//! the black box's own errors, if the outputs determine the states; else it is the model of the outputs that fits the
//! window of K h best, which is the coming communication step.
//!
//! How fast outputs change while inputs are held comes from five points h apart, with h = window / 64,
//!
//!   y' ≈ (-25 y_0 + 48 y_1 - 36 y_2 + 16 y_3 - 3 y_4) / 12h                                           (3)
//!
//! or, if all steps must have one size H, from one step: y' = P_0(A, H)^{-1} (y_1 - y_0).
//!
//! | symbol   | meaning                                                  |
//! | P_0      | ∫_0^h e^{Aτ} dτ                                          |
//! | δ        | 10⁻³ · max(\|u\|, nominal value or 1)                    |
//! | K        | at least 6, and enough to tell the outputs apart         |

use crate::error::Result as Outcome;
use crate::linalg::{LinalgError, Matrix, exponential_integral, logm, pinv, solve, svd};
use crate::signal::{Request, Samples, Segment, Step};
use crate::system::{Snapshot, StateSpace, Subsystem, Variable};

/// How far inputs are moved, as a part of their size: errors of solvers with usual tolerances stay small beside it.
const DELTA: f64 = 1e-3;

/// Directions in which outputs move less than this part of the most are noise.
const CUTOFF: f64 = 1e-6;

/// Steps repeated from a saved state agree to this part of themselves.
const SAME: f64 = 1e-9;

/// Windows tried, each half as long as the last.
const WINDOWS: u32 = 4;

/// Parts of the window between two points of equation (3).
const PARTS: f64 = 64.0;

/// The steps a black box can be tried with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Where it stands.
    pub start: f64,
    /// The communication step.
    pub size: f64,
    /// It takes steps of other sizes, too.
    pub is_divisible: bool,
}

/// Trials of one black box.
#[derive(Clone, Debug, Default)]
pub struct RollBack {
    /// Repeating a step from a saved state has worked.
    is_proven: bool,
    before: Snapshot,
    /// A of the last model.
    rates_by: Option<Matrix>,
    samples: Samples,
    /// Room for outputs before and after the steps of a trial.
    first: Vec<f64>,
    points: Vec<f64>,
}

/// What can end a trial.
enum Trouble {
    Subsystem(Box<crate::Error>),
    Numbers(LinalgError),
    Differs,
}

impl From<Box<crate::Error>> for Trouble {
    fn from(error: Box<crate::Error>) -> Self {
        Trouble::Subsystem(error)
    }
}

impl From<LinalgError> for Trouble {
    fn from(error: LinalgError) -> Self {
        Trouble::Numbers(error)
    }
}

impl Trouble {
    fn text(&self) -> String {
        match self {
            Trouble::Subsystem(error) => format!("a trial step from a saved state failed ({error})"),
            Trouble::Numbers(error) => format!("no linear model fits its trial steps ({error})"),
            Trouble::Differs => "it does not repeat a step from a saved state".into(),
        }
    }
}

impl RollBack {
    /// Equations (1) and (2) where the black box stands, or why there is no model.
    pub fn model(
        &mut self,
        of: &mut dyn Subsystem,
        window: Window,
        inputs: &[f64],
    ) -> Outcome<Result<StateSpace, String>> {
        let model = self.attempt(of, |trials, of| {
            trials.prove(of, window, inputs)?;
            let mut last = Trouble::Differs;
            for halving in 0..if window.is_divisible { WINDOWS } else { 1 } {
                let size = window.size / f64::from(1 << halving);
                match trials.fit(of, Window { size, ..window }, inputs) {
                    Err(Trouble::Numbers(error)) => last = error.into(),
                    done => return done,
                }
            }
            Err(last)
        })?;
        self.rates_by = model.as_ref().ok().map(|model| model.a.clone());
        Ok(model)
    }

    /// Equation (3), or why there is no answer.
    pub fn rates(
        &mut self,
        of: &mut dyn Subsystem,
        window: Window,
        inputs: &[f64],
        rates: &mut [f64],
    ) -> Outcome<Result<(), String>> {
        let (mut first, mut points) = (std::mem::take(&mut self.first), std::mem::take(&mut self.points));
        let done = self.attempt(of, |trials, of| {
            trials.prove(of, window, inputs)?;
            first.resize(rates.len(), 0.0);
            of.read(Some(inputs), &mut first)?;
            if let (false, Some(a)) = (window.is_divisible, &trials.rates_by) {
                let integral = exponential_integral(a, window.size)?;
                let end = trials.walk(of, window, 1, inputs)?;
                let change = Matrix::from_fn(rates.len(), 1, |row, _| end[row] - first[row]);
                rates.copy_from_slice(solve(&integral, &change)?.as_slice());
                return Ok(());
            }
            // Four steps: within a part of the window, or four of them where it cannot be divided.
            let (h, size) = match window.is_divisible {
                true => (window.size / PARTS, 4.0 * window.size / PARTS),
                false => (window.size, window.size),
            };
            trials.walk_into(of, Window { size, ..window }, (4, inputs), &mut points)?;
            for (row, rate) in rates.iter_mut().enumerate() {
                let y = |k: usize| points[(k - 1) * first.len() + row];
                let sum = -25.0 * first[row] + 48.0 * y(1) - 36.0 * y(2) + 16.0 * y(3) - 3.0 * y(4);
                *rate = sum / (12.0 * h);
            }
            Ok(())
        });
        (self.first, self.points) = (first, points);
        done
    }

    /// Does something from a saved state and rolls back to it, whatever comes of it.
    fn attempt<T>(
        &mut self,
        of: &mut dyn Subsystem,
        mut trial: impl FnMut(&mut RollBack, &mut dyn Subsystem) -> Result<T, Trouble>,
    ) -> Outcome<Result<T, String>> {
        let mut before = std::mem::take(&mut self.before);
        let is_able = if self.is_proven { Ok(()) } else { of.can_roll_back() };
        if let Err(error) = is_able.and_then(|()| of.save(&mut before)) {
            return Ok(Err(format!("{error}")));
        }
        self.before = before;
        let done = trial(self, of);
        if let Err(lost) = of.restore(&self.before) {
            // What broke the subsystem is worth more than that it cannot be put back.
            return Err(match done {
                Err(Trouble::Subsystem(error)) => lost_in_trial(error),
                _ => lost,
            });
        }
        self.before.release();
        Ok(done.map_err(|trouble| trouble.text()))
    }

    /// Repeats a step from the saved state, once in the life of the black box.
    fn prove(&mut self, of: &mut dyn Subsystem, window: Window, inputs: &[f64]) -> Result<(), Trouble> {
        if self.is_proven {
            return Ok(());
        }
        let first = self.walk(of, window, 1, inputs)?;
        of.restore(&self.before)?;
        let second = self.walk(of, window, 1, inputs)?;
        of.restore(&self.before)?;
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > SAME * a.abs().max(b.abs()).max(1e-9);
        if first.iter().zip(&second).any(differs) {
            return Err(Trouble::Differs);
        }
        self.is_proven = true;
        Ok(())
    }

    /// Outputs after each of `count` steps in the window, under held inputs.
    fn walk(
        &mut self,
        of: &mut dyn Subsystem,
        window: Window,
        count: usize,
        inputs: &[f64],
    ) -> Result<Vec<f64>, Trouble> {
        let mut all = Vec::new();
        self.walk_into(of, window, (count, inputs), &mut all)?;
        Ok(all)
    }

    /// The same into a buffer.
    fn walk_into(
        &mut self,
        of: &mut dyn Subsystem,
        window: Window,
        (count, inputs): (usize, &[f64]),
        all: &mut Vec<f64>,
    ) -> Result<(), Trouble> {
        let width = of.ports().outputs.len();
        self.samples = Samples::new(Request::Nothing, width);
        all.resize(count * width, 0.0);
        let size = if window.is_divisible { window.size / count as f64 } else { window.size };
        for (k, outputs) in all.chunks_mut(width.max(1)).enumerate() {
            let step = Step { index: 0, start: window.start + k as f64 * size, size };
            let segment = Segment::new(&step, inputs.len(), 1, inputs);
            of.step(&step, &segment, outputs, &mut self.samples)?;
            if let Some(bad) = outputs.iter().find(|value| !value.is_finite()) {
                let place = "the outputs of a trial step".into();
                return Err(Box::new(crate::Error::NotFinite { place, value: *bad }).into());
            }
        }
        Ok(())
    }

    /// Responses to unit steps of the inputs, and the model that fits them.
    fn fit(&mut self, of: &mut dyn Subsystem, window: Window, inputs: &[f64]) -> Result<StateSpace, Trouble> {
        let ports = of.ports().clone();
        let (p, m) = (ports.outputs.len(), inputs.len());
        let moved = (0..m).filter(|input| !ports.inputs[*input].is_held);
        let count = (3 + 2 * p.div_ceil(moved.clone().count().max(1))).max(6);
        let mut responses = Vec::new();
        for input in moved {
            let delta = DELTA * inputs[input].abs().max(ports.inputs[input].nominal.map_or(1.0, f64::abs));
            let mut side = |by: f64| {
                let mut u = inputs.to_vec();
                u[input] += by;
                of.restore(&self.before)?;
                Ok::<_, Trouble>((u[input] - inputs[input], self.walk(of, window, count, &u)?))
            };
            let ((up, above), (down, below)) = (side(delta)?, side(-delta)?);
            let value = |k: usize, row: usize| match ports.outputs[row].is_held {
                true => 0.0,
                false => (above[k * p + row] - below[k * p + row]) / (up - down),
            };
            let values = Matrix::from_fn(p, count, |row, k| value(k, row));
            responses.push(Response { input, delta, values, is_fed: is_fed(&ports.outputs, input) });
        }
        of.restore(&self.before)?;
        let step = if window.is_divisible { window.size / count as f64 } else { window.size };
        Ok(realize(&responses, (p, m), step)?)
    }
}

/// A trial after which the subsystem cannot be used any more.
fn lost_in_trial(error: Box<crate::Error>) -> Box<crate::Error> {
    let (text, hint) = (format!("a trial step from a saved state failed: {error}"), error.hint());
    Box::new(crate::Error::Foreign { source: text.into(), hint })
}

/// Outputs after a unit step of one input: one column per trial step.
struct Response {
    input: usize,
    delta: f64,
    values: Matrix,
    /// For each output: it may follow the input at once.
    is_fed: Vec<bool>,
}

fn is_fed(outputs: &[Variable], input: usize) -> Vec<bool> {
    outputs.iter().map(|output| output.depends.may_include(input)).collect()
}

impl Response {
    /// v_k, from v_0 on if no output follows the input at once, else from v_1 on.
    fn increments(&self) -> Vec<Vec<f64>> {
        let g = &self.values;
        let between = (1..g.cols()).map(|k| (0..g.rows()).map(|row| g[(row, k)] - g[(row, k - 1)]).collect());
        let first = (!self.is_fed.contains(&true)).then(|| g.col(0));
        first.into_iter().chain(between).collect()
    }
}

/// Equation (2).
fn realize(responses: &[Response], (p, m): (usize, usize), step: f64) -> Result<StateSpace, LinalgError> {
    let mut model = StateSpace {
        a: Matrix::zeros(p, p),
        b: Matrix::zeros(p, m),
        c: Matrix::identity(p),
        d: Matrix::zeros(p, m),
    };
    if p == 0 || responses.is_empty() {
        return Ok(model);
    }
    // Outputs count in units of their largest move, inputs in those of theirs.
    let mut scale = vec![0.0_f64; p];
    for response in responses {
        for v in response.increments() {
            scale.iter_mut().zip(&v).for_each(|(scale, v)| *scale = scale.max((v * response.delta).abs()));
        }
    }
    scale.iter_mut().filter(|scale| **scale == 0.0).for_each(|scale| *scale = 1.0);
    let column =
        |v: &[f64], by: f64| v.iter().zip(&scale).map(|(v, scale)| v * by / scale).collect::<Vec<_>>();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for response in responses {
        let v = response.increments();
        for pair in v.windows(2) {
            from.push(column(&pair[0], response.delta));
            to.push(column(&pair[1], response.delta));
        }
    }
    let matrix = |list: &[Vec<f64>]| Matrix::from_fn(p, list.len(), |row, k| list[k][row]);
    let (from, to) = (matrix(&from), matrix(&to));
    let parts = svd(&from)?;
    let rank = parts.s.iter().filter(|s| **s > CUTOFF * parts.largest()).count();
    if rank == 0 {
        for response in responses {
            for row in (0..p).filter(|row| response.is_fed[*row]) {
                model.d[(row, response.input)] = response.values[(row, 0)];
            }
        }
        return Ok(model);
    }
    let basis = parts.u.block(0, 0, p, rank);
    let reduced = basis.transpose();
    let phi = &(&reduced * &to) * &pinv(&(&reduced * &from), 0.0)?;
    let a = &logm(&phi)? * (1.0 / step);
    let integral = exponential_integral(&a, step)?;
    let full = &(&basis * &a) * &reduced;
    model.a = Matrix::from_fn(p, p, |i, j| full[(i, j)] * scale[i] / scale[j]);
    for response in responses {
        let first = &response.increments()[0];
        let is_fed = response.is_fed.contains(&true);
        let v = Matrix::from_slice(p, 1, &column(first, 1.0));
        let v = &reduced * &v;
        let gamma = if is_fed { solve(&phi, &v)? } else { v };
        let b = &basis * &solve(&integral, &gamma)?;
        let gamma = &basis * &gamma;
        for row in 0..p {
            model.b[(row, response.input)] = b[(row, 0)] * scale[row];
            if response.is_fed[row] {
                model.d[(row, response.input)] = response.values[(row, 0)] - gamma[(row, 0)] * scale[row];
            }
        }
    }
    Ok(model)
}

#[cfg(test)]
mod tests;

//! A linear model of a black box from its step responses: Ho and Kalman's realisation, and its logarithm.
//!
//! Inputs are held over steps of τ, outputs seen at their ends, with the input of the step still applied:
//!
//!   x_k = Φ x_{k-1} + Γ u_{k-1},   y_k = C x_k + D u_{k-1}                                            (1)
//!
//! so the response s_k to inputs that step at the start has the differences
//!
//!   h_1 = C Γ + D,   h_k = C Φ^{k-1} Γ                                                                (2)
//!
//! The block Hankel matrices of h_2, h_3 .. and of h_3, h_4 .. are O R and O Φ R with O = U √S, R = √S Vᵀ: the first block row of
//! O is C Φ, the first block column of R is Γ. In continuous time
//!
//!   A = log Φ / τ,   B = P⁻¹ Γ,   P = ∫_0^τ e^{A t} dt                                                (3)
//!
//! The order is chosen on an experiment that was kept back. Ho & Kalman 1966; Juang & Pappa 1985 (the singular values).

use crate::linalg::{
    LinalgError, Matrix, Svd, eigenvalues, exponential_integral, inverse, least_squares, logm, solve, svd,
};
use crate::system::StateSpace;
use serde::{Deserialize, Serialize};

/// Singular values below this share of the largest are round-off.
const NOTHING: f64 = 1e-13;
/// Most states of a model.
const MOST_STATES: usize = 30;
/// An order is as good as a higher one up to this factor of its error.
const AS_GOOD: f64 = 1.15;
/// Errors below this are all the same.
const NEGLIGIBLE: f64 = 1e-9;
/// What outputs follow inputs with at once, relative to the largest response, is left out up to this, if that is not seen.
const SMALL_SHARES: [f64; 3] = [0.05, 1e-3, 1e-6];
/// What is smaller than this share of the largest response is round-off.
const ROUND_OFF: f64 = 1e-11;
/// Errors that are not seen.
const UNSEEN: f64 = 1e-8;
/// A run at rest that models miss by more than this share of its move is not theirs.
const OWN_MOVE: f64 = 0.05;

/// A linear stand-in for a subsystem that tells nothing of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surrogate {
    /// Its matrices: all inputs, the outputs that were watched.
    pub matrices: StateSpace,
    /// How fast its states change at the start with inputs at rest; nothing if they do not tell how it then moves.
    pub rates: Option<Vec<f64>>,
    /// By how much it misses experiments that were kept back, relative to how far outputs move there.
    pub error: f64,
    /// The step at whose ends outputs were seen, in s.
    pub step: f64,
    /// How far inputs were moved, relative to their ranges.
    pub amplitude: f64,
    /// True if outputs follow inputs at once where a step ends, but not when they are read again with others.
    pub reads_stale: bool,
}

/// What was seen, scaled: deviations from the run with inputs at rest, a row per step, outputs at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
    /// One for each input, which steps by 1 at the start.
    pub(crate) steps: Vec<Vec<f64>>,
    /// The run with inputs at rest, against its start.
    pub(crate) free: Vec<f64>,
}

/// Inputs by steps, and the outputs that followed, scaled as in [`Seen`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) inputs: Vec<f64>,
    pub(crate) outputs: Vec<f64>,
}

/// Equations (1), and (3) once it is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Realization {
    pub(crate) model: StateSpace,
    phi: Matrix,
    gamma: Matrix,
    /// By how much it misses the experiment that the order was chosen on.
    pub(crate) error: f64,
}

/// Why there is none, as the end of a sentence on the subsystem.
pub(crate) const NO_LOGARITHM: &str =
    "is not a continuous-time system: its outputs alternate from step to step, or lag by steps";

impl Seen {
    /// The model of the best order; `kept` are the inputs and outputs of an experiment at the same step.
    pub(crate) fn realize(&self, step: f64, kept: &Course) -> Option<Realization> {
        let hankel = Hankel::new(self)?;
        let largest = hankel.svd.largest();
        let is_some = |s: &&f64| **s > NOTHING * largest && largest > 0.0;
        let most = hankel.svd.s.iter().take(MOST_STATES).take_while(is_some).count();
        let candidates = (0..=most).filter_map(|order| {
            let mut found = hankel.realization(order).ok()?;
            found.error = found.miss(kept, self.outputs);
            found.error.is_finite().then_some(found)
        });
        let mut candidates: Vec<Realization> = candidates.collect();
        let best = candidates.iter().map(|found| found.error).fold(f64::INFINITY, f64::min);
        // The smallest order that is good enough, else by error.
        let is_good = |found: &Realization| found.error <= (AS_GOOD * best).max(NEGLIGIBLE);
        crate::sort::sort_by(&mut candidates, |a, b| match (is_good(a), is_good(b)) {
            (true, true) => a.model.states().cmp(&b.model.states()),
            _ => a.error.total_cmp(&b.error),
        });
        let chosen = candidates.into_iter().find_map(|found| found.in_continuous_time(step))?;
        Some(self.without_noise(chosen, kept))
    }

    /// Outputs that hardly follow an input at once do not: what is in D by round-off would close loops that are open.
    fn without_noise(&self, found: Realization, kept: &Course) -> Realization {
        let n = self.outputs;
        let follows = |i: usize, j: usize| {
            self.steps[j].iter().skip(i).step_by(n).fold(0.0_f64, |most, s| most.max(s.abs()))
        };
        // Where an output does not follow at all, that is round-off of the others.
        let largest = self.steps.iter().flatten().fold(0.0_f64, |most, s| most.max(s.abs()));
        for share in SMALL_SHARES {
            let mut other = found.clone();
            let limit = |i: usize, j: usize| share * follows(i, j) + ROUND_OFF * largest;
            for i in 0..n {
                for j in (0..self.inputs).filter(|j| found.model.d[(i, *j)].abs() <= limit(i, *j)) {
                    other.model.d[(i, j)] = 0.0;
                }
            }
            other.error = other.miss(kept, n);
            if other.error <= (AS_GOOD * found.error).max(UNSEEN) {
                return other;
            }
        }
        found
    }
}

struct Hankel {
    outputs: usize,
    inputs: usize,
    first: Matrix,
    svd: Svd,
    shifted: Matrix,
}

impl Hankel {
    /// Nothing if too little was seen.
    fn new(seen: &Seen) -> Option<Self> {
        let (n, m) = (seen.outputs, seen.inputs);
        let rows = seen.steps.iter().map(|response| response.len() / n.max(1)).min()?;
        if rows < 6 || n == 0 {
            return None;
        }
        // h_{k+1} of (2), counted from 0.
        let h = |k: usize, output: usize, input: usize| {
            let s = |k: usize| seen.steps[input][k * n + output];
            if k == 0 { s(0) } else { s(k) - s(k - 1) }
        };
        let (high, wide) = ((rows - 1) / 2, (rows - 1).div_ceil(2));
        let block =
            |first: usize| Matrix::from_fn(high * n, wide * m, |i, j| h(first + i / n + j / m, i % n, j % m));
        let (earlier, shifted) = (block(1), block(2));
        Some(Hankel {
            outputs: n,
            inputs: m,
            first: Matrix::from_fn(n, m, |i, j| h(0, i, j)),
            svd: svd(&earlier).ok()?,
            shifted,
        })
    }

    fn realization(&self, order: usize) -> Result<Realization, LinalgError> {
        let (n, m) = (self.outputs, self.inputs);
        if order == 0 {
            let model = StateSpace::gain(self.first.clone());
            let (phi, gamma) = (Matrix::zeros(0, 0), Matrix::zeros(0, m));
            return Ok(Realization { model, phi, gamma, error: f64::INFINITY });
        }
        let Svd { u, s, v } = &self.svd;
        let roots: Vec<f64> = s[..order].iter().map(|s| s.sqrt()).collect();
        let left = Matrix::from_fn(order, u.rows(), |i, j| u[(j, i)] / roots[i]);
        let right = Matrix::from_fn(v.rows(), order, |i, j| v[(i, j)] / roots[j]);
        let phi = &(&left * &self.shifted) * &right;
        if eigenvalues(&phi)?.iter().any(|z| z.re <= 0.0 && z.im.abs() <= 1e-6 * z.abs()) {
            return Err(LinalgError::NoConvergence { what: "the logarithm of a matrix" });
        }
        let gamma = Matrix::from_fn(order, m, |i, j| roots[i] * v[(j, i)]);
        let later = Matrix::from_fn(n, order, |i, j| u[(i, j)] * roots[j]);
        let c = &later * &inverse(&phi)?;
        let d = &self.first - &(&c * &gamma);
        let model = StateSpace { a: Matrix::zeros(order, order), b: Matrix::zeros(order, m), c, d };
        Ok(Realization { model, phi, gamma, error: f64::INFINITY })
    }
}

impl Realization {
    /// With A and B of (3); nothing if there are none.
    fn in_continuous_time(mut self, step: f64) -> Option<Self> {
        if self.model.states() > 0 {
            self.model.a = &logm(&self.phi).ok()? * (1.0 / step);
            self.model.b = solve(&exponential_integral(&self.model.a, step).ok()?, &self.gamma).ok()?;
        }
        Some(self)
    }

    /// The largest |ln z| and the largest |arg z| of its poles: how far they move in a step.
    pub(crate) fn pace(&self) -> (f64, f64) {
        let poles = eigenvalues(&self.phi).unwrap_or_default();
        let turn = |z: &crate::linalg::Complex| z.im.atan2(z.re).abs();
        let along = poles.iter().map(|z| z.abs().ln().hypot(turn(z)));
        (along.fold(0.0, f64::max), poles.iter().map(turn).fold(0.0, f64::max))
    }

    /// By how much it misses an experiment at its own step.
    fn miss(&self, kept: &Course, outputs: usize) -> f64 {
        let StateSpace { c, d, .. } = &self.model;
        miss((&self.phi, &self.gamma, c, d), kept, outputs)
    }

    /// By how much it misses an experiment at another step.
    pub(crate) fn miss_at(&self, step: f64, kept: &Course, outputs: usize) -> f64 {
        let StateSpace { a, b, c, d } = &self.model;
        let Ok(integral) = exponential_integral(a, step) else { return f64::INFINITY };
        let mut phi = a * &integral;
        phi.add_to_diagonal(1.0);
        miss((&phi, &(&integral * b), c, d), kept, outputs)
    }

    /// The rates of the states at the start that explain the run at rest best; nothing if they do not.
    pub(crate) fn rates(&self, step: f64, free: &[f64]) -> Option<Vec<f64>> {
        let (n, states) = (self.model.outputs(), self.model.states());
        let largest = free.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        if largest <= 1e-9 {
            return Some(vec![0.0; states]);
        }
        if states == 0 {
            return None;
        }
        let first = exponential_integral(&self.model.a, step).ok()?;
        let mut regressors = Matrix::zeros(free.len(), states);
        let mut integral = first.clone();
        for k in 0..free.len() / n {
            regressors.set_block(k * n, 0, &(&self.model.c * &integral));
            integral = &(&self.phi * &integral) + &first;
        }
        let target = Matrix::from_slice(free.len(), 1, free);
        let found = least_squares(&regressors, &target, 0.0).ok()?;
        let missed = (&(&regressors * &found) - &target).max_abs();
        (missed <= OWN_MOVE * largest).then(|| found.col(0))
    }
}

/// The largest miss of an output, relative to how far it moves.
fn miss(
    (phi, gamma, c, d): (&Matrix, &Matrix, &Matrix, &Matrix),
    Course { inputs, outputs }: &Course,
    n: usize,
) -> f64 {
    let m = d.cols();
    let mut x = vec![0.0; phi.rows()];
    let (mut missed, mut moved) = (vec![0.0_f64; n], vec![0.0_f64; n]);
    for (u, y) in inputs.chunks_exact(m).zip(outputs.chunks_exact(n)) {
        let mut next = phi.mul_vec(&x);
        gamma.mul_vec_add(u, &mut next);
        x = next;
        let mut seen = c.mul_vec(&x);
        d.mul_vec_add(u, &mut seen);
        for k in 0..n {
            missed[k] = missed[k].max((seen[k] - y[k]).abs());
            moved[k] = moved[k].max(y[k].abs());
            if !seen[k].is_finite() {
                return f64::INFINITY;
            }
        }
    }
    // What never moves is missed by nothing that matters, unless the model says that it moves.
    let largest = moved.iter().copied().fold(0.0, f64::max);
    let floor = (1e-8 * largest).max(f64::MIN_POSITIVE);
    missed.iter().zip(&moved).map(|(missed, moved)| missed / moved.max(floor)).fold(0.0, f64::max)
}

#[cfg(test)]
#[path = "surrogate/tests.rs"]
mod tests;

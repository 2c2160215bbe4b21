//! Recursive least squares: a difference equation for each output, learned while the run goes on.
//!
//!   y^k = Σ_{j=1..N} a_j y^{k-j} + Σ_i Σ_{j=1..M} b_ij u_i^{k-j+1} + c = φᵀ p                      (1)
//!
//!   g = P φ / (λ + φᵀ P φ),     p ← p + g (y^k - φᵀ p),     P ← (P - g φᵀ P) / λ                   (2)
//!
//! | symbol | meaning                                             | here         |
//! | u^k    | input given at the end of the step that ends at T^k | `inputs`     |
//! | p, P   | parameters and their covariance                     | `parameters`, `covariance` |
//! | λ      | forgetting factor                                   | `forgetting` |
//!
//! As an interface model: y^{k+1} = J_y y^k + J_1 u^{k+1} + c with J_y = diag(a_1), J_1 = B_1, and all older terms, which are
//! known, in c. So any N and M serve without a state-space realisation. The input u^k of the last step is among the known:
//! as J_0 u^k it would be replaced by the ideal input in step 2, and step 3 would make up for the difference by dividing by
//! J_1, which is unstable wherever J_0 exceeds J_1.
//!
//! To another step: `rescale`. Genser 2020, (2.86), (2.87). Differs in: u has the label of the step that ends at T^k (with the
//! printed one most runs diverge); the third of (2) divides both terms; a constant regressor, so that a system may rest
//! anywhere; P starts at κ / φ_j² when regressor j is first seen to move, so that the result does not depend on units.
//! Round-off is no movement: what is smaller than 16 ulp of the subsystem's largest signal does not count, and a regressor
//! that is a million times larger than ever before restart. Where P exceeds a million times κ / φ_j², as it does at rest after
//! long enough, nothing is forgotten (λ = 1).

mod rescale;

use super::excitation::Scatter;
use super::{InterfaceModel, LearnedRls};
use crate::error::{Result, bad};
use crate::linalg::{Matrix, dot};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// Settings of recursive least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RlsConfig {
    /// N: past outputs.
    #[serde(rename = "N")]
    pub outputs: usize,
    /// M: inputs of this and past steps.
    #[serde(rename = "M")]
    pub inputs: usize,
    /// λ in (0, 1].
    pub forgetting: f64,
    /// κ.
    pub covariance: f64,
}

impl Default for RlsConfig {
    fn default() -> Self {
        RlsConfig { outputs: 1, inputs: 1, forgetting: 0.996, covariance: 1e6 }
    }
}

/// Most past values of one signal.
const MOST_TERMS: usize = 1000;

impl RlsConfig {
    /// Refuses settings that make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        let RlsConfig { outputs, inputs, forgetting, covariance } = *self;
        if inputs == 0 {
            return Err(bad("model.M", inputs, "must be at least 1"));
        }
        for (what, value) in [("model.N", outputs), ("model.M", inputs)] {
            if value > MOST_TERMS {
                return Err(bad(what, value, &format!("must be at most {MOST_TERMS}")));
            }
        }
        if !(forgetting > 0.0 && forgetting <= 1.0) {
            return Err(bad("model.forgetting", forgetting, "must lie in (0, 1]"));
        }
        if !(covariance > 0.0 && covariance.is_finite()) {
            return Err(bad("model.covariance", covariance, "must be positive"));
        }
        Ok(())
    }
}

/// Recursive least squares for one subsystem.
#[derive(Clone, Debug)]
pub(crate) struct Rls {
    config: RlsConfig,
    inputs: usize,
    learned: LearnedRls,
    /// Past outputs, newest first, N for each output; then past inputs, newest first, M for each.
    past_outputs: Vec<f64>,
    past_inputs: Vec<f64>,
    /// Steps seen; the past is filled after a few.
    seen: usize,
    phi: Vec<f64>,
    gain: Vec<f64>,
    /// Largest size of any input or output so far.
    scale: f64,
    /// Per output, the largest size of each regressor so far; infinite if it was learned before.
    largest: Vec<Vec<f64>>,
    /// How the regressors of each output moved, without the constant.
    scatters: Vec<Scatter>,
}

impl Rls {
    pub(crate) fn new(config: RlsConfig, inputs: usize, outputs: usize, step: f64) -> Self {
        let count = config.outputs + inputs * config.inputs + 1;
        Rls {
            config,
            inputs,
            learned: LearnedRls {
                step,
                outputs: config.outputs,
                inputs: config.inputs,
                parameters: vec![vec![0.0; count]; outputs],
                covariance: vec![Matrix::zeros(count, count); outputs],
            },
            past_outputs: vec![0.0; config.outputs * outputs],
            past_inputs: vec![0.0; config.inputs * inputs],
            seen: 0,
            phi: vec![0.0; count],
            gain: vec![0.0; count],
            scale: 0.0,
            largest: vec![vec![0.0; count]; outputs],
            scatters: vec![Scatter::new(count - 1); outputs],
        }
    }

    /// What has been learned.
    pub(crate) fn learned(&self) -> &LearnedRls {
        &self.learned
    }

    /// Starts from what another run has learned; false if that was another subsystem.
    pub(crate) fn load(&mut self, learned: &LearnedRls) -> bool {
        let count = self.phi.len();
        let fits = learned.parameters.len() == self.learned.parameters.len()
            && learned.parameters.iter().all(|p| p.len() == count)
            && learned.covariance.len() == learned.parameters.len()
            && learned.covariance.iter().all(|p| p.rows() == count && p.cols() == count);
        if fits {
            self.learned = learned.clone();
            for (largest, covariance) in self.largest.iter_mut().zip(&learned.covariance) {
                let is_open = |j: usize| covariance[(j, j)] > 0.0;
                largest
                    .iter_mut()
                    .enumerate()
                    .for_each(|(j, size)| *size = if is_open(j) { f64::INFINITY } else { 0.0 });
            }
        }
        fits
    }

    /// The step the parameters belong to.
    pub(crate) fn step(&self) -> f64 {
        self.learned.step
    }

    /// True if the past is known as far as the equation reaches back.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_first_order() || self.seen >= self.config.outputs.max(self.config.inputs)
    }

    fn is_first_order(&self) -> bool {
        self.config.outputs == 1 && self.config.inputs == 1
    }

    /// How well the regressor of an output was excited, without inputs that cannot move.
    pub(crate) fn excitation(&mut self, output: usize, can_move: &[bool]) -> f64 {
        let RlsConfig { outputs, inputs, .. } = self.config;
        self.scatters[output].excitation(|j| j < outputs || can_move[(j - outputs) / inputs])
    }

    /// One of the parameters of an output.
    pub(crate) fn parameter(&self, output: usize, index: usize) -> f64 {
        self.learned.parameters[output][index]
    }

    /// Parameters of one output.
    pub(crate) fn parameter_count(&self) -> usize {
        self.phi.len()
    }

    /// Learns from outputs at T^k and the inputs at the end of the step that ended there; writes the errors of the
    /// predictions before that.
    pub(crate) fn observe(&mut self, y: &[f64], u: &[f64], errors: &mut [f64]) {
        self.push_inputs(u);
        self.scale = y.iter().chain(u).fold(self.scale, |most, value| most.max(value.abs()));
        let round_off = ROUND_OFF * self.scale;
        let is_full = self.seen >= self.config.outputs.max(self.config.inputs);
        let is_first_order = self.is_first_order();
        for (output, y) in y.iter().enumerate() {
            self.fill(output);
            let LearnedRls { parameters, covariance, .. } = &mut self.learned;
            let mut error = y - dot(&self.phi, &parameters[output]);
            // Without its whole past the equation predicts nothing.
            errors[output] = if is_full || is_first_order { error } else { f64::NAN };
            if is_full {
                let (p, covariance) = (&mut parameters[output], &mut covariance[output]);
                let prior = (self.config.covariance, round_off);
                if open((p, covariance), &self.phi, &mut self.largest[output], prior) {
                    error = y - dot(&self.phi, p);
                }
                let is_wound_up =
                    is_wound_up(covariance, &self.phi, &self.largest[output], self.config.covariance);
                let forgetting = if is_wound_up { 1.0 } else { self.config.forgetting };
                update(p, covariance, &self.phi, &mut self.gain, error, forgetting);
                self.scatters[output].add(&self.phi[..self.phi.len() - 1], self.config.forgetting);
            }
        }
        for (output, y) in y.iter().enumerate() {
            push_front(&mut self.past_outputs[output * self.config.outputs..][..self.config.outputs], *y);
        }
        self.seen += 1;
    }

    /// Sets the past without learning: for a step of another size.
    pub(crate) fn pass_over(&mut self, y: &[f64], u: &[f64]) {
        self.push_inputs(u);
        for (output, y) in y.iter().enumerate() {
            self.past_outputs[output * self.config.outputs..][..self.config.outputs].fill(*y);
        }
        self.seen = usize::from(self.is_first_order());
    }

    /// Equation (1) from here on as an interface model in discrete time.
    pub(crate) fn model(&self, model: &mut InterfaceModel) {
        let (n, m) = (self.config.outputs, self.config.inputs);
        for (output, p) in self.learned.parameters.iter().enumerate() {
            let (a, rest) = p.split_at(n);
            let past = &self.past_outputs[output * n..][..n];
            model.s_y[(output, output)] = a.first().copied().unwrap_or(0.0);
            let mut constant = rest[rest.len() - 1] + dot(older(a, 1), older(past, 1));
            for input in 0..self.inputs {
                let b = &rest[input * m..][..m];
                let past = &self.past_inputs[input * m..][..m];
                model.s_d[(output, input)] = b[0];
                constant += dot(older(b, 1), past);
            }
            model.constant[output] = constant;
        }
    }

    fn push_inputs(&mut self, u: &[f64]) {
        for (input, u) in u.iter().enumerate() {
            push_front(&mut self.past_inputs[input * self.config.inputs..][..self.config.inputs], *u);
        }
    }

    fn fill(&mut self, output: usize) {
        let n = self.config.outputs;
        let (past, rest) = self.phi.split_at_mut(n);
        past.copy_from_slice(&self.past_outputs[output * n..][..n]);
        let (inputs, constant) = rest.split_at_mut(self.past_inputs.len());
        inputs.copy_from_slice(&self.past_inputs);
        constant.fill(1.0);
    }

    /// Shows `tape` everything.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.learned.step);
        tape.count(&mut self.seen);
        tape.number(&mut self.scale);
        self.learned.parameters.iter_mut().for_each(|p| tape.numbers(p));
        self.learned.covariance.iter_mut().for_each(|p| tape.numbers(p.as_mut_slice()));
        self.largest.iter_mut().for_each(|sizes| tape.numbers(sizes));
        tape.values(&mut self.past_outputs);
        tape.values(&mut self.past_inputs);
        self.scatters.iter_mut().for_each(|scatter| scatter.state(tape));
    }
}

/// What does not count as a movement, relative to the largest signal of a subsystem.
const ROUND_OFF: f64 = 16.0 * f64::EPSILON;

/// How many times larger than ever before a regressor must be to restart.
const ANOTHER_SIZE: f64 = 1e6;

/// The smallest regressor that counts: P must stay finite.
const SMALLEST: f64 = 1e-140;

/// Opens the covariance of regressors that move for the first time, or at another size than before, with their parameter at
/// zero; true if that changes a parameter.
fn open(
    (p, covariance): (&mut [f64], &mut Matrix),
    phi: &[f64],
    largest: &mut [f64],
    (kappa, round_off): (f64, f64),
) -> bool {
    let mut is_changed = false;
    let constant = phi.len() - 1;
    for (j, value) in phi.iter().map(|value| value.abs()).enumerate() {
        if j != constant && value <= round_off.max(SMALLEST) {
            continue;
        }
        if covariance[(j, j)] == 0.0 || value > ANOTHER_SIZE * largest[j] {
            is_changed |= p[j] != 0.0;
            p[j] = 0.0;
            for i in 0..phi.len() {
                covariance[(i, j)] = 0.0;
                covariance[(j, i)] = 0.0;
            }
            covariance[(j, j)] = kappa / (value * value);
        }
        largest[j] = largest[j].max(value);
    }
    is_changed
}

/// How many times more uncertain than at its start a parameter may become.
const WOUND_UP: f64 = 1e6;

/// The largest covariance: its square is a number.
const LARGEST: f64 = 1e150;

/// Whether P has grown because nothing moves: by 1/λ in each step, in all directions that φ does not show. Then nothing is forgotten.
fn is_wound_up(covariance: &Matrix, phi: &[f64], largest: &[f64], kappa: f64) -> bool {
    (0..phi.len()).any(|j| {
        let size = if largest[j].is_finite() { largest[j] } else { phi[j].abs() };
        let own = covariance[(j, j)];
        own * size * size > WOUND_UP * kappa || own > LARGEST.max(kappa / (SMALLEST * SMALLEST))
    })
}

/// Equation (2), keeping P symmetric.
fn update(
    p: &mut [f64],
    covariance: &mut Matrix,
    phi: &[f64],
    gain: &mut [f64],
    error: f64,
    forgetting: f64,
) {
    covariance.mul_vec_into(phi, gain);
    let denominator = forgetting + dot(phi, gain);
    let n = p.len();
    for i in 0..n {
        for j in 0..=i {
            let value = (covariance[(i, j)] - gain[i] * gain[j] / denominator) / forgetting;
            covariance[(i, j)] = value;
            covariance[(j, i)] = value;
        }
    }
    p.iter_mut().zip(gain.iter()).for_each(|(p, g)| *p += g / denominator * error);
}

/// All but the first entries.
fn older(list: &[f64], from: usize) -> &[f64] {
    list.get(from..).unwrap_or(&[])
}

fn push_front(list: &mut [f64], mut value: f64) {
    list.iter_mut().for_each(|slot| value = std::mem::replace(slot, value));
}

#[cfg(test)]
mod tests;

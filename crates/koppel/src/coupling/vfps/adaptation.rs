//! Adapts the velocity form to what is seen during the run.
//!
//! With θ0 fitted before the run, G the mean of φφᵀ there, and l_j = λ^{(m-j)/m}, after each step
//!
//!   R ← λ R + Σ_j l_j φ_j φ_jᵀ,     V ← λ V + Σ_j l_j φ_j (Δy_j - θ0ᵀ φ_j)ᵀ
//!   θ_ρ = θ0 + (R + ρ (tr R / tr G) G + 1e-12 tr R · I)⁻¹ V,     ρ in {0.01, 0.1, 1}
//!
//! What was fitted is never forgotten and weighs as much as the data: where the run excites nothing, θ_ρ stays θ0.

use crate::identify::{NodeFit, NodeModel};
use crate::linalg::{cholesky_factor, cholesky_solve, fast_dot};
use crate::tape::Tape;

/// How much of the past counts after one step.
const FORGETTING: f64 = 0.95;
/// Weights of what was fitted.
pub(super) const TRUST: [f64; 3] = [0.01, 0.1, 1.0];

/// R, V and what they are measured against.
#[derive(Clone, Debug)]
pub(super) struct Adaptation {
    order: usize,
    outputs: usize,
    width: usize,
    theta: Vec<f64>,
    gram: Vec<f64>,
    gram_trace: f64,
    recent: Vec<f64>,
    missed: Vec<f64>,
    // Room for one regressor, the matrix to invert, and the coefficients.
    regressor: Vec<f64>,
    matrix: Vec<f64>,
    changed: Vec<f64>,
}

impl Adaptation {
    pub(super) fn new(fit: &NodeFit, outputs: usize) -> Self {
        let width = fit.theta.len() / outputs.max(1);
        Adaptation {
            order: fit.order,
            outputs,
            width,
            theta: fit.theta.clone(),
            gram: fit.gram.clone(),
            gram_trace: (0..width).map(|i| fit.gram[i * width + i]).sum(),
            recent: vec![0.0; width * width],
            missed: vec![0.0; outputs * width],
            regressor: vec![0.0; width],
            matrix: vec![0.0; width * width],
            changed: vec![0.0; outputs * width],
        }
    }

    /// Takes in the nodes that follow the first `past` rows.
    pub(super) fn note(&mut self, y: &[f64], u: &[f64], past: usize, nodes: usize) {
        self.recent.iter_mut().chain(&mut self.missed).for_each(|v| *v *= FORGETTING);
        for j in 1..=nodes {
            let row = past - 1 + j;
            self.set_regressor(y, u, row);
            let weight = FORGETTING.powf((nodes - j) as f64 / nodes as f64);
            for i in 0..self.width {
                let a = weight * self.regressor[i];
                let recent = &mut self.recent[i * self.width..][..=i];
                recent.iter_mut().zip(&self.regressor).for_each(|(s, b)| *s += a * b);
            }
            for k in 0..self.outputs {
                let theta = &self.theta[k * self.width..][..self.width];
                let n = self.outputs;
                let increment = y[row * n + k] - y[(row - 1) * n + k];
                let missed = weight * (increment - fast_dot(theta, &self.regressor));
                let sum = &mut self.missed[k * self.width..][..self.width];
                sum.iter_mut().zip(&self.regressor).for_each(|(s, b)| *s += missed * b);
            }
        }
    }

    fn set_regressor(&mut self, y: &[f64], u: &[f64], row: usize) {
        let (n, p) = (self.outputs, self.order);
        let m = (self.width - p * n) / (p + 1);
        let (of_y, of_u) = self.regressor.split_at_mut(p * n);
        for (i, value) in of_y.iter_mut().enumerate() {
            let at = (row - p) * n + i;
            *value = y[at] - y[at - n];
        }
        for (i, value) in of_u.iter_mut().enumerate() {
            let at = (row - p) * m + i;
            *value = u[at] - u[at - m];
        }
    }

    /// Sets a model to θ_ρ; it becomes the fitted one where the numbers do not allow more.
    pub(super) fn adapt(&mut self, trust: f64, fitted: &NodeModel, model: &mut NodeModel) {
        let width = self.width;
        let trace: f64 = (0..width).map(|i| self.recent[i * width + i]).sum();
        let is_usable = trace > 0.0 && trace.is_finite() && self.gram_trace > 0.0;
        if is_usable && self.solve(trust * trace / self.gram_trace, 1e-12 * trace) {
            model.set_velocity(self.order, &self.changed);
            if model.is_finite() {
                return;
            }
        }
        model.coefficients.copy_from_slice(&fitted.coefficients);
    }

    fn solve(&mut self, weight: f64, ridge: f64) -> bool {
        let width = self.width;
        for i in 0..width {
            for j in 0..=i {
                let at = i * width + j;
                self.matrix[at] = self.recent[at] + weight * self.gram[at];
            }
            self.matrix[i * width + i] += ridge;
        }
        if !cholesky_factor(&mut self.matrix, width) {
            return false;
        }
        self.changed.copy_from_slice(&self.missed);
        for changed in self.changed.chunks_exact_mut(width) {
            cholesky_solve(&self.matrix, width, changed);
        }
        self.changed.iter_mut().zip(&self.theta).for_each(|(c, theta)| *c += theta);
        true
    }

    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.numbers(&mut self.recent);
        tape.numbers(&mut self.missed);
    }
}

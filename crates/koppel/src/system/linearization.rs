//! Derivatives of a model's equations where it stands.
//!
//! Linear models give their matrices, and some models their derivatives. Others are differenced on both sides,
//!
//!   ∂f/∂x_j ≈ (f(x + δ e_j) - f(x - δ e_j)) / (2 δ),     δ = ε^(1/3) · max(|x_j|, nominal)         (1)
//!
//! and outputs change, while the inputs are held, at
//!
//!   y' ≈ (g(x + τ f) - g(x - τ f)) / (2 τ),     τ ‖f‖ = ε^(1/3) · max(‖x‖, 10⁻³)                   (2)
//!
//! | symbol  | meaning                                                        |
//! | ε       | distance of 1 to the next f64                                  |
//! | nominal | of the state or input if it is declared, else 10⁻³             |
//!
//! What f and g do with time itself is left out of (2); models that give their derivatives count it in.

use super::ode_model::Ode;
use super::ports::Variable;
use crate::linalg::Matrix;
use crate::state_space::StateSpace;

/// Room for the differences, and the matrices of a linear model.
#[derive(Clone, Debug)]
pub(super) struct Linearization {
    linear: Option<StateSpace>,
    moved: Vec<f64>,
    derivative: Vec<f64>,
    outputs: Vec<f64>,
    /// States or inputs, one of them moved.
    point: Vec<f64>,
    derivative_below: Vec<f64>,
    outputs_below: Vec<f64>,
}

impl Linearization {
    pub(super) fn new(ode: &dyn Ode) -> Self {
        let (n, inputs, outputs) = (ode.states(), ode.ports().inputs.len(), ode.ports().outputs.len());
        Linearization {
            linear: ode.linear(),
            moved: vec![0.0; n],
            derivative: vec![0.0; n],
            outputs: vec![0.0; outputs],
            point: Vec::with_capacity(n.max(inputs)),
            derivative_below: vec![0.0; n],
            outputs_below: vec![0.0; outputs],
        }
    }

    /// Equation (1), or the matrices of a linear model.
    pub(super) fn matrices(&mut self, ode: &dyn Ode, time: f64, x: &[f64], u: &[f64], out: &mut StateSpace) {
        if let Some(matrices) = &self.linear {
            return out.copy_from(matrices);
        }
        if let Some(slopes) = ode.slopes() {
            return slopes.linearize(time, x, u, out);
        }
        let (n, m, p) = (x.len(), u.len(), self.outputs.len());
        let StateSpace { a, b, c, d } = out;
        for (matrix, rows, cols) in [(&mut *a, n, n), (&mut *b, n, m), (&mut *c, p, n), (&mut *d, p, m)] {
            matrix.reshape(rows, cols);
        }
        let ports = ode.ports();
        let both = |x: &[f64], u: &[f64], dx: &mut [f64], y: &mut [f64]| {
            ode.smooth_derivative(time, x, u, dx);
            ode.output(time, x, u, y);
        };
        self.difference(x, &ports.locals[..n], [a, c], |x, dx, y| both(x, u, dx, y));
        self.difference(u, &ports.inputs, [b, d], |u, dx, y| both(x, u, dx, y));
    }

    /// Jacobians of the derivatives and the outputs at `point`, by differences on both sides.
    fn difference(
        &mut self,
        point: &[f64],
        variables: &[Variable],
        [of_derivative, of_outputs]: [&mut Matrix; 2],
        f: impl Fn(&[f64], &mut [f64], &mut [f64]),
    ) {
        let Linearization { point: moved, derivative, outputs, derivative_below, outputs_below, .. } = self;
        moved.clear();
        moved.extend_from_slice(point);
        for j in 0..point.len() {
            let nominal = variables[j].nominal.unwrap_or(SMALLEST).abs();
            let delta = STEP * point[j].abs().max(nominal);
            let (up, down) = (point[j] + delta, point[j] - delta);
            moved[j] = up;
            f(moved, derivative, outputs);
            moved[j] = down;
            f(moved, derivative_below, outputs_below);
            moved[j] = point[j];
            for (i, (above, below)) in derivative.iter().zip(derivative_below.iter()).enumerate() {
                of_derivative[(i, j)] = (above - below) / (up - down);
            }
            for (i, (above, below)) in outputs.iter().zip(outputs_below.iter()).enumerate() {
                of_outputs[(i, j)] = (above - below) / (up - down);
            }
        }
    }

    /// True if the model is linear.
    pub(super) fn is_exact(&self) -> bool {
        self.linear.is_some()
    }

    /// D of a linear model.
    pub(super) fn exact_feed_through(&self) -> Option<&Matrix> {
        self.linear.as_ref().map(|matrices| &matrices.d)
    }

    /// Equation (2), or C (A x + B u) of a linear model.
    pub(super) fn rates(&mut self, ode: &dyn Ode, time: f64, x: &[f64], u: &[f64], rates: &mut [f64]) {
        let Linearization { linear, moved, derivative, outputs, .. } = self;
        ode.smooth_derivative(time, x, u, derivative);
        if let Some(matrices) = linear {
            return matrices.c.mul_vec_into(derivative, rates);
        }
        if let Some(slopes) = ode.slopes() {
            return slopes.rates(time, x, u, derivative, rates);
        }
        let largest = |list: &[f64]| list.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let speed = largest(derivative);
        if speed == 0.0 {
            return rates.fill(0.0);
        }
        let tau = STEP * largest(x).max(SMALLEST) / speed;
        let shift = |moved: &mut [f64], by: f64| {
            for ((moved, x), dx) in moved.iter_mut().zip(x).zip(derivative.iter()) {
                *moved = x + by * dx;
            }
        };
        shift(moved, tau);
        ode.output(time, moved, u, rates);
        shift(moved, -tau);
        ode.output(time, moved, u, outputs);
        for (rate, before) in rates.iter_mut().zip(outputs) {
            *rate = (*rate - *before) / (2.0 * tau);
        }
    }
}

/// ε^(1/3).
const STEP: f64 = 6.055_454_452_393_343e-6;

/// What counts as a small value of a state or input whose size nobody declared.
const SMALLEST: f64 = 1e-3;

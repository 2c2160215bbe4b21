//! Derivatives of a model's equations where it stands.
//!
//! Linear models give their matrices. Others are differenced on both sides,
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
//! What f and g do with time itself is left out of (2).

use super::ode_model::Ode;
use super::ports::Variable;
use super::state_space::StateSpace;
use crate::linalg::Matrix;

/// Room for the differences, and the matrices of a linear model.
#[derive(Clone, Debug)]
pub(super) struct Linearization {
    linear: Option<StateSpace>,
    moved: Vec<f64>,
    derivative: Vec<f64>,
    outputs: Vec<f64>,
}

impl Linearization {
    pub(super) fn new(ode: &dyn Ode) -> Self {
        let (n, outputs) = (ode.states(), ode.ports().outputs.len());
        Linearization {
            linear: ode.linear(),
            moved: vec![0.0; n],
            derivative: vec![0.0; n],
            outputs: vec![0.0; outputs],
        }
    }

    /// Equation (1), or the matrices of a linear model.
    pub(super) fn matrices(&self, ode: &dyn Ode, time: f64, x: &[f64], u: &[f64]) -> StateSpace {
        if let Some(matrices) = &self.linear {
            return matrices.clone();
        }
        let (n, p) = (x.len(), self.outputs.len());
        let ports = ode.ports();
        let by_state = difference(x, &ports.locals[..n], n + p, |x, out| {
            let (dx, y) = out.split_at_mut(n);
            ode.derivative(time, x, u, dx);
            ode.output(time, x, u, y);
        });
        let by_input = difference(u, &ports.inputs, n + p, |u, out| {
            let (dx, y) = out.split_at_mut(n);
            ode.derivative(time, x, u, dx);
            ode.output(time, x, u, y);
        });
        StateSpace {
            a: by_state.block(0, 0, n, n),
            b: by_input.block(0, 0, n, u.len()),
            c: by_state.block(n, 0, p, n),
            d: by_input.block(n, 0, p, u.len()),
        }
    }

    /// Equation (2), or C (A x + B u) of a linear model.
    pub(super) fn rates(&mut self, ode: &dyn Ode, time: f64, x: &[f64], u: &[f64], rates: &mut [f64]) {
        let Linearization { linear, moved, derivative, outputs } = self;
        ode.derivative(time, x, u, derivative);
        if let Some(matrices) = linear {
            return matrices.c.mul_vec_into(derivative, rates);
        }
        let largest = |list: &[f64]| list.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let speed = largest(derivative);
        if speed == 0.0 {
            return rates.fill(0.0);
        }
        let tau = f64::EPSILON.cbrt() * largest(x).max(SMALLEST) / speed;
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

/// What counts as a small value of a state or input whose size nobody declared.
const SMALLEST: f64 = 1e-3;

/// Jacobian of `f` with `rows` values at `point`, by differences on both sides.
fn difference(point: &[f64], variables: &[Variable], rows: usize, f: impl Fn(&[f64], &mut [f64])) -> Matrix {
    let mut jacobian = Matrix::zeros(rows, point.len());
    let (mut moved, mut above, mut below) = (point.to_vec(), vec![0.0; rows], vec![0.0; rows]);
    for j in 0..point.len() {
        let nominal = variables[j].nominal.unwrap_or(SMALLEST).abs();
        let delta = f64::EPSILON.cbrt() * point[j].abs().max(nominal);
        let (up, down) = (point[j] + delta, point[j] - delta);
        moved[j] = up;
        f(&moved, &mut above);
        moved[j] = down;
        f(&moved, &mut below);
        moved[j] = point[j];
        for i in 0..rows {
            jacobian[(i, j)] = (above[i] - below[i]) / (up - down);
        }
    }
    jacobian
}

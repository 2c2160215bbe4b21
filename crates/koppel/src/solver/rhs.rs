//! The right-hand side of x' = f(t, x), with derivatives by differences where the model gives none.
//!
//!   ∂f/∂x_j ≈ (f(t, x + δ_j e_j) - f(t, x)) / δ_j,     δ_j = √ε · max(|x_j|, 10⁻³)       (1)
//!   ∂f/∂t  ≈ (-3 f(t, x) + 4 f(t + δ, x) - f(t + 2δ, x)) / (2δ),     δ = 10⁻³ h         (2)
//!
//! | symbol | meaning                       |
//! | ε      | distance of 1 to the next f64 |
//! | h      | micro step to be taken        |
//!
//! (2) looks forward only and stays inside the step, so an input is never evaluated outside its window. The weights
//! are those of the times as rounded. (1) is blind below |x_j| ≈ 10⁻³ of the unit: a model with meaningful states far
//! smaller than that should scale them or give its own Jacobian.

/// An ordinary differential equation.
pub trait Rhs {
    /// Number of states.
    fn dim(&self) -> usize;

    /// Writes f(t, x) to `dx`.
    fn derivative(&mut self, t: f64, x: &[f64], dx: &mut [f64]);

    /// Writes ∂f/∂x to `jac`, row by row. `scratch` has room for two states.
    fn jacobian(&mut self, at: &Point<'_>, jac: &mut [f64], scratch: &mut [f64]) {
        difference_jacobian(self, at, jac, scratch);
    }

    /// Writes ∂f/∂t to `dfdt`. `scratch` has room for two states.
    fn time_derivative(&mut self, at: &Point<'_>, dfdt: &mut [f64], scratch: &mut [f64]) {
        let delta = 1e-3 * at.step;
        let (near, far) = (at.time + delta, at.time + 2.0 * delta);
        let (d1, d2) = (near - at.time, far - at.time);
        if d1 <= 0.0 || d2 <= d1 {
            dfdt.fill(0.0);
            return;
        }
        let (first, second) = (d2 / (d1 * (d2 - d1)), d1 / (d2 * (d2 - d1)));
        let then = &mut scratch[..at.state.len()];
        self.derivative(near, at.state, dfdt);
        self.derivative(far, at.state, then);
        for ((slope, then), now) in dfdt.iter_mut().zip(then).zip(at.derivative) {
            *slope = first * (*slope - now) - second * (*then - now);
        }
    }
}

/// Equation (1), for right-hand sides that give a Jacobian only at times.
pub fn difference_jacobian<R: Rhs + ?Sized>(
    rhs: &mut R,
    at: &Point<'_>,
    jac: &mut [f64],
    scratch: &mut [f64],
) {
    let n = at.state.len();
    let (moved, changed) = scratch.split_at_mut(n);
    moved.copy_from_slice(at.state);
    for j in 0..n {
        let delta = f64::EPSILON.sqrt() * at.state[j].abs().max(1e-3);
        moved[j] = at.state[j] + delta;
        let delta = moved[j] - at.state[j];
        rhs.derivative(at.time, moved, changed);
        moved[j] = at.state[j];
        for i in 0..n {
            jac[i * n + j] = (changed[i] - at.derivative[i]) / delta;
        }
    }
}

/// Where derivatives are taken.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// In s.
    pub time: f64,
    /// The micro step about to be taken, in s.
    pub step: f64,
    /// x.
    pub state: &'a [f64],
    /// f(t, x).
    pub derivative: &'a [f64],
}

//! Broyden's method, in the form that updates the inverse.
//!
//!   z ← z - B r,     B ← B + (s - B y) (sᵀ B) / (sᵀ B y)                          (1)
//!
//! | symbol | meaning                                                     |
//! | B      | estimate of (∂r/∂z)⁻¹; -I to begin with, a fixed-point step |
//! | s, y   | last change of z and of r                                   |
//!
//! Broyden 1965; the method Kübler & Schiehlen 2000 use. B is kept from one communication point to the next. An update whose
//! denominator is small beside its factors is left out. If the residual falls too slowly for several guesses, B is rebuilt from
//! differences (restart).

use super::{Acceleration, Next, dot};
use crate::linalg::{LinalgError, Lu, Matrix};
use crate::tape::Tape;

/// Denominators below this, relative to their factors, are not divided by.
const SMALL: f64 = 1e-8;
/// A residual that shrinks by less than this is slow...
const SLOW: f64 = 0.5;
/// ... and so many slow guesses in a row restart.
const PATIENCE: u32 = 6;

pub(super) struct Broyden {
    inverse: Matrix,
    lu: Lu,
    last_z: Vec<f64>,
    last_r: Vec<f64>,
    s: Vec<f64>,
    by: Vec<f64>,
    sb: Vec<f64>,
    has_last: bool,
    least: f64,
    slow: u32,
    reuse: bool,
}

impl Broyden {
    pub(super) fn new(unknowns: usize, reuse: bool) -> Self {
        let zeros = || vec![0.0; unknowns];
        let mut broyden = Broyden {
            inverse: Matrix::zeros(unknowns, unknowns),
            lu: Lu::default(),
            last_z: zeros(),
            last_r: zeros(),
            s: zeros(),
            by: zeros(),
            sb: zeros(),
            has_last: false,
            least: f64::INFINITY,
            slow: 0,
            reuse,
        };
        broyden.forget();
        broyden
    }

    fn forget(&mut self) {
        self.inverse.as_mut_slice().fill(0.0);
        (0..self.s.len()).for_each(|i| self.inverse[(i, i)] = -1.0);
    }

    /// Equation (1).
    fn update(&mut self, weight: &[f64], z: &[f64], residual: &[f64]) {
        for i in 0..z.len() {
            self.s[i] = z[i] - self.last_z[i];
            self.last_r[i] = residual[i] - self.last_r[i];
        }
        self.inverse.mul_vec_into(&self.last_r, &mut self.by);
        let denominator = dot(weight, &self.s, &self.by);
        let factors = dot(weight, &self.s, &self.s) * dot(weight, &self.by, &self.by);
        if !denominator.is_finite() || denominator.abs() <= SMALL * factors.sqrt() {
            return;
        }
        for j in 0..z.len() {
            let column = (0..z.len()).map(|i| weight[i] * weight[i] * self.s[i] * self.inverse[(i, j)]);
            self.sb[j] = column.sum::<f64>() / denominator;
        }
        for i in 0..z.len() {
            let missing = self.s[i] - self.by[i];
            for j in 0..z.len() {
                self.inverse[(i, j)] += missing * self.sb[j];
            }
        }
    }
}

impl Acceleration for Broyden {
    fn begin(&mut self) {
        (self.has_last, self.least, self.slow) = (false, f64::INFINITY, 0);
        if !self.reuse {
            self.forget();
        }
    }

    fn next(&mut self, weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next {
        if self.has_last {
            self.update(weight, z, residual);
        }
        let size = dot(weight, residual, residual).sqrt();
        self.slow = if size > SLOW * self.least { self.slow + 1 } else { 0 };
        self.least = self.least.min(size);
        if self.slow >= PATIENCE {
            (self.has_last, self.least, self.slow) = (false, f64::INFINITY, 0);
            return Next::Differences;
        }
        self.last_z.copy_from_slice(z);
        self.last_r.copy_from_slice(residual);
        self.has_last = true;
        self.inverse.mul_vec_into(residual, &mut self.s);
        z.iter_mut().zip(&self.s).for_each(|(z, step)| *z -= step);
        Next::Try
    }

    /// B = (∂g/∂z - I)⁻¹.
    fn learn(&mut self, derivatives: &Matrix) -> Result<(), LinalgError> {
        self.inverse.as_mut_slice().copy_from_slice(derivatives.as_slice());
        (0..self.s.len()).for_each(|i| self.inverse[(i, i)] -= 1.0);
        let done = self.lu.refactor(&self.inverse);
        self.forget();
        done?;
        for j in 0..self.s.len() {
            self.s.fill(0.0);
            self.s[j] = 1.0;
            self.lu.solve_in_place(&mut self.s);
            (0..self.s.len()).for_each(|i| self.inverse[(i, j)] = self.s[i]);
        }
        Ok(())
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.numbers(self.inverse.as_mut_slice());
    }
}

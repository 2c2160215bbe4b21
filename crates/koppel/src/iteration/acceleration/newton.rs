//! Newton's method with derivatives that are kept as long as they serve.
//!
//!   z ← z + (I - G)⁻¹ r,     G = ∂g/∂z
//!
//! G is by derivatives where all members of the loop know theirs, else by differences; it is rebuilt when there is none and when a guess shrinks the residual by less than `SLOW`. A guess that makes the
//! residual larger is taken back by half.

use super::{Acceleration, Next, dot};
use crate::linalg::{LinalgError, Lu, Matrix};
use crate::tape::Tape;

const SLOW: f64 = 0.1;

pub(super) struct Newton {
    /// I - G.
    matrix: Matrix,
    lu: Lu,
    is_known: bool,
    is_new: bool,
    last: f64,
    step: Vec<f64>,
    reuse: bool,
}

impl Newton {
    pub(super) fn new(unknowns: usize, reuse: bool) -> Self {
        Newton {
            matrix: Matrix::zeros(unknowns, unknowns),
            lu: Lu::default(),
            is_known: false,
            is_new: false,
            last: f64::INFINITY,
            step: vec![0.0; unknowns],
            reuse,
        }
    }
}

impl Acceleration for Newton {
    fn begin(&mut self) {
        (self.last, self.is_new) = (f64::INFINITY, false);
        self.is_known &= self.reuse;
    }

    fn next(&mut self, weight: &[f64], z: &mut [f64], residual: &[f64]) -> Next {
        let size = dot(weight, residual, residual).sqrt();
        if !self.is_known || (size > SLOW * self.last && !self.is_new) {
            return Next::Differences;
        }
        (self.last, self.is_new) = (size, false);
        self.step.copy_from_slice(residual);
        self.lu.solve_in_place(&mut self.step);
        z.iter_mut().zip(&self.step).for_each(|(z, step)| *z += step);
        Next::Try
    }

    fn learn(&mut self, derivatives: &Matrix) -> Result<(), LinalgError> {
        let n = self.step.len();
        for i in 0..n {
            for j in 0..n {
                self.matrix[(i, j)] = f64::from(u8::from(i == j)) - derivatives[(i, j)];
            }
        }
        // Factors of a matrix that has none are of no use later.
        self.is_known = false;
        self.lu.refactor(&self.matrix)?;
        (self.is_known, self.is_new) = (true, true);
        Ok(())
    }

    fn is_damped(&self) -> bool {
        true
    }

    fn state(&mut self, tape: &mut Tape<'_>) {
        tape.flag(&mut self.is_known);
        tape.numbers(self.matrix.as_mut_slice());
        if tape.is_reading() {
            self.is_known = self.is_known && self.lu.refactor(&self.matrix).is_ok();
        }
    }
}

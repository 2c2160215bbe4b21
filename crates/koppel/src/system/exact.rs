//! Exact solution of linear models: x(t + h) = Φ x + Σ_j Γ_j c_j for polynomial inputs Σ_j c_j τ^j.
//!
//! Exact to round-off at any step; the matrices are computed once per step size and degree.

use crate::error::Result;
use crate::signal::Piece;
use crate::state_space::{Discrete, StateSpace};

/// How many step sizes are remembered.
const REMEMBERED: usize = 16;

/// The matrices of a linear model, discretised for the steps it has met.
pub(super) struct Exact {
    matrices: StateSpace,
    discrete: Vec<(u64, usize, Discrete)>,
    next: Vec<f64>,
    coefficients: Vec<f64>,
}

impl Exact {
    pub(super) fn new(matrices: StateSpace) -> Self {
        let (next, coefficients) = (vec![0.0; matrices.states()], vec![0.0; matrices.inputs()]);
        Exact { matrices, discrete: Vec::with_capacity(REMEMBERED), next, coefficients }
    }

    /// Moves x over `size`, from `offset` into the piece.
    pub(super) fn advance(&mut self, piece: Piece<'_>, offset: f64, size: f64, x: &mut [f64]) -> Result<()> {
        let at = self.find(size, piece.terms)?;
        let Discrete { transition, inputs } = &self.discrete[at].2;
        transition.mul_vec_into(x, &mut self.next);
        for (j, gamma) in inputs.iter().enumerate() {
            for (i, c) in self.coefficients.iter_mut().enumerate() {
                *c = if offset == 0.0 { piece.of(i)[j] } else { shifted(piece.of(i), j, offset) };
            }
            gamma.mul_vec_add(&self.coefficients, &mut self.next);
        }
        x.copy_from_slice(&self.next);
        Ok(())
    }

    /// Where the matrices for this size and degree are; computed if new.
    fn find(&mut self, size: f64, terms: usize) -> Result<usize> {
        let key = rounded(size);
        let known = self.discrete.iter().position(|(k, t, _)| *k == key && *t == terms);
        if let Some(at) = known {
            return Ok(at);
        }
        if self.discrete.len() == REMEMBERED {
            self.discrete.remove(0);
        }
        let discrete = self.matrices.discretize(f64::from_bits(key), terms)?;
        self.discrete.push((key, terms, discrete));
        Ok(self.discrete.len() - 1)
    }
}

/// Sizes that differ by round-off share their matrices: the last 4 bits (2e-15 relative) are rounded away.
fn rounded(size: f64) -> u64 {
    (size.to_bits() + 0x8) & !0xf
}

/// Coefficient j of the polynomial p(τ + offset).
fn shifted(coefficients: &[f64], j: usize, offset: f64) -> f64 {
    let (mut binomial, mut power, mut sum) = (1.0, 1.0, 0.0);
    for (k, c) in coefficients.iter().enumerate().skip(j) {
        sum += c * binomial * power;
        power *= offset;
        binomial *= (k + 1) as f64 / (k + 1 - j) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifting_a_polynomial() {
        let c = [1.0, -2.0, 0.5, 3.0];
        let at = |t: f64| c[0] + c[1] * t + c[2] * t * t + c[3] * t * t * t;
        let s: Vec<f64> = (0..4).map(|j| shifted(&c, j, 0.7)).collect();
        let t = 0.3;
        let again = s[0] + s[1] * t + s[2] * t * t + s[3] * t * t * t;
        assert!((again - at(1.0)).abs() < 1e-14);
    }
}

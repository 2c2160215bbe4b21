//! Inputs over a step, as importers give them: a value and derivatives, or values at points inside the step.

use serde::{Deserialize, Serialize};

/// Coefficients per input.
pub(crate) const TERMS: usize = koppel::signal::external::COEFFICIENTS;

/// Points inside a step at which inputs are asked for.
pub(crate) const NODES: usize = 4;

/// u(τ) = Σ_j c_j τ^j, τ counted from the start of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Polynomial {
    pub(crate) coefficients: [f64; TERMS],
}

impl Polynomial {
    pub(crate) fn constant(value: f64) -> Self {
        let mut polynomial = Polynomial::default();
        polynomial.coefficients[0] = value;
        polynomial
    }

    /// Value at the start of the step.
    pub(crate) fn now(&self) -> f64 {
        self.coefficients[0]
    }

    /// Derivative of one order at the start of the step.
    pub(crate) fn set_derivative(&mut self, order: usize, value: f64) {
        let factorial: f64 = (1..=order).map(|n| n as f64).product();
        self.coefficients[order] = value / factorial;
    }

    pub(crate) fn terms(&self) -> usize {
        self.coefficients.iter().rposition(|c| *c != 0.0).map_or(1, |last| last + 1)
    }

    pub(crate) fn value(&self, tau: f64) -> f64 {
        self.coefficients[..self.terms()].iter().rev().fold(0.0, |sum, c| sum * tau + c)
    }

    /// The cubic through values at the start, at one and two thirds, and at the end of a step (Newton's forward
    /// differences; a difference of exactly zero stays one, so a constant stays a constant).
    pub(crate) fn through(values: [f64; NODES], size: f64) -> Self {
        let [a, b, c, d] = values;
        let (d1, d2, d3) = (b - a, c - 2.0 * b + a, d - 3.0 * c + 3.0 * b - a);
        let h = size / (NODES - 1) as f64;
        let mut polynomial = Polynomial::constant(a);
        polynomial.coefficients[1] = (d1 - d2 / 2.0 + d3 / 3.0) / h;
        polynomial.coefficients[2] = (d2 / 2.0 - d3 / 2.0) / (h * h);
        polynomial.coefficients[3] = d3 / 6.0 / (h * h * h);
        polynomial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_is_found_again() {
        let exact = |t: f64| 1.0 - 2.0 * t + 0.5 * t * t + 3.0 * t * t * t;
        let values = [0.0, 0.1, 0.2, 0.3].map(exact);
        let found = Polynomial::through(values, 0.3);
        for t in [0.0, 0.05, 0.17, 0.3] {
            assert!((found.value(t) - exact(t)).abs() < 1e-13);
        }
        assert_eq!(Polynomial::through([2.5; NODES], 0.1), Polynomial::constant(2.5));
    }

    #[test]
    fn derivatives_become_coefficients() {
        let mut polynomial = Polynomial::constant(1.0);
        polynomial.set_derivative(2, 4.0);
        assert_eq!(polynomial.value(3.0), 1.0 + 2.0 * 9.0);
        assert_eq!(polynomial.terms(), 3);
    }
}

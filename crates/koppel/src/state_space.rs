//! Linear time-invariant systems x' = A x + B u, y = C x + D u.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, expm};
use serde::{Deserialize, Serialize};

/// The four matrices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateSpace {
    /// States on states.
    pub a: Matrix,
    /// Inputs on states.
    pub b: Matrix,
    /// States on outputs.
    pub c: Matrix,
    /// Inputs on outputs.
    pub d: Matrix,
}

impl StateSpace {
    /// Checks the shapes and that every entry is finite; `name` is the subsystem's, for the message.
    pub fn new(name: &str, a: Matrix, b: Matrix, c: Matrix, d: Matrix) -> Result<Self> {
        let (n, m, p) = (a.rows(), b.cols(), c.rows());
        let checks: [(&'static str, &Matrix, usize, usize, &'static str); 4] = [
            ("A", &a, n, n, "A is square"),
            ("B", &b, n, m, "as many rows as A"),
            ("C", &c, p, n, "as many columns as A"),
            ("D", &d, p, m, "rows of C, columns of B"),
        ];
        for (matrix, found, rows, cols, reason) in checks {
            if (found.rows(), found.cols()) != (rows, cols) {
                return Err(Error::MatrixShape {
                    subsystem: name.to_owned(),
                    matrix,
                    found_rows: found.rows(),
                    found_cols: found.cols(),
                    rows,
                    cols,
                    reason,
                }
                .into());
            }
            if let Some(value) = found.as_slice().iter().find(|v| !v.is_finite()) {
                return Err(Error::NotFinite { place: format!("{name}.{matrix}"), value: *value }.into());
            }
        }
        Ok(StateSpace { a, b, c, d })
    }

    /// y = D u, without states.
    pub fn gain(d: Matrix) -> Self {
        let (p, m) = (d.rows(), d.cols());
        StateSpace { a: Matrix::zeros(0, 0), b: Matrix::zeros(0, m), c: Matrix::zeros(p, 0), d }
    }

    /// Becomes a copy of another model, without allocation if it is no larger than those before.
    pub(crate) fn copy_from(&mut self, other: &StateSpace) {
        self.a.copy_from(&other.a);
        self.b.copy_from(&other.b);
        self.c.copy_from(&other.c);
        self.d.copy_from(&other.d);
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.a.rows()
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.b.cols()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.c.rows()
    }

    /// The exact solution over `size` for inputs u(τ) = Σ_j c_j τ^j with `terms` coefficients.
    ///
    /// One exponential of the augmented matrix
    ///
    ///   M = [[A h, B h, 0], [0, 0, I], [0, 0, 0]]  (one block row per power, time counted in steps)
    ///
    /// holds in its top row e^{A h} and h^{-j} ∫ e^{A(h-τ)} B τ^j / j! dτ. Counting in steps keeps the blocks alike in
    /// size, so that high powers lose no digits.
    pub fn discretize(&self, size: f64, terms: usize) -> Result<Discrete> {
        let (n, m) = (self.states(), self.inputs());
        let mut augmented = Matrix::zeros(n + m * terms, n + m * terms);
        augmented.set_block(0, 0, &(&self.a * size));
        augmented.set_block(0, n, &(&self.b * size));
        for j in 1..terms {
            augmented.set_block(n + (j - 1) * m, n + j * m, &Matrix::identity(m));
        }
        let exponential = expm(&augmented).map_err(|source| Error::Linalg {
            what: format!("exact discretisation with step {size}"),
            source,
        })?;
        let transition = exponential.block(0, 0, n, n);
        let mut factor = 1.0;
        let inputs = (0..terms)
            .map(|j| {
                if j > 0 {
                    factor *= j as f64 * size;
                }
                &exponential.block(0, n + j * m, n, m) * factor
            })
            .collect();
        Ok(Discrete { transition, inputs })
    }
}

/// x(h) = Φ x(0) + Σ_j Γ_j c_j for an input Σ_j c_j τ^j.
#[derive(Clone, Debug)]
pub struct Discrete {
    /// Φ.
    pub transition: Matrix,
    /// Γ_0, Γ_1, ...
    pub inputs: Vec<Matrix>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrator_of_a_polynomial_is_its_integral() {
        let one = Matrix::identity(1);
        let zero = Matrix::zeros(1, 1);
        let system = StateSpace::new("i", zero.clone(), one.clone(), one, zero).unwrap();
        let discrete = system.discretize(0.5, 4).unwrap();
        for (j, gamma) in discrete.inputs.iter().enumerate() {
            let exact = 0.5_f64.powi(j as i32 + 1) / (j as f64 + 1.0);
            assert!((gamma[(0, 0)] - exact).abs() < 1e-15, "power {j}");
        }
    }

    #[test]
    fn high_powers_lose_no_digits() {
        let one = Matrix::identity(1);
        let system = StateSpace::new("pt1", &one * -1.0, one.clone(), one, Matrix::zeros(1, 1)).unwrap();
        let size: f64 = 1e-3;
        let discrete = system.discretize(size, 8).unwrap();
        // ∫ e^{-(h-τ)} τ^j dτ = h^{j+1}/(j+1) (1 - h/(j+2) + h²/((j+2)(j+3)) - ...)
        for (j, gamma) in discrete.inputs.iter().enumerate() {
            let j = j as f64;
            let series = 1.0 - size / (j + 2.0) + size * size / ((j + 2.0) * (j + 3.0));
            let exact = size.powf(j + 1.0) / (j + 1.0) * series;
            assert!((gamma[(0, 0)] / exact - 1.0).abs() < 1e-9, "power {j}");
        }
    }

    #[test]
    fn wrong_shapes_are_named() {
        let error = StateSpace::new(
            "left",
            Matrix::zeros(2, 2),
            Matrix::zeros(1, 1),
            Matrix::zeros(1, 2),
            Matrix::zeros(1, 1),
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "subsystem `left`: matrix B is 1x1, expected 2x1 (as many rows as A)");
    }
}

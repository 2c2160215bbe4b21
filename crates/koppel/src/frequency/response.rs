//! Responses of linear subsystems to oscillations, as complex matrices.

use crate::error::{Error, Result};
use crate::linalg::{Complex, Matrix, solve, svd};
use crate::system::StateSpace;

/// A small complex matrix: real and imaginary part.
#[derive(Clone, Debug, PartialEq)]
pub struct ComplexMatrix {
    /// Real parts.
    pub re: Matrix,
    /// Imaginary parts.
    pub im: Matrix,
}

/// C (s - A)⁻¹ B + D, from a real system of twice the size.
pub fn response(system: &StateSpace, s: Complex) -> Result<ComplexMatrix> {
    let (n, m) = (system.states(), system.inputs());
    let mut matrix = Matrix::zeros(2 * n, 2 * n);
    let shifted = &(&Matrix::identity(n) * s.re) - &system.a;
    matrix.set_block(0, 0, &shifted);
    matrix.set_block(n, n, &shifted);
    matrix.set_block(0, n, &(&Matrix::identity(n) * -s.im));
    matrix.set_block(n, 0, &(&Matrix::identity(n) * s.im));
    let mut b = Matrix::zeros(2 * n, m);
    b.set_block(0, 0, &system.b);
    let x = solve(&matrix, &b).map_err(|source| Error::Linalg {
        what: format!("response of a subsystem at {} rad/s", s.im),
        source,
    })?;
    let re = &(&system.c * &x.block(0, 0, n, m)) + &system.d;
    Ok(ComplexMatrix { re, im: &system.c * &x.block(n, 0, n, m) })
}

impl ComplexMatrix {
    /// One entry.
    pub fn at(&self, row: usize, col: usize) -> Complex {
        Complex::new(self.re[(row, col)], self.im[(row, col)])
    }

    /// The product.
    pub fn times(&self, other: &ComplexMatrix) -> ComplexMatrix {
        ComplexMatrix {
            re: &(&self.re * &other.re) - &(&self.im * &other.im),
            im: &(&self.re * &other.im) + &(&self.im * &other.re),
        }
    }

    /// Times a number.
    pub fn scaled(&self, factor: Complex) -> ComplexMatrix {
        ComplexMatrix {
            re: &(&self.re * factor.re) - &(&self.im * factor.im),
            im: &(&self.re * factor.im) + &(&self.im * factor.re),
        }
    }

    /// Identity minus this.
    pub fn from_one(&self) -> ComplexMatrix {
        ComplexMatrix { re: &Matrix::identity(self.re.rows()) - &self.re, im: -&self.im }
    }

    /// Largest and smallest singular value.
    pub fn gains(&self) -> Result<(f64, f64)> {
        let (rows, cols) = (self.re.rows(), self.re.cols());
        let mut real = Matrix::zeros(2 * rows, 2 * cols);
        real.set_block(0, 0, &self.re);
        real.set_block(rows, cols, &self.re);
        real.set_block(0, cols, &-&self.im);
        real.set_block(rows, 0, &self.im);
        let values = svd(&real).map_err(|source| Error::Linalg { what: "gain of a loop".into(), source })?.s;
        Ok((values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0)))
    }

    /// The determinant of a square matrix, by elimination.
    pub fn determinant(&self) -> Complex {
        let n = self.re.rows();
        let mut a: Vec<Vec<Complex>> = (0..n).map(|i| (0..n).map(|j| self.at(i, j)).collect()).collect();
        let mut product = Complex::ONE;
        for k in 0..n {
            let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap_or(k);
            if a[pivot][k].abs() == 0.0 {
                return Complex::ZERO;
            }
            if pivot != k {
                a.swap(pivot, k);
                product = -product;
            }
            product = product * a[k][k];
            let (above, below) = a.split_at_mut(k + 1);
            for row in below {
                let factor = row[k] / above[k][k];
                row.iter_mut().zip(&above[k]).for_each(|(entry, known)| *entry = *entry - factor * *known);
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oscillator_answers_as_its_formula_says() {
        // 1/(s² + 0.4 s + 9)
        let system = StateSpace {
            a: Matrix::from_slice(2, 2, &[0.0, 1.0, -9.0, -0.4]),
            b: Matrix::from_slice(2, 1, &[0.0, 1.0]),
            c: Matrix::from_slice(1, 2, &[1.0, 0.0]),
            d: Matrix::zeros(1, 1),
        };
        for omega in [0.0, 1.0, 3.0, 20.0] {
            let s = Complex::imaginary(omega);
            let exact = Complex::ONE / (s * s + s * 0.4 + Complex::from(9.0));
            assert!((response(&system, s).unwrap().at(0, 0) - exact).abs() < 1e-14);
        }
    }

    #[test]
    fn determinants_and_gains_by_hand() {
        let re = Matrix::from_slice(2, 2, &[0.0, 1.0, 2.0, 0.0]);
        let im = Matrix::from_slice(2, 2, &[0.0, 1.0, 0.0, 3.0]);
        let matrix = ComplexMatrix { re, im };
        // 0 · 3i - (1 + i) · 2
        assert!((matrix.determinant() - Complex::new(-2.0, -2.0)).abs() < 1e-15);
        let (large, small) = matrix.gains().unwrap();
        assert!((large * small - 8_f64.sqrt()).abs() < 1e-14);
    }
}

//! Balancing: a diagonal similarity that makes rows and columns of like size.
//!
//!   B = D⁻¹ A D,     ‖row i of B‖₂ ≈ ‖column i of B‖₂                              (1)
//!
//! D holds powers of two, so B is exact unless an entry overflows or underflows. James, Langou &
//! Lowery 2014: norms include the diagonal, so balancing does not blow up rounding
//! errors of a matrix that is already nearly triangular. Differs in: no permutation.

use super::error::check_square_finite;
use super::{Matrix, Result};

/// A balanced matrix B = D⁻¹ A D.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balanced {
    /// The diagonal of D, powers of two.
    pub scales: Vec<f64>,
    /// B.
    pub matrix: Matrix,
}

impl Balanced {
    /// D X D⁻¹: takes a function of B back to the same function of A.
    pub fn undo(&self, x: &Matrix) -> Matrix {
        let d = &self.scales;
        Matrix::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] * d[i] / d[j])
    }

    /// The same in place.
    pub(crate) fn undo_in_place(&self, x: &mut Matrix) {
        if self.scales.iter().all(|scale| *scale == 1.0) {
            return;
        }
        for (i, d) in self.scales.iter().enumerate() {
            for (x, other) in x.row_mut(i).iter_mut().zip(&self.scales) {
                *x = *x * d / other;
            }
        }
    }

    /// Balances another square matrix, without allocation if it is no larger than those before.
    pub(crate) fn renew(&mut self, a: &Matrix) -> Result<()> {
        check_square_finite("the matrix to balance", a)?;
        self.matrix.copy_from(a);
        self.scales.clear();
        self.scales.resize(a.rows(), 1.0);
        for _ in 0..MAX_SWEEPS {
            let mut changed = 0;
            for i in 0..a.rows() {
                changed += usize::from(self.balance_index(i));
            }
            if changed == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Balances a square matrix.
pub fn balance(a: &Matrix) -> Result<Balanced> {
    let mut balanced = Balanced::default();
    balanced.renew(a)?;
    Ok(balanced)
}

/// Each change shrinks the norm; stopping early only leaves the matrix less balanced.
const MAX_SWEEPS: usize = 100;

/// A change must shrink the norms of row and column together by this factor.
const WORTHWHILE: f64 = 0.95;

/// Scales stay within 2^±MAX_EXPONENT, so that the ratio of two does not overflow.
const MAX_EXPONENT: f64 = 500.0;

impl Balanced {
    /// Scales row and column i to like norm; whether anything changed.
    fn balance_index(&mut self, i: usize) -> bool {
        let row = norm_2(self.matrix.row(i).iter().copied());
        let col = norm_2((0..self.matrix.rows()).map(|k| self.matrix[(k, i)]));
        // Within a factor of two the exponent below is zero.
        if row == 0.0 || col == 0.0 || (row < 2.0 * col && col < 2.0 * row) {
            return false;
        }
        let exponent = ((row.log2() - col.log2()) / 2.0).round();
        let exponent = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
        let scale = exponent.exp2();
        let total = self.scales[i] * scale;
        let limit = MAX_EXPONENT.exp2();
        let worthwhile = col * scale + row / scale < WORTHWHILE * (col + row);
        if !worthwhile || !(1.0 / limit..=limit).contains(&total) {
            return false;
        }
        self.scales[i] = total;
        self.scale_index(i, scale);
        true
    }

    fn scale_index(&mut self, i: usize, scale: f64) {
        for k in 0..self.matrix.rows() {
            if k != i {
                self.matrix[(k, i)] *= scale;
                self.matrix[(i, k)] /= scale;
            }
        }
    }
}

/// The Euclidean norm, free of overflow.
fn norm_2(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let squares: f64 = values.clone().map(|value| value * value).sum();
    // What underflows beside a sum of this size is below round-off.
    if squares > 1e-250 && squares < f64::MAX { squares.sqrt() } else { values.fold(0.0, f64::hypot) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badly_scaled_symmetric_matrix_is_found_again() {
        let symmetric = Matrix::from_slice(3, 3, &[2.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 4.0]);
        let d = [2_f64.powi(-20), 1.0, 2_f64.powi(23)];
        let skewed = Matrix::from_fn(3, 3, |i, j| symmetric[(i, j)] * d[i] / d[j]);
        let balanced = balance(&skewed).unwrap();
        assert!(balanced.matrix.norm_1() < 2.0 * symmetric.norm_1());
        assert_eq!(balanced.undo(&balanced.matrix), skewed, "exact similarity");
    }

    #[test]
    fn reducible_and_zero_matrices_end() {
        let nilpotent = Matrix::from_slice(2, 2, &[0.0, 1e6, 0.0, 0.0]);
        assert_eq!(balance(&nilpotent).unwrap().matrix, nilpotent);
        let triangular = Matrix::from_slice(2, 2, &[1.0, 1e200, 0.0, -1.0]);
        assert!(balance(&triangular).unwrap().matrix.norm_1() < 1e3);
        let extreme = Matrix::from_slice(2, 2, &[0.0, 1e308, 1e-308, 0.0]);
        assert!(balance(&extreme).unwrap().matrix.is_finite());
    }
}

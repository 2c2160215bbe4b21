//! The Moore–Penrose pseudoinverse, by one-sided Jacobi rotations, in place.
//!
//!   W = Vᵀ Aᵀ with orthogonal rows w_i,     s_i = ‖w_i‖,     A⁺ = Σ_i v_i w_iᵀ / s_i²                       (1)
//!
//! over the singular values s_i above the cutoff. Pairs of rows of Aᵀ (of A if it is wide) are rotated until all are
//! orthogonal; V gathers the rotations. Small matrices, once per step and subsystem: nothing is allocated once the shapes
//! are known, and singular values are found to full relative accuracy. Hestenes 1958; Demmel & Veselić 1992.

use super::error::{check_finite, check_not_negative};
use super::lu::reciprocal_power_of_two;
use super::ops::dot;
use super::rotation::{orthogonalizing, turn, two_rows};
use super::{LinalgError, Matrix, Result};

/// The Moore–Penrose pseudoinverse; singular values up to `relative_cutoff` · s_max count as zero.
pub fn pinv(a: &Matrix, relative_cutoff: f64) -> Result<Matrix> {
    let mut inverse = Matrix::default();
    PseudoInverse::default().of(a, relative_cutoff, &mut inverse)?;
    Ok(inverse)
}

/// Room to find pseudoinverses in.
#[derive(Clone, Debug, Default)]
pub(crate) struct PseudoInverse {
    /// Rows w_i.
    w: Matrix,
    /// Rows v_i.
    v: Matrix,
}

/// Each sweep squares the distance to orthogonality; five or six are usual.
const MAX_SWEEPS: usize = 60;

impl PseudoInverse {
    /// Writes A⁺; singular values up to `relative_cutoff` · s_max count as zero.
    pub(crate) fn of(&mut self, a: &Matrix, relative_cutoff: f64, out: &mut Matrix) -> Result<()> {
        check_not_negative("the relative cutoff", relative_cutoff)?;
        check_finite("the matrix of the pseudoinverse", a)?;
        let scale = reciprocal_power_of_two(a.max_abs());
        let is_wide = a.rows() < a.cols();
        self.load(a, is_wide, scale);
        self.rotate()?;
        out.reshape(a.cols(), a.rows());
        let largest = (0..self.w.rows()).map(|i| norm(self.w.row(i))).fold(0.0, f64::max);
        for i in 0..self.w.rows() {
            let (w, v) = (self.w.row(i), self.v.row(i));
            let s = norm(w);
            if s <= relative_cutoff * largest || s == 0.0 {
                continue;
            }
            for (j, v) in v.iter().enumerate() {
                let factor = v / s * scale;
                for (k, w) in w.iter().enumerate() {
                    let at = if is_wide { (k, j) } else { (j, k) };
                    out[at] += factor * (w / s);
                }
            }
        }
        check_finite("the pseudoinverse", out)
    }

    /// The rows of Aᵀ, or of A if it is wide, at size one, and V = I.
    fn load(&mut self, a: &Matrix, is_wide: bool, scale: f64) {
        if is_wide {
            self.w.copy_from(a);
        } else {
            self.w.reshape(a.cols(), a.rows());
            for i in 0..a.rows() {
                for (j, value) in a.row(i).iter().enumerate() {
                    self.w[(j, i)] = *value;
                }
            }
        }
        self.w.as_mut_slice().iter_mut().for_each(|value| *value *= scale);
        self.v.set_identity(self.w.rows());
    }

    /// Rotates pairs of rows until all are orthogonal.
    fn rotate(&mut self) -> Result<()> {
        let count = self.w.rows();
        for _ in 0..MAX_SWEEPS {
            let mut is_done = true;
            for j in 1..count {
                for i in 0..j {
                    let (a, b) = two_rows(&mut self.w, i, j);
                    let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
                    // Rows of 1e-150 beside one of size one are zero for all purposes, and their squares underflow.
                    if ab.abs() <= f64::EPSILON * (aa * bb).sqrt() || aa.min(bb) < 1e-300 {
                        continue;
                    }
                    is_done = false;
                    let rotation = orthogonalizing(aa, bb, ab);
                    turn(a, b, rotation);
                    let (a, b) = two_rows(&mut self.v, i, j);
                    turn(a, b, rotation);
                }
            }
            if is_done {
                return Ok(());
            }
        }
        Err(LinalgError::NoConvergence { what: "the pseudoinverse" })
    }
}

fn norm(row: &[f64]) -> f64 {
    dot(row, row).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::svd;

    /// Against the decomposition of another implementation, for all shapes and ranks.
    #[test]
    fn agrees_with_the_singular_value_decomposition() {
        let mut work = PseudoInverse::default();
        let mut number = 7_u32;
        let mut random = || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(number >> 8) / f64::from(1 << 24) - 0.5
        };
        for (rows, cols, rank) in
            [(1, 1, 1), (3, 3, 3), (3, 3, 2), (5, 2, 2), (2, 5, 1), (6, 4, 3), (4, 4, 0)]
        {
            let (left, right) =
                (Matrix::from_fn(rows, rank, |_, _| random()), Matrix::from_fn(rank, cols, |_, _| random()));
            for unit in [1.0, 1e-200, 1e150] {
                let a = &(&left * &right) * unit;
                let mut seen = Matrix::default();
                work.of(&a, 1e-12, &mut seen).unwrap();
                let parts = svd(&a).unwrap();
                let inverse = |s: &f64| if *s > 1e-12 * parts.largest() { unit / s } else { 0.0 };
                let inverse: Vec<f64> = parts.s.iter().map(inverse).collect();
                let truth = &(&parts.v * &Matrix::diagonal(&inverse)) * &parts.u.transpose();
                let error = (&(&seen * unit) - &truth).max_abs();
                assert!(error <= 1e-12 * truth.max_abs(), "{rows}×{cols} of rank {rank}: {error:e}");
            }
        }
    }
}

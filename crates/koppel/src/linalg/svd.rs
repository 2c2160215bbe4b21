//! Singular values, and what is computed with them: rank, pseudoinverse, least squares.
//!
//!   A = U S Vᵀ,     A⁺ = V S⁺ Uᵀ                                                   (1)
//!
//! with S⁺ = 1/s for each singular value s above `relative_cutoff` · s_max, and 0 below. The
//! factorisation is faer's, run in one thread on A scaled by a power of two to size one.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::{Mat, MatRef, Par};

use super::error::{check_finite, check_not_negative, check_rows};
use super::lu::reciprocal_power_of_two;
use super::{LinalgError, Matrix, Result};

/// The least-squares solution X that minimises ‖A X − B‖² + `ridge` ‖X‖² (Frobenius norms).
///
/// With `ridge` = 0, the X of smallest norm among the minimisers, with [`default_cutoff`].
pub fn least_squares(a: &Matrix, b: &Matrix, ridge: f64) -> Result<Matrix> {
    check_not_negative("the ridge", ridge)?;
    check_rows("the right-hand side", b, a.rows())?;
    check_finite("the right-hand side", b)?;
    let svd = svd(a)?;
    let cutoff = if ridge > 0.0 { 0.0 } else { default_cutoff(a) * svd.largest() };
    // s / (s² + ridge), written so that s² cannot overflow.
    let x = svd.apply_inverse(cutoff, |s| 1.0 / (s + ridge / s), b);
    check_finite("the least-squares solution", &x)?;
    Ok(x)
}

/// The number of singular values above `relative_cutoff` · s_max.
pub fn rank(a: &Matrix, relative_cutoff: f64) -> Result<usize> {
    check_not_negative("the relative cutoff", relative_cutoff)?;
    let svd = svd(a)?;
    let cutoff = relative_cutoff * svd.largest();
    Ok(svd.s.iter().filter(|&&s| s > cutoff).count())
}

/// The usual relative cutoff, max(rows, cols) · ε: what rounding makes of a zero singular value.
pub fn default_cutoff(a: &Matrix) -> f64 {
    a.rows().max(a.cols()) as f64 * f64::EPSILON
}

/// A thin singular value decomposition A = U diag(s) Vᵀ, with k = min(rows, cols).
#[derive(Clone, Debug, PartialEq)]
pub struct Svd {
    /// Left singular vectors, rows × k.
    pub u: Matrix,
    /// Singular values, largest first.
    pub s: Vec<f64>,
    /// Right singular vectors, cols × k (not transposed).
    pub v: Matrix,
}

/// The thin singular value decomposition.
pub fn svd(a: &Matrix) -> Result<Svd> {
    check_finite("the matrix of the singular value decomposition", a)?;
    let scale = reciprocal_power_of_two(a.max_abs());
    let unit = a * scale;
    let mut svd = thin_svd(&unit)?;
    for s in &mut svd.s {
        *s /= scale;
        if !s.is_finite() {
            let what = "the largest singular value";
            return Err(LinalgError::NonFinite { what });
        }
    }
    Ok(svd)
}

fn thin_svd(a: &Matrix) -> Result<Svd> {
    let (rows, cols) = (a.rows(), a.cols());
    let size = rows.min(cols);
    let mut u = Mat::<f64>::zeros(rows, size);
    let mut v = Mat::<f64>::zeros(cols, size);
    let mut s = Diag::<f64>::zeros(size);
    let thin = ComputeSvdVectors::Thin;
    let scratch = svd_scratch::<f64>(rows, cols, thin, thin, Par::Seq, Default::default());
    faer_svd(
        to_faer(a),
        s.as_mut(),
        Some(u.as_mut()),
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| LinalgError::NoConvergence { what: "the singular value decomposition" })?;
    Ok(Svd { u: from_faer(&u), s: s.column_vector().iter().copied().collect(), v: from_faer(&v) })
}

impl Svd {
    /// The largest singular value, the 2-norm of A; 0 if empty.
    pub fn largest(&self) -> f64 {
        self.s.first().copied().unwrap_or(0.0)
    }

    /// V diag(f(s)) Uᵀ B, without the singular values up to `cutoff`.
    fn apply_inverse(&self, cutoff: f64, f: impl Fn(f64) -> f64, b: &Matrix) -> Matrix {
        let mut coefficients = &self.u.transpose() * b;
        for (i, &s) in self.s.iter().enumerate() {
            let factor = if s > cutoff { f(s) } else { 0.0 };
            coefficients.row_mut(i).iter_mut().for_each(|c| *c *= factor);
        }
        &self.v * &coefficients
    }
}

/// A view of the matrix for faer.
pub(super) fn to_faer(a: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a.as_slice(), a.rows(), a.cols())
}

/// A copy of a matrix of faer.
pub(super) fn from_faer(a: &Mat<f64>) -> Matrix {
    Matrix::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singular_values_by_hand() {
        let a = Matrix::from_slice(2, 2, &[3.0, 0.0, 4.0, 5.0]);
        let svd = svd(&a).unwrap();
        assert!((svd.s[0] - 45_f64.sqrt()).abs() < 1e-14);
        assert!((svd.s[1] - 5_f64.sqrt()).abs() < 1e-14);
        let product = &(&svd.u * &Matrix::diagonal(&svd.s)) * &svd.v.transpose();
        assert!((&product - &a).max_abs() < 1e-14);
    }

    #[test]
    fn extreme_sizes_neither_overflow_nor_vanish() {
        for size in [1e-300, 1e300] {
            let a = Matrix::from_slice(2, 2, &[3.0, 0.0, 4.0, 5.0]);
            let svd = svd(&(&a * size)).unwrap();
            assert!((svd.s[1] / size - 5_f64.sqrt()).abs() < 1e-14, "{size:e}");
        }
    }

    #[test]
    fn rank_counts_up_to_the_cutoff() {
        let a = Matrix::diagonal(&[1.0, 1e-3, 1e-9, 0.0]);
        assert_eq!(rank(&a, default_cutoff(&a)).unwrap(), 3);
        assert_eq!(rank(&a, 1e-6).unwrap(), 2);
        assert_eq!(rank(&Matrix::zeros(3, 2), 0.0).unwrap(), 0);
    }

    #[test]
    fn ridge_shrinks_as_its_formula_says() {
        let a = Matrix::diagonal(&[2.0, 0.0]);
        let b = Matrix::from_slice(2, 1, &[2.0, 1.0]);
        assert!((least_squares(&a, &b, 0.0).unwrap()[(0, 0)] - 1.0).abs() < 1e-15);
        let ridged = least_squares(&a, &b, 4.0).unwrap();
        assert!((ridged[(0, 0)] - 0.5).abs() < 1e-15);
        assert_eq!(ridged[(1, 0)], 0.0);
        assert!(matches!(least_squares(&a, &b, -1.0), Err(LinalgError::OutOfRange { .. })));
    }
}

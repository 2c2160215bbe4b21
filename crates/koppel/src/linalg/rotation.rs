//! Plane rotations of two rows, for one-sided Jacobi methods.

use super::Matrix;

/// Cosine and sine of the smaller rotation that makes rows with the products ‖a‖², ‖b‖² and a·b ≠ 0 orthogonal (Golub & Van Loan
/// 2013, 8.5.2).
pub(crate) fn orthogonalizing(aa: f64, bb: f64, ab: f64) -> (f64, f64) {
    let zeta = (bb - aa) / (2.0 * ab);
    let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    (c, c * t)
}

/// Rotates two rows.
pub(crate) fn turn(a: &mut [f64], b: &mut [f64], (c, s): (f64, f64)) {
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
    }
}

/// Rows i < j.
pub(crate) fn two_rows(matrix: &mut Matrix, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
    let cols = matrix.cols();
    let (upper, lower) = matrix.as_mut_slice().split_at_mut(j * cols);
    (&mut upper[i * cols..][..cols], &mut lower[..cols])
}

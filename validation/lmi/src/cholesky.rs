//! A = L Lᵀ of small symmetric matrices.

use koppel::linalg::Matrix;

/// L, or nothing if A is not positive definite.
pub(crate) fn factor(a: &Matrix) -> Option<Matrix> {
    let n = a.rows();
    let mut l = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
            let rest = a[(i, j)] - known;
            if i > j {
                l[(i, j)] = rest / l[(j, j)];
            } else if rest > 0.0 && rest.is_finite() {
                l[(i, i)] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(l)
}

/// L⁻¹ of a lower triangle.
pub(crate) fn invert(l: &Matrix) -> Matrix {
    let n = l.rows();
    let mut inverse = Matrix::zeros(n, n);
    for j in 0..n {
        inverse[(j, j)] = 1.0 / l[(j, j)];
        for i in j + 1..n {
            let sum: f64 = (j..i).map(|k| l[(i, k)] * inverse[(k, j)]).sum();
            inverse[(i, j)] = -sum / l[(i, i)];
        }
    }
    inverse
}

/// The solution of L Lᵀ x = b.
pub(crate) fn solve(l: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = l.rows();
    let mut x = b.to_vec();
    for i in 0..n {
        let known: f64 = (0..i).map(|k| l[(i, k)] * x[k]).sum();
        x[i] = (x[i] - known) / l[(i, i)];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| l[(k, i)] * x[k]).sum();
        x[i] = (x[i] - known) / l[(i, i)];
    }
    x
}

/// ln det A of A = L Lᵀ.
pub(crate) fn log_det(l: &Matrix) -> f64 {
    (0..l.rows()).map(|i| 2.0 * l[(i, i)].ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_solve_invert_and_refuse() {
        let a = Matrix::from_slice(3, 3, &[4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0]);
        let l = factor(&a).unwrap();
        assert!((&(&l * &l.transpose()) - &a).max_abs() < 1e-14);
        assert!((&(&l * &invert(&l)) - &Matrix::identity(3)).max_abs() < 1e-14);
        let x = solve(&l, &a.mul_vec(&[1.0, -2.0, 3.0]));
        assert!(x.iter().zip([1.0, -2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-13));
        // Determinant by hand: 4 (15 - 0.25) - 2 (6 + 0.5) - (1 + 5).
        assert!((log_det(&l) - 40_f64.ln()).abs() < 1e-13);
        assert!(factor(&Matrix::from_slice(2, 2, &[1.0, 2.0, 2.0, 1.0])).is_none());
    }
}

//! Linear algebra against closed forms, high-precision references and identities.
//!
//! Unless said otherwise an error is the largest entry of the difference over the largest entry
//! of the reference, and a tolerance is a small multiple of ε times the condition of the problem.

mod contract;
mod decompositions;
mod exponential;

use koppel::linalg::{Complex, Matrix};
use proptest::collection::vec;
use proptest::prelude::*;

const EPS: f64 = f64::EPSILON;

#[track_caller]
fn assert_close(found: &Matrix, expected: &Matrix, tolerance: f64) {
    let error = relative_error(found, expected);
    assert!(
        error <= tolerance,
        "error {error:.1e} > {tolerance:.1e}\nfound {found:?}\nexpected {expected:?}"
    );
}

fn relative_error(found: &Matrix, expected: &Matrix) -> f64 {
    (found - expected).max_abs() / expected.max_abs().max(f64::MIN_POSITIVE)
}

/// A square matrix with entries in ±`size`.
fn square(n: std::ops::Range<usize>, size: f64) -> impl Strategy<Value = Matrix> {
    n.prop_flat_map(move |n| {
        vec(-size..size, n * n).prop_map(move |entries| Matrix::from_slice(n, n, &entries))
    })
}

/// Numbers spread evenly over the decades 10^±`decades`.
fn decades(n: usize, decades: f64) -> impl Strategy<Value = Vec<f64>> {
    vec((-decades..decades).prop_map(|e| 10_f64.powf(e)), n)
}

/// The Householder reflection I − 2 v vᵀ / vᵀv: symmetric and orthogonal.
fn reflection(v: &[f64]) -> Matrix {
    let square: f64 = v.iter().map(|x| x * x).sum();
    Matrix::from_fn(v.len(), v.len(), |i, j| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square)
}

/// The companion matrix of Π (x − rᵢ), whose eigenvectors are (1, r, r², …).
fn companion(roots: &[Complex]) -> Matrix {
    let n = roots.len();
    let mut coefficients = vec![Complex { re: 1.0, im: 0.0 }];
    for root in roots {
        coefficients.push(Complex::default());
        for k in (1..coefficients.len()).rev() {
            let lower = coefficients[k - 1];
            coefficients[k].re -= root.re * lower.re - root.im * lower.im;
            coefficients[k].im -= root.re * lower.im + root.im * lower.re;
        }
    }
    Matrix::from_fn(n, n, |i, j| match (i + 1 == n, i + 1 == j) {
        (true, _) => -coefficients[n - j].re,
        (false, true) => 1.0,
        (false, false) => 0.0,
    })
}

fn real(re: f64) -> Complex {
    Complex { re, im: 0.0 }
}

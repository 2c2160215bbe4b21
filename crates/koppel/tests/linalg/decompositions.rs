//! Linear systems, singular values, eigenvalues.

use koppel::linalg::*;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    /// Each equation holds to rounding of its own terms, 2 (n + 1) ε (|A| |x| + |b|), although
    /// equations and unknowns are scaled over twelve decades.
    #[test]
    fn solve_has_a_small_residual(
        a in square(6..7, 1.0),
        b in vec(-1.0..1.0, 6),
        left in decades(6, 6.0),
        right in decades(6, 6.0),
    ) {
        let a = Matrix::from_fn(6, 6, |i, j| left[i] * a[(i, j)] * right[j]);
        let b = Matrix::from_fn(6, 1, |i, _| left[i] * b[i]);
        let x = solve(&a, &b)?;
        let residual = &(&a * &x) - &b;
        let terms = &(&a.map(f64::abs) * &x.map(f64::abs)) + &b.map(f64::abs);
        for (residual, terms) in residual.as_slice().iter().zip(terms.as_slice()) {
            prop_assert!(residual.abs() <= 14.0 * EPS * terms, "{residual:e} of {terms:e}");
        }
    }

    /// The factors alone: backward stable in good units, 3 n ε · growth ‖A‖ ‖x‖ with growth ≤ n.
    #[test]
    fn factors_solve_with_a_small_residual(a in square(6..7, 1.0), b in vec(-1.0..1.0, 6)) {
        let mut x = b.clone();
        Lu::new(&a)?.solve_in_place(&mut x);
        let size = a.norm_inf() * x.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        for (found, b) in a.mul_vec(&x).iter().zip(&b) {
            prop_assert!(f64::abs(found - b) <= 108.0 * EPS * size, "{found:e} {b:e} {size:e}");
        }
    }

    #[test]
    fn inverse_times_matrix_is_the_identity(a in square(1..8, 1.0)) {
        let inverse = inverse(&a)?;
        let condition = a.norm_1() * inverse.norm_1();
        for product in [&a * &inverse, &inverse * &a] {
            let error = (&product - &Matrix::identity(a.rows())).max_abs();
            prop_assert!(error <= 10.0 * EPS * condition, "{error:e} {condition:e}");
        }
    }

    /// A = Q diag(s) Wᵀ with s over eight decades and rank 3 of 4 × 5: its pseudoinverse is
    /// W diag(1/s) Qᵀ, and the smallest s is known to ε s_max, hence A⁺ to ε κ² / s_max.
    #[test]
    fn known_singular_values(
        q in vec(0.1..1.0, 4), w in vec(0.1..1.0, 5), s in decades(3, 2.0),
    ) {
        let (q, w) = (reflection(&q).block(0, 0, 4, 3), reflection(&w).block(0, 0, 5, 3));
        let a = &(&q * &Matrix::diagonal(&s)) * &w.transpose();
        let reciprocal: Vec<f64> = s.iter().map(|s| 1.0 / s).collect();
        let expected = &(&w * &Matrix::diagonal(&reciprocal)) * &q.transpose();
        let mut sorted = s.clone();
        sorted.sort_by(|x, y| y.total_cmp(x));
        let svd = svd(&a)?;
        for (found, s) in svd.s.iter().zip(&sorted) {
            prop_assert!((found - s).abs() <= 20.0 * EPS * sorted[0]);
        }
        prop_assert_eq!(rank(&a, default_cutoff(&a))?, 3);
        let condition = sorted[0] / sorted[2];
        let error = relative_error(&pinv(&a, default_cutoff(&a))?, &expected);
        prop_assert!(error <= 20.0 * EPS * condition, "{error:e} {condition:e}");
    }

    /// The four Penrose conditions, on matrices of rank at most 2 with rows and columns scaled
    /// over six decades. A⁺ carries a relative error of ε κ with κ = ‖A‖ ‖A⁺‖, and so does each
    /// product; the cutoff drops at most its own share of ‖A‖.
    #[test]
    fn penrose(
        x in vec(-1.0..1.0, 10), y in vec(-1.0..1.0, 8),
        left in decades(5, 3.0), right in decades(4, 3.0),
    ) {
        let a = &Matrix::from_slice(5, 2, &x) * &Matrix::from_slice(2, 4, &y);
        let a = &(&Matrix::diagonal(&left) * &a) * &Matrix::diagonal(&right);
        for a in [a.transpose(), a] {
            let p = pinv(&a, default_cutoff(&a))?;
            let (ap, pa) = (&a * &p, &p * &a);
            let tolerance = 10.0 * EPS * a.norm_frobenius() * p.norm_frobenius();
            prop_assume!(tolerance < 1e-2);
            prop_assert!(relative_error(&(&ap * &a), &a) <= tolerance);
            prop_assert!(relative_error(&(&pa * &p), &p) <= tolerance);
            prop_assert!((&ap - &ap.transpose()).max_abs() <= tolerance);
            prop_assert!((&pa - &pa.transpose()).max_abs() <= tolerance);
            // The trace of a projector is its rank: the zero matrix would pass all the rest.
            let trace: f64 = (0..ap.rows()).map(|i| ap[(i, i)]).sum();
            let rank = rank(&a, default_cutoff(&a))?;
            prop_assert!(rank >= 1 && (trace - rank as f64).abs() <= tolerance);
        }
    }

    /// The gradient Aᵀ (A X − B) + ridge X vanishes, to rounding of its terms.
    #[test]
    fn least_squares_has_no_gradient(
        a in vec(-1.0..1.0, 15), b in vec(-1.0..1.0, 10), ridge in prop_oneof![Just(0.0), 1e-3..10.0],
    ) {
        let (a, b) = (Matrix::from_slice(5, 3, &a), Matrix::from_slice(5, 2, &b));
        let x = least_squares(&a, &b, ridge)?;
        let gradient = &(&a.transpose() * &(&(&a * &x) - &b)) + &(&x * ridge);
        let condition = a.norm_1() * pinv(&a, 0.0)?.norm_1();
        let terms = a.norm_1() * (a.norm_1() * x.norm_1() + b.norm_1()) + ridge * x.norm_1();
        prop_assert!(gradient.max_abs() <= 10.0 * EPS * condition * terms);
    }

    /// A normal matrix Q diag([[a, −b], [b, a]], …) Qᵀ: eigenvalues are known to ε‖A‖.
    #[test]
    fn eigenvalues_of_a_normal_matrix(
        q in vec(0.1..1.0, 5), re in vec(-1.0..1.0, 3), im in vec(0.01..1.0_f64, 2),
    ) {
        let mut blocks = Matrix::diagonal(&[re[0], re[0], re[1], re[1], re[2]]);
        for (k, &im) in im.iter().enumerate() {
            blocks.set_block(2 * k, 2 * k, &Matrix::from_slice(2, 2, &[re[k], -im, im, re[k]]));
        }
        let q = reflection(&q);
        let a = &(&q * &blocks) * &q;
        let pair = |k: usize| [1.0, -1.0].map(|sign| Complex { re: re[k], im: sign * im[k] });
        let expected = [pair(0)[0], pair(0)[1], pair(1)[0], pair(1)[1], real(re[2])];
        assert_same_set(&eigenvalues(&a)?, &expected, 30.0 * EPS);
        let radius = expected.iter().map(|z| z.abs()).fold(0.0, f64::max);
        prop_assert!((spectral_radius(&a)? - radius).abs() <= 30.0 * EPS);
    }

    #[test]
    fn symmetric_eigenvalues_are_known(q in vec(0.1..1.0, 5), mut values in vec(-1.0..1.0, 5)) {
        let q = reflection(&q);
        let eigen = symmetric_eigen(&(&(&q * &Matrix::diagonal(&values)) * &q))?;
        values.sort_by(f64::total_cmp);
        for (found, expected) in eigen.values.iter().zip(&values) {
            prop_assert!((found - expected).abs() <= 20.0 * EPS);
        }
    }
}

/// Every expected number has its own partner among the found ones.
#[track_caller]
fn assert_same_set(found: &[Complex], expected: &[Complex], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let mut left = found.to_vec();
    for z in expected {
        let distance = |y: &Complex| (y.re - z.re).hypot(y.im - z.im);
        let Some(at) = left.iter().position(|y| distance(y) <= tolerance * z.abs().max(1.0)) else {
            panic!("{z:?} is not among {left:?}");
        };
        left.swap_remove(at);
    }
}

/// Roots that are far apart are well conditioned; the graded ones rely on balancing.
#[test]
fn eigenvalues_of_companion_matrices() {
    let pair = |re, im: f64| [Complex { re, im }, Complex { re, im: -im }];
    let [a, b] = pair(-0.5, 2.0);
    let mixed = [a, b, real(3.0), real(-1.0), real(0.0)];
    assert_same_set(&eigenvalues(&companion(&mixed)).unwrap(), &mixed, 30.0 * EPS);
    let graded = [1e-3, 1.0, -1e3, 1e6].map(real);
    let found = eigenvalues(&companion(&graded)).unwrap();
    for (found, expected) in found.iter().zip(graded.iter().rev()) {
        assert!((found.re / expected.re - 1.0).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn large_matrices() {
    let n = 80;
    let q = reflection(&(0..n).map(|i| 1.0 + i as f64).collect::<Vec<_>>());
    let values: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
    let a = &(&q * &Matrix::diagonal(&values)) * &q;
    let found = eigenvalues(&a).unwrap();
    let singular = svd(&a).unwrap().s;
    let symmetric = symmetric_eigen(&a).unwrap().values;
    for (i, value) in values.iter().enumerate() {
        assert!((found[n - 1 - i].re - value).abs() < 1e-11);
        assert!((singular[n - 1 - i] - value).abs() < 1e-11);
        assert!((symmetric[i] - value).abs() < 1e-11);
    }
    let identity = &a * &inverse(&a).unwrap();
    assert_close(&identity, &Matrix::identity(n), 1e-12);
}

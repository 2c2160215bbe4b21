//! What every function promises: bad numbers and shapes refused, empty matrices accepted.

use koppel::linalg::*;
use proptest::collection::vec;
use proptest::prelude::*;

type Function = (&'static str, fn(&Matrix) -> Result<()>);

fn functions() -> [Function; 15] {
    let functions: [Function; 15] = [
        ("expm", |a| expm(a).map(drop)),
        ("solve", |a| solve(a, &Matrix::zeros(a.rows(), 1)).map(drop)),
        ("solve, right-hand side", |b| solve(&Matrix::identity(b.rows()), b).map(drop)),
        ("inverse", |a| inverse(a).map(drop)),
        ("Lu::new", |a| Lu::new(a).map(drop)),
        ("Lu::refactor", |a| Lu::default().refactor(a)),
        ("svd", |a| svd(a).map(drop)),
        ("pinv", |a| pinv(a, 0.0).map(drop)),
        ("rank", |a| rank(a, 0.0).map(drop)),
        ("least_squares", |a| least_squares(a, &Matrix::zeros(a.rows(), 1), 0.0).map(drop)),
        ("least_squares, right-hand side", |b| least_squares(&Matrix::identity(b.rows()), b, 0.0).map(drop)),
        ("eigenvalues", |a| eigenvalues(a).map(drop)),
        ("spectral_radius", |a| spectral_radius(a).map(drop)),
        ("symmetric_eigen", |a| symmetric_eigen(a).map(drop)),
        ("balance", |a| balance(a).map(drop)),
    ];
    functions
}

#[test]
fn nan_and_infinity_are_refused_everywhere() {
    for (name, function) in functions() {
        assert_eq!(function(&Matrix::identity(3)), Ok(()), "{name}");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in [(0, 0), (1, 2), (2, 0)] {
                let mut a = Matrix::identity(3);
                a[at] = bad;
                let refused = matches!(function(&a), Err(LinalgError::NonFinite { .. }));
                assert!(refused, "{name} of {bad} at {at:?}");
            }
        }
    }
    let one = Matrix::identity(1);
    assert!(pinv(&one, f64::NAN).is_err() && rank(&one, f64::INFINITY).is_err());
    assert!(least_squares(&one, &one, f64::NAN).is_err());
    assert!(pinv(&one, -1.0).is_err() && rank(&one, -1.0).is_err());
}

#[test]
fn empty_matrices_have_empty_answers() {
    for (name, function) in functions() {
        assert_eq!(function(&Matrix::zeros(0, 0)), Ok(()), "{name}");
    }
    for (rows, cols) in [(0, 3), (3, 0)] {
        let a = Matrix::zeros(rows, cols);
        assert_eq!(pinv(&a, 0.0).unwrap(), a.transpose());
        assert_eq!(rank(&a, 0.0).unwrap(), 0);
        let x = least_squares(&a, &Matrix::zeros(rows, 2), 0.0).unwrap();
        assert_eq!(x, Matrix::zeros(cols, 2));
        assert_eq!((a.norm_1(), a.norm_inf(), a.norm_frobenius()), (0.0, 0.0, 0.0));
        assert_eq!(a.mul_vec(&vec![1.0; cols]), vec![0.0; rows]);
    }
    assert_eq!(solve(&Matrix::zeros(0, 0), &Matrix::zeros(0, 2)).unwrap(), Matrix::zeros(0, 2));
    assert_eq!(spectral_radius(&Matrix::zeros(0, 0)).unwrap(), 0.0);
    assert_eq!(Lu::new(&Matrix::zeros(0, 0)).unwrap().rcond(), 1.0);
}

#[test]
fn wrong_shapes_are_refused() {
    let wide = Matrix::zeros(2, 3);
    let refused = |r: Result<()>| matches!(r, Err(LinalgError::Shape { .. }));
    assert!(refused(expm(&wide).map(drop)) && refused(inverse(&wide).map(drop)));
    assert!(refused(eigenvalues(&wide).map(drop)) && refused(balance(&wide).map(drop)));
    assert!(refused(symmetric_eigen(&wide).map(drop)) && refused(Lu::new(&wide).map(drop)));
    let (two, three) = (Matrix::identity(2), Matrix::identity(3));
    assert!(refused(solve(&two, &three).map(drop)));
    assert!(refused(least_squares(&two, &three, 0.0).map(drop)));
}

#[test]
fn singular_systems_are_refused() {
    let singular = Matrix::from_fn(3, 3, |i, j| (3 * i + j) as f64);
    assert!(matches!(inverse(&singular), Err(LinalgError::Singular { .. })));
    let text = inverse(&Matrix::zeros(2, 2)).unwrap_err().to_string();
    assert_eq!(text, "the matrix to factor is singular to working precision (reciprocal condition 0.0e0)");
}

proptest! {
    /// Entries over the whole range of `f64`, zeros among them: an answer or an error, and no
    /// panic, hang or NaN.
    #[test]
    fn extreme_entries_end(
        exponents in vec(-307.0..308.0_f64, 36),
        signs in vec(prop_oneof![Just(-1.0), Just(0.0), Just(1.0)], 36),
    ) {
        let a = Matrix::from_fn(6, 6, |i, j| signs[6 * i + j] * 10_f64.powf(exponents[6 * i + j]));
        for (_, function) in functions() {
            let _ = function(&a);
        }
        for answer in [expm(&a), solve(&a, &a), inverse(&a), pinv(&a, 1e-12)] {
            prop_assert!(answer.is_err() || answer.is_ok_and(|x| x.is_finite()));
        }
        prop_assert!(spectral_radius(&a).is_err() || spectral_radius(&a)?.is_finite());
    }
}

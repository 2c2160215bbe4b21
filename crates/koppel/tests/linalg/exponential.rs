//! The matrix exponential.

use koppel::linalg::*;
use proptest::prelude::*;

use super::*;

/// e^θ₁₃, θ₁₃ = 4.25: by how much terms cancel in the largest Padé approximant.
const ROUNDING: f64 = 70.0;

/// A relative change of a by ε moves e^a by ε |a|: entry by entry, so that a fast mode may not
/// spoil a slow one, with 4 ε more for the squarings.
#[test]
fn diagonal() {
    for size in [1e-9, 1e-3, 1.0, 30.0, 1e3, 1e5, 1e9] {
        let values = [-size, 0.0, -0.1, -1.0, 700.0];
        let found = expm(&Matrix::diagonal(&values)).unwrap();
        for (i, value) in values.into_iter().enumerate() {
            let error = (found[(i, i)] - value.exp()).abs() / value.exp().max(f64::MIN_POSITIVE);
            let tolerance = 4.0 * EPS * (1.0 + value.abs());
            assert!(error <= tolerance, "e^{value} beside e^-{size:e}: {error:.1e}");
        }
    }
}

#[test]
fn rotation() {
    for angle in [1e-8, 0.01, 0.2, 0.9, 2.0, 3.0, 100.0, 1e4] {
        let a = Matrix::from_slice(2, 2, &[0.0, -angle, angle, 0.0]);
        let (sin, cos) = f64::sin_cos(angle);
        let expected = Matrix::from_slice(2, 2, &[cos, -sin, sin, cos]);
        assert_close(&expm(&a).unwrap(), &expected, 4.0 * EPS * (1.0 + angle));
    }
}

/// The series of a nilpotent matrix ends, and A⁷ = 0 keeps every degree exact.
#[test]
fn nilpotent() {
    for size in [1e-6, 1.0, 1e7] {
        let a = Matrix::from_slice(3, 3, &[0.0, size, 2.0, 0.0, 0.0, size, 0.0, 0.0, 0.0]);
        let expected = &(&Matrix::identity(3) + &a) + &(&(&a * &a) * 0.5);
        assert_close(&expm(&a).unwrap(), &expected, 4.0 * EPS);
    }
}

/// e^(λ + N) = e^λ Σ Nᵏ / k!.
#[test]
fn jordan_block() {
    for rate in [-20.0_f64, -1.0, 0.5, 3.0] {
        let n = 6;
        let jordan = |i: usize, j: usize| match j.checked_sub(i) {
            Some(0) => rate,
            Some(1) => 1.0,
            _ => 0.0,
        };
        let expected = Matrix::from_fn(n, n, |i, j| {
            let factorial: f64 = (1..=j.saturating_sub(i)).map(|k| k as f64).product();
            if j < i { 0.0 } else { rate.exp() / factorial }
        });
        let found = expm(&Matrix::from_fn(n, n, jordan)).unwrap();
        assert_close(&found, &expected, 8.0 * EPS * (1.0 + rate.abs()));
    }
}

#[test]
fn companion_with_known_eigenvectors() {
    let roots = [-0.5, -1.0, -2.0, -4.0];
    let found = expm(&companion(&roots.map(real))).unwrap();
    for root in roots {
        let vector = Matrix::from_fn(4, 1, |i, _| f64::powi(root, i as i32));
        // ‖e^A‖ ‖v‖ is the size of the terms that cancel in e^A v.
        let terms = found.norm_inf() * vector.max_abs();
        let error = (&(&found * &vector) - &(&vector * root.exp())).max_abs();
        assert!(error < 20.0 * EPS * terms, "root {root}: {error:e}");
    }
}

/// Reference from a Taylor series with 80 and more digits (mpmath); `tolerance` per entry,
/// relative. SciPy 1.17 reaches 7e-14, 2e-10, 1e-15, 3e-16, 3e-15 on the same five.
#[test]
fn high_precision_references() {
    for (name, a, expected, tolerance) in references() {
        let n = (a.len() as f64).sqrt() as usize;
        let found = expm(&Matrix::from_slice(n, n, &a)).unwrap();
        for (found, expected) in found.as_slice().iter().zip(expected) {
            let error = (found - expected).abs();
            assert!(
                error <= tolerance * expected.abs(),
                "{name}: {found:e} for {expected:e}, error {error:.1e}"
            );
        }
    }
}

type Reference = (&'static str, Vec<f64>, Vec<f64>, f64);

#[rustfmt::skip]
fn references() -> [Reference; 5] {
    let mut hilbert: Vec<f64> = (0..16).map(|k| 1.0 / (k / 4 + k % 4 + 1) as f64).collect();
    (0..4).for_each(|i| hilbert[5 * i] -= 2.0);
    [
        // Ward 1977, test 3: condition number κ = 1.5e4, hence ε κ = 3e-12.
        ("ward",
         vec![-131.0, 19.0, 18.0, -390.0, 56.0, 54.0, -387.0, 57.0, 52.0],
         vec![-1.5096441587960896, 0.3678794391102887, 0.13533528117545907,
              -5.632570799902596, 1.4715177585023085, 0.4060058435263772,
              -4.9349383260981075, 1.1036383173308661, 0.54134112676299], 1e-12),
        // Two masses, one of them light and damped: rates from 0.1 to 1e6 per second. Squaring
        // P itself gives 2e-10.
        ("stiff oscillator",
         vec![0.0, 1.0, 0.0, 0.0, -1e4, -2.0, 1e4, 0.0, 0.0, 0.0, 0.0, 1.0, 1e7, 0.0, -1e7, -1e6],
         vec![0.003937694444988253, 0.0009818416135883895, 0.9960623055550117, 9.960624477845148e-07,
              0.14220834196125423, 0.0019740112178114736, -0.14220834196125423, -1.422295031972474e-07,
              0.0018498953923717825, 0.000996062447784515, 0.9981501046076282, 9.981501254831915e-07,
              0.020876776986764968, -0.0001422295031972474, -0.020876776986764968, -2.0875563223624716e-08], 1e-12),
        ("badly scaled",
         vec![-1.0, 1e7, 0.0, -1e-6, -2.0, 1e-6, 1e-6, 3e6, -0.5],
         vec![-0.42556749601143573, 556479.385768655, 1.0012389295141775,
              -5.564783845297255e-08, -0.18084375573404804, 1.0570988505257437e-07,
              -0.30037147302047523, 317130.65639665263, 0.978960001358991], 1e-14),
        // Twenty squarings by norm alone, which would cost six digits.
        ("overscaling",
         vec![1.0, 1e6, 0.0, -1.0],
         vec![std::f64::consts::E, 1175201.1936438014, 0.0, 0.36787944117144233], 1e-15),
        ("shifted Hilbert",
         hilbert,
         vec![0.4399145864715232, 0.16332734443199637, 0.11306617869409237, 0.0868433155497732,
              0.16332734443199637, 0.23552489759503137, 0.07331294089397068, 0.05803003587627665,
              0.11306617869409237, 0.07331294089397068, 0.19082437446444148, 0.04490551719891713,
              0.0868433155497732, 0.05803003587627665, 0.04490551719891713, 0.17227130933904047], 1e-14),
    ]
}

#[test]
fn overflow_is_an_error_and_extreme_decay_is_zero() {
    let what = "the exponential";
    let overflow = expm(&Matrix::from_slice(1, 1, &[1000.0]));
    assert_eq!(overflow, Err(LinalgError::NonFinite { what }));
    for size in [1e30, 1e100, 1e300] {
        let decayed = expm(&Matrix::from_slice(2, 2, &[-size, 0.0, 0.0, -1e-3 * size]));
        assert_eq!(decayed.unwrap(), Matrix::zeros(2, 2));
    }
}

/// y₀ = 1, y₁ = ∫₀¹ u, y₂ = ∫₀¹∫ u of u = 1 through a chain of integrators beside a stiff pole:
/// the stiff pole may not spoil the integrals, as ε‖A‖ = 2e-9 would.
#[test]
fn integrators_beside_a_stiff_pole() {
    let mut a = Matrix::zeros(4, 4);
    (a[(0, 0)], a[(0, 3)], a[(1, 2)], a[(2, 3)]) = (-1e7, 1e7, 1.0, 1.0);
    let found = expm(&a).unwrap();
    for (i, expected) in [(0, 1.0), (1, 0.5), (2, 1.0), (3, 1.0)] {
        assert!((found[(i, 3)] - expected).abs() < 10.0 * EPS, "{found:?}");
    }
}

proptest! {
    #[test]
    fn inverse_is_the_exponential_of_minus(a in square(1..7, 3.0)) {
        let (plus, minus) = (expm(&a)?, expm(&-&a)?);
        let scale = plus.norm_1() * minus.norm_1() * (1.0 + a.norm_1());
        let error = (&(&plus * &minus) - &Matrix::identity(a.rows())).max_abs();
        prop_assert!(error <= ROUNDING * EPS * scale, "{error:e}, scale {scale:e}");
    }

    #[test]
    fn doubling_squares(a in square(1..7, 10.0), exponent in -12..1) {
        let a = &a * 2_f64.powi(exponent);
        let half = expm(&a)?;
        let scale = half.norm_1().powi(2) * (1.0 + a.norm_1());
        let error = (&expm(&(&a * 2.0))? - &(&half * &half)).max_abs();
        prop_assert!(error <= ROUNDING * EPS * scale, "{error:e}, scale {scale:e}");
    }

    /// Units of the states, over sixteen decades, do not change the digits.
    #[test]
    fn bad_units_cost_no_digits(a in square(4..5, 3.0), s in decades(4, 8.0)) {
        let bad_units = Matrix::from_fn(4, 4, |i, j| a[(i, j)] * s[j] / s[i]);
        let bad = expm(&bad_units)?;
        let back = Matrix::from_fn(4, 4, |i, j| bad[(i, j)] * s[i] / s[j]);
        let error = relative_error(&back, &expm(&a)?);
        prop_assert!(error <= ROUNDING * EPS, "{error:e}");
    }

    /// e^[[A, B], [0, 0]] = [[e^A, A⁻¹ (e^A − I) B], [0, I]], for B of any size.
    #[test]
    fn augmented_matrix_integrates(a in square(3..4, 2.0), b in decades(3, 6.0)) {
        let a = &a - &(&Matrix::identity(3) * 7.0);
        let b = Matrix::from_slice(3, 1, &b);
        let mut augmented = Matrix::zeros(4, 4);
        augmented.set_block(0, 0, &a);
        augmented.set_block(0, 3, &b);
        let found = expm(&augmented)?;
        let expected = solve(&a, &(&(&expm(&a)? - &Matrix::identity(3)) * &b))?;
        prop_assert!(relative_error(&found.block(0, 3, 3, 1), &expected) <= ROUNDING * EPS);
        prop_assert!((&found.block(0, 0, 3, 3) - &expm(&a)?).max_abs() <= ROUNDING * EPS);
        prop_assert_eq!(found.row(3), &[0.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn large_matrix() {
    let n = 40;
    let q = reflection(&vec![1.0; n]);
    let values: Vec<f64> = (0..n).map(|i| -(i as f64)).collect();
    let spectral = |d: Vec<f64>| &(&q * &Matrix::diagonal(&d)) * &q;
    let found = expm(&spectral(values.clone())).unwrap();
    let expected = spectral(values.iter().map(|x| x.exp()).collect());
    assert_close(&found, &expected, 40.0 * n as f64 * EPS);
}

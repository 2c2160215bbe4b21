//! The principal logarithm of a matrix, by square roots.
//!
//!   log A = 2^s log A^{1/2^s},     log(I + X) ≈ Σ_j w_j X (I + t_j X)^{-1}                            (1)
//!
//! with nodes t_j and weights w_j of Gauss and Legendre on [0, 1]: the diagonal Padé approximant, whose error lies below
//! round-off for ‖X‖ ≤ 1/4 with eight nodes. Roots by the iteration of Denman and Beavers,
//!
//!   Y ← (Y + Z^{-1}) / 2,     Z ← (Z + Y^{-1}) / 2,     Y → A^{1/2},     from Y = A, Z = I           (2)
//!
//! There is no principal logarithm if an eigenvalue is real and not positive. Higham 2008, (11.18), (6.15).

use super::error::{check_finite, check_square_finite};
use super::{LinalgError, Matrix, Result, inverse, solve};

/// Nodes and weights on [-1, 1], the positive half.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_27),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// Most square roots, and most rounds for one.
const MOST_ROOTS: i32 = 60;
const MOST_ROUNDS: usize = 60;

/// The logarithm with eigenvalues between -πi and πi.
pub fn logm(a: &Matrix) -> Result<Matrix> {
    check_square_finite("the matrix of the logarithm", a)?;
    let identity = Matrix::identity(a.rows());
    let (mut root, mut roots) = (a.clone(), 0);
    while (&root - &identity).norm_1() > 0.25 {
        if roots == MOST_ROOTS {
            return Err(no_logarithm());
        }
        root = square_root(&root)?;
        roots += 1;
    }
    let x = &root - &identity;
    let mut sum = Matrix::zeros(a.rows(), a.rows());
    for (node, weight) in GAUSS.iter().flat_map(|(node, weight)| [(*node, weight), (-node, weight)]) {
        let denominator = &identity + &(&x * (0.5 * (1.0 + node)));
        sum = &sum + &(&solve(&denominator, &x)? * (0.5 * weight));
    }
    let log = &sum * f64::from(roots).exp2();
    check_finite("the logarithm", &log)?;
    Ok(log)
}

/// Equation (2).
fn square_root(a: &Matrix) -> Result<Matrix> {
    let (mut y, mut z) = (a.clone(), Matrix::identity(a.rows()));
    let mut last = f64::INFINITY;
    for _ in 0..MOST_ROUNDS {
        let next = &(&y + &inverse(&z)?) * 0.5;
        z = &(&z + &inverse(&y)?) * 0.5;
        let change = (&next - &y).norm_1();
        y = next;
        check_finite("a root of the matrix", &y)?;
        // Where round-off sets in, the change no longer shrinks.
        if change <= 1e-15 * y.norm_1() || (change >= last && change <= 1e-10 * y.norm_1()) {
            return Ok(y);
        }
        last = change;
    }
    Err(no_logarithm())
}

fn no_logarithm() -> LinalgError {
    LinalgError::NoConvergence { what: "the logarithm of a matrix" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::expm;

    #[test]
    fn it_undoes_the_exponential() {
        // Real, complex and repeated eigenvalues. Where e^A has hardly anything left of a mode, nothing can bring it back.
        let cases = [
            Matrix::from_slice(2, 2, &[0.0, 1.0, -9.0, -0.4]),
            Matrix::from_slice(2, 2, &[-2.0, 1.0, 0.0, -2.0]),
            Matrix::from_slice(3, 3, &[-6.0, 1.0, 0.0, 0.0, 0.1, 2.0, 0.3, -2.0, 0.1]),
            Matrix::zeros(2, 2),
            Matrix::zeros(0, 0),
        ];
        for a in cases {
            let back = logm(&expm(&a).unwrap()).unwrap();
            assert!((&back - &a).max_abs() <= 1e-11 * a.max_abs().max(1.0), "{a:?}\n{back:?}");
        }
    }

    #[test]
    fn there_is_none_on_the_negative_axis() {
        for values in [[-1.0, 2.0], [0.0, 1.0]] {
            assert!(logm(&Matrix::diagonal(&values)).is_err(), "{values:?}");
        }
    }
}

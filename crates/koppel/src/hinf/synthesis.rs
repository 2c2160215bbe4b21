//! The compensator in closed form.
//!
//! K2 H* is stable and its zeros are, so F = K2 H* K1 may be any stable function whose relative degree is at least r, that
//! of K2 H*: find the best F, then K1 = F / (K2 H*). With the disc mapped to the unit circle,
//!
//!   z = 1 + h s,   ζ = 1/z,      W = ζⁿ (w_0 + w_1 ζ + w_2 ζ² + ...)                       (1)
//!
//! E = W (1 - F) agrees with W in w_0 ... w_{r-1} and is free beyond: the problem of Carathéodory and Fejér. With T the
//! r×r lower triangular Toeplitz matrix of those coefficients and T v = γ u its largest Schmidt pair,
//!
//!   E = γ ζⁿ (Σ u_i ζⁱ) / (Σ v_i ζⁱ),      F = 1 - E / W                                   (2)
//!
//! E has the modulus γ everywhere on the circle. Written out, with 1/W = P(ζ) / (A ζⁿ),
//!
//!   F = ζʳ q(ζ) / v(ζ),      ζʳ q = v - (γ/A) u P                                          (3)
//!
//! so K1 has its poles at s = -1/h (n times) and at the roots of z^{r-1} v(1/z).

use super::zpk::{Zpk, factors};
use super::{Design, Specification};
use crate::error::{Error, Result};
use crate::linalg::{Complex, Matrix, eigenvalues, svd};

/// Finds the compensator.
pub(super) fn synthesize(specification: &Specification) -> Result<Design> {
    specification.check()?;
    let h = specification.disc;
    let plant = specification.smoother().times(&specification.hold.approximated(specification.step));
    let r = plant.poles.len() - plant.zeros.len();
    let (n, weight) = (specification.weight_order, inverse_weight(specification));

    let (gamma, u, v) = schmidt_pair(&series(&weight, r))?;
    let mut remainder = product(&u, &weight);
    remainder.iter_mut().for_each(|c| *c *= -gamma);
    remainder.iter_mut().zip(&v).for_each(|(c, v)| *c += v);
    let q = &remainder[r..];

    // F in z: numerator z^{n-1} q(1/z), denominator zⁿ z^{r-1} v(1/z); then s = (z - 1)/h.
    let to_s = |z: Complex| (z - Complex::ONE) * (1.0 / h);
    let mut transfer = Zpk {
        zeros: roots(q)?.into_iter().map(to_s).collect(),
        poles: roots(&v)?.into_iter().map(to_s).collect(),
        gain: q[0] / v[0] / h.powi(r as i32),
    };
    transfer.poles.extend((0..n).map(|_| Complex::from(-1.0 / h)));
    let compensator = Zpk {
        zeros: [&transfer.zeros[..], &plant.poles].concat(),
        poles: [&transfer.poles[..], &plant.zeros].concat(),
        gain: transfer.gain / plant.gain,
    };
    Ok(Design { specification: *specification, gamma, compensator, transfer })
}

/// P / A of 1/W = P(ζ) / (A ζⁿ): the denominator of W with s h = (1 - ζ)/ζ.
fn inverse_weight(specification: &Specification) -> Vec<f64> {
    let (weight, h) = (specification.weight(), specification.disc);
    let mut polynomial = vec![1.0 / (weight.gain * h.powi(weight.poles.len() as i32))];
    for factor in factors(&weight.poles, h) {
        // Σ a_k (1 - ζ)^k ζ^{d-k}
        let mut in_zeta = vec![0.0; factor.len()];
        let mut power = vec![1.0];
        for (k, a) in factor.iter().enumerate() {
            let shift = factor.len() - 1 - k;
            power.iter().enumerate().for_each(|(i, c)| in_zeta[i + shift] += a * c);
            power = product(&power, &[1.0, -1.0]);
        }
        polynomial = product(&polynomial, &in_zeta);
    }
    polynomial
}

/// The first `count` coefficients of 1/p(ζ).
fn series(p: &[f64], count: usize) -> Vec<f64> {
    let mut list: Vec<f64> = Vec::with_capacity(count);
    for j in 0..count {
        let known: f64 = (1..p.len().min(j + 1)).map(|i| p[i] * list[j - i]).sum();
        list.push((if j == 0 { 1.0 } else { 0.0 } - known) / p[0]);
    }
    list
}

/// γ, u, v of T v = γ u.
fn schmidt_pair(coefficients: &[f64]) -> Result<(f64, Vec<f64>, Vec<f64>)> {
    let r = coefficients.len();
    let toeplitz = Matrix::from_fn(r, r, |i, j| if i >= j { coefficients[i - j] } else { 0.0 });
    let svd = svd(&toeplitz).map_err(failed)?;
    Ok((svd.s[0], svd.u.col(0), svd.v.col(0)))
}

/// Product of polynomials, constant term first.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, y)| c[i + j] += x * y);
    }
    c
}

/// Roots of c_0 z^d + c_1 z^{d-1} + ... + c_d, the eigenvalues of the companion matrix.
fn roots(c: &[f64]) -> Result<Vec<Complex>> {
    let d = c.len() - 1;
    let companion = Matrix::from_fn(d, d, |i, j| match (i, j) {
        (0, j) => -c[j + 1] / c[0],
        (i, j) if i == j + 1 => 1.0,
        _ => 0.0,
    });
    eigenvalues(&companion).map_err(|source| failed(source).into())
}

fn failed(source: crate::linalg::LinalgError) -> Error {
    Error::Linalg { what: "H∞ synthesis".into(), source }
}

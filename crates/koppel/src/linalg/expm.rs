//! The matrix exponential, by scaling and squaring.
//!
//!   e^A = D (r_m(2⁻ˢ D⁻¹ A D))^(2ˢ) D⁻¹                                            (1)
//!
//! | symbol | meaning                                  | here                    |
//! | D      | balancing, powers of two                 | `Balanced`              |
//! | r_m    | diagonal Padé approximant of degree m    | `Pade`                  |
//! | θ_m    | largest size for which r_m is exact to ε | `Pade::theta`           |
//! | s      | number of squarings                      | `squarings`             |
//! | η      | bounds of ‖A^p‖^(1/p), sharper than ‖A‖  | `Powers::eta_low` etc.  |
//!
//! Padé approximants and θ_m: Higham 2005, Table 2.3. Choice of m and s from powers of
//! A: Al-Mohy & Higham 2009, Algorithm 5.1, which does not scale more than the powers ask for.
//! Differs in: norms of powers are computed, not estimated; always balanced; ‖A‖ above 2⁶⁴ is
//! scaled down first, so that no power overflows; triangular matrices are not treated apart; the
//! diagonal is squared as its difference to one, which spares slow modes beside fast ones the
//! loss of log₁₀ ‖A‖ digits.
//!
//! The error is that of a relative change of A by about ε: where a fast and a slow mode share
//! the same states, the slow one, of rate λ, has its exponent to ε ‖A‖ / |λ|, not to ε.

use super::error::{check_finite, check_square_finite};
use super::{Lu, Matrix, Result, balance};

/// The matrix exponential e^A.
///
/// An error if A holds NaN or infinity, or if e^A overflows.
pub fn expm(a: &Matrix) -> Result<Matrix> {
    check_square_finite("the matrix of the exponential", a)?;
    let balanced = balance(a)?;
    let (halvings, moderate) = halve_to_moderate(&balanced.matrix);
    let (squarings, difference) = approximate(moderate)?;
    let exponential = square_times(difference, halvings + squarings);
    let exponential = balanced.undo(&exponential);
    check_finite("the exponential", &exponential)?;
    Ok(exponential)
}

/// ‖A‖ up to which A¹⁰ cannot overflow.
const MODERATE_EXPONENT: f64 = 64.0;

/// s and 2⁻ˢ A of norm at most 2⁶⁴.
fn halve_to_moderate(a: &Matrix) -> (u32, Matrix) {
    let largest = a.max_abs();
    if largest == 0.0 {
        return (0, a.clone());
    }
    let exponent = largest.log2() + (a.rows() as f64).log2();
    let halvings = (exponent - MODERATE_EXPONENT).ceil().max(0.0) as u32;
    (halvings, halve(a, halvings))
}

/// 2⁻ˢ A.
fn halve(a: &Matrix, halvings: u32) -> Matrix {
    a * (-f64::from(halvings)).exp2()
}

/// P^(2ˢ) with P = I + E.
///
/// A slow mode beside a fast one has P_ii = 1 − tiny for most squarings, and rounding P_ii loses
/// the tiny part. So E_ii is kept and squared as well, by E ← 2 E + E² (Zhong & Williams 1994).
fn square_times(difference: Matrix, squarings: u32) -> Matrix {
    let n = difference.rows();
    let mut off_one: Vec<f64> = (0..n).map(|i| difference[(i, i)]).collect();
    let mut power = &Matrix::identity(n) + &difference;
    for _ in 0..squarings {
        power = square(&power, &mut off_one);
    }
    power
}

/// P², with `off_one` = diag(P) − 1 taken along; each of the two from the one that is exact.
fn square(power: &Matrix, off_one: &mut [f64]) -> Matrix {
    let mut square = power * power;
    for (i, e) in off_one.iter_mut().enumerate() {
        let others = (0..power.rows()).filter(|&k| k != i);
        let coupled: f64 = others.map(|k| power[(i, k)] * power[(k, i)]).sum();
        *e = *e * (2.0 + *e) + coupled;
        if *e > -0.5 {
            square[(i, i)] = 1.0 + *e;
        } else {
            *e = square[(i, i)] - 1.0;
        }
    }
    square
}

/// s and r_m(2⁻ˢ A) − I: Algorithm 5.1 of Al-Mohy & Higham 2009 without its squaring.
fn approximate(a: Matrix) -> Result<(u32, Matrix)> {
    let powers = Powers::new(a);
    let (low, middle) = (powers.eta_low(), powers.eta_middle());
    for (pade, eta) in PADE.iter().zip([low, low, middle, middle]) {
        if eta <= pade.theta && extra_squarings(&powers.a, pade) == 0 {
            return Ok((0, pade.evaluate(&powers)?));
        }
    }
    let squarings = (powers.eta_high() / PADE_13.theta).log2().ceil().max(0.0) as u32;
    let squarings = squarings + extra_squarings(&halve(&powers.a, squarings), &PADE_13);
    Ok((squarings, PADE_13.evaluate(&powers.halved(squarings))?))
}

/// A and its even powers, with the bounds η of Al-Mohy & Higham 2009, Algorithm 5.1.
struct Powers {
    a: Matrix,
    a2: Matrix,
    a4: Matrix,
    a6: Matrix,
    a8: Matrix,
}

impl Powers {
    fn new(a: Matrix) -> Self {
        let a2 = &a * &a;
        let a4 = &a2 * &a2;
        let a6 = &a2 * &a4;
        let a8 = &a4 * &a4;
        Self { a, a2, a4, a6, a8 }
    }

    /// η₁ = η₂ = max(d₄, d₆).
    fn eta_low(&self) -> f64 {
        root(&self.a4, 4.0).max(root(&self.a6, 6.0))
    }

    /// η₃ = max(d₆, d₈).
    fn eta_middle(&self) -> f64 {
        root(&self.a6, 6.0).max(root(&self.a8, 8.0))
    }

    /// η₅ = min(η₃, η₄) with η₄ = max(d₈, d₁₀).
    fn eta_high(&self) -> f64 {
        let d10 = root(&(&self.a4 * &self.a6), 10.0);
        self.eta_middle().min(root(&self.a8, 8.0).max(d10))
    }

    /// The powers of 2⁻ˢ A.
    fn halved(&self, s: u32) -> Self {
        Self {
            a: halve(&self.a, s),
            a2: halve(&self.a2, 2 * s),
            a4: halve(&self.a4, 4 * s),
            a6: halve(&self.a6, 6 * s),
            a8: halve(&self.a8, 8 * s),
        }
    }
}

/// d_p = ‖A^p‖₁^(1/p), of A^p.
fn root(power: &Matrix, p: f64) -> f64 {
    power.norm_1().powf(1.0 / p)
}

/// ℓ of Al-Mohy & Higham 2009, Algorithm 5.1: squarings that rounding in r_m asks for on top.
///
///   ℓ = max(⌈log₂(α / u) / 2m⌉, 0),     α = |c_{2m+1}| ‖|A|^(2m+1)‖₁ / ‖A‖₁
fn extra_squarings(a: &Matrix, pade: &Pade) -> u32 {
    let norm = a.norm_1();
    let degree = pade.degree();
    let log_power = log2_norm_of_abs_power(a, 2 * degree + 1);
    if norm == 0.0 || log_power == f64::NEG_INFINITY {
        return 0;
    }
    let log_alpha = log_power - norm.log2() - pade.reciprocal_c.log2();
    let log_unit = f64::EPSILON.log2() - 1.0;
    let squarings = ((log_alpha - log_unit) / f64::from(2 * degree)).ceil();
    squarings.max(0.0) as u32
}

/// log₂ ‖|A|^p‖₁, from 1ᵀ |A|^p with the size kept apart, so that nothing overflows.
fn log2_norm_of_abs_power(a: &Matrix, p: u32) -> f64 {
    let abs_transposed = a.transpose().map(f64::abs);
    let mut sums = vec![1.0; a.rows()];
    let mut log = 0.0;
    for _ in 0..p {
        sums = abs_transposed.mul_vec(&sums);
        let size = sums.iter().copied().fold(0.0, f64::max);
        if size == 0.0 {
            return f64::NEG_INFINITY;
        }
        sums.iter_mut().for_each(|sum| *sum /= size);
        log += size.log2();
    }
    log
}

/// A diagonal Padé approximant r_m of the exponential.
struct Pade {
    /// b₀ … b_m, the coefficients of its numerator times a common factor: Higham 2005.
    b: &'static [f64],
    /// θ_m: Higham 2005, Table 2.3, but for θ₁₃: Al-Mohy & Higham 2009, section 5.
    theta: f64,
    /// 1 / |c_{2m+1}| = (2m)! (2m+1)! / m!²: Al-Mohy & Higham 2009.
    reciprocal_c: f64,
}

impl Pade {
    fn degree(&self) -> u32 {
        self.b.len() as u32 - 1
    }

    /// r_m(A) − I = (V − U)⁻¹ 2 U, with U the odd and V the even part of the numerator.
    fn evaluate(&self, powers: &Powers) -> Result<Matrix> {
        let odd: Vec<f64> = self.b.iter().copied().skip(1).step_by(2).collect();
        let even: Vec<f64> = self.b.iter().copied().step_by(2).collect();
        let u = &powers.a * &powers.even_polynomial(&odd);
        let v = powers.even_polynomial(&even);
        Ok(Lu::new(&(&v - &u))?.solve(&(&u * 2.0)))
    }
}

impl Powers {
    /// Σ b_k A^(2k): directly up to A⁸, beyond it as A⁶ · (higher terms) + (terms up to A⁶).
    fn even_polynomial(&self, b: &[f64]) -> Matrix {
        if b.len() <= 5 {
            return self.low_polynomial(b);
        }
        let (low, high) = b.split_at(4);
        let high: Vec<f64> = std::iter::once(0.0).chain(high.iter().copied()).collect();
        &(&self.a6 * &self.low_polynomial(&high)) + &self.low_polynomial(low)
    }

    fn low_polynomial(&self, b: &[f64]) -> Matrix {
        let mut sum = &Matrix::identity(self.a.rows()) * b[0];
        let powers = [&self.a2, &self.a4, &self.a6, &self.a8];
        for (power, &coefficient) in powers.into_iter().zip(&b[1..]) {
            sum += &(power * coefficient);
        }
        sum
    }
}

const PADE: [Pade; 4] = [
    Pade { b: &[120.0, 60.0, 12.0, 1.0], theta: 1.495_585_217_958_292e-2, reciprocal_c: 100_800.0 },
    Pade {
        b: &[30_240.0, 15_120.0, 3_360.0, 420.0, 30.0, 1.0],
        theta: 2.539_398_330_063_23e-1,
        reciprocal_c: 10_059_033_600.0,
    },
    Pade {
        b: &[17_297_280.0, 8_648_640.0, 1_995_840.0, 277_200.0, 25_200.0, 1_512.0, 56.0, 1.0],
        theta: 9.504_178_996_162_932e-1,
        reciprocal_c: 4_487_938_430_976_000.0,
    },
    Pade {
        b: &[
            17_643_225_600.0,
            8_821_612_800.0,
            2_075_673_600.0,
            302_702_400.0,
            30_270_240.0,
            2_162_160.0,
            110_880.0,
            3_960.0,
            90.0,
            1.0,
        ],
        theta: 2.097_847_961_257_068,
        reciprocal_c: 5.914_384_781_877_412e21,
    },
];

const PADE_13: Pade = Pade {
    b: &[
        64_764_752_532_480_000.0,
        32_382_376_266_240_000.0,
        7_771_770_303_897_600.0,
        1_187_353_796_428_800.0,
        129_060_195_264_000.0,
        10_559_470_521_600.0,
        670_442_572_800.0,
        33_522_128_640.0,
        1_323_241_920.0,
        40_840_800.0,
        960_960.0,
        16_380.0,
        182.0,
        1.0,
    ],
    theta: 4.25,
    reciprocal_c: 1.132_507_756_060_211_1e35,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Every approximant, just below its θ, agrees with the scalar exponential: a wrong
    /// coefficient or a wrong θ shows here. The terms of r_m cancel by up to e^θ.
    #[test]
    fn every_degree_is_exact_at_its_limit() {
        for pade in PADE.iter().chain([&PADE_13]) {
            for x in [pade.theta, -pade.theta] {
                let powers = Powers::new(Matrix::from_slice(1, 1, &[x]));
                let error = pade.evaluate(&powers).unwrap()[(0, 0)] / x.exp_m1() - 1.0;
                let degree = pade.degree();
                let rounding = 2.0 * f64::EPSILON * pade.theta.exp();
                assert!(error.abs() < rounding, "{degree}: {error:e}");
            }
        }
    }

    /// Doubling the limit must cost digits, or θ is needlessly small (θ₁₃ is, on purpose).
    #[test]
    fn no_degree_is_exact_far_above_its_limit() {
        for pade in &PADE {
            let x = 4.0 * pade.theta;
            let powers = Powers::new(Matrix::from_slice(1, 1, &[x]));
            let error = pade.evaluate(&powers).unwrap()[(0, 0)] / x.exp_m1() - 1.0;
            assert!(error.abs() > 1e-14, "{}: {error:e}", pade.degree());
        }
    }

    /// The norm alone would ask for 18 and 25 squarings.
    #[test]
    fn squarings_follow_the_powers_not_the_norm() {
        let nilpotent = Matrix::from_slice(2, 2, &[0.0, 1e6, 0.0, 0.0]);
        assert_eq!(approximate(nilpotent).unwrap().0, 0);
        // A² = 50² I, and log₂(50 / θ₁₃) = 3.6.
        let root_of_identity = Matrix::from_slice(2, 2, &[50.0, 1e8, 0.0, -50.0]);
        assert_eq!(approximate(root_of_identity).unwrap().0, 4);
    }

    /// A² = 0 by cancellation, which rounding would spoil: ℓ is
    /// ⌈(26 log₂ 2000 + log₂ c₂₇ + 53) / 26⌉ = ⌈(285.1 − 116.4 + 53) / 26⌉ = 9. The condition
    /// number of e^A is 6.7e5; SciPy 1.17 has a relative error of 1e-9.
    #[test]
    fn powers_that_cancel_ask_for_squarings() {
        let a = &Matrix::from_slice(2, 2, &[1.0, 1.0, -1.0, -1.0]) * 1e3;
        let (squarings, difference) = approximate(a.clone()).unwrap();
        assert_eq!(squarings, 9);
        let error = &(&square_times(difference, squarings) - &Matrix::identity(2)) - &a;
        let relative = error.max_abs() / 1e3;
        assert!(relative < 10.0 * 6.7e5 * f64::EPSILON, "{relative:e}");
    }

    #[test]
    fn constants_follow_their_formula() {
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        for pade in PADE.iter().chain([&PADE_13]) {
            let m = pade.degree();
            let c = factorial(2 * m) * factorial(2 * m + 1) / factorial(m).powi(2);
            assert!((pade.reciprocal_c / c - 1.0).abs() < 1e-13);
        }
    }
}

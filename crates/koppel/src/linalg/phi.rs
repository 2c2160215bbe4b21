//! Integrals of the matrix exponential, by doubling.
//!
//!   P_0(h) = ∫_0^h e^{Aτ} dτ,     P_1(h) = ∫_0^h e^{A(h-τ)} τ dτ,     P_2(h) = ∫_0^h P_1(τ) dτ            (1)
//!
//! so that x' = A x + b + s t has the solution x(h) = x + P_0 (A x + b) + P_1 s: an increment, which vanishes exactly
//! where the right-hand side does. Over two steps of h, with e^{Ah} = I + A P_0,
//!
//!   P_0(2h) = 2 P_0 + A P_0 P_0,   P_1(2h) = 2 P_1 + A P_0 P_1 + h P_0,   P_2(2h) = 2 P_2 + P_0 P_1 + h P_1     (2)
//!
//! The start is the Taylor series at ‖A h‖ ≤ 1/2, cut below round-off. Matrices stay of the order of A: one exponential
//! of an augmented matrix, of three times the order, costs an order of magnitude more. The functions φ_1, φ_2, φ_3 of the
//! literature are P_j / h^{j+1}. Higham 2008, section 10.7.4.

use super::error::{check_finite, check_square_finite};
use super::{Balanced, Matrix, Result};

/// P_0, P_1 and P_2 of equation (1) over `size`.
pub fn exponential_integrals(a: &Matrix, size: f64) -> Result<[Matrix; 3]> {
    let mut out = <[Matrix; 3]>::default();
    Integrals::default().all(a, size, &mut out)?;
    Ok(out)
}

/// P_0 alone, at less than half the cost.
pub fn exponential_integral(a: &Matrix, size: f64) -> Result<Matrix> {
    let mut out = Matrix::default();
    Integrals::default().first(a, size, &mut out)?;
    Ok(out)
}

/// Room to find integrals in: nothing is allocated for matrices no larger than those before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Integrals {
    balanced: Balanced,
    scaled: Matrix,
    /// A P_0, and room for a product.
    product: Matrix,
    room: Matrix,
}

impl Integrals {
    /// P_0, P_1 and P_2 over `size`.
    pub(crate) fn all(&mut self, a: &Matrix, size: f64, out: &mut [Matrix; 3]) -> Result<()> {
        self.up_to(2, a, size, out)
    }

    /// P_0 and P_1 over `size`; the third matrix is left as it is.
    pub(crate) fn both(&mut self, a: &Matrix, size: f64, out: &mut [Matrix; 3]) -> Result<()> {
        self.up_to(1, a, size, out)
    }

    fn up_to(&mut self, last: usize, a: &Matrix, size: f64, out: &mut [Matrix; 3]) -> Result<()> {
        let start = self.start(a, size)?;
        let mut h = start.size;
        self.taylor(last, h, start.terms, out);
        for _ in 0..start.doublings {
            self.double(last, h, out);
            h *= 2.0;
        }
        for p in &mut out[..=last] {
            self.balanced.undo_in_place(p);
            check_finite("the integral of the exponential", p)?;
        }
        Ok(())
    }

    /// P_0 over `size`.
    pub(crate) fn first(&mut self, a: &Matrix, size: f64, out: &mut Matrix) -> Result<()> {
        let start = self.start(a, size)?;
        self.series(0, start.terms, out);
        out.scale(start.size);
        for _ in 0..start.doublings {
            self.balanced.matrix.mul_into(out, &mut self.product);
            self.double_by_product(out);
        }
        self.balanced.undo_in_place(out);
        check_finite("the integral of the exponential", out)
    }

    /// Balances A and finds where doubling starts.
    fn start(&mut self, a: &Matrix, size: f64) -> Result<Start> {
        check_square_finite("the matrix of the exponential's integral", a)?;
        self.balanced.renew(a)?;
        let norm = self.balanced.matrix.norm_inf() * size.abs();
        let doublings = if norm > 0.5 { (2.0 * norm).log2().ceil() as i32 } else { 0 };
        let factor = f64::from(-doublings).exp2();
        let norm = norm * factor;
        // The first term left out, ‖A h‖^k / (k + 1)!, is below round-off.
        let (mut terms, mut left_out) = (0, 0.5 * norm);
        while left_out > 1e-18 {
            terms += 1;
            left_out *= norm / (terms + 2) as f64;
        }
        self.scaled.copy_from(&self.balanced.matrix);
        self.scaled.scale(size * factor);
        // Another matrix of this order may need room that this one does not.
        for room in [&mut self.product, &mut self.room] {
            if room.rows() != a.rows() {
                room.reshape(a.rows(), a.rows());
            }
        }
        Ok(Start { size: size * factor, doublings, terms })
    }

    /// (j + 1)! Σ_k X^k / (k + j + 1)! with X = A h, by Horner's scheme.
    fn series(&mut self, j: usize, terms: usize, out: &mut Matrix) {
        out.set_identity(self.scaled.rows());
        for k in (1..=terms).rev() {
            self.scaled.mul_into(out, &mut self.room);
            self.room.scale(1.0 / (k + j + 1) as f64);
            self.room.add_to_diagonal(1.0);
            std::mem::swap(out, &mut self.room);
        }
    }

    /// h^{j+1} Σ_k (A h)^k / (k + j + 1)!, for j = 0, 1, 2.
    fn taylor(&mut self, last: usize, h: f64, terms: usize, out: &mut [Matrix; 3]) {
        // φ_{j+1} = I / (j + 1)! + A h φ_{j+2}: the last series gives the others.
        let [p0, p1, p2] = out;
        if last == 2 {
            self.series(2, terms, p2);
            p2.scale(1.0 / 6.0);
            self.scaled.mul_into(p2, p1);
            p1.add_to_diagonal(0.5);
            p2.scale(h * h * h);
        } else {
            self.series(1, terms, p1);
            p1.scale(0.5);
        }
        self.scaled.mul_into(p1, p0);
        p0.add_to_diagonal(1.0);
        p0.scale(h);
        p1.scale(h * h);
    }

    /// Equation (2).
    fn double(&mut self, last: usize, h: f64, [p0, p1, p2]: &mut [Matrix; 3]) {
        self.balanced.matrix.mul_into(p0, &mut self.product);
        if last == 2 {
            p2.scale(2.0);
            p0.mul_add(p1, p2);
            p2.add_scaled(h, p1);
        }
        self.double_by_product(p1);
        p1.add_scaled(h, p0);
        self.double_by_product(p0);
    }

    /// `p` = 2 p + (A P_0) p.
    fn double_by_product(&mut self, p: &mut Matrix) {
        self.room.copy_from(p);
        p.scale(2.0);
        self.product.mul_add(&self.room, p);
    }
}

/// Where doubling starts.
struct Start {
    /// h, with ‖A h‖ ≤ 1/2.
    size: f64,
    doublings: i32,
    /// Terms of the series at h.
    terms: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::expm;

    /// The top row of exp([[A, I, 0, 0], [0, 0, I, 0], [0, 0, 0, I], [0, 0, 0, 0]] h), an independent way.
    fn by_augmented(a: &Matrix, h: f64) -> [Matrix; 3] {
        let n = a.rows();
        let mut augmented = Matrix::zeros(4 * n, 4 * n);
        augmented.set_block(0, 0, a);
        for j in 0..3 {
            augmented.set_block(j * n, (j + 1) * n, &Matrix::identity(n));
        }
        let exponential = expm(&(&augmented * h)).unwrap();
        [1, 2, 3].map(|j| exponential.block(0, j * n, n, n))
    }

    #[test]
    fn integrals_are_blocks_of_an_augmented_exponential() {
        let stiff = Matrix::from_slice(2, 2, &[0.0, 1.0, -1e6, -2010.0]);
        let unstable = Matrix::from_slice(2, 2, &[1.5, 1.0, -2.0, 0.3]);
        let singular = Matrix::from_slice(3, 3, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        for (a, h) in [(stiff, 9e-3), (unstable, 3.0), (singular, 0.7), (Matrix::zeros(2, 2), 0.1)] {
            let (ours, theirs) = (exponential_integrals(&a, h).unwrap(), by_augmented(&a, h));
            for (j, (p, q)) in ours.iter().zip(&theirs).enumerate() {
                let error = (p - q).max_abs() / q.max_abs();
                assert!(error < 1e-11, "P_{j}: {error:e}");
            }
            let mut both = <[Matrix; 3]>::default();
            Integrals::default().both(&a, h, &mut both).unwrap();
            for (p, q) in both[..2].iter().zip(&ours) {
                assert!((p - q).max_abs() <= 1e-12 * q.max_abs(), "without P_2");
            }
            let alone = exponential_integral(&a, h).unwrap();
            assert!((&alone - &ours[0]).max_abs() <= 1e-13 * ours[0].max_abs(), "P_0 alone");
        }
    }

    #[test]
    fn a_fast_mode_beside_a_slow_one_keeps_both() {
        let a = Matrix::diagonal(&[-1e9, -1e-3]);
        let [p0, p1, _] = exponential_integrals(&a, 1.0).unwrap();
        assert!((p0[(0, 0)] * 1e9 - 1.0).abs() < 1e-12);
        let slow = -((-1e-3_f64).exp_m1()) / 1e-3;
        assert!((p0[(1, 1)] / slow - 1.0).abs() < 1e-12);
        assert!((p1[(1, 1)] / ((1.0 - slow) / 1e-3) - 1.0).abs() < 1e-10);
    }

    #[test]
    fn nothing_and_too_much() {
        assert_eq!(exponential_integrals(&Matrix::zeros(0, 0), 1.0).unwrap()[0].rows(), 0);
        assert!(exponential_integrals(&Matrix::diagonal(&[1e4]), 1.0).is_err(), "overflow is said");
    }
}

//! LU factorisation with partial pivoting, and what is solved with it.
//!
//!   P R A C = L U,     x = C U⁻¹ L⁻¹ P R b                                        (1)
//!
//! | symbol | meaning                                          | here            |
//! | R, C   | powers of two: largest magnitude in each row and |                 |
//! |        | column of R A C is in [1, 2)                     | `row_scales`, `col_scales` |
//! | P      | row exchanges of partial pivoting                | `exchanges`     |
//! | L, U   | unit lower and upper triangle                    | `factors`       |
//!
//! Golub & Van Loan 2013, Algorithm 3.4.1 with the scaling of section 3.5.2. The scaling makes
//! the choice of pivots and the verdict "singular" independent of the units of equations and
//! unknowns: diag(1e-10, 1e10) is perfectly solvable. Powers of two add no rounding.

use super::error::{check_finite, check_rows, check_square_finite};
use super::ops::{add_scaled, dot};
use super::{LinalgError, Matrix, Result};

/// The solution X of A X = B; an error if A is singular to working precision.
pub fn solve(a: &Matrix, b: &Matrix) -> Result<Matrix> {
    check_rows("the right-hand side", b, a.rows())?;
    check_finite("the right-hand side", b)?;
    let lu = Lu::new(a)?;
    lu.check_condition()?;
    let x = refine(a, b, &lu, lu.solve(b));
    check_finite("the solution", &x)?;
    Ok(x)
}

/// One step of iterative refinement: makes each equation hold to rounding of its own terms, however
/// the equations and unknowns are scaled (Skeel 1980).
fn refine(a: &Matrix, b: &Matrix, lu: &Lu, mut x: Matrix) -> Matrix {
    let residual = b - &(a * &x);
    if residual.is_finite() {
        x += &lu.solve(&residual);
    }
    x
}

/// The inverse of A; an error if A is singular to working precision.
///
/// Not refined, unlike [`solve`]: refining A X = I would spoil X A = I.
pub fn inverse(a: &Matrix) -> Result<Matrix> {
    let mut inverse = Matrix::default();
    Lu::default().invert(a, &mut inverse)?;
    Ok(inverse)
}

/// The factors of a square matrix, to solve with many times.
#[derive(Clone, Debug, Default)]
pub struct Lu {
    factors: Matrix,
    exchanges: Vec<usize>,
    row_scales: Vec<f64>,
    col_scales: Vec<f64>,
}

impl Lu {
    /// Factors `a`; an error if a pivot vanishes to working precision.
    pub fn new(a: &Matrix) -> Result<Self> {
        let mut lu = Self::default();
        lu.refactor(a)?;
        Ok(lu)
    }

    /// Replaces the factors by those of `a`; allocates only if `a` has another size.
    ///
    /// After an error the factors are NaN, and so is all that is solved with them.
    pub fn refactor(&mut self, a: &Matrix) -> Result<()> {
        let outcome = self.try_refactor(a);
        if outcome.is_err() {
            self.factors.entries.fill(f64::NAN);
        }
        outcome
    }

    fn try_refactor(&mut self, a: &Matrix) -> Result<()> {
        check_square_finite("the matrix to factor", a)?;
        self.load(a);
        self.equilibrate();
        for k in 0..self.order() {
            self.exchange_pivot(k)?;
            self.eliminate_below(k);
        }
        Ok(())
    }

    /// Replaces `b` by the solution of A x = b, without allocation.
    ///
    /// # Panics
    /// If `b` has not one value per row.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.order(), "one right-hand side value per row");
        for (b, scale) in b.iter_mut().zip(&self.row_scales) {
            *b *= scale;
        }
        self.solve_scaled(b);
        for (x, scale) in b.iter_mut().zip(&self.col_scales) {
            *x *= scale;
        }
    }

    /// Factors `a` and writes its inverse; allocates only if `a` is larger than those before.
    pub(crate) fn invert(&mut self, a: &Matrix, out: &mut Matrix) -> Result<()> {
        self.refactor(a)?;
        let n = self.order();
        out.set_identity(n);
        if n > 0 {
            let rcond = self.rcond_in(out.row_mut(0));
            if rcond.is_nan() || rcond <= f64::EPSILON {
                return Err(singular(rcond));
            }
        }
        // Row j becomes column j of the inverse.
        for j in 0..n {
            let row = out.row_mut(j);
            row.fill(0.0);
            row[j] = 1.0;
            self.solve_in_place(row);
        }
        for i in 0..n {
            for j in 0..i {
                out.entries.swap(i * n + j, j * n + i);
            }
        }
        check_finite("the inverse", out)
    }

    /// The solution X of A X = B.
    ///
    /// # Panics
    /// If `b` has not as many rows as A.
    pub fn solve(&self, b: &Matrix) -> Matrix {
        let mut columns = b.transpose();
        for j in 0..columns.rows() {
            self.solve_in_place(columns.row_mut(j));
        }
        columns.transpose()
    }

    /// Order of the factored matrix.
    pub fn order(&self) -> usize {
        self.factors.rows()
    }

    /// Reciprocal condition number 1 / (‖R A C‖₁ ‖(R A C)⁻¹‖₁) of the scaled matrix; 1 if empty.
    ///
    /// Costs about as much as two factorisations.
    pub fn rcond(&self) -> f64 {
        self.rcond_in(&mut vec![0.0; self.order()])
    }

    /// The same with room for one column.
    fn rcond_in(&self, column: &mut [f64]) -> f64 {
        let n = self.order();
        if n == 0 {
            return 1.0;
        }
        let mut inverse_norm = 0.0_f64;
        for j in 0..n {
            column.fill(0.0);
            column[j] = 1.0;
            self.solve_scaled(column);
            inverse_norm = inverse_norm.max(column.iter().map(|x| x.abs()).sum());
        }
        1.0 / (self.scaled_norm() * inverse_norm)
    }

    fn check_condition(&self) -> Result<()> {
        let rcond = self.rcond();
        if rcond > f64::EPSILON { Ok(()) } else { Err(singular(rcond)) }
    }

    /// ‖R A C‖₁ = ‖L U‖₁, column by column.
    fn scaled_norm(&self) -> f64 {
        let n = self.order();
        let entry = |i: usize, j: usize| -> f64 {
            let inner = i.min(j + 1);
            let below: f64 = (0..inner).map(|k| self.factors[(i, k)] * self.factors[(k, j)]).sum();
            if i <= j { below + self.factors[(i, j)] } else { below }
        };
        (0..n).map(|j| (0..n).map(|i| entry(i, j).abs()).sum()).fold(0.0, f64::max)
    }

    fn load(&mut self, a: &Matrix) {
        let n = a.rows();
        self.factors.rows = n;
        self.factors.cols = n;
        self.factors.entries.clear();
        self.factors.entries.extend_from_slice(a.as_slice());
        self.exchanges.resize(n, 0);
        self.row_scales.resize(n, 1.0);
        self.col_scales.resize(n, 1.0);
    }

    /// Scales rows, then columns; columns only grow, so the rows keep their largest entry ≥ 1.
    fn equilibrate(&mut self) {
        for (i, scale) in self.row_scales.iter_mut().enumerate() {
            let row = self.factors.row_mut(i);
            *scale = reciprocal_power_of_two(row.iter().fold(0.0, |m, x| x.abs().max(m)));
            row.iter_mut().for_each(|x| *x *= *scale);
        }
        self.col_scales.fill(0.0);
        for i in 0..self.factors.rows() {
            for (largest, x) in self.col_scales.iter_mut().zip(self.factors.row(i)) {
                *largest = x.abs().max(*largest);
            }
        }
        for largest in &mut self.col_scales {
            *largest = reciprocal_power_of_two(*largest);
        }
        for i in 0..self.factors.rows() {
            for (x, scale) in self.factors.row_mut(i).iter_mut().zip(&self.col_scales) {
                *x *= scale;
            }
        }
    }

    /// Brings the largest entry of column k on or below the diagonal to the diagonal.
    ///
    /// If none exceeds ε, changing column k by ε makes the scaled matrix, of size one, singular.
    fn exchange_pivot(&mut self, k: usize) -> Result<()> {
        let mut pivot = k;
        for i in k + 1..self.order() {
            if self.factors[(i, k)].abs() > self.factors[(pivot, k)].abs() {
                pivot = i;
            }
        }
        let size = self.factors[(pivot, k)].abs();
        if size.is_nan() || size <= f64::EPSILON {
            return Err(singular(size));
        }
        self.exchanges[k] = pivot;
        if pivot != k {
            let cols = self.order();
            let (upper, lower) = self.factors.entries.split_at_mut(pivot * cols);
            upper[k * cols..][..cols].swap_with_slice(&mut lower[..cols]);
        }
        Ok(())
    }

    fn eliminate_below(&mut self, k: usize) {
        let n = self.order();
        let (upper, lower) = self.factors.entries.split_at_mut((k + 1) * n);
        let pivot_row = &upper[k * n + k..];
        for row in lower.chunks_exact_mut(n) {
            let factor = row[k] / pivot_row[0];
            row[k] = factor;
            if factor != 0.0 {
                add_scaled(&mut row[k + 1..], -factor, &pivot_row[1..]);
            }
        }
    }

    /// y = U⁻¹ L⁻¹ P b, in place.
    fn solve_scaled(&self, b: &mut [f64]) {
        for (k, &pivot) in self.exchanges.iter().enumerate() {
            b.swap(k, pivot);
        }
        for i in 1..b.len() {
            b[i] -= dot(&self.factors.row(i)[..i], &b[..i]);
        }
        for i in (0..b.len()).rev() {
            let row = &self.factors.row(i)[i..];
            b[i] = (b[i] - dot(&row[1..], &b[i + 1..])) / row[0];
        }
    }
}

fn singular(rcond: f64) -> LinalgError {
    LinalgError::Singular { what: "the matrix to factor", rcond }
}

/// 2⁻ᵉ with `largest` · 2⁻ᵉ in [1, 2); 1 for zero. Subnormal numbers count as the smallest normal.
pub(super) fn reciprocal_power_of_two(largest: f64) -> f64 {
    const EXPONENT_BITS: u64 = 0x7ff0_0000_0000_0000;
    if largest == 0.0 {
        return 1.0;
    }
    1.0 / f64::from_bits(largest.to_bits() & EXPONENT_BITS).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_by_hand_that_needs_pivoting() {
        let a = Matrix::from_slice(3, 3, &[0.0, 2.0, 1.0, 1.0, 0.0, 0.0, 3.0, 0.0, 1.0]);
        let mut x = [5.0, 1.0, 6.0];
        Lu::new(&a).unwrap().solve_in_place(&mut x);
        assert_eq!(x, [1.0, 1.0, 3.0]);
    }

    #[test]
    fn singular_matrices_report_their_condition() {
        let rank_one = Matrix::from_slice(2, 2, &[1.0, 2.0, 3.0, 6.0]);
        assert!(matches!(Lu::new(&rank_one), Err(LinalgError::Singular { rcond: 0.0, .. })));
        // No pivot of the Hilbert matrix vanishes, yet its condition number is about 1e16.
        let hilbert = Matrix::from_fn(12, 12, |i, j| 1.0 / (i + j + 1) as f64);
        let LinalgError::Singular { rcond, .. } = solve(&hilbert, &hilbert).unwrap_err() else {
            panic!("the Hilbert matrix of order 12 is singular to working precision");
        };
        assert!(rcond > 0.0 && rcond < f64::EPSILON, "{rcond:e}");
    }

    #[test]
    fn units_do_not_make_a_matrix_singular() {
        let a = Matrix::from_slice(2, 2, &[2e-150, 1e-10, 1e-10, 1e150]);
        let b = Matrix::from_slice(2, 1, &[1.0, 1.0]);
        let x = solve(&a, &b).unwrap();
        assert!((x[(0, 0)] * 2e-150 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rcond_of_a_known_matrix() {
        // Scaled to [[1, 1], [½, 1]] of norm 2, with the inverse [[2, -2], [-1, 2]] of norm 4.
        let a = Matrix::from_slice(2, 2, &[1.0, 1.0, 1.0, 2.0]);
        assert_eq!(Lu::new(&a).unwrap().rcond(), 1.0 / 8.0);
        assert_eq!(Lu::new(&Matrix::identity(5)).unwrap().rcond(), 1.0);
    }

    #[test]
    fn refactoring_equals_factoring_and_failing_leaves_nan() {
        let first = Matrix::from_fn(4, 4, |i, j| 1.0 / (i + 2 * j + 1) as f64);
        let second = &first + &Matrix::identity(4);
        let mut lu = Lu::new(&first).unwrap();
        let address = lu.factors.entries.as_ptr();
        lu.refactor(&second).unwrap();
        assert_eq!(lu.factors, Lu::new(&second).unwrap().factors);
        assert_eq!(lu.factors.entries.as_ptr(), address, "no new allocation");
        for bad in [Matrix::zeros(4, 4), &first * f64::NAN, Matrix::zeros(4, 5)] {
            lu.refactor(&first).unwrap();
            lu.refactor(&bad).unwrap_err();
            let mut x = [1.0; 4];
            lu.solve_in_place(&mut x);
            assert!(x.iter().all(|x| x.is_nan()), "after {bad:?}");
        }
    }

    #[test]
    fn powers_of_two_bring_numbers_to_one() {
        for x in [1.0, 1.5, 3e-300, 1e300, f64::MAX, f64::MIN_POSITIVE] {
            let scaled = x * reciprocal_power_of_two(x);
            assert!((1.0..2.0).contains(&scaled), "{x:e} -> {scaled}");
        }
        assert!(reciprocal_power_of_two(1e-310).is_finite());
    }
}

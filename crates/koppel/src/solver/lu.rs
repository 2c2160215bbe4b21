//! Dense LU factorisation with partial pivoting, in buffers that are built once.
//!
//!   P A = L U,     A x = b  ⇔  L (U x) = P b
//!
//! Golub & Van Loan, Matrix Computations, 4th ed., algorithm 3.4.1. For the small systems of a micro solver.

/// Factors of one matrix after another, all of the same size.
#[derive(Debug, Clone)]
pub(super) struct Lu {
    n: usize,
    factors: Vec<f64>,
    pivots: Vec<usize>,
}

/// The matrix has no usable pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Singular;

impl Lu {
    /// Room for matrices of `n` rows.
    pub(super) fn new(n: usize) -> Lu {
        Lu { n, factors: vec![0.0; n * n], pivots: vec![0; n] }
    }

    /// The matrix to be factorised, row by row; filled by the caller, overwritten by [`Lu::factorize`].
    pub(super) fn matrix(&mut self) -> &mut [f64] {
        &mut self.factors
    }

    /// Factorises what [`Lu::matrix`] was filled with.
    pub(super) fn factorize(&mut self) -> Result<(), Singular> {
        let n = self.n;
        for k in 0..n {
            let size = |row: usize| self.factors[row * n + k].abs();
            let pivot = (k + 1..n).fold(k, |best, row| if size(row) > size(best) { row } else { best });
            if !(size(pivot) > 0.0 && size(pivot).is_finite()) {
                return Err(Singular);
            }
            self.pivots[k] = pivot;
            for column in 0..if pivot == k { 0 } else { n } {
                self.factors.swap(k * n + column, pivot * n + column);
            }
            let (above, below) = self.factors.split_at_mut((k + 1) * n);
            let upper = &above[k * n..];
            for row in below.chunks_exact_mut(n) {
                let factor = row[k] / upper[k];
                row[k] = factor;
                for (entry, u) in row[k + 1..].iter_mut().zip(&upper[k + 1..]) {
                    *entry -= factor * u;
                }
            }
        }
        Ok(())
    }

    /// Replaces `b` by the solution.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        for (k, &pivot) in self.pivots.iter().enumerate() {
            b.swap(k, pivot);
        }
        let dot = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        for i in 1..n {
            b[i] -= dot(&self.factors[i * n..i * n + i], &b[..i]);
        }
        for i in (0..n).rev() {
            let row = &self.factors[i * n..(i + 1) * n];
            b[i] = (b[i] - dot(&row[i + 1..], &b[i + 1..])) / row[i];
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failing test may panic")]
mod tests {
    use super::*;

    #[test]
    fn solves_what_needs_pivoting_again_and_again() {
        let mut lu = Lu::new(5);
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for _ in 0..100 {
            let mut a: Vec<f64> = (0..25).map(|_| random()).collect();
            a[0] = 0.0;
            let x: Vec<f64> = (0..5).map(|_| random()).collect();
            let mut b: Vec<f64> =
                a.chunks(5).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
            lu.matrix().copy_from_slice(&a);
            lu.factorize().unwrap();
            lu.solve(&mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-10), "{b:?} {x:?}");
        }
    }

    #[test]
    fn singular_and_infinite_matrices_are_refused() {
        let mut lu = Lu::new(2);
        for bad in [[1.0, 2.0, 2.0, 4.0], [0.0; 4], [f64::NAN; 4], [f64::INFINITY, 0.0, 0.0, 1.0]] {
            lu.matrix().copy_from_slice(&bad);
            assert_eq!(lu.factorize(), Err(Singular));
        }
    }
}

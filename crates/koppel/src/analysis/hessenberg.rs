//! Smallest singular values of z I - A for many z: A is brought to Hessenberg form once, then each z costs n² and not n³.
//!
//!   A = Q H Qᵀ,     σ_min(z I - A) = σ_min(z I - H)                                              (1)
//!
//! by inverse iteration on (z I - H)* (z I - H), with factors of the Hessenberg matrix. Golub & Van Loan, 7.4.

use crate::linalg::{Complex, Matrix};

/// Most iterations.
const ITERATIONS: usize = 60;

/// H of (1).
pub(super) struct Hessenberg {
    h: Matrix,
}

impl Hessenberg {
    /// By reflections from both sides.
    pub(super) fn new(a: &Matrix) -> Self {
        let n = a.rows();
        let mut h = a.clone();
        for k in 0..n.saturating_sub(2) {
            let mut v: Vec<f64> = (k + 1..n).map(|i| h[(i, k)]).collect();
            let size = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size == 0.0 {
                continue;
            }
            v[0] += if v[0] >= 0.0 { size } else { -size };
            let square = v.iter().map(|x| x * x).sum::<f64>();
            for j in 0..n {
                let sum: f64 = v.iter().enumerate().map(|(i, v)| v * h[(k + 1 + i, j)]).sum();
                let part = 2.0 * sum / square;
                v.iter().enumerate().for_each(|(i, v)| h[(k + 1 + i, j)] -= part * v);
            }
            for i in 0..n {
                let row = &mut h.row_mut(i)[k + 1..];
                let sum: f64 = v.iter().zip(row.iter()).map(|(v, x)| v * x).sum();
                let part = 2.0 * sum / square;
                row.iter_mut().zip(&v).for_each(|(x, v)| *x -= part * v);
            }
        }
        Hessenberg { h }
    }

    /// σ_min(z I - A).
    pub(super) fn smallest_singular_value(&self, z: Complex) -> f64 {
        let n = self.h.rows();
        let factors = Factors::new(&self.h, z);
        let mut x: Vec<Complex> = (0..n)
            .map(|i| Complex::new(1.0 + 0.5 * (1.3 * i as f64).sin(), (0.7 * i as f64).cos()))
            .collect();
        normalize(&mut x);
        let mut value = f64::INFINITY;
        for _ in 0..ITERATIONS {
            factors.solve_adjoint(&mut x);
            factors.solve(&mut x);
            let grown = normalize(&mut x);
            let new = 1.0 / grown.sqrt();
            if !new.is_finite() {
                return 0.0;
            }
            if (new - value).abs() <= 1e-9 * new {
                return new;
            }
            value = new;
        }
        value
    }
}

fn normalize(x: &mut [Complex]) -> f64 {
    let size = x.iter().map(|x| x.re * x.re + x.im * x.im).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x = *x * (1.0 / size));
    size
}

fn conjugate(z: Complex) -> Complex {
    Complex::new(z.re, -z.im)
}

/// z I - H = P L U, where L has one number per column and P swaps neighbours.
struct Factors {
    n: usize,
    u: Vec<Complex>,
    below: Vec<Complex>,
    is_swapped: Vec<bool>,
}

impl Factors {
    fn new(h: &Matrix, z: Complex) -> Self {
        let n = h.rows();
        let entry = |i: usize, j: usize| {
            if i == j { z - Complex::from(h[(i, j)]) } else { Complex::from(-h[(i, j)]) }
        };
        let mut u: Vec<Complex> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
        let smallest = f64::EPSILON * (h.max_abs() + z.abs());
        let (mut below, mut is_swapped) = (vec![Complex::ZERO; n], vec![false; n]);
        for k in 0..n {
            if k + 1 < n && u[(k + 1) * n + k].abs() > u[k * n + k].abs() {
                let (upper, lower) = u.split_at_mut((k + 1) * n);
                upper[k * n..].swap_with_slice(&mut lower[..n]);
                is_swapped[k] = true;
            }
            // A pivot of zero: z is an eigenvalue to the last digit.
            if u[k * n + k].abs() < smallest {
                u[k * n + k] = Complex::from(smallest);
            }
            if k + 1 < n {
                let factor = u[(k + 1) * n + k] / u[k * n + k];
                below[k] = factor;
                let (upper, lower) = u.split_at_mut((k + 1) * n);
                for (low, up) in lower[k..n].iter_mut().zip(&upper[k * n + k..]) {
                    *low = *low - factor * *up;
                }
            }
        }
        Factors { n, u, below, is_swapped }
    }

    fn solve(&self, x: &mut [Complex]) {
        let n = self.n;
        for k in 0..n.saturating_sub(1) {
            if self.is_swapped[k] {
                x.swap(k, k + 1);
            }
            x[k + 1] = x[k + 1] - self.below[k] * x[k];
        }
        for i in (0..n).rev() {
            let row = &self.u[i * n..(i + 1) * n];
            let known = (i + 1..n).fold(Complex::ZERO, |sum, j| sum + row[j] * x[j]);
            x[i] = (x[i] - known) / row[i];
        }
    }

    fn solve_adjoint(&self, x: &mut [Complex]) {
        let n = self.n;
        for i in 0..n {
            let value = x[i] / conjugate(self.u[i * n + i]);
            x[i] = value;
            let row = &self.u[i * n..(i + 1) * n];
            for j in i + 1..n {
                x[j] = x[j] - conjugate(row[j]) * value;
            }
        }
        for k in (0..n.saturating_sub(1)).rev() {
            x[k] = x[k] - conjugate(self.below[k]) * x[k + 1];
            if self.is_swapped[k] {
                x.swap(k, k + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::svd;

    /// Against the singular values of [[re, -im], [im, re]], which has each of them twice.
    #[test]
    fn smallest_singular_values_are_those_of_the_whole_matrix() {
        let n = 7;
        let a = Matrix::from_fn(n, n, |i, j| (1.0 + 3.1 * i as f64 + 1.7 * (i * j) as f64).sin());
        let hessenberg = Hessenberg::new(&a);
        for angle in [0.0_f64, 0.4, 1.9, 3.1] {
            let z = Complex::new(angle.cos(), angle.sin());
            let whole = Matrix::from_fn(2 * n, 2 * n, |i, j| {
                let diagonal = f64::from(u8::from(i % n == j % n));
                match (i < n, j < n) {
                    (true, true) | (false, false) => z.re * diagonal - a[(i % n, j % n)],
                    (true, false) => -z.im * diagonal,
                    (false, true) => z.im * diagonal,
                }
            });
            let wanted = *svd(&whole).unwrap().s.last().unwrap();
            let found = hessenberg.smallest_singular_value(z);
            assert!((found / wanted - 1.0).abs() < 1e-6, "{angle}: {found}, {wanted}");
        }
    }
}

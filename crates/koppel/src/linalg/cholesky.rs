//! Cholesky's factors of a symmetric positive definite matrix, in place: nothing is allocated.
//!
//!   A = L Lᵀ,     L lower triangular

/// Overwrites the lower triangle of the n x n matrix `a` (row by row) with L. False if `a` is not positive definite in the
/// numbers at hand; what it holds then means nothing.
pub(crate) fn factor(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, rows) = a.split_at_mut(i * n);
        let row = &mut rows[..n];
        for j in 0..i {
            let other = &above[j * n..][..=j];
            let sum = row[j] - fast_dot(&row[..j], &other[..j]);
            row[j] = sum / other[j];
        }
        let rest = row[i] - fast_dot(&row[..i], &row[..i]);
        if !(rest > 0.0 && rest.is_finite()) {
            return false;
        }
        row[i] = rest.sqrt();
    }
    true
}

/// Solves A x = b with the factors in `l`; `b` becomes x.
pub(crate) fn solve(l: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let row = &l[i * n..][..=i];
        b[i] = (b[i] - fast_dot(&row[..i], &b[..i])) / row[i];
    }
    for i in (0..n).rev() {
        b[i] /= l[i * n + i];
        let x = b[i];
        // Row i of L is column i of Lᵀ.
        b[..i].iter_mut().zip(&l[i * n..][..i]).for_each(|(b, l)| *b -= l * x);
    }
}

/// Scalar product, in four sums so that it needs no strict order.
#[inline]
pub(crate) fn fast_dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_it_factors() {
        let a = [4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = (0..3).map(|i| fast_dot(&a[3 * i..][..3], &x)).collect();
        let mut l = a;
        assert!(factor(&mut l, 3));
        solve(&l, 3, &mut b);
        assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
    }

    #[test]
    fn tells_what_is_not_positive_definite() {
        assert!(!factor(&mut [1.0, 2.0, 2.0, 1.0], 2));
        assert!(!factor(&mut [f64::NAN], 1));
    }
}

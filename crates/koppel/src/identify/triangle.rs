//! Triangular factors of data, and their singular vectors, in place.
//!
//! Rows of data d₁, d₂, ... are kept as the upper triangle R of their QR factorisation: Σ d dᵀ = Rᵀ R. A row more is a few
//! rotations (Golub & Van Loan 2013, 6.5). Singular vectors come from one-sided Jacobi rotations (8.6.3 there) of the rows of a
//! matrix: simple, without memory of its own, and accurate for small singular values, which decide the order of a model.

use crate::linalg::{Matrix, dot, orthogonalizing, turn, two_rows};

/// R becomes the factor of the data with one row more; `row` is used up. Entries of `row` before `first` are zero.
pub(super) fn add_row(r: &mut Matrix, row: &mut [f64], first: usize) {
    for j in first..row.len() {
        if row[j] == 0.0 {
            continue;
        }
        let own = &mut r.row_mut(j)[j..];
        let length = own[0].hypot(row[j]);
        let (c, s) = (own[0] / length, row[j] / length);
        for (a, b) in own.iter_mut().zip(&mut row[j..]) {
            (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
        }
    }
}

/// R becomes the factor of its own data and those of `other`; `row` is room for one row.
pub(super) fn join(r: &mut Matrix, other: &Matrix, row: &mut [f64]) {
    for first in 0..other.rows() {
        row.copy_from_slice(other.row(first));
        add_row(r, row, first);
    }
}

/// Rotates rows of `a` until their first `columns` entries are orthogonal, then sorts them by length: row i is σ_i v_iᵀ, with
/// singular values σ and right singular vectors v of those columns. Further columns take part in the rotations.
pub(super) fn orthogonalize(a: &mut Matrix, columns: usize, lengths: &mut [f64]) {
    const SWEEPS: usize = 40;
    let rows = a.rows();
    for _ in 0..SWEEPS {
        let largest = (0..rows).map(|i| dot(&a.row(i)[..columns], &a.row(i)[..columns])).fold(0.0, f64::max);
        let mut is_done = true;
        for i in 0..rows {
            for j in i + 1..rows {
                is_done &= !rotate(a, i, j, columns, largest);
            }
        }
        if is_done {
            break;
        }
    }
    for (i, length) in lengths.iter_mut().enumerate() {
        *length = dot(&a.row(i)[..columns], &a.row(i)[..columns]).sqrt();
    }
    sort_rows(a, lengths);
}

/// Makes two rows orthogonal; false if they were, or if both are nothing but round-off.
fn rotate(a: &mut Matrix, i: usize, j: usize, columns: usize, largest: f64) -> bool {
    let (x, y) = two_rows(a, i, j);
    let (xx, yy) = (dot(&x[..columns], &x[..columns]), dot(&y[..columns], &y[..columns]));
    let xy = dot(&x[..columns], &y[..columns]);
    let round_off = f64::EPSILON * f64::EPSILON * largest;
    if xy.abs() <= 4.0 * f64::EPSILON * (xx * yy).sqrt() || xx.max(yy) <= round_off || xy == 0.0 {
        return false;
    }
    turn(x, y, orthogonalizing(xx, yy, xy));
    true
}

/// Longest first.
fn sort_rows(a: &mut Matrix, lengths: &mut [f64]) {
    for i in 0..lengths.len() {
        let best = (i..lengths.len()).fold(i, |best, k| if lengths[k] > lengths[best] { k } else { best });
        if best != i {
            lengths.swap(i, best);
            let (upper, lower) = two_rows(a, i, best);
            upper.swap_with_slice(lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::svd;

    fn numbers(rows: usize, cols: usize) -> Matrix {
        let mut state = 7_u32;
        Matrix::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24) - 0.5
        })
    }

    #[test]
    fn the_factor_has_the_gram_matrix_of_the_data() {
        let data = numbers(20, 5);
        let mut halves = [Matrix::zeros(5, 5), Matrix::zeros(5, 5)];
        for i in 0..20 {
            add_row(&mut halves[i / 12], &mut data.row(i).to_vec(), 0);
        }
        let [mut r, other] = halves;
        join(&mut r, &other, &mut [0.0; 5]);
        let gap = &(&r.transpose() * &r) - &(&data.transpose() * &data);
        assert!(gap.max_abs() < 1e-13, "{gap:?}");
        assert!((1..5).all(|i| (0..i).all(|j| r[(i, j)] == 0.0)));
    }

    #[test]
    fn singular_values_and_vectors_of_a_matrix_of_low_rank() {
        let a = &numbers(6, 3) * &numbers(3, 7);
        let mut rows = a.clone();
        let mut lengths = [0.0; 6];
        orthogonalize(&mut rows, 7, &mut lengths);
        let svd = svd(&a).unwrap();
        for (seen, truth) in lengths.iter().zip(&svd.s) {
            assert!((seen - truth).abs() < 1e-14, "{lengths:?} {:?}", svd.s);
        }
        for i in 0..3 {
            let along: f64 = (0..7).map(|j| rows[(i, j)] / lengths[i] * svd.v[(j, i)]).sum();
            assert!((along.abs() - 1.0).abs() < 1e-13, "{along}");
        }
    }
}

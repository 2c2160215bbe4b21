//! Operators on matrices: indices, sums, products, products with vectors.
//!
//! Shapes that do not fit are a bug of the caller and panic.

use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub, SubAssign};

use super::Matrix;

impl Matrix {
    /// The product A x.
    ///
    /// # Panics
    /// If `x` has not one value per column.
    pub fn mul_vec(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        self.mul_vec_into(x, &mut out);
        out
    }

    /// `out` = A x, without allocation.
    ///
    /// # Panics
    /// If `x` has not one value per column, or `out` not one per row.
    #[inline]
    pub fn mul_vec_into(&self, x: &[f64], out: &mut [f64]) {
        self.assert_fits(x, out);
        if self.cols == 0 {
            return out.fill(0.0);
        }
        for (out, row) in out.iter_mut().zip(self.entries.chunks_exact(self.cols)) {
            *out = dot(row, x);
        }
    }

    /// `out` += A x, without allocation.
    ///
    /// # Panics
    /// If `x` has not one value per column, or `out` not one per row.
    #[inline]
    pub fn mul_vec_add(&self, x: &[f64], out: &mut [f64]) {
        self.assert_fits(x, out);
        if self.cols == 0 {
            return;
        }
        for (out, row) in out.iter_mut().zip(self.entries.chunks_exact(self.cols)) {
            *out += dot(row, x);
        }
    }

    /// `out` = A B; allocates only if `out` has to grow.
    pub(crate) fn mul_into(&self, other: &Matrix, out: &mut Matrix) {
        out.reshape(self.rows, other.cols);
        self.mul_add(other, out);
    }

    /// `out` += A B, without allocation. Zeros of A cost nothing: models joined by wires are sparse.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub(crate) fn mul_add(&self, other: &Matrix, out: &mut Matrix) {
        assert!(
            self.cols == other.rows && out.rows == self.rows && out.cols == other.cols,
            "a product needs equal inner sizes, got {}×{} and {}×{}",
            self.rows,
            self.cols,
            other.rows,
            other.cols
        );
        for i in 0..self.rows {
            let out = &mut out.entries[i * other.cols..][..other.cols];
            for (k, &factor) in self.row(i).iter().enumerate() {
                if factor != 0.0 {
                    add_scaled(out, factor, other.row(k));
                }
            }
        }
    }

    /// Adds a multiple of another matrix.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Matrix) {
        self.assert_same_shape(other);
        add_scaled(&mut self.entries, factor, &other.entries);
    }

    #[inline]
    fn assert_fits(&self, x: &[f64], out: &[f64]) {
        assert!(
            x.len() == self.cols && out.len() == self.rows,
            "a {}×{} matrix maps vectors of its column count to vectors of its row count, got {} -> {}",
            self.rows,
            self.cols,
            x.len(),
            out.len()
        );
    }

    fn zip_with(&self, other: &Matrix, f: impl Fn(f64, f64) -> f64) -> Matrix {
        self.assert_same_shape(other);
        let pairs = self.entries.iter().zip(&other.entries);
        Matrix { rows: self.rows, cols: self.cols, entries: pairs.map(|(&a, &b)| f(a, b)).collect() }
    }

    /// The matrix of `f` of every entry.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Matrix {
        Matrix { rows: self.rows, cols: self.cols, entries: self.entries.iter().map(|&a| f(a)).collect() }
    }

    fn assert_same_shape(&self, other: &Matrix) {
        assert!(
            self.rows == other.rows && self.cols == other.cols,
            "a sum needs equal shapes, got {}×{} and {}×{}",
            self.rows,
            self.cols,
            other.rows,
            other.cols
        );
    }
}

/// Σ aᵢ bᵢ, in this order.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `out` += factor · `x`.
#[inline]
pub(super) fn add_scaled(out: &mut [f64], factor: f64, x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += factor * x;
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        assert!(j < self.cols, "column {j} of {}", self.cols);
        &self.entries[i * self.cols + j]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        assert!(j < self.cols, "column {j} of {}", self.cols);
        &mut self.entries[i * self.cols + j]
    }
}

impl Mul for &Matrix {
    type Output = Matrix;

    fn mul(self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.rows, other.cols);
        self.mul_add(other, &mut product);
        product
    }
}

impl Mul<f64> for &Matrix {
    type Output = Matrix;

    fn mul(self, factor: f64) -> Matrix {
        self.map(|a| a * factor)
    }
}

impl Add for &Matrix {
    type Output = Matrix;

    fn add(self, other: &Matrix) -> Matrix {
        self.zip_with(other, |a, b| a + b)
    }
}

impl Sub for &Matrix {
    type Output = Matrix;

    fn sub(self, other: &Matrix) -> Matrix {
        self.zip_with(other, |a, b| a - b)
    }
}

impl Neg for &Matrix {
    type Output = Matrix;

    fn neg(self) -> Matrix {
        self.map(|a| -a)
    }
}

impl AddAssign<&Matrix> for Matrix {
    fn add_assign(&mut self, other: &Matrix) {
        self.assert_same_shape(other);
        add_scaled(&mut self.entries, 1.0, &other.entries);
    }
}

impl SubAssign<&Matrix> for Matrix {
    fn sub_assign(&mut self, other: &Matrix) {
        self.assert_same_shape(other);
        add_scaled(&mut self.entries, -1.0, &other.entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a() -> Matrix {
        Matrix::from_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    }

    #[test]
    fn product_by_hand() {
        let b = Matrix::from_slice(3, 2, &[1.0, 0.0, -1.0, 2.0, 0.5, 1.0]);
        let expected = Matrix::from_slice(2, 2, &[0.5, 7.0, 2.0, 16.0]);
        assert_eq!(&a() * &b, expected);
    }

    #[test]
    fn vector_products_by_hand() {
        let x = [1.0, -1.0, 2.0];
        assert_eq!(a().mul_vec(&x), [5.0, 11.0]);
        let mut out = [1.0, 2.0];
        a().mul_vec_add(&x, &mut out);
        assert_eq!(out, [6.0, 13.0]);
        a().mul_vec_into(&x, &mut out);
        assert_eq!(out, [5.0, 11.0]);
    }

    #[test]
    fn sums_and_multiples() {
        let twice = &a() + &a();
        assert_eq!(twice, &a() * 2.0);
        assert_eq!(&twice - &a(), a());
        assert_eq!(&a() + &-&a(), Matrix::zeros(2, 3));
        let mut sum = a();
        sum += &a();
        assert_eq!(sum, twice);
        sum -= &a();
        assert_eq!(sum, a());
    }

    #[test]
    fn no_columns_map_to_zero() {
        let mut out = [7.0, 7.0];
        Matrix::zeros(2, 0).mul_vec_add(&[], &mut out);
        assert_eq!(out, [7.0, 7.0]);
        Matrix::zeros(2, 0).mul_vec_into(&[], &mut out);
        assert_eq!(out, [0.0, 0.0]);
        assert_eq!(&Matrix::zeros(2, 0) * &Matrix::zeros(0, 3), Matrix::zeros(2, 3));
    }

    #[test]
    #[should_panic(expected = "column 3 of 3")]
    fn a_column_outside_does_not_read_the_next_row() {
        let _ = a()[(0, 3)];
    }

    #[test]
    #[should_panic(expected = "equal inner sizes")]
    fn product_of_wrong_shapes_panics() {
        let _ = &a() * &a();
    }

    #[test]
    #[should_panic(expected = "equal shapes")]
    fn sum_of_wrong_shapes_panics() {
        let _ = &a() + &a().transpose();
    }

    #[test]
    #[should_panic(expected = "maps vectors")]
    fn vector_of_wrong_length_panics() {
        let _ = a().mul_vec(&[1.0, 2.0]);
    }
}

//! The dense matrix.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::{LinalgError, Result};

/// A dense matrix of `f64`, stored row by row.
///
/// Either count may be zero. In texts it is a list of rows, so that a matrix without rows comes back
/// without columns; in binary formats the counts come first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) entries: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, entries: vec![0.0; rows * cols] }
    }

    /// The identity matrix of order `n`.
    pub fn identity(n: usize) -> Self {
        Self::diagonal(&vec![1.0; n])
    }

    /// The square matrix with `values` on its diagonal.
    pub fn diagonal(values: &[f64]) -> Self {
        let mut a = Self::zeros(values.len(), values.len());
        for (i, &value) in values.iter().enumerate() {
            a[(i, i)] = value;
        }
        a
    }

    /// The matrix whose entry in row i, column j is `entry(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut entries = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            entries.extend((0..cols).map(|j| entry(i, j)));
        }
        Self { rows, cols, entries }
    }

    /// The matrix with the given rows; an error if their lengths differ.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self> {
        let cols = rows.first().map_or(0, Vec::len);
        if let Some(odd) = rows.iter().find(|row| row.len() != cols) {
            return Err(LinalgError::Shape {
                what: "a row of the matrix",
                expected: (1, cols),
                found: (1, odd.len()),
            });
        }
        Ok(Self { rows: rows.len(), cols, entries: rows.concat() })
    }

    /// The matrix with the given entries, row by row.
    ///
    /// # Panics
    /// If `entries` does not hold `rows · cols` values.
    pub fn from_slice(rows: usize, cols: usize, entries: &[f64]) -> Self {
        assert_eq!(entries.len(), rows * cols, "a {rows}×{cols} matrix needs rows · cols entries");
        Self { rows, cols, entries: entries.to_vec() }
    }

    /// Takes another shape, with zeros. Allocates only where it grows beyond what it has ever been.
    pub(crate) fn reshape(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols) = (rows, cols);
        self.entries.clear();
        self.entries.resize(rows * cols, 0.0);
    }

    /// Becomes a copy of another matrix. Allocates only as [`Matrix::reshape`] does.
    pub(crate) fn copy_from(&mut self, other: &Matrix) {
        (self.rows, self.cols) = (other.rows, other.cols);
        self.entries.clear();
        self.entries.extend_from_slice(&other.entries);
    }

    /// Becomes the identity matrix of order `n`.
    pub(crate) fn set_identity(&mut self, n: usize) {
        self.reshape(n, n);
        self.add_to_diagonal(1.0);
    }

    /// Adds `value` to the diagonal.
    pub(crate) fn add_to_diagonal(&mut self, value: f64) {
        for i in 0..self.rows.min(self.cols) {
            self.entries[i * self.cols + i] += value;
        }
    }

    /// Multiplies every entry.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| *entry *= factor);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether there are as many rows as columns.
    pub fn is_square(&self) -> bool {
        self.rows == self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, to write to.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.cols..(i + 1) * self.cols]
    }

    /// Column `j`, copied.
    pub fn col(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self[(i, j)]).collect()
    }

    /// All entries, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.entries
    }

    /// All entries, row by row, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// The transpose.
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// The `rows`×`cols` block whose first entry is (`row`, `col`), copied.
    ///
    /// # Panics
    /// If the block reaches outside the matrix.
    pub fn block(&self, row: usize, col: usize, rows: usize, cols: usize) -> Self {
        self.assert_holds_block(row, col, rows, cols);
        Self::from_fn(rows, cols, |i, j| self[(row + i, col + j)])
    }

    /// Overwrites the block whose first entry is (`row`, `col`).
    ///
    /// # Panics
    /// If the block reaches outside the matrix.
    pub fn set_block(&mut self, row: usize, col: usize, block: &Matrix) {
        self.assert_holds_block(row, col, block.rows, block.cols);
        for i in 0..block.rows {
            self.row_mut(row + i)[col..col + block.cols].copy_from_slice(block.row(i));
        }
    }

    fn assert_holds_block(&self, row: usize, col: usize, rows: usize, cols: usize) {
        assert!(
            row + rows <= self.rows && col + cols <= self.cols,
            "the {rows}×{cols} block at ({row}, {col}) must lie inside the {}×{} matrix",
            self.rows,
            self.cols
        );
    }

    /// The 1-norm: largest column sum of magnitudes.
    pub fn norm_1(&self) -> f64 {
        let mut sums = vec![0.0; self.cols];
        for i in 0..self.rows {
            for (sum, entry) in sums.iter_mut().zip(self.row(i)) {
                *sum += entry.abs();
            }
        }
        sums.into_iter().fold(0.0, largest)
    }

    /// The ∞-norm: largest row sum of magnitudes.
    pub fn norm_inf(&self) -> f64 {
        (0..self.rows).map(|i| self.row(i).iter().map(|x| x.abs()).sum()).fold(0.0, largest)
    }

    /// The Frobenius norm, free of overflow and underflow on the way.
    pub fn norm_frobenius(&self) -> f64 {
        let scale = self.max_abs();
        if scale == 0.0 || !scale.is_finite() {
            return scale;
        }
        let sum: f64 = self.entries.iter().map(|x| (x / scale).powi(2)).sum();
        scale * sum.sqrt()
    }

    /// The largest magnitude of any entry.
    pub fn max_abs(&self) -> f64 {
        self.entries.iter().map(|x| x.abs()).fold(0.0, largest)
    }

    /// Whether no entry is NaN or infinite.
    pub fn is_finite(&self) -> bool {
        self.entries.iter().all(|x| x.is_finite())
    }
}

impl Serialize for Matrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_seq((0..self.rows).map(|row| self.row(row)))
        } else {
            (self.rows, self.cols, &self.entries).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Matrix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let rows = Vec::<Vec<f64>>::deserialize(deserializer)?;
            return Self::from_rows(&rows).map_err(D::Error::custom);
        }
        let (rows, cols, entries) = <(usize, usize, Vec<f64>)>::deserialize(deserializer)?;
        if rows.checked_mul(cols) != Some(entries.len()) {
            return Err(D::Error::custom("a matrix does not have as many entries as its shape says"));
        }
        Ok(Self { rows, cols, entries })
    }
}

/// The larger of two numbers, NaN if either is: `f64::max` would hide it.
fn largest(a: f64, b: f64) -> f64 {
    if b.is_nan() || b > a { b } else { a }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    use super::*;

    fn sample() -> Matrix {
        Matrix::from_slice(2, 3, &[1.0, -2.0, 3.0, 4.0, 5.0, -6.0])
    }

    #[test]
    fn rows_of_different_length_are_refused() {
        let error = Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0]]).unwrap_err();
        assert_eq!(error.to_string(), "a row of the matrix has shape 1×1, expected 1×2");
    }

    #[test]
    fn transpose_swaps_indices() {
        let a = sample();
        assert_eq!((a.transpose().rows(), a.transpose().cols()), (3, 2));
        assert_eq!(a.transpose()[(2, 0)], 3.0);
        assert_eq!(a.col(1), [-2.0, 5.0]);
    }

    #[test]
    fn a_block_comes_back_from_where_it_was_put() {
        let mut a = Matrix::zeros(4, 5);
        a.set_block(1, 2, &sample());
        assert_eq!(a.block(1, 2, 2, 3), sample());
        assert_eq!(a[(2, 4)], -6.0);
        assert_eq!(a.as_slice().iter().filter(|x| **x != 0.0).count(), 6);
    }

    #[test]
    #[should_panic(expected = "must lie inside")]
    fn a_block_outside_panics() {
        let _ = sample().block(1, 2, 2, 1);
    }

    #[test]
    fn norms_have_their_textbook_values() {
        let a = sample();
        assert_eq!((a.norm_1(), a.norm_inf(), a.max_abs()), (9.0, 15.0, 6.0));
        assert!((a.norm_frobenius() - 91_f64.sqrt()).abs() < 1e-14);
        let huge = Matrix::from_slice(1, 2, &[3e300, 4e300]);
        assert!((huge.norm_frobenius() / 5e300 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn norms_do_not_hide_nan() {
        for at in 0..3 {
            let mut a = Matrix::from_slice(3, 1, &[1.0, 2.0, 3.0]);
            a[(at, 0)] = f64::NAN;
            assert!(!a.is_finite());
            for a in [a.clone(), a.transpose()] {
                assert!(a.norm_1().is_nan() && a.norm_inf().is_nan());
                assert!(a.norm_frobenius().is_nan() && a.max_abs().is_nan());
            }
        }
    }

    #[test]
    fn serialised_as_rows() {
        let rows = vec![vec![1.0, -2.0, 3.0], vec![4.0, 5.0, -6.0]];
        let back = Matrix::deserialize(IntoDeserializer::<Error>::into_deserializer(rows));
        assert_eq!(back.unwrap(), sample());
        let ragged = vec![vec![1.0], vec![]];
        let refused = Matrix::deserialize(IntoDeserializer::<Error>::into_deserializer(ragged));
        assert!(refused.unwrap_err().to_string().contains("expected 1×1"));
    }
}

//! Least squares on signals that hardly differ: by an orthonormal basis, without those that tell nothing of their own.

/// What is left of a signal without the others, relative to itself, below which it tells nothing of its own.
const DEPENDENT: f64 = 1e-7;

/// Values of a signal less their mean.
pub(super) struct Column {
    values: Vec<f64>,
    /// Its norm; zero if it moves by round-off alone.
    length: f64,
}

impl Column {
    pub(super) fn new(mut values: Vec<f64>) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        values.iter_mut().for_each(|v| *v -= mean);
        let length = dot(&values, &values).sqrt();
        let is_still = length <= 1e-12 * largest * (values.len() as f64).sqrt();
        Column { length: if is_still { 0.0 } else { length }, values }
    }
}

/// Signals, and an orthonormal basis of those that differ.
pub(super) struct Regression {
    columns: Vec<Column>,
    /// Which column each vector was made of, and the vector.
    basis: Vec<(usize, Vec<f64>)>,
}

impl Regression {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        let mut basis: Vec<(usize, Vec<f64>)> = Vec::new();
        for (at, own) in columns.iter().enumerate().filter(|(_, own)| own.length > 0.0) {
            let mut rest = own.values.clone();
            // Twice is enough.
            for (_, other) in basis.iter().chain(&basis) {
                let along = dot(other, &rest);
                rest.iter_mut().zip(other).for_each(|(b, a)| *b -= along * a);
            }
            let length = dot(&rest, &rest).sqrt();
            if length > DEPENDENT * own.length {
                rest.iter_mut().for_each(|v| *v /= length);
                basis.push((at, rest));
            }
        }
        Regression { columns, basis }
    }

    /// True if a signal tells something of its own.
    pub(super) fn uses(&self, column: usize) -> bool {
        self.basis.iter().any(|(at, _)| *at == column)
    }

    /// Weights of the signals that come closest to another one.
    pub(super) fn weights(&self, target: &Column) -> Vec<(usize, f64)> {
        let mut weights = vec![0.0; self.basis.len()];
        // Back substitution with R_ij = q_i · column_j.
        for i in (0..self.basis.len()).rev() {
            let (at, q) = &self.basis[i];
            let later = self.basis[i + 1..].iter().zip(&weights[i + 1..]);
            let later: f64 = later.map(|((at, _), weight)| weight * dot(q, &self.columns[*at].values)).sum();
            weights[i] = (dot(q, &target.values) - later) / dot(q, &self.columns[*at].values);
        }
        self.basis.iter().map(|(at, _)| *at).zip(weights).collect()
    }
}

impl Regression {
    /// True if it is not known well how a signal acts on another one: by more than a tenth of what it does, and more than a
    /// hundredth of what the other one does. What the regression leaves is as much as may be wrong.
    pub(super) fn is_uncertain(&self, target: &Column, weights: &[(usize, f64)], column: usize) -> bool {
        let Some(place) = self.basis.iter().position(|(at, _)| *at == column) else { return false };
        let mut rest = target.values.clone();
        for (at, weight) in weights {
            rest.iter_mut().zip(&self.columns[*at].values).for_each(|(rest, v)| *rest -= weight * v);
        }
        let own = &self.columns[column];
        let unknown = dot(&rest, &rest).sqrt() / dot(&self.basis[place].1, &own.values).abs();
        unknown > 0.1 * weights[place].1.abs() && unknown * own.length > 0.01 * target.length
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

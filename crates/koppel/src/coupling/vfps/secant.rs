//! What the trials of one step tell about the next, besides the models.
//!
//! The models make η(u) of what inputs u lacked, and u + η(u) is the next trial; where they are wrong it may be no better, or
//! worse. But the trials so far show how η really changes with u. With Δ the differences of earlier trials to the newest,
//!
//!   γ = arg min |η - Σ γ_i Δη_i|,     u ← u + η - Σ γ_i (Δu_i + Δη_i)                                     (1)
//!
//! Anderson 1965. Columns that are nearly combinations of newer ones are left out. Trials around an event say little about what
//! lies beyond them: where (1) would go further than η alone, η alone is taken.

use crate::linalg::dot;

/// Trials that are remembered.
const MOST: usize = 7;
/// What is left of a column after newer ones, relative to it, below which it is left out.
const FILTER: f64 = 1e-3;

/// The trials of the step under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Secant {
    width: usize,
    count: usize,
    /// u and η of the trials, oldest first.
    given: Vec<f64>,
    wanted: Vec<f64>,
    /// Orthogonal columns of Δη, the same combinations of Δu + Δη, and the part of η that is left.
    columns: Vec<f64>,
    moves: Vec<f64>,
    rest: Vec<f64>,
}

impl Secant {
    /// Room for so many numbers per trial.
    pub(super) fn allocate(&mut self, width: usize) {
        self.width = width;
        self.count = 0;
        for list in [&mut self.given, &mut self.wanted, &mut self.columns, &mut self.moves] {
            list.clear();
            list.resize(MOST * width, 0.0);
        }
        self.rest.clear();
        self.rest.resize(width, 0.0);
    }

    /// Forgets all trials.
    pub(super) fn begin(&mut self) {
        self.count = 0;
    }

    /// (1): takes a trial, and turns its η into what is added to its u.
    pub(super) fn improve(&mut self, given: &[f64], wanted: &mut [f64]) {
        let n = self.width;
        self.rest.copy_from_slice(wanted);
        self.keep(given);
        let (old, newest) = (self.count - 1, (self.count - 1) * n);
        let mut rank = 0;
        for trial in (0..old).rev() {
            let (before, after) = (&self.given[trial * n..][..n], &self.wanted[trial * n..][..n]);
            let (given, rest) = (&self.given[newest..][..n], &self.wanted[newest..][..n]);
            let (columns, column) = self.columns.split_at_mut(rank * n);
            let (moves, change) = self.moves.split_at_mut(rank * n);
            let (column, change) = (&mut column[..n], &mut change[..n]);
            for i in 0..n {
                column[i] = after[i] - rest[i];
                change[i] = column[i] + before[i] - given[i];
            }
            let whole = dot(column, column).sqrt();
            for (q, d) in columns.chunks_exact(n).zip(moves.chunks_exact(n)) {
                let along = dot(q, column);
                column.iter_mut().zip(q).for_each(|(c, q)| *c -= along * q);
                change.iter_mut().zip(d).for_each(|(c, d)| *c -= along * d);
            }
            let left = dot(column, column).sqrt();
            let is_new = left > FILTER * whole && left.is_finite();
            if !is_new {
                continue;
            }
            column.iter_mut().chain(change.iter_mut()).for_each(|c| *c /= left);
            let along = dot(column, &self.rest);
            self.rest.iter_mut().zip(&*column).for_each(|(r, q)| *r -= along * q);
            wanted.iter_mut().zip(&*change).for_each(|(w, d)| *w -= along * d);
            rank += 1;
        }
        let models = &self.wanted[newest..][..n];
        let is_shorter = dot(wanted, wanted) <= dot(models, models);
        if !is_shorter {
            wanted.copy_from_slice(models);
        }
    }

    /// Remembers a trial, its η in `rest`; the oldest goes.
    fn keep(&mut self, given: &[f64]) {
        let n = self.width;
        if self.count == MOST {
            self.given.copy_within(n.., 0);
            self.wanted.copy_within(n.., 0);
            self.count -= 1;
        }
        self.given[self.count * n..][..n].copy_from_slice(given);
        self.wanted[self.count * n..][..n].copy_from_slice(&self.rest);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of η after so many trials, η = A u + b - u: nothing is known of A, alone η would lead away from u = A u + b.
    fn left(trials: usize) -> f64 {
        let a = [[0.0, -1.2, 0.3], [1.1, -0.5, 0.0], [0.3, 0.0, -1.4]];
        let b = [1.0, -2.0, 0.5];
        let residual = |u: &[f64]| -> Vec<f64> {
            (0..3).map(|i| (0..3).map(|j| a[i][j] * u[j]).sum::<f64>() + b[i] - u[i]).collect()
        };
        let mut secant = Secant::default();
        secant.allocate(3);
        let mut u = vec![0.0; 3];
        for _ in 0..trials {
            let mut step = residual(&u);
            secant.improve(&u, &mut step);
            u.iter_mut().zip(&step).for_each(|(u, d)| *u += d);
        }
        residual(&u).iter().map(|r| r * r).sum::<f64>().sqrt()
    }

    #[test]
    fn trials_find_what_models_do_not_know() {
        assert!(left(3) > 1e-3 && left(4) < 1e-9, "{} {}", left(3), left(4));
    }
}

//! Whether what was seen can tell the parameters apart.
//!
//!   G = Σ λ^{k-i} (φ_i - φ̄)(φ_i - φ̄)ᵀ,     excitation = smallest / largest eigenvalue of G scaled to ones on its diagonal
//!
//! Genser 2020, 2.3.3, definition 1: φ must move in all directions. Without means, because the constant is a parameter of its
//! own, and scaled, because the figure must not depend on units. A regressor that never moves gives 0.

use super::triangle::orthogonalize;
use crate::linalg::Matrix;
use crate::tape::Tape;

/// Below this, a model is not to be trusted: parameters differ that fit equally well to about 1e-5 of the movement.
pub(crate) const LEAST: f64 = 1e-10;

/// Mean and scatter of a regressor, with forgetting.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    weight: f64,
    mean: Vec<f64>,
    scatter: Matrix,
    away: Vec<f64>,
    scaled: Matrix,
    eigenvalues: Vec<f64>,
}

impl Scatter {
    pub(super) fn new(count: usize) -> Self {
        Scatter {
            weight: 0.0,
            mean: vec![0.0; count],
            scatter: Matrix::zeros(count, count),
            away: vec![0.0; count],
            scaled: Matrix::zeros(count, count),
            eigenvalues: vec![0.0; count],
        }
    }

    /// Takes one regressor in.
    pub(super) fn add(&mut self, phi: &[f64], forgetting: f64) {
        let old = forgetting * self.weight;
        self.weight = old + 1.0;
        for ((away, mean), phi) in self.away.iter_mut().zip(&mut self.mean).zip(phi) {
            *away = phi - *mean;
            *mean += *away / self.weight;
        }
        let share = old / self.weight;
        for i in 0..self.away.len() {
            let own = share * self.away[i];
            for (sum, other) in self.scatter.row_mut(i).iter_mut().zip(&self.away) {
                *sum = forgetting * *sum + own * other;
            }
        }
    }

    /// The figure for those regressors that can move at all.
    pub(super) fn excitation(&mut self, can_move: impl Fn(usize) -> bool) -> f64 {
        let Scatter { weight, mean, scatter, scaled, eigenvalues, .. } = self;
        let size = |j: usize| scatter[(j, j)].max(0.0).sqrt();
        scaled.as_mut_slice().fill(0.0);
        let mut count = 0;
        for i in (0..mean.len()).filter(|i| can_move(*i)) {
            if size(i) <= 1e-10 * mean[i].abs() * weight.sqrt() {
                return 0.0;
            }
            for (column, j) in (0..mean.len()).filter(|j| can_move(*j)).enumerate() {
                scaled[(count, column)] = scatter[(i, j)] / size(i) / size(j).max(f64::MIN_POSITIVE);
            }
            count += 1;
        }
        if count == 0 {
            return 1.0;
        }
        orthogonalize(scaled, count, eigenvalues);
        eigenvalues[count - 1] / eigenvalues[0]
    }

    /// Shows `tape` everything.
    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        tape.number(&mut self.weight);
        tape.numbers(&mut self.mean);
        tape.numbers(self.scatter.as_mut_slice());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(regressor: impl Fn(f64) -> [f64; 3], forgetting: f64) -> f64 {
        let mut scatter = Scatter::new(3);
        (0..500).for_each(|k| scatter.add(&regressor(f64::from(k)), forgetting));
        scatter.excitation(|_| true)
    }

    #[test]
    fn tells_rich_signals_from_poor_ones() {
        for forgetting in [1.0, 0.99] {
            let rich = seen(|k| [k.sin(), 1e6 * (1.7 * k).sin(), 300.0 + (2.3 * k).cos()], forgetting);
            assert!(rich > 0.3, "{rich}");
            // One sine has two directions only (thesis: order 2 for each frequency).
            let poor = seen(|k| [k.sin(), (k - 1.0).sin(), (k - 2.0).sin()], forgetting);
            assert!(poor < 1e-14, "{poor}");
            assert_eq!(seen(|k| [k.sin(), (3.0 * k).sin(), 7.0], forgetting), 0.0);
            let mut partly = Scatter::new(2);
            (0..100).for_each(|k| partly.add(&[f64::from(k).sin(), 7.0], forgetting));
            assert_eq!(partly.excitation(|j| j == 0), 1.0);
        }
    }

    /// By hand: two regressors with correlation ρ have eigenvalues 1 ± ρ.
    #[test]
    fn two_correlated_regressors() {
        let mut scatter = Scatter::new(2);
        for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            scatter.add(&[5.0 + a, 10.0 * (a + 0.5 * b)], 1.0);
        }
        let rho = 1.0 / 1.25_f64.sqrt();
        assert!((scatter.excitation(|_| true) - (1.0 - rho) / (1.0 + rho)).abs() < 1e-14);
    }
}

//! Factors of a matrix that is mostly zeros.
//!
//!   A = L U with both sides of A in the order of the pivots                                    (1)
//!
//! Pivots are taken from the diagonal, the next one with the least product of other entries in its row and its column (Markowitz
//! 1957): chains fill nothing, rings one column. It suits I - K where K is what subsystems pass on to each other.

use super::LinalgError;
use super::Result;
use std::collections::{BTreeMap, BTreeSet};

/// A diagonal entry is a pivot if it is at least this share of the largest entry of its row.
const PIVOT: f64 = 1e-3;

/// The factors of a sparse square matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseLu {
    pivots: Vec<Pivot>,
    /// Of L, by pivot: row and factor.
    below: Vec<(u32, f64)>,
    /// Of U, by pivot: column and entry.
    right: Vec<(u32, f64)>,
}

/// A pivot, and where its entries end.
#[derive(Clone, Copy, Debug)]
struct Pivot {
    at: u32,
    below: u32,
    right: u32,
    inverse: f64,
}

impl SparseLu {
    /// Of I less the entries (row, column, value), which add up; an error if it is singular, or has no pivots on its diagonal.
    pub(crate) fn of_identity_less(order: usize, entries: &[(usize, usize, f64)]) -> Result<Self> {
        let mut rows: Vec<BTreeMap<usize, f64>> = (0..order).map(|i| BTreeMap::from([(i, 1.0)])).collect();
        let mut columns: Vec<BTreeSet<usize>> = (0..order).map(|i| BTreeSet::from([i])).collect();
        for (i, j, value) in entries.iter().filter(|(.., value)| *value != 0.0) {
            *rows[*i].entry(*j).or_default() -= value;
            columns[*j].insert(*i);
        }
        let mut lu = SparseLu::default();
        let mut left: Vec<usize> = (0..order).collect();
        while !left.is_empty() {
            let Some(next) = cheapest(&left, &rows, &columns) else {
                return Err(LinalgError::Singular { what: "a sparse matrix", rcond: 0.0 });
            };
            lu.eliminate(left.swap_remove(next), &mut rows, &mut columns);
        }
        Ok(lu)
    }

    fn eliminate(&mut self, at: usize, rows: &mut [BTreeMap<usize, f64>], columns: &mut [BTreeSet<usize>]) {
        let mut row = std::mem::take(&mut rows[at]);
        let pivot = row.remove(&at).unwrap_or(f64::NAN);
        row.keys().for_each(|j| {
            columns[*j].remove(&at);
        });
        for i in std::mem::take(&mut columns[at]).into_iter().filter(|i| *i != at) {
            let factor = rows[i].remove(&at).unwrap_or(0.0) / pivot;
            self.below.push((i as u32, factor));
            for (j, value) in &row {
                *rows[i].entry(*j).or_default() -= factor * value;
                columns[*j].insert(i);
            }
        }
        self.right.extend(row.iter().map(|(j, value)| (*j as u32, *value)));
        let (below, right) = (self.below.len() as u32, self.right.len() as u32);
        self.pivots.push(Pivot { at: at as u32, below, right, inverse: 1.0 / pivot });
    }

    /// Replaces `b` by the solution of A x = b.
    pub(crate) fn solve_in_place(&self, b: &mut [f64]) {
        let mut begin = 0;
        for pivot in &self.pivots {
            let value = b[pivot.at as usize];
            for (i, factor) in &self.below[begin..pivot.below as usize] {
                b[*i as usize] -= factor * value;
            }
            begin = pivot.below as usize;
        }
        for (k, pivot) in self.pivots.iter().enumerate().rev() {
            let begin = if k == 0 { 0 } else { self.pivots[k - 1].right as usize };
            let known = &self.right[begin..pivot.right as usize];
            let sum: f64 = known.iter().map(|(j, value)| value * b[*j as usize]).sum();
            b[pivot.at as usize] = (b[pivot.at as usize] - sum) * pivot.inverse;
        }
    }
}

/// Where the pivot stands that fills the least, if there is one.
fn cheapest(left: &[usize], rows: &[BTreeMap<usize, f64>], columns: &[BTreeSet<usize>]) -> Option<usize> {
    let is_pivot = |p: usize| {
        let largest = rows[p].values().fold(0.0, |most: f64, a| most.max(a.abs()));
        rows[p].get(&p).is_some_and(|a| a.abs() >= PIVOT * largest && *a != 0.0)
    };
    let (mut best, mut least) = (None, usize::MAX);
    for (k, p) in left.iter().enumerate() {
        let cost = (rows[*p].len() - 1) * (columns[*p].len() - 1);
        if cost < least && is_pivot(*p) {
            (best, least) = (Some(k), cost);
        }
        if least == 0 {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Lu, Matrix};

    /// Random sparse matrices, some with loops of one entry, beside dense factors.
    #[test]
    fn solutions_are_those_of_dense_factors() {
        let mut seed = 5_u64;
        let mut unit = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        for order in [1, 2, 3, 10, 60] {
            let mut entries = Vec::new();
            let mut dense = Matrix::identity(order);
            for i in 0..order {
                for _ in 0..3 {
                    let (j, value) = ((unit() * order as f64) as usize, 2.0 * unit() - 1.0);
                    entries.push((i, j, value));
                    dense[(i, j)] -= value;
                }
            }
            let b: Vec<f64> = (0..order).map(|_| unit() - 0.5).collect();
            let (mut x, mut y) = (b.clone(), b);
            SparseLu::of_identity_less(order, &entries).unwrap().solve_in_place(&mut x);
            Lu::new(&dense).unwrap().solve_in_place(&mut y);
            let size = y.iter().fold(1.0, |most: f64, y| most.max(y.abs()));
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9 * size), "{x:?} {y:?}");
        }
    }

    #[test]
    fn rings_fill_one_column() {
        let order = 1000;
        let ring: Vec<_> = (0..order).map(|i| (i, (i + 1) % order, 0.5)).collect();
        let lu = SparseLu::of_identity_less(order, &ring).unwrap();
        assert!(lu.below.len() + lu.right.len() < 3 * order);
        assert!(SparseLu::of_identity_less(1, &[(0, 0, 1.0)]).is_err());
    }
}

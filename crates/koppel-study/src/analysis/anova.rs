//! Analysis of variance for main and two-factor effects.
//!
//! Where every combination of levels was run equally often (n runs in all, n_A per level of A, n_AB per pair, y centred):
//!
//!   SS_A  = n_A Σ_i ȳ_i²                                                                       (1)
//!   SS_AB = n_AB Σ_ij (ȳ_ij - ȳ_i - ȳ_j)²                                                      (2)
//!   MS    = SS / DoF,  DoF_A = a - 1,  DoF_AB = (a - 1)(b - 1)                                 (3)
//!
//! ȳ_i and ȳ_ij are means over all runs with these levels. Where runs are missing, or values were drawn, effects overlap; then
//! SS of a term is what the sum of squared residuals loses when the term joins all terms that do not contain it (type II),
//! by least squares on contrasts that sum to zero. Both agree where (1) and (2) hold.
//!
//! What main and two-factor effects do not explain is the residual, of which F and its probability are taken.
//! Genser 2020, 3.2.1, (3.11), (3.12), where sums of squares are
//! written as differences of sums, which is the same but for round-off; differs in: the residual and F, which are not told there.

use std::collections::HashMap;

use super::fisher;
use koppel::linalg::Matrix;

/// A main effect, or the interaction of two factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// One factor or two.
    pub factors: Vec<usize>,
    /// Sum of squares.
    pub sum: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// Mean square.
    pub mean: f64,
    /// Mean square over that of the residual; NaN without residual.
    pub f: f64,
    /// How probable such an F is by chance.
    pub p: f64,
}

/// An analysis of variance.
#[derive(Clone, Debug, PartialEq)]
pub struct Anova {
    /// Main effects, then interactions.
    pub terms: Vec<Term>,
    /// Sum of squares and degrees of freedom of what is left.
    pub residual: (f64, usize),
    /// Of all runs.
    pub total: (f64, usize),
    /// Runs that have a value.
    pub runs: usize,
    /// True if (1) and (2) hold.
    pub is_balanced: bool,
}

/// Most contrasts of a least-squares analysis; with more, only main effects are reported.
const MOST_CONTRASTS: usize = 1200;

/// Analyses `y`; `levels` are numbers of levels, `at` the level of each run, both by factor. Runs without a value are left out.
/// None if there is nothing to analyse.
#[must_use]
pub fn anova(levels: &[usize], at: &[&[usize]], y: &[f64]) -> Option<Anova> {
    let kept: Vec<usize> = (0..y.len()).filter(|run| y[*run].is_finite()).collect();
    let varied: Vec<usize> = (0..levels.len()).filter(|j| levels[*j] > 1).collect();
    if kept.len() < 2 || varied.is_empty() {
        return None;
    }
    let mean = kept.iter().map(|run| y[*run]).sum::<f64>() / kept.len() as f64;
    let y: Vec<f64> = kept.iter().map(|run| y[*run] - mean).collect();
    let factors: Vec<Factor> = varied
        .iter()
        .map(|j| Factor { number: *j, levels: levels[*j], at: kept.iter().map(|run| at[*j][*run]).collect() })
        .collect();
    let total = y.iter().map(|v| v * v).sum::<f64>();
    let is_balanced = is_balanced(&factors);
    let (sums, left) = if is_balanced { balanced(&factors, &y) } else { least_squares(&factors, &y, total) };
    let (residual, freedom) = left;
    let term = |(members, sum, own): (Vec<usize>, f64, usize)| {
        let mean = if own > 0 { sum / own as f64 } else { f64::NAN };
        let f = if freedom > 0 { mean / (residual / freedom as f64) } else { f64::NAN };
        Term { factors: members, sum, freedom: own, mean, f, p: fisher::above(f, own, freedom) }
    };
    let terms = sums.into_iter().map(term).collect();
    Some(Anova { terms, residual: left, total: (total, y.len() - 1), runs: y.len(), is_balanced })
}

struct Factor {
    number: usize,
    levels: usize,
    at: Vec<usize>,
}

/// Members, sum of squares, degrees of freedom.
type Sum = (Vec<usize>, f64, usize);

fn is_balanced(factors: &[Factor]) -> bool {
    let runs = factors[0].at.len();
    let mut cells = 1_usize;
    for factor in factors {
        cells = cells.saturating_mul(factor.levels);
    }
    if cells > runs || !runs.is_multiple_of(cells) {
        return false;
    }
    let mut counts: HashMap<usize, usize> = HashMap::with_capacity(cells);
    for run in 0..runs {
        let cell = factors.iter().fold(0, |cell, factor| cell * factor.levels + factor.at[run]);
        *counts.entry(cell).or_insert(0) += 1;
    }
    counts.len() == cells && counts.values().all(|count| count * cells == runs)
}

fn pairs(factors: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..factors).flat_map(move |a| (a + 1..factors).map(move |b| (a, b)))
}

/// Equations (1) to (3), by means: differences of large sums would lose small effects.
fn balanced(factors: &[Factor], y: &[f64]) -> (Vec<Sum>, (f64, usize)) {
    let n = y.len() as f64;
    let mut left = y.to_vec();
    let mut sums: Vec<Sum> = Vec::new();
    let mut mains: Vec<Vec<f64>> = Vec::new();
    for factor in factors {
        let mut means = vec![0.0; factor.levels];
        y.iter().zip(&factor.at).for_each(|(y, level)| means[*level] += y);
        let each = n / factor.levels as f64;
        means.iter_mut().for_each(|mean| *mean /= each);
        left.iter_mut().zip(&factor.at).for_each(|(left, level)| *left -= means[*level]);
        sums.push((vec![factor.number], each * squares(&means), factor.levels - 1));
        mains.push(means);
    }
    for (a, b) in pairs(factors.len()) {
        let (one, other) = (&factors[a], &factors[b]);
        let cell = |run: usize| one.at[run] * other.levels + other.at[run];
        let mut effects = vec![0.0; one.levels * other.levels];
        (0..y.len()).for_each(|run| effects[cell(run)] += y[run]);
        let each = n / effects.len() as f64;
        for (at, effect) in effects.iter_mut().enumerate() {
            *effect = *effect / each - mains[a][at / other.levels] - mains[b][at % other.levels];
        }
        (0..y.len()).for_each(|run| left[run] -= effects[cell(run)]);
        let freedom = (one.levels - 1) * (other.levels - 1);
        sums.push((vec![one.number, other.number], each * squares(&effects), freedom));
    }
    let freedom: usize = sums.iter().map(|(_, _, own)| own).sum();
    (sums, (squares(&left), y.len() - 1 - freedom))
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// Type II by least squares.
fn least_squares(factors: &[Factor], y: &[f64], total: f64) -> (Vec<Sum>, (f64, usize)) {
    let mut terms: Vec<Vec<usize>> = (0..factors.len()).map(|a| vec![a]).collect();
    let width = |term: &[usize]| term.iter().map(|a| factors[*a].levels - 1).product::<usize>();
    let with_pairs: Vec<Vec<usize>> = pairs(factors.len()).map(|(a, b)| vec![a, b]).collect();
    let whole: usize = terms.iter().chain(&with_pairs).map(|term| width(term)).sum();
    if whole <= MOST_CONTRASTS {
        terms.extend(with_pairs);
    }
    let mut starts = vec![1];
    for term in &terms {
        starts.push(starts[starts.len() - 1] + width(term));
    }
    let gram = gram(factors, &terms, &starts, y);
    let columns = |chosen: &dyn Fn(&[usize]) -> bool| {
        let mut columns = vec![0];
        let wanted = (0..terms.len()).filter(|k| chosen(&terms[*k]));
        wanted.for_each(|k| columns.extend(starts[k]..starts[k + 1]));
        columns
    };
    let sum = |k: usize| {
        let term = &terms[k];
        let contains = |other: &[usize]| term.iter().all(|a| other.contains(a));
        let mut list = columns(&|other| !contains(other));
        let before = list.len();
        list.extend(starts[k]..starts[k + 1]);
        // The term's own columns come last: what they explain is what the residuals lose.
        let own: Vec<f64> = explained(&gram, &list)
            .into_iter()
            .filter(|(at, _)| *at >= before)
            .map(|(_, part)| part)
            .collect();
        (term.iter().map(|a| factors[*a].number).collect(), squares(&own), own.len())
    };
    let whole: Vec<f64> = explained(&gram, &columns(&|_| true)).into_iter().map(|(_, part)| part).collect();
    let left = (total - squares(&whole)).max(0.0);
    ((0..terms.len()).map(sum).collect(), (left, y.len().saturating_sub(whole.len())))
}

/// Products of all columns: 1, the contrasts of each term, and last y.
fn gram(factors: &[Factor], terms: &[Vec<usize>], starts: &[usize], y: &[f64]) -> Matrix {
    let size = starts[starts.len() - 1] + 1;
    let mut gram = Matrix::zeros(size, size);
    let mut row: Vec<(usize, f64)> = Vec::new();
    for (run, value) in y.iter().enumerate() {
        row.clear();
        row.push((0, 1.0));
        for (term, start) in terms.iter().zip(starts) {
            match term.as_slice() {
                [a] => contrasts(&factors[*a], run, |k, sign| row.push((start + k, sign))),
                [a, b] => {
                    let other = &factors[*b];
                    contrasts(&factors[*a], run, |i, one| {
                        contrasts(other, run, |j, two| {
                            row.push((start + i * (other.levels - 1) + j, one * two))
                        });
                    });
                }
                _ => {}
            }
        }
        row.push((size - 1, *value));
        for (i, a) in &row {
            for (j, b) in &row {
                gram[(*i, *j)] += a * b;
            }
        }
    }
    gram
}

/// Contrast k is 1 at level k and -1 at the last.
fn contrasts(factor: &Factor, run: usize, mut give: impl FnMut(usize, f64)) {
    let last = factor.levels - 1;
    match factor.at[run] {
        level if level < last => give(level, 1.0),
        _ => (0..last).for_each(|k| give(k, -1.0)),
    }
}

/// A pivot below this share of its own square belongs to a column that the others give.
const DEPENDENT: f64 = 1e-9;

/// What each of these columns explains of y beside those before it, with its place in the list: Cholesky's factorisation. Columns
/// that are combinations of earlier ones are left out.
fn explained(gram: &Matrix, columns: &[usize]) -> Vec<(usize, f64)> {
    let y = gram.cols() - 1;
    let mut kept: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut parts: Vec<(usize, f64)> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
        for (k, (other, earlier)) in kept.iter().enumerate() {
            let dot: f64 = row.iter().zip(earlier).map(|(a, b)| a * b).sum();
            row.push((gram[(*column, *other)] - dot) / earlier[k]);
        }
        let square = gram[(*column, *column)];
        let pivot = square - squares(&row);
        if pivot <= DEPENDENT * square || square == 0.0 {
            continue;
        }
        let pivot = pivot.sqrt();
        let dot: f64 = row.iter().zip(&parts).map(|(a, (_, part))| a * part).sum();
        parts.push((at, (gram[(*column, y)] - dot) / pivot));
        row.push(pivot);
        kept.push((*column, row));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = 3 [A = 1] + B + 2 [A = 1] B, B = -1, 0, 1, each combination twice.
    fn example() -> (Vec<usize>, Vec<usize>, Vec<f64>) {
        let (mut a, mut b, mut y) = (Vec::new(), Vec::new(), Vec::new());
        for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
            for noise in [-0.5, 0.5] {
                let (one, slope) = (i as f64, j as f64 - 1.0);
                a.push(i);
                b.push(j);
                y.push(3.0 * one + slope + 2.0 * one * slope + noise);
            }
        }
        (a, b, y)
    }

    /// By hand: SS_A = 12 * 1.5², slopes 1 and 3: SS_B = 8 * 2², SS_AB = 8 * 1², residual 12 * 0.25.
    #[test]
    fn sums_of_squares_by_hand() {
        let (a, b, y) = example();
        let found = anova(&[2, 3], &[&a, &b], &y).unwrap();
        assert!(found.is_balanced);
        let sums: Vec<f64> = found.terms.iter().map(|term| term.sum).collect();
        for (sum, exact) in sums.iter().zip([27.0, 32.0, 8.0]) {
            assert!((sum - exact).abs() < 1e-12, "{sums:?}");
        }
        assert!((found.residual.0 - 3.0).abs() < 1e-12 && found.residual.1 == 6);
        assert_eq!(found.terms.iter().map(|term| term.freedom).collect::<Vec<_>>(), [1, 2, 2]);
        assert!((found.terms[0].f - 54.0).abs() < 1e-9);
    }

    #[test]
    fn least_squares_agree_where_nothing_is_missing() {
        let (a, b, y) = example();
        let mean = y.iter().sum::<f64>() / 12.0;
        let y: Vec<f64> = y.iter().map(|v| v - mean).collect();
        let factors = [Factor { number: 0, levels: 2, at: a }, Factor { number: 1, levels: 3, at: b }];
        let total = y.iter().map(|v| v * v).sum();
        let (one, other) = (balanced(&factors, &y), least_squares(&factors, &y, total));
        for ((_, sum, freedom), (_, same, as_well)) in one.0.iter().zip(&other.0) {
            assert!((sum - same).abs() < 1e-11 && freedom == as_well);
        }
        assert!((one.1.0 - other.1.0).abs() < 1e-11 && one.1.1 == other.1.1);
    }

    /// Whole cells may be missing: what cannot be distinguished has no degree of freedom.
    #[test]
    fn missing_cells_cost_degrees_of_freedom() {
        let (a, b, mut y) = example();
        y[0] = f64::NAN;
        y[1] = f64::NAN;
        let found = anova(&[2, 3], &[&a, &b], &y).unwrap();
        assert!(!found.is_balanced);
        assert_eq!(found.terms.iter().map(|term| term.freedom).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!((found.residual.1, found.runs), (5, 10));
        assert!((found.residual.0 - 2.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_analyse() {
        assert!(anova(&[1], &[&[0, 0]], &[1.0, 2.0]).is_none());
        assert!(anova(&[2], &[&[0, 1]], &[1.0, f64::NAN]).is_none());
    }
}

//! A measure over one factor, over two, and by itself.

use super::data::FactorData;
use koppel::signal::Bounds;

/// A measure at one level of a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Runs that have a value.
    pub count: usize,
    /// Their mean; NaN if there are none.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// A measure over two factors: mean and count by level of the first, then of the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Means; NaN where there is no run.
    pub means: Vec<Vec<f64>>,
    /// Runs.
    pub counts: Vec<Vec<usize>>,
}

/// Runs between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// From, inclusive.
    pub from: f64,
    /// To; the last bin includes it.
    pub to: f64,
    /// Runs.
    pub count: usize,
}

/// The main effect: a measure at each level.
#[must_use]
pub fn response(factor: &FactorData, y: &[f64]) -> Vec<Response> {
    let new = Response { count: 0, mean: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };
    let mut all = vec![new; factor.levels.len()];
    for (level, y) in factor.at.iter().zip(y).filter(|(_, y)| y.is_finite()) {
        let one = &mut all[*level];
        one.count += 1;
        one.mean += y;
        one.min = one.min.min(*y);
        one.max = one.max.max(*y);
    }
    all.iter_mut().for_each(|one| one.mean /= one.count as f64);
    all
}

/// A measure at each pair of levels.
#[must_use]
pub fn interaction(one: &FactorData, other: &FactorData, y: &[f64]) -> Interaction {
    let mut means = vec![vec![0.0; other.levels.len()]; one.levels.len()];
    let mut counts = vec![vec![0; other.levels.len()]; one.levels.len()];
    for ((i, j), y) in one.at.iter().zip(&other.at).zip(y).filter(|(_, y)| y.is_finite()) {
        means[*i][*j] += y;
        counts[*i][*j] += 1;
    }
    for (means, counts) in means.iter_mut().zip(&counts) {
        means.iter_mut().zip(counts).for_each(|(mean, count)| *mean /= *count as f64);
    }
    Interaction { means, counts }
}

/// Bins of a histogram.
const BINS: usize = 24;

/// How often values appear; by their logarithm where they span more than three decades.
#[must_use]
pub fn histogram(y: &[f64]) -> Vec<Bin> {
    let values: Vec<f64> = y.iter().copied().filter(|y| y.is_finite()).collect();
    let Bounds { low, high } = Bounds::of(values.iter().copied());
    if values.is_empty() {
        return Vec::new();
    }
    if low == high {
        return vec![Bin { from: low, to: high, count: values.len() }];
    }
    let is_log = low > 0.0 && high / low > 1e3;
    let forth = |v: f64| if is_log { v.ln() } else { v };
    let back = |v: f64| if is_log { v.exp() } else { v };
    let width = (forth(high) - forth(low)) / BINS as f64;
    let edge = |k: usize| match k {
        0 => low,
        BINS => high,
        k => back(forth(low) + k as f64 * width),
    };
    let mut bins: Vec<Bin> = (0..BINS).map(|k| Bin { from: edge(k), to: edge(k + 1), count: 0 }).collect();
    for value in values {
        let at = ((forth(value) - forth(low)) / width) as usize;
        bins[at.min(BINS - 1)].count += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted_once() {
        let values: Vec<f64> =
            (0..1000).map(|k| 10_f64.powf(f64::from(k) / 100.0)).chain([f64::NAN]).collect();
        let bins = histogram(&values);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), 1000);
        let (few, many) = bins.iter().fold((1000, 0), |(few, many), b| (b.count.min(few), b.count.max(many)));
        assert!(few >= 40 && many <= 43, "even by the logarithm: {few} to {many}");
        assert_eq!(histogram(&[2.0, 2.0]), [Bin { from: 2.0, to: 2.0, count: 2 }]);
        assert!(histogram(&[f64::NAN]).is_empty());
    }
}

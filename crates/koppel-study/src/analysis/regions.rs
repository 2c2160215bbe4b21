//! Where runs are stable: regions over two numeric factors, and their areas.
//!
//! A cell of the region is the share of stable runs at a pair of levels, over all other numeric factors. Its area is the sum of
//! shares, each weighted by what its levels stand for: half the way to the neighbour on either side (the trapezoidal rule), on a
//! logarithmic axis in decades. Factors that are names have a region for each of their values.

use super::data::FactorData;
use super::responses::{Interaction, interaction};
use crate::settings::Scale;

/// A region of stability.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The factor on the horizontal axis.
    pub x: usize,
    /// And on the vertical one.
    pub y: usize,
    /// Values of the factors that are names, such as `run.coupling = foh`; empty if there are none.
    pub names: String,
    /// Shares of stable runs by level of `x`, then of `y`; NaN where there is no run.
    pub shares: Vec<Vec<f64>>,
    /// Area, in units of both factors or decades.
    pub area: f64,
    /// Area over that of all that was tried.
    pub share: f64,
}

/// Most combinations of names that have regions of their own.
const MOST_NAMES: usize = 24;
/// Most pairs of factors.
const MOST_PAIRS: usize = 15;

/// Regions of a measure that is 1 for stable runs and 0 for others.
#[must_use]
pub fn regions(factors: &[FactorData], stable: &[f64]) -> Vec<Region> {
    let is_numeric = |k: &usize| factors[*k].levels.len() > 1 && factors[*k].scale != Scale::Names;
    let numeric: Vec<usize> = (0..factors.len()).filter(is_numeric).collect();
    let names: Vec<usize> = (0..factors.len())
        .filter(|k| factors[*k].levels.len() > 1 && factors[*k].scale == Scale::Names)
        .collect();
    let pairs =
        numeric.iter().enumerate().flat_map(|(at, x)| numeric[at + 1..].iter().map(move |y| (*x, *y)));
    let kinds = kinds(factors, &names, stable.len());
    let mut regions = Vec::new();
    for (x, y) in pairs.take(MOST_PAIRS) {
        for (name, rows) in &kinds {
            let chosen: Vec<f64> =
                stable.iter().enumerate().map(|(row, s)| if rows[row] { *s } else { f64::NAN }).collect();
            regions.push(region(factors, (x, y), name.clone(), &chosen));
        }
    }
    regions
}

/// Combinations of names, with the rows that have them.
fn kinds(factors: &[FactorData], names: &[usize], rows: usize) -> Vec<(String, Vec<bool>)> {
    let mut kinds = vec![(String::new(), vec![true; rows])];
    for k in names {
        let factor = &factors[*k];
        if kinds.len() * factor.levels.len() > MOST_NAMES {
            continue;
        }
        let split = |(name, of): &(String, Vec<bool>), level: usize| {
            let own = format!("{} = {}", factor.name, factor.levels[level].label);
            let name = if name.is_empty() { own } else { format!("{name}, {own}") };
            let rows = of.iter().zip(&factor.at).map(|(is_in, at)| *is_in && *at == level).collect();
            (name, rows)
        };
        let count = factor.levels.len();
        kinds = kinds.iter().flat_map(|kind| (0..count).map(move |level| split(kind, level))).collect();
    }
    kinds
}

fn region(factors: &[FactorData], (x, y): (usize, usize), names: String, stable: &[f64]) -> Region {
    let Interaction { means: shares, .. } = interaction(&factors[x], &factors[y], stable);
    let (across, along) = (widths(&factors[x]), widths(&factors[y]));
    let (mut area, mut tried) = (0.0, 0.0);
    for (shares, width) in shares.iter().zip(&across) {
        for (share, height) in shares.iter().zip(&along).filter(|(share, _)| share.is_finite()) {
            area += share * width * height;
            tried += width * height;
        }
    }
    Region { x, y, names, shares, area, share: area / tried }
}

/// What each level stands for.
fn widths(factor: &FactorData) -> Vec<f64> {
    let place = |k: usize| {
        let number = factor.levels[k].number.unwrap_or(k as f64);
        if factor.scale == Scale::Logarithmic { number.log10() } else { number }
    };
    let count = factor.levels.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| place(*a).total_cmp(&place(*b)));
    let mut widths = vec![0.0; count];
    for two in order.windows(2) {
        let half = 0.5 * (place(two[1]) - place(two[0]));
        widths[two[0]] += half;
        widths[two[1]] += half;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::super::data::Level;
    use super::*;

    fn factor(name: &str, scale: Scale, numbers: &[f64], at: Vec<usize>) -> FactorData {
        let level =
            |n: &f64| Level { label: n.to_string(), number: Some(*n).filter(|_| scale != Scale::Names) };
        FactorData {
            name: name.into(),
            scale,
            levels: numbers.iter().map(level).collect(),
            numbers: Vec::new(),
            labels: Vec::new(),
            at,
            is_binned: false,
        }
    }

    /// x in 0..1 and y in 1..1000 by decades; stable where x + log10(y) / 3 <= 1: half of the square.
    #[test]
    fn area_of_a_triangle() {
        let n = 101;
        let x: Vec<f64> = (0..n).map(|k| k as f64 / 100.0).collect();
        let y: Vec<f64> = x.iter().map(|part| 1000_f64.powf(*part)).collect();
        let cells: Vec<(usize, usize)> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect();
        let stable: Vec<f64> = cells.iter().map(|(i, j)| f64::from(u8::from(i + j <= 100))).collect();
        let factors = [
            factor("x", Scale::Linear, &x, cells.iter().map(|c| c.0).collect()),
            factor("y", Scale::Logarithmic, &y, cells.iter().map(|c| c.1).collect()),
        ];
        let found = regions(&factors, &stable);
        assert_eq!(found.len(), 1);
        assert!((found[0].share - 0.5).abs() < 0.01, "{}", found[0].share);
        assert!((found[0].area - 1.5).abs() < 0.03, "{}", found[0].area);
    }

    #[test]
    fn names_have_their_own_regions() {
        let cells: Vec<(usize, usize, usize)> =
            (0..2).flat_map(|n| (0..2).flat_map(move |i| (0..2).map(move |j| (n, i, j)))).collect();
        let factors = [
            factor("method", Scale::Names, &[1.0, 2.0], cells.iter().map(|c| c.0).collect()),
            factor("x", Scale::Linear, &[0.0, 2.0], cells.iter().map(|c| c.1).collect()),
            factor("y", Scale::Linear, &[0.0, 3.0], cells.iter().map(|c| c.2).collect()),
        ];
        let stable: Vec<f64> = cells.iter().map(|c| f64::from(u8::from(c.0 == 0 || c.1 == 0))).collect();
        let found = regions(&factors, &stable);
        let listed: Vec<(&str, f64, f64)> =
            found.iter().map(|r| (r.names.as_str(), r.area, r.share)).collect();
        assert_eq!(listed, [("method = 1", 6.0, 1.0), ("method = 2", 3.0, 0.5)]);
    }
}

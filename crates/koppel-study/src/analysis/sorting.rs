//! Ascending sorting: the best runs first, and what they have in common.
//!
//! Runs are sorted by a measure that is best when smallest. Nearly best is what lies no more than a share (10 %) above the best,
//! or as many runs as asked for. The optimal value of a factor is the mean over the nearly best runs where it is a number, else the
//! value that appears most often. Genser 2020, 3.2 and 3.2.1; interactions are not seen by it.

use super::data::FactorData;

/// Runs in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorting {
    /// Rows, the best first; those without a value are left out.
    pub order: Vec<usize>,
    /// How many of them are nearly best.
    pub nearly_best: usize,
    /// By factor.
    pub optimum: Vec<Optimum>,
}

/// The optimal value of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Nearly best runs at each level.
    pub counts: Vec<usize>,
    /// Mean, if the factor is a number.
    pub mean: Option<f64>,
    /// The level that appears most often.
    pub mode: usize,
}

/// Sorts by `y`; none if no run has a value.
#[must_use]
pub fn sorting(factors: &[FactorData], y: &[f64], share: f64, at_least: usize) -> Option<Sorting> {
    let mut order: Vec<usize> = (0..y.len()).filter(|row| y[*row].is_finite()).collect();
    order.sort_by(|a, b| y[*a].total_cmp(&y[*b]).then(a.cmp(b)));
    let best = y[*order.first()?];
    let limit = best + share * best.abs();
    let nearly_best = order.iter().take_while(|row| y[**row] <= limit).count();
    let nearly_best = nearly_best.max(at_least.min(order.len()));
    let chosen = &order[..nearly_best];
    let optimum = factors.iter().map(|factor| {
        let mut counts = vec![0; factor.levels.len()];
        chosen.iter().for_each(|row| counts[factor.at[*row]] += 1);
        let most = counts.iter().copied().max().unwrap_or(0);
        let mode = counts.iter().position(|count| *count == most).unwrap_or(0);
        let sum: f64 = chosen.iter().map(|row| factor.numbers[*row]).sum();
        let mean = Some(sum / nearly_best as f64).filter(|mean| mean.is_finite());
        Optimum { counts, mean, mode }
    });
    let optimum = optimum.collect();
    Some(Sorting { nearly_best, optimum, order })
}

#[cfg(test)]
mod tests {
    use super::super::data::Level;
    use super::*;
    use crate::settings::Scale;

    /// The histogram of Genser 2020 in 3.2.1: 25, 24, 24 and 24 runs at 1, 10, 100 and 1000 have the mean 275.
    #[test]
    fn the_optimum_is_the_weighted_mean_of_the_nearly_best() {
        let levels = [1.0, 10.0, 100.0, 1000.0];
        let mut at: Vec<usize> = (0..97).map(|row| if row == 96 { 0 } else { row % 4 }).collect();
        let mut y: Vec<f64> = (0..97).map(|row| 1.0 + 1e-3 * f64::from(row)).collect();
        at.extend([3, 3]);
        y.extend([1.2, f64::NAN]);
        let factor = FactorData {
            name: "steps".into(),
            scale: Scale::Linear,
            levels: levels.map(|n| Level { label: n.to_string(), number: Some(n) }).to_vec(),
            numbers: at.iter().map(|level| levels[*level]).collect(),
            labels: Vec::new(),
            at,
            is_binned: false,
        };
        let found = sorting(std::slice::from_ref(&factor), &y, 0.1, 1).unwrap();
        assert_eq!((found.nearly_best, found.order.len(), found.order[0]), (97, 98, 0));
        assert_eq!(found.optimum[0].counts, [25, 24, 24, 24]);
        assert_eq!(found.optimum[0].mode, 0);
        assert_eq!(found.optimum[0].mean.unwrap().round(), 275.0);
        assert_eq!(sorting(&[factor], &y, 0.0, 5).unwrap().nearly_best, 5);
    }
}

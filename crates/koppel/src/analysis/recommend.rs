//! The largest step that keeps a wanted error, for each method.
//!
//! Steps are tried from the end of the stable range downwards, then between the first that keeps the error and the one
//! before it. What is recommended lies below both that step and the end of the stable range by a margin.

use super::cost::Cost;
use super::global_error::Reference;
use super::intervals::Interval;
use super::limits::Limit;
use super::linear_system::{LinearSystem, is_learning};
use crate::run::{RunConfig, ScheduleConfig};
use rayon::prelude::*;
use serde::Serialize;

/// Of the largest step that keeps the error.
const MARGIN_OF_ERROR: f64 = 0.9;
/// Of the largest stable step.
const MARGIN_OF_STABILITY: f64 = 0.8;
/// Of the largest stable step where no error is known.
const BY_STABILITY_ALONE: f64 = 0.5;
/// From one step that is tried to the next.
const RATIO: f64 = 0.7;
/// Most steps of a run that is tried.
const MOST_STEPS: f64 = 40_000.0;
/// Steps near by, at which a method that learns must keep the error, too.
const NEIGHBOURS: [f64; 4] = [1.15, 1.05, 0.9, 0.8];
/// Halvings of the last gap.
const HALVINGS: usize = 4;

/// A step to use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// The method.
    pub method: String,
    /// The schedule.
    pub schedule: ScheduleConfig,
    /// The step, in s.
    pub step: f64,
    /// The predicted error there; not known if nothing moves.
    pub error: Option<f64>,
    /// Growth per macro step there.
    pub spectral_radius: f64,
    /// What it costs.
    pub cost: Cost,
    /// All its settings.
    #[serde(skip)]
    pub config: RunConfig,
}

/// Recommendations for all these methods, the cheapest first; methods that keep the error at no step are left out.
pub fn recommend(
    system: &LinearSystem,
    limits: &[Limit],
    reference: Option<&Reference>,
    wanted: f64,
) -> Vec<Recommendation> {
    let found = limits.par_iter().filter_map(|limit| recommend_one(system, limit, reference, wanted));
    let mut all: Vec<Recommendation> = found.collect();
    crate::sort::sort_by(&mut all, |a, b| {
        let by_cost = a.cost.calls_per_second.total_cmp(&b.cost.calls_per_second);
        by_cost.then(b.step.total_cmp(&a.step))
    });
    all
}

fn recommend_one(
    system: &LinearSystem,
    limit: &Limit,
    reference: Option<&Reference>,
    wanted: f64,
) -> Option<Recommendation> {
    // From the smallest steps on, where every method that is of use is stable.
    let range = limit.intervals.first().filter(|interval| interval.from_is_open)?;
    let step = match reference {
        Some(reference) => step_for(system, limit, range, reference, wanted)?,
        None => rounded_down(BY_STABILITY_ALONE * range.to),
    };
    let config = RunConfig { step, ..limit.config.clone() };
    let growth = system.growth(&config).ok()?;
    let error = reference.and_then(|reference| system.global_error(&config, reference).ok());
    Some(Recommendation {
        method: limit.method.clone(),
        schedule: limit.schedule.clone(),
        step,
        error: error.map(|error| error.overall),
        spectral_radius: growth.radius,
        cost: Cost::of(&system.graph, &config).ok()?,
        config,
    })
}

/// The step for a wanted error, with its margins.
fn step_for(
    system: &LinearSystem,
    limit: &Limit,
    range: &Interval,
    reference: &Reference,
    wanted: f64,
) -> Option<f64> {
    let keeps_at = |step: f64| {
        let config = RunConfig { step, ..limit.config.clone() };
        system.global_error(&config, reference).is_ok_and(|error| error.overall <= wanted)
    };
    // What a method learns differs from step to step: one that is good by chance is not enough.
    let learns = is_learning(&limit.config.coupling);
    let keeps =
        |step: f64| keeps_at(step) && (!learns || NEIGHBOURS.iter().all(|factor| keeps_at(factor * step)));
    let longest = reference.longest_step();
    let most = if range.to_is_open { range.to } else { MARGIN_OF_STABILITY * range.to }.min(longest);
    let least = range.from.max(reference.horizon() / MOST_STEPS);
    let (mut step, mut above) = (most, None);
    while !keeps(step) {
        above = Some(step);
        step *= RATIO;
        if step < least {
            return None;
        }
    }
    let Some(mut above) = above else { return Some(rounded_down(most)) };
    for _ in 0..HALVINGS {
        let middle = (step * above).sqrt();
        if keeps(middle) { step = middle } else { above = middle }
    }
    Some(rounded_down(MARGIN_OF_ERROR * step))
}

/// To two digits.
pub(crate) fn rounded_down(step: f64) -> f64 {
    let power = 10.0_f64.powf(1.0 - step.log10().floor());
    let digits = (step * power * (1.0 + 1e-12)).floor();
    // Divided by a whole power of ten where that is exact.
    digits / power
}

#[cfg(test)]
mod tests {
    use super::rounded_down;

    #[test]
    fn steps_are_rounded_down_to_two_digits() {
        for (step, rounded) in [(0.012_56, 0.012), (0.0999, 0.099), (1.0, 1.0), (0.34, 0.34), (27.9, 27.0)] {
            let found = rounded_down(step);
            assert!((found / rounded - 1.0_f64).abs() < 1e-12, "{step}: {found}");
        }
    }
}

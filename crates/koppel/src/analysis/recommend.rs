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
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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
    let courses = Courses::default();
    let found = limits.par_iter().filter_map(|limit| {
        let aim = reference.map(|reference| Aim { reference, wanted, courses: &courses });
        recommend_one(system, limit, aim.as_ref())
    });
    let mut all: Vec<Recommendation> = found.collect();
    crate::sort::sort_by(&mut all, |a, b| {
        let by_cost = a.cost.calls_per_second.total_cmp(&b.cost.calls_per_second);
        by_cost.then(b.step.total_cmp(&a.step))
    });
    all
}

/// What a step is to keep.
struct Aim<'a> {
    reference: &'a Reference,
    wanted: f64,
    courses: &'a Courses,
}

impl Aim<'_> {
    /// The error with these settings, infinite as soon as it is certain to be too large.
    fn error(&self, system: &LinearSystem, config: &RunConfig) -> Option<f64> {
        let course = self.courses.of(system, config, self.reference)?;
        system.error_against(&course, config, self.reference, self.wanted).ok()
    }
}

/// Courses of the monolithic system by the step: several methods try the same ones.
#[derive(Default)]
struct Courses {
    known: Mutex<BTreeMap<u64, Arc<Vec<f64>>>>,
}

/// Numbers of a course that is kept.
const KEPT: usize = 1_000_000;

impl Courses {
    fn of(&self, system: &LinearSystem, config: &RunConfig, reference: &Reference) -> Option<Arc<Vec<f64>>> {
        let key = config.step.to_bits();
        let known = self.known.lock().ok().and_then(|known| known.get(&key).cloned());
        if known.is_some() {
            return known;
        }
        let course = Arc::new(system.course(config, reference).ok()?);
        if course.len() <= KEPT
            && let Ok(mut known) = self.known.lock()
        {
            known.insert(key, Arc::clone(&course));
        }
        Some(course)
    }
}

fn recommend_one(system: &LinearSystem, limit: &Limit, aim: Option<&Aim<'_>>) -> Option<Recommendation> {
    // From the smallest steps on, where every method that is of use is stable.
    let range = limit.intervals.first().filter(|interval| interval.from_is_open)?;
    let step = match aim {
        Some(aim) => step_for(system, limit, range, aim)?,
        None => rounded_down(BY_STABILITY_ALONE * range.to),
    };
    let config = RunConfig { step, ..limit.config.clone() };
    let growth = system.growth(&config).ok()?;
    let error = aim.and_then(|aim| system.global_error(&config, aim.reference).ok());
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
fn step_for(system: &LinearSystem, limit: &Limit, range: &Interval, aim: &Aim<'_>) -> Option<f64> {
    let Aim { reference, wanted, .. } = *aim;
    let keeps_at = |step: f64| {
        let config = RunConfig { step, ..limit.config.clone() };
        aim.error(system, &config).is_some_and(|error| error <= wanted)
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

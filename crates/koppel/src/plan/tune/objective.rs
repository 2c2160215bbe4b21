//! What is to become small, and which of the best to take.

use super::{Score, Tuned};
use crate::plan::pareto::Point;
use serde::{Deserialize, Serialize};

/// Something that is to become small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Spectral radius of the step matrix: growth per macro step. Glumac & Kovacic 2018, (65), J_1.
    Radius,
    /// Relative consistency: how far inputs are from what is connected to them after two steps. The same, J_2.
    Consistency,
    /// Predicted error, relative to the range of each output, the worst.
    Error,
    /// Calls of subsystems over the whole run.
    Cost,
}

impl Objective {
    /// All of them.
    pub const ALL: [Objective; 4] =
        [Objective::Radius, Objective::Consistency, Objective::Error, Objective::Cost];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Radius => "radius",
            Objective::Consistency => "consistency",
            Objective::Error => "error",
            Objective::Cost => "cost",
        }
    }

    /// Its value; nothing if it is not known.
    pub fn of(self, score: &Score) -> Option<f64> {
        match self {
            Objective::Radius => Some(score.spectral_radius),
            Objective::Consistency => score.consistency,
            Objective::Error => score.error,
            Objective::Cost => Some(score.cost.calls),
        }
    }
}

/// An error beyond this says that the result is of no use, however cheap it is.
const USELESS: f64 = 1.0;
/// Digits in which objectives are compared: round-off makes no setting better than another.
const DIGITS: usize = 6;

/// What a score is among others: unstable settings come last, then those whose error makes them useless.
pub(super) fn point(score: &Score, objectives: &[Objective]) -> Point {
    if !score.is_stable {
        let growth = score.spectral_radius - 1.0;
        return Point::broken(1.0 + if growth > 0.0 { growth } else { 0.0 });
    }
    if let Some(error) = score.error.filter(|error| error.is_nan() || *error > USELESS) {
        // Below every unstable one.
        return Point::broken(if error.is_finite() { error / (1.0 + error) } else { 1.0 });
    }
    let values: Option<Vec<f64>> = objectives.iter().map(|objective| objective.of(score)).collect();
    match values {
        Some(values) if values.iter().all(|value| value.is_finite()) => {
            Point::of(values.into_iter().map(rounded).collect())
        }
        _ => Point::broken(f64::INFINITY),
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// The place of the settings to take.
pub(super) fn choose(front: &[Tuned], objectives: &[Objective], wanted: f64) -> Option<usize> {
    if front.iter().any(|one| one.score.error.is_some()) {
        // The cheapest come first.
        return front.iter().position(|one| one.score.error.is_some_and(|error| error <= wanted));
    }
    nearest_to_ideal(front, objectives)
}

/// The one nearest to the best of every objective, each over its own range.
fn nearest_to_ideal(front: &[Tuned], objectives: &[Objective]) -> Option<usize> {
    let parts: Vec<Vec<f64>> = objectives
        .iter()
        .map(|objective| {
            let values: Vec<f64> =
                front.iter().map(|one| objective.of(&one.score).unwrap_or(f64::INFINITY)).collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let range = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
            values.iter().map(|value| if range > 0.0 { (value - low) / range } else { 0.0 }).collect()
        })
        .collect();
    let distance = |at: usize| parts.iter().map(|part| part[at] * part[at]).sum::<f64>();
    (0..front.len()).min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

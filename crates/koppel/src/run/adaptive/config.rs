//! Settings of steps that adapt.

use crate::error::{Result, bad};
use serde::{Deserialize, Serialize};

/// What is kept below the tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// What each input was given less what was connected to it at the end of the step, relative to the range of the signal.
    #[default]
    Defect,
    /// The power that two connections create or lose, relative to the largest power that has passed them.
    Power,
}

impl Watched {
    pub(super) fn name(self) -> &'static str {
        match self {
            Watched::Defect => "defect",
            Watched::Power => "power",
        }
    }
}

/// Steps that adapt: from `run.step`, of which all are multiples, up to `max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { max = 0.1, tolerance = 0.01 }")]
pub struct AdaptiveConfig {
    /// Largest step, in s.
    pub max: f64,
    /// What is watched stays below this.
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    /// What is watched.
    #[serde(default)]
    pub on: Watched,
    /// The step is kept if it would change by no more than this share of itself; 0 lets it be any multiple of `run.step`.
    #[serde(default = "dead_band")]
    pub dead_band: f64,
    /// Largest factor from one step to the next.
    #[serde(default = "growth")]
    pub growth: f64,
    /// Smallest factor from one step to the next.
    #[serde(default = "shrink")]
    pub shrink: f64,
    /// Steps of one length before it grows.
    #[serde(default = "rest")]
    pub rest: u32,
}

fn tolerance() -> f64 {
    1e-3
}

fn dead_band() -> f64 {
    0.25
}

fn growth() -> f64 {
    1.5
}

fn shrink() -> f64 {
    0.25
}

fn rest() -> u32 {
    5
}

impl AdaptiveConfig {
    /// Steps up to `max`, with defaults for the rest.
    pub fn new(max: f64, tolerance: f64) -> Self {
        AdaptiveConfig {
            max,
            tolerance,
            on: Watched::default(),
            dead_band: dead_band(),
            growth: growth(),
            shrink: shrink(),
            rest: rest(),
        }
    }

    /// Refuses numbers that make no sense with a smallest step of this size.
    pub(in crate::run) fn check(&self, step: f64) -> Result<()> {
        let is_wrong = |name: &str, value: f64, is_right: bool, problem: &str| match is_right {
            true => Ok(()),
            false => Err(bad(&format!("run.adaptive.{name}"), value, problem)),
        };
        let Self { max, tolerance, dead_band, growth, shrink, .. } = *self;
        let smallest = format!("must be a number not below `step` = {step}, the smallest step");
        is_wrong("max", max, max.is_finite() && max >= step * (1.0 - 1e-9), &smallest)?;
        is_wrong("max", max, max / step <= MOST, "is more than 1e9 times `step`")?;
        is_wrong("tolerance", tolerance, tolerance > 0.0 && tolerance < 1.0, "must lie between 0 and 1")?;
        is_wrong("dead_band", dead_band, (0.0..1.0).contains(&dead_band), "must lie in [0, 1)")?;
        let least = format!("must be more than 1 + `dead_band` = {}", 1.0 + dead_band);
        is_wrong("growth", growth, growth.is_finite() && growth > 1.0 + dead_band, &least)?;
        is_wrong("shrink", shrink, shrink > 0.0 && shrink < 1.0, "must lie between 0 and 1")
    }
}

/// Ticks in the largest step.
const MOST: f64 = 1e9;

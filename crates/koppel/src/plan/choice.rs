//! What was chosen, and why.

use super::candidate::Candidate;
use crate::coupling::AutoConfig;
use crate::run::RunConfig;
use serde::Serialize;

/// Settings that were chosen for a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The method with its parameters, the step and the schedule.
    pub chosen: Candidate,
    /// One row every so many steps, so that all rows that were asked for come out.
    pub record_every: u64,
    /// What was wanted.
    pub aim: AutoConfig,
    /// The error to be expected, over the range of each output, the worst; nothing if it is not known.
    pub error: Option<f64>,
    /// What the run will cost: calls or communications, as `aim` says; nothing if it is not known.
    pub cost: Option<f64>,
    /// What that rests on.
    pub basis: Basis,
    /// Until which time of the run that was looked at, in s.
    #[serde(rename = "judged_until")]
    pub looked_until: f64,
    /// Settings that keep the error, the cheapest first, then those that do not, the most exact first.
    pub tried: Vec<TriedSettings>,
    /// Methods that could not be tried.
    pub refused: Vec<RefusedMethod>,
    /// What to be careful about.
    pub warnings: Vec<String>,
    /// Calls of subsystems, or of their linear models, that choosing took, with what copies take to start.
    pub calls: f64,
}

/// What a choice rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The forecast: all subsystems are linear, and it is exact.
    Forecast,
    /// The forecast on linear models of subsystems that are not linear, of which no copies can be made.
    LinearModels,
    /// Runs of copies, compared with one of very small steps.
    Pilots,
    /// Nothing: it is what does least harm.
    Nothing,
}

/// One setting that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedSettings {
    /// The method, with its schedule.
    pub method: String,
    /// The step, in s.
    pub step: f64,
    /// Its error; nothing if it was not stable.
    pub error: Option<f64>,
    /// What it would cost.
    pub cost: Option<f64>,
    /// True if it keeps the error with its margins.
    pub keeps: bool,
}

/// A method that could not be tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedMethod {
    /// The method, with its schedule.
    pub method: String,
    /// Why.
    pub reason: String,
}

impl Choice {
    /// The settings with the choice in them.
    pub fn on(&self, config: &RunConfig) -> RunConfig {
        RunConfig { record_every: self.record_every, ..self.chosen.on(config) }
    }
}

//! What settings are worth, by the linear models of the subsystems.
//!
//! Any settings can be scored: methods with a step matrix by it, methods that learn by running the stand-ins.

use super::objective::Objective;
use crate::analysis::{Cost, LinearSystem, Reference, consistency};
use crate::error::Result;
use crate::plan::Candidate;
use crate::run::RunConfig;
use serde::Serialize;

/// What settings are worth. Small is good.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Growth of the largest mode per macro step.
    pub spectral_radius: f64,
    /// True if nothing grows, or not faster than the system does uncut.
    pub is_stable: bool,
    /// Predicted global error, relative to the range of each output, the worst; nothing if nothing moves.
    pub error: Option<f64>,
    /// Relative consistency; nothing if it is unknown.
    pub consistency: Option<f64>,
    /// What the whole run costs.
    pub cost: Cost,
}

/// What is found out about settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// What is to become small, and nothing if they are unstable.
    Objectives,
    /// All that is worth its time.
    All,
}

/// Macro steps of a run whose error is predicted if nobody asks for it.
const UNASKED_STEPS: f64 = 40_000.0;

/// Scores settings of one system.
pub(super) struct Scorer<'a> {
    pub(super) system: &'a LinearSystem,
    /// The settings that candidates change.
    pub(super) config: &'a RunConfig,
    pub(super) objectives: &'a [Objective],
    /// The system uncut, with which errors are predicted; nothing if nothing moves or connections have filters.
    pub(super) reference: Option<Reference>,
}

impl<'a> Scorer<'a> {
    /// Errors are predicted over the time of the run, or its first 4000 steps with the step of `config`.
    pub(super) fn new(
        system: &'a LinearSystem,
        config: &'a RunConfig,
        objectives: &'a [Objective],
    ) -> Scorer<'a> {
        Scorer { system, config, objectives, reference: system.reference(config).ok() }
    }

    pub(super) fn score(&self, candidate: &Candidate, detail: Detail) -> Result<Score> {
        let (system, config) = (self.system, candidate.on(self.config));
        let growth = system.growth(&config)?;
        let is_asked = |objective: Objective| self.objectives.contains(&objective);
        let is_wanted =
            |objective: Objective| growth.is_bounded && (is_asked(objective) || detail == Detail::All);
        let reference = self.reference.as_ref().filter(|reference| {
            let is_short = reference.horizon() / config.step <= UNASKED_STEPS;
            is_wanted(Objective::Error) && (is_asked(Objective::Error) || is_short)
        });
        let own = reference.filter(|_| detail == Detail::All).and_then(|common| {
            // Over the same time, ranges as seen at this step: what a check of these settings says.
            let own = system.reference(&config).ok()?;
            (own.horizon() == common.horizon()).then_some(own)
        });
        let reference = own.as_ref().or(reference);
        let error = reference.map(|reference| system.global_error(&config, reference)).transpose()?;
        let is_asked_for = is_wanted(Objective::Consistency);
        Ok(Score {
            spectral_radius: growth.radius,
            is_stable: growth.is_bounded,
            error: error.map(|error| error.overall),
            consistency: if is_asked_for { consistency(system, &config).ok() } else { None },
            cost: Cost::of(system.graph(), &config)?,
        })
    }
}

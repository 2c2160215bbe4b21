//! What settings are worth, by the forecast.

use super::candidate::Candidate;
use super::pilot::{Start, probed};
use super::search::Judge;
use super::task::{Steps, Task};
use crate::analysis::{Cost, LinearSystem, Reference, ReferenceCache, is_learning};
use crate::coupling::{AutoConfig, Save};
use crate::error::Result;
use crate::run::RunConfig;

/// An error beyond this is not that of a stable run.
const ASTRAY: f64 = 0.5;
/// Errors beyond so many times the wanted one need not be known where a shorter step can be taken.
const ENOUGH: f64 = 2.0;
/// Of the wanted error what exact models may have: only what rounding does is not seen.
const EXACT: f64 = 0.95;
/// The same of models that hold at the start.
const LINEARISED: f64 = 0.8;

/// What a step matrix costs, in calls.
const GROWTH: f64 = 100.0;

/// Judges on linear models; what is done before a run is counted on copies if there may be any.
pub(super) struct Forecasting<'a, 'p> {
    system: &'a LinearSystem,
    reference: &'a Reference,
    config: &'a RunConfig,
    wanted: f64,
    /// Beyond this, errors need not be known.
    limit: f64,
    save: Save,
    start: Option<&'a mut Start<'p>>,
    /// What predicted errors are multiplied by: more than 1 where models are not exact.
    caution: f64,
    cache: ReferenceCache,
    /// Calls of linear models, and of copies.
    spent: f64,
}

impl<'a, 'p> Forecasting<'a, 'p> {
    /// On linear models and the monolithic system; `config` is what candidates are put into.
    pub(super) fn new(
        (system, reference): (&'a LinearSystem, &'a Reference),
        config: &'a RunConfig,
        task: &Task,
        caution: f64,
    ) -> Self {
        let (AutoConfig { error: wanted, save }, cache) = (task.aim, ReferenceCache::default());
        let limit = if task.steps == Steps::Given { ASTRAY.max(wanted) } else { ENOUGH * wanted };
        Forecasting {
            system,
            reference,
            config,
            wanted,
            limit,
            save,
            start: None,
            caution,
            cache,
            spent: 0.0,
        }
    }

    /// With copies on which is counted what is done before a run.
    #[must_use]
    pub(super) fn with_copies(self, start: Option<&'a mut Start<'p>>) -> Self {
        Forecasting { start, ..self }
    }

    fn predicted(&mut self, config: &RunConfig, limit: f64) -> Result<f64> {
        let limit = limit / self.caution;
        let micro = self.system.finest_micro_step().map_or(config.step, |micro| micro.min(config.step));
        self.spent += self.reference.horizon() / micro * self.system.graph().len() as f64;
        let error = self.system.error_within(config, self.reference, limit, &mut self.cache)?;
        Ok(self.caution * error)
    }
}

impl Judge for Forecasting<'_, '_> {
    fn error(&mut self, candidate: &Candidate) -> Result<f64> {
        let config = candidate.on(self.config);
        let error = self.predicted(&config, self.limit)?;
        self.spent += GROWTH;
        // What a method learns shows in its error alone; what is too large needs no other reason.
        let is_sure = error > self.wanted || is_learning(&config.coupling);
        Ok(if is_sure || self.system.growth(&config)?.is_bounded { error } else { f64::INFINITY })
    }

    fn is_stable(&mut self, candidate: &Candidate) -> bool {
        let config = candidate.on(self.config);
        match is_learning(&config.coupling) {
            true => self.predicted(&config, 2.0 * ASTRAY).is_ok_and(|error| error <= ASTRAY),
            false => {
                self.spent += GROWTH;
                self.system.growth(&config).is_ok_and(|growth| growth.is_bounded)
            }
        }
    }

    fn share(&self) -> f64 {
        if self.system.is_exact() { EXACT } else { LINEARISED }
    }

    fn longest_step(&self) -> f64 {
        self.reference.longest_step()
    }

    fn counted(&self, candidate: &Candidate) -> Result<f64> {
        let cost = Cost::of(self.system.graph(), &candidate.on(self.config))?;
        Ok(if self.save == Save::Communications { cost.steps } else { cost.calls })
    }

    fn cost(&mut self, candidate: &Candidate) -> Result<f64> {
        Ok(self.counted(candidate)? + self.cost_before(candidate)?.unwrap_or(0.0))
    }

    fn cost_before(&mut self, candidate: &Candidate) -> Result<Option<f64>> {
        let Some(start) = self.start.as_mut().filter(|_| self.save != Save::Communications) else {
            return Ok(None);
        };
        // Only what is excited before the run does not follow from the settings.
        if !candidate.coupling.excites() {
            return Ok(Some(0.0));
        }
        let calls = probed(&start(&candidate.on(self.config))?);
        self.spent += calls;
        Ok(Some(calls))
    }

    fn spent(&self) -> f64 {
        self.spent
    }
}

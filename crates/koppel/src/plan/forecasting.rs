//! What settings are worth, by the forecast.

use super::candidate::Candidate;
use super::pilot::Pilots;
use super::search::{Judge, Judged};
use crate::analysis::{LinearSystem, Reference, is_learning};
use crate::coupling::{CouplingConfig, Save};
use crate::error::Result;
use crate::run::RunConfig;

/// An error beyond this is not that of a stable run.
const ASTRAY: f64 = 0.5;

/// Judges on linear models; costs are measured on copies if there may be any.
pub(super) struct Forecasting<'a, 'p> {
    pub(super) system: &'a LinearSystem,
    pub(super) reference: &'a Reference,
    pub(super) config: &'a RunConfig,
    pub(super) save: Save,
    pub(super) pilots: Option<&'a mut Pilots<'p>>,
    /// What predicted errors are multiplied by: more than 1 where models are not exact.
    pub(super) caution: f64,
}

impl Forecasting<'_, '_> {
    fn cost(&mut self, candidate: &Candidate) -> Result<f64> {
        // What is excited before the run is not told by the settings, nor what takes time.
        let is_measured =
            self.save == Save::Time || (self.save == Save::Calls && is_probing(&candidate.coupling));
        if let Some(pilots) = self.pilots.as_mut().filter(|_| is_measured) {
            return pilots.cost(candidate);
        }
        let cost = self.system.cost(&candidate.on(self.config))?;
        Ok(match self.save {
            Save::Communications => cost.steps,
            Save::Time | Save::Calls => cost.calls,
        })
    }
}

/// True if a method excites subsystems before the run.
fn is_probing(coupling: &CouplingConfig) -> bool {
    match coupling {
        CouplingConfig::Vfps(_) => true,
        CouplingConfig::Mixed { default, connections } => {
            is_probing(default) || connections.values().any(is_probing)
        }
        _ => false,
    }
}

impl Judge for Forecasting<'_, '_> {
    fn judge(&mut self, candidate: &Candidate) -> Result<Judged> {
        let config = candidate.on(self.config);
        // What a method learns shows in its error alone.
        let is_bounded = is_learning(&config.coupling) || self.system.growth(&config)?.is_bounded;
        let error = match is_bounded {
            true => self.caution * self.system.global_error(&config, self.reference)?.overall,
            false => f64::INFINITY,
        };
        Ok(Judged { error, cost: self.cost(candidate)? })
    }

    fn is_stable(&mut self, candidate: &Candidate) -> bool {
        let config = candidate.on(self.config);
        match is_learning(&config.coupling) {
            true => self.system.global_error(&config, self.reference).is_ok_and(|e| e.overall <= ASTRAY),
            false => self.system.growth(&config).is_ok_and(|growth| growth.is_bounded),
        }
    }
}

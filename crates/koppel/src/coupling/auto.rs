//! A coupling that is still to be chosen, as plain data: `koppel::plan` puts a method in its place before a run begins.

use crate::error::{Result, bad};
use serde::{Deserialize, Serialize};

/// What is wanted of the method to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoConfig {
    /// The error it may have, relative to the range of each output.
    pub error: f64,
    /// What it is to save among those that keep the error.
    pub save: Save,
}

/// What a chosen method saves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Save {
    /// Time of the run, counted as [`Save::Calls`]: what a machine measures under its load is no reason for a choice.
    #[default]
    Time,
    /// Calls of subsystems, counted, those before the run included: the same on every machine.
    Calls,
    /// Communication points, counted: where reaching the subsystems is what costs.
    Communications,
}

impl Default for AutoConfig {
    fn default() -> Self {
        AutoConfig { error: 0.05, save: Save::Time }
    }
}

impl AutoConfig {
    /// Refuses an error that cannot be aimed at.
    pub fn check(&self) -> Result<()> {
        if self.error > 0.0 && self.error < 1.0 {
            return Ok(());
        }
        let problem = "must lie above 0 and below 1: it is a part of each output's range, such as 0.05";
        Err(bad("auto.error", self.error, problem))
    }
}

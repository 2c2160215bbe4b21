//! A run's settings as plain data.

use super::adaptive::AdaptiveConfig;
use crate::coupling::{CouplingConfig, Hold};
use crate::error::{Error, Result, bad};
use crate::iteration::IterationConfig;
use crate::network::Reading;
use crate::record::Record;
use crate::signal::Clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who advances when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ScheduleConfig {
    /// `"parallel"` or `"sequence"`.
    Named(Named),
    /// One after the other, in this order.
    Order(Vec<String>),
    /// Groups in sequence, the members of a group in parallel.
    Groups(Vec<Vec<String>>),
}

/// Schedules that need no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Named {
    /// All in parallel (Jacobi).
    Parallel,
    /// One after the other in an automatic order (Gauss-Seidel).
    Sequence,
}

impl ScheduleConfig {
    /// All in parallel.
    pub const PARALLEL: Self = ScheduleConfig::Named(Named::Parallel);
    /// One after the other.
    pub const SEQUENCE: Self = ScheduleConfig::Named(Named::Sequence);

    /// In a word or two.
    pub fn words(&self) -> &'static str {
        match self {
            ScheduleConfig::Named(Named::Parallel) => "parallel",
            ScheduleConfig::Named(Named::Sequence) => "sequence",
            ScheduleConfig::Order(_) | ScheduleConfig::Groups(_) => "own order",
        }
    }
}

/// Whether members of a stage run on several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parallel {
    /// Where the measured step times say it pays.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Always: for tests.
    Always,
}

impl Parallel {
    /// True if threads may be used at all.
    pub(super) fn is_allowed(self) -> bool {
        self != Parallel::Never
    }
}

/// `[[at]] time = 1.0, set = { "left.m" = 12 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub time: f64,
    /// New values by full name.
    pub set: BTreeMap<String, f64>,
}

/// Everything about a run that is not the system itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Start time.
    #[serde(default)]
    pub start: f64,
    /// Stop time.
    pub stop: f64,
    /// Communication step H; the smallest, of which all others are multiples, if it adapts.
    pub step: f64,
    /// How the step adapts; not at all if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveConfig>,
    /// Who advances when.
    #[serde(default = "parallel")]
    pub schedule: ScheduleConfig,
    /// Slow subsystems: advanced every n-th step only, by n steps at once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub every: BTreeMap<String, u32>,
    /// How inputs are predicted.
    #[serde(default)]
    pub coupling: CouplingConfig,
    /// When feed-through outputs are read.
    #[serde(default)]
    pub reading: Reading,
    /// The shape of inputs given as one value per step.
    #[serde(default)]
    pub hold: Hold,
    /// How loops are iterated; not at all if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationConfig>,
    /// What is recorded.
    #[serde(default = "all")]
    pub record: Record,
    /// One row every n-th step; the first and the last are always kept.
    #[serde(default = "one")]
    pub record_every: u64,
    /// Rows at events between communication points, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record_events: bool,
    /// Ends the run when it becomes true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_when: Option<String>,
    /// Changes of parameters and free inputs at given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Change>,
    /// Threads.
    #[serde(default)]
    pub threads: Parallel,
}

fn parallel() -> ScheduleConfig {
    ScheduleConfig::PARALLEL
}

fn all() -> Record {
    Record::One("all".into())
}

fn one() -> u64 {
    1
}

impl RunConfig {
    /// A run from 0 to `stop` with communication step `step` and defaults for the rest.
    pub fn new(stop: f64, step: f64) -> Self {
        RunConfig {
            start: 0.0,
            stop,
            step,
            adaptive: None,
            schedule: parallel(),
            every: BTreeMap::new(),
            coupling: CouplingConfig::default(),
            reading: Reading::default(),
            hold: Hold::default(),
            iteration: None,
            record: all(),
            record_every: 1,
            record_events: false,
            stop_when: None,
            at: Vec::new(),
            threads: Parallel::default(),
        }
    }

    /// The largest communication step.
    pub fn largest_step(&self) -> f64 {
        self.adaptive.as_ref().map_or(self.step, |adaptive| adaptive.max)
    }

    /// True if its method asks more of subsystems than to take steps: models of them, or to roll back.
    pub fn makes_trials(&self) -> bool {
        self.iteration.is_some() || !self.coupling.only_extrapolates()
    }

    /// The same run with one step of this size.
    pub fn with_one_step(&self, step: f64) -> Self {
        RunConfig { step, adaptive: None, ..self.clone() }
    }

    /// Refuses what can be refused without knowing the system.
    pub fn check(&self) -> Result<()> {
        let times = self.check_times();
        // What follows from a wrong step is no other mistake.
        let adaptive = self.adaptive.as_ref().filter(|_| times.is_ok());
        let adaptive = adaptive.map(|adaptive| adaptive.check(self.step)).transpose();
        let iteration = self.iteration.as_ref().map(IterationConfig::check).transpose();
        let rows = match self.record_every {
            0 => Err(bad("run.record_every", 0, "must be at least 1")),
            _ => Ok(()),
        };
        let all = [times.err(), adaptive.err(), iteration.err(), rows.err()];
        Error::several(all.into_iter().flatten().map(|error| *error))
    }

    fn check_times(&self) -> Result<()> {
        for (place, value) in [("run.start", self.start), ("run.stop", self.stop), ("run.step", self.step)] {
            if !value.is_finite() {
                return Err(Error::NotFinite { place: place.into(), value }.into());
            }
        }
        if self.step <= 0.0 {
            return Err(bad("run.step", self.step, "must be positive"));
        }
        if self.stop <= self.start {
            let problem = format!("must come after the start at {}", self.start);
            return Err(bad("run.stop", self.stop, &problem));
        }
        let smallest = Clock::smallest_step(self.start.abs().max(self.stop.abs()));
        if self.step < smallest {
            let problem =
                format!("is too small for times up to {}: use at least {:.1e}", self.stop, 1.05 * smallest);
            return Err(bad("run.step", self.step, &problem));
        }
        if (self.stop - self.start) / self.step > 1e15 {
            return Err(bad("run.step", self.step, "makes more than 1e15 steps"));
        }
        if Clock::new(self.start, self.stop, self.step).steps() == 0 {
            let problem = format!(
                "is so long that the run of {} s has no step: use at most that",
                self.stop - self.start
            );
            return Err(bad("run.step", self.step, &problem));
        }
        Ok(())
    }
}

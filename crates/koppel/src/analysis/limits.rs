//! The steps at which each method is stable, under each schedule.

use super::intervals::{Interval, Scan, stable_steps};
use super::linear_system::{LinearSystem, is_learning};
use crate::coupling::{self, MethodInfo};
use crate::error::Error;
use crate::run::{RunConfig, ScheduleConfig};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Which methods are looked at beside the run's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Methods {
    /// None.
    Own,
    /// Holds of order zero to two.
    Holds,
    /// All there are.
    #[default]
    All,
}

/// Steps at which a method is stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Name of the coupling.
    pub method: String,
    /// The schedule.
    pub schedule: ScheduleConfig,
    /// True for the settings of the run itself.
    pub is_own: bool,
    /// The stable steps.
    pub intervals: Vec<Interval>,
    /// Why nothing is known of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// All its settings.
    #[serde(skip)]
    pub config: RunConfig,
}

/// The run's settings, then others: the same with every other method under every schedule. With an iteration there are no others,
/// because it makes the methods alike.
pub fn candidates(config: &RunConfig, methods: Methods) -> Vec<RunConfig> {
    let is_asked = |info: &&MethodInfo| match methods {
        Methods::Own => false,
        Methods::Holds => info.interpolates.is_some(),
        Methods::All => true,
    };
    let listed = coupling::methods().into_iter().filter(is_asked);
    let couplings = listed.filter_map(|info| (info.candidates)().into_iter().next());
    let mut all = vec![config.clone()];
    if config.iteration.is_some() {
        return all;
    }
    for coupling in couplings {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            if all.iter().all(|known| known.coupling.name() != coupling.name() || known.schedule != schedule)
            {
                all.push(RunConfig { coupling: coupling.clone(), schedule, ..config.clone() });
            }
        }
    }
    all
}

/// Stable steps of all these settings, the first of which are the run's own; `done` is told of each that is finished.
pub fn limits(
    system: &LinearSystem,
    settings: &[RunConfig],
    scan: Scan,
    done: &(dyn Fn(&str) + Sync),
) -> Vec<Limit> {
    // Methods that learn are run at every step that is tried.
    let scan_of = |number: usize, config: &RunConfig| match (number, is_learning(&config.coupling)) {
        (0, false) => scan,
        (_, false) => Scan { accuracy: scan.accuracy.max(1e-3), ..scan },
        (_, true) => Scan { accuracy: scan.accuracy.max(1e-2), per_decade: scan.per_decade.min(5), ..scan },
    };
    let limit = |(number, config): (usize, &RunConfig)| {
        let (intervals, problem) = match stable_steps(system, config, scan_of(number, config)) {
            Ok(intervals) => (intervals, None),
            Err(error) => (Vec::new(), Some(reason(&error))),
        };
        done(config.coupling.name());
        Limit {
            method: config.coupling.name().to_owned(),
            schedule: config.schedule.clone(),
            is_own: number == 0,
            intervals,
            problem,
            config: config.clone(),
        }
    };
    settings.par_iter().enumerate().map(limit).collect()
}

/// Why a forecast failed.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

//! The steps at which each method is stable, under each schedule.

use super::cost::Cost;
use super::intervals::{Interval, Scan, Scanned, scan_steps};
use super::linear_system::{LinearSystem, is_learning};
use super::zero_stability::refusal;
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
    /// The smallest and the largest step that was looked at, in s; nothing if none was.
    pub scanned: Option<[f64; 2]>,
    /// Steps within these limits at which nothing could be determined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<[f64; 2]>,
    /// True if a run with these settings would be refused at any step.
    pub is_refused: bool,
    /// Why nothing is known of them, or why they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// All its settings.
    #[serde(skip)]
    pub config: RunConfig,
}

impl Limit {
    /// Where the models of the start do not hold for the run nothing is known.
    pub(super) fn forget(&mut self) {
        (self.intervals, self.unknown, self.scanned) = (Vec::new(), Vec::new(), None);
        self.problem = Some("the linear models of the start do not hold for the whole run".into());
    }

    /// Of settings with which no run begins.
    pub(super) fn refused(config: RunConfig, problem: String) -> Self {
        Limit {
            method: config.coupling.name().to_owned(),
            schedule: config.schedule.clone(),
            is_own: false,
            intervals: Vec::new(),
            scanned: None,
            unknown: Vec::new(),
            is_refused: true,
            problem: Some(problem),
            config,
        }
    }
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
        let scan = scan_of(number, config);
        let refusal = refused(system, config);
        let is_refused = refusal.is_some();
        let (found, problem) = match refusal {
            Some(refusal) => (Scanned::default(), Some(refusal)),
            None => match scan_steps(system, config, scan) {
                Ok(found) => (found, None),
                Err(error) => (Scanned::default(), Some(reason(&error))),
            },
        };
        done(config.coupling.name());
        let Scanned { intervals, unknown } = found;
        Limit {
            scanned: problem.is_none().then_some([scan.from, scan.to]),
            unknown,
            is_refused,
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

/// Why a run with these settings would be refused at any step.
fn refused(system: &LinearSystem, config: &RunConfig) -> Option<String> {
    // Filters make it depend on the step.
    if system.has_filters() {
        return None;
    }
    refusal(system, config)
}

/// Work of looking for the stable steps of these settings, in steps of subsystems.
pub(super) fn work(system: &LinearSystem, config: &RunConfig) -> f64 {
    let per_step = Cost::work_per_step(&system.graph, config).unwrap_or(f64::INFINITY);
    system.watched_steps(config).map_or(f64::INFINITY, |steps| EVALUATIONS * steps as f64 * per_step)
}

/// Steps that are judged for one method.
const EVALUATIONS: f64 = 10.0;

/// Why a forecast failed.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

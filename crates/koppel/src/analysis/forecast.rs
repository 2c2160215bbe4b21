//! Whether a run will be stable, before it.

use super::intervals::{Interval, Scan, stable_steps};
use super::linear_system::LinearSystem;
use super::modes::{Mode, Scaling};
use crate::coupling::CouplingConfig;
use crate::error::{Error, Result};
use crate::run::{RunConfig, ScheduleConfig, Simulation};
use serde::Serialize;

/// What is to be expected of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Disturbances die out.
    Stable,
    /// They grow.
    Unstable,
    /// Some neither grow nor die out.
    Marginal,
    /// Nothing is known.
    Untrusted,
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
}

/// A run as it is to be expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// In one word.
    pub verdict: Verdict,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Subsystems that were linearised at the start: it holds near there.
    pub linearised: Vec<String>,
    /// Growth of the largest mode per macro step.
    pub spectral_radius: Option<f64>,
    /// Smallest change of the step matrix that makes the run unstable.
    pub stability_radius: Option<f64>,
    /// In which units that is measured.
    pub scaling: Option<Scaling>,
    /// Relative consistency: ‖u - L y‖ after two steps, over all unit states.
    pub consistency: Option<f64>,
    /// The largest modes.
    pub modes: Vec<Mode>,
    /// Integrators left out.
    pub integrators: usize,
    /// Critical modes left out because no output sees them.
    pub unseen: usize,
    /// Stable steps: of the run's own settings first, then of plain holds.
    pub limits: Vec<Limit>,
}

impl Forecast {
    fn unknown(reason: String) -> Self {
        Forecast {
            verdict: Verdict::Untrusted,
            reason: Some(reason),
            linearised: Vec::new(),
            spectral_radius: None,
            stability_radius: None,
            scaling: None,
            consistency: None,
            modes: Vec::new(),
            integrators: 0,
            unseen: 0,
            limits: Vec::new(),
        }
    }
}

/// States of a system of which other methods are forecast as well, and of one whose steps are scanned finely.
const SMALL: usize = 60;

/// Judges a run where it stands. The run is left as it was.
pub fn forecast(simulation: &mut Simulation, config: &RunConfig) -> Forecast {
    let system = match LinearSystem::new(simulation) {
        Ok(system) => system,
        Err(error) => return Forecast::unknown(reason(&error)),
    };
    let linearised = system.linearised();
    match judge(&system, config) {
        Ok(forecast) => Forecast { linearised, limits: limits(&system, config), ..forecast },
        Err(error) => {
            // Other methods can be forecast all the same.
            let limits = limits(&system, config);
            Forecast { linearised, limits, ..Forecast::unknown(reason(&error)) }
        }
    }
}

fn judge(system: &LinearSystem, config: &RunConfig) -> Result<Forecast> {
    let matrix = system.step_matrix(config)?;
    let spectrum = matrix.spectrum()?;
    let verdict = match (spectrum.is_marginal(), spectrum.is_bounded()) {
        (true, _) => Verdict::Marginal,
        (false, true) => Verdict::Stable,
        (false, false) => Verdict::Unstable,
    };
    Ok(Forecast {
        verdict,
        reason: None,
        linearised: Vec::new(),
        spectral_radius: Some(spectrum.radius),
        stability_radius: Some(spectrum.stability_radius()?),
        scaling: Some(matrix.scaling()),
        consistency: Some(system.consistency(config)?),
        integrators: spectrum.integrators,
        unseen: spectrum.unseen,
        modes: spectrum.modes,
        limits: Vec::new(),
    })
}

fn limits(system: &LinearSystem, config: &RunConfig) -> Vec<Limit> {
    let is_small = system.states() <= SMALL;
    let scan = match is_small {
        true => Scan::around(config.step),
        false => Scan { from: config.step / 4.0, to: config.step * 4.0, per_decade: 4, accuracy: 0.01 },
    };
    let limit = |config: &RunConfig, is_own: bool| {
        let (intervals, problem) = match stable_steps(system, config, scan) {
            Ok(intervals) => (intervals, None),
            Err(error) => (Vec::new(), Some(reason(&error))),
        };
        let (method, schedule) = (config.coupling.name().to_owned(), config.schedule.clone());
        Limit { method, schedule, is_own, intervals, problem }
    };
    let mut limits = vec![limit(config, true)];
    if is_small {
        for coupling in [CouplingConfig::Zoh {}, CouplingConfig::Foh { start: Default::default() }] {
            for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
                let is_new = limits.iter().all(|l| l.method != coupling.name() || l.schedule != schedule);
                if is_new && config.iteration.is_none() {
                    let other = RunConfig { coupling: coupling.clone(), schedule, ..config.clone() };
                    limits.push(limit(&other, false));
                }
            }
        }
    }
    limits
}

/// Why a forecast failed.
fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

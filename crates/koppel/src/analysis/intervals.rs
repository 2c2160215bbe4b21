//! The communication steps at which a run is stable.
//!
//! The spectral radius is not monotone in the step, so the range is scanned first; the ends of what is found stable are then
//! refined by bisection.

use super::cost::Stiffness;
use super::linear_system::LinearSystem;
use super::zero_stability::refusal;
use crate::error::Result;
use crate::run::RunConfig;
use serde::Serialize;

/// Where and how finely steps are tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scan {
    /// Smallest step, in s.
    pub from: f64,
    /// Largest step, in s.
    pub to: f64,
    /// Steps tried per decade.
    pub per_decade: u32,
    /// Relative accuracy of the ends.
    pub accuracy: f64,
}

impl Scan {
    /// A decade to either side of a step, and up to two where the time constants of the system are shorter or longer.
    pub fn of(step: f64, stiffness: Option<&Stiffness>) -> Self {
        let (fastest, slowest) = stiffness.map_or((step, step), |s| (s.fastest, s.slowest));
        let from = (fastest / 10.0).clamp(step / 100.0, step / 10.0);
        let to = (slowest * 5.0).clamp(step * 10.0, step * 100.0);
        Scan { from, to, per_decade: 10, accuracy: 1e-4 }
    }

    /// Of a system of so many states: the more, the coarser and the nearer to the step of the run.
    pub(super) fn for_states(states: usize, step: f64, stiffness: Option<&Stiffness>) -> Self {
        let scan = Scan::of(step, stiffness);
        match states {
            ..=SMALL => scan,
            states if states <= MIDDLE => Scan { per_decade: 5, accuracy: 1e-2, ..scan },
            _ => Scan { from: step / 4.0, to: step * 4.0, per_decade: 4, accuracy: 0.04 },
        }
    }

    /// Two decades to either side of a step.
    pub fn around(step: f64) -> Self {
        Scan { from: step / 100.0, to: step * 100.0, per_decade: 10, accuracy: 1e-4 }
    }
}

/// Stable steps in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Smallest one, in s.
    pub from: f64,
    /// Largest one, in s.
    pub to: f64,
    /// True if nothing is known of smaller steps.
    pub from_is_open: bool,
    /// True if nothing is known of larger steps.
    pub to_is_open: bool,
}

/// States up to which steps are scanned finely, and widely.
const SMALL: usize = 24;
const MIDDLE: usize = 60;

/// What a scan has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scanned {
    /// Stable steps.
    pub(super) intervals: Vec<Interval>,
    /// Steps around which nothing could be determined, in s.
    pub(super) unknown: Vec<[f64; 2]>,
}

/// All intervals of stable steps with these settings. A step at which nothing can be determined ends an interval as the end of the scan
/// does; if that is so for all, the reason is the error.
pub fn stable_steps(system: &LinearSystem, config: &RunConfig, scan: Scan) -> Result<Vec<Interval>> {
    Ok(scan_steps(system, config, scan)?.intervals)
}

/// The same with the steps at which nothing could be determined. A step that a run would refuse is not stable.
pub(super) fn scan_steps(system: &LinearSystem, config: &RunConfig, scan: Scan) -> Result<Scanned> {
    let judge = |step: f64| -> Result<bool> {
        let config = RunConfig { step, ..config.clone() };
        Ok(refusal(system, &config).is_none() && system.is_bounded(&config)?)
    };
    let count = ((scan.to / scan.from).log10() * f64::from(scan.per_decade)).ceil().max(1.0) as i32;
    let ratio = (scan.to / scan.from).powf(1.0 / f64::from(count));
    let steps: Vec<f64> = (0..=count).map(|k| scan.from * ratio.powi(k)).collect();
    let found: Vec<Result<bool>> = steps.iter().map(|step| judge(*step)).collect();
    if found.iter().all(Result::is_err) {
        found.into_iter().next().unwrap_or(Ok(false))?;
        return Ok(Scanned::default());
    }
    let half = ratio.sqrt();
    let failed = steps.iter().zip(&found).filter(|(_, found)| found.is_err());
    let unknown = failed.map(|(step, _)| [step / half, step * half]).collect();
    let is_stable: Vec<bool> = found.iter().map(|found| matches!(found, Ok(true))).collect();
    let edge = |stable: f64, unstable: f64| {
        last_stable(stable, unstable, scan.accuracy, |step| matches!(judge(step), Ok(true)))
    };
    let (mut intervals, mut k) = (Vec::new(), 0);
    while k < steps.len() {
        if !is_stable[k] {
            k += 1;
            continue;
        }
        let first = k;
        while k < steps.len() && is_stable[k] {
            k += 1;
        }
        let from_is_open = first == 0 || found[first - 1].is_err();
        let to_is_open = k == steps.len() || found[k].is_err();
        intervals.push(Interval {
            from: if from_is_open { steps[first] } else { edge(steps[first], steps[first - 1]) },
            to: if to_is_open { steps[k - 1] } else { edge(steps[k - 1], steps[k]) },
            from_is_open,
            to_is_open,
        });
    }
    Ok(Scanned { intervals, unknown })
}

/// The last stable value between a stable and an unstable one, found by bisection to a relative accuracy.
pub(super) fn last_stable(
    mut stable: f64,
    mut unstable: f64,
    accuracy: f64,
    mut is_stable: impl FnMut(f64) -> bool,
) -> f64 {
    while (unstable / stable).ln().abs() > accuracy {
        let middle = (stable * unstable).sqrt();
        if is_stable(middle) { stable = middle } else { unstable = middle }
    }
    stable
}

//! How good a run was, told when it has ended.
//!
//! A [`Certifier`] looks at the run after every macro step: at the defects u - L y of its connections, at what they do to the
//! outputs ([`estimate`]) or at how a second run at half the step differs, at the power that connections create or lose
//! ([`power`]), and at ripple between communication points ([`ripple`]). What it has seen becomes a [`Certificate`].

mod estimate;
mod inside;
mod learned;
mod power;
mod regression;
mod ripple;
mod signal;
mod stride;

use crate::error::{Error, Result};
use crate::run::Run;
use estimate::Estimate;
use learned::Learned;
pub use power::BondReport;
use power::Bonds;
use ripple::Ripples;
use serde::Serialize;
use signal::Signals;

/// A run is trusted up to this error, if it is below [`WRONG`] at worst.
const TRUSTED: f64 = 0.1;

/// It is wrong above this one.
const WRONG: f64 = 0.2;

/// What an estimate of 1 may be in truth, and the share of a signal's range above which it may be anything: of two large
/// numbers that cancel, little is left of what the signal should have been, and its range is taken too large.
#[derive(Clone, Copy)]
struct Spread {
    low: f64,
    high: f64,
    open_above: f64,
}

/// For exactly linear subsystems, for linearised ones, and from a second run at half the step, whose difference is between
/// the whole error (high order) and half of it (first order), as long as both runs are about right.
const EXACT: Spread = Spread { low: 0.7, high: 1.4, open_above: 0.5 };
const LINEARISED: Spread = Spread { low: 1.0 / 3.0, high: 3.0, open_above: 0.5 };
const HALVED: Spread = Spread { low: 0.75, high: 2.5, open_above: 0.05 };

/// What a run is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Worth {
    /// Its error is too large to use it.
    Wrong,
    /// Its error is noticeable or unknown.
    Doubtful,
    /// Its error is small.
    Trusted,
}

/// Where the error is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Defects of the connections, through subsystems that are linear.
    LinearModel,
    /// The same through subsystems that were linearised on the way.
    LinearisedModel,
    /// The same through models of what was seen of the subsystems in the run.
    LearnedModel,
    /// A second run at half the step.
    SecondRun,
    /// Nothing.
    None,
}

/// A figure and what it may be in truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// At least.
    pub low: f64,
    /// The estimate.
    pub error: f64,
    /// At most.
    pub high: f64,
}

/// Error of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignalError {
    /// `subsystem.output`.
    pub signal: String,
    /// Its unit, if it has one.
    pub unit: Option<String>,
    /// Mean error relative to the range of what the output should have been.
    #[serde(flatten)]
    pub relative: Band,
    /// Largest error, in its unit.
    pub largest: f64,
    /// When that was.
    pub time: f64,
}

/// Defect of one connection: what the input was given less what was connected to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// `a.x -> b.u`.
    pub connection: String,
    /// Energy of the defect, ∫(u - L y)² dt, in squares of the input's unit times s.
    pub energy: f64,
    /// Its root mean square relative to the range of what was connected.
    pub relative: f64,
}

/// How good a run was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// In one word.
    pub verdict: Worth,
    /// Why.
    pub reason: String,
    /// Where the error is known from.
    pub evidence: Evidence,
    /// Error of the whole: per subsystem the mean over its outputs, then the Euclidean norm (Genser 2020, (3.10)).
    pub overall: Option<Band>,
    /// Error of every output, the largest first.
    pub error: Vec<SignalError>,
    /// Defects of the connections, the largest first.
    pub connections: Vec<Gap>,
    /// Power that is created or lost between subsystems.
    pub bonds: Vec<BondReport>,
    /// What looks wrong.
    pub signs: Vec<String>,
    /// Why there is no estimate by defects, or none by the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Looks at a run.
pub struct Certifier {
    estimate: std::result::Result<Box<Estimate>, String>,
    /// What is seen of the run, if there is no model of it.
    learned: Option<Box<Learned>>,
    second: Option<Box<Run>>,
    /// Why the second run came to no end.
    broken: Option<String>,
    /// Errors by the second run, if there is one, and by the defects.
    differences: Signals,
    signals: Signals,
    bonds: Bonds,
    ripples: Ripples,
    time: f64,
    steps: u64,
}

impl Certifier {
    /// For a run as it stands, which is left as it was. What came before is taken as right.
    pub fn new(run: &mut Run) -> Self {
        let estimate = Estimate::new(run).map(Box::new).map_err(|error| reason(&error));
        let learned = match &estimate {
            Ok(_) => None,
            Err(_) => Learned::new(run).ok().flatten().map(Box::new),
        };
        let graph = run.graph();
        Certifier {
            estimate,
            learned,
            second: None,
            broken: None,
            differences: Signals::new(run),
            signals: Signals::new(run),
            bonds: Bonds::new(graph),
            ripples: Ripples::new(run.network().outputs()),
            time: run.time(),
            steps: 0,
        }
    }

    /// Takes the error from a second run of the same system at half the step, which is made along with the first.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if it is no such run.
    pub fn with_second_run(mut self, first: &Run, second: Run) -> Result<Self> {
        if first.step_sizes().is_some() {
            let reason = "adaptive steps cannot be halved; use the defects of the connections, or a run with a smaller tolerance".into();
            return Err(Error::Unsupported { what: "a second run".into(), reason }.into());
        }
        let is_half = (2.0 * second.step_size() / first.step_size() - 1.0).abs() < 1e-9;
        let is_it =
            is_half && second.time() == first.time() && second.graph().names() == first.graph().names();
        if !is_it {
            let reason = "it must be the same system at half the step".into();
            return Err(Error::Unsupported { what: "a second run".into(), reason }.into());
        }
        self.second = Some(Box::new(second));
        Ok(self)
    }

    /// Looks at the step, or the part of one, that was just made.
    pub fn look(&mut self, run: &mut Run) {
        self.steps += 1;
        let time = run.time();
        // Of a step that was cut, only the last part can be looked at if nobody looked before.
        let size = time - run.part_start().map_or(self.time, |start| start.max(self.time));
        self.time = time;
        if let Ok(estimate) = &mut self.estimate
            && let Err(error) = estimate.follow(run, size)
        {
            self.estimate = Err(reason(&error));
        }
        if !run.is_inside_step() {
            self.look_at_second(run, time);
        }
        match &self.estimate {
            Ok(estimate) => {
                self.signals.note(run, size, estimate.error.iter().copied());
                self.signals.note_defects(run, size, &estimate.defects);
            }
            Err(_) => self.signals.note_ends(run, size),
        }
        if let Some(learned) = &mut self.learned {
            learned.note(run, size);
        }
        self.bonds.note(run, size);
        let share = run.index() as f64 / run.steps().max(1) as f64;
        if !run.is_inside_step() {
            self.ripples.note(time, share, run.network().outputs());
        }
    }

    fn look_at_second(&mut self, run: &Run, time: f64) {
        let size = run.step_size();
        if let Some(second) = self.second.as_mut().filter(|_| self.broken.is_none()) {
            while second.time() < time - 1e-6 * size && !second.is_done() {
                if let Err(error) = second.advance() {
                    self.broken = Some(format!("the second run failed: {error}"));
                    return;
                }
            }
            let differences =
                run.network().outputs().iter().zip(second.network().outputs()).map(|(a, b)| a - b);
            self.differences.note(run, size, differences);
        }
    }

    /// What has been seen.
    pub fn certificate(&self, run: &Run) -> Certificate {
        let learned = self.learned.as_ref().filter(|_| self.second.is_none() && self.steps > 0);
        let learned = learned.map(|learned| learned.errors());
        let (evidence, band) = match (&self.second, &self.estimate) {
            _ if self.steps == 0 => (Evidence::None, EXACT),
            (None, Err(_)) if matches!(learned, Some(Ok(_))) => (Evidence::LearnedModel, LINEARISED),
            (Some(_), _) if self.broken.is_some() => (Evidence::None, HALVED),
            (Some(_), _) => (Evidence::SecondRun, HALVED),
            (None, Ok(estimate)) if estimate.is_exact => (Evidence::LinearModel, EXACT),
            (None, Ok(_)) => (Evidence::LinearisedModel, LINEARISED),
            (None, Err(_)) => (Evidence::None, LINEARISED),
        };
        let is_known = evidence != Evidence::None;
        let signals = match (evidence, &learned) {
            (Evidence::SecondRun, _) => &self.differences,
            (_, Some(Ok(errors))) => errors,
            _ => &self.signals,
        };
        let error = if is_known { signals.errors(run, band) } else { Vec::new() };
        let overall = is_known.then(|| signals.overall(run, band));
        let mut signs = self.ripples.signs(run.graph());
        if let Ok(estimate) = &self.estimate {
            signs.extend(estimate.signs(run));
        }
        let unknown = self.broken.clone().or_else(|| {
            let lack = self.estimate.as_ref().err()?;
            Some(match &learned {
                Some(Err(problem)) => format!("{lack}, and {problem}"),
                _ => lack.clone(),
            })
        });
        let is_growing = self.ripples.any_growing();
        let (mut verdict, mut reason) = judge(overall, &error, is_growing, unknown.as_deref());
        if evidence == Evidence::LearnedModel && verdict == Worth::Trusted {
            let why = "estimated by models identified in the run; confirm with `--second-run`";
            (verdict, reason) = (Worth::Doubtful, format!("{reason}, {why}"));
        }
        // Two runs that explode alike differ little; the defects tell.
        if evidence == Evidence::SecondRun && self.estimate.is_ok() {
            let by_defects = self.signals.overall(run, EXACT);
            let (worth, why) = judge(Some(by_defects), &[], is_growing, None);
            if worth == Worth::Wrong && worth < verdict {
                (verdict, reason) = (worth, format!("by the defects of the connections {why}"));
            }
        }
        // A linear system may grow by itself, and be right; of any other that has exploded nothing can be told.
        let is_small = evidence == Evidence::LinearModel && overall.is_some_and(|band| band.high <= WRONG);
        if let Some(output) = self.ripples.exploding().filter(|_| !is_small) {
            let name = run.graph().output_name(output);
            (verdict, reason) = (Worth::Wrong, format!("`{name}` grows without bound"));
        }
        let unstable = self.estimate.as_ref().ok().and_then(|estimate| estimate.unstable_solver(run));
        if let Some(sign) = unstable {
            if self.ripples.exploding().is_some() {
                (verdict, reason) = (Worth::Wrong, sign.clone());
            } else if verdict == Worth::Trusted {
                (verdict, reason) = (Worth::Doubtful, sign.clone());
            }
            signs.push(sign);
        }
        Certificate {
            verdict,
            reason,
            evidence,
            overall,
            error,
            connections: self.signals.gaps(run),
            bonds: self.bonds.reports(run.graph()),
            signs,
            unknown,
        }
    }
}

fn judge(
    overall: Option<Band>,
    errors: &[SignalError],
    is_rippling: bool,
    unknown: Option<&str>,
) -> (Worth, String) {
    let Some(overall) = overall else {
        let why = unknown.unwrap_or("no step was taken");
        return (Worth::Doubtful, format!("error unknown: {why}"));
    };
    let percent = |share: f64| match 100.0 * share {
        percent if percent > 1000.0 || percent.is_nan() => "more than 1000 %".into(),
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => "0.1 %".into(),
    };
    let largest = errors.first().map_or(String::new(), |e| format!(", mostly of `{}`", e.signal));
    if overall.error.is_nan() || overall.error > WRONG {
        let figure = if overall.error <= 10.0 { "about " } else { "" };
        return (Worth::Wrong, format!("mean error {figure}{}{largest}", percent(overall.error)));
    }
    if overall.error > TRUSTED || overall.high > WRONG {
        let reason = format!("mean error may reach {}{largest}", percent(overall.high));
        return (Worth::Doubtful, reason);
    }
    if is_rippling {
        return (Worth::Doubtful, "an output oscillates from step to step, or grows without bound".into());
    }
    (Worth::Trusted, format!("mean error at most {}", percent(overall.high)))
}

fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

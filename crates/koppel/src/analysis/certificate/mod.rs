//! How good a run was, judged when it has ended.
//!
//! A [`Certifier`] looks at the run after every macro step: at the defects u - L y of its connections, at what they do to the
//! outputs of a linear system ([`estimate`]), at the power that connections create or lose ([`power`]), and at ripple between
//! communication points ([`ripple`]). Of all other systems it keeps the outputs and compares them with shadows, runs at other
//! steps ([`mod@confirm`]). What has been found becomes a [`Certificate`]; [`verdict`] has the rules.

mod confirm;
mod estimate;
mod inside;
mod points;
mod power;
mod ripple;
mod signal;
mod spread;
mod stride;
mod verdict;

use crate::coupling::CouplingConfig;
use crate::error::Error;
use crate::run::Run;
use crate::solver::SolverConfig;
pub use confirm::{Confirmation, Shadows};
use confirm::{Confirmed, Question, confirm, worst};
use estimate::Estimate;
pub use points::Points;
pub use power::BondReport;
use power::Bonds;
use ripple::Ripples;
use serde::Serialize;
use signal::Signals;
pub use verdict::{Band, RunVerdict, Shadow};

/// Shorter runs tell too little of a system that is not linear.
const FEWEST_STEPS: u64 = 30;

/// Solvers with this tolerance leave errors that are too small to be stated.
const ACCURATE: f64 = 1e-4;

/// Where the error is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Defects of the connections, through subsystems that are linear.
    LinearModel,
    /// Runs at other steps.
    Shadows,
    /// Nothing.
    None,
}

/// Error of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignalError {
    /// `subsystem.output`.
    pub signal: String,
    /// Its unit, if it has one.
    pub unit: Option<String>,
    /// Root mean square error at communication points relative to the range of what the output should have been.
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
    pub verdict: RunVerdict,
    /// Why.
    pub reason: String,
    /// Where the error is known from.
    pub evidence: Evidence,
    /// Solvers whose own errors it does not count, although they may matter.
    pub not_counted: Vec<String>,
    /// Error of the worst output.
    pub overall: Option<Band>,
    /// Error of every output, the largest first.
    pub error: Vec<SignalError>,
    /// What runs at other steps have shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Defects of the connections, the largest first.
    pub connections: Vec<Gap>,
    /// Power that is created or lost between subsystems.
    pub bonds: Vec<BondReport>,
    /// What looks wrong.
    pub signs: Vec<String>,
    /// Why the error is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Looks at a run.
pub struct Certifier {
    estimate: std::result::Result<Box<Estimate>, String>,
    /// Outputs of a run that a shadow may confirm, or why there are none.
    points: std::result::Result<Points, String>,
    order: u32,
    signals: Signals,
    bonds: Bonds,
    ripples: Ripples,
    time: f64,
    steps: u64,
}

/// What is known of the error.
struct Known {
    evidence: Evidence,
    verdict: RunVerdict,
    band: Band,
    errors: Vec<SignalError>,
    confirmation: Option<Confirmation>,
    doubt: Option<String>,
    /// True if a run at a step far smaller agrees.
    is_settled: bool,
}

impl Certifier {
    /// For a run as it stands with this coupling, which is left as it was. What came before is taken as right.
    pub fn new(run: &mut Run, coupling: &CouplingConfig) -> Self {
        let estimate = Estimate::new(run).map(Box::new).map_err(|error| reason(&error));
        let mut certifier = Certifier {
            points: match &estimate {
                Ok(_) => Err("its linear model is lost".into()),
                Err(_) => Ok(Points::new(run.graph().outputs())),
            },
            estimate,
            order: coupling.least_order(),
            signals: Signals::new(run),
            bonds: Bonds::new(run.graph()),
            ripples: Ripples::new(run.network().outputs()),
            time: run.time(),
            steps: 0,
        };
        certifier.keep(run);
        certifier
    }

    /// True if no model tells the error: only shadows can.
    pub fn needs_shadows(&self) -> bool {
        self.estimate.is_err()
    }

    /// Shadows will not be made, for this reason: no outputs are kept for them.
    pub fn without_shadows(&mut self, reason: String) {
        self.points = Err(reason);
    }

    fn keep(&mut self, run: &Run) {
        if let Ok(points) = &mut self.points {
            points.note(run);
        }
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
        match &self.estimate {
            Ok(estimate) => {
                self.signals.note(run, size, &estimate.error);
                self.signals.note_defects(run, size, &estimate.defects);
            }
            Err(_) => self.signals.note_ends(run, size),
        }
        self.bonds.note(run, size);
        if !run.is_inside_step() {
            self.keep(run);
            let share = run.index() as f64 / run.steps().max(1) as f64;
            self.ripples.note(time, share, run.network().outputs());
        }
    }

    /// What has been found. `shadows` makes those that the rules ask for.
    pub fn certificate(&self, run: &Run, shadows: &mut Shadows<'_>) -> Certificate {
        let known = self.known(run, shadows);
        let mut signs = self.ripples.signs(run.graph());
        let solver = self.estimate.as_ref().ok().and_then(|estimate| estimate.unstable_solver(run));
        if let Ok(estimate) = &self.estimate {
            signs.extend(estimate.signs(run));
        }
        signs.extend(solver.clone());
        let (verdict, reason) = self.judge(run, &known, solver);
        let (unknown, known) = match known {
            Ok(known) => (None, Some(known)),
            Err(unknown) => (Some(unknown), None),
        };
        Certificate {
            verdict,
            reason,
            evidence: known.as_ref().map_or(Evidence::None, |known| known.evidence),
            not_counted: not_counted(run),
            overall: known.as_ref().map(|known| known.band),
            confirmation: known.as_ref().and_then(|known| known.confirmation.clone()),
            error: known.map_or_else(Vec::new, |known| known.errors),
            connections: self.signals.gaps(run),
            bonds: self.bonds.reports(run.graph()),
            signs,
            unknown,
        }
    }

    fn known(&self, run: &Run, shadows: &mut Shadows<'_>) -> std::result::Result<Known, String> {
        if self.steps == 0 {
            return Err("no step was taken".into());
        }
        if self.estimate.is_ok() {
            let errors = self.signals.errors(run.graph());
            let band = worst(&errors);
            let (verdict, evidence) = (band.verdict(), Evidence::LinearModel);
            let (confirmation, doubt, is_settled) = (None, None, false);
            return Ok(Known { evidence, verdict, band, errors, confirmation, doubt, is_settled });
        }
        let points = self.points.as_ref().map_err(String::clone)?;
        let is_strange = self.ripples.growing_late().is_some();
        let question = Question { graph: run.graph(), points, order: self.order, is_strange };
        let Confirmed { verdict, band, errors, confirmation, doubt, is_settled } =
            confirm(&question, shadows)?;
        let steps = run.steps_taken();
        if verdict == RunVerdict::Trusted && steps < FEWEST_STEPS {
            // Runs of so few steps agree by chance, or because they are the same.
            let taken = if steps == 1 { "1 step tells".into() } else { format!("{steps} steps tell") };
            return Err(format!("{taken} too little, {FEWEST_STEPS} would be enough"));
        }
        let (evidence, confirmation) = (Evidence::Shadows, Some(confirmation));
        Ok(Known { evidence, verdict, band, errors, confirmation, doubt, is_settled })
    }

    /// The verdict, with what was seen besides the error.
    fn judge(
        &self,
        run: &Run,
        known: &std::result::Result<Known, String>,
        unstable_solver: Option<String>,
    ) -> (RunVerdict, String) {
        let name = |output| run.graph().output_name(output);
        let is_linear = matches!(known, Ok(known) if known.evidence == Evidence::LinearModel);
        let is_small = is_linear && matches!(known, Ok(known) if known.verdict != RunVerdict::Wrong);
        // A linear system may grow by itself, and be right; of any other that has exploded nothing can be told.
        if let Some(output) = self.ripples.exploding().filter(|_| !is_small || unstable_solver.is_some()) {
            let reason = unstable_solver.unwrap_or_else(|| format!("`{}` grows without bound", name(output)));
            return (RunVerdict::Wrong, reason);
        }
        let (verdict, reason) = match known {
            Ok(known) => (known.verdict, words(known)),
            Err(unknown) => return (RunVerdict::Unconfirmed, format!("error unknown: {unknown}")),
        };
        let is_settled = matches!(known, Ok(known) if known.is_settled);
        let late = self.ripples.growing_late().filter(|_| !is_linear && !is_settled);
        let doubt = match late {
            _ if verdict != RunVerdict::Trusted => None,
            _ if unstable_solver.is_some() => unstable_solver,
            _ if self.ripples.any_growing(run.graph()) => {
                Some("an output oscillates from step to step, or grows without bound".into())
            }
            Some(output) => Some(format!("`{}` moves most at the end of the run", name(output))),
            None => None,
        };
        match doubt {
            Some(doubt) => (RunVerdict::Unconfirmed, format!("{reason}, but {doubt}")),
            None => (verdict, reason),
        }
    }
}

/// The error in words.
fn words(known: &Known) -> String {
    let percent = |share: f64| match 100.0 * share {
        percent if percent > 1000.0 || percent.is_nan() => "more than 1000 %".into(),
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => "0.1 %".into(),
    };
    let Band { low, error, high } = known.band;
    let signal = known.errors.first().map_or(String::new(), |worst| format!(" (`{}`)", worst.signal));
    let text = match known.verdict {
        RunVerdict::Trusted => format!("error at most {}{signal}", percent(high)),
        RunVerdict::Unconfirmed => {
            format!("error about {}, at most {}{signal}", percent(error), percent(high))
        }
        RunVerdict::Wrong if error <= 10.0 => format!("error at least {}{signal}", percent(low)),
        RunVerdict::Wrong => format!("error {}{signal}", percent(error)),
    };
    match &known.doubt {
        Some(doubt) => format!("{text}; {doubt}"),
        None => text,
    }
}

/// Solvers that are not accurate by themselves: with fixed steps, or a large tolerance.
fn not_counted(run: &Run) -> Vec<String> {
    let one = |id: usize| {
        let how = match run.network().subsystem(id).capabilities().solver_config? {
            SolverConfig::Adaptive(one) | SolverConfig::Stiff(one) if one.rtol > ACCURATE => {
                format!("tolerance {:e}", one.rtol)
            }
            solver => format!("fixed steps of {:e} s", solver.fixed_step()?),
        };
        Some(format!("`{}` ({how})", run.graph().name(id)))
    };
    (0..run.graph().len()).filter_map(one).collect()
}

fn reason(error: &Error) -> String {
    match error {
        Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

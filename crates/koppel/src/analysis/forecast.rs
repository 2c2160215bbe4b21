//! What is to be expected of a run, before it.

use super::blame::{Blame, Standing, blame, suspects};
use super::consistency::consistency;
use super::cost::{Cost, Stiffness};
use super::global_error::{GlobalError, Reference};
use super::growth::Found;
use super::intervals::Scan;
use super::limits::{Limit, Methods, candidates, limits, reason, work};
use super::linear_system::LinearSystem;
use super::modes::{Mode, Scaling};
use super::recommend::{Recommendation, recommend};
use super::robustness::{Robustness, robustness};
use super::step_matrix::StepMatrix;
use super::trust::{Trust, trust};
use crate::coupling::CouplingConfig;
use crate::error::{Error, Result};
use crate::run::{Run, RunConfig};
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
    /// Nothing is known, or it changes on the way.
    Untrusted,
}

/// How much is looked at.
#[derive(Clone, Copy)]
pub struct ForecastOptions<'a> {
    /// Methods whose stable steps are looked for; if nothing is said, all that are found within a budget of work.
    pub methods: Option<Methods>,
    /// The wanted error, relative to the range of each output.
    pub error: f64,
    /// How far parameters are varied, relative to themselves; not at all if nothing is said.
    pub vary: Option<f64>,
    /// Whether connections are ranked; if nothing is said, those with the largest errors.
    pub blame: Option<bool>,
    /// Told what is under way, for work that takes long.
    pub progress: &'a (dyn Fn(&str) + Sync),
    /// Makes a copy of the run at its start, which is walked and thrown away where the run itself could not be put back.
    pub copy: Option<&'a (dyn Fn() -> Option<Run> + Sync)>,
    /// Whether a run with other settings would begin, or in words why not: what it refuses is not recommended.
    pub accepts: Accepts<'a>,
}

/// Tells whether a run with these settings would begin.
pub type Accepts<'a> = Option<&'a (dyn Fn(&RunConfig) -> std::result::Result<(), String> + Sync)>;

impl Default for ForecastOptions<'_> {
    fn default() -> Self {
        ForecastOptions {
            methods: None,
            error: 0.05,
            vary: None,
            blame: None,
            progress: &|_| {},
            copy: None,
            accepts: None,
        }
    }
}

/// A run as it is to be expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// In one word.
    pub verdict: Verdict,
    /// Why it is not known, or from when on it is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where the models of the subsystems come from, and how far they hold.
    pub trust: Trust,
    /// Subsystems that were linearised at the start: it holds near there.
    pub linearised: Vec<String>,
    /// Growth of the largest mode per macro step.
    pub spectral_radius: Option<f64>,
    /// How that was found.
    pub found: Option<Found>,
    /// Smallest change of the step matrix that makes the run unstable.
    pub stability_radius: Option<f64>,
    /// In which units that is measured.
    pub scaling: Option<Scaling>,
    /// Relative consistency: ‖u - L y‖ after two steps, over all unit states.
    pub consistency: Option<f64>,
    /// True if the system itself grows where it stands, however it is solved: what does not grow faster counts as stable.
    pub grows_by_itself: bool,
    /// The largest modes.
    pub modes: Vec<Mode>,
    /// Integrators left out.
    pub integrators: usize,
    /// Critical modes left out because no output sees them.
    #[serde(rename = "hidden_modes")]
    pub unseen: usize,
    /// The error to be expected.
    pub error: Option<GlobalError>,
    /// Stable steps: of the run's own settings first, then of other methods and schedules.
    pub limits: Vec<Limit>,
    /// The largest step for the wanted error, method by method, the cheapest first.
    pub recommended: Vec<Recommendation>,
    /// Connections, the one to blame most first.
    pub blame: Vec<Blame>,
    /// Whether the verdict survives other parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robustness: Option<Robustness>,
    /// How far the rates of the system lie apart.
    pub stiffness: Option<Stiffness>,
    /// Work of the run.
    pub cost: Option<Cost>,
    /// What was not looked at because it takes too much work, and how to ask for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// An error that says no more than that the run goes wrong.
const HOPELESS: f64 = 10.0;
/// Work for methods beside the run's own, in steps of subsystems, unless they are asked for.
const WORK: f64 = 1e8;
/// Micro steps of a fixed size within a step that is still scanned.
const MICRO_STEPS: f64 = 3000.0;

impl Forecast {
    fn unknown(reason: String) -> Self {
        Forecast {
            verdict: Verdict::Untrusted,
            reason: Some(reason),
            trust: Trust::default(),
            linearised: Vec::new(),
            spectral_radius: None,
            found: None,
            stability_radius: None,
            scaling: None,
            consistency: None,
            grows_by_itself: false,
            modes: Vec::new(),
            integrators: 0,
            unseen: 0,
            error: None,
            limits: Vec::new(),
            recommended: Vec::new(),
            blame: Vec::new(),
            robustness: None,
            stiffness: None,
            cost: None,
            left_out: Vec::new(),
        }
    }

    /// Judges a run where it stands. The run is left as it was.
    pub fn of(run: &mut Run, config: &RunConfig, options: &ForecastOptions<'_>) -> Self {
        let system = match LinearSystem::new(run) {
            Ok(system) => system,
            Err(error) => return Forecast::unknown(reason(&error)),
        };
        let progress = options.progress;
        progress("the step matrix");
        let mut forecast = judge(&system, config).unwrap_or_else(|error| Forecast::unknown(reason(&error)));
        forecast.linearised = system.linearised();
        forecast.cost = Cost::of(&system.graph, config).ok();
        forecast.stiffness = Stiffness::of(&system).ok().flatten();
        progress("the error against the monolithic system");
        let reference = system.reference(config).ok();
        let error = reference.as_ref().and_then(|reference| system.global_error(config, reference).ok());
        forecast.error = error.filter(|error| error.overall < HOPELESS);
        let settings = candidates(config, options.methods.unwrap_or_default());
        let scan = scan(&system, config, forecast.stiffness.as_ref());
        let report = |method: &str| progress(&format!("stable steps of {method}"));
        forecast.limits = limits(&system, &settings[..1], scan, &report);
        progress("validity of linear models");
        forecast.trust = trust(run, &system, config, &forecast.limits[0], options.copy);
        forecast.left_out.extend(forecast.trust.not_followed.clone());
        forecast.doubt();
        let is_doubted = forecast.trust.doubt.is_some();
        if is_doubted {
            // What the models of the start say of the run was not verified.
            forecast.error = None;
            forecast.limits.iter_mut().filter(|limit| !limit.is_refused).for_each(Limit::forget);
        } else {
            let others = forecast.affordable(&system, &settings[1..], options.methods.is_some());
            let (others, refused) = begun(others, options);
            let others = limits(&system, &others, scan, &report).into_iter().chain(refused);
            forecast.limits.extend(others.map(|limit| Limit { is_own: false, ..limit }));
        }
        // What the models of the start recommend holds for the whole run, or not at all.
        let is_whole = !is_doubted && forecast.trust.grows_later.is_none();
        if is_whole {
            progress("recommended steps");
            forecast.recommended = recommend(&system, &forecast.limits, reference.as_ref(), options.error);
        }
        if is_whole && options.blame.unwrap_or(true) {
            progress("connections, each made ideal");
            forecast.blame = forecast.blamed(&system, config, reference.as_ref(), options.blame.is_some());
        }
        if let Some(variation) = options.vary.filter(|_| is_whole && forecast.verdict == Verdict::Stable) {
            progress("parameters, each varied");
            forecast.robustness = robustness(run, &system, config, variation).ok();
        }
        forecast
    }

    /// True if the models of the start hold for the whole run, so that figures follow from them.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.verdict != Verdict::Untrusted && self.trust.doubt.is_none()
    }

    /// The settings whose stable steps can be found within the budget, in their order; the rest is named.
    fn affordable(
        &mut self,
        system: &LinearSystem,
        settings: &[RunConfig],
        is_asked: bool,
    ) -> Vec<RunConfig> {
        let (mut left, mut taken, mut skipped) = (WORK, Vec::new(), Vec::<&str>::new());
        for config in settings {
            let needed = work(system, config);
            if is_asked || needed <= left {
                left -= needed;
                taken.push(config.clone());
            } else if !skipped.contains(&config.coupling.name()) {
                skipped.push(config.coupling.name());
            }
        }
        if !skipped.is_empty() {
            let names = skipped.join("`, `");
            self.left_out.push(format!("stable steps of `{names}`, which take long to find: --methods all"));
        }
        taken
    }

    /// A verdict that is another one elsewhere on the way is none; a change to an exact model that grows makes the run unstable.
    fn doubt(&mut self) {
        if let Some((reason, radius)) = self.trust.grows_later.clone() {
            (self.verdict, self.reason) = (Verdict::Unstable, Some(reason));
            self.spectral_radius = Some(radius).filter(|radius| radius.is_finite());
        }
        if let Some(doubt) = self.trust.changes.as_ref().filter(|_| self.verdict != Verdict::Untrusted) {
            self.verdict = Verdict::Untrusted;
            self.reason = Some(doubt.clone());
        }
    }

    fn blamed(
        &mut self,
        system: &LinearSystem,
        config: &RunConfig,
        reference: Option<&Reference>,
        is_asked: bool,
    ) -> Vec<Blame> {
        let Some(radius) = self.spectral_radius else { return Vec::new() };
        let standing = Standing {
            is_bounded: radius <= (1.0_f64 + 1e-8).max(system.own_growth(config)),
            error: self.error.as_ref().map(|error| error.overall),
            reference,
        };
        let all = system.graph.wires().len();
        let wires = if is_asked { (0..all).collect() } else { suspects(system, config) };
        if wires.len() < all {
            let judged = wires.len();
            self.left_out.push(format!(
                "blame of {} of {all} connections: the {judged} with the largest errors are judged",
                all - judged
            ));
        }
        blame(system, config, standing, &wires).unwrap_or_default()
    }
}

fn judge(system: &LinearSystem, config: &RunConfig) -> Result<Forecast> {
    let matrix = match StepMatrix::of(system, config) {
        Ok(matrix) => matrix,
        Err(error) if matches!(*error, Error::Unsupported { .. }) => {
            let growth = system.growth(config)?;
            return Ok(Forecast {
                verdict: if growth.is_bounded { Verdict::Stable } else { Verdict::Unstable },
                reason: None,
                spectral_radius: Some(growth.radius).filter(|radius| radius.is_finite()),
                found: Some(growth.found),
                consistency: consistency(system, config).ok(),
                ..Forecast::unknown(String::new())
            });
        }
        Err(error) => return Err(error),
    };
    let spectrum = matrix.spectrum()?;
    let by_itself = system.own_growth(config);
    let verdict = match (spectrum.is_marginal(), spectrum.is_bounded()) {
        (true, _) => Verdict::Marginal,
        (false, true) => Verdict::Stable,
        (false, false) if spectrum.radius <= by_itself => Verdict::Stable,
        (false, false) => Verdict::Unstable,
    };
    Ok(Forecast {
        verdict,
        reason: None,
        grows_by_itself: !spectrum.is_bounded() && by_itself > 1.0,
        spectral_radius: Some(spectrum.radius),
        found: Some(Found::StepMatrix),
        stability_radius: Some(spectrum.stability_radius()?),
        scaling: Some(matrix.scaling()),
        consistency: Some(consistency(system, config)?),
        integrators: spectrum.integrators,
        unseen: spectrum.unseen,
        modes: spectrum.modes,
        ..Forecast::unknown(String::new())
    })
}

/// Those with which a run would begin, and the others as refused. What a method needs does not depend on the schedule.
fn begun(settings: Vec<RunConfig>, options: &ForecastOptions<'_>) -> (Vec<RunConfig>, Vec<Limit>) {
    let Some(accepts) = options.accepts else { return (settings, Vec::new()) };
    let mut known: Vec<(CouplingConfig, std::result::Result<(), String>)> = Vec::new();
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for config in settings {
        let found = match known.iter().find(|(coupling, _)| *coupling == config.coupling) {
            Some((_, found)) => found.clone(),
            None => {
                (options.progress)(&format!("whether a run with {} begins", config.coupling.name()));
                let found = accepts(&config);
                known.push((config.coupling.clone(), found.clone()));
                found
            }
        };
        match found {
            Ok(()) => taken.push(config),
            Err(problem) => refused.push(Limit::refused(config, problem)),
        }
    }
    (taken, refused)
}

fn scan(system: &LinearSystem, config: &RunConfig, stiffness: Option<&Stiffness>) -> Scan {
    // Steps with so many micro steps take long and are of no use.
    let longest =
        system.finest_micro_step().map_or(f64::INFINITY, |h| (MICRO_STEPS * h).max(3.0 * config.step));
    let scan = Scan::for_states(system.states(), config.step, stiffness);
    Scan { to: scan.to.min(longest), ..scan }
}

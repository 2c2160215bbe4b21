//! What to say of a run in three lines: how good it is, how near its step is to instability, and what would be better at which price.
//!
//! Nothing is recommended that was not verified. Exactly linear systems are computed with other settings over the whole run; of all
//! others the runs that confirmed the result are named. Where there is neither, the lines say so and give no number.

use koppel::analysis::{Certificate, Confirmation};
use koppel::analysis::{
    Cost, Excitation, Forecast, Interval, LinearSystem, Methods, Reference, RunVerdict, Scan, Shadow,
    Stiffness, Verdict, candidates, stable_steps,
};
use koppel::run::{Run, RunConfig};
use serde::Serialize;

use crate::number::significant;

/// A recommended setting has no larger error, as a share of the range: a run with it is trusted.
const WANTED: f64 = 0.05 / 1.5;
/// Micro steps of all trials on linear models together, at most.
const WORK: f64 = 1e5;
/// Steps that are tried, as multiples of that of the run: where its error is too large, and where it is small.
const SMALLER: [f64; 3] = [0.5, 0.25, 0.125];
const LARGER: [f64; 2] = [4.0, 2.0];
/// Calls that count as the same price.
const SAME: f64 = 1.05;
/// A run with a larger error may be unstable.
const STABLE: f64 = 0.5;
/// Disturbances that become no more than so many times as large in the run do no harm.
const HARMLESS: f64 = 2.0;
/// Part of the error that is worth another method.
const WORTH: f64 = 0.5;

const CHECK: &str = "`koppel check` looks for it";

/// A run in three lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// How good it is, with the error and the output that has it.
    pub verdict: String,
    /// Up to which step it is stable, and the step of the run.
    pub stability: String,
    /// What would be better, and what that costs.
    pub better: String,
}

/// An exactly linear system as it stood at the start of the run.
pub(crate) struct Ahead {
    pub(crate) system: LinearSystem,
    pub(crate) config: RunConfig,
}

impl Advice {
    /// The lines with what they are about.
    #[must_use]
    pub fn lines(&self) -> [(&'static str, &str); 3] {
        [("verdict", &self.verdict), ("stability", &self.stability), ("better", &self.better)]
    }

    /// Of a run that has ended.
    pub(crate) fn of_run(run: &Run, certificate: Option<&Certificate>, ahead: Option<&Ahead>) -> Advice {
        let verdict = match certificate {
            Some(certificate) => format!("{}: {}", name(certificate.verdict), certificate.reason),
            None => "none: the certificate is off".into(),
        };
        let step = run.step_size();
        let confirmation = certificate.and_then(|certificate| certificate.confirmation.as_ref());
        let stability = match (ahead, confirmation) {
            _ if run.step_sizes().is_some() => format!("its steps adapt: {CHECK}"),
            (Some(ahead), _) => ahead.stability().unwrap_or_else(|| unknown_limit(step)),
            (None, Some(confirmation)) => tried(certificate, confirmation, step),
            (None, None) => unknown_limit(step),
        };
        let error = certificate.and_then(|certificate| certificate.overall).map(|band| band.error);
        let better = match (ahead, confirmation) {
            _ if run.step_sizes().is_some() => None,
            (Some(ahead), _) => error.and_then(|error| ahead.better(error)),
            (None, Some(confirmation)) => Some(confirmed(certificate, confirmation, step)),
            (None, None) => None,
        };
        Advice { verdict, stability, better: better.unwrap_or_else(|| format!("not looked for: {CHECK}")) }
    }

    /// Of a run that is to come, at this step, for an error up to `wanted`.
    #[must_use]
    pub fn of_forecast(forecast: &Forecast, step: f64, wanted: f64) -> Advice {
        let own = forecast.limits.iter().find(|limit| limit.is_own);
        let own_step = in_seconds(step);
        let stability = match (own.filter(|_| forecast.holds()), forecast.verdict) {
            (Some(limit), _) if limit.problem.is_none() => within(&limit.intervals, step),
            (_, Verdict::Untrusted) => format!("not known: a run confirms its own step of {own_step} s"),
            (_, Verdict::Unstable) => {
                format!("unstable at {own_step} s, at all points of the run that were looked at")
            }
            (_, Verdict::Stable | Verdict::Marginal) => {
                format!("stable at {own_step} s, at all points of the run that were looked at")
            }
        };
        let better = if forecast.holds() {
            recommended(forecast, step, wanted)
        } else {
            "not looked for: no linear model holds for the whole run; `koppel tune` runs what it recommends"
                .into()
        };
        Advice { verdict: foreseen(forecast), stability, better }
    }
}

fn name(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Trusted => "trusted",
        RunVerdict::Unconfirmed => "unconfirmed",
        RunVerdict::Wrong => "wrong",
    }
}

fn foreseen(forecast: &Forecast) -> String {
    let error = match &forecast.error {
        Some(error) => {
            let signal =
                error.outputs.first().map_or(String::new(), |worst| format!(" (`{}`)", worst.output));
            let after = match error.excitation {
                Excitation::Run => "",
                Excitation::Disturbance => " after a disturbance",
            };
            format!("predicted error {}{signal}{after}", percent(error.overall))
        }
        None => "no error is predicted".into(),
    };
    match forecast.verdict {
        Verdict::Stable => format!("stable: {error}"),
        Verdict::Marginal => format!("marginal, disturbances neither grow nor decay: {error}"),
        Verdict::Unstable => {
            let growth = forecast.spectral_radius.map_or(f64::INFINITY, |radius| 100.0 * (radius - 1.0));
            format!("unstable: disturbances grow by {} % per step", significant(growth, 2))
        }
        Verdict::Untrusted => {
            format!("untrusted: {}", forecast.reason.as_deref().unwrap_or("no model is known"))
        }
    }
}

/// The cheapest recommendation of a forecast, with its price.
fn recommended(forecast: &Forecast, step: f64, wanted: f64) -> String {
    let Some(best) = forecast.recommended.first() else {
        return format!("nothing was found that keeps an error of {}", percent(wanted));
    };
    let (at, schedule) = (in_seconds(best.step), best.schedule.words());
    let error = best.error.map_or("an unknown error".into(), |error| format!("error {}", percent(error)));
    let own = forecast.cost.map_or(f64::NAN, |cost| cost.calls_per_second);
    let price = price(best.cost.calls_per_second / own);
    let is_own =
        forecast.limits.iter().any(|limit| limit.is_own && limit.config.coupling == best.config.coupling);
    if is_own && (best.step / step - 1.0).abs() < 0.05 {
        return format!("none: these settings are the cheapest found for {}", percent(wanted));
    }
    format!("`{}`, {schedule}, at {at} s: {error}, {price}", best.method)
}

fn unknown_limit(step: f64) -> String {
    format!("not known beyond the step of {} s: {CHECK}", in_seconds(step))
}

/// Where a step lies among stable ones.
fn within(intervals: &[Interval], step: f64) -> String {
    let own = in_seconds(step);
    let is_inside = |one: &&Interval| one.from <= step * (1.0 + 1e-9) && step <= one.to * (1.0 + 1e-9);
    match intervals.iter().find(is_inside) {
        Some(one) if one.to_is_open => {
            format!("stable up to {} s at least; this run takes {own} s", in_seconds(one.to))
        }
        Some(one) => format!("stable up to {} s; this run takes {own} s", in_seconds(one.to)),
        None => match intervals.iter().rev().find(|one| one.to < step) {
            Some(one) => format!("unstable at {own} s; stable up to {} s", in_seconds(one.to)),
            None => format!("unstable at {own} s, and no smaller stable step was found"),
        },
    }
}

/// What the runs that confirmed a result show of stability.
fn tried(certificate: Option<&Certificate>, confirmation: &Confirmation, step: f64) -> String {
    let (own, finer) = (in_seconds(step), in_seconds(step * confirmation.ratio));
    let is_trusted = certificate.is_some_and(|certificate| certificate.verdict == RunVerdict::Trusted);
    match confirmation.error_of_coarser.filter(|error| is_trusted && *error < STABLE) {
        Some(_) => {
            let coarser = in_seconds(step * Shadow::Coarser.ratio());
            format!("stable up to {coarser} s at least, where it was tried; this run takes {own} s")
        }
        None if is_trusted => format!("stable at {own} s; larger steps were not found to be"),
        None => format!("not known: the runs at {own} s and {finer} s differ; {CHECK}"),
    }
}

/// What the runs that confirmed a result have shown to be better.
fn confirmed(certificate: Option<&Certificate>, confirmation: &Confirmation, step: f64) -> String {
    let ratio = confirmation.ratio;
    let is_trusted = certificate.is_some_and(|certificate| certificate.verdict == RunVerdict::Trusted);
    let coarser = confirmation.error_of_coarser.filter(|error| *error <= WANTED);
    match (is_trusted, coarser) {
        (true, Some(error)) => format!(
            "a step of {} s was tried, too: error at most {}, {}",
            in_seconds(step * Shadow::Coarser.ratio()),
            percent(error),
            price(1.0 / Shadow::Coarser.ratio())
        ),
        (true, None) => "none needed; a larger step was not found to be good enough".into(),
        (false, _) => format!(
            "a step of {} s was run to confirm this one, and is the better result, {}",
            in_seconds(step * ratio),
            price(1.0 / ratio)
        ),
    }
}

impl Ahead {
    fn stability(&self) -> Option<String> {
        let Ahead { system, config } = self;
        if config.coupling.linear().is_err() {
            return None;
        }
        let stiffness = Stiffness::of(system).ok().flatten();
        let scan = Scan { per_decade: 4, accuracy: 1e-2, ..Scan::of(config.step, stiffness.as_ref()) };
        let intervals = stable_steps(system, config, scan).ok()?;
        let growth = system.growth(config).ok()?;
        let grown = growth.radius.powf((config.stop - config.start) / config.step);
        if growth.is_bounded || grown > HARMLESS {
            return Some(within(&intervals, config.step));
        }
        // Undamped systems grow at any step, by next to nothing.
        let own = in_seconds(config.step);
        Some(format!("disturbances grow at {own} s, but only by {} in this run", percent(grown - 1.0)))
    }

    /// Something better than the run with this error, as computed over the whole run.
    fn better(&self, error: f64) -> Option<String> {
        let Ahead { system, config } = self;
        let reference = system.reference(config).ok()?;
        if reference.horizon() < config.stop - config.start - 1.5 * config.step {
            return None;
        }
        let mut trials = Trials {
            ahead: self,
            reference,
            calls: Cost::of(system.graph(), config).ok()?.calls,
            left: WORK,
        };
        let own = self.config.clone();
        let others = candidates(config, Methods::Holds);
        let best = others
            .iter()
            .skip(1)
            .filter_map(|other| trials.try_one(other))
            .min_by(|a, b| a.error.total_cmp(&b.error));
        let best = best.filter(|best| best.price <= SAME);
        let settings: Vec<RunConfig> =
            [Some(own), best.as_ref().map(|best| best.config.clone())].into_iter().flatten().collect();
        let mut first_good = |multiples: &[f64]| {
            let all = multiples.iter().flat_map(|multiple| settings.iter().map(move |one| (one, multiple)));
            let steps = all.map(|(one, multiple)| RunConfig { step: multiple * one.step, ..one.clone() });
            steps.into_iter().find_map(|one| trials.try_one(&one).filter(|tried| tried.error <= WANTED))
        };
        if error > WANTED {
            let found = best.filter(|best| best.error <= WANTED).or_else(|| first_good(&SMALLER));
            return Some(found.map_or_else(
                || format!("nothing was found down to an eighth of the step: {CHECK}"),
                |found| found.words(),
            ));
        }
        if let Some(cheaper) = first_good(&LARGER) {
            return Some(cheaper.words());
        }
        let found = best.filter(|best| best.error <= WORTH * error);
        Some(
            found.map_or_else(
                || "none needed, and no larger step is good enough".into(),
                |found| found.words(),
            ),
        )
    }
}

/// Runs of linear models.
struct Trials<'a> {
    ahead: &'a Ahead,
    reference: Reference,
    /// Of the run itself.
    calls: f64,
    /// Micro steps that are left.
    left: f64,
}

/// Settings that were tried.
struct Tried {
    config: RunConfig,
    error: f64,
    /// Calls over those of the run.
    price: f64,
}

impl Trials<'_> {
    fn try_one(&mut self, config: &RunConfig) -> Option<Tried> {
        let system = &self.ahead.system;
        if config.step > self.reference.longest_step() || config.coupling.linear().is_err() {
            return None;
        }
        let micro = system.finest_micro_step().map_or(config.step, |micro| micro.min(config.step));
        self.left -= self.reference.horizon() / micro;
        if self.left < 0.0 || !system.growth(config).ok()?.is_bounded {
            return None;
        }
        let found = system.global_error(config, &self.reference).ok()?;
        let price = Cost::of(system.graph(), config).ok()?.calls / self.calls;
        (found.excitation == Excitation::Run).then(|| Tried {
            config: config.clone(),
            error: found.overall,
            price,
        })
    }
}

impl Tried {
    fn words(&self) -> String {
        let RunConfig { coupling, schedule, step, .. } = &self.config;
        format!(
            "`{}`, {}, at {} s: error {}, {}",
            coupling.words(),
            schedule.words(),
            in_seconds(*step),
            percent(self.error),
            price(self.price)
        )
    }
}

/// What something costs, relative to the run.
fn price(calls: f64) -> String {
    match calls {
        calls if calls.is_nan() => "at an unknown price".into(),
        calls if (1.0 / SAME..SAME).contains(&calls) => "at the same price".into(),
        calls => format!("{} times the calls", significant(calls, 2)),
    }
}

fn in_seconds(step: f64) -> String {
    significant(step, 3)
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent < 0.01 => "below 0.01 %".into(),
        percent => format!("{} %", significant(percent, 2)),
    }
}

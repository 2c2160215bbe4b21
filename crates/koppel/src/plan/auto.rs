//! `auto`: the cheapest settings that keep a wanted error, with margins.
//!
//! ```text
//! all subsystems linear      the forecast judges: it is exact
//! copies may be made         copies are run to the end and compared with one of very small steps
//! linear models only         the forecast judges, with twice its errors
//! nothing                    zero-order hold, and a warning
//! ```
//!
//! What choosing may take is counted in calls of subsystems, never in time: the same settings are chosen on any machine under any load.

use super::candidate::Candidate;
use super::choice::{Basis, Choice, RefusedMethod};
use super::forecasting::Forecasting;
use super::pilot::{Comparison, Pilots, Start};
use super::search::{Found, Judge, Judged, search};
use super::task::{Steps, Task};
use crate::analysis::{LinearSystem, Reference};
use crate::coupling::CouplingConfig;
use crate::error::Result;
use crate::run::{Run, RunConfig};

/// States up to which the forecast of every method is quick.
const SMALL: usize = 60;
/// Steps of linear models that choosing may take: they call no subsystem.
const FORECASTS: f64 = 4e6;
/// What predicted errors are multiplied by where subsystems are not linear.
const CAUTION: f64 = 2.0;

/// Chooses settings; `start` brings copies of the system to their start, `progress` receives what is under way.
///
/// # Errors
///
/// If the aim makes no sense, or the system cannot be started.
pub fn choose<'a>(task: &Task, start: &'a mut Start<'a>, progress: &dyn Fn(&str)) -> Result<Choice> {
    task.aim.check()?;
    let held = RunConfig { coupling: CouplingConfig::zoh(), ..task.config.clone() };
    let mut base = start(&held)?;
    let is_picky = (0..base.graph().len()).any(|id| base.graph().ports(id).one_step_size);
    let dividing = Task { steps: Steps::Dividing, ..task.clone() };
    let task = if is_picky && task.steps == Steps::Free { &dividing } else { task };
    let mut warnings = against_copies(&base, task);
    let linear = LinearSystem::new(&mut base);
    let time = base.time();
    // Matrices of the start say nothing of what is set later.
    let is_constant = task.config.at.iter().all(|change| change.time <= time);
    let known = linear.as_ref().ok().filter(|system| system.states() <= SMALL && is_constant);
    let reference = known.and_then(|system| system.reference(&held).ok());
    let forecast = known.zip(reference.as_ref());
    let is_exact = forecast.is_some_and(|(system, _)| system.is_exact());
    let may_copy = warnings.is_empty();
    let work = Work { task, held: &held, time, progress };
    let choice = match forecast {
        Some((system, reference)) if is_exact || !may_copy => {
            drop(base);
            work.by_forecast(system, reference, may_copy.then_some(start))
        }
        _ if may_copy => {
            let mut pilots = Pilots::new(start, &held, task, &base);
            drop(base);
            work.by_pilots(&mut pilots)
        }
        _ => {
            let reason = match &linear {
                Err(error) => error.to_string(),
                Ok(_) => "there is no forecast for it, and no copies can be made".into(),
            };
            held_inputs(task, reason)
        }
    };
    warnings.extend(choice.warnings.iter().cloned());
    Ok(Choice { warnings, ..choice })
}

/// What is the same for all ways to choose.
struct Work<'a> {
    task: &'a Task,
    /// Settings with inputs held.
    held: &'a RunConfig,
    /// Where the run begins.
    time: f64,
    progress: &'a dyn Fn(&str),
}

impl Work<'_> {
    fn by_forecast<'p>(
        &self,
        system: &LinearSystem,
        reference: &Reference,
        start: Option<&mut Start<'p>>,
    ) -> Choice {
        let (task, is_exact) = (self.task, system.is_exact());
        let (basis, caution) = match is_exact {
            true => (Basis::Forecast, 1.0),
            false => (Basis::LinearModels, CAUTION),
        };
        let mut judge = Forecasting::new((system, reference), self.held, task, caution).with_copies(start);
        let found = search(task, &mut judge, FORECASTS, self.progress);
        let mut choice = taken(task, found, basis, self.time + reference.horizon());
        choice.calls = judge.spent();
        if !is_exact {
            // Nothing was run: the figure would be a promise that nobody has verified.
            choice.error = None;
            choice.warnings.push(format!(
                "linear models of `{}` at the start were used; errors may be larger elsewhere",
                system.linearised().join("`, `")
            ));
        }
        choice
    }

    fn by_pilots(&self, pilots: &mut Pilots<'_>) -> Choice {
        (self.progress)("a reference run with very small steps");
        let choice = match pilots.find_reference(self.task.aim.error) {
            Comparison::Found => {
                let end = pilots.budget;
                let found = search(self.task, pilots, end, self.progress);
                taken(self.task, found, Basis::Pilots, self.task.config.stop)
            }
            Comparison::Still => held_inputs(self.task, "nothing changes in it".into()),
            Comparison::Unclear(nearest) => unclear(self.task, nearest.map(|nearest| *nearest)),
            Comparison::Unaffordable => {
                let calls = pilots.budget;
                held_inputs(
                    self.task,
                    format!("trials over the whole run take more than {calls:.0} calls of subsystems"),
                )
            }
        };
        Choice { calls: pilots.spent(), ..choice }
    }
}

/// What to know if the whole run was not looked at.
fn until_only(task: &Task, until: f64) -> Option<String> {
    let RunConfig { start, stop, step, .. } = task.config;
    (until < stop - step).then(|| {
        let looked = until - start;
        format!("only the first {looked:.3} s of the run were tried: the rest may need other settings")
    })
}

/// Why no copies may be run.
fn against_copies(base: &Run, task: &Task) -> Vec<String> {
    let graph = base.graph();
    let reason = |id: usize| {
        let name = graph.name(id);
        let spared = task.spared.iter().find(|(spared, _)| spared == name).map(|(_, reason)| reason.clone());
        let reason = spared.or_else(|| base.network().subsystem(id).capabilities().not_to_probe.clone())?;
        Some(format!("no copies were run to try settings: `{name}`: {reason}"))
    };
    (0..graph.len()).filter_map(reason).collect()
}

/// The cheapest of what was found; the most exact one if nothing keeps the error.
fn taken(task: &Task, found: Found, basis: Basis, until: f64) -> Choice {
    let mut warnings: Vec<String> = until_only(task, until).into_iter().collect();
    let best = found.best().cloned().or_else(|| {
        let nearest = found.missed.first().cloned()?;
        let (wanted, got) = (100.0 * task.aim.error, 100.0 * nearest.1.error);
        let way_out = match (task.steps, &found.shorter) {
            (Steps::Given, Some(shorter)) => format!("; {} would, or step = \"auto\"", shorter.words()),
            (Steps::Given, None) => "; a smaller step may, or step = \"auto\"".into(),
            _ => String::new(),
        };
        warnings.push(format!(
            "no settings meet the error target of {wanted:.3} % with margins: the most accurate have {got:.2} %{way_out}"
        ));
        Some(nearest)
    });
    let Some((chosen, Judged { error, cost })) = best else {
        let refused = found.refused;
        return Choice { refused, ..held_inputs(task, "no stable settings were found".into()) };
    };
    Choice {
        record_every: task.record_every(chosen.step),
        aim: task.aim,
        error: Some(error).filter(|error| error.is_finite()),
        cost: Some(cost).filter(|cost| cost.is_finite()),
        basis,
        looked_until: until,
        tried: found.tried(),
        refused: found.refused,
        warnings,
        calls: 0.0,
        chosen,
    }
}

/// Where no two runs agree, the settings that came nearest to it; at a given step, only a method that does more than hold inputs.
fn unclear(task: &Task, nearest: Option<(Candidate, f64)>) -> Choice {
    let is_of_use =
        |(candidate, _): &(Candidate, f64)| task.steps != Steps::Given || !candidate.coupling.interpolates();
    let Some((nearest, difference)) = nearest.filter(is_of_use) else {
        return held_inputs(task, "runs did not converge under step refinement".into());
    };
    let warning = format!(
        "runs did not converge under step refinement within the error target: at {} s and twice that they differ by {:.2} %",
        nearest.step,
        100.0 * difference
    );
    let (step, compared) = (task.allowed(nearest.step), nearest.step);
    let coupling = task.config.coupling.filled(&nearest.coupling);
    Choice {
        chosen: Candidate { step, coupling, ..nearest },
        record_every: task.record_every(step),
        error: Some(difference).filter(|_| step == compared),
        warnings: vec![warning],
        ..held_inputs(task, String::new())
    }
}

/// What does least harm where nothing is known: inputs are held, and why.
pub fn held_inputs(task: &Task, reason: String) -> Choice {
    let coupling = task.config.coupling.filled(&CouplingConfig::zoh());
    let schedule = task.schedules.first().unwrap_or(&task.config.schedule).clone();
    let chosen =
        Candidate { coupling, schedule, ..Candidate::of(&task.config) }.at(task.allowed(task.config.step));
    let warning = format!("zero-order hold at steps of {} s, not judged: {reason}", chosen.step);
    Choice {
        record_every: task.record_every(chosen.step),
        chosen,
        aim: task.aim,
        error: None,
        cost: None,
        basis: Basis::Nothing,
        looked_until: task.config.start,
        tried: Vec::new(),
        refused: Vec::<RefusedMethod>::new(),
        warnings: vec![warning],
        calls: 0.0,
    }
}

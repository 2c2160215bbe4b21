//! `auto`: the cheapest settings that keep a wanted error, with margins.
//!
//! ```text
//! all subsystems linear      the forecast judges: it is exact; copies are run to see what settings cost
//! copies may be made         copies are run and compared with one of very small steps
//! linear models only         the forecast judges, with twice its errors
//! nothing                    zero-order hold, and a warning
//! ```

use super::candidate::Candidate;
use super::choice::{Basis, Choice, Refused};
use super::forecasting::Forecasting;
use super::pilot::{Pilots, Start};
use super::search::{Found, Judged, search};
use super::wish::{Steps, Wish};
use crate::analysis::LinearSystem;
use crate::coupling::{CouplingConfig, Save};
use crate::error::Result;
use crate::run::{RunConfig, Simulation};
use std::time::{Duration, Instant};

/// States up to which the forecast of every method is quick.
const SMALL: usize = 60;
/// What predicted errors are multiplied by where subsystems are not linear.
const CAUTION: f64 = 2.0;
/// Seconds that choosing takes if nothing can be run.
const PATIENCE: f64 = 5.0;
/// Rounds in which the best are timed against each other.
const ROUNDS: usize = 3;
/// Those that are timed again, by their cost over the least.
const NEAR: f64 = 2.0;
/// Settings that cost no more than this over the cheapest are as good; the first method of the list is taken.
const SAME: f64 = 1.15;

/// Chooses settings; `start` brings copies of the system to their start, `progress` is told what is under way.
///
/// # Errors
///
/// If the aim makes no sense, or the system cannot be started.
pub fn choose<'a>(wish: &Wish, start: &'a mut Start<'a>, progress: &dyn Fn(&str)) -> Result<Choice> {
    wish.aim.check()?;
    let begin = Instant::now();
    let held = RunConfig { coupling: CouplingConfig::Zoh {}, ..wish.config.clone() };
    let mut base = start(&held)?;
    let reasons = against_copies(&base, wish);
    let linear = LinearSystem::new(&mut base);
    let (graph, time) = (base.graph().clone(), base.time());
    drop(base);
    let mut pilots = match reasons.is_empty() {
        true => Some(Pilots::new(start, &held, wish.aim.save, &graph)?),
        false => None,
    };
    let is_constant = wish.config.at.iter().all(|change| change.time <= time);
    let mut warnings = reasons;
    let known = linear.as_ref().ok().filter(|system| system.states() <= SMALL && is_constant);
    let reference = known.and_then(|system| system.reference(&held).ok());
    let choice = match (known.zip(reference.as_ref()), &mut pilots) {
        (Some((system, reference)), pilots) if system.is_exact() || pilots.is_none() => {
            let is_exact = system.is_exact();
            let budget = pilots.as_ref().map_or(PATIENCE, |pilots| pilots.budget);
            let deadline = begin + Duration::from_secs_f64(budget);
            let caution = if is_exact { 1.0 } else { CAUTION };
            if !is_exact {
                warnings.push(format!(
                    "linear models of `{}` were trusted where the run begins; errors may be larger elsewhere",
                    system.linearised().join("`, `")
                ));
            }
            let save = wish.aim.save;
            let mut judge =
                Forecasting { system, reference, config: &held, save, pilots: pilots.as_mut(), caution };
            let found = search(wish, &mut judge, deadline, progress);
            let basis = if is_exact { Basis::Forecast } else { Basis::LinearModels };
            taken(wish, found, basis, time + reference.horizon(), pilots.as_mut())?
        }
        (_, Some(pilots)) => {
            progress("a run of very small steps to compare with");
            match pilots.find_reference(wish.aim.error)? {
                Some(_) => {
                    let deadline = begin + Duration::from_secs_f64(pilots.budget);
                    let found = search(wish, pilots, deadline, progress);
                    let until = pilots.until();
                    if until < wish.config.stop {
                        warnings.push(format!(
                            "only the first {:.3} s of the run were tried: what comes later may need other settings",
                            until - wish.config.start
                        ));
                    }
                    taken(wish, found, Basis::Pilots, until, Some(pilots))?
                }
                None => {
                    let reason =
                        "nothing moves, or steps could not be made small enough for two runs to agree";
                    nothing(wish, reason.into())
                }
            }
        }
        (_, None) => {
            let reason = match &linear {
                Err(error) => error.to_string(),
                Ok(_) => "there is no forecast for it, and no copies can be made".into(),
            };
            nothing(wish, reason)
        }
    };
    warnings.extend(choice.warnings.iter().cloned());
    Ok(Choice { warnings, seconds: begin.elapsed().as_secs_f64(), ..choice })
}

/// Why no copies may be run.
fn against_copies(base: &Simulation, wish: &Wish) -> Vec<String> {
    let graph = base.graph();
    let reason = |id: usize| {
        let name = graph.name(id);
        let spared = wish.spared.iter().find(|(spared, _)| spared == name).map(|(_, reason)| reason.clone());
        let reason = spared.or_else(|| base.refusal(id))?;
        Some(format!("no copies were run to try settings: `{name}`: {reason}"))
    };
    (0..graph.len()).filter_map(reason).collect()
}

/// The cheapest of what was found; the most exact one if nothing keeps the error.
fn taken(
    wish: &Wish,
    mut found: Found,
    basis: Basis,
    until: f64,
    pilots: Option<&mut Pilots<'_>>,
) -> Result<Choice> {
    if let Some(pilots) = pilots.filter(|_| wish.aim.save == Save::Time) {
        time_again(&mut found, pilots)?;
    }
    let least = found.kept.iter().map(|(_, judged)| judged.cost).fold(f64::INFINITY, f64::min);
    let margin = if wish.aim.save == Save::Time { SAME } else { 1.0 };
    let best = found.kept.iter().find(|(_, judged)| judged.cost <= margin * least).cloned();
    let mut warnings = Vec::new();
    let best = best.or_else(|| {
        let nearest = found.missed.iter().min_by(|a, b| a.1.error.total_cmp(&b.1.error)).cloned()?;
        let (wanted, got) = (100.0 * wish.aim.error, 100.0 * nearest.1.error);
        let way_out = match wish.steps {
            Steps::Given => "; a smaller step may, or step = \"auto\"",
            _ => "",
        };
        warnings.push(format!(
            "no settings were found that keep an error of {wanted:.3} % with margins: the most exact have {got:.2} %{way_out}"
        ));
        Some(nearest)
    });
    let Some((chosen, Judged { error, cost })) = best else {
        let refused = found.refused;
        return Ok(Choice { refused, ..nothing(wish, "no settings were found to be stable".into()) });
    };
    Ok(Choice {
        record_every: wish.record_every(chosen.step),
        aim: wish.aim,
        error: Some(error).filter(|error| error.is_finite()),
        cost: Some(cost).filter(|cost| cost.is_finite()),
        basis,
        looked_until: until,
        tried: found.tried(),
        refused: found.refused,
        warnings,
        seconds: 0.0,
        chosen,
    })
}

/// Those near the cheapest, in turns: what counts is the fastest time of each.
fn time_again(found: &mut Found, pilots: &mut Pilots<'_>) -> Result<()> {
    for _ in 0..ROUNDS {
        let least = found.kept.iter().map(|(_, judged)| judged.cost).fold(f64::INFINITY, f64::min);
        for (candidate, judged) in found.kept.iter_mut().filter(|(_, judged)| judged.cost <= NEAR * least) {
            judged.cost = judged.cost.min(pilots.cost(candidate)?);
        }
    }
    Ok(())
}

/// What does least harm where nothing is known.
fn nothing(wish: &Wish, reason: String) -> Choice {
    let coupling = wish.config.coupling.filled(&CouplingConfig::Zoh {});
    let schedule = wish.schedules.first().unwrap_or(&wish.config.schedule).clone();
    let chosen =
        Candidate { coupling, schedule, ..Candidate::of(&wish.config) }.at(wish.allowed(wish.config.step));
    let warning =
        format!("nothing is known of this run, so inputs are held over steps of {} s: {reason}", chosen.step);
    Choice {
        record_every: wish.record_every(chosen.step),
        chosen,
        aim: wish.aim,
        error: None,
        cost: None,
        basis: Basis::Nothing,
        looked_until: wish.config.start,
        tried: Vec::new(),
        refused: Vec::<Refused>::new(),
        warnings: vec![warning],
        seconds: 0.0,
    }
}

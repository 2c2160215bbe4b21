//! How far a forecast can be trusted: where models come from, how well they predict, and whether they stay the same.
//!
//! Where a subsystem is not linear, the run is walked a little and linearised again on the way. If the verdict changes, or the
//! largest stable step by more than a quarter, or linear models miss the first steps of the run by more than a quarter, the
//! forecast is not to be trusted. The run is restored afterwards; of one that cannot be put back, a copy is walked and held against its
//! models of the start.

use super::limits::Limit;
use super::linear_system::LinearSystem;
use crate::error::Result;
use crate::run::{Run, RunConfig, RunState};
use crate::system::driven_system;
use crate::workbench::Identified;
use serde::Serialize;

/// Points of the run at which subsystems are linearised again.
const POINTS: u64 = 5;
/// Macro steps of the run that are walked at most.
const MOST_STEPS: u64 = 1000;
/// Macro steps that models are compared over.
const COMPARED: u64 = 100;
/// How far the largest stable step may move.
const MOVES: f64 = 1.25;
/// An output that moves by no more than this part of its size stands still.
const STILL: f64 = 1e-12;
/// How far the linear models may miss the run.
const MISSES: f64 = 0.25;

/// What a forecast rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trust {
    /// Subsystem by subsystem.
    pub models: Vec<ModelTrust>,
    /// Until when the run was walked and linearised again, in s; nothing if all subsystems are linear or it cannot be put back.
    pub walked_to: Option<f64>,
    /// Why the forecast is not to be trusted.
    pub doubt: Option<String>,
}

/// What is known of one subsystem's model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTrust {
    /// The subsystem.
    pub subsystem: String,
    /// Where its model comes from.
    pub source: String,
    /// True if it is exactly this.
    pub is_exact: bool,
    /// By how much its outputs miss those of the run over its first steps, relative to how far they move; not known if they do
    /// not, or the run cannot be put back.
    pub error: Option<f64>,
    /// How it was found, if by exciting the subsystem.
    pub identified: Option<Identified>,
}

/// Makes a run like the one that is judged, at its start, which may be walked and is thrown away.
pub(super) type Copy<'a> = Option<&'a (dyn Fn() -> Option<Run> + Sync)>;

/// Looks at a run where it stands; `own` are the stable steps of its settings.
pub(super) fn trust(
    run: &mut Run,
    system: &LinearSystem,
    config: &RunConfig,
    own: &Limit,
    copy: Copy<'_>,
) -> Trust {
    let model = |id: usize| ModelTrust {
        subsystem: system.graph.name(id).to_owned(),
        source: match system.parts[id].is_exact {
            true => "exact matrices".into(),
            false if run.workbench().identified(id).is_some() => "exciting it".into(),
            false => {
                run.workbench().model_source(id).unwrap_or_else(|| "derivatives of its equations".into())
            }
        },
        is_exact: system.parts[id].is_exact,
        error: None,
        identified: run.workbench().identified(id).cloned(),
    };
    let models = (0..system.parts.len()).map(model).collect();
    let mut trust = Trust { models, walked_to: None, doubt: None };
    trust.doubt = trust.models.iter().find_map(ModelTrust::doubt);
    if system.parts.iter().all(|part| part.is_exact) {
        return trust;
    }
    let mut start = RunState::default();
    if run.save(&mut start).is_ok() {
        // What goes wrong on the way is no fault of the forecast; the run will tell.
        let _ = compare(run, system, config, COMPARED, &mut trust);
        // What was excited at the start would be the same everywhere.
        let can_relinearise = trust.models.iter().all(|model| model.identified.is_none());
        if run.restore(&start).is_ok() && trust.doubt.is_none() && can_relinearise {
            let _ = walk(run, system, config, own, &mut trust);
            let _ = run.restore(&start);
        }
    } else if trust.doubt.is_none()
        && (0..system.parts.len()).all(|id| run.network().subsystem(id).capabilities().not_to_probe.is_none())
    {
        // It cannot be linearised again on the way, so its start must tell for longer. Where it is unstable it leads nowhere.
        let is_bounded = system.growth(config).is_ok_and(|growth| growth.is_bounded);
        let steps = if is_bounded { MOST_STEPS } else { COMPARED };
        if let Some(mut copy) = copy.and_then(|copy| copy()) {
            let _ = compare(&mut copy, system, config, steps, &mut trust);
        }
    }
    trust
}

impl ModelTrust {
    /// Why a model that was found by exciting the subsystem is not to be trusted.
    fn doubt(&self) -> Option<String> {
        let error = self.identified.as_ref().map(|found| found.error).filter(|error| *error > MISSES)?;
        let (name, percent) = (&self.subsystem, 100.0 * error);
        Some(format!(
            "the model of `{name}` identified by probing has an error of {percent:.0} % of the signals' change on validation data"
        ))
    }
}

/// The run and its stand-ins in parallel.
fn compare(
    run: &mut Run,
    system: &LinearSystem,
    config: &RunConfig,
    most: u64,
    trust: &mut Trust,
) -> Result<()> {
    let Some(driven) = driven_system(&system.graph, &system.parts)? else { return Ok(()) };
    let mut stand_ins = Run::new(driven, &system.settings(config, most))?;
    let places: Vec<usize> = (0..system.graph.len())
        .map(|id| stand_ins.graph().find(system.graph.name(id)))
        .collect::<Result<_>>()?;
    let count = system.graph.len();
    let start: Vec<Vec<f64>> = (0..count).map(|id| run.outputs(id).to_vec()).collect();
    let width = |id: usize| start[id].len();
    let is_signal = |id: usize, k: usize| system.graph.is_signal(system.graph.outputs_of(id).start + k);
    let mut moved: Vec<Vec<f64>> = (0..count).map(|id| vec![0.0; width(id)]).collect();
    let mut missed = moved.clone();
    let left = run.steps() - run.index();
    for _ in 0..left.min(most) {
        run.advance()?;
        stand_ins.advance()?;
        for id in 0..count {
            let (real, model) = (run.outputs(id), stand_ins.outputs(places[id]));
            for k in 0..width(id) {
                moved[id][k] = f64::max(moved[id][k], (real[k] - start[id][k]).abs());
                missed[id][k] = f64::max(missed[id][k], (real[k] - model[k]).abs());
            }
        }
    }
    for (id, model) in trust.models.iter_mut().enumerate() {
        let is_moving = |k: usize| moved[id][k] > STILL * start[id][k].abs();
        let moving = (0..width(id)).filter(|k| is_moving(*k) && is_signal(id, *k));
        let ratios = moving.map(|k| missed[id][k] / moved[id][k]);
        let worst =
            ratios.fold(None, |worst: Option<f64>, ratio| Some(worst.map_or(ratio, |w| w.max(ratio))));
        model.error = worst.filter(|error| error.is_finite());
    }
    let misses = |model: &&ModelTrust| model.error.is_some_and(|error| error > MISSES);
    if let Some(model) = trust.models.iter().find(misses).filter(|_| trust.doubt.is_none()) {
        let percent = 100.0 * model.error.unwrap_or(f64::NAN);
        let name = &model.subsystem;
        let steps = most.min(run.index());
        trust.doubt = Some(format!(
            "the linear model of `{name}` has an error of {percent:.0} % of the signals' change over the first {steps} steps of the run"
        ));
    }
    Ok(())
}

/// Linearises again on the way.
fn walk(
    run: &mut Run,
    system: &LinearSystem,
    config: &RunConfig,
    own: &Limit,
    trust: &mut Trust,
) -> Result<()> {
    let is_bounded = system.growth(config)?.is_bounded;
    let left = run.steps() - run.index();
    let stride = (left.min(MOST_STEPS) / POINTS).max(1);
    // Where the run itself is unstable it leads nowhere.
    let points = if is_bounded { POINTS } else { 0 };
    let limit = own.intervals.first().filter(|i| i.from_is_open && !i.to_is_open).map(|i| i.to);
    for _ in 0..points {
        for _ in 0..stride {
            run.advance()?;
        }
        let here = LinearSystem::new(run)?;
        let time = run.time();
        trust.walked_to = Some(time);
        if here.growth(config)?.is_bounded != is_bounded {
            trust.doubt = Some(format!(
                "the verdict changes during the run: linearised at t = {time} s it is unstable"
            ));
            return Ok(());
        }
        let bounded_at = |step: f64| -> Result<bool> {
            Ok(here.growth(&RunConfig { step, ..config.clone() })?.is_bounded)
        };
        if let Some(limit) = limit
            && (!bounded_at(limit / MOVES)? || bounded_at(limit * MOVES)?)
        {
            trust.doubt = Some(format!(
                "the largest stable step changes by more than a quarter during the run (linearised again at t = {time} s)"
            ));
            return Ok(());
        }
        if run.is_done() {
            return Ok(());
        }
    }
    Ok(())
}

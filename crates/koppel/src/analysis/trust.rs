//! How far a forecast can be trusted: where models come from, how well they predict, and whether they stay the same.
//!
//! Where a subsystem is not linear, or the run has timed changes, the run is walked to its end, or as far as a number of steps of
//! subsystems goes, and linearised again on the way, also after each change. The verdict holds if all linearisations agree on it at the
//! run's own step. Figures hold only where the models of the start do: neither does the largest stable step change by more than a
//! quarter, nor do linear models miss the first steps of the run by more than that. Exact models that a change makes grow make the run
//! unstable. What comes after the stop condition of the run does not count.
//!
//! If models miss the run, the one that misses most by itself is named: each is moved by the inputs that the run has at its communication
//! points, linear within each step, so that no other model makes a difference.
//!
//! The run is restored afterwards; of one that cannot be put back, a copy is walked and held against its
//! models of the start.

use super::limits::{Limit, reason};
use super::linear_system::LinearSystem;
use crate::error::Result;
use crate::linalg::{Matrix, expm};
use crate::run::{Run, RunConfig, RunState};
use crate::system::{StateSpace, driven_system};
use crate::workbench::Identified;
use serde::Serialize;

/// Points of the run at which subsystems are linearised again.
const POINTS: u64 = 5;
/// Macro steps over which a run that cannot be put back is compared with its models.
const MOST_STEPS: u64 = 1000;
/// Steps of subsystems that are walked at most.
const WALKED: u64 = 200_000;
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
    #[serde(rename = "simulated_to")]
    pub walked_to: Option<f64>,
    /// Why the models of the start do not hold for the run: its error, stable steps and better settings are not known.
    pub doubt: Option<String>,
    /// Why not even the verdict is to be trusted.
    #[serde(skip)]
    pub(super) changes: Option<String>,
    /// Why the run grows from some time on although it does not at its start, and the growth per macro step from there on.
    #[serde(skip)]
    pub(super) grows_later: Option<(String, f64)>,
    /// What of the run was not walked, in words.
    #[serde(skip)]
    pub(super) not_followed: Option<String>,
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
    /// The same with the inputs that the run gives it, so that no other model makes a difference.
    #[serde(rename = "error_with_inputs_of_run")]
    pub alone: Option<f64>,
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
        alone: None,
        identified: run.workbench().identified(id).cloned(),
    };
    let models = (0..system.parts.len()).map(model).collect();
    let mut trust = Trust { models, ..Trust::default() };
    trust.changes = trust.models.iter().find_map(ModelTrust::doubt);
    let is_exact = system.parts.iter().all(|part| part.is_exact);
    if is_exact && run.changes().count() == 0 {
        return trust;
    }
    let mut start = RunState::default();
    if run.save(&mut start).is_ok() {
        // What goes wrong on the way is no fault of the forecast; the run will tell.
        if !is_exact {
            let _ = compare(run, system, config, COMPARED, &mut trust);
            let _ = run.restore(&start);
        }
        // What was excited at the start would be the same everywhere.
        let can_relinearise = trust.models.iter().all(|model| model.identified.is_none());
        if run.restore(&start).is_ok() && trust.changes.is_none() && can_relinearise {
            if let Err(error) = walk(run, system, config, own, &mut trust) {
                let known = trust.changes.take();
                trust.changes =
                    known.or_else(|| Some(format!("the run could not be followed: {}", reason(&error))));
            }
            let _ = run.restore(&start);
        } else if !can_relinearise && trust.changes.is_none() {
            trust.changes.clone_from(&trust.doubt);
        }
    } else if trust.changes.is_none()
        && (0..system.parts.len()).all(|id| run.network().subsystem(id).capabilities().not_to_probe.is_none())
    {
        // It cannot be linearised again on the way, so its start must tell for longer. Where it is unstable it leads nowhere.
        let is_bounded = system.growth(config).is_ok_and(|growth| growth.is_bounded);
        let steps = if is_bounded { MOST_STEPS } else { COMPARED };
        if let Some(mut copy) = copy.and_then(|copy| copy()) {
            let _ = compare(&mut copy, system, config, steps, &mut trust);
            trust.changes.clone_from(&trust.doubt);
        }
    }
    trust.doubt = trust.doubt.or_else(|| trust.changes.clone());
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
    let mut alone: Vec<Alone> = (0..count).map(|id| Alone::new(run, system, id, config.step)).collect();
    for _ in 0..left.min(most) {
        run.advance()?;
        stand_ins.advance()?;
        for id in 0..count {
            alone[id].follow(run, id);
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
    let misses = |model: &ModelTrust| model.error.is_some_and(|error| error > MISSES);
    if trust.models.iter().any(misses) && trust.doubt.is_none() {
        for (id, model) in trust.models.iter_mut().enumerate() {
            model.alone = alone[id].error(&moved[id]);
        }
        trust.doubt = Some(missed_in_words(&trust.models, most.min(run.index())));
    }
    Ok(())
}

/// Which model is to blame: the one that misses most by itself, or if none does all of them together.
fn missed_in_words(models: &[ModelTrust], steps: u64) -> String {
    let by = |model: &ModelTrust, error: Option<f64>| (model.subsystem.clone(), error.unwrap_or(0.0));
    let worst = |of: fn(&ModelTrust) -> Option<f64>| {
        models.iter().map(|model| by(model, of(model))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    };
    let (name, error) = match worst(|model| model.alone) {
        (name, error) if error > 0.1 * MISSES => (name, error),
        _ => worst(|model| model.error),
    };
    let percent = 100.0 * error;
    format!(
        "the linear model of `{name}` has an error of {percent:.0} % of the signals' change over the first {steps} steps of the run"
    )
}

/// Linearises again on the way, and after each timed change.
fn walk(
    run: &mut Run,
    system: &LinearSystem,
    config: &RunConfig,
    own: &Limit,
    trust: &mut Trust,
) -> Result<()> {
    let is_exact = system.parts.iter().all(|part| part.is_exact);
    let is_bounded = system.is_bounded(config)?;
    // Where an exact run is unstable it leads nowhere.
    if is_exact && !is_bounded {
        return Ok(());
    }
    let count = system.graph.len().max(1) as u64;
    let (first, last) = (run.index(), run.steps());
    let end = last.min(first + (WALKED / count).max(1));
    let stride = ((end - first) / POINTS).max(1);
    let limit = own.intervals.first().filter(|i| i.from_is_open && !i.to_is_open).map(|i| i.to);
    let (mut made, mut next) = (run.changes().made(), first + stride);
    while run.index() < end && !run.is_done() {
        match run.advance() {
            // What is unstable fails in the end.
            Err(_) if !is_bounded => return Ok(()),
            advanced => advanced?,
        }
        let is_changed = std::mem::replace(&mut made, run.changes().made()) != run.changes().made();
        let is_point = !is_exact && (run.index() >= next || run.index() == end);
        if run.is_condition_met()? {
            return Ok(());
        }
        if !is_changed && !is_point {
            continue;
        }
        next = run.index() + stride;
        trust.walked_to = Some(run.time());
        judge_here(run, config, (is_bounded, limit, is_changed), trust)?;
        if trust.changes.is_some() || trust.grows_later.is_some() {
            return Ok(());
        }
    }
    if end < last && !run.is_done() {
        trust.not_followed = Some(format!(
            "the run after t = {} s ({} of {} macro steps were followed)",
            run.time(),
            end - first,
            last - first
        ));
    }
    Ok(())
}

/// Linearises where the run stands and compares with its start.
fn judge_here(
    run: &mut Run,
    config: &RunConfig,
    (was_bounded, limit, is_changed): (bool, Option<f64>, bool),
    trust: &mut Trust,
) -> Result<()> {
    let here = LinearSystem::new(run)?;
    let time = run.time();
    let is_bounded = here.is_bounded(config)?;
    if is_bounded != was_bounded {
        if is_changed && here.is_exact() {
            let radius = here.growth(config)?.radius;
            trust.grows_later = Some((format!("from the change before t = {time} s on"), radius));
        } else {
            let verdict = if is_bounded { "stable" } else { "unstable" };
            trust.changes = Some(format!(
                "the verdict changes during the run: linearised at t = {time} s it is {verdict}"
            ));
        }
        return Ok(());
    }
    let bounded_at = |step: f64| here.is_bounded(&RunConfig { step, ..config.clone() });
    if let Some(limit) = limit
        && trust.doubt.is_none()
        && !here.is_exact()
        && (!bounded_at(limit / MOVES)? || bounded_at(limit * MOVES)?)
    {
        trust.doubt = Some(format!(
            "the largest stable step changes by more than a quarter during the run (linearised again at t = {time} s)"
        ));
    }
    Ok(())
}

/// One model with the inputs of the run.
struct Alone {
    /// Of state, inputs, what inputs move in a step, and 1 over one step.
    transition: Option<Matrix>,
    outputs: Matrix,
    state: Vec<f64>,
    count: usize,
    missed: Vec<f64>,
}

impl Alone {
    fn new(run: &Run, system: &LinearSystem, id: usize, step: f64) -> Self {
        let part = &system.parts[id];
        let StateSpace { a, b, c, d } = &part.matrices;
        let (n, m) = (a.rows(), b.cols());
        let size = n + 2 * m + 1;
        let mut rates = Matrix::zeros(size, size);
        rates.set_block(0, 0, &(a * step));
        rates.set_block(0, n, &(b * step));
        rates.set_block(n, n + m, &Matrix::identity(m));
        let mut outputs = Matrix::zeros(c.rows(), size);
        outputs.set_block(0, 0, c);
        outputs.set_block(0, n, d);
        if let Some(drive) = &part.drive {
            drive.states.iter().enumerate().for_each(|(i, f)| rates[(i, size - 1)] = f * step);
            drive.outputs.iter().enumerate().for_each(|(i, g)| outputs[(i, size - 1)] = *g);
        }
        Alone {
            transition: part.drive.as_ref().and_then(|_| expm(&rates).ok()),
            outputs,
            state: vec![0.0; n],
            count: m,
            missed: vec![0.0; run.outputs(id).len()],
        }
    }

    /// The step that the run has taken, with the inputs that it gave there.
    fn follow(&mut self, run: &Run, id: usize) {
        let Some(transition) = &self.transition else { return };
        let (size, time) = (run.step_size(), run.time());
        let (n, m) = (self.state.len(), self.count);
        let before = given(run, id, 0.0, time - size);
        let moved = given(run, id, size, time).into_iter().zip(&before).map(|(now, before)| now - before);
        let all: Vec<f64> = self.state.iter().chain(&before).copied().chain(moved).chain([1.0]).collect();
        let mut after = transition.mul_vec(&all);
        self.state.copy_from_slice(&after[..n]);
        after[n..n + m].copy_from_slice(&run.network().read_inputs(id, time));
        let outputs = self.outputs.mul_vec(&after);
        let errors = outputs.iter().zip(run.outputs(id)).map(|(model, real)| (real - model).abs());
        self.missed.iter_mut().zip(errors).for_each(|(most, error)| *most = most.max(error));
    }

    /// The largest miss relative to how far an output moves.
    fn error(&self, moved: &[f64]) -> Option<f64> {
        self.transition.as_ref()?;
        let ratios = self.missed.iter().zip(moved).filter(|(_, moved)| **moved > 0.0);
        ratios.map(|(missed, moved)| missed / moved).filter(|ratio| ratio.is_finite()).reduce(f64::max)
    }
}

/// What the inputs of a subsystem were `tau` after the start of the last step, external signals included.
fn given(run: &Run, id: usize, tau: f64, time: f64) -> Vec<f64> {
    let (graph, network) = (run.graph(), run.network());
    let value = |input| match graph.is_free(input) {
        true => graph.offset(input),
        false => network.given(input, tau),
    };
    graph.inputs_of(id).map(|input| value(input) + network.external(id, input, time)).collect()
}

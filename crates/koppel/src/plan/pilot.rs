//! Runs of copies of the system, to see what settings are worth: what they cost, and how far they lie from one of very small steps.

use super::candidate::Candidate;
use super::search::Judge;
use super::task::{FEWEST, Task};
use crate::analysis::Cost;
use crate::coupling::{CouplingConfig, Save, methods};
use crate::error::{Error, Result};
use crate::record::{Recorder, Trajectory};
use crate::run::{Run, RunConfig};
use crate::signal::Bounds;
use crate::system::SystemGraph;

/// Of the calls of the run what choosing may take, if that is more than what it may take in any case.
const PART: f64 = 0.1;
/// Calls that the start of one subsystem counts as.
const START: f64 = 200.0;
/// Of the calls for choosing what the reference may take.
const REFERENCE: f64 = 0.6;
/// Most steps of one run.
const MOST_STEPS: u64 = 400_000;
/// Outputs that leave the reference by so many times its range have diverged.
const FAR: f64 = 5.0;
/// A run with an error beyond this is not stable.
const ASTRAY: f64 = 0.5;
/// Halvings of the step of the reference.
const LEVELS: u32 = 12;
/// How well two of its runs must agree, of the wanted error.
const AGREEMENT: f64 = 0.1;
/// How well if there are no calls left for more.
const ENOUGH: f64 = 0.5;
/// Of the wanted error what settings may have, with what is not known of the reference.
const SHARE: f64 = 0.9;

/// Brings a copy of the system to its start with other settings.
pub type Start<'a> = dyn FnMut(&RunConfig) -> Result<Run> + 'a;

/// Runs copies over the whole run.
pub(super) struct Pilots<'a> {
    start: &'a mut Start<'a>,
    config: RunConfig,
    save: Save,
    /// Names of the subsystems in the order of columns.
    names: Vec<String>,
    graph: SystemGraph,
    /// With how well its runs agreed.
    reference: Option<(Trajectory, f64)>,
    /// Calls that were made, and that may be made.
    spent: f64,
    pub(super) budget: f64,
    /// Whether subsystems may be excited.
    may_excite: bool,
}

/// The search for a run that others can be compared with.
pub(super) enum Comparison {
    /// There is one.
    Found,
    /// Nothing moves.
    Still,
    /// Two runs never agreed well enough; these settings came nearest, with what they differ by.
    Unclear(Option<Box<(Candidate, f64)>>),
    /// There were not enough calls to find out.
    Unaffordable,
}

/// One run of a copy.
struct Flight {
    outputs: Trajectory,
    cost: f64,
}

impl<'a> Pilots<'a> {
    /// For the copies that `start` makes of `base`.
    pub(super) fn new(start: &'a mut Start<'a>, config: &RunConfig, task: &Task, base: &Run) -> Self {
        let graph = base.graph().clone();
        let names = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let own = Cost::of(&graph, config).map_or(0.0, |cost| cost.calls);
        let may_excite = task.spared.is_empty() && config.iteration.is_none();
        Pilots {
            start,
            config: config.clone(),
            save: task.aim.save,
            names,
            reference: None,
            spent: START * graph.len() as f64,
            budget: task.effort.max(PART * own),
            graph,
            may_excite,
        }
    }

    /// A copy to its end.
    fn fly(&mut self, candidate: &Candidate) -> Result<Flight> {
        let mut config = candidate.on(&self.config);
        let planned = Cost::of(&self.graph, &config)?.calls + START * self.graph.len() as f64;
        if self.spent + planned > self.budget {
            // Nothing that takes less comes after it: steps become smaller.
            self.spent = self.spent.max(self.budget);
            let (what, reason) =
                ("a run of a copy".into(), "it takes more calls than choosing may take".into());
            return Err(Error::Unsupported { what, reason }.into());
        }
        // Some subsystems take no shorter last step.
        let steps = ((config.stop - config.start) / config.step * (1.0 + 1e-9)).floor().max(1.0);
        config.stop = config.start + steps * config.step;
        self.spent += START * self.graph.len() as f64;
        let mut run = (self.start)(&config)?;
        let order = self.names.iter().map(|name| run.graph().find(name)).collect::<Result<Vec<_>>>()?;
        let wider = |bounds: Bounds| Bounds {
            low: bounds.low - FAR * bounds.range(),
            high: bounds.high + FAR * bounds.range(),
        };
        let bounds: Vec<Bounds> = self
            .reference
            .as_ref()
            .map_or(Vec::new(), |(reference, _)| reference.bounds().into_iter().map(wider).collect());
        let (mut outputs, mut row) = (Trajectory::default(), Vec::new());
        note(&run, &order, &mut row);
        outputs.row(run.time(), &row)?;
        for _ in 1..=MOST_STEPS {
            if run.is_done() || run.advance().is_err() {
                break;
            }
            note(&run, &order, &mut row);
            outputs.row(run.time(), &row)?;
            let is_far =
                |(y, Bounds { low, high }): (&f64, &Bounds)| high > low && !(low..=high).contains(&y);
            if row.iter().any(|y| !y.is_finite()) || row.iter().zip(&bounds).any(is_far) {
                break;
            }
        }
        let in_run: u64 = run.statistics().shares.iter().map(|share| share.step_calls).sum();
        let calls = probed(&run) + in_run as f64;
        self.spent += calls;
        let communications = (run.steps_taken() + run.repetitions()) as f64;
        Ok(Flight { outputs, cost: if self.save == Save::Communications { communications } else { calls } })
    }

    /// Finds the run that others are compared with: two steps, one half the other, must agree, or what both lead to. Where runs that
    /// hold inputs do not, as in loops of black boxes that evaluate outputs in their steps alone, those of VFPS may.
    pub(super) fn find_reference(&mut self, wanted: f64) -> Comparison {
        let foh = CouplingConfig::foh(Default::default());
        let mut held = [CouplingConfig::zoh(), foh].map(Ladder::new);
        let duration = self.config.stop - self.config.start;
        let mut nearest = Nearest::default();
        let longest = self.config.step.min(duration / 100.0);
        let (mut step, mut is_cut) = (longest, false);
        for _ in 0..LEVELS {
            let next = RunConfig { step, ..self.config.clone() };
            let both = 2.0 * Cost::of(&self.graph, &next).map_or(f64::INFINITY, |cost| cost.calls);
            if self.spent + both > REFERENCE * self.budget {
                is_cut = true;
                break;
            }
            held.iter_mut().for_each(|ladder| self.climb(ladder, step, &mut nearest));
            if nearest.difference() <= AGREEMENT * wanted {
                break;
            }
            step /= 2.0;
        }
        let excited = methods().into_iter().find(|info| info.excites());
        if let Some(excited) = excited
            && nearest.difference() > ENOUGH * wanted
            && self.may_excite
        {
            let mut excited = Ladder::new((excited.usual)());
            self.climb(&mut excited, longest, &mut nearest);
            self.climb(&mut excited, 0.5 * longest, &mut nearest);
        }
        match nearest.found {
            Some((agreement, _, outputs)) if agreement <= ENOUGH * wanted => {
                self.reference = Some((outputs, agreement));
                Comparison::Found
            }
            _ if is_cut => Comparison::Unaffordable,
            Some((agreement, candidate, _)) => Comparison::Unclear(Some(Box::new((candidate, agreement)))),
            None if nearest.moves => Comparison::Unclear(None),
            None => Comparison::Still,
        }
    }

    /// One more run of a method.
    fn climb(&mut self, ladder: &mut Ladder, step: f64, nearest: &mut Nearest) {
        let candidate = Candidate { coupling: ladder.coupling.clone(), step, ..Candidate::of(&self.config) };
        let Ok(flight) = self.fly(&candidate) else { return };
        for (error, outputs) in ladder.add(flight.outputs) {
            nearest.moves = true;
            if error.is_finite() && error < nearest.difference() {
                nearest.found = Some((error, candidate.clone(), outputs));
            }
        }
    }
}

/// The two runs that agree best.
#[derive(Default)]
struct Nearest {
    /// By how much they differ, and the settings and outputs of the finer one.
    found: Option<(f64, Candidate, Trajectory)>,
    /// True if anything moves.
    moves: bool,
}

impl Nearest {
    /// Infinite if no two agree.
    fn difference(&self) -> f64 {
        self.found.as_ref().map_or(f64::INFINITY, |(difference, ..)| *difference)
    }
}

/// Runs of one method at steps that are halved.
struct Ladder {
    coupling: CouplingConfig,
    last: Option<Trajectory>,
    /// Where the last two lead to.
    limit: Option<Trajectory>,
}

impl Ladder {
    fn new(coupling: CouplingConfig) -> Self {
        Ladder { coupling, last: None, limit: None }
    }

    /// Outputs that may be compared with, each with how far they lie from those before.
    fn add(&mut self, outputs: Trajectory) -> Vec<(f64, Trajectory)> {
        let mut all = Vec::new();
        if let Some(last) = &self.last {
            all.extend(last.error(&outputs).map(|error| (error, outputs.clone())));
            // Errors of zero-order hold shrink like the step.
            if self.coupling == CouplingConfig::zoh() {
                let limit = outputs.extrapolated(last);
                let error = self.limit.as_ref().and_then(|before| before.error(&limit));
                all.extend(error.map(|error| (error, limit.clone())));
                self.limit = Some(limit);
            }
        }
        self.last = Some(outputs);
        all
    }
}

/// Writes the outputs of a run that are signals; `order` are its subsystems in the order of the columns.
fn note(run: &Run, order: &[usize], row: &mut Vec<f64>) {
    let graph = run.graph();
    row.clear();
    for id in order {
        let signals = graph.outputs_of(*id).zip(run.outputs(*id));
        row.extend(signals.filter(|(output, _)| graph.is_signal(*output)).map(|(_, y)| y));
    }
}

/// Steps of subsystems before the run.
pub(super) fn probed(run: &Run) -> f64 {
    run.probing().iter().map(|report| report.step_calls as f64).sum()
}

impl Judge for Pilots<'_> {
    fn error(&mut self, candidate: &Candidate) -> Result<f64> {
        let flight = self.fly(candidate)?;
        let Some((reference, agreement)) = &self.reference else { return Ok(f64::INFINITY) };
        Ok(flight.outputs.error(reference).map_or(f64::INFINITY, |error| error + agreement))
    }

    fn is_stable(&mut self, candidate: &Candidate) -> bool {
        self.error(candidate).is_ok_and(|error| error <= ASTRAY)
    }

    fn share(&self) -> f64 {
        SHARE
    }

    fn longest_step(&self) -> f64 {
        (self.config.stop - self.config.start) / FEWEST
    }

    fn counted(&self, candidate: &Candidate) -> Result<f64> {
        let cost = Cost::of(&self.graph, &candidate.on(&self.config))?;
        Ok(if self.save == Save::Communications { cost.steps } else { cost.calls })
    }

    fn cost(&mut self, candidate: &Candidate) -> Result<f64> {
        Ok(self.fly(candidate)?.cost)
    }

    fn cost_before(&mut self, candidate: &Candidate) -> Result<Option<f64>> {
        if self.save == Save::Communications || !candidate.coupling.excites() {
            return Ok(None);
        }
        let calls = probed(&(self.start)(&candidate.on(&self.config))?);
        self.spent += calls + START * self.graph.len() as f64;
        Ok(Some(calls))
    }

    fn spent(&self) -> f64 {
        self.spent
    }
}

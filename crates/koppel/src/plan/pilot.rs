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
use std::time::Instant;

/// Seconds of the very first run, by which the others are planned.
const FIRST: f64 = 0.05;
/// Seconds that choosing may take where costs are counted: the machine must not decide.
const COUNTED: f64 = 60.0;
/// Of the run what choosing may take.
const PART: f64 = 0.2;
/// Runs among which that is divided.
const RUNS: f64 = 30.0;
/// Copies that must fit into the time for choosing if nobody asked for it.
const WORTH: f64 = 10.0;
/// Most steps of one run.
const MOST_STEPS: u64 = 400_000;
/// Outputs that leave the reference by so many times its range have diverged.
const FAR: f64 = 5.0;
/// A run with an error beyond this is not stable.
const ASTRAY: f64 = 0.5;
/// Halvings of the step of the reference.
const LEVELS: u32 = 12;
/// Those that are made even if they take long.
const SURE: u32 = 5;
/// How well two of its runs must agree, of the wanted error.
const AGREEMENT: f64 = 0.1;
/// How well if time does not allow more.
const ENOUGH: f64 = 0.5;
/// Of the wanted error what settings may have, with what is not known of the reference.
const SHARE: f64 = 0.9;

/// What errors are multiplied by if only a part of the run is looked at.
const CAUTION: f64 = 1.5;

/// Brings a copy of the system to its start with other settings.
pub type Start<'a> = dyn FnMut(&RunConfig) -> Result<Run> + 'a;

/// Runs copies.
pub(super) struct Pilots<'a> {
    start: &'a mut Start<'a>,
    /// Settings, whose `stop` is where the copies end.
    config: RunConfig,
    /// The whole run over what the copies run.
    times: f64,
    save: Save,
    /// Names of the subsystems in the order of columns.
    names: Vec<String>,
    graph: SystemGraph,
    /// With how well its runs agreed.
    reference: Option<(Trajectory, f64)>,
    /// Seconds all this may take.
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
}

/// One run of a copy.
struct Flight {
    outputs: Trajectory,
    /// Infinite if it was ended because it took too long.
    cost: f64,
}

impl<'a> Pilots<'a> {
    /// Looks how fast `base` runs, which took `set_up` seconds to its start, and plans copies by that. Nothing, and why, if nobody
    /// asked for copies and they do not pay.
    pub(super) fn new(
        start: &'a mut Start<'a>,
        config: &RunConfig,
        task: &Task,
        (base, set_up): (&mut Run, f64),
    ) -> std::result::Result<Self, String> {
        let graph = base.graph().clone();
        let names = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let save = task.aim.save;
        let patience = if save == Save::Time { task.patience } else { COUNTED };
        let (begin, time) = (Instant::now(), base.time());
        while !base.is_done() && begin.elapsed().as_secs_f64() < FIRST {
            match base.advance() {
                Ok(()) => {}
                Err(error) if !task.is_asked() && is_foreign(&error) => {
                    return Err("an FMU failed in the first steps; the run reports why".into());
                }
                // Another method may do better.
                Err(_) => break,
            }
        }
        let duration = config.stop - config.start;
        let rate = begin.elapsed().as_secs_f64() / (base.time() - time).max(1e-3 * duration);
        let budget = patience.max(PART * (set_up + rate * duration));
        if !task.is_asked() && WORTH * set_up > budget {
            return Err(format!(
                "each copy takes {set_up:.2} s to set up, too long for this run (coupling = \"auto\" tries anyway)"
            ));
        }
        // However long it takes to start one, it is to show something.
        let each = (budget / RUNS - set_up).max(0.2 * budget / RUNS);
        let looked = (each / rate).min(duration);
        let (mut config, mut times) = (config.clone(), 1.0);
        if looked < 0.999 * duration {
            config.stop = config.start + looked;
            times = duration / looked;
        }
        let may_excite = task.spared.is_empty() && config.iteration.is_none();
        Ok(Pilots { start, config, times, save, names, graph, reference: None, budget, may_excite })
    }

    /// Until when copies run, in s.
    pub(super) fn until(&self) -> f64 {
        self.config.stop
    }

    /// A copy to its end, or until it has cost `limit` seconds.
    fn fly(&mut self, candidate: &Candidate, limit: f64) -> Result<Flight> {
        let begin = Instant::now();
        let mut config = candidate.on(&self.config);
        // Some subsystems take no shorter last step.
        let steps = ((config.stop - config.start) / config.step * (1.0 + 1e-9)).floor().max(1.0);
        config.stop = config.start + steps * config.step;
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
        let set_up = begin.elapsed().as_secs_f64();
        let (moving, patience, mut is_whole) = (Instant::now(), (limit - set_up) / self.times, true);
        for step in 1..=MOST_STEPS {
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
            if step % 16 == 0 && moving.elapsed().as_secs_f64() > patience {
                is_whole = false;
                break;
            }
        }
        let seconds = moving.elapsed().as_secs_f64();
        let cost = match self.save {
            _ if !is_whole => f64::INFINITY,
            Save::Time => set_up + self.times * seconds,
            Save::Calls => {
                let in_run: u64 = run.statistics().shares.iter().map(|share| share.step_calls).sum();
                probed(&run) + self.times * in_run as f64
            }
            Save::Communications => self.times * (run.steps_taken() + run.repetitions()) as f64,
        };
        Ok(Flight { outputs, cost })
    }

    /// Finds the run that others are compared with: two steps, one half the other, must agree, or what both lead to. Where runs that
    /// hold inputs do not, as in loops of black boxes that evaluate outputs in their steps alone, those of VFPS may.
    pub(super) fn find_reference(&mut self, wanted: f64) -> Comparison {
        let foh = CouplingConfig::foh(Default::default());
        let mut held = [CouplingConfig::zoh(), foh].map(Ladder::new);
        let duration = self.config.stop - self.config.start;
        let (begin, mut nearest) = (Instant::now(), Nearest::default());
        let longest = self.config.step.min(duration / 100.0);
        let mut step = longest;
        for level in 0..LEVELS {
            held.iter_mut().for_each(|ladder| self.climb(ladder, step, &mut nearest));
            // A slow machine is no reason to know nothing, within limits.
            let part = if level < SURE { 1.0 } else { 0.3 };
            if nearest.difference() <= AGREEMENT * wanted
                || begin.elapsed().as_secs_f64() > part * self.budget
            {
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
            Some((agreement, candidate, _)) => Comparison::Unclear(Some(Box::new((candidate, agreement)))),
            None if nearest.moves => Comparison::Unclear(None),
            None => Comparison::Still,
        }
    }

    /// One more run of a method.
    fn climb(&mut self, ladder: &mut Ladder, step: f64, nearest: &mut Nearest) {
        let candidate = Candidate { coupling: ladder.coupling.clone(), step, ..Candidate::of(&self.config) };
        let Ok(flight) = self.fly(&candidate, f64::INFINITY) else { return };
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

/// True if what failed is not of koppel's own making.
fn is_foreign(error: &Error) -> bool {
    match error {
        Error::Subsystem { source, .. } | Error::Prediction { source, .. } => is_foreign(source),
        Error::Foreign { .. } => true,
        _ => false,
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
fn probed(run: &Run) -> f64 {
    run.probing().iter().map(|report| report.step_calls as f64).sum()
}

impl Judge for Pilots<'_> {
    fn error(&mut self, candidate: &Candidate) -> Result<f64> {
        let flight = self.fly(candidate, f64::INFINITY)?;
        let Some((reference, agreement)) = &self.reference else { return Ok(f64::INFINITY) };
        let error = flight.outputs.error(reference).map_or(f64::INFINITY, |error| error + agreement);
        Ok(if self.times > 1.0 { CAUTION * error } else { error })
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

    fn cost(&mut self, candidate: &Candidate, limit: f64) -> Result<f64> {
        let limit = if self.save == Save::Time { limit } else { f64::INFINITY };
        Ok(self.fly(candidate, limit)?.cost)
    }

    fn cost_before(&mut self, candidate: &Candidate) -> Result<Option<f64>> {
        let begin = Instant::now();
        let run = (self.start)(&candidate.on(&self.config))?;
        Ok(match self.save {
            Save::Time => Some(begin.elapsed().as_secs_f64()),
            Save::Calls => Some(probed(&run)),
            Save::Communications => None,
        })
    }
}

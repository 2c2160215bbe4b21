//! Runs of copies of the system, to see what settings are worth: what they cost, and how far they lie from one of very small steps.

use super::candidate::Candidate;
use super::course::Course;
use super::search::{Judge, Judged};
use crate::coupling::{CouplingConfig, Save};
use crate::error::Result;
use crate::run::{RunConfig, Simulation};
use crate::system::SystemGraph;
use std::time::Instant;

/// Seconds of the very first run, by which the others are planned.
const FIRST: f64 = 0.1;
/// Seconds that choosing may take, at least, and as a part of the run.
const BUDGET: f64 = 6.0;
/// The same where costs are counted: the machine must not decide.
const COUNTED: f64 = 60.0;
const PART: f64 = 0.2;
/// Runs among which that is divided.
const RUNS: f64 = 20.0;
/// Most steps of one run.
const MOST_STEPS: u64 = 400_000;
/// Outputs that leave the reference by so many times its range have diverged.
const FAR: f64 = 100.0;
/// A run with an error beyond this is not stable.
const ASTRAY: f64 = 0.5;
/// Halvings of the step of the reference.
const LEVELS: u32 = 12;
/// Those that are made even if they take long.
const SURE: u32 = 7;
/// How well two of its runs must agree, of the wanted error.
const AGREEMENT: f64 = 0.1;
/// How well if time does not allow more.
const ENOUGH: f64 = 0.5;

/// What errors are multiplied by if only a part of the run is looked at.
const CAUTION: f64 = 1.5;
/// A cost measured in less than this, in s, is measured again: it may have been disturbed.
const SHORT: f64 = 0.03;

/// Brings a copy of the system to its start with other settings.
pub type Start<'a> = dyn FnMut(&RunConfig) -> Result<Simulation> + 'a;

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
    reference: Option<Course>,
    /// Seconds all this may take.
    pub(super) budget: f64,
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
    course: Course,
    cost: f64,
    /// To its start, and from there.
    seconds: [f64; 2],
}

impl<'a> Pilots<'a> {
    /// Looks how fast the system runs, with these settings, and plans the others by that.
    pub(super) fn new(
        start: &'a mut Start<'a>,
        config: &RunConfig,
        save: Save,
        graph: &SystemGraph,
    ) -> Result<Self> {
        let names = (0..graph.len()).map(|id| graph.name(id).to_owned()).collect();
        let mut pilots = Pilots {
            start,
            config: config.clone(),
            times: 1.0,
            save,
            names,
            reference: None,
            budget: if save == Save::Time { BUDGET } else { COUNTED },
        };
        let held = Candidate { coupling: CouplingConfig::Zoh {}, ..Candidate::of(config) };
        let flight = pilots.fly(&held, FIRST)?;
        let duration = config.stop - config.start;
        let [set_up, moving] = flight.seconds;
        let rate = moving / (flight.course.end() - config.start).max(1e-3 * duration);
        pilots.budget = pilots.budget.max(PART * (set_up + rate * duration));
        // However long it takes to start one, it is to show something.
        let each = (pilots.budget / RUNS - set_up).max(0.2 * pilots.budget / RUNS);
        let looked = (each / rate).min(duration);
        if looked < 0.999 * duration {
            pilots.config.stop = config.start + looked;
            pilots.times = duration / looked;
        }
        Ok(pilots)
    }

    /// Until when copies run, in s.
    pub(super) fn until(&self) -> f64 {
        self.config.stop
    }

    /// A copy to its end, or until `patience` seconds have passed.
    fn fly(&mut self, candidate: &Candidate, patience: f64) -> Result<Flight> {
        let begin = Instant::now();
        let mut run = (self.start)(&candidate.on(&self.config))?;
        let order = self.names.iter().map(|name| run.graph().find(name)).collect::<Result<Vec<_>>>()?;
        let bounds: Vec<(f64, f64)> = self.reference.as_ref().map_or(Vec::new(), |course| {
            course
                .ranges()
                .into_iter()
                .map(|(low, high)| (low - FAR * (high - low), high + FAR * (high - low)))
                .collect()
        });
        let mut course = Course::default();
        course.add(&run, &order);
        let set_up = begin.elapsed().as_secs_f64();
        let moving = Instant::now();
        for step in 1..=MOST_STEPS {
            if run.is_done() || run.advance().is_err() {
                break;
            }
            course.add(&run, &order);
            let is_far = |(y, (low, high)): (&f64, &(f64, f64))| high > low && !(low..=high).contains(&y);
            if course.last().iter().any(|y| !y.is_finite()) || course.last().iter().zip(&bounds).any(is_far) {
                break;
            }
            if step % 16 == 0 && moving.elapsed().as_secs_f64() > patience {
                break;
            }
        }
        let seconds = moving.elapsed().as_secs_f64();
        let cost = match self.save {
            Save::Time => set_up + self.times * seconds,
            Save::Calls => {
                let in_run: u64 = run.statistics().shares.iter().map(|share| share.step_calls).sum();
                let before: u64 = run.probing().iter().map(|report| report.step_calls).sum();
                before as f64 + self.times * in_run as f64
            }
            Save::Communications => self.times * run.index() as f64,
        };
        Ok(Flight { course, cost, seconds: [set_up, seconds] })
    }

    /// Finds the run that others are compared with: two steps, one half the other, must agree.
    pub(super) fn find_reference(&mut self, wanted: f64) -> Comparison {
        let methods = [CouplingConfig::Zoh {}, CouplingConfig::Foh { start: Default::default() }];
        let duration = self.config.stop - self.config.start;
        let (begin, mut best, mut moves) = (Instant::now(), None::<(f64, Candidate, Course)>, false);
        let mut before: [Option<Course>; 2] = [None, None];
        let mut step = self.config.step.min(duration / 100.0);
        for level in 0..LEVELS {
            for (coupling, before) in methods.iter().zip(&mut before) {
                let candidate = Candidate { coupling: coupling.clone(), step, ..Candidate::of(&self.config) };
                let Ok(flight) = self.fly(&candidate, f64::INFINITY) else { continue };
                let agreement = before.as_ref().and_then(|before| before.error(&flight.course));
                if let Some(error) = agreement {
                    moves = true;
                    if error.is_finite() && best.as_ref().is_none_or(|(known, ..)| error < *known) {
                        best = Some((error, candidate, flight.course.clone()));
                    }
                }
                *before = Some(flight.course);
            }
            let is_good = best.as_ref().is_some_and(|(error, ..)| *error <= AGREEMENT * wanted);
            // A slow machine is no reason to know nothing, within limits.
            let part = if level < SURE { 2.0 } else { 0.4 };
            if is_good || begin.elapsed().as_secs_f64() > part * self.budget {
                break;
            }
            step /= 2.0;
        }
        match best {
            Some((agreement, _, course)) if agreement <= ENOUGH * wanted => {
                self.reference = Some(course);
                Comparison::Found
            }
            Some((agreement, candidate, _)) => Comparison::Unclear(Some(Box::new((candidate, agreement)))),
            None if moves => Comparison::Unclear(None),
            None => Comparison::Still,
        }
    }

    /// What a run with these settings costs.
    pub(super) fn cost(&mut self, candidate: &Candidate) -> Result<f64> {
        let cost = self.fly(candidate, f64::INFINITY)?.cost;
        self.at_rest(candidate, cost)
    }

    /// The smaller of two measurements, if they take no time.
    fn at_rest(&mut self, candidate: &Candidate, cost: f64) -> Result<f64> {
        match self.save == Save::Time && cost < SHORT * self.times {
            true => Ok(cost.min(self.fly(candidate, f64::INFINITY)?.cost)),
            false => Ok(cost),
        }
    }
}

impl Judge for Pilots<'_> {
    fn judge(&mut self, candidate: &Candidate) -> Result<Judged> {
        let flight = self.fly(candidate, f64::INFINITY)?;
        let error = self.reference.as_ref().and_then(|reference| flight.course.error(reference));
        let error = error.map(|error| if self.times > 1.0 { CAUTION * error } else { error });
        let cost = self.at_rest(candidate, flight.cost)?;
        Ok(Judged { error: error.unwrap_or(f64::INFINITY), cost })
    }

    fn is_stable(&mut self, candidate: &Candidate) -> bool {
        self.judge(candidate).is_ok_and(|judged| judged.error <= ASTRAY)
    }
}

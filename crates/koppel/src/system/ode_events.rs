//! Events of an [`Ode`](super::Ode): actions that set states where a condition becomes true, or at instants of their own.
//!
//! A window of the solver begins where the last one ended, and ends at the end of its part of the step or at the next instant; a
//! crossing ends it early. A crossing is located by repeating the micro step in which an indicator changed its sign with other
//! lengths, so the point found is one of the method. The bracket is narrowed to
//!
//!   10⁻¹² h + 4 ε |t|                                                                       (1)
//!
//! with the micro step h, and its end is taken: there the indicator has its new sign.
//!
//! Two crossings of one indicator inside a micro step leave its sign as it was. They are found by its rate: if it runs towards zero
//! at the start of the micro step and away from it at the end, its extremum is located first, and then the crossing before that.
//!
//! An action is carried out when its condition becomes true, not while it is; one that is true at the start of the run has not become
//! true. Actions may make other conditions true at the same time. What never ends is an error: more than 100 rounds at one time, or an
//! action that follows itself within 10⁵ ε |t| again and again, as the bounces of a ball do that comes to rest.

use super::events::{Event, EventLog};
use super::ode_model::{Method, Ode, OdeModel, UnderInput};
use super::ports::{VariableId, VariableKind};
use crate::error::{Error, Result};
use crate::signal::{Part, Piece, Request, Samples};
use crate::solver::{Bracket, Solver, SolverError, has_crossed};
use std::ops::ControlFlow;

/// What happens inside a model at events.
pub trait OdeEvents {
    /// How many indicators: functions whose sign conditions depend on, above zero or not.
    fn indicators(&self) -> usize;

    /// Writes the indicators, and how fast they change while the inputs are held.
    fn indicate(&self, time: f64, x: &[f64], u: &[f64], values: &mut [f64], rates: &mut [f64]);

    /// How many actions.
    fn actions(&self) -> usize;

    /// The first instant after `time` at which one acts by the clock.
    fn next_instant(&self, time: f64) -> Option<f64>;

    /// Carries out what is due under `x` and `u`, and writes the states after it over those in `next`; the number of the first
    /// action. Conditions are those of the states `seen`. `held` has for each action whether its condition held before, 1 or 0, or
    /// NaN at the start of the run.
    fn act(
        &self,
        moment: Moment,
        states: States<'_>,
        u: &[f64],
        held: &mut [f64],
        next: &mut [f64],
    ) -> Option<usize>;

    /// An action in words.
    fn action(&self, index: usize) -> String;
}

/// When actions are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// In s.
    pub time: f64,
    /// When conditions are evaluated: `time`, or a moment later.
    pub seen_at: f64,
    /// Those that act at instants are asked, too.
    pub by_clock: bool,
}

/// The states actions are asked under.
#[derive(Clone, Copy, Debug)]
pub struct States<'a> {
    /// Those that actions compute with.
    pub x: &'a [f64],
    /// Those whose conditions count: `x`, or where it is going a moment later.
    pub seen: &'a [f64],
}

/// Most events within one part of a step.
const MOST_EVENTS: u32 = 100_000;
/// Most rounds of actions at one time.
const MOST_ROUNDS: u32 = 100;
/// How often an action may follow itself at once.
const MOST_REPEATED: f64 = 3.0;
/// How far ahead conditions are evaluated for importers, in s and per time.
const AHEAD: f64 = 1e-9;
/// What is at once, per time.
const AT_ONCE: f64 = 1e5 * f64::EPSILON;

/// What the events of a model need.
pub(super) struct Drive {
    /// For each action: whether its condition holds, when it acted last, and how often it has followed itself at once.
    pub(super) memory: Vec<f64>,
    pub(super) log: EventLog,
    actions: usize,
    /// The last micro step without a crossing.
    time: f64,
    x: Vec<f64>,
    before: Indicators,
    now: Indicators,
    middle: Indicators,
    trial: Vec<f64>,
    /// Indicators at the start of a bracket, and inside it.
    narrowed: Vec<f64>,
    inside: Vec<f64>,
}

#[derive(Clone)]
struct Indicators {
    values: Vec<f64>,
    rates: Vec<f64>,
}

impl Drive {
    pub(super) fn new(events: &dyn OdeEvents, states: usize) -> Drive {
        let (count, actions) = (events.indicators(), events.actions());
        let indicators = Indicators { values: vec![0.0; count], rates: vec![0.0; count] };
        let mut drive = Drive {
            memory: vec![0.0; 3 * actions],
            log: EventLog::default(),
            actions,
            time: 0.0,
            x: vec![0.0; states],
            before: indicators.clone(),
            now: indicators.clone(),
            middle: indicators,
            trial: vec![0.0; states],
            narrowed: vec![0.0; count],
            inside: vec![0.0; count],
        };
        drive.reset();
        drive
    }

    /// Goes to the start of a run.
    pub(super) fn reset(&mut self) {
        let (held, rest) = self.memory.split_at_mut(self.actions);
        let (last, repeated) = rest.split_at_mut(self.actions);
        held.fill(f64::NAN);
        last.fill(f64::NEG_INFINITY);
        repeated.fill(0.0);
    }

    /// Counts how often an action follows itself at once; true if that does not seem to end.
    fn repeats(&mut self, action: usize, time: f64, size: f64) -> bool {
        let (last, repeated) = self.memory[self.actions..].split_at_mut(self.actions);
        let is_at_once = time - last[action] <= AT_ONCE * time.abs().max(size);
        repeated[action] = if is_at_once { repeated[action] + 1.0 } else { 0.0 };
        last[action] = time;
        repeated[action] >= MOST_REPEATED
    }
}

impl Indicators {
    fn evaluate(&mut self, events: &dyn OdeEvents, time: f64, x: &[f64], u: &[f64]) {
        events.indicate(time, x, u, &mut self.values, &mut self.rates);
    }
}

/// The indicator that may have crossed zero twice.
fn dips(before: &Indicators, now: &Indicators) -> Option<usize> {
    let is_inward = |value: f64, rate: f64| value * rate < 0.0;
    let is_outward = |value: f64, rate: f64| value * rate > 0.0;
    (0..before.values.len())
        .find(|k| is_inward(before.values[*k], before.rates[*k]) && is_outward(now.values[*k], now.rates[*k]))
}

/// Why a micro step was looked at more closely.
enum Look {
    Crossed,
    Dip(usize),
}

impl OdeModel {
    /// Integrates a part of the step from event to event.
    pub(super) fn flow_between_events(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let Part { piece, offset, size, .. } = part;
        self.time = piece.start + offset;
        let to = self.time + size;
        let slack = 1e-12 * size + 4.0 * f64::EPSILON * to.abs();
        self.occur(piece, size, true)?;
        for _ in 0..MOST_EVENTS {
            let due = self.ode.events().and_then(|events| events.next_instant(self.time));
            let due = due.filter(|instant| *instant < to - slack);
            let has_crossed = self.window(piece, due.unwrap_or(to), samples)?;
            if !has_crossed && due.is_none() {
                return Ok(());
            }
            self.occur(piece, size, !has_crossed)?;
            if samples.request() == Request::SolverPoints {
                self.ode.output(self.time, &self.x, &self.u, samples.push(self.time));
            }
            if self.time >= to {
                return Ok(());
            }
        }
        let repeated = format!("and others, {MOST_EVENTS} times within one step");
        Err(self.chattering(0, repeated))
    }

    #[cold]
    fn chattering(&self, action: usize, repeated: String) -> Box<Error> {
        let action = self.ode.events().map_or_else(String::new, |events| events.action(action));
        Error::Chattering { action, repeated, time: self.time }.into()
    }

    /// Carries out the actions that are due under the inputs as they are; true if there were any. For importers that integrate by
    /// themselves: their root finders may stop where an indicator is zero, or just short of it. So conditions are those of a
    /// moment later.
    pub fn act_now(&mut self, by_clock: bool) -> Result<bool> {
        self.occur_within(0.0, by_clock, AHEAD * self.time.abs().max(1.0))
    }

    /// Carries out the actions that are due, until there are none.
    fn occur(&mut self, piece: Piece<'_>, size: f64, by_clock: bool) -> Result<()> {
        piece.values(self.time - piece.start, &mut self.u);
        self.occur_within(size, by_clock, 0.0).map(|_| ())
    }

    /// The same in a step of this size, with conditions evaluated `ahead` of time; true if there were any.
    fn occur_within(&mut self, size: f64, by_clock: bool, ahead: f64) -> Result<bool> {
        let watched = self.watched();
        let mut later = if ahead > 0.0 { vec![0.0; self.x.len()] } else { Vec::new() };
        let OdeModel { ode, drive, x, u, next, time, .. } = self;
        let (Some(events), Some(drive)) = (ode.events(), drive) else { return Ok(false) };
        let mut first = None;
        for round in 0.. {
            next.copy_from_slice(x);
            if ahead > 0.0 {
                ode.derivative(*time, x, u, &mut later);
                later.iter_mut().zip(x.iter()).for_each(|(later, x)| *later = x + ahead * *later);
            }
            let moment = Moment { time: *time, seen_at: *time + ahead, by_clock: by_clock && round == 0 };
            let states = States { x, seen: if ahead > 0.0 { &later } else { x } };
            let Some(action) = events.act(moment, states, u, &mut drive.memory[..drive.actions], next) else {
                break;
            };
            x.copy_from_slice(next);
            first.get_or_insert(action);
            if round == MOST_ROUNDS {
                return Err(self.chattering(action, format!("acts {MOST_ROUNDS} times at one time")));
            }
        }
        let Some(first) = first else { return Ok(false) };
        if drive.repeats(first, *time, size) {
            return Err(self.chattering(first, "acts again and again at nearly the same time".into()));
        }
        if let (Some(before), Some(after)) = (watched, self.watched())
            && let Some(drive) = &mut self.drive
        {
            drive.log.note(Event { time: self.time, before, after });
        }
        Ok(true)
    }

    /// The watched variables as they are now; nothing if nobody watches.
    fn watched(&self) -> Option<Vec<f64>> {
        let variables = self.drive.as_ref()?.log.variables()?;
        let mut outputs = vec![0.0; self.ode.ports().outputs.len()];
        self.ode.output(self.time, &self.x, &self.u, &mut outputs);
        let value = |variable: &VariableId| match variable.kind {
            VariableKind::Input => self.u[variable.index],
            VariableKind::Output => outputs[variable.index],
            VariableKind::Parameter => self.ode.parameter(variable.index),
            VariableKind::Local => self.x[variable.index],
        };
        Some(variables.iter().map(value).collect())
    }

    /// Integrates to `target` or to the first crossing before it; true if there was one.
    fn window(&mut self, piece: Piece<'_>, target: f64, samples: &mut Samples) -> Result<bool> {
        let is_sampled = samples.request() == Request::SolverPoints;
        loop {
            let OdeModel { ode, method, drive, x, u, inputs_inside, time, .. } = self;
            let (Method::Micro(solver), Some(drive)) = (method, drive) else { return Ok(false) };
            let ode = ode.as_ref();
            let Some(events) = ode.events() else { return Ok(false) };
            piece.values(*time - piece.start, u);
            drive.before.evaluate(events, *time, x, u);
            (drive.time, _) = (*time, drive.x.copy_from_slice(x));
            let mut look = None;
            let mut rhs = UnderInput { ode, piece, u };
            let reached = solver.advance_until(&mut rhs, *time, target, x, &mut |_, time, x: &[f64]| {
                piece.values(time - piece.start, inputs_inside);
                drive.now.evaluate(events, time, x, inputs_inside);
                look = if has_crossed(&drive.before.values, &drive.now.values) {
                    Some(Look::Crossed)
                } else {
                    dips(&drive.before, &drive.now).map(Look::Dip)
                };
                if look.is_some() {
                    return ControlFlow::Break(());
                }
                std::mem::swap(&mut drive.before, &mut drive.now);
                (drive.time, _) = (time, drive.x.copy_from_slice(x));
                if is_sampled {
                    ode.output(time, x, inputs_inside, samples.push(time));
                }
                ControlFlow::Continue(())
            });
            let found = match (reached, look) {
                (Err(error), _) => Err(error),
                (Ok(reached), None) => {
                    *time = reached;
                    return Ok(false);
                }
                (Ok(reached), Some(look)) => locate(solver, &mut rhs, drive, &look, reached),
            };
            match found {
                Err(error) => return Err(self.explained(error, piece)),
                Ok(Found::Crossing(at)) => {
                    x.copy_from_slice(&drive.trial);
                    *time = at;
                    return Ok(true);
                }
                Ok(Found::Nothing(reached)) => {
                    *time = reached;
                    if is_sampled {
                        piece.values(reached - piece.start, inputs_inside);
                        ode.output(reached, x, inputs_inside, samples.push(reached));
                    }
                    if reached >= target {
                        return Ok(false);
                    }
                }
            }
        }
    }
}

/// What a closer look has found.
enum Found {
    /// A crossing; the state there is the trial.
    Crossing(f64),
    /// None up to the end of the micro step.
    Nothing(f64),
}

/// Locates the first crossing inside the last micro step.
fn locate(
    solver: &mut Solver,
    rhs: &mut UnderInput<'_>,
    drive: &mut Drive,
    look: &Look,
    reached: f64,
) -> std::result::Result<Found, SolverError> {
    let Drive { time: start, x: from, before, now, middle, trial, narrowed, inside, .. } = drive;
    let start = *start;
    let tolerance = 1e-12 * (reached - start) + 4.0 * f64::EPSILON * reached.abs();
    let mut place = |time: f64, at: &mut Indicators, trial: &mut [f64]| {
        trial.copy_from_slice(from);
        solver.leap(rhs, start, time, trial)?;
        rhs.piece.values(time - rhs.piece.start, rhs.u);
        let ode: &dyn Ode = rhs.ode;
        if let Some(events) = ode.events() {
            at.evaluate(events, time, trial, rhs.u);
        }
        Ok::<(), SolverError>(())
    };
    let mut end = reached;
    if let Look::Dip(k) = *look {
        // The rate of one indicator changes its sign at the extremum.
        let (mut rate_before, mut rate_after) = ([before.rates[k]], [now.rates[k]]);
        let mut bracket = Bracket { start, end: reached, before: &mut rate_before, after: &mut rate_after };
        let mut room = [0.0];
        bracket.narrow(tolerance, &mut room, |time, rate| {
            place(time, middle, trial)?;
            rate[0] = middle.rates[k];
            Ok(())
        })?;
        end = bracket.end;
        place(end, now, trial)?;
        if !has_crossed(&before.values, &now.values) {
            return Ok(Found::Nothing(reached));
        }
    }
    narrowed.copy_from_slice(&before.values);
    let mut bracket = Bracket { start, end, before: narrowed, after: &mut now.values };
    bracket.narrow(tolerance, inside, |time, values| {
        place(time, middle, trial)?;
        values.copy_from_slice(&middle.values);
        Ok(())
    })?;
    let end = bracket.end;
    place(end, middle, trial)?;
    Ok(Found::Crossing(end))
}

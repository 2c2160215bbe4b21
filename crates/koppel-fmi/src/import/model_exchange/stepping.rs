//! One communication step: windows of the solver between events.
//!
//! A window begins where the last one ended, and ends at the end of a piece of the inputs, at a node that is to be sampled
//! or at the next time event, whichever comes first; a state or step event ends it early. Where continuous inputs jump or
//! discrete ones change, which happens between pieces only, there is an event too.
//!
//! A state event is located by repeating the micro step in which an indicator changed its sign with other lengths, so the
//! point found is one of the method, not of an interpolation. The bracket is narrowed to
//!
//!   10⁻¹² h + 4 ε |t|                                                                       (1)
//!
//! with the micro step h, and its end is taken: there the new sign is seen.

use super::equations::{Buffers, Equations, Jacobian, Stop};
use crate::error::{Error, Result};
use crate::import::Phase;
use crate::import::access::{Access, AccessError};
use crate::import::base::Base;
use crate::import::ports::Slot;
use koppel::signal::{Part, Piece, Request, Samples, Segment, Step};
use koppel::solver::{Bracket, Solver, SolverError};

/// Most events within one step.
const MOST_EVENTS: u64 = 100_000;

/// A jump of an input larger than this part of its size is an event.
const JUMP: f64 = 1e-10;

/// What can end the search for an event.
enum SearchError {
    Solver(SolverError),
    Access(AccessError),
}

/// What a running instance may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Event,
    Continuous,
}

/// The equations of an FMU with a solver: where they stand, and what moves them.
pub(super) struct Integrator {
    pub(super) base: Base,
    pub(super) solver: Solver,
    /// Inputs that may move inside steps.
    pub(super) continuous: Access,
    pub(super) has_continuous_inputs: bool,
    /// Places of the others, which change in event mode.
    pub(super) discrete: Vec<usize>,
    /// For each input: it changes when its clock ticks.
    pub(super) is_clocked: Vec<bool>,
    /// Parameters that can be changed while it runs.
    pub(super) tunable: Access,
    pub(super) tunables: Vec<Slot>,
    /// For solvers that want it, where the FMU gives it.
    pub(super) jacobian: Option<Jacobian>,
    pub(super) completes_steps: bool,
    /// It has no events and no discrete variables.
    pub(super) is_smooth: bool,
    pub(super) mode: Mode,
    /// The states have not been read yet.
    pub(super) is_fresh: bool,
    pub(super) time: f64,
    pub(super) next_event: Option<f64>,
    pub(super) events_left: u64,
    /// States in units of `scales`.
    pub(super) x: Vec<f64>,
    pub(super) scales: Vec<f64>,
    /// Inputs at the last point of the solution.
    pub(super) settled: Vec<f64>,
    /// Inputs the FMU has; not a number where unknown.
    pub(super) applied: Vec<f64>,
    /// Inputs to be set next.
    pub(super) next: Vec<f64>,
    pub(super) at: Buffers,
}

impl Integrator {
    /// Notes when the FMU wants its next event. One that cannot give its state rolls back as long as it wants none.
    pub(super) fn set_next_event(&mut self, time: Option<f64>) {
        self.next_event = time;
        if !self.base.states.is_able()
            && self.check_smooth().is_ok() != self.base.capabilities.cannot_roll_back.is_none()
        {
            self.base.capabilities.cannot_roll_back =
                self.check_smooth().err().map(|error| error.to_string());
        }
    }

    /// Sets `next` as inputs, unless the FMU has them; discrete ones in event mode only.
    pub(super) fn write_inputs(&mut self) -> Result<()> {
        if self.next == self.applied {
            return Ok(());
        }
        let all = self.base.phase != Phase::Stepping || self.mode == Mode::Event;
        let inputs = if all { &self.base.inputs } else { &self.continuous };
        let written = inputs.write(&self.base.binding.backend, &mut self.base.scratch, &self.next);
        self.base.accessed(written, &self.base.slots.inputs)?;
        self.applied.copy_from_slice(&self.next);
        Ok(())
    }

    pub(super) fn go(
        &mut self,
        step: &Step,
        input: &Segment<'_>,
        outputs: &mut [f64],
        samples: &mut Samples,
    ) -> Result<()> {
        samples.clear();
        self.base.mail.forget_told();
        self.base.past.begin_step(step.start);
        self.events_left = MOST_EVENTS;
        self.base.backend.log().set_time(step.start);
        self.begin(input.piece(0), step.start)?;
        if samples.request() != Request::Nothing {
            self.base.get_outputs(samples.push(step.start))?;
        }
        let nodes = if let Request::Nodes(nodes) = samples.request() { nodes } else { 1 };
        input.each_part(nodes, |part| -> Result<()> {
            self.walk(part, samples)?;
            if matches!(samples.request(), Request::Nodes(_)) && part.ends_at_node {
                self.base.get_outputs(samples.push(part.piece.start + part.offset + part.size))?;
            }
            Ok(())
        })?;
        self.base.get_outputs(outputs)
    }

    /// Begins a piece of the inputs: an event if they jump there, or if one is due.
    fn begin(&mut self, piece: Piece<'_>, time: f64) -> Result<()> {
        if self.base.phase == Phase::Initializing {
            self.leave_initialization(time)?;
        }
        piece.values((self.time - piece.start).max(0.0), &mut self.next);
        let differs = |(next, settled): (&f64, &f64)| {
            settled.is_nan() || (next - settled).abs() > JUMP * next.abs().max(settled.abs())
        };
        let mut pairs = self.next.iter().zip(&self.settled).zip(&self.is_clocked);
        let jumps = pairs.any(|(pair, is_clocked)| !is_clocked && differs(pair));
        if self.mode == Mode::Event || jumps || self.base.mail.has_pending() {
            self.noted_event(true)?;
        } else {
            self.write_inputs()?;
        }
        self.settled.copy_from_slice(&self.next);
        Ok(())
    }

    /// The first event, which is at the start, is still to come.
    pub(super) fn leave_initialization(&mut self, time: f64) -> Result<()> {
        self.base.exit_initialization()?;
        self.mode = Mode::Event;
        self.time = time;
        self.is_fresh = true;
        Ok(())
    }

    /// Moves over a part of a piece, event by event.
    fn walk(&mut self, part: Part<'_>, samples: &mut Samples) -> Result<()> {
        let (piece, size) = (part.piece, part.size);
        let end = piece.start + part.offset + size;
        if part.offset == 0.0 && piece.offset > 0.0 {
            self.begin(piece, piece.start)?;
        }
        let is_sampled = samples.request() == Request::SolverPoints;
        let slack = 1e-12 * size + 4.0 * f64::EPSILON * end.abs();
        loop {
            let due = self.next_stop().filter(|time| *time <= end + slack);
            let target = due.unwrap_or(end);
            let stop = self.window(piece, target, samples)?;
            let is_due = due.is_some() && self.time >= target;
            match stop {
                Some(Stop::Terminate) => return Err(self.terminated()),
                None if !is_due => {
                    self.settle(piece);
                    return Ok(());
                }
                _ => {}
            }
            self.settle(piece);
            self.noted_event(false)?;
            if is_sampled {
                self.base.get_outputs(samples.push(self.time))?;
            }
            if self.time >= end && self.next_stop().is_none_or(|time| time > end + slack) {
                return Ok(());
            }
            self.events_left = self.events_left.checked_sub(1).ok_or_else(|| {
                let (instance, time) = (self.base.name.clone(), self.time);
                Error::TooManyEvents { instance, time, count: MOST_EVENTS }
            })?;
        }
    }

    /// Takes over the inputs as they are where the FMU has been placed.
    fn settle(&mut self, piece: Piece<'_>) {
        if self.moves(piece) {
            piece.values(self.time - piece.start, &mut self.settled);
            self.applied.copy_from_slice(&self.settled);
        }
    }

    /// Whether continuous inputs move on a piece.
    fn moves(&self, piece: Piece<'_>) -> bool {
        piece.terms > 1 && self.has_continuous_inputs
    }

    /// Solves from now to `target` or to an event before it, and leaves the FMU there.
    fn window(&mut self, piece: Piece<'_>, target: f64, samples: &mut Samples) -> Result<Option<Stop>> {
        if target <= self.time {
            return Ok(None);
        }
        let moving = self.moves(piece).then_some((&self.continuous, piece));
        let is_sampled = samples.request() == Request::SolverPoints;
        self.at.time = self.time;
        self.at.x.copy_from_slice(&self.x);
        let mut equations = Equations {
            backend: &self.base.binding.backend,
            scratch: &mut self.base.scratch,
            moving,
            outputs: &self.base.outputs,
            scales: &self.scales,
            jacobian: self.jacobian.as_ref(),
            completes_steps: self.completes_steps,
            past: &self.base.past,
            samples: is_sampled.then_some(samples),
            at: &mut self.at,
            stop: None,
            failure: None,
            discarded: None,
        };
        let solver = &mut self.solver;
        let reached = solver.advance_until(
            &mut equations,
            self.time,
            target,
            &mut self.x,
            &mut |equations: &mut Equations<'_>, time, x| equations.look(time, x),
        );
        let mut result = reached.map_err(SearchError::Solver);
        if let (Ok(time), Some(Stop::Crossed)) = (&mut result, equations.stop) {
            match locate(solver, &mut equations, *time, &mut self.x) {
                Ok(found) => *time = found,
                Err(error) => result = Err(error),
            }
        }
        let (stop, failure, discarded) = (equations.stop, equations.failure, equations.discarded);
        let instance = || self.base.name.clone();
        match (result, failure, discarded) {
            (_, Some(error), _) | (Err(SearchError::Access(error)), None, _) => {
                Err(self.base.explain(error, &self.base.slots.inputs))
            }
            (Err(SearchError::Solver(_)), None, Some(source)) => {
                Err(Error::Call { instance: instance(), source }.into())
            }
            (Err(SearchError::Solver(source)), None, None) => {
                Err(Error::Solver { instance: instance(), source }.into())
            }
            (Ok(time), None, _) => {
                self.time = time;
                Ok(stop)
            }
        }
    }
}

/// The time at which an indicator changes its sign in the last micro step; `x` becomes the state there.
fn locate(
    solver: &mut Solver,
    equations: &mut Equations<'_>,
    reached: f64,
    x: &mut [f64],
) -> Result<f64, SearchError> {
    let start = equations.at.time;
    let tolerance = 1e-12 * (reached - start) + 4.0 * f64::EPSILON * reached.abs();
    // The buffers are lent out while the equations use the rest.
    let mut trial = std::mem::take(&mut equations.at.trial);
    let mut before = std::mem::take(&mut equations.at.z);
    let mut after = std::mem::take(&mut equations.at.z_now);
    let mut middle = std::mem::take(&mut equations.at.z_middle);
    let from = std::mem::take(&mut equations.at.x);
    let mut bracket = Bracket { start, end: reached, before: &mut before, after: &mut after };
    let mut leap = |equations: &mut Equations<'_>, time: f64, x: &mut [f64]| {
        x.copy_from_slice(&from);
        solver.leap(equations, start, time, x).map_err(SearchError::Solver)
    };
    let mut found = bracket.narrow(tolerance, &mut middle, |time, z| {
        leap(equations, time, &mut trial)?;
        equations.indicators(time, &trial, z).map_err(SearchError::Access)
    });
    let time = bracket.end;
    if found.is_ok() && time < reached {
        found = leap(equations, time, x);
    }
    equations.at.trial = trial;
    (equations.at.z, equations.at.z_now, equations.at.z_middle) = (before, after, middle);
    equations.at.x = from;
    found?;
    arrive(equations, time, x).map_err(SearchError::Access)?;
    Ok(time)
}

/// Ends the shortened micro step.
fn arrive(equations: &mut Equations<'_>, time: f64, x: &[f64]) -> Result<(), AccessError> {
    equations.place(time, x)?;
    if let Some(Stop::Terminate) = equations.complete(time)? {
        equations.stop = Some(Stop::Terminate);
    }
    equations.sample(time)
}

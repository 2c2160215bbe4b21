//! Runs that a subsystem ends inside of a communication step.
//!
//! It stands at t_r, its last successful time, between the begin T^k of the step and its end. The run ends at t_r if all others
//! can be there, too: they take the step from T^k to t_r in place of the whole one. Those of later stages have not moved yet and simply do;
//! the others go back to T^k first, also those of the same stage, which may have moved side by side with it.
//! Models of koppel's own always can. Black boxes can where the method keeps their states
//! anyway, as step iteration does: no other run calls optional functions of an FMU for the sake of an end that may never come.
//! Where somebody cannot, the run ends at T^k, the last point all have in common.

use super::drive::Termination;
use super::failure::termination;
use super::simulation::{Simulation, Stage};
use crate::error::{Error, Result};
use crate::record::{Column, Source};
use crate::signal::Step;
use crate::system::{Horizon, Snapshot, SubsystemId, VariableKind};

/// In a loop that is iterated, the end may move while the step is shortened: so often it is followed.
const MOST_ATTEMPTS: u32 = 10;

/// The begin of the step under way.
pub(super) struct Retreat {
    /// Everything but the states of subsystems, if it was saved: plain steps under held inputs change nothing before all have moved.
    numbers: Vec<f64>,
    /// States of those that are no black boxes.
    snapshots: Vec<Option<Snapshot>>,
}

/// What is kept between rows of the point at which the run ends if a subsystem ends it in the step that follows.
#[derive(Default)]
pub(super) enum LastPoint {
    /// Nothing: every point is a row, nobody ends the run, or subsystems would have to be asked.
    #[default]
    Nothing,
    /// Its outputs; where all move at once, all else stays on the board until the step is done.
    Outputs(Vec<f64>),
    /// Its whole row.
    Row,
}

/// One that has asked to end the run and is not moved any more.
pub(super) struct Standing {
    pub(super) id: SubsystemId,
    /// Its outputs where it stands.
    pub(super) outputs: Vec<f64>,
}

impl Simulation {
    /// Makes room to go back, if a subsystem may end the run.
    pub(super) fn prepare_retreat(&mut self) {
        let is_asked_for = self.record_every > 1 || self.columns.is_empty();
        let may_end = self.slots.iter().any(|slot| slot.subsystem.may_end_run());
        if is_asked_for && may_end && self.is_on_board() {
            let is_plain = self.stages.len() == 1 && !self.is_multi_rate;
            self.last_point = match is_plain {
                true => LastPoint::Outputs(vec![0.0; self.graph.outputs()]),
                false => LastPoint::Row,
            };
        }
        if !self.can_ever_retreat() {
            return;
        }
        let snapshot = |may_end: bool| (!may_end).then(|| Snapshot::new(Horizon::Step));
        let snapshots: Vec<_> =
            self.slots.iter().map(|slot| snapshot(slot.subsystem.may_end_run())).collect();
        // Steps of the simplest form save nothing.
        // Who writes no rows reads the values of the last common point from the board.
        self.is_simple &= snapshots.iter().all(Option::is_none) && !self.columns.is_empty();
        self.retreat = Some(Box::new(Retreat { numbers: Vec::new(), snapshots }));
    }

    /// True if all columns are on the board: nobody is asked for them.
    fn is_on_board(&self) -> bool {
        let is_on_board = |column: &Column| match column.source {
            Source::Variable { variable, .. } => {
                matches!(variable.kind, VariableKind::Input | VariableKind::Output)
            }
            _ => false,
        };
        self.columns.messages().is_empty() && self.columns.list().iter().all(is_on_board)
    }

    /// False if nobody ends the run, and if wherever one does, another black box has moved that keeps no state: such runs save nothing.
    fn can_ever_retreat(&self) -> bool {
        let may_end = |id: &SubsystemId| self.slots[*id].subsystem.may_end_run();
        let in_stage = |stage: &Stage| stage.members.clone().filter(may_end).count();
        let first = self.stages.iter().map(in_stage).find(|count| *count > 0);
        let keeps_states = self.is_iterated_somewhere() || self.repetition.is_some();
        first.is_some_and(|count| count == 1 || keeps_states)
    }

    /// Nobody has moved, and what is due at the begin of the step has happened.
    #[inline]
    pub(super) fn keep_begin(&mut self) {
        self.moved = 0;
        if let LastPoint::Outputs(kept) = &mut self.last_point {
            kept.copy_from_slice(&self.board.outputs);
        }
        if self.retreat.is_some() {
            self.keep_states();
        }
    }

    /// Steps of the simplest form keep no more than outputs.
    pub(super) fn forget_begin(&mut self) {
        if let Some(retreat) = &mut self.retreat {
            retreat.numbers.clear();
        }
    }

    fn keep_states(&mut self) {
        let Some(mut retreat) = self.retreat.take() else { return };
        for (slot, snapshot) in self.slots.iter_mut().zip(&mut retreat.snapshots) {
            if snapshot.as_mut().is_some_and(|snapshot| slot.subsystem.save(snapshot).is_err()) {
                *snapshot = None;
            }
        }
        self.save_numbers(&mut retreat.numbers);
        self.retreat = Some(retreat);
    }

    /// Ends the run because of this failure, if it is a request to do so: all go to where the subsystem stands that has asked, or
    /// stay at the last communication point, whose values are not those of the subsystems then. Tells which.
    pub(super) fn end_on_request(&mut self, error: &Error) -> Option<(Termination, bool)> {
        let (request, reached) = termination(error)?;
        let reached = reached.filter(|time| *time > self.time() + self.margin());
        let is_there = reached.is_some_and(|reached| self.go_to(reached, &request.subsystem));
        if !is_there {
            // What is left is the board as it was.
            self.restore_begin();
        }
        let request = Termination { time: self.time(), ..request };
        self.termination = Some(request.clone());
        self.plain_until = 0;
        Some((request, is_there))
    }

    /// Ends the run because of this failure, if it is a request to do so by a subsystem. All subsystems go to where it stands
    /// ([`Simulation::time`] is then), if they can; else the run ends at the last communication point. Any other failure comes back.
    pub fn end_by(&mut self, error: Box<Error>) -> Result<Termination> {
        self.end_on_request(&error).map(|(request, _)| request).ok_or(error)
    }

    /// Takes all to where `asked` stands, if that can be done.
    fn go_to(&mut self, mut reached: f64, asked: &str) -> bool {
        let Ok(mut asked) = self.graph.find(asked) else { return false };
        let start = self.time();
        for _ in 0..MOST_ATTEMPTS {
            let step = Step { index: self.steps_taken(), start, size: reached - start };
            let done = if self.can_shorten(asked) { self.shorten(step, asked) } else { break };
            let is_standing = self.standing.take().is_some();
            match done.map_err(|error| termination(&error)) {
                Ok(()) => {
                    self.inside = Some(reached);
                    return true;
                }
                Err(Some((request, Some(earlier))))
                    if !is_standing && earlier > start + self.margin() && earlier < reached =>
                {
                    (asked, reached) = match self.graph.find(&request.subsystem) {
                        Ok(id) => (id, earlier),
                        Err(_) => break,
                    };
                }
                Err(_) => break,
            }
        }
        false
    }

    /// True if all but the one that stands can take a shorter step from where this one began.
    fn can_shorten(&self, asked: SubsystemId) -> bool {
        // Messages that a stage has sent cannot be taken back.
        let is_clean = self.messages.is_empty() || self.stages.len() == 1;
        let can = |id: SubsystemId| {
            let takes_any_size = !self.slots[id].subsystem.ports().one_step_size;
            takes_any_size && (id >= self.moved || self.way_back(id).is_some())
        };
        !self.is_multi_rate && is_clean && (0..self.slots.len()).all(|id| id == asked || can(id))
    }

    /// The state of a subsystem at the begin of the step.
    fn way_back(&self, id: SubsystemId) -> Option<&Snapshot> {
        let own = || self.retreat.as_ref()?.snapshots.get(id)?.as_ref();
        self.steps.snapshot(id).or_else(|| self.repetition.as_ref()?.snapshot(id)).or_else(own)
    }

    /// Goes back to the begin of the step and takes a shorter one. Who has asked comes along if it can go back, and stands else.
    fn shorten(&mut self, step: Step, asked: SubsystemId) -> Result<()> {
        let outputs = self.board.outputs[self.slots[asked].outputs.clone()].to_vec();
        for id in 0..self.moved.max(asked + 1) {
            // Borrowed from the one, restored into the other.
            let Some(snapshot) = self.way_back(id).cloned() else { continue };
            self.slots[id].subsystem.restore(&snapshot)?;
        }
        if self.way_back(asked).is_none() {
            self.standing = Some(Standing { id: asked, outputs });
        }
        self.restore_begin();
        self.termination = None;
        self.moved = 0;
        self.move_from_begin::<false>(step, step.end())
    }

    /// The outputs of the last common point come back, if they were kept.
    fn restore_outputs(&mut self) {
        if let LastPoint::Outputs(kept) = &self.last_point {
            self.board.outputs.copy_from_slice(kept);
        }
    }

    fn restore_begin(&mut self) {
        self.restore_outputs();
        if let Some(retreat) = self.retreat.take() {
            if !retreat.numbers.is_empty() {
                self.restore_numbers(&retreat.numbers);
            }
            self.retreat = Some(retreat);
        }
    }

    /// A part of a step that is no time.
    pub(super) fn margin(&self) -> f64 {
        1e-9 * self.clock.size()
    }

    /// Where the run has ended, if that is before this end of a step.
    pub(super) fn ended_before(&self, end: f64) -> Option<f64> {
        self.termination.as_ref().map(|request| request.time).filter(|time| *time < end - self.margin())
    }
}

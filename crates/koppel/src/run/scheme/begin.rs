//! The begin of the step under way, for runs that a subsystem ends inside of a communication step.
//!
//! It stands at t_r, its last successful time, between the begin T^k of the step and its end. The run ends at t_r if all others
//! can be there, too: they take the step from T^k to t_r in place of the whole one. Those of later stages have not moved yet and simply do;
//! the others go back to T^k first, also those of the same stage, which may have moved side by side with it.
//! Models of koppel's own always can. Black boxes can where the scheme keeps their states
//! anyway, as step iteration does: no other run calls optional functions of an FMU for the sake of an end that may never come.
//! Where one cannot, the run ends at T^k, the last point all have in common.

use super::Scheme;
use super::staged::{Stage, Staged};
use crate::error::Result;
use crate::network::{Network, termination};
use crate::signal::{Step, copy};
use crate::system::{Horizon, Snapshot, SubsystemId};
use crate::tape::{StateData, Tape};

/// In a loop that is iterated, the end may move while the step is shortened: so often it is followed.
const MOST_ATTEMPTS: u32 = 10;

/// What is kept of the begin of each step; nothing in most runs.
#[derive(Default)]
pub(in crate::run) struct Begin {
    /// Outputs: the last row of a run that ends inside of the step, where no row was written.
    outputs: Option<Vec<f64>>,
    states: Option<Box<States>>,
}

struct States {
    /// Everything but the states of subsystems, if it was saved: steps under held inputs change nothing before all have moved.
    numbers: StateData,
    /// States of those that are no black boxes.
    snapshots: Vec<Option<Snapshot>>,
    /// True if a step under held inputs needs none of them.
    are_spared_by_holds: bool,
}

/// A subsystem that has asked to end the run and is not moved any more.
pub(super) struct Standing {
    pub(super) id: SubsystemId,
    /// Its outputs where it stands.
    pub(super) outputs: Vec<f64>,
}

impl Begin {
    /// Keeps outputs from now on.
    pub(in crate::run) fn want_outputs(&mut self, count: usize) {
        self.outputs = Some(vec![0.0; count]);
    }

    /// Keeps states from now on; those who write no rows read the values of the last common point from the board.
    pub(in crate::run) fn want_states(&mut self, network: &Network, writes_rows: bool) {
        let may_end = |id: SubsystemId| network.subsystem(id).may_end_run();
        let snapshot = |id: SubsystemId| (!may_end(id)).then(|| Snapshot::new(Horizon::Step));
        let snapshots: Vec<_> = (0..network.len()).map(snapshot).collect();
        let are_spared_by_holds = writes_rows && snapshots.iter().all(Option::is_none);
        self.states =
            Some(Box::new(States { numbers: StateData::default(), snapshots, are_spared_by_holds }));
    }

    /// True if a step under held inputs keeps no more than outputs.
    pub(super) fn needs_outputs_alone(&self) -> bool {
        self.states.as_ref().is_none_or(|states| states.are_spared_by_holds)
    }

    #[inline(always)]
    pub(super) fn keep_outputs(&mut self, outputs: &[f64]) {
        if let Some(kept) = &mut self.outputs {
            copy(outputs, kept);
        }
    }

    /// The states of an earlier step are of no use any more.
    pub(super) fn forget_states(&mut self) {
        if let Some(states) = &mut self.states {
            states.numbers.clear();
        }
    }
}

/// False if nobody ends the run, and if wherever one does, another black box has moved that keeps no state: such runs save nothing.
pub(in crate::run) fn can_retreat(scheme: &dyn Scheme, network: &Network) -> bool {
    let may_end = |id: &SubsystemId| network.subsystem(*id).may_end_run();
    let in_stage = |stage: &Stage| stage.members.clone().filter(may_end).count();
    let first = scheme.staged().stages.iter().map(in_stage).find(|count| *count > 0);
    first.is_some_and(|count| count == 1 || scheme.keeps_states())
}

/// Nobody has moved, and what is due at the begin of the step has happened.
pub(super) fn keep<S: Scheme + ?Sized>(scheme: &mut S, network: &mut Network) {
    let staged = scheme.staged_mut();
    staged.moved = 0;
    staged.begin.keep_outputs(&network.board.outputs);
    keep_states(scheme, network);
}

/// The states among it.
#[inline]
pub(super) fn keep_states<S: Scheme + ?Sized>(scheme: &mut S, network: &mut Network) {
    let Some(mut states) = scheme.staged_mut().begin.states.take() else { return };
    for (slot, snapshot) in network.slots.iter_mut().zip(&mut states.snapshots) {
        if snapshot.as_mut().is_some_and(|snapshot| slot.subsystem.save(snapshot).is_err()) {
            *snapshot = None;
        }
    }
    let mut tape = Tape::write(&mut states.numbers);
    network.state(&mut tape);
    scheme.state(&mut tape);
    scheme.staged_mut().begin.states = Some(states);
}

/// The board goes back to the begin of the step, as far as that was kept.
pub(in crate::run) fn restore_begin(scheme: &mut dyn Scheme, network: &mut Network) {
    let begin = &mut scheme.staged_mut().begin;
    if let Some(kept) = &begin.outputs {
        network.board.outputs.copy_from_slice(kept);
    }
    let Some(states) = begin.states.take() else { return };
    if !states.numbers.is_empty() {
        let mut tape = Tape::read(&states.numbers);
        network.state(&mut tape);
        scheme.state(&mut tape);
    }
    scheme.staged_mut().begin.states = Some(states);
}

/// Takes all to where `asked` stands, at `reached` inside of `step`, if that can be done. Tells where they are then.
pub(in crate::run) fn end_inside(
    scheme: &mut dyn Scheme,
    network: &mut Network,
    step: Step,
    mut reached: f64,
    asked: &str,
) -> Option<f64> {
    let Step { index, start, .. } = step;
    let mut asked = network.graph.find(asked).ok()?;
    for _ in 0..MOST_ATTEMPTS {
        if !can_shorten(scheme, network, asked) {
            return None;
        }
        let done = shorten(scheme, network, Step { index, start, size: reached - start }, asked);
        let is_standing = scheme.staged_mut().standing.take().is_some();
        match done.map_err(|error| termination(&error)) {
            Ok(()) => return Some(reached),
            Err(Some((request, Some(earlier))))
                if !is_standing && earlier > start + 1e-9 * step.size && earlier < reached =>
            {
                (asked, reached) = (network.graph.find(&request.subsystem).ok()?, earlier);
            }
            Err(_) => return None,
        }
    }
    None
}

/// True if all but the one that stands can take a shorter step from where this one began.
fn can_shorten(scheme: &dyn Scheme, network: &Network, asked: SubsystemId) -> bool {
    let Staged { stages, is_multi_rate, moved, .. } = scheme.staged();
    // Messages that a stage has sent cannot be taken back.
    let is_clean = network.messages.is_empty() || stages.len() == 1;
    let can = |id: SubsystemId| {
        let takes_any_size = !network.subsystem(id).ports().one_step_size;
        takes_any_size && (id >= *moved || way_back(scheme, id).is_some())
    };
    !is_multi_rate && is_clean && (0..network.len()).all(|id| id == asked || can(id))
}

/// The state of a subsystem at the begin of the step.
fn way_back(scheme: &dyn Scheme, id: SubsystemId) -> Option<&Snapshot> {
    let own = || scheme.staged().begin.states.as_ref()?.snapshots.get(id)?.as_ref();
    scheme.snapshot(id).or_else(own)
}

/// Goes back to the begin of the step and takes a shorter one. The one that has asked comes along if it can go back, and stands else.
fn shorten(scheme: &mut dyn Scheme, network: &mut Network, step: Step, asked: SubsystemId) -> Result<()> {
    let outputs = network.board.outputs[network.graph.outputs_of(asked)].to_vec();
    for id in 0..scheme.staged().moved.max(asked + 1) {
        if let Some(snapshot) = way_back(scheme, id) {
            network.subsystem_mut(id).restore(snapshot)?;
        }
    }
    if way_back(scheme, asked).is_none() {
        scheme.staged_mut().standing = Some(Standing { id: asked, outputs });
    }
    restore_begin(scheme, network);
    let staged = scheme.staged_mut();
    (staged.termination, staged.moved) = (None, 0);
    scheme.walk(network, step, step.end())
}

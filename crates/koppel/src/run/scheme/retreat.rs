//! Runs that a subsystem ends inside a communication step.
//!
//! It stands at t_r, its last successful time, between the start T^k of the step and its end. The run ends at t_r if all others
//! can be there, too: they take the step from T^k to t_r in place of the whole one. Those of later stages have not moved yet and simply do;
//! the others roll back to T^k first, also those of the same stage, which may have moved in parallel with it.
//! Models of koppel's own always can. Black boxes can where the scheme keeps their states
//! anyway, as step iteration does: no other run calls optional functions of an FMU for the sake of an end that may never come.
//! Where one cannot, the run ends at T^k, the last point all have in common.

use super::scheme::Scheme;
use super::stage::{Stage, Standing};
use super::staged::Staged;
use crate::error::Result;
use crate::network::{Network, termination};
use crate::signal::Step;
use crate::system::{Snapshot, SubsystemId};
use crate::tape::Tape;

/// In a loop that is iterated, the end may move while the step is shortened: so often it is followed.
const MOST_ATTEMPTS: u32 = 10;

/// False if nobody ends the run, and if wherever one does, another black box has moved that keeps no state: such runs save nothing.
pub(in crate::run) fn can_retreat(scheme: &dyn Scheme, network: &Network) -> bool {
    let may_end = |id: &SubsystemId| network.subsystem(*id).capabilities().may_end_run;
    let in_stage = |stage: &Stage| stage.members.clone().filter(may_end).count();
    let first = scheme.staged().stages.iter().map(in_stage).find(|count| *count > 0);
    first.is_some_and(|count| count == 1 || scheme.keeps_states())
}

/// The board rolls back to the start of the step, as far as that was kept.
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

/// Takes all to where `asked` stands, at `reached` inside `step`, if that can be done. Tells where they are then.
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
        let is_standing = scheme.staged_mut().outcome.standing.take().is_some();
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
    let Staged { stages, is_multi_rate, outcome, .. } = scheme.staged();
    // Messages that a stage has sent cannot be taken back.
    let is_clean = network.messages.is_empty() || stages.len() == 1;
    let can = |id: SubsystemId| {
        let takes_any_size = !network.subsystem(id).ports().one_step_size;
        takes_any_size && (id >= outcome.moved || way_back(scheme, id).is_some())
    };
    !is_multi_rate && is_clean && (0..network.len()).all(|id| id == asked || can(id))
}

/// The state of a subsystem at the start of the step.
fn way_back(scheme: &dyn Scheme, id: SubsystemId) -> Option<&Snapshot> {
    let own = || scheme.staged().begin.states.as_ref()?.snapshots.get(id)?.as_ref();
    scheme.snapshot(id).or_else(own)
}

/// Goes back to the start of the step and takes a shorter one. The one that has asked comes along if it can roll back, and stands else.
fn shorten(scheme: &mut dyn Scheme, network: &mut Network, step: Step, asked: SubsystemId) -> Result<()> {
    let outputs = network.board.outputs[network.graph.outputs_of(asked)].to_vec();
    for id in 0..scheme.staged().outcome.moved.max(asked + 1) {
        if let Some(snapshot) = way_back(scheme, id) {
            network.subsystem_mut(id).restore(snapshot)?;
        }
    }
    if way_back(scheme, asked).is_none() {
        scheme.staged_mut().outcome.standing = Some(Standing { id: asked, outputs });
    }
    restore_begin(scheme, network);
    let outcome = &mut scheme.staged_mut().outcome;
    (outcome.termination, outcome.moved) = (None, 0);
    scheme.walk(network, step, step.end())
}

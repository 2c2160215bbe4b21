//! Runs that a subsystem ends inside a communication step.
//!
//! That subsystem is at t_r, its last successful time, between the start T^k of the step and its end. The run ends at t_r if all
//! others can reach t_r: they take a step from T^k to t_r in place of the whole one. Subsystems of later stages have not advanced
//! yet. The others roll back to T^k first, also those of the same stage, which may have advanced in parallel. Native models can
//! always roll back. Black boxes can if the scheme keeps their states anyway, as step iteration does: no other run calls optional
//! functions of an FMU for an end that may never come. If one cannot, the run ends at T^k, the last point all have in common.

use super::scheme::Scheme;
use super::stage::{EndedMember, Stage};
use super::staged::Staged;
use crate::error::Result;
use crate::network::{Network, termination};
use crate::signal::Step;
use crate::system::{Snapshot, SubsystemId};
use crate::tape::Tape;

/// In an iterated loop, the end may change while the step is shortened; it is followed this often.
const MOST_ATTEMPTS: u32 = 10;

/// False if no subsystem may end the run, or if another black box without saved state would always have advanced by then. Such
/// runs save nothing.
pub(in crate::run) fn can_end_early(scheme: &dyn Scheme, network: &Network) -> bool {
    let may_end = |id: &SubsystemId| network.subsystem(*id).capabilities().may_end_run;
    let in_stage = |stage: &Stage| stage.members.clone().filter(may_end).count();
    let first = scheme.staged().stages.iter().map(in_stage).find(|count| *count > 0);
    first.is_some_and(|count| count == 1 || scheme.keeps_states())
}

/// Restores the board at the start of the step, as far as it was kept.
pub(in crate::run) fn restore_step_start(scheme: &mut dyn Scheme, network: &mut Network) {
    let step_start = &mut scheme.staged_mut().step_start;
    if let Some(kept) = &step_start.outputs {
        network.board.outputs.copy_from_slice(kept);
    }
    let Some(states) = step_start.states.take() else { return };
    if !states.numbers.is_empty() {
        let mut tape = Tape::read(&states.numbers);
        network.state(&mut tape);
        scheme.state(&mut tape);
    }
    scheme.staged_mut().step_start.states = Some(states);
}

/// Advances all subsystems to `reached` inside `step`, where `asked` is, if possible. Returns the time they have reached.
pub(in crate::run) fn end_inside_step(
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
        let done = take_shortened(scheme, network, Step { index, start, size: reached - start }, asked);
        let has_ended_member = scheme.staged_mut().outcome.ended_member.take().is_some();
        match done.map_err(|error| termination(&error)) {
            Ok(()) => return Some(reached),
            Err(Some((request, Some(earlier))))
                if !has_ended_member && earlier > start + 1e-9 * step.size && earlier < reached =>
            {
                (asked, reached) = (network.graph.find(&request.subsystem).ok()?, earlier);
            }
            Err(_) => return None,
        }
    }
    None
}

/// True if all but `asked` can take a shorter step from the start of this one.
fn can_shorten(scheme: &dyn Scheme, network: &Network, asked: SubsystemId) -> bool {
    let Staged { stages, is_multi_rate, outcome, .. } = scheme.staged();
    // Messages that a stage has sent cannot be taken back.
    let is_clean = network.messages.is_empty() || stages.len() == 1;
    let can = |id: SubsystemId| {
        let takes_any_size = !network.subsystem(id).ports().one_step_size;
        takes_any_size && (id >= outcome.advanced || state_at_start(scheme, id).is_some())
    };
    !is_multi_rate && is_clean && (0..network.len()).all(|id| id == asked || can(id))
}

/// The state of a subsystem at the start of the step.
fn state_at_start(scheme: &dyn Scheme, id: SubsystemId) -> Option<&Snapshot> {
    let own = || scheme.staged().step_start.states.as_ref()?.snapshots.get(id)?.as_ref();
    scheme.snapshot(id).or_else(own)
}

/// Rolls back to the start of the step and takes a shorter one. `asked` takes it too if it can roll back, and otherwise stays.
fn take_shortened(
    scheme: &mut dyn Scheme,
    network: &mut Network,
    step: Step,
    asked: SubsystemId,
) -> Result<()> {
    let outputs = network.board.outputs[network.graph.outputs_of(asked)].to_vec();
    for id in 0..scheme.staged().outcome.advanced.max(asked + 1) {
        if let Some(snapshot) = state_at_start(scheme, id) {
            network.subsystem_mut(id).restore(snapshot)?;
        }
    }
    if state_at_start(scheme, asked).is_none() {
        scheme.staged_mut().outcome.ended_member = Some(EndedMember { id: asked, outputs });
    }
    restore_step_start(scheme, network);
    let outcome = &mut scheme.staged_mut().outcome;
    (outcome.termination, outcome.advanced) = (None, 0);
    scheme.advance(network, step, step.end())
}

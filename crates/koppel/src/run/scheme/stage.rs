//! Stages, and how their steps may end.

use crate::coupling::{Needs, Work};
use crate::error::{Error, Result};
use crate::network::{Deliveries, Slot, Termination, is_request, request_or_failure};
use crate::run::schedule::Schedule;
use crate::signal::Step;
use crate::system::{InputId, OutputId, SubsystemId, SystemGraph};
use std::ops::Range;

/// Subsystems that advance in parallel.
pub(in crate::run) struct Stage {
    pub(in crate::run) members: Range<SubsystemId>,
    /// All inputs of the members.
    pub(in crate::run) inputs: Range<InputId>,
    /// Those that are connected and predicted.
    pub(in crate::run) wired: Vec<InputId>,
    /// Those that are connected and held, whatever the coupling, or because it does nothing else.
    pub(in crate::run) held: Vec<InputId>,
    /// All outputs of the members.
    pub(in crate::run) outputs: Range<OutputId>,
    pub(in crate::run) deliveries: Deliveries,
    pub(in crate::run) is_parallel: bool,
}

/// Whether a step of a stage may still be rolled back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Its result counts.
    Final,
    /// It may be rolled back: it follows from a guess, which is judged afterwards.
    Trial,
}

/// A subsystem that has asked to end the run and advances no further.
pub(super) struct EndedMember {
    pub(super) id: SubsystemId,
    /// Its outputs at that point.
    pub(super) outputs: Vec<f64>,
}

/// How the last step ended.
#[derive(Default)]
pub(in crate::run) struct Outcome {
    /// Start of the current step: a step that is halved has two.
    pub(in crate::run) start: f64,
    /// After a subsystem has failed or asked to end the run: the number of subsystems that have advanced, or may have.
    pub(super) advanced: usize,
    /// A request to end the run, at a time all others can reach.
    pub(in crate::run) termination: Option<Termination>,
    /// A request inside the subsystem's step, in a trial of a loop that is iterated.
    pub(super) ended_trial: Option<Box<Error>>,
    /// A subsystem that has ended the run inside its step and advances no further.
    pub(super) ended_member: Option<EndedMember>,
}

impl Outcome {
    /// Forgets requests to end the run.
    pub(in crate::run) fn forget_requests(&mut self) {
        (self.termination, self.ended_trial) = (None, None);
    }

    /// A member has failed, or asks to end the run. Members before `end` have advanced, or may have.
    #[cold]
    pub(super) fn fail(
        &mut self,
        (graph, slot, step): (&SystemGraph, &Slot, &Step),
        attempt: Attempt,
        end: SubsystemId,
        source: Box<Error>,
    ) -> Result<()> {
        match request_or_failure(graph, slot, *step, source) {
            Ok(request) => self.termination = Some(request),
            // A better guess may lead elsewhere.
            Err(error) if attempt == Attempt::Trial && is_request(&error) => self.ended_trial = Some(error),
            Err(error) => {
                self.advanced = end;
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Stages as ranges: subsystems are numbered in the order in which they advance.
pub(in crate::run) fn stages(graph: &SystemGraph, schedule: &Schedule, needs: Needs) -> Vec<Stage> {
    // The inputs of a slow subsystem are held from the start of its own step, which the coupling knows.
    let all_held = needs.work == Work::Hold && !schedule.is_multi_rate();
    let mut first = 0;
    let mut stage = |size: usize| {
        let members = first..first + size;
        first += size;
        let inputs = graph.inputs_of(members.start).start..graph.inputs_of(members.end - 1).end;
        let connected = inputs.clone().filter(|input| !graph.is_free(*input));
        let is_held =
            |input: &usize| all_held || graph.input_variable(*input).is_held || graph.map(*input).is_some();
        let (held, wired) = connected.partition(is_held);
        let deliveries = Deliveries::new(graph, members.clone());
        let outputs = graph.outputs_of(members.start).start..graph.outputs_of(members.end - 1).end;
        Stage { members, inputs, wired, held, outputs, deliveries, is_parallel: false }
    };
    schedule.stages.iter().filter(|members| !members.is_empty()).map(|members| stage(members.len())).collect()
}

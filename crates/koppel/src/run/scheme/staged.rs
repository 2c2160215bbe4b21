//! The macro step.
//!
//! [`Staged::walk`] takes the network from T^k to T^{k+1}. Every array belongs to one time level, which changes phase by phase;
//! for a member of stage s that moves:
//!
//! | phase                | outputs           | arrivals from s    | planned              | applied, read_with |
//! | -------------------- | ----------------- | ------------------ | -------------------- | ------------------ |
//! | (begin)              | T^k               | T^k                | step before          | T^k                |
//! | 1 `prepare`          | T^k               | T^k                | step before          | T^k                |
//! | 2 `predict`          | T^k               | T^k, earlier stages T^{k+1} | T^k ... T^{k+1} | T^k          |
//! | 3 `move`             | T^{k+1}, stale    | T^k                | T^k ... T^{k+1}      | T^k                |
//! | 4 `deliver`          | T^{k+1}, stale    | T^{k+1}, stale     | T^k ... T^{k+1}      | T^{k+1}            |
//! | 5 `carry messages`   | T^{k+1}, stale    | T^{k+1}, stale     | T^k ... T^{k+1}      | T^{k+1}            |
//! | 6 `evaluate`         | T^{k+1}, fresh    | T^{k+1}, fresh     | T^k ... T^{k+1}      | T^{k+1}            |
//! | 7 `note`             | unchanged         |                    |                      |                    |
//!
//! Phases 2 to 5 are done stage by stage, 1, 6 and 7 once. *Stale* outputs were computed with the inputs as they were predicted to
//! end; *fresh* ones with those that have arrived, where outputs feed through. A subsystem that moves every n-th step is n steps
//! ahead after its phase 3, and takes no part until the others have come there.
//!
//! **After a failure** members before `moved` have left T^k, or may have, members of one stage all together; others stand at T^k.
//! Outputs and arrivals of stages that were delivered are those of T^{k+1}. `begin.rs` knows the way back to T^k, where there is one.
//!
//! Nothing is allocated here. Members of a stage write to their own range of outputs only and are delivered in order, so the
//! result has the same bits on one thread or many.

use super::begin::{Begin, Standing};
use super::crew::Crew;
use super::extremes::Extremes;
use super::{Scheme, crew};
use crate::coupling::{Needs, Work};
use crate::error::{Error, Result};
use crate::network::{Deliveries, Network, Termination, unpredicted};
use crate::run::config::Parallel;
use crate::run::schedule::Schedule;
use crate::signal::{Clock, Step};
use crate::system::{InputId, OutputId, SubsystemId, SystemGraph};
use std::ops::Range;

/// Stage by stage: what most runs do, and what every other scheme is made of.
pub(in crate::run) struct Staged {
    pub(in crate::run) stages: Vec<Stage>,
    pub(in crate::run) is_multi_rate: bool,
    pub(super) clock: Clock,
    pub(in crate::run) crew: Crew,
    pub(in crate::run) extremes: Extremes,
    /// What the step under way began with.
    pub(in crate::run) begin: Begin,
    /// After a failure: so many subsystems have moved, or may have.
    pub(super) moved: usize,
    /// A subsystem that has asked to end the run, at a time all others can reach.
    pub(in crate::run) termination: Option<Termination>,
    /// The same inside of its step, in a trial of a loop that is iterated.
    pub(super) ended_trial: Option<Box<Error>>,
    /// A subsystem that has ended the run on the way and is not moved any more.
    pub(super) standing: Option<Standing>,
}

/// Subsystems that move side by side.
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

/// Whether a stage moves for good.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Its result counts.
    Final,
    /// It may be rolled back: what a guess leads to is judged when the loop has converged.
    Trial,
}

impl Scheme for Staged {
    fn walk(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.prepare(network, step)?;
        self.move_all(network, &step, end)?;
        self.finish(network, end)
    }

    fn staged(&self) -> &Staged {
        self
    }

    fn staged_mut(&mut self) -> &mut Staged {
        self
    }
}

impl Staged {
    pub(in crate::run) fn new(
        stages: Vec<Stage>,
        clock: Clock,
        is_multi_rate: bool,
        threads: Parallel,
        inputs: usize,
    ) -> Self {
        Staged {
            stages,
            is_multi_rate,
            clock,
            crew: Crew::new(threads),
            extremes: Extremes::new(inputs),
            begin: Begin::default(),
            moved: 0,
            termination: None,
            ended_trial: None,
            standing: None,
        }
    }

    /// Forgets requests to end the run.
    pub(in crate::run) fn forget_requests(&mut self) {
        (self.termination, self.ended_trial) = (None, None);
    }

    /// 1: what the coupling does before anybody has moved.
    pub(super) fn prepare(&mut self, network: &mut Network, step: Step) -> Result<()> {
        let Network { coupling, graph, board, .. } = network;
        coupling.prepare(&board.view(graph, step)).map_err(|source| unpredicted(step, source))
    }

    /// All stages, one after the other.
    pub(super) fn move_all(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
        (0..self.stages.len()).try_for_each(|stage| self.stage(network, stage, step, end, Attempt::Final))
    }

    /// 2 to 5 of one stage.
    pub(super) fn stage(
        &mut self,
        network: &mut Network,
        stage: usize,
        step: &Step,
        end: f64,
        attempt: Attempt,
    ) -> Result<()> {
        self.predict(network, stage, step, attempt)?;
        crew::move_stage(self, network, stage, step, attempt)?;
        self.deliver(network, stage, step, end, attempt)?;
        if attempt == Attempt::Final && !network.messages.is_empty() {
            network.carry_messages(self.stages[stage].members.clone(), end)?;
        }
        Ok(())
    }

    /// 6 and 7: all have moved.
    pub(super) fn finish(&mut self, network: &mut Network, end: f64) -> Result<()> {
        self.moved = network.slots.len();
        if network.is_evaluated() {
            network.evaluate(end)?;
            network.check_finite(0..network.graph.outputs(), end)?;
        }
        network.check_tables(end)?;
        match self.is_multi_rate {
            true => self.extremes.note_due(network, end),
            false => self.extremes.note_all(network.arrivals(), network.applied(), end),
        }
        Ok(())
    }

    /// 2: the coupling writes the inputs of a stage, now that earlier stages have moved.
    fn predict(&self, network: &mut Network, stage: usize, step: &Step, attempt: Attempt) -> Result<()> {
        let Network { coupling, graph, board, slots, .. } = network;
        let Stage { wired, held, members, inputs, .. } = &self.stages[stage];
        if attempt == Attempt::Final {
            board.check_maps(graph, inputs, step.start)?;
        }
        if self.is_multi_rate {
            for slot in slots[members.clone()].iter_mut().filter(|slot| slot.is_due(step)) {
                slot.remember(&board.outputs, &board.applied);
                let step = self.clock.step(step.index, u64::from(slot.every));
                let from = wired.partition_point(|i| *i < slot.inputs.start);
                let to = wired.partition_point(|i| *i < slot.inputs.end);
                let (view, mut out) = board.plan(graph, step);
                coupling.input(&view, &wired[from..to], &mut out)?;
            }
        } else if !wired.is_empty() {
            let (view, mut out) = board.plan(graph, *step);
            coupling.input(&view, wired, &mut out)?;
        }
        board.hold(held);
        if attempt == Attempt::Trial {
            board.hold_unmapped(graph, inputs);
        }
        Ok(())
    }

    /// 4: the outputs of a stage arrive where they are connected, and the coupling sees what was sampled inside the step.
    fn deliver(
        &self,
        network: &mut Network,
        stage: usize,
        step: &Step,
        end: f64,
        attempt: Attempt,
    ) -> Result<()> {
        let Stage { members, inputs, outputs, deliveries, .. } = &self.stages[stage];
        if attempt == Attempt::Final {
            network.check_finite(outputs.clone(), end)?;
        }
        let Network { coupling, graph, board, slots, needs, .. } = network;
        if self.is_multi_rate {
            for slot in slots[members.clone()].iter().filter(|slot| slot.is_due(step)) {
                let every = u64::from(slot.every);
                board.note_applied(slot.inputs.clone(), self.clock.step(step.index, every).size);
                board.deliver_one(graph, slot.id, self.clock.time(step.index + every));
            }
        } else {
            board.note_applied(inputs.clone(), step.size);
            match attempt {
                Attempt::Final => board.deliver(graph, members.clone(), deliveries, end),
                Attempt::Trial => members.clone().for_each(|id| board.deliver_one(graph, id, end)),
            }
        }
        if needs.samples.is_none() {
            return Ok(());
        }
        let view = board.view(graph, *step);
        let mut due = slots[members.clone()].iter().filter(|slot| slot.is_due(step));
        due.try_for_each(|slot| coupling.moved(&view, slot.id, &slot.samples))
    }
}

/// Stages as ranges: subsystems are numbered in the order in which they move.
pub(in crate::run) fn stages(graph: &SystemGraph, schedule: &Schedule, needs: Needs) -> Vec<Stage> {
    // The inputs of a slow subsystem are held from the begin of its own step, which the coupling knows.
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

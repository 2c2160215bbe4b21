//! The macro step.
//!
//! [`Staged::advance`] takes the network from T^k to T^{k+1}. Its arrays change from one time level to the next, phase by phase; for a
//! member of stage s that is due:
//!
//! | phase              | outputs        | arrivals that left stage s | predicted       | applied |
//! | ------------------ | -------------- | -------------------------- | --------------- | ------- |
//! | (start)            | T^k            | T^k                        | step before     | T^k     |
//! | 1 `prepare`        | T^k            | T^k                        | step before     | T^k     |
//! | 2 `predict`        | T^k            | T^k                        | T^k ... T^{k+1} | T^k     |
//! | 3 `advance`        | T^{k+1}, stale | T^k                        | T^k ... T^{k+1} | T^k     |
//! | 4 `deliver`        | T^{k+1}, stale | T^{k+1}, stale             | T^k ... T^{k+1} | T^{k+1} |
//! | 5 `carry messages` | T^{k+1}, stale | T^{k+1}, stale             | T^k ... T^{k+1} | T^{k+1} |
//! | 6 `evaluate`       | T^{k+1}, fresh | T^{k+1}, fresh             | T^k ... T^{k+1} | T^{k+1} |
//! | 7 `record defects` | unchanged      |                            |                 |         |
//!
//! Phases 2 to 5 are done stage by stage, 1, 6 and 7 once: in phase 2 of stage s, arrivals that left earlier stages are those of T^{k+1}
//! already. *Stale* outputs were computed with the predicted inputs at the end of the step, *fresh* ones with the inputs that have arrived
//! (these differ for outputs with feed-through only). `read_with` is the arrivals under fresh reading, and `applied` under stale reading. A
//! subsystem that advances every n-th step is n steps ahead after its phase 3, and takes no part until the others have reached that time.
//!
//! What a failed step leaves behind:
//!
//! | failure in            | subsystems                                       | outputs of stage s | arrivals that left stage s |
//! | --------------------- | ------------------------------------------------ | ------------------ | -------------------------- |
//! | judging of models, 1  | all at T^k                                       | T^k                | T^k                        |
//! | 2 of stage s          | earlier stages at T^{k+1}, the others at T^k     | T^k                | T^k                        |
//! | 3 of stage s          | the first [`Outcome::advanced`] anywhere from T^k to T^{k+1}, the others at T^k | from T^k to T^{k+1} | T^k |
//! | 4, 5 of stage s       | stages up to s at T^{k+1}, the others at T^k     | T^{k+1}, stale     | T^k (4), T^{k+1} (5)       |
//! | 6                     | all at T^{k+1}                                   | stale or fresh     | T^{k+1}, stale or fresh    |
//!
//! `advanced` says something only after a failure in phase 3, or after a subsystem has asked to end the run; it counts all members of a
//! stage. `early_end.rs` returns to T^k where that is possible; otherwise the run must be restored before it advances again.
//!
//! Nothing is allocated here. Members of a stage write to their own range of outputs only and are delivered in order, so the
//! result has the same bits on one thread or many.

use super::defects::Defects;
use super::executor::StageExecutor;
use super::stage::{Attempt, Outcome, Stage};
use super::step_start::StepStart;
use crate::error::Result;
use crate::network::{Network, prediction_failed};
use crate::run::config::Parallel;
use crate::signal::{Clock, Step};

/// Advances stage by stage, as most runs do. All other schemes are built on it.
pub(in crate::run) struct Staged {
    pub(in crate::run) stages: Vec<Stage>,
    pub(in crate::run) is_multi_rate: bool,
    pub(super) clock: Clock,
    pub(in crate::run) executor: StageExecutor,
    pub(in crate::run) defects: Defects,
    /// The state at the start of the current step, if it is kept.
    pub(in crate::run) step_start: StepStart,
    pub(in crate::run) outcome: Outcome,
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
            executor: StageExecutor::new(threads, clock, is_multi_rate),
            defects: Defects::new(inputs),
            step_start: StepStart::default(),
            outcome: Outcome::default(),
        }
    }

    /// From T^k to T^{k+1}.
    pub(super) fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.prepare(network, step)?;
        self.advance_all(network, &step, end)?;
        self.finish(network, end)
    }

    /// 1: what the coupling does before any subsystem advances.
    pub(super) fn prepare(&mut self, network: &mut Network, step: Step) -> Result<()> {
        let Network { coupling, graph, board, .. } = network;
        coupling.prepare(&board.view(graph, step)).map_err(|source| prediction_failed(step, source))
    }

    /// All stages, in sequence.
    pub(super) fn advance_all(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
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
        let Staged { stages, executor, outcome, .. } = self;
        executor.advance_stage(&mut stages[stage], network, step, attempt, outcome)?;
        self.deliver(network, stage, step, end, attempt)?;
        if attempt == Attempt::Final && !network.messages.is_empty() {
            network.carry_messages(self.stages[stage].members.clone(), end)?;
        }
        Ok(())
    }

    /// 6 and 7: all have advanced.
    pub(super) fn finish(&mut self, network: &mut Network, end: f64) -> Result<()> {
        self.outcome.advanced = network.slots.len();
        if network.is_evaluated() {
            network.evaluate(end)?;
            network.check_finite(0..network.graph.outputs(), end)?;
        }
        network.check_tables(end)?;
        match self.is_multi_rate {
            true => self.defects.record_due(network, end),
            false => self.defects.record_all(network.arrivals(), network.applied(), end),
        }
        Ok(())
    }

    /// 2: the coupling writes the inputs of a stage; earlier stages have advanced.
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
                let (view, mut out) = board.view_and_writer(graph, step);
                coupling.input(&view, &wired[from..to], &mut out)?;
            }
        } else if !wired.is_empty() {
            let (view, mut out) = board.view_and_writer(graph, *step);
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
        due.try_for_each(|slot| coupling.observe(&view, slot.id, &slot.samples))
    }
}

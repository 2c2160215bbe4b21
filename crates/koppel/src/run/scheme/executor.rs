//! Advances the members of a stage: in sequence, or in parallel where that saves time. It also measures the times of their steps.

use super::stage::{Attempt, Outcome, Stage};
use crate::error::Result;
use crate::network::{Network, Slot, has_ended};
use crate::run::config::Parallel;
use crate::signal::{Clock, Step};
use std::sync::Arc;

/// Steps that are all timed at the start, before deciding about threads.
const CALIBRATION: u64 = 16;
/// Later one step in this many is timed.
const TIMED: u64 = 1024;
/// Seconds a parallel stage must save to pay for waking the threads.
const WAKE_UP: f64 = 15e-6;

/// Advances stages, on threads if they save time.
pub(in crate::run) struct StageExecutor {
    threads: Parallel,
    /// Processors of this machine.
    cores: usize,
    pool: Option<Arc<rayon::ThreadPool>>,
    /// Of the run.
    clock: Clock,
    is_multi_rate: bool,
}

impl StageExecutor {
    pub(super) fn new(threads: Parallel, clock: Clock, is_multi_rate: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        StageExecutor { threads, cores, pool: None, clock, is_multi_rate }
    }

    /// The threads, once they are known to save time.
    pub(in crate::run) fn pool(&self) -> Option<&Arc<rayon::ThreadPool>> {
        self.pool.as_ref()
    }

    /// Advances the members of a stage over a step.
    pub(super) fn advance_stage(
        &mut self,
        stage: &mut Stage,
        network: &mut Network,
        step: &Step,
        attempt: Attempt,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let is_timed = is_timed(step.index);
        if is_timed {
            self.decide(stage, &network.slots, step.index);
        }
        let is_special = self.is_multi_rate || outcome.ended_member.is_some();
        if is_timed || stage.is_parallel || is_special {
            return self.advance_timed(stage, network, step, attempt, outcome);
        }
        let Network { slots, graph, board, .. } = network;
        let (plan, outputs) = (&board.predicted, board.outputs.as_mut_slice());
        for slot in &mut slots[stage.members.clone()] {
            if let Err(source) = slot.advance(graph, step, plan, &mut outputs[slot.outputs.clone()]) {
                outcome.fail((graph, slot, step), attempt, stage.members.end, source)?;
            }
        }
        Ok(())
    }

    /// The same with times measured, on threads, or with members that are not due.
    fn advance_timed(
        &self,
        stage: &Stage,
        network: &mut Network,
        step: &Step,
        attempt: Attempt,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Network { slots, graph, board, .. } = network;
        let (plan, ended_member) = (&board.predicted, outcome.ended_member.as_ref());
        let slots = &mut slots[stage.members.clone()];
        let outputs = &mut board.outputs[stage.outputs.clone()];
        let own = |slot: &Slot| match slot.every {
            1 => *step,
            every => self.clock.step(step.index, u64::from(every)),
        };
        // True if others may advance after it.
        let work = |slot: &mut Slot, outputs: &mut [f64]| {
            match ended_member {
                Some(ended) if ended.id == slot.id => outputs.copy_from_slice(&ended.outputs),
                _ if slot.is_due(step) => slot.advance_timed(graph, &own(slot), plan, outputs),
                _ => {}
            }
            attempt == Attempt::Trial
                || slot.failure.as_ref().is_none_or(|error| has_ended(error, &own(slot)))
        };
        match &self.pool {
            Some(pool) if stage.is_parallel => pool.install(|| in_parallel(slots, outputs, &work)),
            _ => in_sequence(slots, outputs, &work),
        }
        for slot in slots {
            if let Some(source) = slot.failure.take() {
                outcome.fail((graph, slot, &own(slot)), attempt, stage.members.end, source)?;
            }
        }
        Ok(())
    }

    /// A stage is parallel only if its measured step times show that this saves more than waking the threads costs.
    fn decide(&mut self, stage: &mut Stage, slots: &[Slot], index: u64) {
        let is_early = index <= CALIBRATION && index.is_power_of_two();
        if !(is_early || index.is_multiple_of(TIMED * 4)) {
            return;
        }
        let members = &slots[stage.members.clone()];
        stage.is_parallel = match self.threads {
            Parallel::Never => false,
            Parallel::Always => members.len() > 1,
            Parallel::Auto if index == 0 || self.cores < 2 => false,
            Parallel::Auto => {
                let sum: f64 = members.iter().map(Slot::seconds_per_step).sum();
                let longest = members.iter().map(Slot::seconds_per_step).fold(0.0, f64::max);
                sum - (sum / self.cores as f64).max(longest) > WAKE_UP
            }
        };
        if stage.is_parallel && self.pool.is_none() {
            self.pool = rayon::ThreadPoolBuilder::new().build().ok().map(Arc::new);
        }
    }
}

/// True if the times of the subsystems are measured in this macro step.
#[inline]
fn is_timed(index: u64) -> bool {
    index <= CALIBRATION || index.is_multiple_of(TIMED)
}

/// The first macro step from `index` on whose times are measured.
pub(super) fn next_timed(index: u64) -> u64 {
    if index <= CALIBRATION { index } else { index.next_multiple_of(TIMED) }
}

/// Stops at the first failure.
fn in_sequence(slots: &mut [Slot], outputs: &mut [f64], work: &impl Fn(&mut Slot, &mut [f64]) -> bool) {
    let mut rest = outputs;
    for slot in slots {
        let (mine, others) = rest.split_at_mut(slot.outputs.len());
        if !work(slot, mine) {
            return;
        }
        rest = others;
    }
}

/// Halves the list until single subsystems are left; each runs on a free thread.
fn in_parallel(
    slots: &mut [Slot],
    outputs: &mut [f64],
    work: &(impl Fn(&mut Slot, &mut [f64]) -> bool + Sync),
) {
    if slots.len() < 2 {
        in_sequence(slots, outputs, work);
        return;
    }
    let (left, right) = slots.split_at_mut(slots.len() / 2);
    let width = left.iter().map(|slot| slot.outputs.len()).sum();
    let (for_left, for_right) = outputs.split_at_mut(width);
    rayon::join(|| in_parallel(left, for_left, work), || in_parallel(right, for_right, work));
}

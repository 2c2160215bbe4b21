//! The members of a stage move: one by one, or in parallel where that pays. Beside the step, their times are taken.

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

/// Threads of a run.
pub(in crate::run) struct Crew {
    threads: Parallel,
    /// Processors of this machine.
    cores: usize,
    pool: Option<Arc<rayon::ThreadPool>>,
    /// Of the run.
    clock: Clock,
    is_multi_rate: bool,
}

impl Crew {
    pub(super) fn new(threads: Parallel, clock: Clock, is_multi_rate: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Crew { threads, cores, pool: None, clock, is_multi_rate }
    }

    /// The threads, once they are found to pay.
    pub(in crate::run) fn pool(&self) -> Option<&Arc<rayon::ThreadPool>> {
        self.pool.as_ref()
    }

    /// Members of a stage move over a step.
    pub(super) fn move_stage(
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
        let is_special = self.is_multi_rate || outcome.standing.is_some();
        if is_timed || stage.is_parallel || is_special {
            return self.move_watched(stage, network, step, attempt, outcome);
        }
        let Network { slots, graph, board, .. } = network;
        let (plan, outputs) = (&board.planned, board.outputs.as_mut_slice());
        for slot in &mut slots[stage.members.clone()] {
            if let Err(source) = slot.advance(graph, step, plan, &mut outputs[slot.outputs.clone()]) {
                outcome.fail((graph, slot, step), attempt, stage.members.end, source)?;
            }
        }
        Ok(())
    }

    /// The same with times taken, on threads, or with members that are not due.
    fn move_watched(
        &self,
        stage: &Stage,
        network: &mut Network,
        step: &Step,
        attempt: Attempt,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Network { slots, graph, board, .. } = network;
        let (plan, standing) = (&board.planned, outcome.standing.as_ref());
        let slots = &mut slots[stage.members.clone()];
        let outputs = &mut board.outputs[stage.outputs.clone()];
        let own = |slot: &Slot| match slot.every {
            1 => *step,
            every => self.clock.step(step.index, u64::from(every)),
        };
        // True if others may move after it.
        let work = |slot: &mut Slot, outputs: &mut [f64]| {
            match standing {
                Some(ended) if ended.id == slot.id => outputs.copy_from_slice(&ended.outputs),
                _ if slot.is_due(step) => slot.advance_timed(graph, &own(slot), plan, outputs),
                _ => {}
            }
            attempt == Attempt::Trial
                || slot.failure.as_ref().is_none_or(|error| has_ended(error, &own(slot)))
        };
        match &self.pool {
            Some(pool) if stage.is_parallel => pool.install(|| side_by_side(slots, outputs, &work)),
            _ => one_by_one(slots, outputs, &work),
        }
        for slot in slots {
            if let Some(source) = slot.failure.take() {
                outcome.fail((graph, slot, &own(slot)), attempt, stage.members.end, source)?;
            }
        }
        Ok(())
    }

    /// Side by side only where the measured step times say that it saves more than waking the threads costs.
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

/// True if the times of the subsystems are taken in this macro step.
#[inline]
fn is_timed(index: u64) -> bool {
    index <= CALIBRATION || index.is_multiple_of(TIMED)
}

/// The first macro step from `index` on of which that is true.
pub(super) fn next_timed(index: u64) -> u64 {
    if index <= CALIBRATION { index } else { index.next_multiple_of(TIMED) }
}

/// Until one fails.
fn one_by_one(slots: &mut [Slot], outputs: &mut [f64], work: &impl Fn(&mut Slot, &mut [f64]) -> bool) {
    let mut rest = outputs;
    for slot in slots {
        let (mine, others) = rest.split_at_mut(slot.outputs.len());
        if !work(slot, mine) {
            return;
        }
        rest = others;
    }
}

/// Halves the list until single subsystems are left, which run wherever a thread is free.
fn side_by_side(
    slots: &mut [Slot],
    outputs: &mut [f64],
    work: &(impl Fn(&mut Slot, &mut [f64]) -> bool + Sync),
) {
    if slots.len() < 2 {
        one_by_one(slots, outputs, work);
        return;
    }
    let (left, right) = slots.split_at_mut(slots.len() / 2);
    let width = left.iter().map(|slot| slot.outputs.len()).sum();
    let (for_left, for_right) = outputs.split_at_mut(width);
    rayon::join(|| side_by_side(left, for_left, work), || side_by_side(right, for_right, work));
}

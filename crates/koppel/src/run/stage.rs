//! The members of a stage move: one by one, or side by side where that pays.

use super::config::Parallel;
use super::failure::{ended_or_failed, has_ended, is_request};
use super::simulation::{Simulation, Stage};
use super::slot::Slot;
use crate::error::Result;
use crate::signal::Step;
use std::sync::Arc;

/// Steps that are all timed at the start, before deciding about threads.
const CALIBRATION: u64 = 16;
/// Later one step in this many is timed.
const TIMED: u64 = 1024;
/// Seconds a parallel stage must save to pay for waking the threads.
const WAKE_UP: f64 = 15e-6;

/// True if the times of the subsystems are taken in this macro step.
#[inline(always)]
pub(super) fn is_timed(index: u64) -> bool {
    index <= CALIBRATION || index.is_multiple_of(TIMED)
}

/// The first macro step from `index` on of which that is true.
pub(super) fn next_timed(index: u64) -> u64 {
    if index <= CALIBRATION { index } else { index.next_multiple_of(TIMED) }
}

impl Simulation {
    /// Members of a stage move, side by side where that pays.
    #[inline(always)]
    pub(super) fn move_stage<const PLAIN: bool>(&mut self, stage: usize, step: &Step) -> Result<()> {
        if !PLAIN {
            let is_timed = is_timed(step.index);
            if is_timed {
                self.decide_threads(stage, step.index);
            }
            let is_special = self.is_multi_rate || self.standing.is_some();
            if is_timed || self.stages[stage].is_parallel || is_special {
                return self.move_watched(stage, step);
            }
        }
        let is_iterated = !PLAIN && self.is_iterated(stage);
        let Simulation { slots, graph, board, termination, ended_trial, moved, .. } = self;
        let plan = &board.planned;
        let outputs = board.outputs.as_mut_slice();
        for slot in &mut slots[self.stages[stage].members.clone()] {
            let outputs = &mut outputs[slot.outputs.clone()];
            if let Err(source) = slot.advance(graph, step, plan, outputs) {
                match ended_or_failed(graph, slot, *step, source) {
                    Ok(request) => *termination = Some(request),
                    // A better guess may lead elsewhere.
                    Err(error) if is_iterated && is_request(&error) => *ended_trial = Some(error),
                    Err(error) => {
                        *moved = self.stages[stage].members.end;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// The same with times taken, on threads, or with members that are not due.
    fn move_watched(&mut self, stage: usize, step: &Step) -> Result<()> {
        let is_iterated = self.is_iterated(stage);
        let Simulation {
            slots, graph, board, clock, pool, termination, ended_trial, moved, standing, ..
        } = self;
        let Stage { members, outputs, is_parallel, .. } = &self.stages[stage];
        let (plan, standing) = (&board.planned, standing.as_ref());
        let slots = &mut slots[members.clone()];
        let outputs = &mut board.outputs[outputs.clone()];
        let own = |slot: &Slot| match slot.every {
            1 => *step,
            every => clock.step(step.index, u64::from(every)),
        };
        // True if others may move after it.
        let work = |slot: &mut Slot, outputs: &mut [f64]| {
            match standing {
                Some(ended) if ended.id == slot.id => outputs.copy_from_slice(&ended.outputs),
                _ if slot.is_due(step) => slot.advance_timed(graph, &own(slot), plan, outputs),
                _ => {}
            }
            is_iterated || slot.failure.as_ref().is_none_or(|error| has_ended(error, &own(slot)))
        };
        match pool {
            Some(pool) if *is_parallel => pool.install(|| side_by_side(slots, outputs, &work)),
            _ => one_by_one(slots, outputs, &work),
        }
        for slot in slots {
            if let Some(source) = slot.failure.take() {
                match ended_or_failed(graph, slot, own(slot), source) {
                    Ok(request) => *termination = Some(request),
                    Err(error) if is_iterated && is_request(&error) => *ended_trial = Some(error),
                    Err(error) => {
                        *moved = members.end;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Side by side only where the measured step times say that it saves more than waking the threads costs.
    fn decide_threads(&mut self, stage: usize, index: u64) {
        let is_early = index <= CALIBRATION && index.is_power_of_two();
        if !(is_early || index.is_multiple_of(TIMED * 4)) {
            return;
        }
        let members = &self.slots[self.stages[stage].members.clone()];
        let is_parallel = match self.threads {
            Parallel::Never => false,
            Parallel::Always => members.len() > 1,
            Parallel::Auto if index == 0 || self.cores < 2 => false,
            Parallel::Auto => {
                let sum: f64 = members.iter().map(Slot::seconds_per_step).sum();
                let longest = members.iter().map(Slot::seconds_per_step).fold(0.0, f64::max);
                sum - (sum / self.cores as f64).max(longest) > WAKE_UP
            }
        };
        self.stages[stage].is_parallel = is_parallel;
        if is_parallel && self.pool.is_none() {
            self.pool = rayon::ThreadPoolBuilder::new().build().ok().map(Arc::new);
        }
    }
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

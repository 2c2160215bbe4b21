//! The fast path of the macro step: predict, advance, deliver.
//!
//! Most steps of most runs are plain: outputs are not read again, one rate, no messages, no tables, and the coupling wants neither
//! models nor samples. Such a step gives the same bits as `staged.rs`, without the phases that do not occur:
//!
//! ```text
//! for each stage:
//!     predict     the coupling writes the inputs, or they are held
//!     advance     outputs of T^{k+1}
//!     deliver     arrivals and applied inputs belong to T^{k+1}
//! record defects  differences between inputs and what is connected to them
//! ```
//!
//! If in addition all inputs are held, all subsystems advance in parallel and every input has one wire, [`Plain::held_steps`] takes
//! many steps in one loop that does little more than one written by hand: a step of a cheap black box takes less time than the general
//! loop around it. What has arrived becomes what was applied by swapping the two arrays; inputs that are not connected have the same
//! value in both, which never changes here. `predicted` and the times of arrivals are written after the last of these steps.
//!
//! Steps whose times are measured, and all steps once threads are used, are left to `staged.rs`. After a failure, subsystems, outputs and
//! arrivals are as described there. `predicted` is not after [`Plain::held_steps`]: it has the inputs of the last completed step, not those
//! of the failed one.

use super::executor::next_timed;
use super::scheme::Scheme;
use super::stage::{Attempt, Stage};
use super::staged::Staged;
use crate::coupling::{Needs, Work};
use crate::error::Result;
use crate::network::{Board, Network, first_non_finite, non_finite};
use crate::signal::{Samples, Segment, Step, copy};

/// A staged scheme with a fast path.
pub(super) struct Plain {
    staged: Staged,
    /// True if [`Plain::held_steps`] can take the steps.
    is_held: bool,
}

/// True if neither the network nor its coupling wants anything beside the exchange of values.
pub(super) fn is_plain(staged: &Staged, network: &Network) -> bool {
    let Needs { samples, models, work, small_steps, .. } = network.needs;
    let is_coupling_plain =
        samples.is_none() && models.is_none() && work != Work::Prepare && small_steps.is_none();
    is_coupling_plain
        && !network.is_evaluated()
        && !staged.is_multi_rate
        && network.messages.is_empty()
        && network.graph.maps().is_empty()
        && network.wide.is_empty()
}

/// True if the network and the coupling are as [`Plain::held_steps`] wants them.
fn is_held(staged: &Staged, network: &Network) -> bool {
    let [Stage { wired, deliveries, .. }] = &staged.stages[..] else { return false };
    let board = &network.board;
    wired.is_empty()
        && deliveries.are_single()
        && network.graph.externals().is_empty()
        && board.predicted.terms() * board.predicted.pieces() == 1
        && board.history.depth() == 1
        && board.read_stale.is_empty()
}

impl Plain {
    pub(super) fn new(staged: Staged, network: &Network) -> Self {
        let is_held = is_held(&staged, network);
        Plain { staged, is_held }
    }

    /// One plain step.
    #[inline(always)]
    fn plain_step(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
        let Staged { stages, defects, step_start, outcome, .. } = &mut self.staged;
        let Network { coupling, graph, board, slots, .. } = network;
        step_start.keep_outputs(&board.outputs);
        for Stage { members, inputs, wired, held, outputs, deliveries, .. } in stages {
            if !wired.is_empty() {
                let (view, mut out) = board.view_and_writer(graph, *step);
                coupling.input(&view, wired, &mut out)?;
            }
            board.hold(held);
            let Board { predicted, outputs: values, .. } = &mut *board;
            for slot in &mut slots[members.clone()] {
                if let Err(source) = slot.advance(graph, step, predicted, &mut values[slot.outputs.clone()]) {
                    outcome.fail((graph, slot, step), Attempt::Final, members.end, source)?;
                }
            }
            if let Some(output) = board.non_finite(outputs.clone()) {
                return Err(non_finite(graph, &board.outputs, output, end));
            }
            board.note_applied(inputs.clone(), step.size);
            board.deliver(graph, members.clone(), deliveries, end);
        }
        outcome.advanced = slots.len();
        defects.record_all(board.history.arrivals(), &board.applied, end);
        Ok(())
    }

    /// Steps of the simplest form until `stop` of them are done.
    #[inline(always)]
    fn held_steps(&mut self, network: &mut Network, index: &mut u64, mut stop: u64) -> Result<()> {
        let Staged { stages, defects, step_start, outcome, clock, .. } = &mut self.staged;
        let Network { graph, slots, board, .. } = network;
        let [Stage { deliveries, members, .. }] = &stages[..] else { return Ok(()) };
        let Board { history, applied, outputs, .. } = board;
        let (wires, outputs, mut recorder) = (deliveries.wires(), &mut outputs[..], defects.recorder());
        let (newest, arrivals) = history.newest_and_arrivals();
        let (mut arrived, mut given) = (&mut arrivals[..], &mut applied[..]);
        let mut step = Step { index: *index, start: clock.time(*index), size: clock.size() };
        let mut nothing = Samples::default();
        let done = 'steps: loop {
            if step.index >= stop {
                break Ok(());
            }
            step_start.keep_outputs(outputs);
            let (mut inputs, mut rest) = (&*arrived, &mut *outputs);
            let mut segment = Segment::held(&step, &[]);
            for slot in slots.iter_mut() {
                let (ours, mine);
                (ours, inputs) = inputs.split_at(slot.inputs.end - slot.inputs.start);
                (mine, rest) = rest.split_at_mut(slot.outputs.end - slot.outputs.start);
                segment.hold(ours);
                if let Err(source) = slot.subsystem.step(&step, &segment, mine, &mut nothing) {
                    match outcome.fail((graph, slot, &step), Attempt::Final, members.end, source) {
                        Ok(()) => stop = step.index + 1,
                        failed => break 'steps failed,
                    }
                }
            }
            let end = clock.on_grid(step.index + 1);
            if let Some(output) = first_non_finite(outputs) {
                break Err(non_finite(graph, outputs, output, end));
            }
            std::mem::swap(&mut arrived, &mut given);
            for (wire, newest) in wires.iter().zip(&mut *newest) {
                let (input, value) = (wire.target as usize, wire.gain * outputs[wire.source as usize]);
                let arrival = value + wire.offset;
                (*newest, arrived[input]) = (value, arrival);
                recorder.compare(input, arrival, given[input], end);
            }
            (step.index, step.start) = (step.index + 1, end);
        };
        let is_odd = (step.index - *index) % 2 == 1;
        if is_odd {
            std::mem::swap(arrivals, applied);
        }
        *index = step.index;
        copy(&board.applied, &mut board.predicted.coefficients);
        board.history.reach(clock.time(*index));
        done
    }
}

impl Scheme for Plain {
    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.staged.advance(network, step, end)
    }

    fn staged(&self) -> &Staged {
        &self.staged
    }

    fn staged_mut(&mut self) -> &mut Staged {
        &mut self.staged
    }

    fn plain_until(&self, index: u64) -> u64 {
        if self.staged.executor.pool().is_some() { 0 } else { next_timed(index) }
    }

    fn plain_steps(&mut self, network: &mut Network, index: &mut u64, stop: u64) -> Result<()> {
        if self.is_held && self.staged.step_start.needs_only_outputs() {
            self.staged.step_start.forget_states();
            return self.held_steps(network, index, stop);
        }
        while *index < stop {
            let clock = self.staged.clock;
            self.keep_states(network);
            self.plain_step(network, &clock.step(*index, 1), clock.time(*index + 1))?;
            *index += 1;
            if self.staged.outcome.termination.is_some() {
                break;
            }
        }
        Ok(())
    }
}

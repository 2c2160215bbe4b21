//! The macro step at its simplest: inputs keep what has arrived, all subsystems move at once, every input has one wire.
//!
//! The same as in `simulation.rs`, number for number, without what does not occur here:
//!
//! ```text
//! for each subsystem: step                    what has arrived in, outputs out
//! deliver                                     what arrives is compared with what was given
//! ```
//!
//! Cheap black boxes take less time for a step than a careful loop spends around it: in this form the loop is hardly more
//! than one written by hand would be. What has arrived becomes what was given by changing places with it; inputs that are
//! not connected have the same value in both, which never changes here.

use super::board::{Board, first_non_finite};
use super::failure::{ended_or_failed, non_finite};
use super::retreat::LastPoint;
use super::simulation::{Simulation, Stage};
use crate::error::Result;
use crate::signal::{Samples, Segment, Step, copy};

impl Simulation {
    /// True if the system and the coupling are as this file wants them.
    pub(super) fn is_simple(&self) -> bool {
        let [Stage { wired, deliveries, .. }] = &self.stages[..] else { return false };
        let is_one_number = self.board.planned.terms() * self.board.planned.pieces() == 1;
        wired.is_empty()
            && deliveries.are_single()
            && self.graph.externals().is_empty()
            && is_one_number
            && self.board.history.depth() == 1
            && self.board.read_stale.is_empty()
    }

    /// Takes macro steps until `stop` of them are done.
    #[inline(always)]
    pub(super) fn advance_simply(&mut self, stop: u64) -> Result<()> {
        self.forget_begin();
        let done = self.take_simple_steps(stop);
        // Nobody asks for these in between.
        let Simulation { board, clock, index, .. } = self;
        copy(&board.applied, &mut board.planned.coefficients);
        board.history.reach(clock.time(*index));
        done
    }

    #[inline(always)]
    fn take_simple_steps(&mut self, mut stop: u64) -> Result<()> {
        let Simulation {
            graph,
            slots,
            stages,
            board,
            extremes,
            clock,
            index,
            termination,
            moved,
            last_point,
            ..
        } = self;
        let [Stage { deliveries, .. }] = &stages[..] else { return Ok(()) };
        let Board { history, applied, outputs, .. } = board;
        let (wires, outputs, mut notes) = (deliveries.wires(), &mut outputs[..], extremes.notes());
        let (newest, arrivals) = history.newest_and_arrivals();
        let (mut arrived, mut given) = (&mut arrivals[..], &mut applied[..]);
        let mut step = Step { index: *index, start: clock.time(*index), size: clock.size() };
        let mut nothing = Samples::default();
        let done = 'steps: loop {
            if step.index >= stop {
                break Ok(());
            }
            if let LastPoint::Outputs(kept) = last_point {
                copy(outputs, kept);
            }
            let (mut inputs, mut rest) = (&*arrived, &mut *outputs);
            let mut segment = Segment::held(&step, &[]);
            for slot in slots.iter_mut() {
                let (ours, mine);
                (ours, inputs) = inputs.split_at(slot.inputs.end - slot.inputs.start);
                (mine, rest) = rest.split_at_mut(slot.outputs.end - slot.outputs.start);
                segment.hold(ours);
                if let Err(source) = slot.subsystem.step(&step, &segment, mine, &mut nothing) {
                    match ended_or_failed(graph, slot, step, source) {
                        Ok(request) => (*termination, stop) = (Some(request), step.index + 1),
                        Err(error) => {
                            *moved = stages[0].members.end;
                            break 'steps Err(error);
                        }
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
                notes.compare(input, arrival, given[input], end);
            }
            (step.index, step.start) = (step.index + 1, end);
        };
        let is_odd = (step.index - *index) % 2 == 1;
        if is_odd {
            std::mem::swap(arrivals, applied);
        }
        *index = step.index;
        done
    }
}

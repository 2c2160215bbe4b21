//! The macro step at its simplest: inputs keep what has arrived, all subsystems move at once, every input has one wire.
//!
//! The same as in `simulation.rs`, number for number, without what does not occur here:
//!
//! ```text
//! for each subsystem: step_held               what has arrived in, outputs out
//! deliver                                     what arrives is compared with what was given
//! ```
//!
//! Cheap black boxes take less time for a step than a careful loop spends around it: in this form the loop is hardly more
//! than one written by hand would be. What has arrived becomes what was given by changing places with it; inputs that are
//! not connected have the same value in both, which never changes here.

use super::board::Board;
use super::failure::{failed, non_finite};
use super::simulation::{Simulation, Stage};
use crate::error::Result;
use crate::signal::{Step, copy};

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
        let done = self.take_simple_steps(stop);
        // Nobody asks for these in between.
        let Simulation { board, clock, index, .. } = self;
        copy(&board.applied, &mut board.planned.coefficients);
        board.history.reach(clock.time(*index));
        done
    }

    #[inline(always)]
    fn take_simple_steps(&mut self, stop: u64) -> Result<()> {
        let Simulation { graph, slots, stages, board, extremes, clock, index, .. } = self;
        let [Stage { deliveries, .. }] = &stages[..] else { return Ok(()) };
        let (mut start, size) = (clock.time(*index), clock.size());
        while *index < stop {
            let step = Step { index: *index, start, size };
            let (mut inputs, mut outputs) = (board.history.arrivals(), &mut board.outputs[..]);
            for slot in slots.iter_mut() {
                let (given, told);
                (given, inputs) = inputs.split_at(slot.inputs.end - slot.inputs.start);
                (told, outputs) = outputs.split_at_mut(slot.outputs.end - slot.outputs.start);
                if let Err(source) = slot.subsystem.step_held(&step, given, told) {
                    return Err(failed(graph, slot, step, source));
                }
            }
            let end = clock.on_grid(*index + 1);
            if let Some(output) = board.non_finite(0..board.outputs.len()) {
                return Err(non_finite(graph, board, output, end));
            }
            let Board { history, applied, outputs, .. } = board;
            history.exchange_arrivals(applied);
            history.arrive(deliveries.wires(), outputs, |input, arrival| {
                extremes.note_one(input, arrival, applied[input], end);
            });
            start = end;
            *index += 1;
        }
        Ok(())
    }
}

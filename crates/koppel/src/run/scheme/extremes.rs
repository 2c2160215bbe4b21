//! How far each input was, at the end of its step, from what it should have been.

use crate::network::Network;
use std::ops::Range;

/// Inputs that are compared together.
const BLOCK: usize = 8;

/// Running extremes of a block of inputs.
#[derive(Clone, Debug)]
struct Block {
    largest: [f64; BLOCK],
    low: [f64; BLOCK],
    high: [f64; BLOCK],
    time: [f64; BLOCK],
}

impl Block {
    const NEW: Block = Block {
        largest: [0.0; BLOCK],
        low: [f64::INFINITY; BLOCK],
        high: [f64::NEG_INFINITY; BLOCK],
        time: [0.0; BLOCK],
    };

    /// True if one of these inputs has a new extreme. Without early exit, so that a full block is a few vector instructions.
    #[inline(always)]
    fn is_new(&self, values: &[f64], given: &[f64]) -> bool {
        let known = self.largest.iter().zip(&self.low).zip(&self.high);
        values.iter().zip(given).zip(known).fold(false, |any, ((value, given), ((largest, low), high))| {
            any | ((value - given).abs() > *largest) | (value < low) | (value > high)
        })
    }

    fn note(&mut self, i: usize, value: f64, given: f64, end: f64) {
        self.low[i] = self.low[i].min(value);
        self.high[i] = self.high[i].max(value);
        let error = (value - given).abs();
        if error > self.largest[i] {
            self.largest[i] = error;
            self.time[i] = end;
        }
    }
}

/// Running extremes of all inputs.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Extremes {
    blocks: Vec<Block>,
}

impl Extremes {
    pub(in crate::run) fn new(inputs: usize) -> Self {
        Extremes { blocks: vec![Block::NEW; inputs.div_ceil(BLOCK)] }
    }

    /// Notes that all inputs should have been `arrivals` at `end`, and were `applied`.
    ///
    /// New extremes are rare: a block of inputs at a time is only compared, and looked at one by one when one of them has a
    /// new extreme.
    #[inline(always)]
    pub(super) fn note_all(&mut self, arrivals: &[f64], applied: &[f64], end: f64) {
        let mut blocks = self.blocks.iter_mut();
        let (values, last_values) = arrivals.as_chunks::<BLOCK>();
        let (given, last_given) = applied[..arrivals.len()].as_chunks::<BLOCK>();
        for ((values, given), block) in values.iter().zip(given).zip(&mut blocks) {
            if block.is_new(values, given) {
                note_each(block, values, given, end);
            }
        }
        if let Some(block) = blocks.next()
            && block.is_new(last_values, last_given)
        {
            note_each(block, last_values, last_given, end);
        }
    }

    /// For the same input by input.
    #[inline(always)]
    pub(in crate::run) fn notes(&mut self) -> Notes<'_> {
        Notes { blocks: &mut self.blocks }
    }

    /// The same for the inputs of those that have come to `end`.
    pub(super) fn note_due(&mut self, network: &Network, end: f64) {
        for slot in network.slots.iter().filter(|slot| network.board.history.reached(slot.id) == end) {
            self.note_some(slot.inputs.clone(), network.arrivals(), network.applied(), end);
        }
    }

    fn note_some(&mut self, inputs: Range<usize>, arrivals: &[f64], applied: &[f64], end: f64) {
        inputs.for_each(|i| self.blocks[i / BLOCK].note(i % BLOCK, arrivals[i], applied[i], end));
    }

    /// The largest difference at one input, when that was, and the range of what has arrived there.
    pub(in crate::run) fn of(&self, input: usize) -> (f64, f64, f64) {
        let (block, i) = (&self.blocks[input / BLOCK], input % BLOCK);
        (block.largest[i], block.time[i], (block.high[i] - block.low[i]).max(0.0))
    }
}

/// [`Extremes`], open for notes.
pub(in crate::run) struct Notes<'a> {
    blocks: &'a mut [Block],
}

impl Notes<'_> {
    /// Notes that an input should have been `value` at `end`, and was `given`.
    #[inline(always)]
    pub(in crate::run) fn compare(&mut self, input: usize, value: f64, given: f64, end: f64) {
        let (block, i) = (&mut self.blocks[input / BLOCK], input % BLOCK);
        if (value - given).abs() > block.largest[i] || value < block.low[i] || value > block.high[i] {
            note_new(block, i, (value, given), end);
        }
    }
}

#[inline(never)]
fn note_new(block: &mut Block, i: usize, (value, given): (f64, f64), end: f64) {
    block.note(i, value, given, end);
}

#[inline(never)]
fn note_each(block: &mut Block, values: &[f64], given: &[f64], end: f64) {
    values.iter().zip(given).enumerate().for_each(|(i, (value, given))| block.note(i, *value, *given, end));
}

//! Defects: differences at the end of a step between each input and what is connected to it. Only the largest are kept.

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

    fn record(&mut self, i: usize, value: f64, given: f64, end: f64) {
        self.low[i] = self.low[i].min(value);
        self.high[i] = self.high[i].max(value);
        let error = (value - given).abs();
        if error > self.largest[i] {
            self.largest[i] = error;
            self.time[i] = end;
        }
    }
}

/// The largest defect of each input so far, and the range of the values that arrived there.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Defects {
    blocks: Vec<Block>,
}

impl Defects {
    pub(in crate::run) fn new(inputs: usize) -> Self {
        Defects { blocks: vec![Block::NEW; inputs.div_ceil(BLOCK)] }
    }

    /// Records that all inputs should have been `arrivals` at `end`, and were `applied`.
    ///
    /// New extremes are rare: a block of inputs is compared as a whole, and one by one only if one of them has a new extreme.
    #[inline(always)]
    pub(super) fn record_all(&mut self, arrivals: &[f64], applied: &[f64], end: f64) {
        let mut blocks = self.blocks.iter_mut();
        let (values, last_values) = arrivals.as_chunks::<BLOCK>();
        let (given, last_given) = applied[..arrivals.len()].as_chunks::<BLOCK>();
        for ((values, given), block) in values.iter().zip(given).zip(&mut blocks) {
            if block.is_new(values, given) {
                record_each(block, values, given, end);
            }
        }
        if let Some(block) = blocks.next()
            && block.is_new(last_values, last_given)
        {
            record_each(block, last_values, last_given, end);
        }
    }

    /// Records the same, input by input.
    #[inline(always)]
    pub(in crate::run) fn recorder(&mut self) -> DefectRecorder<'_> {
        DefectRecorder { blocks: &mut self.blocks }
    }

    /// The same for the inputs of subsystems that have reached `end`.
    pub(super) fn record_due(&mut self, network: &Network, end: f64) {
        for slot in network.slots.iter().filter(|slot| network.board.history.reached(slot.id) == end) {
            self.record_some(slot.inputs.clone(), network.arrivals(), network.applied(), end);
        }
    }

    fn record_some(&mut self, inputs: Range<usize>, arrivals: &[f64], applied: &[f64], end: f64) {
        inputs.for_each(|i| self.blocks[i / BLOCK].record(i % BLOCK, arrivals[i], applied[i], end));
    }

    /// The largest defect of one input, its time, and the range of the values that arrived there.
    pub(in crate::run) fn of(&self, input: usize) -> (f64, f64, f64) {
        let (block, i) = (&self.blocks[input / BLOCK], input % BLOCK);
        (block.largest[i], block.time[i], (block.high[i] - block.low[i]).max(0.0))
    }
}

/// Records defects input by input, see [`Defects::recorder`].
pub(in crate::run) struct DefectRecorder<'a> {
    blocks: &'a mut [Block],
}

impl DefectRecorder<'_> {
    /// Records that an input should have been `value` at `end`, and was `given`.
    #[inline(always)]
    pub(in crate::run) fn compare(&mut self, input: usize, value: f64, given: f64, end: f64) {
        let (block, i) = (&mut self.blocks[input / BLOCK], input % BLOCK);
        if (value - given).abs() > block.largest[i] || value < block.low[i] || value > block.high[i] {
            record_new(block, i, (value, given), end);
        }
    }
}

#[inline(never)]
fn record_new(block: &mut Block, i: usize, (value, given): (f64, f64), end: f64) {
    block.record(i, value, given, end);
}

#[inline(never)]
fn record_each(block: &mut Block, values: &[f64], given: &[f64], end: f64) {
    values.iter().zip(given).enumerate().for_each(|(i, (value, given))| block.record(i, *value, *given, end));
}

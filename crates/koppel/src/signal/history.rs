//! Values that arrived at the inputs, with their times.
//!
//! Every wire (one source output, one input) keeps its newest `depth` values, newest first; gain and unit are already
//! applied. All outputs of a subsystem arrive together, so times are kept per subsystem. The newest value of each input,
//! the sum over its wires and its offset, is kept too, because that is what most couplings ask for.

use crate::tape::Tape;
use std::ops::Range;

/// The newest arrivals on every wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    depth: usize,
    values: Vec<f64>,
    times: Vec<f64>,
    counts: Vec<u32>,
    arrivals: Vec<f64>,
}

/// What an output becomes on one wire.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Place in the list of outputs.
    pub source: u32,
    /// The wire.
    pub wire: u32,
    /// The input at its end.
    pub target: u32,
    /// Factor.
    pub gain: f64,
    /// Offset of the input.
    pub offset: f64,
}

impl History {
    /// Room for `depth` arrivals on each wire and from each subsystem.
    pub fn new(inputs: usize, wires: usize, subsystems: usize, depth: usize) -> Self {
        History {
            depth,
            values: vec![0.0; wires * depth],
            times: vec![f64::NAN; subsystems * depth],
            counts: vec![0; subsystems],
            arrivals: vec![0.0; inputs],
        }
    }

    /// How many arrivals are kept of each wire.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Arrivals on a wire, newest first.
    #[inline]
    pub fn values(&self, wire: usize) -> &[f64] {
        &self.values[wire * self.depth..][..self.depth]
    }

    /// The newest arrival on a wire.
    #[inline]
    pub fn newest(&self, wire: usize) -> f64 {
        self.values[wire * self.depth]
    }

    /// The newest value of each input: the sum over its wires and its offset.
    #[inline]
    pub fn arrivals(&self) -> &[f64] {
        &self.arrivals
    }

    /// Changes the newest value of an input.
    #[inline]
    pub fn set_arrival(&mut self, input: usize, value: f64) {
        self.arrivals[input] = value;
    }

    /// Times of the arrivals from a subsystem, newest first.
    #[inline]
    pub fn times(&self, subsystem: usize) -> &[f64] {
        &self.times[subsystem * self.depth..][..self.depth]
    }

    /// The communication point up to which a subsystem has been heard of.
    #[inline]
    pub fn reached(&self, subsystem: usize) -> f64 {
        self.times[subsystem * self.depth]
    }

    /// How many of the kept arrivals from a subsystem are real (the rest is assumed past).
    #[inline]
    pub fn count(&self, subsystem: usize) -> usize {
        self.counts[subsystem] as usize
    }

    /// New arrivals from some subsystems at `time`; the values follow with [`History::push`] for each wire.
    #[inline(always)]
    pub fn open(&mut self, subsystems: Range<usize>, time: f64) {
        if self.depth > 1 {
            return self.open_deep(subsystems, time);
        }
        let times = self.times[subsystems.clone()].iter_mut();
        times.zip(&mut self.counts[subsystems]).for_each(|(newest, count)| (*newest, *count) = (time, 1));
    }

    fn open_deep(&mut self, subsystems: Range<usize>, time: f64) {
        let times = &mut self.times[subsystems.start * self.depth..subsystems.end * self.depth];
        for times in times.chunks_exact_mut(self.depth) {
            push_front(times, time);
        }
        for count in &mut self.counts[subsystems] {
            *count = (*count + 1).min(self.depth as u32);
        }
    }

    /// Adds one value per wire, from `outputs`, to arrivals that have been opened.
    #[inline(always)]
    pub fn push_all(&mut self, deliveries: &[Delivery], outputs: &[f64]) {
        let (values, arrivals) = (self.values.as_mut_slice(), self.arrivals.as_mut_slice());
        if self.depth == 1 {
            for delivery in deliveries {
                let value = delivery.gain * outputs[delivery.source as usize];
                values[delivery.wire as usize] = value;
                arrivals[delivery.target as usize] = value + delivery.offset;
            }
        } else {
            self.push_all_deep(deliveries, outputs);
        }
    }

    /// The newest value of each wire, and what has arrived at each input. For histories of depth 1; the time is given by
    /// [`History::reach`].
    pub(crate) fn newest_and_arrivals(&mut self) -> (&mut [f64], &mut Vec<f64>) {
        (&mut self.values, &mut self.arrivals)
    }

    /// All subsystems have been heard of at `time`.
    #[inline]
    pub(crate) fn reach(&mut self, time: f64) {
        self.times.fill(time);
    }

    fn push_all_deep(&mut self, deliveries: &[Delivery], outputs: &[f64]) {
        for delivery in deliveries {
            let value = delivery.gain * outputs[delivery.source as usize];
            self.push(delivery.wire as usize, value);
            self.arrivals[delivery.target as usize] = value + delivery.offset;
        }
    }

    /// Adds a value as the newest of a wire.
    #[inline]
    pub fn push(&mut self, wire: usize, value: f64) {
        push_front(&mut self.values[wire * self.depth..][..self.depth], value);
    }

    /// Replaces the newest value of a wire.
    #[inline]
    pub fn replace(&mut self, wire: usize, value: f64) {
        self.values[wire * self.depth] = value;
    }

    /// Fills the past of every wire with its newest value, at times `size` apart: a constant past.
    pub fn assume_constant_past(&mut self, size: f64) {
        for times in self.times.chunks_exact_mut(self.depth) {
            for j in 1..times.len() {
                times[j] = times[0] - j as f64 * size;
            }
        }
        for values in self.values.chunks_exact_mut(self.depth) {
            let newest = values[0];
            values[1..].fill(newest);
        }
        self.counts.fill(self.depth as u32);
    }

    /// Forgets the past of a subsystem whose outputs have jumped: what came before says nothing of what follows.
    pub fn restart(&mut self, subsystem: usize) {
        self.counts[subsystem] = 1;
    }

    /// Shows `tape` everything.
    pub fn state(&mut self, tape: &mut Tape<'_>) {
        tape.values(&mut self.values);
        tape.numbers(&mut self.times);
        tape.values(&mut self.arrivals);
        let depth = self.depth as u64;
        self.counts.iter_mut().for_each(|count| tape.count_to(count, depth));
    }
}

/// Makes `value` the first and drops the last; lists are too short for a call of memmove to pay.
#[inline]
fn push_front(list: &mut [f64], mut value: f64) {
    if let [only] = list {
        *only = value;
        return;
    }
    for slot in list {
        value = std::mem::replace(slot, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::StateData;

    #[test]
    fn newest_first() {
        let mut history = History::new(1, 1, 1, 3);
        for (k, value) in [10.0, 11.0, 12.0, 13.0].into_iter().enumerate() {
            history.open(0..1, k as f64);
            history.push(0, value);
        }
        history.replace(0, 14.0);
        assert_eq!(history.values(0), [14.0, 12.0, 11.0]);
        assert_eq!(history.times(0), [3.0, 2.0, 1.0]);
        assert_eq!(history.count(0), 3);
    }

    #[test]
    fn saved_and_restored_is_equal() {
        let mut history = History::new(2, 2, 1, 2);
        history.open(0..1, 0.5);
        history.open(0..1, 1.5);
        history.push(0, 1.0);
        history.push(1, 2.0);
        history.set_arrival(1, 2.0);
        let mut saved = StateData::default();
        history.state(&mut Tape::write(&mut saved));
        let mut other = History::new(2, 2, 1, 2);
        let mut tape = Tape::read(&saved);
        other.state(&mut tape);
        assert!(tape.is_at_end());
        assert_eq!(other, history);
    }
}

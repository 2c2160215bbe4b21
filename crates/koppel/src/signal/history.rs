//! Values that arrived at the inputs, with their times.
//!
//! Every wire (one source output, one input) keeps its newest `depth` values, newest first; gain and unit are already
//! applied. All outputs of a subsystem arrive together, so times are kept per subsystem. The newest sum over the wires of
//! an input is kept too, because that is what most couplings ask for.

/// The newest arrivals on every wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    depth: usize,
    values: Vec<f64>,
    times: Vec<f64>,
    counts: Vec<u32>,
    sums: Vec<f64>,
}

impl History {
    /// Room for `depth` arrivals on each wire and from each subsystem.
    pub fn new(inputs: usize, wires: usize, subsystems: usize, depth: usize) -> Self {
        History {
            depth,
            sums: vec![0.0; inputs],
            values: vec![0.0; wires * depth],
            times: vec![0.0; subsystems * depth],
            counts: vec![0; subsystems],
        }
    }

    /// How many arrivals are kept.
    pub fn depth(&self) -> usize {
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

    /// The newest sum over the wires of an input, without its offset.
    #[inline]
    pub fn sum(&self, input: usize) -> f64 {
        self.sums[input]
    }

    /// All sums.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Changes the sum of an input.
    #[inline]
    pub fn set_sum(&mut self, input: usize, sum: f64) {
        self.sums[input] = sum;
    }

    /// Times of the arrivals from a subsystem, newest first.
    #[inline]
    pub fn times(&self, subsystem: usize) -> &[f64] {
        &self.times[subsystem * self.depth..][..self.depth]
    }

    /// How many of the kept arrivals from a subsystem are real (the rest is assumed past).
    #[inline]
    pub fn count(&self, subsystem: usize) -> usize {
        self.counts[subsystem] as usize
    }

    /// Opens a new arrival from `subsystem` at `time`; the values follow with [`History::set`] after
    /// [`History::shift`] of each wire. Returns false if there is an arrival of that time already, to be replaced.
    #[inline]
    pub fn open(&mut self, subsystem: usize, time: f64) -> bool {
        let times = &mut self.times[subsystem * self.depth..][..self.depth];
        let count = &mut self.counts[subsystem];
        if *count > 0 && times[0] == time {
            return false;
        }
        push_front(times, time);
        *count = (*count + 1).min(self.depth as u32);
        true
    }

    /// Adds a value as the newest of a wire.
    #[inline]
    pub fn shift(&mut self, wire: usize, value: f64) {
        if self.depth == 1 {
            self.values[wire] = value;
        } else {
            push_front(&mut self.values[wire * self.depth..][..self.depth], value);
        }
    }

    /// Replaces the newest value of a wire.
    #[inline]
    pub fn set(&mut self, wire: usize, value: f64) {
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

    /// Appends everything to `out`.
    pub fn save(&self, out: &mut Vec<f64>) {
        out.extend_from_slice(&self.values);
        out.extend_from_slice(&self.times);
        out.extend_from_slice(&self.sums);
        out.extend(self.counts.iter().map(|c| f64::from(*c)));
    }

    /// Takes back what [`History::save`] wrote and returns the rest.
    pub fn restore<'a>(&mut self, saved: &'a [f64]) -> &'a [f64] {
        let (values, rest) = saved.split_at(self.values.len());
        let (times, rest) = rest.split_at(self.times.len());
        let (sums, rest) = rest.split_at(self.sums.len());
        let (counts, rest) = rest.split_at(self.counts.len());
        self.sums.copy_from_slice(sums);
        self.values.copy_from_slice(values);
        self.times.copy_from_slice(times);
        for (count, saved) in self.counts.iter_mut().zip(counts) {
            *count = *saved as u32;
        }
        rest
    }
}

/// Makes `value` the first and drops the last; lists are too short for a call of memmove to pay.
#[inline]
fn push_front(list: &mut [f64], mut value: f64) {
    for slot in list {
        value = std::mem::replace(slot, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first_and_equal_times_replace() {
        let mut history = History::new(1, 1, 1, 3);
        for (k, value) in [10.0, 11.0, 12.0, 13.0].into_iter().enumerate() {
            assert!(history.open(0, k as f64));
            history.shift(0, value);
        }
        assert!(!history.open(0, 3.0));
        history.set(0, 14.0);
        assert_eq!(history.values(0), [14.0, 12.0, 11.0]);
        assert_eq!(history.times(0), [3.0, 2.0, 1.0]);
        assert_eq!(history.count(0), 3);
    }

    #[test]
    fn saved_and_restored_is_equal() {
        let mut history = History::new(2, 2, 1, 2);
        history.open(0, 0.5);
        history.shift(0, 1.0);
        history.shift(1, 2.0);
        let mut saved = Vec::new();
        history.save(&mut saved);
        let mut other = History::new(2, 2, 1, 2);
        assert!(other.restore(&saved).is_empty());
        assert_eq!(other, history);
    }
}

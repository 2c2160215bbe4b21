//! What chance decides in a search, told by a seed once for all.

use crate::SplitMix64;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random(SplitMix64(seed))
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A whole number below `count`, which is at least 1.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count - 1)
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number of either sign, small ones more often: every further one half as often.
    pub fn nudge(&mut self) -> isize {
        let mut size = 1;
        while self.happens(0.5) {
            size += 1;
        }
        if self.happens(0.5) { size } else { -size }
    }
}

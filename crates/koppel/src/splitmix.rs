//! SplitMix64 (Steele, Lea & Flood 2014): random numbers that a seed tells once for all, the same on every machine.

/// A sequence of random numbers, by its seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The first number of a seed: every bit of the seed changes every bit of it.
    pub const fn first(seed: u64) -> u64 {
        let z = seed.wrapping_add(Self::STRIDE);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number: 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = Self::first(self.0);
        self.0 = self.0.wrapping_add(Self::STRIDE);
        bits
    }

    /// The next number as one in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors' program.
    #[test]
    fn known_values() {
        let mut numbers = SplitMix64(1_234_567);
        let found = [numbers.bits(), numbers.bits(), numbers.bits()];
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}

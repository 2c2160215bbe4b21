//! Random numbers that depend on nothing but where they stand: any of them can be had without those before.

use koppel::SplitMix64;

pub(super) fn drawn(seed: u64, run: u64, factor: u64) -> u64 {
    let mixed = SplitMix64::first;
    mixed(mixed(mixed(seed) ^ run) ^ factor.rotate_left(32))
}

/// A number strictly between 0 and 1.
pub(super) fn unit(seed: u64, run: u64, factor: u64) -> f64 {
    ((drawn(seed, run, factor) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// The numbers below `count` in a drawn order (Fisher and Yates).
pub(super) fn permutation(seed: u64, factor: u64, count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for last in (1..order.len()).rev() {
        // Another stream than the numbers inside the parts.
        let other = drawn(!seed, last as u64, factor) % (last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

//! Random numbers that depend on nothing but where they stand: any of them can be had without those before.

/// The end of SplitMix64 (Steele, Lea, Flood 2014): every bit of the argument changes every bit of the result.
pub(super) fn mixed(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(super) fn drawn(seed: u64, run: u64, factor: u64) -> u64 {
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

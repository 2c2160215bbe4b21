//! Random signals that a subsystem is excited with.

use crate::SplitMix64;

/// Deviations from rest at all nodes, a row per node, (1) of the module above; the first row is zero.
pub(super) fn excite(number: u64, ranges: &[f64], amplitude: f64, nodes: usize, steps: usize) -> Vec<f64> {
    let mut numbers = SplitMix64(number.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(17));
    let a = (-1.0 / nodes as f64).exp();
    let mut smooth = vec![0.0; ranges.len()];
    let mut moves = vec![0.0; ranges.len()];
    for _ in 0..steps * nodes {
        for (g, range) in smooth.iter_mut().zip(ranges) {
            let sign = if numbers.bits() >> 63 == 0 { 1.0 } else { -1.0 };
            *g = a * *g + (1.0 - a * a).sqrt() * sign;
            moves.push(amplitude * range * (*g + 0.3 * sign));
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excitation_has_the_amplitude_it_should_have() {
        let moves = excite(3, &[2.0, 10.0], 0.5, 10, 2000);
        let power = |k: usize| moves.iter().skip(k).step_by(2).map(|u| u * u).sum::<f64>() / 20000.0;
        // E (g + 0.3 ξ)² = 1 + 0.6 √(1-a²) + 0.09 with a = e^{-0.1}.
        let expected = 1.09 + 0.6 * (1.0 - (-0.2_f64).exp()).sqrt();
        assert!((power(0) / expected - 1.0).abs() < 0.1 && (power(1) / 25.0 / expected - 1.0).abs() < 0.1);
        let together: f64 = moves.chunks(2).map(|row| row[0] * row[1] / 5.0).sum::<f64>() / 20000.0;
        assert!(together.abs() < 0.1, "inputs move independently");
    }
}

//! A sine whose frequency grows evenly, in pieces of at most 1/16 turn.
//!
//!   u = offset + amplitude · sin θ,     θ = 2π (f_0 τ + (f_1 - f_0) τ² / 2T),  0 ≤ τ < T
//!
//! Each piece is the polynomial of degree 7 that meets the sine at the Chebyshev points of the piece; with at most 1/16 turn
//! it is within 1e-11 of the amplitude.

use super::sine::SINE_PIECES;
use super::{COEFFICIENTS, shift_polynomial};
use std::f64::consts::{PI, TAU};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sweep {
    pub(super) amplitude: f64,
    pub(super) offset: f64,
    /// f_0 and f_1.
    pub(super) frequencies: [f64; 2],
    pub(super) start: f64,
    pub(super) duration: f64,
}

impl Sweep {
    pub(super) fn value(&self, t: f64) -> f64 {
        let tau = t - self.start;
        if (0.0..self.duration).contains(&tau) { self.inside(tau) } else { self.offset }
    }

    fn inside(&self, tau: f64) -> f64 {
        let [from, to] = self.frequencies;
        let turns = tau * (from + 0.5 * (to - from) * tau / self.duration);
        self.offset + self.amplitude * (TAU * (turns - turns.floor())).sin()
    }

    pub(super) fn next_break(&self, after: f64) -> Option<f64> {
        [self.start, self.start + self.duration].into_iter().find(|time| *time > after)
    }

    pub(super) fn longest_piece(&self) -> f64 {
        1.0 / (SINE_PIECES * self.frequencies[0].abs().max(self.frequencies[1].abs()))
    }

    /// On a window of length `size` from `start`.
    pub(super) fn piece(&self, start: f64, size: f64, out: &mut [f64; COEFFICIENTS]) {
        let (begin, half) = (start - self.start, 0.5 * size);
        if !(0.0..self.duration).contains(&(begin + half)) {
            out[0] = self.offset;
            return;
        }
        // Newton's form at x_i in [-1, 1], multiplied out, then moved to the start of the window.
        let node = |i: usize| ((2 * i + 1) as f64 * PI / (2 * COEFFICIENTS) as f64).cos();
        let mut differences: [f64; COEFFICIENTS] =
            std::array::from_fn(|i| self.inside(begin + half * (1.0 + node(i))));
        for order in 1..COEFFICIENTS {
            for i in (order..COEFFICIENTS).rev() {
                differences[i] = (differences[i] - differences[i - 1]) / (node(i) - node(i - order));
            }
        }
        for i in (0..COEFFICIENTS).rev() {
            for power in (1..COEFFICIENTS).rev() {
                out[power] = out[power - 1] - node(i) * out[power];
            }
            out[0] = differences[i] - node(i) * out[0];
        }
        shift_polynomial(out, -1.0);
        let mut scale = 1.0;
        for coefficient in out {
            *coefficient *= scale;
            scale /= half;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_meet_the_sweep() {
        let sweep =
            Sweep { amplitude: 2.5, offset: 1.0, frequencies: [0.0, 30.0], start: 0.5, duration: 2.0 };
        let size = sweep.longest_piece();
        for k in 0..900 {
            let start = 0.5 + size * f64::from(k);
            let mut c = [0.0; COEFFICIENTS];
            sweep.piece(start, size, &mut c);
            for j in 0..=20 {
                let tau = size * f64::from(j) / 20.0;
                let value = c.iter().rev().fold(0.0, |sum, c| sum * tau + c);
                let exact = sweep.inside(start + tau - 0.5);
                assert!((value - exact).abs() < 1e-10, "{value} against {exact} at {}", start + tau);
            }
        }
        assert_eq!((sweep.value(0.49), sweep.value(2.5)), (1.0, 1.0));
        assert_eq!(sweep.next_break(0.5), Some(2.5));
    }
}

//! A sine in pieces of at most 1/16 turn, equation (2) of the parent.

use super::{COEFFICIENTS, shift_polynomial};
use std::f64::consts::{PI, TAU};

/// Pieces of a sine per period.
pub(super) const SINE_PIECES: f64 = 16.0;

/// The argument of a sine, counted in turns: f·t + φ/2π.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turning {
    pub(super) frequency: f64,
    pub(super) turns: f64,
}

impl Turning {
    /// Turns since the last whole one, in [0, 1]. The product is kept exactly, so nothing is lost at large times.
    pub(super) fn fraction(&self, t: f64) -> f64 {
        let product = self.frequency * t;
        let rounded_off = self.frequency.mul_add(t, -product);
        let sum = (product - product.floor()) + rounded_off + (self.turns - self.turns.floor());
        sum - sum.floor()
    }

    pub(super) fn sine(&self, t: f64) -> f64 {
        (TAU * self.fraction(t)).sin()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sine {
    pub(super) amplitude: f64,
    pub(super) offset: f64,
    pub(super) turning: Turning,
    pub(super) start: f64,
    pub(super) stop: f64,
}

impl Sine {
    fn is_on(&self, t: f64) -> bool {
        t >= self.start && t < self.stop
    }

    pub(super) fn is_constant(&self) -> bool {
        self.amplitude == 0.0 || self.turning.frequency == 0.0
    }

    pub(super) fn value(&self, t: f64) -> f64 {
        if self.is_on(t) { self.offset + self.amplitude * self.turning.sine(t) } else { self.offset }
    }

    pub(super) fn next_break(&self, after: f64) -> Option<f64> {
        let next = [self.start, self.stop].into_iter().find(|time| *time > after);
        next.filter(|time| time.is_finite())
    }

    /// Longest window on which one polynomial is good enough: 1/16 turn.
    pub(super) fn longest_piece(&self) -> f64 {
        if self.is_constant() { f64::INFINITY } else { 1.0 / (SINE_PIECES * self.turning.frequency.abs()) }
    }

    /// Equation (2) around `middle`, moved to `start`.
    pub(super) fn piece(&self, start: f64, middle: f64, out: &mut [f64; COEFFICIENTS]) {
        out[0] = self.offset;
        if !self.is_on(middle) {
            return;
        }
        if self.is_constant() {
            out[0] += self.amplitude * self.turning.sine(middle);
            return;
        }
        let centre = self.turning.fraction(middle);
        let turns = self.turning.fraction(start) - centre;
        let delta = TAU * (turns - turns.round());
        let (sine, cosine) = (TAU * centre).sin_cos();
        let mut polynomial = centred_sine(sine, cosine);
        shift_polynomial(&mut polynomial, delta);
        let mut scale = self.amplitude;
        for (coefficient, term) in out.iter_mut().zip(polynomial) {
            *coefficient += scale * term;
            scale *= TAU * self.turning.frequency;
        }
    }
}

/// sin(θ_c + δ) as a polynomial in δ, equation (2).
fn centred_sine(sine: f64, cosine: f64) -> [f64; COEFFICIENTS] {
    // δ⁸/8! with δ⁸ ≈ 2h²δ⁶ - (5/4)h⁴δ⁴ + (1/4)h⁶δ² - h⁸/128, from T₈(δ/h) ≈ 0
    const H2: f64 = (PI / SINE_PIECES) * (PI / SINE_PIECES);
    const EIGHTH: f64 = 1.0 / 40320.0;
    const EVEN: [f64; 4] = [
        1.0 - EIGHTH * H2 * H2 * H2 * H2 / 128.0,
        -1.0 / 2.0 + EIGHTH * H2 * H2 * H2 / 4.0,
        1.0 / 24.0 - EIGHTH * H2 * H2 * 1.25,
        -1.0 / 720.0 + EIGHTH * H2 * 2.0,
    ];
    const ODD: [f64; 4] = [1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0];
    let mut polynomial = [0.0; COEFFICIENTS];
    for i in 0..4 {
        polynomial[2 * i] = sine * EVEN[i];
        polynomial[2 * i + 1] = cosine * ODD[i];
    }
    polynomial
}

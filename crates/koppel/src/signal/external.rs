//! External inputs: functions of time, delivered as piecewise polynomials.
//!
//! On a window [a, b] without a break inside, the input is the polynomial
//!
//!   u(t) = Σ_j c_j τ^j,     τ = t - a                                                    (1)
//!
//! Breaks are the jumps, kinks and table points; all kinds but the sine and the sweep are exact. The sine is cut at multiples of
//! π/8 of its argument θ = 2π f t + φ, whatever windows the caller chooses. With θ_c the middle of a piece and
//! δ = θ - θ_c, |δ| ≤ h = π/16,
//!
//!   sin θ = sin θ_c · cos δ + cos θ_c · sin δ                                            (2)
//!
//! where sin δ is its Taylor polynomial of degree 7 (error h⁹/9! = 1.2e-12) and cos δ the one of degree 8 with δ⁸
//! economised to degree 6 by T₈ (error h⁸/(2⁷ 8!) = 4e-13). Substituting δ = ω τ + δ_a gives (1).
//! Economisation: Press et al., Numerical Recipes, 3rd ed., section 5.11.
//!
//! All functions are right-continuous: at a jump the new value counts.

mod config;
mod live;
mod pulses;
mod sine;
mod sweep;
mod table;

use super::segment::{horner, shift_polynomial};
pub use config::{ExternalConfig, ExternalError, Interpolation, Modulation};
use live::Live;
use pulses::Pulses;
use sine::{Sine, Turning};
use std::f64::consts::TAU;
use sweep::Sweep;
use table::Table;
pub(crate) use table::monotone_slopes;

/// Number of polynomial coefficients of a piece: degree at most 7.
pub const COEFFICIENTS: usize = 8;

/// An external input, ready to be evaluated. Nothing here allocates after [`External::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    shape: Shape,
    /// Its values times a factor plus an offset.
    scale: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Constant(f64),
    Step { time: f64, before: f64, after: f64 },
    Ramp { start: f64, stop: f64, from: f64, to: f64 },
    Sine(Sine),
    Sweep(Sweep),
    Pulses(Pulses),
    Table(Table),
    Live(Live),
}

impl External {
    /// Validates and builds.
    pub fn new(config: &ExternalConfig) -> Result<External, ExternalError> {
        config.validate()?;
        let shape = match *config {
            ExternalConfig::Constant { value } => Shape::Constant(value),
            ExternalConfig::Step { time, before, after } => Shape::Step { time, before, after },
            ExternalConfig::Ramp { start, stop, from, to } => Shape::Ramp { start, stop, from, to },
            ExternalConfig::Sine { amplitude, frequency, phase, offset, start, stop } => Shape::Sine(Sine {
                amplitude,
                offset,
                turning: Turning { frequency, turns: phase / TAU },
                start: start.unwrap_or(f64::NEG_INFINITY),
                stop: stop.unwrap_or(f64::INFINITY),
            }),
            ExternalConfig::Sweep { amplitude, from, to, duration, start, offset } => {
                Shape::Sweep(Sweep { amplitude, offset, frequencies: [from, to], start, duration })
            }
            ExternalConfig::Pulses { amplitude, period, width, start, offset, stop, modulation } => {
                let turning = modulation.map(|m| Turning { frequency: m.frequency, turns: m.phase / TAU });
                let stop = stop.unwrap_or(f64::INFINITY);
                Shape::Pulses(Pulses { amplitude, period, width, start, offset, stop, turning })
            }
            ExternalConfig::Table { ref times, ref values, interpolation } => {
                Shape::Table(Table::new(times, values, interpolation))
            }
        };
        Ok(External { shape, scale: None })
    }

    /// The same with its values times `factor` plus `offset`.
    #[must_use]
    pub fn scaled(self, factor: f64, offset: f64) -> External {
        let scale = ((factor, offset) != (1.0, 0.0)).then_some((factor, offset));
        External { scale, ..self }
    }

    /// Value at `t`; at a jump the value after it.
    pub fn value(&self, t: f64) -> f64 {
        let value = self.shape_value(t);
        self.scale.map_or(value, |(factor, offset)| factor * value + offset)
    }

    fn shape_value(&self, t: f64) -> f64 {
        match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Step { time, before, after } => {
                if t < *time {
                    *before
                } else {
                    *after
                }
            }
            Shape::Ramp { start, stop, from, to } => {
                if t < *start {
                    *from
                } else if t >= *stop {
                    *to
                } else {
                    from + (to - from) * ((t - start) / (stop - start))
                }
            }
            Shape::Sine(sine) => sine.value(t),
            Shape::Sweep(sweep) => sweep.value(t),
            Shape::Pulses(pulses) => pulses.value(t),
            Shape::Table(table) => table.value(t),
            Shape::Live(live) => live.value(t),
        }
    }

    /// First time after `after` where a polynomial piece must end.
    pub fn next_break(&self, after: f64) -> Option<f64> {
        match &self.shape {
            Shape::Constant(_) | Shape::Live(_) => None,
            Shape::Step { time, .. } => (*time > after).then_some(*time),
            Shape::Ramp { start, stop, .. } => [*start, *stop].into_iter().find(|time| *time > after),
            Shape::Sine(sine) => sine.next_break(after),
            Shape::Sweep(sweep) => sweep.next_break(after),
            Shape::Pulses(pulses) => pulses.next_break(after),
            Shape::Table(table) => {
                table.times.get(table.times.partition_point(|time| *time <= after)).copied()
            }
        }
    }

    /// First time after `after` at which the signal is known to jump or to turn; of tables and waves, only jumps count.
    pub(crate) fn next_event(&self, after: f64) -> Option<f64> {
        match &self.shape {
            Shape::Step { .. } | Shape::Ramp { .. } | Shape::Pulses(_) => self.next_break(after),
            Shape::Table(table) if table.interpolation == Interpolation::Previous => self.next_break(after),
            Shape::Table(table) => table.next_jump(after),
            _ => None,
        }
    }

    /// Whether it jumps at a time in (`after`, `until`].
    pub(crate) fn jumps_within(&self, after: f64, until: f64) -> bool {
        let jumps_at = |time: f64| self.value(time) != self.value(time.next_down());
        if let Shape::Sine(Sine { start, stop, .. }) = &self.shape {
            return [*start, *stop].into_iter().any(|time| after < time && time <= until && jumps_at(time));
        }
        if let Shape::Live(live) = &self.shape {
            return live.jumps_within(after, until);
        }
        // A kink differs from its neighbour by round-off at most.
        if let Shape::Ramp { .. } = &self.shape {
            return false;
        }
        let mut time = after;
        while let Some(event) = self.next_event(time).filter(|event| *event <= until) {
            if jumps_at(event) {
                return true;
            }
            time = event;
        }
        false
    }

    /// Value just before `t` if it jumps there, to a margin; else the value at `t`.
    pub(crate) fn value_before(&self, t: f64, margin: f64) -> f64 {
        self.value(if self.jumps_within(t - margin, t + margin) { t - margin } else { t })
    }

    /// Longest window on which one polynomial is good enough, in s; windows must not be longer.
    pub fn longest_piece(&self) -> f64 {
        match &self.shape {
            Shape::Sine(sine) => sine.longest_piece(),
            Shape::Sweep(sweep) => sweep.longest_piece(),
            _ => f64::INFINITY,
        }
    }

    /// Upper bound of the breaks in any window of length `span` (in s), both ends included.
    pub fn max_breaks(&self, span: f64) -> usize {
        match &self.shape {
            Shape::Constant(_) | Shape::Live(_) => 0,
            Shape::Step { .. } => 1,
            Shape::Ramp { .. } => 2,
            // its ends, the parts of the window, and one for round-off
            Shape::Sine(sine) => ((span / sine.longest_piece()).ceil() as usize).saturating_add(3),
            Shape::Sweep(sweep) => ((span / sweep.longest_piece()).ceil() as usize).saturating_add(3),
            // one more than intervals, one for round-off, and the cut pulse
            Shape::Pulses(pulses) => {
                ((span / pulses.period).ceil() as usize).saturating_add(2).saturating_mul(2).saturating_add(1)
            }
            Shape::Table(table) => table.max_breaks(span),
        }
    }

    /// Degree of the pieces.
    pub fn degree(&self) -> usize {
        match &self.shape {
            Shape::Constant(_) | Shape::Step { .. } | Shape::Pulses(_) => 0,
            Shape::Ramp { .. } => 1,
            Shape::Sine(sine) => {
                if sine.is_constant() {
                    0
                } else {
                    COEFFICIENTS - 1
                }
            }
            Shape::Sweep(_) => COEFFICIENTS - 1,
            Shape::Table(table) => match table.interpolation {
                Interpolation::Previous => 0,
                Interpolation::Linear => 1,
                Interpolation::Cubic => 3,
            },
            Shape::Live(live) => live.degree(),
        }
    }

    /// Coefficients of (1) on `[start, end]`, which must have no break inside. The piece is the one at the middle of
    /// the window: a break within round-off of either end does no harm.
    pub fn piece(&self, start: f64, end: f64, out: &mut [f64; COEFFICIENTS]) {
        self.shape_piece(start, end, out);
        if let Some((factor, offset)) = self.scale {
            out.iter_mut().for_each(|coefficient| *coefficient *= factor);
            out[0] += offset;
        }
    }

    fn shape_piece(&self, start: f64, end: f64, out: &mut [f64; COEFFICIENTS]) {
        *out = [0.0; COEFFICIENTS];
        let middle = start + 0.5 * (end - start);
        match &self.shape {
            Shape::Constant(_) | Shape::Step { .. } | Shape::Pulses(_) => out[0] = self.shape_value(middle),
            Shape::Ramp { start: t0, stop: t1, from, to } => {
                if middle < *t0 || middle >= *t1 {
                    out[0] = self.shape_value(middle);
                } else {
                    line((*t0, *from), (*t1, *to), start, out);
                }
            }
            Shape::Sine(sine) => sine.piece(start, middle, out),
            Shape::Sweep(sweep) => sweep.piece(start, end - start, out),
            Shape::Table(table) => table.piece(start, middle, out),
            Shape::Live(live) => live.piece(start, out),
        }
    }
}

/// The line through two points, written in τ from `start`.
fn line(left: (f64, f64), right: (f64, f64), start: f64, out: &mut [f64; COEFFICIENTS]) {
    let slope = (right.1 - left.1) / (right.0 - left.0);
    out[0] = left.1 + slope * (start - left.0);
    out[1] = slope;
}

#[cfg(test)]
mod tests;

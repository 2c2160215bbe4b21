//! Rectangular pulses; every edge comes from its integer.

use super::sine::Turning;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pulses {
    pub(super) amplitude: f64,
    pub(super) period: f64,
    pub(super) width: f64,
    pub(super) start: f64,
    pub(super) offset: f64,
    pub(super) stop: f64,
    pub(super) turning: Option<Turning>,
}

impl Pulses {
    fn rise(&self, index: f64) -> f64 {
        self.start + index * self.period
    }

    /// End of the pulse; never after the next one rises.
    fn fall(&self, index: f64) -> f64 {
        let next = self.rise(index + 1.0);
        if self.width == self.period { next } else { (self.rise(index) + self.width).min(next) }
    }

    /// The pulse that rose last; the quotient can be wrong by one when `t` is an edge.
    fn index(&self, t: f64) -> f64 {
        let guess = ((t - self.start) / self.period).floor();
        if self.rise(guess) > t {
            guess - 1.0
        } else if self.rise(guess + 1.0) <= t {
            guess + 1.0
        } else {
            guess
        }
    }

    pub(super) fn value(&self, t: f64) -> f64 {
        if t < self.start || t >= self.stop {
            return self.offset;
        }
        let index = self.index(t);
        if t >= self.fall(index) {
            return self.offset;
        }
        let height = self.turning.map_or(1.0, |turning| turning.sine(self.rise(index)));
        self.offset + self.amplitude * height
    }

    pub(super) fn next_break(&self, after: f64) -> Option<f64> {
        if after >= self.stop {
            return None;
        }
        if after < self.start {
            return Some(self.start);
        }
        let index = self.index(after);
        let fall = self.fall(index);
        let edge = if after < fall { fall } else { self.rise(index + 1.0) };
        Some(edge.max(after.next_up()).min(self.stop))
    }
}

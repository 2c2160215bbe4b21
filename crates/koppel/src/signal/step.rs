//! Communication steps on an integer clock.
//!
//! Times are computed from integers, never summed: T^k = start + k·H. Only the last step may be shorter, to reach the
//! stop time exactly.

/// One communication step, from `start` to `start + size`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Number of the macro step, from 0.
    pub index: u64,
    /// Time at its start.
    pub start: f64,
    /// Its length.
    pub size: f64,
}

impl Step {
    /// Time at its end.
    pub fn end(&self) -> f64 {
        self.start + self.size
    }
}

/// The grid of communication points of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    start: f64,
    stop: f64,
    size: f64,
    steps: u64,
    round_off: f64,
}

/// A rest shorter than this part of a step is round-off, not a step; more where times are large beside steps.
const ROUND_OFF: f64 = 1e-9;

impl Clock {
    /// Steps of length `size` from `start` to `stop`.
    pub fn new(start: f64, stop: f64, size: f64) -> Self {
        let round_off = ROUND_OFF.max(4.0 * f64::EPSILON * start.abs().max(stop.abs()) / size);
        let steps = ((stop - start) / size - round_off).ceil().max(0.0) as u64;
        Clock { start, stop, size, steps, round_off }
    }

    /// Smallest step that times up to `latest` can tell apart well.
    pub fn smallest_step(latest: f64) -> f64 {
        1e3 * f64::EPSILON * latest.abs()
    }

    /// How many steps the run has.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The regular step size H.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Communication point T^k.
    #[inline]
    pub fn time(&self, index: u64) -> f64 {
        if index >= self.steps { self.stop } else { self.on_grid(index) }
    }

    /// The same for a point before the stop time.
    #[inline]
    pub(crate) fn on_grid(&self, index: u64) -> f64 {
        // Signed numbers become floating-point ones in a single instruction.
        self.start + index as i64 as f64 * self.size
    }

    /// The step that begins at T^index and spans `count` regular steps, cut at the stop time.
    #[inline]
    pub fn step(&self, index: u64, count: u64) -> Step {
        let start = self.time(index);
        let full = index + count < self.steps || self.is_regular(index + count);
        let size = if full { count as i64 as f64 * self.size } else { self.stop - start };
        Step { index, start, size }
    }

    /// True if the grid meets the stop time at `index` without a shortened step.
    fn is_regular(&self, index: u64) -> bool {
        let grid = self.start + index as f64 * self.size;
        index == self.steps && (grid - self.stop).abs() <= self.round_off * self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_is_shortened() {
        let clock = Clock::new(0.0, 1.0, 0.3);
        assert_eq!(clock.steps(), 4);
        assert_eq!(clock.step(2, 1).size, 0.3);
        assert!((clock.step(3, 1).size - 0.1).abs() < 1e-15);
        assert_eq!(clock.time(4), 1.0);
        assert_eq!(clock.step(3, 5).size, 1.0 - clock.time(3));
    }

    #[test]
    fn round_off_makes_no_extra_step() {
        for n in 1..2000_u32 {
            let size = 0.1 / f64::from(n) * 3.0;
            let clock = Clock::new(0.0, size * f64::from(n), size);
            assert_eq!(clock.steps(), u64::from(n));
            assert_eq!(clock.step(u64::from(n) - 1, 1).size, size);
        }
    }

    #[test]
    fn no_extra_step_far_from_zero() {
        for n in 1..2000_u32 {
            let stop = 1e6 + 1e-3 * f64::from(n);
            assert_eq!(Clock::new(1e6, stop, 1e-3).steps(), u64::from(n));
        }
    }

    #[test]
    fn times_do_not_drift() {
        let clock = Clock::new(0.0, 1e6, 0.1);
        assert_eq!(clock.time(9_999_999), 0.1 * 9_999_999.0);
    }
}

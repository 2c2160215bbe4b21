//! How long to wait awake for another process.

use std::time::Duration;

/// How long the other side usually takes, in nanoseconds.
#[derive(Default)]
pub(crate) struct Spin {
    usual: f64,
}

/// Looks at the other side's word this often before looking at the clock.
pub(crate) const FIRST_LOOKS: u32 = 200;
/// Looks between two looks at the clock.
pub(crate) const LOOKS: u32 = 64;
/// Waits that usually take longer are slept through: waking up costs a hundredth of this.
const LONGEST: Duration = Duration::from_millis(2);
/// Least time to wait awake, if at all: some times what waking up costs.
pub(crate) const SHORTEST: Duration = Duration::from_micros(100);

impl Spin {
    /// Notes a wait that was over at once.
    #[inline]
    pub(crate) fn learn_of_none(&mut self) {
        self.usual *= 0.875;
    }

    /// How long to wait awake.
    pub(crate) fn patience(&self) -> Duration {
        let usual = Duration::from_nanos(self.usual as u64);
        if usual > LONGEST { Duration::ZERO } else { (2 * usual).max(SHORTEST) }
    }

    /// Learns from a wait. A very long one counts as twice the longest that is waited for awake: it may be the only one.
    pub(crate) fn learn(&mut self, waited: Duration) {
        let waited = waited.min(2 * LONGEST).as_nanos() as f64;
        self.usual += 0.125 * (waited - self.usual);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_the_steps_of_the_other_side() {
        let mut spin = Spin::default();
        assert_eq!(spin.patience(), SHORTEST);
        let mut wait = |time: Duration| {
            (0..50).for_each(|_| spin.learn(time));
            spin.patience()
        };
        let step = Duration::from_micros(600);
        let patience = wait(step);
        assert!(patience > step && patience < 3 * step, "{patience:?}");
        assert_eq!(wait(Duration::from_millis(10)), Duration::ZERO, "long steps are slept through");
        assert!(wait(step) > step, "and short ones are waited for again");
    }
}

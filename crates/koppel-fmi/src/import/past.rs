//! Which states from before a step may still be restored: what `noSetFMUStatePriorToCurrentPoint` says to an FMU.
//!
//! An FMU may forget its past where it is told true, and some take false for a step that is going to be repeated from its
//! start. So a step gets true unless a snapshot is held that was saved before its start:
//!
//! * one for the run, until it is dropped or released;
//! * one for a step, in the sub-steps of that step but the first.

use koppel::system::{Holds, Horizon, Snapshot};

/// Snapshots that may be restored.
#[derive(Debug)]
pub(super) struct Past {
    /// Those for the run.
    holds: Holds,
    /// When the oldest of those was saved.
    oldest: f64,
    /// When one was saved for a step; infinite if none was, or that step is over.
    of_step: f64,
}

impl Default for Past {
    fn default() -> Self {
        Past { holds: Holds::default(), oldest: f64::INFINITY, of_step: f64::INFINITY }
    }
}

impl Past {
    /// A state was saved at this time.
    pub(super) fn note(&mut self, snapshot: &mut Snapshot, time: f64) {
        // Ends and begins of steps differ by round-off.
        let time = time + 8.0 * f64::EPSILON * time.abs();
        snapshot.release();
        match snapshot.horizon {
            Horizon::Run | Horizon::Anywhere => {
                self.oldest = if self.holds.are_held() { self.oldest.min(time) } else { time };
                snapshot.hold = self.holds.hold();
            }
            Horizon::Step => self.of_step = time,
            Horizon::Elsewhere => {}
        }
    }

    /// A communication step begins: what was saved for one before it is of no use any more.
    pub(super) fn begin_step(&mut self, start: f64) {
        if start > self.of_step {
            self.of_step = f64::INFINITY;
        }
    }

    /// True if no state from before this begin of a communication step is going to be restored.
    #[inline]
    pub(super) fn is_over(&self, start: f64) -> bool {
        start <= self.oldest || !self.holds.are_held()
    }

    /// The same for a point inside a communication step that has begun.
    #[inline]
    pub(super) fn is_over_inside(&self, time: f64) -> bool {
        time <= self.of_step && self.is_over(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_for_a_step_counts_inside_of_that_step_only() {
        let mut past = Past::default();
        assert!(past.is_over(0.0) && past.is_over_inside(0.1));
        past.note(&mut Snapshot::new(Horizon::Step), 0.1 + 0.2);
        past.begin_step(0.3);
        assert!(past.is_over(0.3) && past.is_over_inside(0.3) && !past.is_over_inside(0.35));
        past.begin_step(0.4);
        assert!(past.is_over_inside(0.45));
    }

    #[test]
    fn a_snapshot_for_the_run_counts_until_it_is_dropped() {
        let mut past = Past::default();
        let (mut one, mut two) = (Snapshot::default(), Snapshot::default());
        past.note(&mut one, 1.0);
        past.note(&mut two, 2.0);
        past.note(&mut Snapshot::new(Horizon::Elsewhere), 0.0);
        drop(one);
        assert!(past.is_over(1.0) && !past.is_over(1.5) && !past.is_over_inside(1.5));
        drop(two);
        assert!(past.is_over(1.5));
    }
}

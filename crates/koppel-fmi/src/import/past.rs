//! Which states from before a step may still be restored: what `noSetFMUStatePriorToCurrentPoint` says to an FMU.
//!
//! An FMU may forget its past where it is told true, and some take false for a step that is going to be repeated from its
//! begin. So a step gets true unless a snapshot is held that was saved before its begin:
//!
//! * one for the run, until it is discarded;
//! * one for a step, in the sub-steps of that step but the first.

use koppel::system::Horizon;
use std::cell::Cell;

/// Snapshots that may be restored.
#[derive(Debug)]
pub(super) struct Past {
    /// How many are held for the run.
    held: Cell<u32>,
    /// When the oldest of those was saved; infinite without.
    oldest: Cell<f64>,
    /// When one was saved for a step; infinite if none was, or that step is over.
    of_step: Cell<f64>,
}

impl Default for Past {
    fn default() -> Self {
        Past { held: Cell::new(0), oldest: Cell::new(f64::INFINITY), of_step: Cell::new(f64::INFINITY) }
    }
}

impl Past {
    /// A state was saved at this time.
    pub(super) fn note(&self, horizon: Horizon, time: f64) {
        // Ends and begins of steps differ by round-off.
        let time = time + 8.0 * f64::EPSILON * time.abs();
        match horizon {
            Horizon::Run | Horizon::Anywhere => {
                self.held.set(self.held.get() + 1);
                self.oldest.set(self.oldest.get().min(time));
            }
            Horizon::Step => self.of_step.set(time),
            Horizon::Elsewhere => {}
        }
    }

    /// One for the run is not going to be restored any more.
    pub(super) fn discard(&self) {
        self.held.set(self.held.get().saturating_sub(1));
        if self.held.get() == 0 {
            self.oldest.set(f64::INFINITY);
        }
    }

    /// A communication step begins: what was saved for one before it is of no use any more.
    pub(super) fn begin_step(&self, start: f64) {
        if start > self.of_step.get() {
            self.of_step.set(f64::INFINITY);
        }
    }

    /// True if no state from before this begin of a communication step is going to be restored.
    #[inline]
    pub(super) fn is_over(&self, start: f64) -> bool {
        start <= self.oldest.get()
    }

    /// The same for a point inside of a communication step that has begun.
    #[inline]
    pub(super) fn is_over_inside(&self, time: f64) -> bool {
        time <= self.oldest.get().min(self.of_step.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_for_a_step_counts_inside_of_that_step_only() {
        let past = Past::default();
        assert!(past.is_over(0.0) && past.is_over_inside(0.1));
        past.note(Horizon::Step, 0.1 + 0.2);
        past.begin_step(0.3);
        assert!(past.is_over(0.3) && past.is_over_inside(0.3) && !past.is_over_inside(0.35));
        past.begin_step(0.4);
        assert!(past.is_over_inside(0.45));
    }

    #[test]
    fn a_snapshot_for_the_run_counts_until_it_is_discarded() {
        let past = Past::default();
        past.note(Horizon::Run, 1.0);
        past.note(Horizon::Run, 2.0);
        past.note(Horizon::Elsewhere, 0.0);
        past.discard();
        assert!(past.is_over(1.0) && !past.is_over(1.5) && !past.is_over_inside(1.5));
        past.discard();
        assert!(past.is_over(1.5));
    }
}

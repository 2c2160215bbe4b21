//! The saved state of a subsystem.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything a subsystem's future depends on; reused as a buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Numbers.
    pub reals: Vec<f64>,
    /// Opaque state of a black box.
    pub bytes: Vec<u8>,
    /// How long it may be restored: to be set before it is written.
    #[serde(skip)]
    pub horizon: Horizon,
    /// Tells a black box that it may still be restored.
    #[serde(skip)]
    pub hold: Hold,
}

impl Snapshot {
    /// Room for a state that may be restored so long.
    pub fn new(horizon: Horizon) -> Self {
        Snapshot { horizon, ..Snapshot::default() }
    }

    /// It will not be restored any more, as if it were dropped; its buffers stay.
    pub fn release(&mut self) {
        self.hold = Hold::default();
    }
}

/// How long a snapshot may be restored. It decides whether a black box may forget what was before a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Horizon {
    /// At any later time of the run, until it is dropped or released: a black box may keep its state in its own memory.
    #[default]
    Run,
    /// Until the step is done that begins where it was saved.
    Step,
    /// Never by this subsystem, but by one in another process: a black box that can writes its state as bytes.
    Elsewhere,
    /// At any later time, by this subsystem or another one: bytes, as far as a black box can.
    Anywhere,
}

/// A share in the snapshots of one subsystem that may still be restored. Clones count on their own; all are equal.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    _share: Option<Arc<()>>,
}

impl PartialEq for Hold {
    fn eq(&self, _: &Hold) -> bool {
        true
    }
}

/// Counts the snapshots of one subsystem that may still be restored.
#[derive(Debug, Default)]
pub struct Holds(Arc<()>);

impl Holds {
    /// One more.
    pub fn hold(&self) -> Hold {
        Hold { _share: Some(self.0.clone()) }
    }

    /// True if there are any.
    #[inline]
    pub fn are_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_held_until_it_is_dropped_or_released_and_so_are_its_copies() {
        let holds = Holds::default();
        assert!(!holds.are_held());
        let mut one = Snapshot { hold: holds.hold(), ..Snapshot::default() };
        let copy = one.clone();
        one.release();
        assert!(holds.are_held());
        drop(copy);
        assert!(!holds.are_held());
    }
}

//! Everything the next step depends on: one state for roll-back, checkpoints and analysis.

use crate::system::Snapshot;
use serde::{Deserialize, Serialize};

/// A run between two macro steps. Reused as a buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Macro steps done.
    pub index: u64,
    /// Timed changes done.
    pub(super) changes_done: usize,
    /// Offsets, inputs as given and as planned, outputs, history, coupling memory, loop memory: in that order.
    pub(super) numbers: Vec<f64>,
    /// Per subsystem, in the order in which they move.
    pub(super) subsystems: Vec<Snapshot>,
}

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
    /// Offsets, applied inputs; outputs and inputs per subsystem; history, coupling memory, loop memory.
    pub(super) numbers: Vec<f64>,
    /// Per subsystem, in the order of the graph.
    pub(super) subsystems: Vec<Snapshot>,
    /// Communication points the subsystems have reached.
    pub(super) reached: Vec<f64>,
}

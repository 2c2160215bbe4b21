//! The state at the start of a step, kept for runs that a subsystem may end inside a step (`early_end.rs`).

use crate::network::Network;
use crate::signal::copy;
use crate::system::{Horizon, Snapshot, SubsystemId};
use crate::tape::StateData;

/// What is kept at the start of each step: nothing in most runs.
#[derive(Default)]
pub(in crate::run) struct StepStart {
    /// Outputs, for the last row of a run that ends inside the step, if no row was written at its start.
    pub(super) outputs: Option<Vec<f64>>,
    pub(super) states: Option<Box<SavedStates>>,
}

pub(super) struct SavedStates {
    /// Everything but the states of subsystems, if it was saved: a step under held inputs changes nothing before all have advanced.
    pub(super) numbers: StateData,
    /// States of native models; none of black boxes.
    pub(super) snapshots: Vec<Option<Snapshot>>,
    /// True if a step under held inputs needs none of these.
    needs_none_under_hold: bool,
}

impl StepStart {
    /// Keeps outputs from now on.
    pub(in crate::run) fn request_outputs(&mut self, count: usize) {
        self.outputs = Some(vec![0.0; count]);
    }

    /// Keeps states from now on. A run that writes no rows reads the values of the last common point from the board.
    pub(in crate::run) fn request_states(&mut self, network: &Network, writes_rows: bool) {
        let may_end = |id: SubsystemId| network.subsystem(id).capabilities().may_end_run;
        let snapshot = |id: SubsystemId| (!may_end(id)).then(|| Snapshot::new(Horizon::Step));
        let snapshots: Vec<_> = (0..network.len()).map(snapshot).collect();
        let needs_none_under_hold = writes_rows && snapshots.iter().all(Option::is_none);
        self.states =
            Some(Box::new(SavedStates { numbers: StateData::default(), snapshots, needs_none_under_hold }));
    }

    /// True if a step under held inputs keeps outputs only.
    pub(super) fn needs_only_outputs(&self) -> bool {
        self.states.as_ref().is_none_or(|states| states.needs_none_under_hold)
    }

    #[inline(always)]
    pub(super) fn keep_outputs(&mut self, outputs: &[f64]) {
        if let Some(kept) = &mut self.outputs {
            copy(outputs, kept);
        }
    }

    /// Drops the states of an earlier step.
    pub(super) fn forget_states(&mut self) {
        if let Some(states) = &mut self.states {
            states.numbers.clear();
        }
    }
}

//! What is kept of the start of a step, for runs that a subsystem ends inside it (`retreat.rs`).

use crate::network::Network;
use crate::signal::copy;
use crate::system::{Horizon, Snapshot, SubsystemId};
use crate::tape::StateData;

/// What is kept of the start of each step; nothing in most runs.
#[derive(Default)]
pub(in crate::run) struct Begin {
    /// Outputs: the last row of a run that ends inside the step, where no row was written.
    pub(super) outputs: Option<Vec<f64>>,
    pub(super) states: Option<Box<States>>,
}

pub(super) struct States {
    /// Everything but the states of subsystems, if it was saved: steps under held inputs change nothing before all have moved.
    pub(super) numbers: StateData,
    /// States of those that are no black boxes.
    pub(super) snapshots: Vec<Option<Snapshot>>,
    /// True if a step under held inputs needs none of them.
    are_spared_by_holds: bool,
}

impl Begin {
    /// Keeps outputs from now on.
    pub(in crate::run) fn want_outputs(&mut self, count: usize) {
        self.outputs = Some(vec![0.0; count]);
    }

    /// Keeps states from now on; those who write no rows read the values of the last common point from the board.
    pub(in crate::run) fn want_states(&mut self, network: &Network, writes_rows: bool) {
        let may_end = |id: SubsystemId| network.subsystem(id).capabilities().may_end_run;
        let snapshot = |id: SubsystemId| (!may_end(id)).then(|| Snapshot::new(Horizon::Step));
        let snapshots: Vec<_> = (0..network.len()).map(snapshot).collect();
        let are_spared_by_holds = writes_rows && snapshots.iter().all(Option::is_none);
        self.states =
            Some(Box::new(States { numbers: StateData::default(), snapshots, are_spared_by_holds }));
    }

    /// True if a step under held inputs keeps no more than outputs.
    pub(super) fn needs_outputs_alone(&self) -> bool {
        self.states.as_ref().is_none_or(|states| states.are_spared_by_holds)
    }

    #[inline(always)]
    pub(super) fn keep_outputs(&mut self, outputs: &[f64]) {
        if let Some(kept) = &mut self.outputs {
            copy(outputs, kept);
        }
    }

    /// The states of an earlier step are of no use any more.
    pub(super) fn forget_states(&mut self) {
        if let Some(states) = &mut self.states {
            states.numbers.clear();
        }
    }
}

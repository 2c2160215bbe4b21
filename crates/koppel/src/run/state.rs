//! Everything the next step depends on: one state for roll-back, checkpoints and analysis.

use crate::system::{Hold, Horizon, Message, Snapshot};
use crate::tape::StateData;
use serde::{Deserialize, Serialize};

/// A run between two macro steps. Reused as a buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Ticks of the clock done: macro steps, unless the step adapts.
    pub index: u64,
    /// Timed changes done.
    pub(super) changes_done: usize,
    /// Where the macro step under way was cut; nothing at a communication point of the run.
    pub(super) inside: Option<f64>,
    /// Numbers of the network, the coupling, loops and step control.
    pub(super) numbers: StateData,
    /// Texts, bytes and ticks as they were last carried.
    pub(super) messages: Vec<Message>,
    /// Per subsystem, in the order in which they move.
    pub(super) subsystems: Vec<Snapshot>,
    /// How long it may be restored.
    #[serde(skip)]
    pub(super) horizon: Horizon,
}

impl RunState {
    /// Room for a state that may be restored so long.
    pub fn new(horizon: Horizon) -> Self {
        RunState { horizon, ..RunState::default() }
    }

    /// Takes over the holds on its snapshots: it may be restored as long as they live.
    pub fn take_holds(&mut self) -> Vec<Hold> {
        self.subsystems.iter_mut().map(|snapshot| std::mem::take(&mut snapshot.hold)).collect()
    }

    /// Every real number of it: those of the run, then those of the subsystems in the order in which they move. For linear
    /// subsystems and methods a macro step is linear in those that are signals; others are times and parameters.
    pub fn reals_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.numbers
            .reals
            .iter_mut()
            .chain(self.subsystems.iter_mut().flat_map(|snapshot| &mut snapshot.reals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::case;
    use crate::run::Run;

    /// A count out of range must neither be taken nor lead to a panic later on.
    #[test]
    fn a_state_with_impossible_counts_is_refused() {
        let case = case("two-mass").unwrap();
        let mut run = Run::new(case.system().unwrap(), &case.run).unwrap();
        let mut state = RunState::default();
        run.save(&mut state).unwrap();
        run.restore(&state).unwrap();
        assert!(!state.numbers.counts.is_empty());
        state.numbers.counts.fill(u64::MAX);
        let error = run.restore(&state).unwrap_err().to_string();
        assert!(error.contains("another system"), "{error}");
    }
}

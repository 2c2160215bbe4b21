//! Which numbers of a saved state carry values: what an analysis moves to see what follows.
//!
//! Times, counts and offsets do not, nor does what solvers remember to be quick.

use super::run::Run;
use super::state::RunState;
use crate::tape::{Label, Tape};

/// One number of a [`RunState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateEntry {
    /// Of the run.
    Number(usize),
    /// Of a subsystem.
    Subsystem(usize, usize),
}

/// The numbers that carry values.
pub(crate) struct StateLayout {
    pub(crate) all: Vec<StateEntry>,
    /// Which of them are outputs.
    pub(crate) outputs: Vec<usize>,
}

impl RunState {
    pub(crate) fn number(&self, place: StateEntry) -> f64 {
        match place {
            StateEntry::Number(at) => self.numbers.reals[at],
            StateEntry::Subsystem(id, at) => self.subsystems[id].reals[at],
        }
    }

    pub(crate) fn number_mut(&mut self, place: StateEntry) -> &mut f64 {
        match place {
            StateEntry::Number(at) => &mut self.numbers.reals[at],
            StateEntry::Subsystem(id, at) => &mut self.subsystems[id].reals[at],
        }
    }
}

impl StateLayout {
    /// Where values are in a state of a run.
    pub(crate) fn of(run: &mut Run, state: &RunState) -> Self {
        let mut labels = Vec::new();
        run.state(&mut Tape::label(&mut labels));
        let is_value = |at: &usize| labels[*at] != Label::Number;
        let mut all: Vec<StateEntry> = (0..labels.len()).filter(is_value).map(StateEntry::Number).collect();
        let is_output = |k: &usize| matches!(all[*k], StateEntry::Number(at) if labels[at] == Label::Output);
        let outputs = (0..all.len()).filter(is_output).collect();
        for (id, snapshot) in state.subsystems.iter().enumerate() {
            all.extend((0..snapshot.reals.len()).map(|k| StateEntry::Subsystem(id, k)));
        }
        StateLayout { all, outputs }
    }
}

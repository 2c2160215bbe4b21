//! Which numbers of a saved state carry values: what an analysis moves to see what follows.
//!
//! Times, counts and offsets do not, nor does what solvers remember to be quick.

use super::run::Run;
use super::state::RunState;

/// One number of a [`RunState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Of the run.
    Number(usize),
    /// Of a subsystem.
    Subsystem(usize, usize),
}

/// The numbers that carry values.
pub(crate) struct Places {
    pub(crate) all: Vec<Place>,
    /// Which of them are outputs.
    pub(crate) outputs: Vec<usize>,
}

impl RunState {
    pub(crate) fn number(&self, place: Place) -> f64 {
        match place {
            Place::Number(at) => self.numbers[at],
            Place::Subsystem(id, at) => self.subsystems[id].reals[at],
        }
    }

    pub(crate) fn number_mut(&mut self, place: Place) -> &mut f64 {
        match place {
            Place::Number(at) => &mut self.numbers[at],
            Place::Subsystem(id, at) => &mut self.subsystems[id].reals[at],
        }
    }
}

impl Places {
    /// Where values are in a state of a run.
    pub(crate) fn of(run: &Run, state: &RunState) -> Self {
        let network = run.network();
        let mut buffer = Vec::new();
        let mut length = |save: &dyn Fn(&mut Vec<f64>)| {
            buffer.clear();
            save(&mut buffer);
            buffer.len()
        };
        let (inputs, outputs) = (network.graph.inputs(), network.graph.outputs());
        let before = network.slots.iter().map(|slot| slot.before.len()).sum();
        let externals = length(&|out| network.graph.externals().iter().for_each(|(_, e)| e.save(out)));
        let [values, times, arrivals, counts] = network.board.history.sizes();
        let has_models = network.needs.models.is_some();
        let models = if has_models { length(&|out| network.board.models.save(out)) } else { 0 };
        let coupling = length(&|out| network.coupling.save(out));
        let given = network.board.applied.len() + network.board.read_stale.len();
        let parts = [
            (inputs, false),
            (given, true),
            (network.board.planned.coefficients.len(), true),
            (network.board.planned.sizes.len(), false),
            (outputs, true),
            (before, true),
            (externals, false),
            (values, true),
            (times, false),
            (arrivals, true),
            (counts, false),
            (models, false),
            (coupling, true),
        ];
        let planned = &network.board.planned;
        let first_output = inputs + given + planned.coefficients.len() + planned.sizes.len();
        let (mut all, mut at) = (Vec::new(), 0);
        for (size, is_value) in parts {
            if is_value {
                all.extend((at..at + size).map(Place::Number));
            }
            at += size;
        }
        for (id, snapshot) in state.subsystems.iter().enumerate() {
            all.extend((0..snapshot.reals.len()).map(|k| Place::Subsystem(id, k)));
        }
        let is_output = |place: &Place| match place {
            Place::Number(at) => (first_output..first_output + outputs).contains(at),
            Place::Subsystem(..) => false,
        };
        let outputs = (0..all.len()).filter(|k| is_output(&all[*k])).collect();
        Places { all, outputs }
    }
}

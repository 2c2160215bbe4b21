//! Everything the next step depends on: one state for roll-back, checkpoints and analysis.

use super::board::Board;
use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::system::{Horizon, Message, Snapshot};
use crate::tape::{StateData, Tape};
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
    horizon: Horizon,
}

impl RunState {
    /// Room for a state that may be restored so long.
    pub fn new(horizon: Horizon) -> Self {
        RunState { horizon, ..RunState::default() }
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

impl Simulation {
    /// Writes everything the next step depends on into `state`, for as long as its horizon says.
    pub fn save(&mut self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes_done;
        state.inside = self.inside;
        self.state(&mut Tape::write(&mut state.numbers));
        self.messages.save(&mut state.messages);
        state.subsystems.resize_with(self.slots.len(), Default::default);
        self.slots.iter().zip(&mut state.subsystems).try_for_each(|(slot, snapshot)| {
            snapshot.horizon = state.horizon;
            slot.subsystem.save(snapshot)
        })
    }

    /// A state with [`Horizon::Run`] will not be restored any more.
    pub fn discard(&mut self) -> Result<()> {
        self.slots.iter_mut().try_for_each(|slot| slot.subsystem.discard())
    }

    /// Whether a subsystem can take a step again.
    pub(crate) fn can_go_back(&self, id: usize) -> Result<()> {
        self.slots[id].subsystem.can_go_back()
    }

    /// Shows `tape` everything but messages and the subsystems' own states.
    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.graph.state(tape);
        let Board { applied, read_stale, planned, outputs, history, models, .. } = &mut self.board;
        tape.values(applied);
        tape.values(read_stale);
        tape.values(&mut planned.coefficients);
        tape.numbers(&mut planned.sizes);
        tape.outputs(outputs);
        self.slots.iter_mut().for_each(|slot| tape.values(&mut slot.before));
        history.state(tape);
        if self.needs.models.is_some() {
            models.state(tape);
        }
        self.coupling.state(tape);
        self.consistency.state(tape);
        self.steps.state(tape);
        if let Some(control) = &mut self.control {
            control.state(tape);
        }
    }

    /// Goes back (or forward) to a saved state of the same run; what follows is bit for bit what followed then.
    ///
    /// The stop time may differ, unless a step was shortened to reach the old one.
    pub fn restore(&mut self, state: &RunState) -> Result<()> {
        self.parts.clear();
        self.parts_done = 0;
        self.put_back(state)
    }

    /// The same within a step that is walked in parts.
    pub(super) fn put_back(&mut self, state: &RunState) -> Result<()> {
        let is_same_size =
            state.numbers.size() == self.state_size && state.subsystems.len() == self.slots.len();
        // Looked at first, so that a state that does not fit changes nothing.
        if !is_same_size || !self.messages.fit(&state.messages) {
            return Err(foreign());
        }
        self.index = state.index;
        self.changes_done = state.changes_done;
        self.inside = state.inside;
        (self.termination, self.ended_trial, self.unwritten) = (None, None, None);
        self.plain_until = 0;
        self.messages.restore(&state.messages);
        self.restore_numbers(&state.numbers)?;
        self.check_grid()?;
        let pairs = self.slots.iter_mut().zip(&state.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }

    /// Reads back what [`Simulation::state`] wrote.
    pub(super) fn restore_numbers(&mut self, numbers: &StateData) -> Result<()> {
        let mut tape = Tape::read(numbers);
        self.state(&mut tape);
        if tape.is_at_end() { Ok(()) } else { Err(foreign()) }
    }

    /// Every subsystem must stand where it moves next.
    fn check_grid(&self) -> Result<()> {
        if self.is_done() || self.inside.is_some() {
            return Ok(());
        }
        for (id, slot) in self.slots.iter().enumerate() {
            let next = self.index.next_multiple_of(u64::from(slot.every));
            let (stands, starts) = (self.board.history.reached(id), self.clock.time(next));
            if (stands - starts).abs() > 1e-9 * self.clock.size() {
                return Err(Error::Unsupported {
                    what: "going on to another stop time".into(),
                    reason: format!(
                        "`{}` stands at {stands} s, where a step was shortened to reach the old stop time, not at {starts} s",
                        self.graph.name(id)
                    ),
                }
                .into());
            }
        }
        Ok(())
    }
}

fn foreign() -> Box<Error> {
    let reason = "it was saved from another system or with other settings".into();
    Error::Unsupported { what: "restoring this state".into(), reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::cases::case;

    /// A count out of range must neither be taken nor lead to a panic later on.
    #[test]
    fn a_state_with_impossible_counts_is_refused() {
        let case = case("two-mass").unwrap();
        let mut simulation = Simulation::new(case.system().unwrap(), &case.run).unwrap();
        let mut state = RunState::default();
        simulation.save(&mut state).unwrap();
        simulation.restore(&state).unwrap();
        assert!(!state.numbers.counts.is_empty());
        state.numbers.counts.fill(u64::MAX);
        let error = simulation.restore(&state).unwrap_err().to_string();
        assert!(error.contains("another system"), "{error}");
    }
}

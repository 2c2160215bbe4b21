//! Everything the next step depends on: one state for roll-back, checkpoints and analysis.

use super::run::Run;
use crate::error::{Error, Result};
use crate::system::{Hold, Horizon, Message, Snapshot};
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

    /// Takes over the holds on its snapshots: it may be restored as long as they live.
    pub fn take_holds(&mut self) -> Vec<Hold> {
        self.subsystems.iter_mut().map(|snapshot| std::mem::take(&mut snapshot.hold)).collect()
    }

    /// Every number of it: those of the run, then those of the subsystems in the order in which they move. For linear
    /// subsystems and methods a macro step is linear in those that are signals; others are times, counts and parameters.
    pub fn reals_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.numbers
            .reals
            .iter_mut()
            .chain(self.subsystems.iter_mut().flat_map(|snapshot| &mut snapshot.reals))
    }
}

impl Run {
    /// Writes everything the next step depends on into `state`, for as long as its horizon says.
    pub fn save(&mut self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes.made();
        state.inside = self.inside;
        self.state(&mut Tape::write(&mut state.numbers));
        self.network.messages.save(&mut state.messages);
        state.subsystems.resize_with(self.network.len(), Default::default);
        self.network.slots.iter_mut().zip(&mut state.subsystems).try_for_each(|(slot, snapshot)| {
            snapshot.horizon = state.horizon;
            slot.subsystem.save(snapshot)
        })
    }

    /// Shows `tape` everything but messages and the subsystems' own states.
    pub(super) fn state(&mut self, tape: &mut Tape<'_>) {
        self.network.state(tape);
        self.scheme.state(tape);
        if let Some(control) = &mut self.control {
            control.state(tape);
        }
    }

    /// Goes back (or forward) to a saved state of the same run; what follows is bit for bit what followed then.
    ///
    /// The stop time may differ, unless a step was shortened to reach the old one.
    pub fn restore(&mut self, state: &RunState) -> Result<()> {
        self.parts.clear();
        let is_same_size =
            state.numbers.size() == self.state_size && state.subsystems.len() == self.network.len();
        // Looked at first, so that a state that does not fit changes nothing.
        if !is_same_size || !self.network.messages.fit(&state.messages) {
            return Err(foreign());
        }
        self.index = state.index;
        self.changes.set_made(state.changes_done);
        self.inside = state.inside;
        self.scheme.staged_mut().forget_requests();
        self.recording.unwritten = None;
        self.plain_until = 0;
        self.network.messages.restore(&state.messages);
        self.restore_numbers(&state.numbers)?;
        self.check_grid()?;
        let pairs = self.network.slots.iter_mut().zip(&state.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }

    /// Reads back what [`Run::state`] wrote.
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
        for (id, slot) in self.network.slots.iter().enumerate() {
            let next = self.index.next_multiple_of(u64::from(slot.every));
            let (stands, starts) = (self.network.board.history.reached(id), self.clock.time(next));
            if (stands - starts).abs() > 1e-9 * self.clock.size() {
                return Err(Error::Unsupported {
                    what: "going on to another stop time".into(),
                    reason: format!(
                        "`{}` stands at {stands} s, where a step was shortened to reach the old stop time, not at {starts} s",
                        self.network.graph.name(id)
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

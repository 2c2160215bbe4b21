//! Everything the next step depends on: one state for roll-back, checkpoints and analysis.

use super::board::Board;
use super::simulation::Simulation;
use crate::error::{Error, Result};
use crate::system::{Hold, Horizon, Message, Snapshot};
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
    /// Offsets, inputs as given, as outputs were read with and as planned, outputs now and before, live signals, history, models, coupling memory, loop memory, choice of steps: in that order.
    pub(super) numbers: Vec<f64>,
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
        self.numbers.iter_mut().chain(self.subsystems.iter_mut().flat_map(|snapshot| &mut snapshot.reals))
    }
}

impl Simulation {
    /// Writes everything the next step depends on into `state`, for as long as its horizon says.
    pub fn save(&mut self, state: &mut RunState) -> Result<()> {
        state.index = self.index;
        state.changes_done = self.changes_done;
        state.inside = self.inside;
        self.save_numbers(&mut state.numbers);
        self.messages.save(&mut state.messages);
        state.subsystems.resize_with(self.slots.len(), Default::default);
        self.slots.iter_mut().zip(&mut state.subsystems).try_for_each(|(slot, snapshot)| {
            snapshot.horizon = state.horizon;
            slot.subsystem.save(snapshot)
        })
    }

    /// Whether a subsystem can take a step again.
    pub(crate) fn can_go_back(&self, id: usize) -> Result<()> {
        self.slots[id].subsystem.can_go_back()
    }

    /// Everything but the subsystems' own states.
    pub(super) fn save_numbers(&self, numbers: &mut Vec<f64>) {
        numbers.clear();
        let planned = &self.board.planned;
        for list in [
            self.graph.offsets(),
            &self.board.applied,
            &self.board.read_stale,
            &planned.coefficients,
            &planned.sizes,
            &self.board.outputs,
        ] {
            numbers.extend_from_slice(list);
        }
        self.slots.iter().for_each(|slot| numbers.extend_from_slice(&slot.before));
        self.graph.externals().iter().for_each(|(_, signal)| signal.save(numbers));
        self.board.history.save(numbers);
        if self.needs.models.is_some() {
            self.board.models.save(numbers);
        }
        self.coupling.save(numbers);
        self.consistency.save(numbers);
        self.steps.save(numbers);
        if let Some(control) = &self.control {
            control.save(numbers);
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
            state.numbers.len() == self.state_size && state.subsystems.len() == self.slots.len();
        if !is_same_size || !self.messages.fit(&state.messages) {
            return Err(Error::Unsupported {
                what: "restoring this state".into(),
                reason: "it was saved from another system or with other settings".into(),
            }
            .into());
        }
        self.index = state.index;
        self.changes_done = state.changes_done;
        self.inside = state.inside;
        (self.termination, self.ended_trial, self.unwritten) = (None, None, None);
        self.plain_until = 0;
        self.messages.restore(&state.messages);
        self.restore_numbers(&state.numbers);
        self.check_grid()?;
        let pairs = self.slots.iter_mut().zip(&state.subsystems);
        pairs.into_iter().try_for_each(|(slot, snapshot)| slot.subsystem.restore(snapshot))
    }

    /// Takes back what `save_numbers` wrote.
    pub(super) fn restore_numbers(&mut self, numbers: &[f64]) {
        let (offsets, mut rest) = numbers.split_at(self.graph.inputs());
        offsets.iter().enumerate().for_each(|(input, value)| self.graph.set_offset(input, *value));
        let Board { applied, read_stale, planned, outputs, .. } = &mut self.board;
        for list in [applied, read_stale, &mut planned.coefficients, &mut planned.sizes, outputs] {
            let (mine, others) = rest.split_at(list.len());
            list.copy_from_slice(mine);
            rest = others;
        }
        for slot in &mut self.slots {
            let (mine, others) = rest.split_at(slot.before.len());
            slot.before.copy_from_slice(mine);
            rest = others;
        }
        let rest = self.graph.externals_mut().fold(rest, |rest, signal| signal.restore(rest));
        let mut rest = self.board.history.restore(rest);
        if self.needs.models.is_some() {
            rest = self.board.models.restore(rest);
        }
        let rest = self.coupling.restore(rest);
        let rest = self.consistency.restore(rest);
        let mut rest = self.steps.restore(rest);
        if let Some(control) = &mut self.control {
            rest = control.restore(rest);
        }
        assert!(rest.is_empty(), "the state's size was checked");
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

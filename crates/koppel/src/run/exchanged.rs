//! What was exchanged in the last macro step, for those who judge the run.

use super::change::Target;
use super::config::Reading;
use super::simulation::Simulation;
use crate::error::Result;
use crate::signal::Samples;
use crate::solver::SolverConfig;
use crate::system::{InputId, Snapshot, SubsystemId, VariableId, VariableKind};

impl Simulation {
    /// Outputs of all subsystems now.
    pub(crate) fn all_outputs(&self) -> &[f64] {
        &self.board.outputs
    }

    /// True if every subsystem is exactly its matrices.
    pub fn is_linear(&self) -> bool {
        self.slots.iter().all(|slot| slot.subsystem.capabilities().is_linear)
    }

    /// Why a subsystem should not be moved but by the run itself: the end of a sentence that begins with its name.
    pub(crate) fn refusal(&self, id: SubsystemId) -> Option<String> {
        self.slots[id].subsystem.refusal()
    }

    /// What a connected input was given `tau` after the begin of the last step, without external signals.
    pub(crate) fn given(&self, input: InputId, tau: f64) -> f64 {
        self.board.planned.value(input, tau)
    }

    /// The mean of what a connected input was given over the last step, of this size, without external signals.
    pub(crate) fn given_on_average(&self, input: InputId, size: f64) -> f64 {
        self.board.planned.mean(input, size)
    }

    /// What is connected to each input now, without external signals.
    pub(crate) fn arrivals(&self) -> &[f64] {
        self.board.history.arrivals()
    }

    /// What each input was given at the end of the last step, without external signals.
    pub(crate) fn applied(&self) -> &[f64] {
        &self.board.applied
    }

    /// What the outputs were last read with, without external signals.
    pub(crate) fn read_with(&self) -> &[f64] {
        self.board.read_with()
    }

    /// The sum of the external signals on one input of a subsystem.
    pub(crate) fn external(&self, id: SubsystemId, input: InputId, time: f64) -> f64 {
        self.slots[id].external(&self.graph, input, time)
    }

    /// Pieces that inputs have within a step.
    pub(crate) fn pieces(&self) -> usize {
        self.board.planned.pieces()
    }

    /// Whether all subsystems move in every macro step.
    pub(crate) fn has_one_rate(&self) -> bool {
        !self.is_multi_rate
    }

    /// Whether outputs are read again once all have arrived.
    pub(crate) fn reads_fresh(&self) -> bool {
        self.reading == Reading::Fresh
    }

    /// Communication step, in s.
    pub(crate) fn step_size(&self) -> f64 {
        self.clock.step(0, 1).size
    }

    /// True between the parts of a macro step that is cut.
    pub fn is_inside_step(&self) -> bool {
        self.inside.is_some()
    }

    /// Begin of the part of a cut step that was done last, if it has just been done.
    pub(crate) fn part_start(&self) -> Option<f64> {
        match &self.parts[..self.parts_done] {
            [.., from, to] if *to == self.time() => Some(*from),
            _ => None,
        }
    }

    /// Outputs after the last timed changes that were made.
    pub(crate) fn outputs_after_changes(&self) -> &[f64] {
        &self.outputs_after
    }

    /// The states that were set by timed changes number `from` to now: whose, which, and to what.
    pub(crate) fn states_set(&self, from: usize) -> impl Iterator<Item = (SubsystemId, usize, f64)> {
        self.changes[from..self.changes_done].iter().filter_map(|change| match change.target {
            Target::Variable(id, VariableId { kind: VariableKind::Local, index }) => {
                Some((id, index, change.value))
            }
            _ => None,
        })
    }

    /// How many timed changes have been made.
    pub(crate) fn changes_made(&self) -> usize {
        self.changes_done
    }

    /// The solver of one subsystem, if it is one of ours.
    pub(crate) fn solver_config(&self, id: SubsystemId) -> Option<SolverConfig> {
        self.slots[id].subsystem.solver_config()
    }

    /// Whether a linear model of a subsystem takes trial steps.
    pub(crate) fn needs_trials(&self, id: SubsystemId) -> bool {
        self.slots[id].subsystem.needs_trials()
    }

    /// Whether nothing is asked of a subsystem but what the run itself needs.
    pub(crate) fn is_spared(&self, id: SubsystemId) -> bool {
        self.slots[id].subsystem.is_spared()
    }

    /// What the coupling was shown of a subsystem inside the newest step.
    pub(crate) fn samples(&self, id: SubsystemId) -> &Samples {
        &self.slots[id].samples
    }

    /// Saves one subsystem alone.
    pub(crate) fn snapshot(&mut self, id: SubsystemId, into: &mut Snapshot) -> Result<()> {
        self.slots[id].subsystem.save(into)
    }
}

//! Steps that are taken again: where a coupling sees that the inputs it gave over a step were wrong, all subsystems go back to
//! its begin and move once more with better ones.
//!
//! Everybody must be able to go back, and nothing but the coupling may have a say in what is given: a held input or a message
//! would already be that of the end of the step.

use super::simulation::{Simulation, view};
use crate::coupling::{Trial, not_repeated};
use crate::error::{Error, Result};
use crate::signal::Step;
use crate::system::{Horizon, Snapshot, SubsystemId};

/// Where to go back to.
#[derive(Default)]
pub(super) struct Repetition {
    snapshots: Vec<Snapshot>,
    /// Steps that were taken again, each time counted.
    count: u64,
}

impl Repetition {
    /// The state of a subsystem at the begin of the step.
    pub(super) fn snapshot(&self, id: SubsystemId) -> Option<&Snapshot> {
        self.snapshots.get(id)
    }
}

impl Simulation {
    /// Makes room to go back, if the coupling wants to and it can be done.
    pub(super) fn prepare_repetition(&mut self) {
        if !self.needs.repeats || self.lack_of_repetition().is_some() {
            return;
        }
        let snapshots = self.slots.iter().map(|_| Snapshot::new(Horizon::Step)).collect();
        self.repetition = Some(Box::new(Repetition { snapshots, count: 0 }));
    }

    /// The remark that steps cannot be taken again, if the coupling would do so.
    pub(super) fn remark_on_repetition(&self) -> Option<String> {
        if !self.needs.repeats {
            return None;
        }
        self.lack_of_repetition().map(|lack| not_repeated(&lack))
    }

    /// Why steps cannot be taken again.
    fn lack_of_repetition(&self) -> Option<String> {
        let is_iterated = self.is_iterated_somewhere() || self.halving.is_some();
        if !self.messages.is_empty() {
            return Some("messages cannot be taken back".into());
        }
        if is_iterated || self.is_multi_rate || self.needs.depth > 1 {
            return Some("other settings repeat steps, or look at the past".into());
        }
        if self.stages.iter().any(|stage| !stage.held.is_empty()) {
            return Some("some inputs are held".into());
        }
        let cannot = self.slots.iter().find(|slot| slot.subsystem.can_go_back().is_err())?;
        Some(format!("`{}` cannot go back", self.graph.name(cannot.id)))
    }

    /// Moves all stages over a step, again as long as the coupling asks for it.
    pub(super) fn move_repeatedly(&mut self, step: &Step, end: f64) -> Result<()> {
        let Some(mut repetition) = self.repetition.take() else { return self.move_all::<false>(step, end) };
        let done = self.repeat(&mut repetition, step, end);
        self.repetition = Some(repetition);
        done
    }

    fn repeat(&mut self, repetition: &mut Repetition, step: &Step, end: f64) -> Result<()> {
        for (slot, snapshot) in self.slots.iter().zip(&mut repetition.snapshots) {
            let cannot = |source: Box<Error>| Error::CannotRollBack {
                subsystem: self.graph.name(slot.id).into(),
                time: step.start,
                reason: source.to_string(),
            };
            slot.subsystem.save(snapshot).map_err(cannot)?;
        }
        loop {
            let done = self.move_all::<false>(step, end);
            let trial = if done.is_ok() { Trial::Done } else { Trial::Failed };
            let view = view(&self.graph, &self.board, *step);
            if !self.coupling.model_based().is_some_and(|coupling| coupling.again(&view, trial)) {
                return done;
            }
            repetition.count += 1;
            (self.termination, self.ended_trial) = (None, None);
            for (slot, snapshot) in self.slots.iter_mut().zip(&repetition.snapshots) {
                if let Err(source) = slot.subsystem.restore(snapshot) {
                    let subsystem = self.graph.name(slot.id).into();
                    // What broke it is worth more than that it cannot go back.
                    return done.and(Err(Error::Subsystem { subsystem, time: step.start, source }.into()));
                }
            }
        }
    }

    /// How often a step was taken again because the coupling saw that its inputs had been wrong.
    pub fn repetitions(&self) -> u64 {
        self.repetition.as_ref().map_or(0, |repetition| repetition.count)
    }
}

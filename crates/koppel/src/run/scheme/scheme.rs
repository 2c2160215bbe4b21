//! What every scheme does.

use super::staged::Staged;
use crate::error::Result;
use crate::iteration::LoopWork;
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Snapshot, SubsystemId};
use crate::tape::Tape;

/// A way to take a communication step.
pub(in crate::run) trait Scheme: Send {
    /// Moves the network over `step`, to the communication point `end`.
    fn step(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        network.refresh_models(step)?;
        let staged = self.staged_mut();
        (staged.outcome.start, staged.outcome.moved) = (step.start, 0);
        staged.begin.keep_outputs(network.outputs());
        self.keep_states(network);
        self.walk(network, step, end)
    }

    /// Keeps the states with which the step begins, if they are wanted.
    #[inline]
    fn keep_states(&mut self, network: &mut Network) {
        let Some(mut states) = self.staged_mut().begin.states.take() else { return };
        for (slot, snapshot) in network.slots.iter_mut().zip(&mut states.snapshots) {
            if snapshot.as_mut().is_some_and(|snapshot| slot.subsystem.save(snapshot).is_err()) {
                *snapshot = None;
            }
        }
        let mut tape = Tape::write(&mut states.numbers);
        network.state(&mut tape);
        self.state(&mut tape);
        self.staged_mut().begin.states = Some(states);
    }

    /// The same once models and the way back are taken care of: from the start of the step on.
    fn walk(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()>;

    /// The stages, and what the last step has left behind.
    fn staged(&self) -> &Staged;

    /// The same, to be changed.
    fn staged_mut(&mut self) -> &mut Staged;

    /// From macro step `index` on: the first that [`Scheme::plain_steps`] cannot take; 0 if it takes none.
    fn plain_until(&self, _index: u64) -> u64 {
        0
    }

    /// Takes macro steps in which nothing happens but an exchange of values, from `index` to `stop`, to a failure, or to the
    /// end of the step in which a subsystem has asked to end the run.
    fn plain_steps(&mut self, _network: &mut Network, _index: &mut u64, _stop: u64) -> Result<()> {
        Ok(())
    }

    /// The state of a subsystem at the start of the step under way, if the scheme keeps it anyway.
    fn snapshot(&self, _id: SubsystemId) -> Option<&Snapshot> {
        None
    }

    /// True if it keeps the states of black boxes.
    fn keeps_states(&self) -> bool {
        false
    }

    /// The work on one of the loops whose steps are iterated.
    fn loop_work(&self, _number: usize) -> Option<&LoopWork> {
        None
    }

    /// The same, to be changed.
    fn loop_work_mut(&mut self, _number: usize) -> Option<&mut LoopWork> {
        None
    }

    /// How often a step was halved because a loop did not converge.
    fn halvings(&self) -> u64 {
        0
    }

    /// How often a step was repeated because the coupling saw that its inputs had been wrong.
    fn repetitions(&self) -> u64 {
        0
    }

    /// Shows `tape` what the next step depends on.
    fn state(&mut self, _tape: &mut Tape<'_>) {}
}

impl Scheme for Staged {
    fn walk(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        Staged::walk(self, network, step, end)
    }

    fn staged(&self) -> &Staged {
        self
    }

    fn staged_mut(&mut self) -> &mut Staged {
        self
    }
}

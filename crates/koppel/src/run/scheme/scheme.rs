//! The trait of all schemes.

use super::staged::Staged;
use crate::error::Result;
use crate::iteration::LoopWork;
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Snapshot, SubsystemId};
use crate::tape::Tape;

/// A way to take a communication step.
pub(in crate::run) trait Scheme: Send {
    /// Takes a step to the communication point `end`: updates models, keeps what a roll-back needs, and advances the network.
    fn step(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        network.judge_and_update_models(step)?;
        let staged = self.staged_mut();
        (staged.outcome.start, staged.outcome.advanced) = (step.start, 0);
        staged.step_start.keep_outputs(network.outputs());
        self.keep_states(network);
        self.advance(network, step, end)
    }

    /// Keeps the states at the start of the step, if they were requested.
    #[inline]
    fn keep_states(&mut self, network: &mut Network) {
        let Some(mut states) = self.staged_mut().step_start.states.take() else { return };
        for (slot, snapshot) in network.slots.iter_mut().zip(&mut states.snapshots) {
            if snapshot.as_mut().is_some_and(|snapshot| slot.subsystem.save(snapshot).is_err()) {
                *snapshot = None;
            }
        }
        let mut tape = Tape::write(&mut states.numbers);
        network.state(&mut tape);
        self.state(&mut tape);
        self.staged_mut().step_start.states = Some(states);
    }

    /// Advances the network over `step`, to the communication point `end`.
    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()>;

    /// The stages, and how the last step ended.
    fn staged(&self) -> &Staged;

    /// The same, to be changed.
    fn staged_mut(&mut self) -> &mut Staged;

    /// The first macro step from `index` on that [`Scheme::plain_steps`] cannot take; 0 if it takes none.
    fn plain_until(&self, _index: u64) -> u64 {
        0
    }

    /// Takes macro steps that only exchange values, from `index` to `stop`, to a failure, or to the end of the step in which a
    /// subsystem has asked to end the run.
    fn plain_steps(&mut self, _network: &mut Network, _index: &mut u64, _stop: u64) -> Result<()> {
        Ok(())
    }

    /// The state of a subsystem at the start of the current step, if the scheme keeps it anyway.
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

    /// How often a step was repeated because the coupling found its inputs wrong.
    fn repetitions(&self) -> u64 {
        0
    }

    /// Shows `tape` the scheme's own state.
    fn state(&mut self, _tape: &mut Tape<'_>) {}
}

impl Scheme for Staged {
    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        Staged::advance(self, network, step, end)
    }

    fn staged(&self) -> &Staged {
        self
    }

    fn staged_mut(&mut self) -> &mut Staged {
        self
    }
}

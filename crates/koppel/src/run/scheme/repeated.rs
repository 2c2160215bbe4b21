//! Repeated steps: if a coupling finds that its inputs over a step were wrong, all subsystems roll back to the start of the step
//! and take it again with better inputs.
//!
//! All subsystems must be able to roll back, and only the coupling may write inputs: a held input or a message would already be
//! that of the end of the step.

use super::scheme::Scheme;
use super::staged::Staged;
use crate::coupling::StepResult;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Horizon, Snapshot, SubsystemId};

/// A staged scheme whose steps may be repeated.
pub(super) struct Repeated {
    staged: Staged,
    /// Where to roll back to.
    snapshots: Vec<Snapshot>,
    /// How often steps were repeated.
    count: u64,
}

/// Why steps cannot be repeated, if they cannot.
pub(super) fn obstacle(staged: &Staged, network: &Network, is_iterated: bool) -> Option<String> {
    if !network.messages.is_empty() {
        return Some("messages cannot be rolled back".into());
    }
    if is_iterated || staged.is_multi_rate || network.needs.depth > 1 {
        return Some("other settings repeat steps or use past values".into());
    }
    if staged.stages.iter().any(|stage| !stage.held.is_empty()) {
        return Some("some inputs are held".into());
    }
    let cannot = (0..network.len()).find(|id| network.subsystem(*id).can_roll_back().is_err())?;
    Some(format!("`{}` cannot roll back", network.graph.name(cannot)))
}

impl Repeated {
    pub(super) fn new(staged: Staged, network: &Network) -> Self {
        let snapshots = (0..network.len()).map(|_| Snapshot::new(Horizon::Step)).collect();
        Repeated { staged, snapshots, count: 0 }
    }

    /// Advances all stages over a step, and repeats it as long as the coupling asks for it.
    fn advance_repeatedly(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
        for (slot, snapshot) in network.slots.iter_mut().zip(&mut self.snapshots) {
            let cannot = |source: Box<Error>| Error::CannotRollBack {
                subsystem: network.graph.name(slot.id).into(),
                time: step.start,
                reason: source.to_string(),
            };
            slot.subsystem.save(snapshot).map_err(cannot)?;
        }
        loop {
            let done = self.staged.advance_all(network, step, end);
            let trial = if done.is_ok() { StepResult::Completed } else { StepResult::Failed };
            let Network { coupling, graph, board, slots, .. } = network;
            let view = board.view(graph, *step);
            if !coupling.model_based().is_some_and(|coupling| coupling.must_repeat(&view, trial)) {
                return done;
            }
            self.count += 1;
            self.staged.outcome.forget_requests();
            for (slot, snapshot) in slots.iter_mut().zip(&self.snapshots) {
                if let Err(source) = slot.subsystem.restore(snapshot) {
                    let subsystem = graph.name(slot.id).into();
                    // The original failure says more than the failed roll-back.
                    return done.and(Err(Error::Subsystem { subsystem, time: step.start, source }.into()));
                }
            }
        }
    }
}

impl Scheme for Repeated {
    fn advance(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.staged.prepare(network, step)?;
        self.advance_repeatedly(network, &step, end)?;
        self.staged.finish(network, end)
    }

    fn staged(&self) -> &Staged {
        &self.staged
    }

    fn staged_mut(&mut self) -> &mut Staged {
        &mut self.staged
    }

    fn snapshot(&self, id: SubsystemId) -> Option<&Snapshot> {
        self.snapshots.get(id)
    }

    fn keeps_states(&self) -> bool {
        true
    }

    fn repetitions(&self) -> u64 {
        self.count
    }
}

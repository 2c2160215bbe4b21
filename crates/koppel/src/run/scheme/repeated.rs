//! Steps that are repeated: where a coupling sees that the inputs it gave over a step were wrong, all subsystems roll back to
//! its start and move once more with better ones.
//!
//! Everybody must be able to roll back, and nothing but the coupling may have a say in what is given: a held input or a message
//! would already be that of the end of the step.

use super::scheme::Scheme;
use super::staged::Staged;
use crate::coupling::Trial;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::signal::Step;
use crate::system::{Horizon, Snapshot, SubsystemId};

/// A staged scheme whose steps may be repeated.
pub(super) struct Repeated {
    staged: Staged,
    /// Where to roll back to.
    snapshots: Vec<Snapshot>,
    /// Steps that were repeated, each time counted.
    count: u64,
}

/// Why steps cannot be repeated, if they cannot.
pub(super) fn lack(staged: &Staged, network: &Network, is_iterated: bool) -> Option<String> {
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

    /// Moves all stages over a step, again as long as the coupling asks for it.
    fn move_repeatedly(&mut self, network: &mut Network, step: &Step, end: f64) -> Result<()> {
        for (slot, snapshot) in network.slots.iter_mut().zip(&mut self.snapshots) {
            let cannot = |source: Box<Error>| Error::CannotRollBack {
                subsystem: network.graph.name(slot.id).into(),
                time: step.start,
                reason: source.to_string(),
            };
            slot.subsystem.save(snapshot).map_err(cannot)?;
        }
        loop {
            let done = self.staged.move_all(network, step, end);
            let trial = if done.is_ok() { Trial::Done } else { Trial::Failed };
            let Network { coupling, graph, board, slots, .. } = network;
            let view = board.view(graph, *step);
            if !coupling.model_based().is_some_and(|coupling| coupling.again(&view, trial)) {
                return done;
            }
            self.count += 1;
            self.staged.outcome.forget_requests();
            for (slot, snapshot) in slots.iter_mut().zip(&self.snapshots) {
                if let Err(source) = slot.subsystem.restore(snapshot) {
                    let subsystem = graph.name(slot.id).into();
                    // What broke it is worth more than that it cannot roll back.
                    return done.and(Err(Error::Subsystem { subsystem, time: step.start, source }.into()));
                }
            }
        }
    }
}

impl Scheme for Repeated {
    fn walk(&mut self, network: &mut Network, step: Step, end: f64) -> Result<()> {
        self.staged.prepare(network, step)?;
        self.move_repeatedly(network, &step, end)?;
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

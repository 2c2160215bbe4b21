//! Whether members of a loop evaluate their outputs again when inputs are set between steps.
//!
//! Without that no loop can be solved at a communication point: the solver would take what the last step has left for the
//! solution. A black box may follow its inputs while it is initialised and not do so later, so what it does at the first communication
//! point is held against what it did at the start.

use super::consistent::Instant;
use crate::error::{Error, Result};
use crate::system::{OutputId, SubsystemId};

/// By how much all inputs of a member are moved, relative to their size.
const DELTA: f64 = 1e-2;

pub(super) struct Reaction {
    outputs: Vec<OutputId>,
    /// Members that followed their inputs at the start.
    followers: Vec<SubsystemId>,
    is_checked: bool,
}

impl Reaction {
    pub(super) fn new(outputs: &[OutputId]) -> Self {
        Reaction { outputs: outputs.to_vec(), followers: Vec::new(), is_checked: false }
    }

    /// Notes at the start which members follow their inputs.
    pub(super) fn note(&mut self, now: &mut Instant<'_>, members: &[SubsystemId]) -> Result<()> {
        self.followers.clear();
        for &id in members {
            if self.follows(now, id)? {
                self.followers.push(id);
            }
        }
        Ok(())
    }

    /// Refuses, the first time it is asked, members that do so no more.
    #[inline]
    pub(super) fn check(&mut self, now: &mut Instant<'_>, path: &str) -> Result<()> {
        if self.is_checked { Ok(()) } else { self.check_once(now, path) }
    }

    #[cold]
    fn check_once(&mut self, now: &mut Instant<'_>, path: &str) -> Result<()> {
        self.is_checked = true;
        for id in self.followers.clone() {
            if !self.follows(now, id)? {
                return Err(Error::Unsupported {
                    what: format!("solving the loop {path} at communication points"),
                    reason: format!(
                        "`{}` does not evaluate its outputs again when inputs are set between steps (t = {} s); use reading = \"stale\" and iteration = {{ kind = \"step\" }}, or a filter",
                        now.graph.name(id),
                        now.time
                    ),
                }
                .into());
            }
        }
        Ok(())
    }

    /// True if an output of the loop changes with the inputs of its subsystem, which is left as it was.
    fn follows(&self, now: &mut Instant<'_>, id: SubsystemId) -> Result<bool> {
        let range = now.graph.outputs_of(id);
        let kept = now.board.outputs[range.clone()].to_vec();
        let mut follows = false;
        for direction in [1.0, -1.0, 0.0] {
            now.read_disturbed(id, direction * DELTA)?;
            let own = self.outputs.iter().filter(|output| range.contains(output));
            let mut own = own.map(|output| (now.board.outputs[*output], kept[output - range.start]));
            follows |= direction != 0.0 && own.any(|(disturbed, before)| disturbed != before);
        }
        now.board.outputs[range].copy_from_slice(&kept);
        Ok(follows)
    }
}

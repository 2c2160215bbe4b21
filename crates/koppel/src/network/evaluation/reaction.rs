//! Whether members of a loop evaluate their outputs again when inputs are set between steps.
//!
//! Without that no loop can be solved at a communication point: the solver would take what the last step has left for the
//! solution. A black box may follow its inputs while it is initialised and not do so later, so what it does at the first communication
//! point is held against what it did at the start. A member may also rest at a limit or in a dead band. So it is refused only if it gives
//! the same with the inputs of the start too, and if its own derivatives, where it tells them, say that it should follow.

use super::Instant;
use crate::diagnostic::Seconds;
use crate::error::{Error, Result};
use crate::system::{OutputId, SubsystemId};

/// By how much all inputs of a member are moved, relative to their size.
const DELTA: f64 = 1e-2;

pub(super) struct Reaction {
    outputs: Vec<OutputId>,
    /// Members that followed their inputs at the start, with inputs which showed it.
    followers: Vec<(SubsystemId, Vec<Vec<f64>>)>,
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
                let shown = [0.0, DELTA, -DELTA].map(|part| now.gather(id, part).to_vec());
                self.followers.push((id, shown.into()));
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
        for (id, shown) in std::mem::take(&mut self.followers) {
            if !(self.follows(now, id)? || self.rests(now, id)? || self.follows_others(now, id, &shown)?) {
                return Err(Error::Unsupported {
                    what: format!("solving the loop {path} at communication points").into(),
                    reason: format!(
                        "`{}` does not evaluate its outputs again when inputs are set between steps (t = {} s); use reading = \"stale\" and iteration = {{ kind = \"step\" }}, or a filter",
                        now.graph.name(id),
                        Seconds(now.time)
                    ),
                }
                .into());
            }
        }
        Ok(())
    }

    /// True if its own derivatives tell that no output of the loop follows its inputs where it stands.
    fn rests(&self, now: &mut Instant<'_>, id: SubsystemId) -> Result<bool> {
        let range = now.graph.outputs_of(id);
        let inputs = now.gather(id, 0.0).to_vec();
        let model = now.slots[id].subsystem.linearize(&inputs).map_err(|source| {
            let subsystem = now.graph.name(id).into();
            Error::Subsystem { subsystem, time: now.time, source }
        })?;
        let own = self.outputs.iter().filter(|output| range.contains(output));
        Ok(model.is_some_and(|model| {
            own.into_iter().all(|o| (0..model.d.cols()).all(|j| model.d[(o - range.start, j)] == 0.0))
        }))
    }

    /// True if an output of the loop is another with other inputs; the subsystem is left as it was.
    fn follows_others(&self, now: &mut Instant<'_>, id: SubsystemId, others: &[Vec<f64>]) -> Result<bool> {
        let range = now.graph.outputs_of(id);
        let kept = now.board.outputs[range.clone()].to_vec();
        let mut follows = false;
        for inputs in others {
            now.read_with(id, inputs)?;
            let mut own = self.outputs.iter().filter(|output| range.contains(output));
            follows |= own.any(|output| now.board.outputs[*output] != kept[output - range.start]);
        }
        now.read(id)?;
        now.board.outputs[range].copy_from_slice(&kept);
        Ok(follows)
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

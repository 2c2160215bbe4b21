//! The end of initialization. Some black boxes tell what their outputs are only then, when it is too late to give them other inputs:
//! they are started anew with those that belong to what the others tell, in loops as often as the solver asks.

use super::consistent::{Consistency, Instant};
use crate::error::{Error, Result};
use crate::system::{Subsystem, SubsystemId, VariableId, start_anew};

pub(super) struct LateStart {
    /// What was set in each subsystem before the start.
    settings: Vec<Vec<(VariableId, f64)>>,
    can_start_anew: bool,
    is_late: Vec<bool>,
}

impl LateStart {
    pub(super) fn new(settings: Vec<Vec<(VariableId, f64)>>, can_start_anew: bool) -> Self {
        LateStart { is_late: vec![false; settings.len()], settings, can_start_anew }
    }

    /// True for those that tell their outputs only when they have left.
    #[inline]
    pub(super) fn is_late(&self, id: SubsystemId) -> bool {
        self.is_late[id]
    }

    /// The outputs of such a subsystem with these inputs.
    #[cold]
    pub(super) fn read(
        &self,
        id: SubsystemId,
        subsystem: &mut dyn Subsystem,
        time: f64,
        inputs: &[f64],
        outputs: &mut [f64],
    ) -> Result<()> {
        start_anew(subsystem, time, &self.settings[id], inputs, outputs)
    }

    /// All leave their initialization, with inputs that belong to the outputs all have then.
    ///
    /// Every round finds one more that is late, or is the last one.
    pub(super) fn leave_initialization(
        &mut self,
        consistency: &mut Consistency,
        now: &mut Instant<'_>,
    ) -> Result<()> {
        let all = 0..now.slots.len();
        let mut has_left = vec![false; all.len()];
        loop {
            let given: Vec<Vec<f64>> = all.clone().map(|id| now.gather(id, 0.0).to_vec()).collect();
            let mut has_changed = false;
            for id in all.clone() {
                let Some(is_other) = self.leave(id, now)? else { continue };
                has_left[id] = true;
                if is_other {
                    (self.is_late[id], has_changed) = (true, true);
                    now.deliver(id);
                }
            }
            if !has_changed {
                return Ok(());
            }
            let is_missed = |id| has_left[id] && !same(now.gather(id, 0.0), &given[id]);
            if !self.can_start_anew || !all.clone().any(is_missed) {
                return consistency.initialize(now);
            }
            for id in all.clone() {
                if has_left[id] && !self.is_late[id] {
                    self.enter(id, now)?;
                }
            }
            let Instant { graph, slots, board, inputs, time, .. } = now;
            consistency.initialize(&mut Instant {
                graph,
                slots,
                board,
                inputs,
                time: *time,
                late: Some(self),
            })?;
        }
    }

    /// Some if it was in its initialization, and whether its outputs are others now.
    fn leave(&self, id: SubsystemId, now: &mut Instant<'_>) -> Result<Option<bool>> {
        let slot = &mut now.slots[id];
        let outputs = &mut now.board.outputs[slot.outputs.clone()];
        let before = outputs.to_vec();
        let mut leave = || {
            let has_left = slot.subsystem.leave_initialization()?;
            if has_left {
                slot.subsystem.read(None, outputs)?;
            }
            Ok(has_left)
        };
        let has_left = leave().map_err(|source| failed(now, id, source))?;
        Ok(has_left.then(|| !same(&before, &now.board.outputs[now.graph.outputs_of(id)])))
    }

    /// Back into its initialization.
    fn enter(&self, id: SubsystemId, now: &mut Instant<'_>) -> Result<()> {
        let subsystem = &mut now.slots[id].subsystem;
        let mut enter = || {
            subsystem.initialize(now.time)?;
            self.settings[id].iter().try_for_each(|(variable, value)| subsystem.set(*variable, *value))
        };
        enter().map_err(|source| failed(now, id, source).into())
    }
}

fn failed(now: &Instant<'_>, id: SubsystemId, source: Box<Error>) -> Error {
    Error::Subsystem { subsystem: now.graph.name(id).into(), time: now.time, source }
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

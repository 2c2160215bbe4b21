//! The end of initialization. Some black boxes tell what their outputs are only then.
//!
//! All leave in the order of evaluation, each with inputs that belong to what the others have told by then. In loops, and wherever
//! an output turns out to be another one later, that is too late: those who have left with other inputs are re-initialised.

use super::Instant;
use super::loop_solver::LoopSolver;
use crate::error::{Error, Result};
use crate::system::{InitialConditions, SubsystemId, SystemGraph, VariableId, are_in_cycles};
use std::cell::OnceCell;

/// Inputs that differ by less than this part of their size are the same.
const SAME: f64 = 1e-9;

pub(in crate::network) struct LateStart {
    /// What was set in each subsystem before the start.
    settings: Vec<Vec<(VariableId, f64)>>,
    /// Whether each may be started again.
    may_start: Vec<bool>,
    /// Those that follow themselves, at once or not, once that was asked.
    are_in_cycles: OnceCell<Vec<bool>>,
    /// The inputs each has left or was read with last.
    given: Vec<Option<Vec<f64>>>,
    /// Those that were in initialization.
    has_left: Vec<bool>,
    /// True if an output is another one than before.
    pub(in crate::network) has_changed: bool,
    /// True if the present pass has done something.
    is_under_way: bool,
}

impl LateStart {
    pub(in crate::network) fn new(settings: Vec<Vec<(VariableId, f64)>>, may_start: Vec<bool>) -> Self {
        LateStart {
            are_in_cycles: OnceCell::new(),
            given: vec![None; settings.len()],
            has_left: vec![false; settings.len()],
            settings,
            may_start,
            has_changed: false,
            is_under_way: false,
        }
    }

    /// True if a subsystem is re-initialised to be read with other inputs.
    #[inline]
    pub(in crate::network) fn is_late(&self, id: SubsystemId) -> bool {
        self.has_left[id] && self.may_start[id]
    }

    /// What such a subsystem begins with.
    pub(in crate::network) fn beginning<'a>(
        &'a self,
        id: SubsystemId,
        time: f64,
        inputs: &'a [f64],
    ) -> InitialConditions<'a> {
        InitialConditions { time, settings: &self.settings[id], inputs }
    }

    /// True if something was done since this was asked last.
    pub(in crate::network) fn take_progress(&mut self) -> bool {
        std::mem::take(&mut self.is_under_way)
    }

    /// One subsystem leaves, or is evaluated again if its inputs are others now.
    pub(in crate::network) fn visit(&mut self, id: SubsystemId, now: &mut Instant<'_>) -> Result<()> {
        let inputs = now.gather(id, 0.0).to_vec();
        match &self.given[id] {
            None => self.leave(id, now)?,
            Some(given) if near(&inputs, given) => return Ok(()),
            // Those that follow themselves would be started for each other without end.
            Some(_) if self.is_late(id) && !self.is_in_cycle(id, now.graph) => {
                self.has_changed = true;
                self.restarting(now).read(id)?;
            }
            Some(_) => now.read(id)?,
        }
        self.given[id] = Some(inputs);
        // As long as nothing has changed everything is where it was.
        if self.has_changed {
            self.is_under_way = true;
            now.deliver(id);
        }
        Ok(())
    }

    /// The members of a loop leave. Where they tell something else then, or have been given something else since, it is solved again.
    pub(super) fn visit_loop(&mut self, solver: &mut LoopSolver, now: &mut Instant<'_>) -> Result<()> {
        let members = solver.members().to_vec();
        for &id in &members {
            if self.given[id].is_none() {
                self.visit(id, now)?;
            }
        }
        let is_other = |id: &SubsystemId, now: &mut Instant<'_>| {
            let inputs = now.gather(*id, 0.0);
            self.given[*id].as_ref().is_none_or(|given| !near(inputs, given))
        };
        if !self.has_changed || !members.iter().any(|id| is_other(id, now)) {
            return Ok(());
        }
        self.is_under_way = true;
        if members.iter().all(|id| self.may_start[*id] || !self.has_left[*id]) {
            self.solve(solver, now)?;
        } else {
            // Once around with what they tell.
            for &id in &members {
                now.read(id)?;
                now.deliver(id);
            }
        }
        for id in members {
            self.given[id] = Some(now.gather(id, 0.0).to_vec());
        }
        Ok(())
    }

    fn is_in_cycle(&self, id: SubsystemId, graph: &SystemGraph) -> bool {
        self.are_in_cycles.get_or_init(|| are_in_cycles(graph))[id]
    }

    /// The instant with every subsystem that has left re-initialised for reading.
    fn restarting<'a>(&'a self, now: &'a mut Instant<'_>) -> Instant<'a> {
        let Instant { graph, slots, board, inputs, time, .. } = now;
        Instant { graph, slots, board, inputs, time: *time, late: Some(self) }
    }

    fn solve(&mut self, solver: &mut LoopSolver, now: &mut Instant<'_>) -> Result<()> {
        let members = solver.members().to_vec();
        match solver.solve(&mut self.restarting(now)) {
            // They do not solve it between steps either: the run begins with what they told first.
            Err(error) if is_unsolved(&error) => {
                for &id in &members {
                    let given = self.given[id].clone().unwrap_or_default();
                    if self.restarting(now).read_with(id, &given).is_err() {
                        return Err(error);
                    }
                }
            }
            other => other?,
        }
        // What they are exactly.
        for id in members {
            if self.has_left[id] {
                now.read_left(id)?;
            }
            now.deliver(id);
        }
        Ok(())
    }

    fn leave(&mut self, id: SubsystemId, now: &mut Instant<'_>) -> Result<()> {
        if self.has_changed {
            now.read(id)?;
        }
        let before = now.board.outputs[now.graph.outputs_of(id)].to_vec();
        let left = now.slots[id].subsystem.leave_initialization();
        self.has_left[id] = left.map_err(|source| now.failed(id, source))?;
        if self.has_left[id] {
            now.read_left(id)?;
            let outputs = &now.board.outputs[now.graph.outputs_of(id)];
            self.has_changed |= before.iter().zip(outputs).any(|(a, b)| a.to_bits() != b.to_bits());
        }
        Ok(())
    }
}

/// A loop that its members do not let be solved, or in which one fails with what was tried.
fn is_unsolved(error: &Error) -> bool {
    matches!(error, Error::LoopNotSolved { .. } | Error::Linalg { .. } | Error::Subsystem { .. })
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= SAME * a.abs().max(b.abs()) || a.to_bits() == b.to_bits())
}

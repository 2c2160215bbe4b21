//! Outputs that belong to one instant: every output with direct feed-through is read with u = L y set first, in the order
//! of evaluation; algebraic loops are solved.

use super::board::Board;
use super::loop_solver::LoopSolver;
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::system::{Component, SubsystemId, SystemGraph, evaluation_order};

/// The order of evaluation, with a solver for each loop.
pub(super) struct Consistency {
    parts: Vec<Part>,
}

enum Part {
    Read(Vec<SubsystemId>),
    Loop(Box<LoopSolver>),
}

/// The run at one instant.
pub(super) struct Instant<'a> {
    pub(super) graph: &'a SystemGraph,
    pub(super) slots: &'a mut [Slot],
    pub(super) board: &'a mut Board,
    pub(super) inputs: &'a mut [f64],
    pub(super) time: f64,
}

impl Instant<'_> {
    /// Reads a subsystem with the inputs its sources and external signals give it now.
    pub(super) fn read(&mut self, id: SubsystemId) -> Result<()> {
        let slot = &mut self.slots[id];
        let inputs = &mut self.inputs[..slot.inputs.len()];
        for (u, input) in inputs.iter_mut().zip(slot.inputs.clone()) {
            let mut arrival = self.board.history.arrivals()[input];
            // A table may not know a value on the way to a consistent start; what it does not know in the end is told then.
            if arrival.is_nan() && self.graph.map(input).is_some() {
                arrival = self.graph.input_variable(input).start;
            }
            *u = arrival + slot.external(self.graph, input, self.time);
        }
        slot.subsystem.read(Some(inputs), &mut self.board.outputs[slot.outputs.clone()]).map_err(|source| {
            let subsystem = self.graph.name(id).into();
            Error::Subsystem { subsystem, time: self.time, source }.into()
        })
    }

    /// Sends its outputs on their way.
    pub(super) fn deliver(&mut self, id: SubsystemId) {
        self.board.deliver_one(self.graph, id, self.time);
    }

    /// True if a subsystem has come to this instant; one with a slower rate may be ahead.
    pub(super) fn is_here(&self, id: SubsystemId) -> bool {
        self.board.history.reached(id) == self.time
    }
}

impl Consistency {
    pub(super) fn new(graph: &SystemGraph) -> Self {
        let part = |component| match component {
            Component::Direct(ids) => Part::Read(ids),
            Component::Loop(outputs) => Part::Loop(Box::new(LoopSolver::new(graph, outputs))),
        };
        Consistency { parts: evaluation_order(graph).into_iter().map(part).collect() }
    }

    /// True if outputs depend on states alone, so that there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Reads everything at the start, first what depends on states alone.
    pub(super) fn initialize(&mut self, mut now: Instant<'_>) -> Result<()> {
        for id in 0..now.slots.len() {
            now.read(id)?;
            now.deliver(id);
        }
        for part in &self.parts {
            if let Part::Loop(solver) = part {
                solver.guess(&mut now);
            }
        }
        self.refresh(&mut now)?;
        // Once more, so that every subsystem, loops or not, has been given its consistent inputs.
        (0..now.slots.len()).try_for_each(|id| now.read(id))
    }

    /// Makes the outputs of all subsystems that are here belong together.
    pub(super) fn refresh(&mut self, now: &mut Instant<'_>) -> Result<()> {
        for part in &mut self.parts {
            match part {
                Part::Read(ids) => {
                    for &id in ids.iter() {
                        if now.is_here(id) {
                            now.read(id)?;
                            now.deliver(id);
                        }
                    }
                }
                Part::Loop(solver) => solver.solve(now)?,
            }
        }
        Ok(())
    }

    /// Appends what the loop solvers remember.
    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        for part in &self.parts {
            if let Part::Loop(solver) = part {
                solver.save(memory);
            }
        }
    }

    /// Takes back what `save` wrote and returns the rest.
    pub(super) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.parts.iter_mut().fold(memory, |rest, part| match part {
            Part::Loop(solver) => solver.restore(rest),
            Part::Read(_) => rest,
        })
    }
}

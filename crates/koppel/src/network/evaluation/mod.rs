//! Outputs that belong to one instant: every output with direct feed-through is read with u = L y set first, in the order
//! of evaluation; algebraic loops are solved.

mod late_start;
mod loop_derivatives;
mod loop_solver;
mod outputs;
mod reaction;

pub(super) use late_start::LateStart;
use loop_solver::LoopSolver;
use outputs::OutputIteration;

use super::board::Board;
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::iteration::{IterationConfig, LoopWork};
use crate::system::{Component, Reach, SubsystemId, SystemGraph, evaluation_order_with, reinitialize};
use crate::tape::Tape;
use serde::{Deserialize, Serialize};

/// When outputs with direct feed-through are read at a communication point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// With the inputs of the same instant set first: all outputs belong together.
    #[default]
    Fresh,
    /// With the inputs held at the end of the finished step.
    Stale,
}

/// The order of evaluation, with a solver for each loop.
pub(in crate::network) struct Evaluation {
    parts: Vec<Part>,
    /// The parts of the start, where filters are at rest and let everything through; none if there are no filters.
    at_start: Vec<Part>,
    /// Loops are iterated whatever the reading.
    is_iterated: bool,
}

enum Part {
    Read(Vec<SubsystemId>),
    Loop(Box<LoopSolver>, Option<Box<OutputIteration>>),
}

/// The network at one instant.
pub(in crate::network) struct Instant<'a> {
    pub(in crate::network) graph: &'a SystemGraph,
    pub(in crate::network) slots: &'a mut [Slot],
    pub(in crate::network) board: &'a mut Board,
    pub(in crate::network) inputs: &'a mut [f64],
    pub(in crate::network) time: f64,
    /// Those that are re-initialised whenever they are read, at the start only.
    pub(in crate::network) late: Option<&'a LateStart>,
}

impl Instant<'_> {
    /// Reads a subsystem with the inputs its sources and external signals give it now.
    pub(in crate::network) fn read(&mut self, id: SubsystemId) -> Result<()> {
        self.read_disturbed(id, 0.0)
    }

    /// The same with every input moved by `part` of its size.
    pub(in crate::network) fn read_disturbed(&mut self, id: SubsystemId, part: f64) -> Result<()> {
        self.gather(id, part);
        self.read_gathered(id)
    }

    /// Reads a subsystem with these inputs.
    pub(in crate::network) fn read_with(&mut self, id: SubsystemId, inputs: &[f64]) -> Result<()> {
        self.inputs[..inputs.len()].copy_from_slice(inputs);
        self.read_gathered(id)
    }

    /// What its sources and external signals give a subsystem now, every input moved by `part` of its size.
    #[inline]
    pub(in crate::network) fn gather(&mut self, id: SubsystemId, part: f64) -> &[f64] {
        let slot = &self.slots[id];
        let inputs = &mut self.inputs[..slot.inputs.len()];
        for (u, input) in inputs.iter_mut().zip(slot.inputs.clone()) {
            let mut arrival = self.board.history.arrivals()[input];
            // A table may not know a value on the way to a consistent start; what it does not know in the end is reported then.
            if arrival.is_nan() && self.graph.map(input).is_some() {
                arrival = self.graph.input_variable(input).start;
            }
            *u = arrival + slot.external(self.graph, input, self.time);
            if part == 0.0 {
                self.board.note_read(input, arrival);
            } else if !self.graph.input_variable(input).is_held {
                let nominal = self.graph.input_variable(input).nominal.unwrap_or(0.0).abs();
                let size = u.abs().max(nominal);
                *u += part * if size > 0.0 { size } else { 1.0 };
            }
        }
        inputs
    }

    #[inline]
    fn read_gathered(&mut self, id: SubsystemId) -> Result<()> {
        let slot = &mut self.slots[id];
        let inputs = &self.inputs[..slot.inputs.len()];
        let outputs = &mut self.board.outputs[slot.outputs.clone()];
        let done = match self.late {
            Some(late) if late.is_late(id) => {
                reinitialize(&mut *slot.subsystem, &late.beginning(id, self.time, inputs), outputs)
            }
            _ => slot.subsystem.read(Some(inputs), outputs),
        };
        done.map_err(|source| self.failed(id, source))
    }

    /// Reads a subsystem as it was left.
    pub(in crate::network) fn read_left(&mut self, id: SubsystemId) -> Result<()> {
        let slot = &mut self.slots[id];
        let read = slot.subsystem.read(None, &mut self.board.outputs[slot.outputs.clone()]);
        read.map_err(|source| self.failed(id, source))
    }

    #[cold]
    pub(in crate::network) fn failed(&self, id: SubsystemId, source: Box<Error>) -> Box<Error> {
        Error::Subsystem { subsystem: self.graph.name(id).into(), time: self.time, source }.into()
    }

    /// Sends its outputs on their way.
    pub(in crate::network) fn deliver(&mut self, id: SubsystemId) {
        self.board.deliver_one(self.graph, id, self.time);
    }

    /// True if a subsystem has come to this instant; one with a slower rate may be ahead.
    pub(in crate::network) fn is_here(&self, id: SubsystemId) -> bool {
        self.board.history.reached(id) == self.time
    }
}

impl Evaluation {
    /// With `iteration`, loops are iterated as it says; else, if they are read fresh, by the solver that finds the start.
    pub(in crate::network) fn new(graph: &SystemGraph, iteration: Option<&IterationConfig>) -> Self {
        let part = |component, iteration: Option<&IterationConfig>| match component {
            Component::Direct(ids) => Part::Read(ids),
            Component::Loop(outputs) => {
                let iterated = |config| Box::new(OutputIteration::new(graph, outputs.clone(), config));
                let iteration = iteration.map(iterated);
                Part::Loop(Box::new(LoopSolver::new(graph, outputs)), iteration)
            }
        };
        let order = |reach| evaluation_order_with(graph, reach).into_iter();
        let has_filters = (0..graph.outputs()).any(|o| graph.output_variable(o).filtered.is_some());
        let at_start = has_filters.then(|| order(Reach::ThroughFilters).map(|c| part(c, None)).collect());
        let parts: Vec<Part> = order(Reach::ToFilters).map(|c| part(c, iteration)).collect();
        let is_iterated = parts.iter().any(|part| matches!(part, Part::Loop(_, Some(_))));
        Evaluation { parts, at_start: at_start.unwrap_or_default(), is_iterated }
    }

    /// True if there is something to do at a communication point.
    #[inline]
    pub(in crate::network) fn is_due(&self, reading: Reading) -> bool {
        self.is_iterated || (reading == Reading::Fresh && !self.parts.is_empty())
    }

    /// The work on each iterated loop.
    pub(in crate::network) fn works(&self) -> impl Iterator<Item = &LoopWork> {
        self.parts.iter().filter_map(|part| match part {
            Part::Loop(_, iteration) => iteration.as_ref().map(|iteration| iteration.work()),
            Part::Read(_) => None,
        })
    }

    pub(in crate::network) fn works_mut(&mut self) -> impl Iterator<Item = &mut LoopWork> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Loop(_, iteration) => iteration.as_mut().map(|iteration| iteration.work_mut()),
            Part::Read(_) => None,
        })
    }

    /// Reads everything at the start, first what depends on states alone.
    pub(in crate::network) fn initialize(&mut self, now: &mut Instant<'_>) -> Result<()> {
        for id in 0..now.slots.len() {
            now.read(id)?;
            now.deliver(id);
        }
        let has_filters = !self.at_start.is_empty();
        let parts = if has_filters { &mut self.at_start } else { &mut self.parts };
        for part in parts.iter() {
            if let Part::Loop(solver, _) = part {
                solver.guess(now);
            }
        }
        parts.iter_mut().try_for_each(|part| part.refresh(now, None))?;
        for part in &mut self.parts {
            if let Part::Loop(solver, _) = part {
                solver.note_reactions(now)?;
            }
        }
        // Once more, so that every subsystem, loops or not, has been given its consistent inputs.
        (0..now.slots.len()).try_for_each(|id| now.read(id))
    }

    /// The start is found: all leave their initialization, in the order of evaluation, and once more while that changes inputs of
    /// those who have left. Reading everything again is what the run begins with.
    pub(in crate::network) fn leave_initialization(
        &mut self,
        now: &mut Instant<'_>,
        late: &mut LateStart,
    ) -> Result<()> {
        let all = now.slots.len();
        let graph = now.graph;
        let is_source = |id: &SubsystemId| graph.inputs_of(*id).all(|input| graph.is_free(input));
        (0..all).filter(is_source).try_for_each(|id| late.visit(id, now))?;
        // One pass, unless those whose outputs regard no inputs tell others late.
        for _ in 0..all + 2 {
            let parts = if self.at_start.is_empty() { &mut self.parts } else { &mut self.at_start };
            for part in parts {
                match part {
                    Part::Read(ids) => ids.iter().try_for_each(|id| late.visit(*id, now))?,
                    Part::Loop(solver, _) => late.visit_loop(solver, now)?,
                }
            }
            (0..all).try_for_each(|id| late.visit(id, now))?;
            if !late.take_progress() {
                break;
            }
        }
        if late.has_changed { self.initialize(now) } else { Ok(()) }
    }

    /// Makes the outputs of all subsystems that are here belong together.
    pub(in crate::network) fn refresh(&mut self, now: &mut Instant<'_>, reading: Reading) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.refresh(now, Some(reading)))
    }

    /// Shows `tape` what the loop solvers remember.
    pub(in crate::network) fn state(&mut self, tape: &mut Tape<'_>) {
        for part in &mut self.parts {
            if let Part::Loop(solver, iteration) = part {
                solver.state(tape);
                iteration.iter_mut().for_each(|iteration| iteration.state(tape));
            }
        }
    }
}

impl Part {
    /// Outputs of one part; at the start there is no reading yet, and loops are solved by the solver made for it.
    fn refresh(&mut self, now: &mut Instant<'_>, reading: Option<Reading>) -> Result<()> {
        match self {
            Part::Read(_) if reading == Some(Reading::Stale) => {}
            Part::Read(ids) => {
                for &id in ids.iter() {
                    if now.is_here(id) {
                        now.read(id)?;
                        now.deliver(id);
                    }
                }
            }
            Part::Loop(solver, iteration) => {
                if reading.is_some() && solver.is_here(now) {
                    solver.check_reactions(now)?;
                }
                match iteration {
                    Some(iteration) if reading.is_some() && solver.is_here(now) => {
                        iteration.solve(now, solver)?
                    }
                    _ => solver.solve(now)?,
                }
            }
        }
        Ok(())
    }
}

//! Outputs that belong to one instant: every output with direct feed-through is read with u = L y set first, in the order
//! of evaluation; algebraic loops are solved.

use super::loop_solver::LoopSolver;
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::signal::History;
use crate::system::{Component, SystemGraph, evaluation_order};

/// The order of evaluation, with a solver for each loop.
pub(super) struct Consistency {
    parts: Vec<Part>,
    inputs: Vec<f64>,
}

enum Part {
    /// Places of slots to read.
    Read(Vec<usize>),
    Loop(LoopSolver),
}

impl Consistency {
    /// `place[id]` is where a subsystem's slot is.
    pub(super) fn new(graph: &SystemGraph, place: &[usize]) -> Self {
        let parts = evaluation_order(graph)
            .into_iter()
            .map(|component| match component {
                Component::Direct(ids) => Part::Read(ids.iter().map(|id| place[*id]).collect()),
                Component::Loop(outputs) => Part::Loop(LoopSolver::new(graph, outputs, place)),
            })
            .collect();
        let widest = (0..graph.len()).map(|id| graph.inputs_of(id).len()).max().unwrap_or(0);
        Consistency { parts, inputs: vec![0.0; widest] }
    }

    /// True if outputs depend on states alone, so that there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Reads everything at the start, first what depends on states alone.
    pub(super) fn initialize(
        &mut self,
        graph: &SystemGraph,
        slots: &mut [Slot],
        history: &mut History,
        time: f64,
    ) -> Result<()> {
        for slot in slots.iter_mut() {
            slot.reached = time;
            read(slot, graph, history, time, &mut self.inputs)?;
            publish(slot, graph, history);
        }
        self.refresh(graph, slots, history, time)?;
        // Once more, so that every subsystem, loops or not, has been given its consistent inputs.
        slots.iter_mut().try_for_each(|slot| read(slot, graph, history, time, &mut self.inputs))
    }

    /// Makes the outputs of all subsystems that have reached `time` belong together.
    pub(super) fn refresh(
        &mut self,
        graph: &SystemGraph,
        slots: &mut [Slot],
        history: &mut History,
        time: f64,
    ) -> Result<()> {
        for part in &mut self.parts {
            match part {
                Part::Read(places) => {
                    for &place in places.iter() {
                        let slot = &mut slots[place];
                        if slot.reached == time {
                            read(slot, graph, history, time, &mut self.inputs)?;
                            publish(slot, graph, history);
                        }
                    }
                }
                Part::Loop(solver) => solver.solve(graph, slots, history, time, &mut self.inputs)?,
            }
        }
        Ok(())
    }

    /// Appends what the loop solvers remember.
    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        self.loops().for_each(|solver| solver.save(memory));
    }

    /// Takes back what `save` wrote and returns the rest.
    pub(super) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.parts.iter_mut().fold(memory, |rest, part| match part {
            Part::Loop(solver) => solver.restore(rest),
            Part::Read(_) => rest,
        })
    }

    fn loops(&self) -> impl Iterator<Item = &LoopSolver> {
        self.parts.iter().filter_map(|part| match part {
            Part::Loop(solver) => Some(solver),
            Part::Read(_) => None,
        })
    }
}

/// The inputs of a subsystem at `time` as its sources give them now, external signals included.
pub(super) fn gather(slot: &Slot, graph: &SystemGraph, history: &History, time: f64, inputs: &mut [f64]) {
    for (i, u) in inputs.iter_mut().enumerate() {
        let id = slot.first_input + i;
        *u = graph.offset(id) + history.sum(id);
    }
    for (input, signal) in &graph.externals()[slot.externals.clone()] {
        inputs[input - slot.first_input] += signal.value(time);
    }
}

/// Reads a subsystem with its inputs set first.
pub(super) fn read(
    slot: &mut Slot,
    graph: &SystemGraph,
    history: &History,
    time: f64,
    inputs: &mut [f64],
) -> Result<()> {
    let inputs = &mut inputs[..slot.segment.inputs()];
    gather(slot, graph, history, time, inputs);
    slot.subsystem
        .read(Some(inputs), &mut slot.outputs)
        .map_err(|source| Error::Subsystem { subsystem: graph.name(slot.id).into(), time, source }.into())
}

/// Sends a subsystem's outputs along its wires, as arrivals of the time it has reached.
#[inline]
pub(super) fn publish(slot: &Slot, graph: &SystemGraph, history: &mut History) {
    let is_new = history.open(slot.id, slot.reached);
    for branch in graph.branches(slot.id) {
        let (wire, target) = (branch.wire as usize, branch.target as usize);
        let value = branch.gain * slot.outputs[branch.output as usize];
        if is_new {
            history.shift(wire, value);
        } else {
            history.set(wire, value);
        }
        let sum = if branch.is_alone {
            value
        } else {
            graph.wires_into(target).map(|w| history.newest(w)).sum()
        };
        history.set_sum(target, sum);
    }
}

//! Two stand-ins as one, with a wire between them that carries its signal at every instant.

use super::graph::{InputId, OutputId, SystemGraph, Wire, from_ports};
use super::linear_ode::LinearOde;
use super::linear_part::{Drive, LinearPart};
use super::monolith::closed;
use super::ode_model::Ode;
use super::ports::{Ports, Variable};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::solver::SolverConfig;

/// A system in which one wire is ideal.
pub(crate) struct Merged {
    pub(crate) graph: SystemGraph,
    pub(crate) parts: Vec<LinearPart>,
    /// Where each input of the old graph is now.
    pub(crate) inputs: Vec<InputId>,
    /// The subsystem that was taken into the other one, and that one.
    pub(crate) taken: (String, String),
}

/// Makes one subsystem of the two ends of a wire; nothing if both ends belong to the same, or to filters.
pub(crate) fn with_ideal_wire(
    graph: &SystemGraph,
    parts: &[LinearPart],
    wire: usize,
) -> Result<Option<Merged>> {
    let ideal = graph.wires()[wire];
    let (from, to) = (ideal.from, graph.subsystem_of_input(ideal.target));
    let has_filters = |id: usize| graph.ports(id).outputs.iter().any(|v| v.filtered.is_some());
    if from == to || has_filters(from) || has_filters(to) {
        return Ok(None);
    }
    let (keeper, taken) = (from.min(to), from.max(to));
    let place = Place { graph, keeper, taken };
    let mut new_parts: Vec<LinearPart> = Vec::new();
    for id in (0..graph.len()).filter(|id| *id != taken) {
        new_parts.push(if id == keeper { place.join(parts, ideal)? } else { parts[id].clone() });
    }
    let names = (0..graph.len()).filter(|id| *id != taken).map(|id| graph.name(id).to_owned()).collect();
    let mut merged = from_ports(names, place.ports(&new_parts)?);
    let inputs: Vec<InputId> = (0..graph.inputs()).map(|input| place.input(&merged, input)).collect();
    let kept = graph.wires().iter().enumerate().filter(|(number, _)| *number != wire);
    let wires = kept.map(|(_, old)| Wire {
        source: place.output(&merged, old.source),
        from: place.id(old.from),
        target: inputs[old.target],
        gain: old.gain,
    });
    let wires = wires.collect();
    (0..graph.inputs()).for_each(|input| merged.offsets[inputs[input]] = graph.offset(input));
    merged.externals = graph.externals().iter().map(|(input, e)| (inputs[*input], e.clone())).collect();
    crate::sort::sort_by_key(&mut merged.externals, |(input, _)| *input);
    merged.set_wires(wires);
    let taken = (graph.name(taken).to_owned(), graph.name(keeper).to_owned());
    Ok(Some(Merged { graph: merged, parts: new_parts, inputs, taken }))
}

/// Who goes where.
struct Place<'a> {
    graph: &'a SystemGraph,
    keeper: usize,
    taken: usize,
}

impl Place<'_> {
    fn id(&self, old: usize) -> usize {
        match old {
            old if old == self.taken => self.keeper,
            old => old - usize::from(old > self.taken),
        }
    }

    fn input(&self, merged: &SystemGraph, old: InputId) -> InputId {
        let id = self.graph.subsystem_of_input(old);
        let before = if id == self.taken { self.graph.inputs_of(self.keeper).len() } else { 0 };
        merged.inputs_of(self.id(id)).start + before + old - self.graph.inputs_of(id).start
    }

    fn output(&self, merged: &SystemGraph, old: OutputId) -> OutputId {
        let id = self.graph.subsystem_of_output(old);
        let before = if id == self.taken { self.graph.outputs_of(self.keeper).len() } else { 0 };
        merged.outputs_of(self.id(id)).start + before + old - self.graph.outputs_of(id).start
    }

    /// Both parts, the keeper first, with the wire closed.
    fn join(&self, parts: &[LinearPart], ideal: Wire) -> Result<LinearPart> {
        let (a, b) = (&parts[self.keeper], &parts[self.taken]);
        let local = |id: usize, first: usize, own: usize, at: usize| {
            at - first + if id == self.taken { own } else { 0 }
        };
        let to = self.graph.subsystem_of_input(ideal.target);
        let row = local(to, self.graph.inputs_of(to).start, a.matrices.inputs(), ideal.target);
        let column =
            local(ideal.from, self.graph.outputs_of(ideal.from).start, a.matrices.outputs(), ideal.source);
        let mut l = Matrix::zeros(
            a.matrices.inputs() + b.matrices.inputs(),
            a.matrices.outputs() + b.matrices.outputs(),
        );
        l[(row, column)] = ideal.gain;
        let matrices = closed(&[&a.matrices, &b.matrices], &l)?;
        let drive = match (&a.drive, &b.drive) {
            (Some(a), Some(b)) => {
                let states = [&a.states[..], &b.states].concat();
                let outputs = [&a.outputs[..], &b.outputs].concat();
                // What is constant in the source's output drives the receiver, too.
                let brought = ideal.gain * outputs[column];
                let column_of = |of: &Matrix| -> Vec<f64> { of.col(row) };
                let add = |mut list: Vec<f64>, column: Vec<f64>| {
                    list.iter_mut().zip(column).for_each(|(x, b)| *x += brought * b);
                    list
                };
                Some(Drive {
                    states: add(states, column_of(&matrices.b)),
                    outputs: add(outputs, column_of(&matrices.d)),
                })
            }
            _ => None,
        };
        let solver = if a.solver == b.solver { a.solver } else { SolverConfig::Exact {} };
        let reads_stale = a.reads_stale || b.reads_stale;
        Ok(LinearPart { matrices, solver, is_exact: a.is_exact && b.is_exact, drive, reads_stale })
    }

    /// Ports of all subsystems that are left, in their order.
    fn ports(&self, parts: &[LinearPart]) -> Result<Vec<Ports>> {
        let left = (0..self.graph.len()).filter(|id| *id != self.taken);
        let of = |id: usize| self.graph.ports(id).clone();
        let joined = |part: &LinearPart| -> Result<Ports> {
            let (mut inputs, mut outputs) = (of(self.keeper).inputs, of(self.keeper).outputs);
            let name = self.graph.name(self.taken);
            let named = |v: Variable| Variable { name: format!("{name}.{}", v.name), ..v };
            inputs.extend(of(self.taken).inputs.into_iter().map(named));
            outputs.extend(of(self.taken).outputs.into_iter().map(named));
            let ode =
                LinearOde::new(part.matrices.clone(), inputs, outputs, &vec![0.0; part.matrices.states()])?;
            Ok(ode.ports().clone())
        };
        left.zip(parts).map(|(id, part)| if id == self.keeper { joined(part) } else { Ok(of(id)) }).collect()
    }
}

//! A system of linear stand-ins: the same wiring, every subsystem replaced by matrices.

use super::System;
use super::filtered::WithFilters;
use super::graph::SystemGraph;
use super::linear_ode::LinearOde;
use super::ode_model::OdeModel;
use super::ports::Variable;
use super::state_space::StateSpace;
use super::subsystem::Subsystem;
use crate::error::Result;
use crate::solver::SolverConfig;

/// A linear stand-in for one subsystem, without its filters.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearPart {
    /// Its matrices.
    pub matrices: StateSpace,
    /// How they are solved.
    pub solver: SolverConfig,
    /// True if the subsystem is exactly this, false if it is so only near the point where it was linearised.
    pub is_exact: bool,
}

/// The system of these parts, one for each subsystem of the graph in its order: filters and gains as they are, no offsets, no
/// external signals, started from `x0` (the states of all parts, one after the other).
pub(crate) fn linear_system(graph: &SystemGraph, parts: &[LinearPart], x0: &[f64]) -> Result<System> {
    let (mut subsystems, mut at): (Vec<Box<dyn Subsystem>>, usize) = (Vec::new(), 0);
    for (id, part) in parts.iter().enumerate() {
        let ports = graph.ports(id);
        let still = |v: &Variable| Variable { start: 0.0, ..v.clone() };
        let (own, filtered): (Vec<Variable>, Vec<Variable>) =
            ports.outputs.iter().map(still).partition(|v| v.filtered.is_none());
        let states = part.matrices.states();
        let inputs = ports.inputs.iter().map(still).collect();
        let ode = LinearOde::new(part.matrices.clone(), inputs, own, &x0[at..at + states])?;
        at += states;
        let model = Box::new(OdeModel::new(Box::new(ode), &part.solver)?);
        subsystems.push(match filtered.is_empty() {
            true => model,
            false => Box::new(WithFilters::new(graph.name(id), model, filtered)?),
        });
    }
    let order: Vec<usize> = (0..graph.len()).collect();
    // Ports are read off the stand-ins.
    Ok(System { graph: graph.silent(), subsystems }.reordered(&order))
}

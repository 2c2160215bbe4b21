//! A system of linear stand-ins: the same wiring, every subsystem replaced by matrices.

use super::System;
use super::filtered::WithFilters;
use super::graph::{SystemGraph, number_ports};
use super::linear_ode::LinearOde;
use super::monolith::monolithic_matrices;
use super::ode_model::OdeModel;
use super::ports::Variable;
use super::stale_reading::StaleReading;
use super::subsystem::Subsystem;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::solver::SolverConfig;
use crate::state_space::StateSpace;

/// A linear stand-in for one subsystem, without its filters.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearPart {
    /// Its matrices.
    pub matrices: StateSpace,
    /// How they are solved.
    pub solver: SolverConfig,
    /// True if the subsystem is exactly this, false if it is so only near the point where it was linearised.
    pub is_exact: bool,
    /// What moves it where it stands, if that is known.
    pub drive: Option<Drive>,
    /// True if its outputs are those of the end of its step, whatever inputs they are read with later.
    pub reads_stale: bool,
}

/// Constants of a subsystem that is linear in what its states have moved since: x' = A x + B u + f, y = C x + D u + g.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// f.
    pub states: Vec<f64>,
    /// g.
    pub outputs: Vec<f64>,
}

/// The input that stands for the constants. No port of a user has this name.
const CONSTANT: &str = "(constant)";

/// The system of these parts, one for each subsystem of the graph in its order: filters and gains as they are, no offsets, no
/// external signals, started from `x0` (the states of all parts, in sequence).
pub(crate) fn linear_system(graph: &SystemGraph, parts: &[LinearPart], x0: &[f64]) -> Result<System> {
    let mut at = 0;
    let subsystems = parts.iter().enumerate().map(|(id, part)| {
        let states = &x0[at..at + part.matrices.states()];
        at += states.len();
        stand_in(graph, id, part, states, &[])
    });
    let subsystems = subsystems.collect::<Result<_>>()?;
    let order: Vec<usize> = (0..graph.len()).collect();
    // Ports are read off the stand-ins.
    Ok(System { graph: graph.silent(), subsystems }.reordered(&order))
}

/// The system of these parts as it stands, with offsets and external signals; nothing if it is not known of all of them what
/// moves them.
pub(crate) fn driven_system(graph: &SystemGraph, parts: &[LinearPart]) -> Result<Option<System>> {
    let mut subsystems = Vec::new();
    for (id, part) in parts.iter().enumerate() {
        let Some(drive) = &part.drive else { return Ok(None) };
        let StateSpace { a, b, c, d } = &part.matrices;
        let matrices = StateSpace {
            a: a.clone(),
            b: with_column(b, &drive.states),
            c: c.clone(),
            d: with_column(d, &drive.outputs),
        };
        let part = LinearPart { matrices, ..part.clone() };
        let constant = Variable::new(CONSTANT).start(1.0);
        subsystems.push(stand_in(graph, id, &part, &vec![0.0; a.rows()], &[constant])?);
    }
    let order: Vec<usize> = (0..graph.len()).collect();
    Ok(Some(System { graph: graph.clone(), subsystems }.reordered(&order)))
}

/// A system of linear subsystems uncut, from `x0`: one subsystem with all outputs, under the same offsets and signals. Nothing if
/// one of them is not linear.
pub(crate) fn uncut(mut system: System, x0: &[f64], solver: &SolverConfig) -> Result<Option<System>> {
    let parts = system.subsystems.iter_mut().map(|s| s.linear());
    let Some(parts) = parts.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let graph = &system.graph;
    let whole = monolithic_matrices(graph, &parts)?;
    // One input for everything that is constant, and one for each input with signals.
    let mut moved: Vec<usize> = graph.externals().iter().map(|(input, _)| *input).collect();
    moved.dedup();
    let reduced = |of: &Matrix| {
        let mut constant = vec![0.0; of.rows()];
        of.mul_vec_into(graph.offsets(), &mut constant);
        Matrix::from_fn(of.rows(), 1 + moved.len(), |i, j| match j {
            0 => constant[i],
            _ => of[(i, moved[j - 1])],
        })
    };
    let matrices = StateSpace { b: reduced(&whole.b), d: reduced(&whole.d), a: whole.a, c: whole.c };
    let mut inputs = vec![Variable::new(CONSTANT).start(1.0)];
    inputs.extend(moved.iter().map(|input| Variable::new(graph.input_name(*input))));
    let outputs = (0..graph.outputs()).map(|output| Variable::new(graph.output_name(output))).collect();
    let ode = LinearOde::new(matrices, inputs, outputs, x0)?;
    let subsystems: Vec<Box<dyn Subsystem>> = vec![Box::new(OdeModel::new(Box::new(ode), solver)?)];
    let mut closed = number_ports(vec!["monolith".into()], &subsystems);
    let place = |input: &usize| moved.iter().position(|other| other == input).map_or(0, |place| place + 1);
    closed.externals =
        graph.externals().iter().map(|(input, signal)| (place(input), signal.clone())).collect();
    Ok(Some(System { graph: closed, subsystems }))
}

fn with_column(matrix: &Matrix, column: &[f64]) -> Matrix {
    let width = matrix.cols();
    Matrix::from_fn(matrix.rows(), width + 1, |i, j| if j < width { matrix[(i, j)] } else { column[i] })
}

fn stand_in(
    graph: &SystemGraph,
    id: usize,
    part: &LinearPart,
    x0: &[f64],
    more: &[Variable],
) -> Result<Box<dyn Subsystem>> {
    let ports = graph.ports(id);
    let still = |v: &Variable| Variable { start: 0.0, ..v.clone() };
    let (own, filtered): (Vec<Variable>, Vec<Variable>) =
        ports.outputs.iter().map(still).partition(|v| v.filtered.is_none());
    let inputs = ports.inputs.iter().map(still).chain(more.iter().cloned()).collect();
    let ode = LinearOde::new(part.matrices.clone(), inputs, own, x0)?;
    let mut model: Box<dyn Subsystem> = Box::new(OdeModel::new(Box::new(ode), &part.solver)?);
    if part.reads_stale {
        model = Box::new(StaleReading::new(model));
    }
    Ok(match filtered.is_empty() {
        true => model,
        false => Box::new(WithFilters::new(graph.name(id), model, filtered)?),
    })
}

//! What a run costs, counted in calls, and how stiff its equations are.

use super::linear_system::LinearSystem;
use crate::coupling::{CouplingConfig, build};
use crate::error::{Error, Result};
use crate::linalg::eigenvalues;
use crate::run::RunConfig;
use crate::signal::Request;
use crate::system::SystemGraph;
use serde::Serialize;

/// Evaluations of a loop that is iterated, roughly.
const ITERATIONS: f64 = 4.0;
/// Pairs of connections that a method with dense models handles in the time of a step of a subsystem.
const WIRES_SQUARED: f64 = 7.0;
/// Rates below this part of the fastest count as zero: positions that nothing holds.
const NO_RATE: f64 = 1e-9;

/// Work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Macro steps.
    pub steps: f64,
    /// Steps of subsystems: more than one per macro step where inputs come in pieces, outputs are looked at inside a step, or steps
    /// are iterated (four times is assumed).
    pub calls: f64,
    /// The same per simulated second.
    pub calls_per_second: f64,
}

/// Rates of the whole system uncut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stiffness {
    /// The fastest rate over the slowest.
    pub ratio: f64,
    /// 1 / the fastest rate, in s.
    pub fastest: f64,
    /// 1 / the slowest rate that is not zero, in s.
    pub slowest: f64,
}

impl Cost {
    /// Of a run with these settings.
    pub fn of(graph: &SystemGraph, config: &RunConfig) -> Result<Cost> {
        let needs = build(&config.coupling, config.hold, graph)?.needs();
        let nodes = match needs.request() {
            Request::Nodes(nodes) => nodes as usize,
            Request::SolverPoints | Request::Nothing => 1,
        };
        let parts = needs.pieces.max(nodes).max(1) as f64;
        let times = if config.iteration.is_some() { ITERATIONS } else { 1.0 };
        let every = |id: usize| config.every.get(graph.name(id)).copied().unwrap_or(1);
        let moved: f64 = (0..graph.len()).map(|id| 1.0 / f64::from(every(id))).sum();
        let calls_per_second = moved * parts * times / config.step;
        let duration = config.stop - config.start;
        let steps = (duration / config.step).ceil();
        Ok(Cost { steps, calls: calls_per_second * duration, calls_per_second })
    }
}

impl Cost {
    /// Work of one macro step, as so many steps of a subsystem in the plainest coupling. Methods whose work grows with the square of the
    /// number of connections count it.
    pub(super) fn work_per_step(graph: &SystemGraph, config: &RunConfig) -> Result<f64> {
        let calls = Cost::of(graph, config)?.calls_per_second * config.step;
        let wires = graph.wires().len() as f64;
        let is_dense = match &config.coupling {
            CouplingConfig::Method(method) => method.info().is_dense,
            CouplingConfig::Mixed { .. } | CouplingConfig::Auto(_) => true,
        };
        Ok(calls + if is_dense { wires * wires / WIRES_SQUARED } else { wires })
    }
}

impl Stiffness {
    /// How far the rates of a system uncut lie apart; nothing if it has no rates.
    pub fn of(system: &LinearSystem) -> Result<Option<Stiffness>> {
        let failed = |source| Error::Linalg { what: "rates of the system".into(), source };
        if system.has_filters() {
            return Ok(None);
        }
        let whole = system.matrices_uncut()?;
        let rates: Vec<f64> = eigenvalues(&whole.a).map_err(failed)?.iter().map(|z| z.abs()).collect();
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let slowest = rates.iter().copied().filter(|r| *r > NO_RATE * fastest).fold(f64::INFINITY, f64::min);
        Ok((fastest > 0.0).then(|| Stiffness {
            ratio: fastest / slowest,
            fastest: 1.0 / fastest,
            slowest: 1.0 / slowest,
        }))
    }
}

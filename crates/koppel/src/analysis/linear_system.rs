//! A run reduced to what is linear in it: matrices in place of subsystems, coupled as in the run.

use super::growth::OwnRates;
use crate::coupling::CouplingConfig;
use crate::error::{Error, Result};
use crate::run::{Parallel, Run, RunConfig};
use crate::system::{LinearPart, StateSpace, SystemGraph, linear_system, monolithic_matrices};
use std::sync::OnceLock;

/// The subsystems of a run as matrices, where they stood when it was made.
#[derive(Clone, Debug)]
pub struct LinearSystem {
    pub(super) graph: SystemGraph,
    pub(super) parts: Vec<LinearPart>,
    /// When that was, in s.
    pub(super) time: f64,
    /// How fast it grows by itself, once that was asked for.
    pub(super) own_rates: OnceLock<OwnRates>,
}

impl LinearSystem {
    /// Linearises every subsystem where the run stands. The run is left as it was.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason if a subsystem tells no derivatives, or texts, ticks or tables are exchanged.
    pub fn new(run: &mut Run) -> Result<Self> {
        let graph = run.graph().clone();
        if let Some(reason) = not_linear(&graph) {
            return Err(unknown(reason));
        }
        let parts = (0..graph.len()).map(|id| run.workbench().linear_part(id)).collect::<Result<_>>()?;
        Ok(LinearSystem { graph, parts, time: run.time(), own_rates: OnceLock::new() })
    }

    /// The wiring.
    pub fn graph(&self) -> &SystemGraph {
        &self.graph
    }

    /// True if every subsystem is exactly its matrices.
    pub fn is_exact(&self) -> bool {
        self.parts.iter().all(|part| part.is_exact)
    }

    /// Subsystems that are linear only near the point where they were linearised.
    pub fn linearised(&self) -> Vec<String> {
        let ids = (0..self.parts.len()).filter(|id| !self.parts[*id].is_exact);
        ids.map(|id| self.graph.name(id).to_owned()).collect()
    }

    /// The whole system as one, without filters.
    pub(super) fn matrices_uncut(&self) -> Result<StateSpace> {
        if self.has_filters() {
            return Err(unknown("connections have filters".into()));
        }
        let parts: Vec<_> = self.parts.iter().map(|part| part.matrices.clone()).collect();
        monolithic_matrices(&self.graph, &parts)
    }

    /// True if a connection has a filter.
    pub(super) fn has_filters(&self) -> bool {
        let is_filtered = |id: usize| self.graph.ports(id).outputs.iter().any(|v| v.filtered.is_some());
        (0..self.graph.len()).any(is_filtered)
    }

    /// How many states all subsystems have, without filters.
    pub fn states(&self) -> usize {
        self.parts.iter().map(|part| part.matrices.states()).sum()
    }

    /// The run with these settings for so many steps, from these states.
    pub(super) fn run(&self, config: &RunConfig, steps: u64, x0: &[f64]) -> Result<Run> {
        let config = RunConfig {
            coupling: config.coupling.linear().map_err(unknown)?,
            ..self.settings(config, steps)
        };
        let config = RunConfig { start: 0.0, stop: steps as f64 * config.step, ..config };
        Run::new(linear_system(&self.graph, &self.parts, x0)?, &config)
    }

    /// What of these settings is used, for so many steps from where the run stood.
    pub(super) fn settings(&self, config: &RunConfig, steps: u64) -> RunConfig {
        RunConfig {
            start: self.time,
            stop: self.time + steps as f64 * config.step,
            schedule: config.schedule.clone(),
            every: config.every.clone(),
            coupling: config.coupling.clone(),
            reading: config.reading,
            hold: config.hold,
            iteration: config.iteration.clone(),
            threads: Parallel::Never,
            ..RunConfig::new(1.0, config.step)
        }
    }
}

/// Whether a coupling changes its models while the run goes on: its step has no matrix.
pub(crate) fn is_learning(config: &CouplingConfig) -> bool {
    config.linear().is_err()
}

/// What connections exchange that no matrix stands for, in words.
pub(super) fn not_linear(graph: &SystemGraph) -> Option<String> {
    let table = graph.maps().first();
    let table = table.map(|(input, _)| format!("`{}` is fed through a table", graph.input_name(*input)));
    table.or_else(|| {
        let wire = graph.message_wires().first()?;
        Some(format!("`{}` and `{}` exchange messages", graph.name(wire.from), graph.name(wire.to)))
    })
}

pub(super) fn unknown(reason: String) -> Box<Error> {
    Error::Unsupported { what: "a forecast".into(), reason }.into()
}

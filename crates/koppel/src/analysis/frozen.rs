//! One loop with its states frozen, in the real engine: what is left of a run when the step tends to zero.
//!
//! The members keep their inputs and outputs within the loop; each gives y = D u with the D it has where it stands. They are
//! coupled by the same method, schedule, hold, reading, iteration and filters as in the run. One macro step (or as many as rates have a
//! common multiple) is a linear map of the run's state,
//!
//!   z' = Φ z                                                                                    (1)
//!
//! whose columns are what unit vectors become. States that no output sees, now or later, are left out.

use super::reduce::observable;
use super::step_matrix::Engine;
use crate::coupling::CouplingConfig;
use crate::error::Result;
use crate::linalg::{Matrix, balance, spectral_radius};
use crate::run::{Run, RunConfig, Schedule, ScheduleConfig};
use crate::solver::SolverConfig;
use crate::system::{
    AlgebraicLoop, Connection, FilterConfig, LinearOde, OdeModel, OutputId, StateSpace, SubsystemId, System,
    SystemBuilder, SystemGraph, Variable,
};
use std::collections::BTreeMap;

/// A loop taken out of a run: its members' D, and filters in place of the run's.
pub(super) struct FrozenLoop<'a> {
    pub(super) graph: &'a SystemGraph,
    pub(super) config: &'a RunConfig,
    pub(super) l: &'a AlgebraicLoop,
    /// D of each member, in the order of `l.members`.
    pub(super) feed_through: &'a [Matrix],
    /// In place of the filters of the run, if it is given.
    pub(super) filter: Option<FilterConfig>,
}

impl FrozenLoop<'_> {
    /// The largest modulus of an eigenvalue of Φ.
    pub(super) fn radius(&self) -> Result<f64> {
        let phi = self.step_matrix()?;
        spectral_radius(&phi).map_err(|source| {
            let what = format!("zero-stability of the loop {}", self.l.path(self.graph));
            crate::Error::Linalg { what, source }.into()
        })
    }

    fn step_matrix(&self) -> Result<Matrix> {
        let schedule = Schedule::new(self.config, self.graph)?;
        let steps = schedule.period_of(self.l.members.iter().copied());
        let config = self.config_of_loop(&schedule, steps);
        let mut run = Run::new(self.system()?, &config)?;
        let mut engine = Engine::new(&mut run, steps, steps)?;
        let mut phi = engine.columns(UNIT)?;
        // Loops are solved to a tolerance; what is left of it is no gain.
        phi.as_mut_slice().iter_mut().filter(|change| change.abs() < NOISE).for_each(|change| *change = 0.0);
        Ok(observable_by_outputs(&phi, &engine.layout.outputs))
    }

    /// The members with their ports within the loop: one input for each wire, so that gains can go into D. Signals are scaled so that
    /// no unit makes D badly balanced; that changes no eigenvalue of Φ.
    fn system(&self) -> Result<System> {
        let sizes = self.sizes()?;
        let mut builder = SystemBuilder::new();
        for (id, d) in self.l.members.iter().zip(self.feed_through) {
            let (wires, outputs) = (self.wires_into(*id), self.outputs(*id));
            let (first_input, first_output) =
                (self.graph.inputs_of(*id).start, self.graph.outputs_of(*id).start);
            let all: Vec<usize> = (0..wires.len()).collect();
            let gives = |o: &OutputId| Variable::new(&self.graph.output_variable(*o).name).fed_by(&all);
            let inputs = wires.iter().map(|w| Variable::new(self.port_of(*w))).collect();
            let d = Matrix::from_fn(outputs.len(), wires.len(), |i, j| {
                let wire = self.graph.wires()[wires[j]];
                let gain = wire.gain * sizes[&self.before_filter(wire.source)] / sizes[&outputs[i]];
                gain * d[(outputs[i] - first_output, wire.target - first_input)]
            });
            let ode = LinearOde::new(StateSpace::gain(d), inputs, outputs.iter().map(gives).collect(), &[])?;
            builder =
                builder.add(self.graph.name(*id), OdeModel::new(Box::new(ode), &SolverConfig::Exact {})?);
            for w in wires {
                builder = builder.connect(self.connection(*id, w));
            }
        }
        builder.build()
    }

    /// Sizes of the outputs, before their filters, that balance the loop.
    fn sizes(&self) -> Result<BTreeMap<OutputId, f64>> {
        let outputs: Vec<OutputId> = self.l.members.iter().flat_map(|id| self.outputs(*id)).collect();
        let mut gains = Matrix::zeros(outputs.len(), outputs.len());
        let place = |output: OutputId| outputs.binary_search(&output).unwrap_or(0);
        for (id, d) in self.l.members.iter().zip(self.feed_through) {
            let (first_input, first_output) =
                (self.graph.inputs_of(*id).start, self.graph.outputs_of(*id).start);
            for w in self.wires_into(*id) {
                let wire = self.graph.wires()[w];
                for output in self.outputs(*id) {
                    let gain = wire.gain * d[(output - first_output, wire.target - first_input)];
                    gains[(place(output), place(self.before_filter(wire.source)))] += gain;
                }
            }
        }
        let balanced = balance(&gains).map_err(|source| crate::Error::Linalg {
            what: format!("feed-through of the loop {}", self.l.path(self.graph)),
            source,
        })?;
        Ok(outputs.into_iter().zip(balanced.scales).collect())
    }

    /// Wires from outputs of the loop to inputs of a member.
    fn wires_into(&self, id: SubsystemId) -> Vec<usize> {
        let wires = self.graph.inputs_of(id).flat_map(|input| self.graph.wires_into(input));
        wires.filter(|w| self.l.outputs.binary_search(&self.graph.wires()[*w].source).is_ok()).collect()
    }

    /// Name of the input at the end of a wire: that of the input, with a number if it is not the first wire.
    fn port_of(&self, w: usize) -> String {
        let target = self.graph.wires()[w].target;
        let name = &self.graph.input_variable(target).name;
        match w - self.graph.wires_into(target).start {
            0 => name.clone(),
            more => format!("{name}#{more}"),
        }
    }

    /// Outputs of the loop, those behind a filter as they are before it.
    fn outputs(&self, id: SubsystemId) -> Vec<OutputId> {
        let range = self.graph.outputs_of(id);
        let own = self.l.outputs.iter().filter(|o| range.contains(o));
        let mut all: Vec<OutputId> = own.map(|o| self.before_filter(*o)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn before_filter(&self, output: OutputId) -> OutputId {
        let first = self.graph.outputs_of(self.graph.subsystem_of_output(output)).start;
        let filtered = self.graph.output_variable(output).filtered.as_ref();
        filtered.map_or(output, |filtered| first + filtered.of)
    }

    fn connection(&self, to: SubsystemId, w: usize) -> Connection {
        let source = self.graph.wires()[w].source;
        let own = self.graph.output_variable(source).filtered.as_ref().map(|f| f.filter.clone());
        let filter = own.map(|own| self.filter.clone().unwrap_or(own));
        let from = self.graph.output_name(self.before_filter(source));
        let to = format!("{}.{}", self.graph.name(to), self.port_of(w));
        Connection { filter, ..Connection::new(&from, &to) }
    }

    /// The run's settings for the loop alone.
    fn config_of_loop(&self, schedule: &Schedule, steps: u64) -> RunConfig {
        let name = |id: &SubsystemId| self.graph.name(*id).to_owned();
        let members = |stage: &Vec<SubsystemId>| -> Vec<String> {
            stage.iter().filter(|id| self.l.members.contains(id)).map(name).collect()
        };
        let groups = schedule.stages.iter().map(members).filter(|stage| !stage.is_empty()).collect();
        let is_repeated = !schedule.loops.is_empty();
        let every = self.l.members.iter().filter(|id| schedule.every[**id] > 1);
        RunConfig {
            schedule: if is_repeated { ScheduleConfig::PARALLEL } else { ScheduleConfig::Groups(groups) },
            every: every.map(|id| (name(id), schedule.every[*id])).collect(),
            coupling: self.coupling(),
            reading: self.config.reading,
            hold: self.config.hold,
            iteration: self.config.iteration.clone(),
            ..RunConfig::new(4.0 * steps as f64 * self.config.step, self.config.step)
        }
    }

    /// The run's coupling, with the names of the loop's inputs alone.
    fn coupling(&self) -> CouplingConfig {
        let CouplingConfig::Mixed { default, connections } = &self.config.coupling else {
            return self.config.coupling.clone();
        };
        let mut own = BTreeMap::new();
        for (name, config) in connections {
            for input in self.graph.find_inputs(name).unwrap_or_default() {
                let id = self.graph.subsystem_of_input(input);
                let wires = if self.l.members.contains(&id) { self.wires_into(id) } else { Vec::new() };
                for w in wires.into_iter().filter(|w| self.graph.wires()[*w].target == input) {
                    own.insert(format!("{}.{}", self.graph.name(id), self.port_of(w)), config.clone());
                }
            }
        }
        match own.is_empty() {
            true => (**default).clone(),
            false => CouplingConfig::Mixed { default: default.clone(), connections: own },
        }
    }
}

/// How far a value is moved.
const UNIT: f64 = 0.5;

/// Entries of Φ that are round-off or a tolerance.
const NOISE: f64 = 1e-7;

/// Φ without the states that act on no output, now or later.
fn observable_by_outputs(phi: &Matrix, outputs: &[usize]) -> Matrix {
    let is_observable = observable(phi, outputs);
    let kept: Vec<usize> = (0..phi.rows()).filter(|i| is_observable[*i]).collect();
    Matrix::from_fn(kept.len(), kept.len(), |i, j| phi[(kept[i], kept[j])])
}

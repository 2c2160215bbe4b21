//! A subsystem of one's own, coupled to a built-in model: `cargo run --package koppel --example own_subsystem`.
//!
//! The plant y' = u - y is sampled every H = 0.5 s. The dead-beat controller u = (1 - a y) / (1 - a), a = e^{-H}, takes it from 0
//! to 1 in one step, exactly.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::Result;
use koppel::models;
use koppel::record::{Record, Table};
use koppel::run::{Flow, Run, RunConfig};
use koppel::signal::{Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{
    Capabilities, Connection, OdeModel, Ports, Snapshot, Subsystem, SystemBuilder, Variable, VariableId,
};

/// The controller: its ports, a, and its output u.
struct DeadBeat {
    ports: Ports,
    decay: f64,
    demand: f64,
}

impl DeadBeat {
    fn new(step: f64) -> Self {
        let inputs = vec![Variable::new("y")];
        let outputs = vec![Variable::new("u").fed_by(&[0])];
        let ports = Ports { inputs, outputs, ..Ports::default() };
        DeadBeat { ports, decay: (-step).exp(), demand: 0.0 }
    }
}

impl Subsystem for DeadBeat {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn capabilities(&self) -> &Capabilities {
        static CAPABILITIES: Capabilities = Capabilities::new("none");
        &CAPABILITIES
    }

    fn initialize(&mut self, _start: f64) -> Result<()> {
        self.demand = 0.0;
        Ok(())
    }

    fn read(&mut self, inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        if let Some(inputs) = inputs {
            self.demand = (1.0 - self.decay * inputs[0]) / (1.0 - self.decay);
        }
        outputs[0] = self.demand;
        Ok(())
    }

    fn step(&mut self, _: &Step, input: &Segment<'_>, outputs: &mut [f64], _: &mut Samples) -> Result<()> {
        let mut inputs = [0.0];
        input.end_values(&mut inputs);
        self.read(Some(&inputs), outputs)
    }

    // The output is all there is to get, and there is no parameter to set.
    fn get(&mut self, _variable: VariableId) -> Result<f64> {
        Ok(self.demand)
    }

    fn set(&mut self, _parameter: VariableId, _value: f64) -> Result<()> {
        Ok(())
    }

    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        snapshot.reals = vec![self.demand];
        Ok(())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.demand = snapshot.reals[0];
        Ok(())
    }
}

pub(crate) fn main() -> Result<()> {
    let table = run(0.5)?;
    for (time, row) in table.times.iter().zip(&table.rows) {
        println!("t = {time} s: y = {:.6}, u = {:.6}", row[0], row[1]);
    }
    Ok(())
}

/// Three steps of this size; the columns are y and u.
pub(crate) fn run(step: f64) -> Result<Table> {
    let plant = OdeModel::new(models::build("pt1", &Default::default())?, &SolverConfig::Exact {})?;
    let system = SystemBuilder::new()
        .add("plant", plant)
        .add("controller", DeadBeat::new(step))
        .connect(Connection::new("plant.y", "controller.y"))
        .connect(Connection::new("controller.u", "plant.u"))
        .build()?;
    let record = Record::Many(vec!["plant.y".into(), "controller.u".into()]);
    let mut simulation = Run::new(system, &RunConfig { record, ..RunConfig::new(3.0 * step, step) })?;
    let mut table = Table::default();
    simulation.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok(table)
}

//! A model of one's own, coupled to a built-in one: `cargo run --package koppel --example own_model`.
//!
//! The plant y' = u - y is sampled every H = 0.5 s. The dead-beat controller u = (1 - a y) / (1 - a), a = e^{-H}, takes it from 0
//! to 1 in one step, exactly. A model is its ports and its equations; black boxes implement `koppel::system::Subsystem` instead.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::record::{Record, Trajectory};
use koppel::run::{Run, RunConfig};
use koppel::system::{Connection, Ode, OdeModel, Ports, SystemBuilder, Variable};
use koppel::{Result, models, solver::SolverConfig};

struct DeadBeat(Ports, f64);

impl Ode for DeadBeat {
    fn ports(&self) -> &Ports {
        &self.0
    }

    fn output(&self, _time: f64, _x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = (1.0 - self.1 * u[0]) / (1.0 - self.1);
    }
}

/// Three steps; the columns are the output of the plant and that of the controller.
pub(crate) fn run(step: f64) -> Result<Trajectory> {
    let (inputs, outputs) = (vec![Variable::new("y")], vec![Variable::new("u").fed_by(&[0])]);
    let controller = DeadBeat(Ports { inputs, outputs, ..Ports::default() }, (-step).exp());
    let system = SystemBuilder::new()
        .add("plant", models::subsystem("pt1", &[], &SolverConfig::Exact {})?)
        .add("controller", OdeModel::new(Box::new(controller), &SolverConfig::default())?)
        .connect(Connection::new("plant.y", "controller.y"))
        .connect(Connection::new("controller.u", "plant.u"));
    let record = Record::Many(vec!["plant.y".into(), "controller.u".into()]);
    let config = RunConfig { record, ..RunConfig::new(3.0 * step, step) };
    Run::new(system.build()?, &config)?.run_to_table()
}

pub(crate) fn main() -> Result<()> {
    run(0.5)?.rows.iter().for_each(|row| println!("y = {:.6}, u = {:.6}", row[0], row[1]));
    Ok(())
}

//! Couples two masses by a spring and compares methods at a large step: `cargo run --package koppel --example compare_methods`.
//!
//! The exact positions are x_left = (cos t + cos √3 t) / 2 and x_right = (cos t - cos √3 t) / 2.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::Result;
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::models;
use koppel::record::{Record, Table};
use koppel::run::{Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, System, SystemBuilder};

pub(crate) fn main() -> Result<()> {
    let foh = CouplingConfig::foh(StartUp::Constant);
    for coupling in [CouplingConfig::zoh(), foh, CouplingConfig::from(VfpsConfig::default())] {
        let table = run(&coupling, 0.1)?;
        let exact = |t: f64| 0.5 * (t.cos() - (3_f64.sqrt() * t).cos());
        let errors = table.times.iter().zip(table.column(0)).map(|(t, x)| (x - exact(*t)).abs());
        println!("{:>4}: largest error {:.1e} m", coupling.name(), errors.fold(0.0, f64::max));
    }
    Ok(())
}

/// The position of the right mass over 10 s.
pub(crate) fn run(coupling: &CouplingConfig, step: f64) -> Result<Table> {
    let record = Record::One("right.x".into());
    let config = RunConfig { coupling: coupling.clone(), record, ..RunConfig::new(10.0, step) };
    let mut simulation = Run::new(masses()?, &config)?;
    let mut table = Table::default();
    simulation.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok(table)
}

/// wall --- [left] --- [right] --- wall, with masses of 1 kg and springs of 1 N/m; the left one carries the coupling spring.
fn masses() -> Result<System> {
    let part = |model: &str, parameters: &[(&str, f64)]| {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        OdeModel::new(models::build(model, &parameters)?, &SolverConfig::Exact {})
    };
    let left = [("m", 1.0), ("c", 1.0), ("d", 0.0), ("ck", 1.0), ("dk", 0.0), ("x0", 1.0)];
    SystemBuilder::new()
        .add("left", part("spring-mass", &left)?)
        .add("right", part("mass", &[("m", 1.0), ("c", 1.0), ("d", 0.0)])?)
        .connect(Connection::new("left.F", "right.F"))
        .connect(Connection::new("right.x", "left.x"))
        .connect(Connection::new("right.v", "left.v"))
        .build()
}

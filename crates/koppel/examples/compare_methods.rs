//! Couples two masses by a spring and compares methods at a large step: `cargo run --package koppel --example compare_methods`.
//!
//! wall --- [left] --- [right] --- wall, with masses of 1 kg and springs of 1 N/m; `left` carries the coupling spring and starts at
//! 1 m. The exact position of the right mass is (cos t - cos √3 t) / 2.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::run::{Run, RunConfig};
use koppel::system::{Connection, SystemBuilder};
use koppel::{Result, models, record::Record, solver::SolverConfig};

pub(crate) fn main() -> Result<()> {
    let foh = CouplingConfig::foh(StartUp::Constant);
    for coupling in [CouplingConfig::zoh(), foh, VfpsConfig::default().into()] {
        println!("{:>4}: largest error {:.1e} m", coupling.name(), largest_error(&coupling, 0.1)?);
    }
    Ok(())
}

pub(crate) fn largest_error(coupling: &CouplingConfig, step: f64) -> Result<f64> {
    let left = [("m", 1.0), ("c", 1.0), ("d", 0.0), ("ck", 1.0), ("dk", 0.0), ("x0", 1.0)];
    let right = [("m", 1.0), ("c", 1.0), ("d", 0.0)];
    let masses = SystemBuilder::new()
        .add("left", models::subsystem("spring-mass", &left, &SolverConfig::Exact {})?)
        .add("right", models::subsystem("mass", &right, &SolverConfig::Exact {})?)
        .connect(Connection::new("left.F", "right.F"))
        .connect(Connection::new("right.x", "left.x"))
        .connect(Connection::new("right.v", "left.v"));
    let (coupling, record) = (coupling.clone(), Record::One("right.x".into()));
    let config = RunConfig { coupling, record, ..RunConfig::new(10.0, step) };
    let table = Run::new(masses.build()?, &config)?.run_to_table()?;
    let exact = |t: f64| 0.5 * (t.cos() - (3_f64.sqrt() * t).cos());
    Ok(table.times.iter().zip(table.column(0)).map(|(t, x)| (x - exact(*t)).abs()).fold(0.0, f64::max))
}

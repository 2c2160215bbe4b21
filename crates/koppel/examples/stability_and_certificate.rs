//! Asks before a run up to which step it is stable, and afterwards how accurate it was:
//! `cargo run --package koppel --example stability_and_certificate`.
//!
//! A first-order plant y' = u - y under the feedback u = -3 y. With zero-order hold the loop is stable up to ln 2 s.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::Result;
use koppel::analysis::{Certificate, Certifier, LinearSystem, Scan, stable_steps};
use koppel::models;
use koppel::record::Table;
use koppel::run::{Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, System, SystemBuilder};

pub(crate) fn main() -> Result<()> {
    println!("stable up to a step of {:.4} s", largest_stable_step()?);
    for step in [0.4, 0.1, 0.01] {
        let (_, certificate) = certified_run(step)?;
        println!("step {step} s: {:?}: {}", certificate.verdict, certificate.reason);
    }
    Ok(())
}

/// The end of the first range of stable steps, by the spectral radius of the coupled system; no run is needed.
pub(crate) fn largest_stable_step() -> Result<f64> {
    let config = RunConfig::new(2.0, 0.1);
    let linear = LinearSystem::new(&mut Run::new(control_loop()?, &config)?)?;
    Ok(stable_steps(&linear, &config, Scan::around(0.1))?.first().map_or(0.0, |range| range.to))
}

/// A run whose connections are watched by a certifier.
pub(crate) fn certified_run(step: f64) -> Result<(Table, Certificate)> {
    let mut simulation = Run::new(control_loop()?, &RunConfig::new(2.0, step))?;
    let mut certifier = Certifier::new(&mut simulation);
    let mut table = Table::default();
    simulation.run(&mut table, &mut |simulation| {
        certifier.look(simulation);
        Ok(Flow::Continue)
    })?;
    Ok((table, certifier.certificate(&simulation)))
}

fn control_loop() -> Result<System> {
    let part = |model: &str, parameters: &[(&str, f64)]| {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        OdeModel::new(models::build(model, &parameters)?, &SolverConfig::Exact {})
    };
    SystemBuilder::new()
        .add("plant", part("pt1", &[("K", 1.0), ("T", 1.0), ("y0", 1.0)])?)
        .add("feedback", part("feedthrough", &[("b", 0.0), ("c", 0.0), ("d", -3.0)])?)
        .connect(Connection::new("plant.y", "feedback.u"))
        .connect(Connection::new("feedback.y", "plant.u"))
        .build()
}

//! Asks before a run up to which step it is stable, and afterwards how accurate it was:
//! `cargo run --package koppel --example stability_and_certificate`.
//!
//! A first-order plant y' = u - y under the feedback u = -3 y. With zero-order hold the loop is stable up to ln 2 s.
#![expect(clippy::print_stdout, reason = "an example prints")]

use koppel::analysis::{Certificate, Certifier, LinearSystem, Scan, stable_steps};
use koppel::coupling::CouplingConfig;
use koppel::run::{Flow, Run, RunConfig};
use koppel::system::{Connection, SystemBuilder};
use koppel::{Result, models, record::Trajectory, solver::SolverConfig};

pub(crate) fn main() -> Result<()> {
    println!("stable up to a step of {:.4} s", largest_stable_step()?);
    let (_, certificate) = certified_run(0.1)?;
    println!("step 0.1 s: {:?}: {}", certificate.verdict, certificate.reason);
    Ok(())
}

fn control_loop(step: f64) -> Result<Run> {
    let part = |model: &str, parameters: &[_]| models::subsystem(model, parameters, &SolverConfig::Exact {});
    let system = SystemBuilder::new()
        .add("plant", part("pt1", &[("y0", 1.0)])?)
        .add("feedback", part("feedthrough", &[("b", 0.0), ("c", 0.0), ("d", -3.0)])?)
        .connect(Connection::new("plant.y", "feedback.u"))
        .connect(Connection::new("feedback.y", "plant.u"));
    Run::new(system.build()?, &RunConfig::new(2.0, step))
}

/// By the spectral radius of the coupled system: no run is needed.
pub(crate) fn largest_stable_step() -> Result<f64> {
    let linear = LinearSystem::new(&mut control_loop(0.1)?)?;
    let ranges = stable_steps(&linear, &RunConfig::new(2.0, 0.1), Scan::around(0.1))?;
    Ok(ranges.first().map_or(0.0, |range| range.to))
}

/// A certifier watches the connections of a run.
pub(crate) fn certified_run(step: f64) -> Result<(Trajectory, Certificate)> {
    let (mut run, mut table) = (control_loop(step)?, Trajectory::default());
    let mut certifier = Certifier::new(&mut run, &CouplingConfig::zoh());
    run.run(&mut table, &mut |run| {
        certifier.look(run);
        Ok(Flow::Continue)
    })?;
    // The system is linear: no runs at other steps have to confirm the error.
    let certificate = certifier.certificate(&run, &mut |_| Err("not made".into()));
    Ok((table, certificate))
}

//! What the papers report, found again: one file per case.
//!
//! Numbers that a paper prints, or that were measured with an independent implementation, stand beside those seen here.
//! Where they differ, the test says by how much and why. Tests that hold numbers of koppel's own, because no paper prints them,
//! say `regression` in their names.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/cases/mod.rs"]
mod cases;
mod dual_mass;
mod helicopter;
mod hinf;
mod identified;
mod monte_carlo;
mod nonlinear_dual_mass;
mod pendulum;
mod watched;

use crate::cases::Case;
use koppel::Result;
use koppel::coupling::{CouplingConfig, PrestepConfig};
use koppel::record::Trajectory;
use koppel::run::{Flow, Reading, Run, RunConfig};
use koppel::system::System;

/// Names of the columns, and the rows.
fn run(system: System, config: &RunConfig) -> Result<(Vec<String>, Trajectory)> {
    let mut run = Run::new(system, config)?;
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue))?;
    Ok((run.columns().iter().map(|column| column.name.clone()).collect(), table))
}

/// Genser 2020, (3.9) and (3.10): per subsystem the mean over its outputs of |y - y_ref| relative to the range of y_ref,
/// mean over the communication points after the start, Euclidean norm over the subsystems. Infinite if the run fails.
fn global_error(case: &Case, config: &RunConfig) -> f64 {
    let Ok((names, table)) = run(case.system().unwrap(), config) else { return f64::INFINITY };
    let plain = RunConfig { start: config.start, ..RunConfig::new(config.stop, config.step) };
    let (exact_names, exact) = run(case.reference().unwrap(), &plain).unwrap();
    assert_eq!(table.times.len(), exact.times.len());
    let graph = case.system().unwrap().graph;
    let of_subsystem = |id: usize| {
        let outputs = graph.outputs_of(id);
        let mean = outputs.clone().map(|output| {
            let name = graph.output_name(output);
            let own = names.iter().position(|n| *n == name).unwrap();
            let other = exact_names.iter().position(|n| *n == format!("monolith.{name}")).unwrap();
            let (low, high) =
                exact.column(other).fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
            let pairs = table.column(own).zip(exact.column(other)).skip(1);
            let (sum, count) = pairs.fold((0.0, 0), |(s, n), (a, b)| (s + (a - b).abs(), n + 1));
            sum / f64::from(count) / (high - low + 1e-12)
        });
        mean.sum::<f64>() / outputs.len() as f64
    };
    (0..graph.len()).map(|id| of_subsystem(id).powi(2)).sum::<f64>().sqrt()
}

fn prestep(change: impl FnOnce(&mut PrestepConfig)) -> CouplingConfig {
    let mut config = PrestepConfig::default();
    change(&mut config);
    CouplingConfig::from(config)
}

/// Stale reading, as in the studies of Genser.
fn stale(coupling: CouplingConfig, stop: f64, step: f64) -> RunConfig {
    RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(stop, step) }
}

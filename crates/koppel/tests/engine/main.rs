//! Behaviour of the macro step: wiring, schedules, rates, times, external signals, changes, stop conditions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod couplings;
mod loops;
mod signals;
mod steps;
mod watching;
mod wiring;

use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Ending, Flow, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{LinearOde, OdeModel, StateSpace, System, Variable};

/// x' = a x + b u, y = c x + d u.
fn scalar(a: f64, b: f64, c: f64, d: f64, x0: f64) -> OdeModel {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("scalar", one(a), one(b), one(c), one(d)).unwrap();
    let ode = LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[x0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

fn integrator(x0: f64) -> OdeModel {
    scalar(0.0, 1.0, 1.0, 0.0, x0)
}

fn gain(value: f64) -> OdeModel {
    scalar(0.0, 0.0, 0.0, value, 0.0)
}

fn run(system: System, config: &RunConfig) -> (Trajectory, Ending, Run) {
    let mut run = Run::new(system, config).unwrap();
    let mut table = Trajectory::default();
    let ending = run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    (table, ending, run)
}

/// The last value of a column by name.
fn last(run: &Run, table: &Trajectory, name: &str) -> f64 {
    let column = run.columns().iter().position(|c| c.name == name).unwrap();
    table.rows.last().unwrap()[column]
}

fn step(time: f64, after: f64) -> ExternalConfig {
    ExternalConfig::Step { time, before: 0.0, after }
}

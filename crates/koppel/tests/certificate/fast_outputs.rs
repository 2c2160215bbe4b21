//! Outputs that move faster than the communication: a source in time with the steps, or with fifths of them, acts on an output directly.

use super::certified;
use super::random::worst;
use koppel::analysis::RunVerdict;
use koppel::coupling::CouplingConfig;
use koppel::equations::{Equations, Source};
use koppel::record::{Record, Trajectory};
use koppel::run::RunConfig;
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{Connection, OdeModel, System, SystemBuilder};
use std::f64::consts::PI;

const STEP: f64 = 0.02;
const STEPS: f64 = 400.0;

fn model(text: &str) -> OdeModel {
    let ode = Equations::new(&Source::new(text)).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Adaptive(Tolerances::default())).unwrap()
}

/// An oscillator that is pushed by a lag with this source on its output, and pushes it.
fn system(periods: f64, phase: f64) -> System {
    let w = 2.0 * PI * periods / STEP;
    let lag = format!(
        "input u\noutput y\nstate x = 0.5\nder(x) = u - x + 0.1 * x^2\ny = x + 0.3 * sin({w:?} * time + {phase:?})\n"
    );
    let swing = "input u\noutput y\nstate x = 1\nstate v = 0\nder(x) = v\nder(v) = 9 * (u - x) - v\ny = x\n";
    SystemBuilder::new()
        .add("lag", model(&lag))
        .add("swing", model(swing))
        .connect(Connection::new("lag.y", "swing.u").gain(-0.4))
        .connect(Connection::new("swing.y", "lag.u"))
        .build()
        .unwrap()
}

fn config(step: f64, every: u64) -> RunConfig {
    RunConfig {
        coupling: CouplingConfig::zoh(),
        record: Record::Many(vec!["lag.y".into(), "swing.y".into()]),
        record_every: every,
        ..RunConfig::new(STEPS * STEP, step)
    }
}

/// The source averages out, or it shifts the mean: the first runs are right and trusted, the others are not.
#[test]
fn sources_in_time_with_the_steps() {
    for periods in [0.5, 1.0, 2.0, 5.0, 10.0, 13.0, 21.0] {
        for phase in [0.0, 0.5 * PI] {
            let (table, found) = certified(|| system(periods, phase), &config(STEP, 1)).unwrap();
            let mut truth = Trajectory::default();
            let mut fine = koppel::run::Run::new(system(periods, phase), &config(STEP / 128.0, 128)).unwrap();
            fine.run(&mut truth, &mut |_| Ok(koppel::run::Flow::Continue)).unwrap();
            let error = worst(&table, &truth);
            let what = format!("{periods} periods, phase {phase}: {error}, {}", found.reason);
            println!("{what}");
            if error < 0.01 {
                assert_eq!(found.verdict, RunVerdict::Trusted, "{what}");
            }
            assert!(found.verdict != RunVerdict::Wrong || error > 0.05, "{what}");
            assert!(found.verdict != RunVerdict::Trusted || error < found.overall.unwrap().high, "{what}");
        }
    }
}

/// Two fast lags whose loop swings between two points at any step from half of the run on, and would rest if it were not cut.
#[test]
fn a_swing_that_the_coupling_makes_is_wrong() {
    let system = || {
        let fast = "input u\noutput y\nstate x = 0.1\nder(x) = 1000 * ((0.3 + 2 / (1 + exp((4 - time) / 0.1))) * tanh(u + 0.1) - x)\ny = x\n";
        SystemBuilder::new()
            .add("lag", model(fast))
            .add("swing", model(fast))
            .connect(Connection::new("lag.y", "swing.u").gain(-1.0))
            .connect(Connection::new("swing.y", "lag.u"))
            .build()
            .unwrap()
    };
    let (_, found) = certified(system, &config(STEP, 1)).unwrap();
    assert_eq!(found.verdict, RunVerdict::Wrong, "{}", found.reason);
}

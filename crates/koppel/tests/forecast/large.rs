//! A system of a hundred subsystems.

use koppel::analysis::{Forecast, ForecastOptions, Verdict};
use koppel::linalg::Matrix;
use koppel::run::{RunConfig, Simulation};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use std::time::Instant;

/// Masses in a row, each with its own copies of the springs to its neighbours; the ends are free.
fn chain(count: usize) -> System {
    let (stiffness, damping) = (100.0, 1.0);
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        let neighbours = f64::from(u8::from(k > 0) + u8::from(k + 1 < count));
        let a = [0.0, 1.0, -neighbours * stiffness - 10.0, -neighbours * damping - 0.2];
        let matrices = StateSpace::new(
            "",
            Matrix::from_slice(2, 2, &a),
            Matrix::from_slice(2, 4, &[0.0, 0.0, 0.0, 0.0, stiffness, damping, stiffness, damping]),
            Matrix::identity(2),
            Matrix::zeros(2, 4),
        );
        let inputs = ["x_left", "v_left", "x_right", "v_right"].map(Variable::new).to_vec();
        let outputs = ["x", "v"].map(Variable::new).to_vec();
        let start = [if k == 0 { 1.0 } else { 0.0 }, 0.0];
        let ode = LinearOde::new(matrices.unwrap(), inputs, outputs, &start).unwrap();
        builder =
            builder.add(&format!("m{k}"), OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap());
    }
    for k in 0..count {
        for signal in ["x", "v"] {
            if k > 0 {
                let (from, to) = (format!("m{}.{signal}", k - 1), format!("m{k}.{signal}_left"));
                builder = builder.connect(Connection::new(&from, &to));
            }
            if k + 1 < count {
                let (from, to) = (format!("m{}.{signal}", k + 1), format!("m{k}.{signal}_right"));
                builder = builder.connect(Connection::new(&from, &to));
            }
        }
    }
    builder.build().unwrap()
}

/// It answers in about six seconds of one core; a machine with other work is given more.
#[test]
fn a_hundred_subsystems_are_judged_in_seconds() {
    let run = RunConfig::new(10.0, 0.01);
    let mut simulation = Simulation::new(chain(100), &run).unwrap();
    let begin = Instant::now();
    let forecast = Forecast::of(&mut simulation, &run, &ForecastOptions::default());
    assert!(begin.elapsed().as_secs() < 90, "{:?}", begin.elapsed());
    assert_eq!(forecast.verdict, Verdict::Stable, "{:?}", forecast.reason);
    // Far down the chain hardly anything moves; where it begins, the error is small.
    let error = forecast.error.unwrap();
    let first = error.outputs.iter().find(|output| output.output == "m0.x").unwrap();
    assert!(first.error < 0.05 && first.error > 1e-6, "{first:?}");
    // The chain cut at every spring is unstable at longer steps, and that is found.
    let own = &forecast.limits[0].intervals;
    assert!(own.len() == 1 && own[0].from_is_open && !own[0].to_is_open, "{own:?}");
}

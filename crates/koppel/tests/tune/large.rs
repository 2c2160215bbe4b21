//! Many subsystems, each connection with a method of its own.

use super::names;
use koppel::analysis::LinearSystem;
use koppel::coupling::CouplingConfig;
use koppel::linalg::Matrix;
use koppel::plan::tune::{TuneOptions, tune};
use koppel::run::{RunConfig, Simulation};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Masses in a row, every third of them stiff, each with its own copies of the springs to its neighbours.
fn chain(count: usize) -> (System, Vec<String>) {
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        let (stiffness, damping) = if k % 3 == 0 { (400.0, 2.0) } else { (100.0, 1.0) };
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
        let ode = LinearOde::new(matrices.unwrap(), inputs, outputs, &[(k as f64).cos(), 0.0]).unwrap();
        let model = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
        builder = builder.add(&format!("m{k}"), model);
    }
    let mut ends = Vec::new();
    for k in 0..count {
        for signal in ["x", "v"] {
            let left =
                (k > 0).then(|| (format!("m{}.{signal}", k.wrapping_sub(1)), format!("m{k}.{signal}_left")));
            let right =
                (k + 1 < count).then(|| (format!("m{}.{signal}", k + 1), format!("m{k}.{signal}_right")));
            for (from, to) in left.into_iter().chain(right) {
                builder = builder.connect(Connection::new(&from, &to));
                ends.push(to);
            }
        }
    }
    (builder.build().unwrap(), ends)
}

/// Twenty subsystems, 76 connections: what is found beats every single method with every simple schedule.
#[test]
fn twenty_subsystems_take_seconds() {
    let run = RunConfig::new(2.0, 0.01);
    let (system, inputs) = chain(20);
    let linear = LinearSystem::new(&mut Simulation::new(system, &run).unwrap()).unwrap();
    let told = AtomicUsize::new(0);
    let methods = names(&["zoh", "foh", "soh", "relaxed", "nepce"]);
    let options = TuneOptions {
        methods: &methods,
        connections: &inputs,
        evaluations: Some(160),
        progress: &|judged, most| {
            assert!(judged <= most);
            told.fetch_max(judged, Ordering::Relaxed);
        },
        ..TuneOptions::default()
    };
    let begin = Instant::now();
    let found = tune(&linear, &run, &options).unwrap();
    println!(
        "{:?}, {} of {:e}, {} points",
        begin.elapsed(),
        found.judged,
        found.combinations,
        found.front.len()
    );
    assert!(begin.elapsed().as_secs() < 300, "{:?}", begin.elapsed());
    assert_eq!((told.into_inner(), found.judged), (160, 160));
    assert!(!found.is_complete && found.combinations > 1e50);
    let mixed =
        found.front.iter().filter(|one| matches!(one.candidate.coupling, CouplingConfig::Mixed { .. }));
    assert!(mixed.count() > 0, "no connection has a method of its own");
    let own = found.own.unwrap().score;
    let beats = |one: &koppel::plan::tune::Tuned| {
        one.score.error < own.error && one.score.cost.calls < own.cost.calls
    };
    assert!(found.front.iter().any(beats));
}

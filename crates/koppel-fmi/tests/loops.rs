//! Algebraic loops through FMUs that cannot roll back.
//!
//! The FMU gives y = 2 u + x with x' = u, the other side u = -3 y: y = x / 7, and with constant inputs over a step
//! x grows by -3 H x / 7.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(dead_code, reason = "what the tests share is not all used here")]

mod common;

use common::TestFmu;
use koppel::analysis::{structure, zero_stability};
use koppel::linalg::Matrix;
use koppel::run::{AccelerationKind, IterationConfig, IterationKind, Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use koppel::workbench::Source;
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};

const STEP: f64 = 0.01;

fn fmu(flags: &[&str]) -> TestFmu {
    TestFmu::new("gain2.c", include_str!("fixtures/gain2.xml"), flags)
}

fn system(fmu: &TestFmu) -> System {
    let options = Options { name: "box".into(), ..Options::default() };
    let instance = CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap();
    let zeros = Matrix::zeros;
    let gain =
        StateSpace::new("gain", zeros(0, 0), zeros(0, 1), zeros(1, 0), Matrix::from_slice(1, 1, &[-3.0]));
    let gain =
        LinearOde::new(gain.unwrap(), vec![Variable::new("u")], vec![Variable::new("y")], &[]).unwrap();
    SystemBuilder::new()
        .add("box", instance)
        .add("gain", OdeModel::new(Box::new(gain), &SolverConfig::Exact {}).unwrap())
        .connect(Connection::new("box.y", "gain.u"))
        .connect(Connection::new("gain.y", "box.u"))
        .build()
        .unwrap()
}

fn config(kind: Option<IterationKind>) -> RunConfig {
    let iteration = kind.map(|kind| IterationConfig::new(kind, AccelerationKind::Broyden));
    RunConfig { reading: Reading::Stale, iteration, ..RunConfig::new(1.0, STEP) }
}

#[test]
fn outputs_are_iterated_without_roll_back() {
    let fmu = fmu(&[]);
    let fresh = RunConfig { reading: Reading::Fresh, ..config(None) };
    for config in [config(Some(IterationKind::Outputs)), fresh] {
        let mut run = Run::new(system(&fmu), &config).unwrap();
        let mut x: f64 = 1.0;
        while !run.is_done() {
            let id = run.graph().find("box").unwrap();
            let found = run.outputs(id)[0];
            assert!((found - x / 7.0).abs() < 1e-7, "{found} {}", x / 7.0);
            run.advance().unwrap();
            x -= STEP * 3.0 / 7.0 * x;
        }
    }
}

#[test]
fn it_is_told_beforehand_what_can_be_iterated() {
    let fmu = fmu(&[]);
    let plain = config(None);
    let mut run = Run::new(system(&fmu), &plain).unwrap();
    let report = structure(&mut run).unwrap();
    let part = report.subsystems.iter().find(|s| s.name == "box").unwrap();
    assert_eq!((part.source, part.can_roll_back), (Source::Probing, false));
    assert_eq!(report.loops[0].without_roll_back, ["box"]);
    let document = zero_stability(&mut run, &plain);
    assert!(
        (document.zero_stability_radius - 6_f64.sqrt()).abs() < 1e-4 && !document.zero_stable,
        "{document:?}"
    );
    let error = Run::new(system(&fmu), &config(Some(IterationKind::Step))).err().unwrap();
    assert!(error.to_string().contains("`box` cannot roll back"), "{error}");
}

#[test]
fn an_fmu_that_does_not_follow_its_inputs_between_steps_is_refused() {
    let fmu = fmu(&["-DLAZY"]);
    let fresh = RunConfig { reading: Reading::Fresh, ..config(None) };
    for config in [config(Some(IterationKind::Outputs)), fresh] {
        let mut run = Run::new(system(&fmu), &config).unwrap();
        let error = run.advance().unwrap_err().to_string();
        assert!(error.contains("`box` does not evaluate its outputs again"), "{error}");
    }
}

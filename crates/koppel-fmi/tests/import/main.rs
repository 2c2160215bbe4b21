//! Co-simulation FMUs as subsystems, with FMUs compiled from C by the tests.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/reals.rs"]
mod reals;
mod refusals;
mod refused_inputs;
mod set_up;
mod states;
mod values;
mod wide;

use common::{MASS2, MASS3, TestFmu};
use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, OdeModel, StateSpace, Subsystem, SystemBuilder, Variable, VariableId,
};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};
use reals::only_reals;
use std::path::Path;

fn instance(path: &Path, options: Options) -> CoSimulation {
    try_instance(path, options).unwrap_or_else(|error| panic!("{error}"))
}

fn try_instance(path: &Path, options: Options) -> Result<CoSimulation, String> {
    let fmu = Fmu::open(path).map_err(|error| error.to_string())?;
    CoSimulation::new(&fmu, &options).map_err(|error| error.to_string())
}

fn options(start_values: &[(&str, f64)]) -> Options {
    let start_values =
        start_values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    Options { name: "body".into(), start_values, ..Options::default() }
}

/// The same mass without FMI, by the same method with the same micro step.
fn native(m: f64, c: f64, d: f64) -> OdeModel {
    let matrices = StateSpace::new(
        "mass",
        Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
        Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
        Matrix::from_slice(2, 2, &[1.0, 0.0, 0.0, 1.0]),
        Matrix::from_slice(2, 1, &[0.0, 0.0]),
    );
    let outputs = vec![Variable::new("x"), Variable::new("v")];
    let ode = LinearOde::new(matrices.unwrap(), vec![Variable::new("F")], outputs, &[1.0, 0.0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Rk4 { step: 1e-3 }).unwrap()
}

fn id(subsystem: &dyn Subsystem, name: &str) -> VariableId {
    subsystem.ports().find_any(name).unwrap_or_else(|| panic!("no variable {name}"))
}

/// Steps under the input with these coefficients, for every step the same; returns x and v.
fn drive(subsystem: &mut dyn Subsystem, steps: u64, coefficients: &[f64]) -> Result<[f64; 2], String> {
    subsystem.initialize(0.0).map_err(|error| error.to_string())?;
    go_on(subsystem, 0, steps, coefficients)
}

fn go_on(
    subsystem: &mut dyn Subsystem,
    from: u64,
    steps: u64,
    coefficients: &[f64],
) -> Result<[f64; 2], String> {
    let inputs = subsystem.ports().inputs.len();
    let mut all = vec![0.0; inputs * coefficients.len()];
    all[..coefficients.len()].copy_from_slice(coefficients);
    let mut outputs = vec![0.0; subsystem.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, outputs.len());
    for index in from..from + steps {
        let step = Step { index, start: 0.1 * index as f64, size: 0.1 };
        let segment = Segment::new(&step, inputs, coefficients.len(), &all);
        subsystem.step(&step, &segment, &mut outputs, &mut samples).map_err(|error| error.to_string())?;
    }
    Ok([outputs[0], outputs[1]])
}

fn difference(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).abs().max((a[1] - b[1]).abs())
}

#[test]
fn constant_inputs_give_the_numbers_of_the_native_model() {
    let reference = drive(&mut native(2.0, 3.0, 0.1), 50, &[0.7]).unwrap();
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let mut body = instance(&fmu.path(), options(&[("m", 2.0), ("c", 3.0), ("d", 0.1)]));
        let found = drive(&mut body, 50, &[0.7]).unwrap();
        assert!(difference(found, reference) < 1e-12, "{found:?} against {reference:?}");
        assert_eq!(body.get(id(&body, "steps")).unwrap(), 50.0, "a constant input needs one doStep");
    }
}

#[test]
fn the_input_polynomial_reaches_the_fmu_by_the_best_way() {
    let quadratic = [0.3, -2.0, 5.0];
    let linear = [0.3, -2.0];
    let exact = drive(&mut native(1.0, 1.0, 0.0), 20, &quadratic).unwrap();
    let exact_linear = drive(&mut native(1.0, 1.0, 0.0), 20, &linear).unwrap();

    let three = TestFmu::three(MASS3);
    let mut body = instance(&three.path(), options(&[]));
    assert!(
        body.capabilities().solver.contains("inputs by intermediate update"),
        "{}",
        body.capabilities().solver
    );
    assert!(difference(drive(&mut body, 20, &quadratic).unwrap(), exact) < 1e-12);

    let two = TestFmu::two(MASS2);
    let mut body = instance(&two.path(), Options { input_order: 2, ..options(&[]) });
    assert!(
        body.capabilities().solver.contains("derivatives up to order 2"),
        "{}",
        body.capabilities().solver
    );
    assert!(difference(drive(&mut body, 20, &quadratic).unwrap(), exact) < 1e-12);

    let mut body = instance(&two.path(), options(&[]));
    assert!(difference(drive(&mut body, 20, &linear).unwrap(), exact_linear) < 1e-12);
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0);
    let chords = difference(drive(&mut body, 20, &quadratic).unwrap(), exact);
    assert!(chords < 1e-6 && chords > 1e-12, "lines with the right mean: {chords}");

    for (fixture, description) in [("two", MASS2), ("three", MASS3)] {
        let plain = description
            .replace("canInterpolateInputs=\"true\"", "")
            .replace("providesIntermediateUpdate=\"true\"", "");
        let fmu = if fixture == "two" { TestFmu::two(&plain) } else { TestFmu::three(&plain) };
        let mut errors = Vec::new();
        for substeps in [1, 2, 4, 8] {
            let mut body = instance(&fmu.path(), Options { substeps, ..options(&[]) });
            let error = difference(drive(&mut body, 20, &quadratic).unwrap(), exact);
            assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0 * f64::from(substeps));
            errors.push(error);
        }
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 2.0).abs() < 0.1, "sub-steps with equal mean are of order 2: {errors:?}");
        }
    }
}

#[test]
fn two_fmus_give_the_numbers_of_two_native_models() {
    let config: RunConfig = RunConfig::new(5.0, 0.01);
    let run = |a: Box<dyn Subsystem>, b: Box<dyn Subsystem>| {
        let system = SystemBuilder::new()
            .add_boxed("a", a)
            .add_boxed("b", b)
            .connect(Connection::new("a.x", "b.F").gain(4.0))
            .connect(Connection::new("b.x", "a.F").gain(4.0));
        let mut run = Run::new(system.build().unwrap(), &config).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        (run.outputs(0).to_vec(), run.outputs(1).to_vec())
    };
    let (a, b) = (native(1.0, 6.0, 0.1), native(3.0, 9.0, 0.2));
    let (left, right) = run(Box::new(a), Box::new(b));
    let units = |text: &str| text.replace("unit=\"N\"", "").replace("unit=\"m\"", "");
    for fmu in [TestFmu::two(&units(MASS2)), TestFmu::three(MASS3)] {
        let make = |m, c, d| Box::new(instance(&fmu.path(), options(&[("m", m), ("c", c), ("d", d)])));
        let (found_left, found_right) = run(make(1.0, 6.0, 0.1), make(3.0, 9.0, 0.2));
        for (found, reference) in [(found_left, &left), (found_right, &right)] {
            assert!(
                difference([found[0], found[1]], [reference[0], reference[1]]) < 1e-12,
                "{found:?} {reference:?}"
            );
        }
    }
}

#[test]
fn an_fmu_with_steps_of_one_size_gets_them() {
    let fixed = MASS2
        .replace("canHandleVariableCommunicationStepSize=\"true\"", "")
        .replace("canInterpolateInputs=\"true\"", "");
    let fmu = TestFmu::two(&fixed);
    let mut body = instance(&fmu.path(), options(&[]));
    drive(&mut body, 5, &[1.0, 2.0]).unwrap();
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0);
    go_on(&mut body, 5, 5, &[1.0, 0.0]).unwrap();
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 40.0, "also where the slope happens to be zero");
}

/// An FMU with nothing but reals takes the short way through a step; one that takes steps of one size does so, too, and
/// refuses others.
#[test]
fn steps_of_one_size_are_plain_like_all_others() {
    let (free, fixed) =
        (only_reals(), only_reals().replace("canHandleVariableCommunicationStepSize=\"true\"", ""));
    let [free, fixed] = [free, fixed].map(|text| TestFmu::two(&text));
    let (mut one, mut other) = (instance(&free.path(), options(&[])), instance(&fixed.path(), options(&[])));
    let expected = drive(&mut native(1.0, 1.0, 0.0), 30, &[0.4]).unwrap();
    assert!(difference(drive(&mut one, 30, &[0.4]).unwrap(), expected) < 1e-12);
    assert!(difference(drive(&mut other, 30, &[0.4]).unwrap(), expected) < 1e-12);
    let shorter = Step { index: 30, start: 3.0, size: 0.05 };
    let mut outputs = [0.0; 2];
    let (segment, samples) = (Segment::held(&shorter, &[0.4]), &mut Samples::default());
    one.step(&shorter, &segment, &mut outputs, samples).unwrap();
    let report = other.step(&shorter, &segment, &mut outputs, samples).unwrap_err().to_string();
    assert!(report.contains("0.05") && report.contains("0.1"), "{report}");
}

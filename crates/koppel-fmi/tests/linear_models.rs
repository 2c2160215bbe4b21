//! Linear models of FMUs where they stand: what they come from, and that asking leaves no trace.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;
#[path = "common/exchange.rs"]
mod exchange_fmus;

use common::{MASS2, MASS3, TestFmu};
use exchange_fmus::{ALL, Declared, OSCILLATOR, VAN_DER_POL, VERSIONS};
use koppel::identify::InterfaceModel;
use koppel::linalg::Matrix;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{Snapshot, StateSpace, Subsystem};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, ModelExchange, Options};
use std::path::Path;

const STEP: f64 = 0.01;

fn options(values: &[(&str, f64)]) -> Options {
    let start_values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    Options { name: "part".into(), start_values, step: Some(STEP), ..Options::default() }
}

fn exchange(path: &Path, values: &[(&str, f64)]) -> Box<dyn Subsystem> {
    let solver = SolverConfig::Rk4 { step: 1e-3 };
    let mut body = ModelExchange::new(&Fmu::open(path).unwrap(), &options(values), Some(&solver)).unwrap();
    body.initialize(0.0).unwrap();
    Box::new(body)
}

fn co_simulation(fmu: &TestFmu, values: &[(&str, f64)]) -> Box<dyn Subsystem> {
    let mut body = CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options(values)).unwrap();
    body.initialize(0.0).unwrap();
    Box::new(body)
}

/// Outputs after each of these steps.
fn walk(body: &mut dyn Subsystem, from: u64, count: u64, inputs: &[f64]) -> Vec<u64> {
    let width = body.ports().outputs.len();
    let (mut outputs, mut samples) = (vec![0.0; width], Samples::new(Request::Nothing, width));
    let mut all = Vec::new();
    for k in from..from + count {
        let step = Step { index: k, start: STEP * k as f64, size: STEP };
        let segment = Segment::new(&step, inputs.len(), 1, inputs);
        body.step(&step, &segment, &mut outputs, &mut samples).unwrap();
        all.extend(outputs.iter().map(|value| value.to_bits()));
    }
    all
}

fn close(found: &Matrix, expected: &Matrix, tolerance: f64, what: &str) {
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()), "{what}");
    let scale = expected.max_abs().max(1e-3);
    let apart = (found - expected).max_abs();
    assert!(apart <= tolerance * scale, "{what}: apart by {apart:e}\n{found:?}\n{expected:?}");
}

fn compare(found: &StateSpace, expected: &StateSpace, tolerance: f64, what: &str) {
    close(&found.a, &expected.a, tolerance, &format!("{what}: A"));
    close(&found.b, &expected.b, tolerance, &format!("{what}: B"));
    close(&found.c, &expected.c, tolerance, &format!("{what}: C"));
    close(&found.d, &expected.d, tolerance, &format!("{what}: D"));
}

const OSCILLATION: [(&str, f64); 3] = [("p1", 2.0), ("p2", 50.0), ("p3", 0.3)];

/// Outputs x1, x2, y (and the counters); inputs u (and the switch, which has no derivatives).
fn oscillator(body: &dyn Subsystem) -> StateSpace {
    let (p, m) = (body.ports().outputs.len(), body.ports().inputs.len());
    let mut truth = StateSpace {
        a: Matrix::from_slice(2, 2, &[0.0, 1.0, -25.0, -0.15]),
        b: Matrix::zeros(2, m),
        c: Matrix::zeros(p, 2),
        d: Matrix::zeros(p, m),
    };
    let place = |name: &str| body.ports().outputs.iter().position(|port| port.name == name).unwrap();
    truth.b[(1, 0)] = 0.5;
    (truth.c[(place("x1"), 0)], truth.c[(place("x2"), 1)], truth.c[(place("y"), 0)]) = (1.0, 1.0, 1.0);
    truth.d[(place("y"), 0)] = 0.5;
    truth
}

#[test]
fn model_exchange_gives_its_equations() {
    let lie: &[&str] = &["-DLIE_DERIVATIVE"];
    let cases = [
        (ALL, &[][..], 1e-12, "; linear model by directional derivatives"),
        (Declared { derivatives: false, ..ALL }, &[], 1e-8, "; linear model by finite differences"),
        (ALL, lie, 1e-8, "; linear model by finite differences (its directional derivatives are wrong: "),
    ];
    for version in VERSIONS {
        for (declared, flags, tolerance, source) in cases {
            let fmu = OSCILLATOR.fmu(version, declared, flags);
            let mut body = exchange(&fmu.path(), &OSCILLATION);
            let mut undisturbed = exchange(&fmu.path(), &OSCILLATION);
            let truth = oscillator(body.as_ref());
            let what = format!("FMI {version} {declared:?} {flags:?}");
            let mut inputs = vec![0.0; body.ports().inputs.len()];
            for round in 0..3_u32 {
                inputs[0] = 0.4 * f64::from(round);
                let found = body.linearize(&inputs).unwrap().unwrap();
                compare(&found, &truth, tolerance, &what);
                let mut rates = vec![0.0; truth.outputs()];
                assert!(body.rates(&inputs, &mut rates).unwrap());
                let (x1, x2) = (get(body.as_mut(), "x1"), get(body.as_mut(), "x2"));
                let x = Matrix::from_slice(2, 1, &[x1, x2]);
                let u = Matrix::from_slice(inputs.len(), 1, &inputs);
                let expected = &truth.c * &(&(&truth.a * &x) + &(&truth.b * &u));
                let rates = Matrix::from_slice(truth.outputs(), 1, &rates);
                close(&rates, &expected, tolerance, &format!("{what}: rates"));
                let before = walk(undisturbed.as_mut(), 2 * u64::from(round), 2, &inputs);
                let evaluations =
                    |rows: Vec<u64>| without_evaluations(&body_names(undisturbed.as_ref()), rows);
                let after = walk(body.as_mut(), 2 * u64::from(round), 2, &inputs);
                assert_eq!(evaluations(after), evaluations(before), "{what}: no trace is left");
            }
            assert!(body.capabilities().solver.contains(source), "{}", body.capabilities().solver);
            assert!(!undisturbed.capabilities().solver.contains("linear model"));
        }
    }
}

fn body_names(body: &dyn Subsystem) -> Vec<String> {
    body.ports().outputs.iter().map(|port| port.name.clone()).collect()
}

/// Rows without the output that counts evaluations.
fn without_evaluations(names: &[String], rows: Vec<u64>) -> Vec<u64> {
    let counts = |k: usize| names[k % names.len()] == "evaluations";
    rows.into_iter().enumerate().filter(|(k, _)| !counts(*k)).map(|(_, value)| value).collect()
}

fn get(body: &mut dyn Subsystem, name: &str) -> f64 {
    let variable = body.ports().find_any(name).unwrap();
    body.get(variable).unwrap()
}

#[test]
fn a_stiff_nonlinear_model_is_differenced_where_it_stands() {
    for version in VERSIONS {
        let fmu = VAN_DER_POL.fmu(version, Declared { derivatives: false, ..ALL }, &[]);
        let mut body = exchange(&fmu.path(), &[("p1", 0.5), ("x1", 1.5), ("x2", -0.4)]);
        let inputs = vec![0.0; body.ports().inputs.len()];
        let found = body.linearize(&inputs).unwrap().unwrap();
        // p1 x2' = (1 - x1²) x2 - x1.
        let (x1, x2, p) = (1.5, -0.4, 0.5);
        let truth = [0.0, 1.0, (-2.0 * x1 * x2 - 1.0) / p, (1.0 - x1 * x1) / p];
        close(&found.a, &Matrix::from_slice(2, 2, &truth), 1e-8, "A");
    }
}

/// Undeclared, or declared for states that are not listed: roll-back.
fn plain_descriptions() -> [(TestFmu, &'static str); 4] {
    let without = |text: &str| {
        text.replace("providesDirectionalDerivative=\"true\"", "")
            .replace("providesDirectionalDerivatives=\"true\"", "")
    };
    [
        (TestFmu::two(MASS2), "2"),
        (TestFmu::three(MASS3), "3"),
        (TestFmu::two(&without(MASS2)), "2 plain"),
        (TestFmu::three(&without(MASS3)), "3 plain"),
    ]
}

const SPRING: [(&str, f64); 3] = [("m", 2.0), ("c", 50.0), ("d", 0.3)];

#[test]
fn co_simulation_is_tried_by_roll_back() {
    for (fmu, what) in plain_descriptions() {
        let (mut body, mut undisturbed) = (co_simulation(&fmu, &SPRING), co_simulation(&fmu, &SPRING));
        let mut inputs = vec![0.0; body.ports().inputs.len()];
        for round in 0..3_u32 {
            inputs[0] = 0.4 * f64::from(round);
            let found = body.linearize(&inputs).unwrap().unwrap();
            let model = InterfaceModel::from_state_space("part", &found).unwrap();
            let s_y = model.s_y.block(0, 0, 2, 2);
            close(&s_y, &Matrix::from_slice(2, 2, &[0.0, 1.0, -25.0, -0.15]), 1e-6, what);
            close(&model.s_u.block(0, 0, 2, 1), &Matrix::from_slice(2, 1, &[0.0, 0.5]), 1e-6, what);
            assert_eq!(model.s_d.max_abs(), 0.0, "{what}");
            let mut rates = vec![0.0; body.ports().outputs.len()];
            assert!(body.rates(&inputs, &mut rates).unwrap());
            let (x, v) = (get(body.as_mut(), "x"), get(body.as_mut(), "v"));
            let truth = [v, 0.5 * inputs[0] - 25.0 * x - 0.15 * v];
            let apart = (rates[0] - truth[0]).abs().max((rates[1] - truth[1]).abs());
            assert!(apart < 1e-8 * 25.0, "{what}: {rates:?} {truth:?}");
            let before = walk(undisturbed.as_mut(), 2 * u64::from(round), 2, &inputs);
            assert_eq!(
                walk(body.as_mut(), 2 * u64::from(round), 2, &inputs),
                before,
                "{what}: no trace is left"
            );
        }
        assert!(
            body.capabilities().solver.contains("; linear model by trial steps from saved states"),
            "{}",
            body.capabilities().solver
        );
    }
}

/// The description with both states listed, which makes its directional derivatives complete.
fn listed() -> String {
    let speed = "name=\"v\" valueReference=\"2\" causality=\"output\" variability=\"continuous\" initial=\"exact\"><Real";
    let rate = "name=\"a\" valueReference=\"6\" causality=\"local\"><Real";
    assert!(MASS2.contains(speed) && MASS2.contains(rate));
    MASS2
        .replace(speed, &format!("{speed} derivative=\"2\""))
        .replace(rate, &format!("{rate} derivative=\"3\""))
        .replace(
            "</Outputs>",
            "</Outputs><Derivatives><Unknown index=\"3\"/><Unknown index=\"7\"/></Derivatives>",
        )
}

/// Asked from the start on, though this FMU gives no derivatives while it is initialized.
#[test]
fn co_simulation_with_listed_states_gives_its_equations() {
    let fmu = TestFmu::new("mass2.c", &listed(), &["-DSTRICT"]);
    let (mut body, mut undisturbed) = (co_simulation(&fmu, &SPRING), co_simulation(&fmu, &SPRING));
    let (p, m) = (body.ports().outputs.len(), body.ports().inputs.len());
    let mut truth = StateSpace {
        a: Matrix::from_slice(2, 2, &[0.0, 1.0, -25.0, -0.15]),
        b: Matrix::zeros(2, m),
        c: Matrix::zeros(p, 2),
        d: Matrix::zeros(p, m),
    };
    (truth.b[(1, 0)], truth.c[(0, 0)], truth.c[(1, 1)]) = (0.5, 1.0, 1.0);
    let mut inputs = vec![0.0; m];
    for round in 0..3_u32 {
        inputs[0] = 0.4 * f64::from(round);
        compare(&body.linearize(&inputs).unwrap().unwrap(), &truth, 1e-12, "listed");
        let mut rates = vec![0.0; p];
        assert!(body.rates(&inputs, &mut rates).unwrap());
        let (x, v) = (get(body.as_mut(), "x"), get(body.as_mut(), "v"));
        let expected = [v, 0.5 * inputs[0] - 25.0 * x - 0.15 * v];
        assert!((rates[0] - expected[0]).abs() + (rates[1] - expected[1]).abs() < 1e-12 * 25.0, "{rates:?}");
        let before = walk(undisturbed.as_mut(), 2 * u64::from(round), 2, &inputs);
        assert_eq!(walk(body.as_mut(), 2 * u64::from(round), 2, &inputs), before, "no trace is left");
    }
    assert!(
        body.capabilities().solver.ends_with("; linear model by directional derivatives"),
        "{}",
        body.capabilities().solver
    );
}

/// By inputs or by states: what does not hold is found, and trial steps take its place.
#[test]
fn wrong_derivatives_of_co_simulation_are_found() {
    let cases = [
        ("-DLIE_DERIVATIVE", "that of derivative 2 of the states by `F` is 5.50000e-1"),
        ("-DLIE_STIFFNESS", "derivative 2 of the states with the states that `F` excites"),
    ];
    for (lie, complaint) in cases {
        let fmu = TestFmu::new("mass2.c", &listed(), &[lie]);
        let mut body = co_simulation(&fmu, &SPRING);
        let inputs = vec![0.0; body.ports().inputs.len()];
        let model = body.linearize(&inputs).unwrap().unwrap();
        let model = InterfaceModel::from_state_space("part", &model).unwrap();
        let truth = Matrix::from_slice(2, 2, &[0.0, 1.0, -25.0, -0.15]);
        close(&model.s_y.block(0, 0, 2, 2), &truth, 1e-6, lie);
        let solver = &body.capabilities().solver;
        assert!(solver.contains("trial steps from saved states (its directional derivatives are wrong"));
        assert!(solver.contains(complaint), "{solver}");
    }
}

/// Without saved states nothing moves the states apart: what could not be compared is said.
#[test]
fn derivatives_that_could_not_be_compared_are_named() {
    let cannot = listed().replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", "");
    for (lie, is_believed) in [("-DLIE_STIFFNESS", true), ("-DLIE_DERIVATIVE", false)] {
        let mut body = co_simulation(&TestFmu::new("mass2.c", &cannot, &[lie]), &SPRING);
        let inputs = vec![0.0; body.ports().inputs.len()];
        assert_eq!(body.linearize(&inputs).unwrap().is_some(), is_believed, "{lie}");
        let unchecked = "(those by states unchecked: it does not declare canGetAndSetFMUState)";
        assert_eq!(
            body.capabilities().solver.contains(unchecked),
            is_believed,
            "{}",
            body.capabilities().solver
        );
    }
}

/// A trial step that ends the FMU for good is told, and not that its state cannot be put back.
#[test]
fn a_fatal_trial_step_is_told() {
    let fmu = TestFmu::two(MASS2);
    let options = Options { step: Some(1.0), ..options(&[("misbehave", 3.0)]) };
    let mut body = CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap();
    body.initialize(0.0).unwrap();
    let body: &mut dyn Subsystem = &mut body;
    let report = body.linearize(&[0.0, 0.0]).unwrap_err().to_string();
    assert!(report.contains("trial step") && report.contains("fmi2DoStep"), "{report}");
}

#[test]
fn no_model_is_refused_with_a_reason() {
    let cannot = MASS2.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", "");
    let cases = [
        (TestFmu::two(&cannot), "it does not declare canGetAndSetFMUState"),
        (TestFmu::new("mass2.c", MASS2, &["-DLIE_STATE"]), "it does not repeat a step from a saved state"),
    ];
    for (fmu, reason) in cases {
        let mut body = co_simulation(&fmu, &SPRING);
        let inputs = vec![0.0; body.ports().inputs.len()];
        assert!(body.linearize(&inputs).unwrap().is_none());
        let lack = body.lack_of_model().unwrap();
        assert!(lack.contains(reason), "{lack}");
        let mut rates = vec![0.0; body.ports().outputs.len()];
        assert!(!body.rates(&inputs, &mut rates).unwrap());
    }
}

/// A step with no memory of what came before: states that are saved are those of the FMU alone.
#[test]
fn saved_states_know_the_time() {
    let fmu = TestFmu::two(MASS2);
    let mut body = co_simulation(&fmu, &SPRING);
    let inputs = vec![0.3; body.ports().inputs.len()];
    let inputs: Vec<f64> = inputs.iter().enumerate().map(|(k, u)| if k == 0 { *u } else { 0.0 }).collect();
    walk(body.as_mut(), 0, 3, &inputs);
    let mut snapshot = Snapshot::default();
    body.save(&mut snapshot).unwrap();
    let first = body.linearize(&inputs).unwrap().unwrap();
    walk(body.as_mut(), 3, 2, &inputs);
    body.restore(&snapshot).unwrap();
    assert_eq!(body.linearize(&inputs).unwrap().unwrap(), first);
}

#[cfg(target_os = "linux")]
#[test]
fn isolated_models_have_the_same_bits() {
    use koppel_fmi::import::Solving;
    use koppel_fmi::isolate::{Isolation, Worker, host};
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    let solver = SolverConfig::Rk4 { step: 1e-3 };
    let gate = exchange_fmus::GATE.fmu(3, ALL, &[]);
    let (mass, oscillation) = (TestFmu::two(MASS2), OSCILLATOR.fmu(2, ALL, &[]));
    let cannot =
        TestFmu::two(&MASS2.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", ""));
    let cases = [(&mass, Solving::Own), (&oscillation, Solving::Koppel(Some(solver)))];
    // Without states, matrices have no rows but columns.
    let cases = cases.into_iter().chain([(&gate, Solving::Koppel(Some(solver))), (&cannot, Solving::Own)]);
    for (fmu, solving) in cases {
        let fmu = Fmu::open(&fmu.path()).unwrap();
        let options = Options { solving, ..options(&[]) };
        let mut inside = koppel_fmi::import::instantiate_any(&fmu, &options).unwrap();
        let mut isolated = host(&fmu, &options, &isolation).unwrap();
        let mut inputs = vec![0.0; inside.ports().inputs.len()];
        inputs[0] = 0.7;
        let width = inside.ports().outputs.len();
        let asked = |body: &mut dyn Subsystem| {
            body.initialize(0.0).unwrap();
            walk(body, 0, 2, &inputs);
            let model = body.linearize(&inputs).unwrap();
            let mut rates = vec![0.0; width];
            let is_told = body.rates(&inputs, &mut rates).unwrap();
            (model, is_told, rates, body.model_source(), body.lack_of_model())
        };
        let (ours, theirs) = (asked(&mut *inside), asked(&mut *isolated));
        assert_eq!(ours, theirs);
        let solver = &isolated.capabilities().solver;
        assert_eq!(*solver, format!("{}; isolated", inside.capabilities().solver));
        assert_eq!(ours.0.is_some(), solver.contains("linear model"), "{solver}");
    }
}

//! FMUs built by exporters koppel did not write.
//!
//! `python3 crates/koppel-fmi/tests/make_fmus.py` builds them into `target/test-fmus`. Without that preparation these tests
//! are skipped, and say so; with `KOPPEL_TEST_FMUS` set to a folder they must find their FMUs there, so under `cargo xtask test`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/prepared.rs"]
mod prepared;

use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, Horizon, LinearOde, OdeModel, Snapshot, StateSpace, Subsystem, SystemBuilder, Variable,
};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, ModelExchange, Options, Value, instantiate_any};
use koppel_fmi::isolate::{Isolation, Worker, host};
use koppel_fmi::probe::{Capability, Outcome, ProbeOptions, probe};
use prepared::prepared;
use std::path::Path;

fn instance(path: &Path, values: &[(&str, f64)]) -> CoSimulation {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: "body".into(), start_values, step: Some(STEP), ..Options::default() };
    CoSimulation::new(&Fmu::open(path).unwrap(), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The same oscillator by the same method with the same micro step: a tenth of the communication step.
fn native(m: f64, c: f64, d: f64, step: f64) -> OdeModel {
    let matrices = StateSpace::new(
        "mass",
        Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
        Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
        Matrix::from_slice(2, 2, &[1.0, 0.0, 0.0, 1.0]),
        Matrix::from_slice(2, 1, &[0.0, 0.0]),
    );
    let outputs = vec![Variable::new("x"), Variable::new("v")];
    let ode = LinearOde::new(matrices.unwrap(), vec![Variable::new("F")], outputs, &[1.0, 0.0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Rk4 { step: step / 10.0 }).unwrap()
}

const STEP: f64 = 0.01;

/// x and v of both bodies after 2 s, coupled by a spring.
fn run(a: Box<dyn Subsystem>, b: Box<dyn Subsystem>) -> [f64; 4] {
    let system = SystemBuilder::new()
        .add_boxed("a", a)
        .add_boxed("b", b)
        .connect(Connection::new("a.x", "b.F").gain(4.0))
        .connect(Connection::new("b.x", "a.F").gain(4.0));
    let mut run = Run::new(system.build().unwrap(), &RunConfig::new(2.0, STEP)).unwrap();
    run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap();
    let (a, b) = (run.outputs(0), run.outputs(1));
    [a[0], a[1], b[0], b[1]]
}

/// FMU with FMU, and FMU with native model, against two native models.
fn agrees_with_native(name: &str) {
    let Some(path) = prepared(&format!("{name}.fmu")) else { return };
    let reference = run(Box::new(native(1.0, 6.0, 0.1, STEP)), Box::new(native(3.0, 9.0, 0.2, STEP)));
    let left = || Box::new(instance(&path, &[("m", 1.0), ("c", 6.0), ("d", 0.1)]));
    let right = || Box::new(instance(&path, &[("m", 3.0), ("c", 9.0), ("d", 0.2)]));
    for found in [run(left(), right()), run(left(), Box::new(native(3.0, 9.0, 0.2, STEP)))] {
        for (found, reference) in found.iter().zip(reference) {
            assert!((found - reference).abs() < 1e-12, "{found} against {reference}");
        }
    }
    let mut body = left();
    body.initialize(0.0).unwrap();
    let mut outputs = [0.0; 3];
    body.read(None, &mut outputs).unwrap();
    assert_eq!(outputs, [1.0, 0.0, 0.0]);
    assert_eq!(body.get(body.ports().find_any("moving").unwrap()).unwrap(), 0.0);
    assert!(body.save(&mut Snapshot::default()).unwrap_err().to_string().contains("cannot save its state"));
}

/// Save, step, restore, step gives the same bits.
fn rolls_back(name: &str) {
    let Some(path) = prepared(&format!("{name}.fmu")) else { return };
    let mut body = instance(&path, &[("c", 20.0)]);
    body.initialize(0.0).unwrap();
    let step = |body: &mut CoSimulation, index: u64| {
        let step = koppel::signal::Step { index, start: 0.1 * index as f64, size: 0.1 };
        let segment = koppel::signal::Segment::new(&step, 1, 1, &[0.3]);
        let mut samples = koppel::signal::Samples::new(koppel::signal::Request::Nothing, 3);
        let mut outputs = [0.0; 3];
        body.step(&step, &segment, &mut outputs, &mut samples).unwrap();
        outputs.map(f64::to_bits)
    };
    step(&mut body, 0);
    let mut snapshot = Snapshot::new(Horizon::Anywhere);
    body.save(&mut snapshot).unwrap();
    let first = step(&mut body, 1);
    step(&mut body, 2);
    body.restore(&snapshot).unwrap();
    assert_eq!(step(&mut body, 1), first);
    let mut other = instance(&path, &[]);
    other.initialize(0.0).unwrap();
    other.restore(&snapshot).unwrap();
    assert_eq!(step(&mut other, 1), first, "the state moves to another instance");
}

#[test]
fn pythonfmu_runs_as_the_native_model() {
    agrees_with_native("Oscillator2");
}

#[test]
fn pythonfmu3_runs_as_the_native_model() {
    agrees_with_native("Oscillator3");
}

#[test]
fn pythonfmu_rolls_back() {
    rolls_back("Oscillator2State");
}

#[test]
fn pythonfmu3_rolls_back() {
    rolls_back("Oscillator3State");
}

/// y' = S_y y + S_u u of m x'' + d x' + c x = F, with c and d of one and m = 2, found at some point of a run.
fn has_linear_model(body: &mut dyn Subsystem, source: &str) {
    body.initialize(0.0).unwrap();
    assert!(body.linearize(&[0.3]).unwrap().is_some(), "at the start: {:?}", body.lack_of_model());
    let width = body.ports().outputs.len();
    let mut samples = koppel::signal::Samples::new(koppel::signal::Request::Nothing, width);
    let mut outputs = vec![0.0; width];
    for index in 0..5 {
        let step = koppel::signal::Step { index, start: STEP * index as f64, size: STEP };
        let segment = koppel::signal::Segment::new(&step, 1, 1, &[0.3]);
        body.step(&step, &segment, &mut outputs, &mut samples).unwrap();
    }
    let found = body.linearize(&[0.3]).unwrap();
    let found = found.unwrap_or_else(|| panic!("{:?}", body.lack_of_model()));
    let model = koppel::identify::InterfaceModel::from_state_space("body", &found).unwrap();
    let expected = [[0.0, 1.0, 0.0], [-0.5, -0.5, 0.5]];
    for (row, expected) in expected.iter().enumerate() {
        let found = [model.s_y[(row, 0)], model.s_y[(row, 1)], model.s_u[(row, 0)]];
        let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Over one step the model is right to 1e-6: round-off of its trials counts in units of 1 / STEP.
        assert!(apart * STEP < 1e-6, "{found:?} {expected:?}");
    }
    let mut rates = vec![0.0; width];
    assert!(body.rates(&[0.3], &mut rates).unwrap());
    let (x, v) = (outputs[0], outputs[1]);
    let apart = (rates[0] - v).abs().max((rates[1] - 0.5 * (0.3 - x - v)).abs());
    assert!(apart < 1e-6, "{rates:?}");
    assert!(body.capabilities().solver.contains(source), "{}", body.capabilities().solver);
}

#[test]
fn other_exporters_fmus_have_linear_models() {
    let values = [("m", 2.0), ("c", 1.0), ("d", 1.0)];
    for name in ["Oscillator2State", "Oscillator3State"] {
        let Some(path) = prepared(&format!("{name}.fmu")) else { return };
        has_linear_model(&mut instance(&path, &values), "linear model by trial steps from saved states");
    }
    let Some(path) = prepared("Exchange3.fmu") else { return };
    let solver = SolverConfig::Rk4 { step: STEP / 10.0 };
    has_linear_model(&mut exchange(&path, &values, solver), "linear model by finite differences");
    let Some(path) = prepared("Oscillator2.fmu") else { return };
    let mut body = instance(&path, &values);
    body.initialize(0.0).unwrap();
    let body: &mut dyn Subsystem = &mut body;
    assert!(body.linearize(&[0.3]).unwrap().is_none());
    assert!(body.lack_of_model().unwrap().contains("it does not declare canGetAndSetFMUState"));
}

#[test]
fn a_model_that_gives_up_ends_the_run_with_its_words() {
    let Some(path) = prepared("Oscillator2.fmu") else { return };
    let start_values = vec![("m".into(), Value::Number(-1.0))];
    let options = Options { start_values, debug_logging: true, ..Options::default() };
    let body = CoSimulation::new(&Fmu::open(&path).unwrap(), &options).unwrap();
    let system = SystemBuilder::new().add("body", body).build().unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    // Before the first step is done that is a failure.
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string();
    assert!(error.contains("asks to end the simulation at 0 s\n"), "{error}");
    assert!(error.ends_with("the mass must be positive"), "{error}");
}

fn exchange(path: &Path, values: &[(&str, f64)], solver: SolverConfig) -> ModelExchange {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: "body".into(), start_values, ..Options::default() };
    let fmu = Fmu::open(path).unwrap();
    ModelExchange::new(&fmu, &options, Some(&solver)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn pythonfmu3_model_exchange_runs_as_the_native_model() {
    let Some(path) = prepared("Exchange3.fmu") else { return };
    let solver = SolverConfig::Rk4 { step: STEP / 10.0 };
    let reference = run(Box::new(native(1.0, 6.0, 0.1, STEP)), Box::new(native(3.0, 9.0, 0.2, STEP)));
    let left = exchange(&path, &[("m", 1.0), ("c", 6.0), ("d", 0.1)], solver);
    for (found, reference) in run(Box::new(left), Box::new(native(3.0, 9.0, 0.2, STEP))).iter().zip(reference)
    {
        assert!((found - reference).abs() < 1e-12, "{found} against {reference}");
    }
}

#[test]
fn pythonfmu3_ball_bounces_when_it_should() {
    let Some(path) = prepared("Ball3.fmu") else { return };
    let mut ball = exchange(&path, &[], SolverConfig::default());
    ball.initialize(0.0).unwrap();
    let mut outputs = [0.0; 3];
    let fall = (2.0 / 9.81_f64).sqrt();
    for index in 0..100 {
        let step = koppel::signal::Step { index, start: 0.01 * index as f64, size: 0.01 };
        let segment = koppel::signal::Segment::new(&step, 0, 1, &[]);
        let mut samples = koppel::signal::Samples::new(koppel::signal::Request::Nothing, 3);
        ball.step(&step, &segment, &mut outputs, &mut samples).unwrap();
        // one bounce at √(2/g), the next 1.4 √(2/g) later
        let t = step.end();
        let (height, count) = if t < fall {
            (1.0 - 0.5 * 9.81 * t * t, 0.0)
        } else {
            let tau = t - fall;
            (0.7 * 9.81 * fall * tau - 0.5 * 9.81 * tau * tau, 1.0)
        };
        assert!((outputs[0] - height).abs() < 1e-9, "t = {t}: {} for {height}", outputs[0]);
        assert_eq!(outputs[2], count);
    }
}

#[test]
fn an_exporter_that_promises_too_much_is_found_out() {
    let options = ProbeOptions { step: Some(0.05), ..ProbeOptions::default() };
    for name in ["Oscillator2State", "Oscillator3State"] {
        let Some(path) = prepared(&format!("{name}.fmu")) else { return };
        let found = probe(&Fmu::open(&path).unwrap(), &options).unwrap();
        assert!(
            found.hold() && found.holds(Capability::RollBack) && found.holds(Capability::Serialization),
            "{found}"
        );
    }
    let Some(path) = prepared("Oscillator2Liar.fmu") else { return };
    let found = probe(&Fmu::open(&path).unwrap(), &options).unwrap();
    assert_eq!(found.of(Capability::InputDerivatives).unwrap().outcome, Outcome::Failed, "{found}");
}

/// A force of pythonfmu that follows its inputs is told when initialization is over, not before.
#[test]
fn outputs_at_the_start_are_those_after_initialization() {
    let (Some(left), Some(right)) = (prepared("DualMassLeft.fmu"), prepared("DualMassRight.fmu")) else {
        return;
    };
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    for is_isolated in [false, true] {
        let part = |path: &Path| {
            let (fmu, options) =
                (Fmu::open(path).unwrap(), Options { name: "part".into(), ..Options::default() });
            if is_isolated { host(&fmu, &options, &isolation) } else { instantiate_any(&fmu, &options) }
        };
        // Whoever comes first.
        for order in [[("left", &left), ("right", &right)], [("right", &right), ("left", &left)]] {
            let mut system = SystemBuilder::new();
            for (name, path) in order {
                system = system.add_boxed(name, part(path).unwrap());
            }
            for (from, to) in [("left.x", "right.x"), ("left.v", "right.v"), ("right.F", "left.F")] {
                system = system.connect(Connection::new(from, to));
            }
            let mut run = Run::new(system.build().unwrap(), &RunConfig::new(1e-3, 1e-3)).unwrap();
            let mut table = Trajectory::default();
            run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
            let value = |row: usize, name: &str| {
                table.rows[row][run.columns().iter().position(|c| c.name == name).unwrap()]
            };
            // The right mass is at 0, the left one at 0.1 m: F = ck (0 - 0.1 m).
            assert_eq!([value(0, "left.x"), value(0, "right.F"), value(0, "left.F")], [0.1, -2e4, -2e4]);
            // One step of the left mass, x'' = (F - 1e6 x - x') / 10, under that force and not under none.
            let exact = -2e-2 + 0.12 * (1e5_f64.sqrt() * 1e-3).cos();
            assert!((value(1, "left.x") - exact).abs() < 1e-5, "{}: {exact}", value(1, "left.x"));
        }
    }
}

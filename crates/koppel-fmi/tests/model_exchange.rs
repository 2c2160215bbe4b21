//! Model-exchange FMUs with koppel's solvers, against closed forms. The FMUs are compiled from C by the tests; they refuse
//! calls that the standard does not allow in the mode they are in.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;
#[path = "common/exchange.rs"]
mod exchange;

use common::{MASS2, TestFmu, pack};
use exchange::*;
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::linalg::Matrix;
use koppel::record::Table;
use koppel::run::{Flow, RunConfig, Simulation};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::{SolverConfig, Tolerances};
use koppel::system::{
    Connection, LinearOde, OdeModel, Snapshot, StateSpace, Subsystem, SystemBuilder, Variable, VariableId,
};
use koppel_fmi::Fmu;
use koppel_fmi::import::{ModelExchange, Options, Value};
use std::f64::consts::PI;

fn make(
    fmu: &TestFmu,
    values: &[(&str, f64)],
    solver: Option<SolverConfig>,
) -> Result<ModelExchange, String> {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: "body".into(), start_values, ..Options::default() };
    let fmu = Fmu::open(&fmu.path()).map_err(|error| error.to_string())?;
    ModelExchange::new(&fmu, &options, solver.as_ref()).map_err(|error| error.to_string())
}

fn instance(fmu: &TestFmu, values: &[(&str, f64)], solver: SolverConfig) -> ModelExchange {
    make(fmu, values, Some(solver)).unwrap()
}

fn adaptive(rtol: f64) -> SolverConfig {
    SolverConfig::Adaptive(Tolerances { rtol, atol: 1e-2 * rtol, ..Tolerances::default() })
}

fn stiff(rtol: f64) -> SolverConfig {
    SolverConfig::Stiff(Tolerances { rtol, atol: 1e-2 * rtol, ..Tolerances::default() })
}

fn id(subsystem: &dyn Subsystem, name: &str) -> VariableId {
    subsystem.ports().find_any(name).unwrap_or_else(|| panic!("no variable {name}"))
}

fn get(body: &mut ModelExchange, name: &str) -> f64 {
    body.get(id(body, name)).unwrap()
}

/// Steps of size `h`; `u` gives the coefficients of the first input on a step, all others are zero. `see` gets time and
/// outputs after each.
fn drive(
    body: &mut dyn Subsystem,
    steps: std::ops::Range<u64>,
    h: f64,
    u: impl Fn(f64) -> Vec<f64>,
    mut see: impl FnMut(f64, &[f64]),
) -> Result<(), String> {
    let inputs = body.ports().inputs.len();
    let mut outputs = vec![0.0; body.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, outputs.len());
    for index in steps {
        let step = Step { index, start: h * index as f64, size: h };
        let mut coefficients = u(step.start);
        let terms = coefficients.len();
        coefficients.resize(inputs * terms, 0.0);
        let segment = Segment::new(&step, inputs, terms, &coefficients);
        body.step(&step, &segment, &mut outputs, &mut samples).map_err(|error| error.to_string())?;
        see(step.end(), &outputs);
    }
    Ok(())
}

fn start_and_drive(
    body: &mut dyn Subsystem,
    steps: u64,
    h: f64,
    u: impl Fn(f64) -> Vec<f64>,
    see: impl FnMut(f64, &[f64]),
) {
    body.initialize(0.0).unwrap();
    drive(body, 0..steps, h, u, see).unwrap_or_else(|error| panic!("{error}"));
}

fn nothing(_: f64) -> Vec<f64> {
    vec![0.0]
}

/// 0.3 - 2 t + 5 t², as polynomial of the time since the begin of the step.
fn parabola(t: f64) -> Vec<f64> {
    vec![0.3 - 2.0 * t + 5.0 * t * t, -2.0 + 10.0 * t, 5.0]
}

/// x and v of x'' + x = 0.3 - 2 t + 5 t², x(0) = 1, v(0) = 0.
fn answer(t: f64) -> [f64; 2] {
    let (sine, cosine) = t.sin_cos();
    [-9.7 - 2.0 * t + 5.0 * t * t + 10.7 * cosine + 2.0 * sine, -2.0 + 10.0 * t - 10.7 * sine + 2.0 * cosine]
}

/// Largest error of x, v and y = x + 0.5 u over 2 s under the parabola.
fn oscillator_error(body: &mut ModelExchange, h: f64) -> f64 {
    let mut worst: f64 = 0.0;
    start_and_drive(body, (2.0 / h).round() as u64, h, parabola, |t, outputs| {
        let [x, v] = answer(t);
        let y = x + 0.5 * (0.3 - 2.0 * t + 5.0 * t * t);
        for (found, exact) in outputs.iter().zip([x, v, y]) {
            worst = worst.max((found - exact).abs());
        }
    });
    worst
}

#[test]
fn the_input_polynomial_is_followed_inside_the_solver_with_its_full_order() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let slopes = |solver: &dyn Fn(f64) -> SolverConfig, first: f64, order: f64| {
            let sizes: Vec<f64> = (0..5).map(|k| first / 2f64.powi(k)).collect();
            let error = |step: &f64| oscillator_error(&mut instance(&fmu, &[], solver(*step)), 0.25);
            let errors: Vec<f64> = sizes.iter().map(error).collect();
            for pair in errors.windows(2) {
                let slope = (pair[0] / pair[1]).log2();
                assert!((slope - order).abs() < 0.1, "FMI {version}, order {order}: {slope}, {errors:?}");
            }
        };
        slopes(&|step| SolverConfig::Euler { step }, 1.0 / 512.0, 1.0);
        slopes(&|step| SolverConfig::Rk4 { step }, 1.0 / 8.0, 4.0);
        for (solver, bound) in
            [(adaptive(1e-6), 1e-5), (adaptive(1e-9), 1e-8), (stiff(1e-6), 1e-4), (stiff(1e-9), 1e-7)]
        {
            for h in [0.5, 0.125, 0.04] {
                let error = oscillator_error(&mut instance(&fmu, &[], solver), h);
                assert!(error < bound, "FMI {version}, {solver}, H = {h}: {error}");
            }
        }
    }
}

#[test]
fn the_solver_is_told_and_has_sensible_defaults() {
    let with = |text: &str| {
        let description = OSCILLATOR.description(3, ALL).replace("<ModelVariables>", text);
        TestFmu::new("exchange3.c", &description, &["-DMODEL=OSCILLATOR"])
    };
    let told = |fmu: &TestFmu, solver| make(fmu, &[], solver).unwrap().solver();
    assert_eq!(
        told(&with("<ModelVariables>"), None),
        "adaptive, rtol 1e-6; FMI 3.0 model exchange by the tests; inputs followed inside the solver"
    );
    let proposed = with("<DefaultExperiment tolerance=\"1e-4\"/><ModelVariables>");
    assert!(told(&proposed, None).starts_with("adaptive, rtol 1e-4; "));
    assert!(told(&proposed, Some(stiff(1e-7))).starts_with("stiff, rtol 1e-7 with the FMU's Jacobian; "));
    assert!(told(&proposed, Some(SolverConfig::Rk4 { step: 0.1 })).starts_with("rk4, step 0.1; "));
}

/// Height and number of bounces of a ball dropped from 1 m at 9.81 m/s², restitution 0.7, at rest below 0.1 m/s.
fn bouncing(t: f64) -> (f64, f64) {
    let g = 9.81_f64;
    let mut at = (2.0 / g).sqrt();
    if t < at {
        return (1.0 - 0.5 * g * t * t, 0.0);
    }
    let (mut speed, mut bounces) = (0.7 * g * at, 1.0);
    while speed >= 0.1 {
        let tau = t - at;
        if tau < 2.0 * speed / g {
            return (speed * tau - 0.5 * g * tau * tau, bounces);
        }
        at += 2.0 * speed / g;
        speed *= 0.7;
        bounces += 1.0;
    }
    (0.0, bounces)
}

#[test]
fn a_ball_bounces_when_it_should() {
    for version in VERSIONS {
        let fmu = BALL.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), stiff(1e-8), SolverConfig::Rk4 { step: 0.013 }] {
            for h in [0.01, 0.1, 0.37] {
                let mut body = instance(&fmu, &[], solver);
                let mut worst: f64 = 0.0;
                start_and_drive(&mut body, (4.0 / h) as u64, h, nothing, |t, outputs| {
                    let (height, bounces) = bouncing(t);
                    worst = worst.max((outputs[0] - height).abs());
                    assert_eq!(outputs[3], bounces, "bounces at {t} s");
                });
                assert!(worst < 1e-9, "FMI {version}, {solver}, H = {h}: {worst}");
                assert_eq!(get(&mut body, "count"), 11.0, "√(2 g) 0.7^11 < 0.1: then it rests");
            }
        }
    }
}

#[test]
fn an_fmu_may_end_the_simulation() {
    for version in VERSIONS {
        let fmu = BALL.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[("quit", 2.0)], adaptive(1e-8));
        body.initialize(0.0).unwrap();
        let error = drive(&mut body, 0..40, 0.1, nothing, |_, _| {}).unwrap_err();
        // √(2/g) + 1.4 √(2/g)
        let (text, time) = ("`body` asks to end the simulation at ", 2.4 * (2.0 / 9.81_f64).sqrt());
        let found: f64 = error.strip_prefix(text).unwrap().trim_end_matches(" s").parse().unwrap();
        assert!((found - time).abs() < 1e-9, "{error}");
    }
}

/// The triangle that x' = ±1 makes, and the number of switches by then.
fn triangle(t: f64, half: f64) -> (f64, f64) {
    let switches = (t / half + 1e-9).floor();
    let tau = t - switches * half;
    (if switches % 2.0 == 0.0 { tau } else { half - tau }, switches)
}

#[test]
fn time_events_are_hit_exactly() {
    for version in VERSIONS {
        let fmu = SQUARE.fmu(version, ALL, &[]);
        for solver in
            [adaptive(1e-6), stiff(1e-6), SolverConfig::Euler { step: 0.07 }, SolverConfig::Rk4 { step: 0.5 }]
        {
            for (h, half) in [(0.1, 0.3), (0.25, 0.3), (1.0, 0.3), (0.7, 0.1), (0.1, 0.1)] {
                let mut body = instance(&fmu, &[("p1", half)], solver);
                start_and_drive(&mut body, (6.0 / h) as u64, h, nothing, |t, outputs| {
                    let (x, switches) = triangle(t, half);
                    assert!(
                        (outputs[0] - x).abs() < 1e-12,
                        "{solver}, H = {h}, t = {t}: {} for {x}",
                        outputs[0]
                    );
                    assert_eq!(outputs[3], switches, "{solver}, H = {h}, t = {t}");
                });
            }
        }
    }
}

#[test]
fn samples_see_both_sides_of_an_event() {
    let fmu = SQUARE.fmu(3, ALL, &[]);
    let mut body = instance(&fmu, &[("p1", 0.3)], adaptive(1e-6));
    body.initialize(0.0).unwrap();
    let step = Step { index: 0, start: 0.0, size: 1.0 };
    let segment = Segment::new(&step, 2, 1, &[0.0, 0.0]);
    let mut samples = Samples::new(Request::SolverPoints, 5);
    body.step(&step, &segment, &mut [0.0; 5], &mut samples).unwrap();
    let mut mean = [0.0; 5];
    samples.mean(&mut mean).unwrap();
    // y: 0.3 - 0.3 + 0.3 - 0.1
    assert!((mean[2] - 0.2).abs() < 1e-12, "{mean:?}");
    assert!(samples.times().is_sorted() && samples.times().last() == Some(&1.0));

    let mut samples = Samples::new(Request::Nodes(5), 5);
    body.initialize(0.0).unwrap();
    body.step(&step, &segment, &mut [0.0; 5], &mut samples).unwrap();
    assert_eq!(samples.times().len(), 6);
    for (k, t) in samples.times().iter().enumerate() {
        assert!((samples.at(k)[0] - triangle(*t, 0.3).0).abs() < 1e-12);
    }
}

#[test]
fn step_events_change_states() {
    for version in VERSIONS {
        let fmu = WRAP.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), SolverConfig::Rk4 { step: 0.01 }] {
            let mut body = instance(&fmu, &[("p1", 3.0)], solver);
            start_and_drive(&mut body, 100, 0.25, nothing, |t, outputs| {
                let error = (outputs[0] - 3.0 * t).sin().abs();
                assert!(error < 1e-9, "{solver}, t = {t}: {error}");
                assert!(
                    outputs[0] < 2.0 * PI + 0.75 && outputs[0] >= 0.0,
                    "{solver}, t = {t}: {}",
                    outputs[0]
                );
            });
            assert!((10.0..=12.0).contains(&get(&mut body, "count")));
        }
    }
}

#[test]
fn stiff_equations_need_few_evaluations() {
    for version in VERSIONS {
        for declared in [ALL, Declared { derivatives: false, ..ALL }] {
            let fmu = TRACKER.fmu(version, declared, &[]);
            let mut body = instance(&fmu, &[], stiff(1e-6));
            start_and_drive(&mut body, 20, 0.25, nothing, |t, outputs| {
                assert!((outputs[0] - t.cos()).abs() < 1e-5, "t = {t}: {}", outputs[0] - t.cos());
            });
            let evaluations = get(&mut body, "evaluations");
            assert!(evaluations < 3000.0, "FMI {version}, {declared:?}: {evaluations}");

            // Hairer & Wanner, Solving ODEs II, and the test set for initial value problems: y(2)
            let fmu = VAN_DER_POL.fmu(version, declared, &[]);
            let mut body = instance(&fmu, &[], stiff(1e-8));
            let mut end = [0.0; 2];
            start_and_drive(&mut body, 8, 0.25, nothing, |_, outputs| end.copy_from_slice(&outputs[..2]));
            for (found, exact) in end.iter().zip([1.706_167_732_170_483, -0.892_809_701_024_797_5]) {
                assert!((found / exact - 1.0).abs() < 1e-5, "FMI {version}, {declared:?}: {end:?}");
            }
        }
    }
}

#[test]
fn an_input_that_crosses_a_limit_inside_a_step_is_an_event_there() {
    for version in VERSIONS {
        let fmu = GATE.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-6), SolverConfig::Euler { step: 0.3 }] {
            let mut body = instance(&fmu, &[], solver);
            // t²/10 reaches 0.5 at √5
            let curve = |t: f64| vec![0.1 * t * t, 0.2 * t, 0.1];
            start_and_drive(&mut body, 4, 1.0, curve, |t, outputs| {
                let at = if t > 5_f64.sqrt() { 5_f64.sqrt() } else { 0.0 };
                assert!((outputs[2] - at).abs() < 1e-11, "t = {t}: {}", outputs[2]);
            });
            // a jump at a communication point is an event too
            drive(&mut body, 4..6, 1.0, |_| vec![0.2], |_, outputs| assert_eq!(outputs[2], 4.0)).unwrap();
            assert_eq!(get(&mut body, "count"), 2.0);
        }
    }
}

#[test]
fn discrete_inputs_act_from_a_communication_point_on() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[], adaptive(1e-10));
        body.initialize(0.0).unwrap();
        let (mut outputs, mut samples) = ([0.0; 5], Samples::new(Request::Nothing, 5));
        for index in 0..20 {
            let step = Step { index, start: 0.25 * index as f64, size: 0.25 };
            let on = if index >= 8 { 1.0 } else { 0.0 };
            // trials of the inputs leave no trace
            for trial in [1.0 - on, on] {
                body.read(Some(&[7.0, trial]), &mut outputs).unwrap();
                assert!((outputs[2] - outputs[0] - 3.5).abs() < 1e-14);
            }
            body.step(&step, &Segment::new(&step, 2, 1, &[1.0, on]), &mut outputs, &mut samples).unwrap();
            // at rest under u = 1, then an oscillation about 2
            let exact = if on == 1.0 { 2.0 - (step.end() - 2.0).cos() } else { 1.0 };
            assert!((outputs[0] - exact).abs() < 1e-8, "t = {}: {}", step.end(), outputs[0] - exact);
        }
        let error = body.read(Some(&[0.0, 0.5]), &mut outputs).unwrap_err().to_string();
        assert!(error.contains("`on` is a Boolean, 0.5 is not one"), "{error}");
    }
}

#[test]
fn parameters_may_change_while_it_runs() {
    for version in VERSIONS {
        let fmu = OSCILLATOR.fmu(version, ALL, &[]);
        let mut body = instance(&fmu, &[("p2", 4.0), ("x1", 0.5)], adaptive(1e-10));
        start_and_drive(&mut body, 10, 0.1, nothing, |t, outputs| {
            assert!((outputs[0] - 0.5 * (2.0 * t).cos()).abs() < 1e-8);
        });
        let (x, v) = (get(&mut body, "x1"), get(&mut body, "x2"));
        body.set(id(&body, "p2"), 9.0).unwrap();
        assert!((get(&mut body, "der(x2)") + 9.0 * x).abs() < 1e-12);
        drive(&mut body, 10..20, 0.1, nothing, |t, outputs| {
            let (sine, cosine) = (3.0 * (t - 1.0)).sin_cos();
            assert!((outputs[0] - (x * cosine + v / 3.0 * sine)).abs() < 1e-8);
        })
        .unwrap();
        let refused = body.set(id(&body, "quit"), 1.0).unwrap_err().to_string();
        assert!(refused.contains("`quit` cannot be set: it is fixed once the simulation runs"), "{refused}");
        drive(&mut body, 20..21, 0.1, nothing, |_, _| {}).unwrap();
    }
}

/// Save, go on, restore, go on: the same bits; also in a new instance where the state survives.
fn rolls_back(fmu: &TestFmu, solver: SolverConfig, u: impl Fn(f64) -> Vec<f64> + Copy) {
    let mut body = instance(fmu, &[], solver);
    body.initialize(0.0).unwrap();
    let (mut at_start, mut later) = (Snapshot::default(), Snapshot::default());
    body.save(&mut at_start).unwrap();
    let run = |body: &mut ModelExchange, steps: std::ops::Range<u64>| {
        let mut seen = Vec::new();
        // The number of evaluations is no part of the solution.
        drive(body, steps, 0.13, u, |_, outputs| seen.extend(outputs[..3].iter().map(|y| y.to_bits())))
            .unwrap();
        seen
    };
    let first = run(&mut body, 0..6);
    body.save(&mut later).unwrap();
    let second = run(&mut body, 6..12);
    for _ in 0..2 {
        body.restore(&later).unwrap();
        assert_eq!(run(&mut body, 6..12), second, "{solver}");
        body.restore(&at_start).unwrap();
        assert_eq!(run(&mut body, 0..6), first, "{solver}");
        assert_eq!(run(&mut body, 6..12), second, "{solver}");
    }
    let mut other = instance(fmu, &[], solver);
    other.initialize(0.0).unwrap();
    other.restore(&later).unwrap();
    assert_eq!(run(&mut other, 6..12), second, "{solver}");
}

#[test]
fn what_is_saved_is_restored_bit_for_bit() {
    let without = Declared { state: false, smooth: true, ..ALL };
    for version in VERSIONS {
        let (ball, square) = (BALL.fmu(version, ALL, &[]), SQUARE.fmu(version, ALL, &[]));
        let (oscillator, stateless) =
            (OSCILLATOR.fmu(version, ALL, &[]), OSCILLATOR.fmu(version, without, &[]));
        for solver in [adaptive(1e-6), stiff(1e-6), SolverConfig::Rk4 { step: 0.02 }] {
            rolls_back(&oscillator, solver, parabola);
            rolls_back(&ball, solver, nothing);
            rolls_back(&square, solver, nothing);
            rolls_back(&stateless, solver, parabola);
        }
        let fmu = BALL.fmu(version, Declared { state: false, ..ALL }, &[]);
        let mut body = instance(&fmu, &[], adaptive(1e-6));
        body.initialize(0.0).unwrap();
        let error = body.save(&mut Snapshot::default()).unwrap_err();
        assert!(error.to_string().contains("it has events or discrete variables"), "{error}");
        let (small, large) = (OSCILLATOR.fmu(version, ALL, &[]), TRACKER.fmu(version, ALL, &[]));
        let mut snapshot = Snapshot::default();
        let mut body = instance(&small, &[], adaptive(1e-6));
        body.initialize(0.0).unwrap();
        body.save(&mut snapshot).unwrap();
        let mut other = instance(&large, &[], adaptive(1e-6));
        other.initialize(0.0).unwrap();
        assert!(other.restore(&snapshot).unwrap_err().to_string().contains("it is not one of this FMU"));
    }
}

#[test]
fn an_fmu_without_event_saves_nothing_it_does_not_know() {
    // A time event is known only once the FMU runs.
    let fmu = SQUARE.fmu(2, Declared { state: false, smooth: true, ..ALL }, &[]);
    let mut body = instance(&fmu, &[], adaptive(1e-6));
    start_and_drive(&mut body, 1, 0.1, nothing, |_, _| {});
    assert!(body.save(&mut Snapshot::default()).is_err());
}

#[test]
fn an_fmu_that_leaves_its_domain_says_so() {
    for version in VERSIONS {
        let fmu = TANK.fmu(version, ALL, &[]);
        for solver in [adaptive(1e-8), stiff(1e-8), SolverConfig::Rk4 { step: 1e-3 }] {
            let mut body = instance(&fmu, &[], solver);
            start_and_drive(&mut body, 8, 0.12, nothing, |t, outputs| {
                assert!((outputs[0] - (1.0 - t)).abs() < 1e-12, "{solver}, {t}: {}", outputs[0]);
            });
            let error = drive(&mut body, 8..9, 0.12, nothing, |_, _| {}).unwrap_err();
            assert!(error.contains("Derivatives returned discard"), "{error}");
            body.initialize(0.0).unwrap();
            drive(&mut body, 0..4, 0.12, nothing, |_, _| {}).unwrap();
        }
    }
}

/// The oscillator as a native model.
fn native(m: f64, c: f64, d: f64, solver: &SolverConfig) -> OdeModel {
    let matrices = StateSpace::new(
        "oscillator",
        Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
        Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
        Matrix::from_slice(3, 2, &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
        Matrix::from_slice(3, 1, &[0.0, 0.0, 0.5]),
    );
    let outputs = ["x1", "x2", "y"].map(Variable::new).to_vec();
    let ode = LinearOde::new(matrices.unwrap(), vec![Variable::new("u")], outputs, &[1.0, 0.0]).unwrap();
    OdeModel::new(Box::new(ode), solver).unwrap()
}

#[test]
fn coupled_with_a_native_model_it_gives_the_numbers_of_two_native_models() {
    let run = |a: Box<dyn Subsystem>, b: Box<dyn Subsystem>, coupling: &CouplingConfig| {
        let system = SystemBuilder::new()
            .add_boxed("a", a)
            .add_boxed("b", b)
            .connect(Connection::new("a.x1", "b.u").gain(4.0))
            .connect(Connection::new("b.x1", "a.u").gain(4.0));
        let config = RunConfig { coupling: coupling.clone(), ..RunConfig::new(5.0, 0.01) };
        let mut simulation = Simulation::new(system.build().unwrap(), &config).unwrap();
        simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap();
        [simulation.outputs(0)[..3].to_vec(), simulation.outputs(1)[..3].to_vec()].concat()
    };
    let fmus = VERSIONS.map(|version| OSCILLATOR.fmu(version, ALL, &[]));
    for solver in [SolverConfig::Euler { step: 1e-3 }, SolverConfig::Rk4 { step: 1e-3 }] {
        for coupling in [&CouplingConfig::Zoh {}, &CouplingConfig::Foh { start: StartUp::default() }] {
            let left = || Box::new(native(1.0, 6.0, 0.1, &solver));
            let right = || Box::new(native(3.0, 9.0, 0.2, &solver));
            let reference = run(left(), right(), coupling);
            for fmu in &fmus {
                let make =
                    |p1, p2, p3| Box::new(instance(fmu, &[("p1", p1), ("p2", p2), ("p3", p3)], solver));
                for found in [
                    run(make(1.0, 6.0, 0.1), right(), coupling),
                    run(make(1.0, 6.0, 0.1), make(3.0, 9.0, 0.2), coupling),
                ] {
                    for (found, reference) in found.iter().zip(&reference) {
                        assert!((found - reference).abs() < 1e-12, "{found} against {reference}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_run_says_why() {
    let fmu = OSCILLATOR.fmu(3, ALL, &[]);
    let error = make(&fmu, &[], Some(SolverConfig::Exact {})).err().unwrap();
    assert!(error.starts_with("`body`: solver `exact` integrates linear models only"), "{error}");
    let error = make(&TestFmu::two(MASS2), &[], None).err().unwrap();
    assert!(error.ends_with("is no model-exchange FMU"), "{error}");
    let clocked = OSCILLATOR.description(3, ALL).replace(
        "</ModelVariables>",
        "<Clock name=\"tick\" valueReference=\"40\" causality=\"input\" intervalVariability=\"constant\" intervalDecimal=\"0.1\"/></ModelVariables>",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clocked.fmu");
    pack(&path, &[("modelDescription.xml", clocked.as_bytes())]);
    let error = ModelExchange::new(&Fmu::open(&path).unwrap(), &Options::default(), None).err().unwrap();
    assert!(error.to_string().contains("has a clock, `tick`: clocks of model-exchange FMUs are not handled"));
    assert_eq!(error.hint().unwrap(), "use its co-simulation interface, if it has one");
}

//! A run that is driven from outside: open inputs, steps of any length, slopes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel::coupling::{CouplingConfig, PrestepConfig, StartUp};
use koppel::identify::{ModelConfig, RlsConfig};
use koppel::linalg::Matrix;
use koppel::run::{Change, Reading, Run, RunConfig, RunState};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

/// x' = a x + b u + w, y = c x + d u + e w with w an input of its own.
fn scalar(a: f64, b: f64, c: f64, d: f64, e: f64) -> OdeModel {
    let row = |values: &[f64]| Matrix::from_slice(1, values.len(), values);
    let matrices = StateSpace::new("scalar", row(&[a]), row(&[b, 1.0]), row(&[c]), row(&[d, e])).unwrap();
    let inputs = vec![Variable::new("u"), Variable::new("w").start(0.25)];
    let ode = LinearOde::new(matrices, inputs, vec![Variable::new("y")], &[1.0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

/// Two of them in a loop; `w` of both is free.
fn pair(d: f64) -> SystemBuilder {
    SystemBuilder::new()
        .add("first", scalar(-1.0, 0.5, 2.0, d, 0.7))
        .add("second", scalar(-2.0, 1.5, 1.0, d, 0.0))
        .connect(Connection::new("second.y", "first.u"))
        .connect(Connection::new("first.y", "second.u").gain(-0.5))
}

fn open(d: f64) -> System {
    let mut system = pair(d).build().unwrap();
    assert_eq!(system.graph.open_inputs(), ["first.w", "second.w"]);
    system
}

fn config() -> RunConfig {
    RunConfig { coupling: CouplingConfig::foh(StartUp::Reduced), ..RunConfig::new(1.0, 0.1) }
}

fn outputs(run: &Run) -> Vec<f64> {
    (0..run.graph().len()).flat_map(|id| run.outputs(id).to_vec()).collect()
}

#[test]
fn an_open_input_keeps_its_start_value() {
    let mut with = Run::new(open(0.3), &config()).unwrap();
    let mut without = Run::new(pair(0.3).build().unwrap(), &config()).unwrap();
    for _ in 0..10 {
        with.advance().unwrap();
        without.advance().unwrap();
        assert_eq!(outputs(&with), outputs(&without));
    }
}

#[test]
fn a_polynomial_given_acts_like_the_signal_it_is() {
    let ramp = ExternalConfig::Ramp { start: 0.0, stop: 10.0, from: 0.25, to: 20.25 };
    let system = pair(0.3).external("first.w", ramp).build().unwrap();
    let mut signal = Run::new(system, &config()).unwrap();
    let mut given = Run::new(open(0.3), &config()).unwrap();
    let w = given.graph().find_input("first.w").unwrap();
    for _ in 0..10 {
        let now = given.time();
        given.give(w, &[0.25 + 2.0 * now, 2.0]);
        given.follow_inputs().unwrap();
        given.advance().unwrap();
        signal.advance().unwrap();
        for (a, b) in outputs(&given).iter().zip(outputs(&signal)) {
            assert!((a - b).abs() < 1e-13, "{a} against {b} at {now}");
        }
    }
}

#[test]
fn a_jump_given_is_the_jump_of_a_signal() {
    let learned = PrestepConfig { model: ModelConfig::Rls(RlsConfig::default()), ..PrestepConfig::default() };
    for prestep in [PrestepConfig::default(), learned] {
        for reading in [Reading::Fresh, Reading::Stale] {
            let coupling = CouplingConfig::from(prestep.clone());
            let config = RunConfig { coupling, reading, ..RunConfig::new(2.0, 0.1) };
            let jump = ExternalConfig::Step { time: 1.0, before: 0.25, after: 3.0 };
            let system = pair(0.3).external("first.w", jump).build().unwrap();
            let mut signal = Run::new(system, &config).unwrap();
            let mut given = Run::new(open(0.3), &config).unwrap();
            let w = given.graph().find_input("first.w").unwrap();
            for k in 1..=20 {
                given.advance().unwrap();
                signal.advance().unwrap();
                // Twice at one instant: only the second acts.
                given.give(w, &[7.0]);
                given.give(w, &[if k < 10 { 0.25 } else { 3.0 }]);
                given.follow_inputs().unwrap();
                for (a, b) in outputs(&given).iter().zip(outputs(&signal)) {
                    assert!((a - b).abs() < 1e-12, "{reading:?} {prestep:?}: {a} against {b} after step {k}");
                }
            }
        }
    }
}

#[test]
fn outputs_follow_inputs_at_once_and_slopes_say_how() {
    let d = 0.3;
    let mut run = Run::new(open(d), &config()).unwrap();
    run.advance().unwrap();
    let w = run.graph().find_input("first.w").unwrap();
    let before = outputs(&run);
    // y1 = .. + d y2 + 0.7 w, y2 = .. - 0.5 d y1  =>  dy1/dw = 0.7 / (1 + 0.5 d²).
    let first = 0.7 / (1.0 + 0.5 * d * d);
    let exact = [first, -0.5 * d * first];
    let mut slopes = [0.0; 2];
    let mut kept = (RunState::default(), RunState::default());
    run.save(&mut kept.0).unwrap();
    run.slopes(w, 1.0, &mut slopes).unwrap();
    run.save(&mut kept.1).unwrap();
    assert_eq!(kept.0, kept.1, "asking changes nothing");
    run.give(w, &[0.25 + 4.0]);
    run.follow_inputs().unwrap();
    for k in 0..2 {
        assert!((slopes[k] - exact[k]).abs() < 1e-12, "{} against {}", slopes[k], exact[k]);
        let change = outputs(&run)[k] - before[k];
        assert!((change - 4.0 * exact[k]).abs() < 1e-12, "{change} against {}", 4.0 * exact[k]);
    }
    let stale = RunConfig { reading: Reading::Stale, ..config() };
    let mut run = Run::new(open(d), &stale).unwrap();
    run.slopes(w, 1.0, &mut slopes).unwrap();
    assert_eq!(slopes, [0.0; 2], "read stale, nothing follows");
}

#[test]
fn steps_of_any_length() {
    let at = vec![Change { time: 0.37, set: [("first.w".to_owned(), -3.0)].into() }];
    let config = RunConfig { at, ..config() };
    let mut by_steps = Run::new(open(0.3), &config).unwrap();
    let mut at_once = Run::new(open(0.3), &config).unwrap();
    (0..10).for_each(|_| by_steps.advance().unwrap());
    at_once.advance_to(0.5).unwrap();
    at_once.advance_to(1.0).unwrap();
    assert_eq!(outputs(&by_steps), outputs(&at_once), "multiples of the step");
    let mut cut = Run::new(open(0.3), &config).unwrap();
    let mut state = RunState::default();
    for (k, time) in [0.04, 0.13, 0.17, 0.36, 0.39, 0.62, 0.95, 1.0].into_iter().enumerate() {
        cut.advance_to(time).unwrap();
        assert!((cut.time() - time).abs() < 1e-12);
        if k == 3 {
            cut.save(&mut state).unwrap();
        }
    }
    let end = outputs(&cut);
    for (a, b) in end.iter().zip(outputs(&by_steps)) {
        assert!(*a != b && (a - b).abs() < 0.02 * b.abs(), "{a} against {b}: close, and another path");
    }
    cut.restore(&state).unwrap();
    assert!((cut.time() - 0.36).abs() < 1e-12);
    [0.39, 0.62, 0.95, 1.0].into_iter().for_each(|time| cut.advance_to(time).unwrap());
    assert_eq!(outputs(&cut), end, "also from inside a step");
    let slow = RunConfig { every: [("first".to_owned(), 2)].into(), ..RunConfig::new(1.0, 0.1) };
    let mut slow = Run::new(open(0.3), &slow).unwrap();
    slow.advance_to(0.2).unwrap();
    let error = slow.advance_to(0.25).unwrap_err().to_string();
    assert!(error.contains("ends at 0.25 s") && error.contains("multiples of 0.1 s"), "{error}");
}

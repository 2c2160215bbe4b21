//! Loops on which one try fails, and what comes after.

use crate::members::Static;
use koppel::run::{
    AccelerationKind, IterationConfig, IterationKind, OnNonConvergence, Reading, Run, RunConfig,
};
use koppel::signal::external::ExternalConfig;
use koppel::system::{Connection, System, SystemBuilder};

const STEP: f64 = 0.1;

fn iterated(kind: IterationKind, acceleration: AccelerationKind, otherwise: OnNonConvergence) -> RunConfig {
    let iteration = IterationConfig { otherwise, ..IterationConfig::new(kind, acceleration) };
    RunConfig { iteration: Some(iteration), ..RunConfig::new(1.0, STEP) }
}

/// A member that also sees the time, in a loop with one that passes on what it is given.
fn with_time(outputs: &[&str], g: impl Fn(f64, f64, &mut [f64]) + Send + 'static) -> System {
    let member = Static::new(&[("u", 0.0), ("t", 0.0)], outputs, move |u, y| g(u[0], u[1], y));
    SystemBuilder::new()
        .add("a", member)
        .add("b", Static::gain(1.0, 0.0))
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("b.y", "a.u"))
        .external("a.t", ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 })
        .build()
        .unwrap()
}

fn output(run: &Run, name: &str) -> f64 {
    let output = run.graph().find_output(name).unwrap();
    let id = run.graph().subsystem_of_output(output);
    run.outputs(id)[output - run.graph().outputs_of(id).start]
}

#[test]
fn derivatives_that_could_not_be_used_are_not_kept() {
    // y = u/2 + 1, but at 0.3 s there is nothing around the last solution, and it is none.
    let system = || {
        with_time(&["y"], |u, t, y| {
            let is_odd = (t - 0.3).abs() < 0.01;
            y[0] = match is_odd {
                true if (u - 2.0).abs() < 1e-9 => 3.0,
                true => f64::NAN,
                false => 0.5 * u + 1.0,
            }
        })
    };
    let config = iterated(IterationKind::Outputs, AccelerationKind::Newton, OnNonConvergence::Accept);
    let mut run = Run::new(system(), &config).unwrap();
    for k in 1..=10 {
        let done = run.advance();
        if k == 3 {
            // This point says nothing; it must not spoil the others.
            done.unwrap();
            assert_eq!(run.loop_works().next().unwrap().unconverged, 1);
            continue;
        }
        done.unwrap();
        let found = output(&run, "a.y");
        assert!((found - 2.0).abs() < 1e-7, "{k}: {found}");
    }
}

#[test]
fn the_whole_loop_is_solved_from_where_the_search_began() {
    // y = u/2 + e, e up to 1.2: the first guess for 0.3 s, 3.6, is where the member gives no number.
    let system = with_time(&["y"], |u, t, y| {
        y[0] = if u > 3.0 { f64::NAN } else { 0.5 * u + (6.0 * t).min(1.2) };
    });
    let config = iterated(IterationKind::Outputs, AccelerationKind::Broyden, OnNonConvergence::Stop);
    let mut run = Run::new(system, &config).unwrap();
    for k in 1..=10 {
        run.advance().unwrap();
        let (found, expected) = (output(&run, "a.y"), (1.2 * f64::from(k)).min(2.4));
        assert!((found - expected).abs() < 1e-7, "{k}: {found} {expected}");
    }
    assert!(run.loop_works().next().unwrap().solved_whole > 0);
}

#[test]
fn what_is_accepted_is_what_the_residual_belongs_to() {
    // y = y + 1 has no solution.
    let system = with_time(&["y"], |u, t, y| y[0] = if t > 0.05 { u + 1.0 } else { 0.5 * u + 1.0 });
    let config = iterated(IterationKind::Outputs, AccelerationKind::Broyden, OnNonConvergence::Accept);
    let mut run = Run::new(system, &config).unwrap();
    run.advance().unwrap();
    let work = run.loop_works().next().unwrap();
    assert_eq!(work.unconverged, 1);
    // Whatever was guessed, the member gives one more, and has never given more.
    let a = output(&run, "a.y");
    assert!((1.0 / a - work.residual).abs() <= 1e-9, "{a}: {}", work.residual);
}

#[test]
fn a_member_that_gives_no_number_ends_a_run_whose_steps_are_iterated() {
    let system = with_time(&["y", "w"], |u, t, y| {
        y[0] = 0.5 * u + 1.0;
        y[1] = (0.55 - t).sqrt();
    });
    let config = RunConfig {
        reading: Reading::Stale,
        ..iterated(IterationKind::Step, AccelerationKind::Broyden, OnNonConvergence::Stop)
    };
    let mut run = Run::new(system, &config).unwrap();
    (0..5).for_each(|_| run.advance().unwrap());
    let error = run.advance().unwrap_err().to_string();
    assert!(error.contains("`a`") && error.contains('w') && error.contains("NaN"), "{error}");
}

#[test]
fn a_guess_is_not_looked_up_beyond_a_table() {
    // 0, 1, 2 and then 2 for ever: the line through the first three would go on to 3, which the table does not know.
    let system = || {
        let count = Static::new(&[("u", 0.0), ("t", 0.0)], &["y"], |u, y| {
            y[0] = (10.0 * u[1]).round().min(2.0) + 0.0 * u[0]
        });
        let table =
            Connection { map: vec![(0.0, 5.0), (1.0, 6.0), (2.0, 7.0)], ..Connection::new("a.y", "b.u") };
        SystemBuilder::new()
            .add("a", count)
            .add("b", Static::gain(2.0, 0.0))
            .connect(table)
            .connect(Connection::new("b.y", "a.u"))
            .external("a.t", ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 })
            .build()
            .unwrap()
    };
    for kind in [IterationKind::Step, IterationKind::Outputs] {
        for acceleration in
            [AccelerationKind::Broyden, AccelerationKind::Newton, AccelerationKind::FixedPoint]
        {
            let mut config = iterated(kind, acceleration, OnNonConvergence::Stop);
            // So that what goes through the table is guessed, too.
            config.iteration.as_mut().unwrap().torn = false;
            let mut run = Run::new(system(), &config).unwrap();
            for k in 1..=10 {
                run.advance().unwrap_or_else(|error| panic!("{kind:?} {acceleration:?} {k}: {error}"));
                let expected = 2.0 * (5.0 + f64::from(k).min(2.0));
                let found = output(&run, "b.y");
                assert!((found - expected).abs() < 1e-7, "{kind:?} {acceleration:?} {k}: {found}");
            }
        }
    }
}

#[test]
fn a_result_on_the_way_that_a_table_does_not_know_is_not_handed_on() {
    // b gives 10, 12, 14 and then 14 for ever. The line through the last two goes on to 16, and what a then gives, 102, is in no
    // table: b must not be stepped with what is no number.
    let system = || {
        let count = Static::new(&[("u", 10.0), ("t", 0.0)], &["y"], |u, y| {
            let known = (10.0 * u[1]).round().min(2.0);
            y[0] = if u[0] > 2.0 * (5.0 + known) + 0.5 { known + 100.0 } else { known };
        });
        let table =
            Connection { map: vec![(0.0, 5.0), (1.0, 6.0), (2.0, 7.0)], ..Connection::new("a.y", "b.u") };
        SystemBuilder::new()
            .add("a", count)
            .add("b", Static::gain(2.0, 0.0))
            .connect(table)
            .connect(Connection::new("b.y", "a.u"))
            .external("a.t", ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 })
            .build()
            .unwrap()
    };
    for acceleration in [AccelerationKind::FixedPoint, AccelerationKind::Broyden, AccelerationKind::Newton] {
        let config = iterated(IterationKind::Step, acceleration, OnNonConvergence::Stop);
        let mut run = Run::new(system(), &config).unwrap();
        assert_eq!(run.loop_works().next().unwrap().unknowns, ["b.y"]);
        for k in 1..=10 {
            run.advance().unwrap_or_else(|error| panic!("{acceleration:?} {k}: {error}"));
            let (found, expected) = (output(&run, "b.y"), 2.0 * (5.0 + f64::from(k).min(2.0)));
            assert!((found - expected).abs() < 1e-7, "{acceleration:?} {k}: {found}");
        }
    }
}

#[test]
fn a_member_at_its_limit_is_no_black_box() {
    // At the start within its limits, at the first communication point beyond them.
    let system = with_time(&["y"], |u, t, y| y[0] = (0.5 * u + 30.0 * t).clamp(-1.0, 1.0));
    let mut run = Run::new(system, &RunConfig::new(1.0, STEP)).unwrap();
    for _ in 0..10 {
        run.advance().unwrap();
        assert_eq!(output(&run, "a.y"), 1.0);
    }
}

/// Evaluations of a fixed-point iteration that shrinks the residual by 0.9 each time, from 1.9 to tolerance times size.
#[test]
fn the_tolerance_is_relative_to_nominal_values() {
    let evaluations = |nominal: Option<f64>, kind: IterationKind| {
        let jump = |u: &[f64], y: &mut [f64]| y[0] = -0.9 * u[0] + if u[1] > 0.05 { 1.9 } else { 0.0 };
        let mut member = Static::new(&[("u", 0.0), ("t", 0.0)], &["y"], jump);
        let mut other = Static::gain(1.0, 0.0);
        (member.ports.outputs[0].nominal, other.ports.outputs[0].nominal) = (nominal, nominal);
        let ramp = ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 };
        let system = SystemBuilder::new()
            .add("a", member)
            .add("b", other)
            .connect(Connection::new("a.y", "b.u"))
            .connect(Connection::new("b.y", "a.u"))
            .external("a.t", ramp)
            .build()
            .unwrap();
        let mut config = iterated(kind, AccelerationKind::FixedPoint, OnNonConvergence::Stop);
        config.iteration.as_mut().unwrap().max_iterations = 1000;
        let mut run = Run::new(system, &config).unwrap();
        run.advance().unwrap();
        f64::from(run.loop_works().next().unwrap().last)
    };
    for kind in [IterationKind::Outputs, IterationKind::Step] {
        // Without one, the size is that of the largest guess, between 1 and 1.9.
        let plain = evaluations(None, kind);
        let expected = |nominal: f64| (1e-8 * nominal / 1.9).ln() / 0.9_f64.ln() + 1.0;
        assert!(plain < expected(1.0) + 1.0 && plain > expected(2.0) - 1.0, "{kind:?}: {plain}");
        for nominal in [100.0, 1e-3] {
            let found = evaluations(Some(nominal), kind);
            assert!((found - expected(nominal)).abs() <= 1.5, "{kind:?}, {nominal}: {found}");
        }
    }
}

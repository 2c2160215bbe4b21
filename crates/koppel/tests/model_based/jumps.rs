//! Jumps from outside: of signals, parameters and states.

use super::*;

/// A jump of an external signal at a communication point, with feed-through: what follows is as good as without a jump.
#[test]
fn a_jump_from_outside_gives_no_kick() {
    let case = {
        let mut case = crate::cases::case("control-loop").unwrap();
        case.externals[0].1 = ExternalConfig::Step { time: 1.0, before: 0.0, after: 1.0 };
        case
    };
    let (exact_run, exact) = run(case.reference().unwrap(), &RunConfig::new(4.0, 0.05));
    let column = |run: &Run, name: &str| run.columns().iter().position(|c| c.name == name).unwrap();
    for reading in [Reading::Fresh, Reading::Stale] {
        for error_equation in [ErrorEquationConfig::Off, ErrorEquationConfig::Carried] {
            let coupling = CouplingConfig::from(PrestepConfig { error_equation, ..PrestepConfig::default() });
            let config = RunConfig { coupling, reading, ..RunConfig::new(4.0, 0.05) };
            let (run, table) = run(case.system().unwrap(), &config);
            let own = column(&run, "plant.y");
            let other = column(&exact_run, "monolith.plant.y");
            let pairs = table.column(own).zip(exact.column(other));
            let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 2e-3, "{reading:?}, {error_equation:?}: {error}");
        }
    }
}

/// What follows a jump does not depend on when it comes: from rest, a jump at a communication point and a run that begins with
/// it give the same numbers, sample by sample. A kick would be what is left of the time before.
#[test]
fn a_jump_is_met_like_a_start() {
    let case = |signal| {
        let mut case = crate::cases::case("control-loop").unwrap();
        case.externals[0].1 = signal;
        case
    };
    let jump = case(ExternalConfig::Step { time: 1.0, before: 0.0, after: 1.0 });
    let start = case(ExternalConfig::Constant { value: 1.0 });
    let continuous = [ErrorEquationConfig::Off, ErrorEquationConfig::Carried, ErrorEquationConfig::Reset]
        .into_iter()
        .flat_map(|error_equation| {
            [Shape::Linear, Shape::Constant].map(|input| {
                CouplingConfig::from(PrestepConfig { error_equation, input, ..PrestepConfig::default() })
            })
        });
    for coupling in continuous {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            let config = |stop| {
                let (coupling, schedule) = (coupling.clone(), schedule.clone());
                RunConfig { coupling, schedule, ..RunConfig::new(stop, 0.05) }
            };
            let (_, late) = run(jump.system().unwrap(), &config(4.0));
            let (_, early) = run(start.system().unwrap(), &config(3.0));
            for (k, row) in early.rows.iter().enumerate().skip(1) {
                for (a, b) in row.iter().zip(&late.rows[k + 20]) {
                    assert!((a - b).abs() < 1e-9, "{k} steps after the jump: {a} {b}\n{:?}", config(4.0));
                }
            }
        }
    }
}

/// The same for first-order hold, whose line must not lead across the jump; its past at the start of a run is constant, too.
#[test]
fn a_line_does_not_lead_across_a_jump() {
    let case = |signal| {
        let mut case = crate::cases::case("control-loop").unwrap();
        case.externals[0].1 = signal;
        case
    };
    let pulses = ExternalConfig::Pulses {
        amplitude: 1.0,
        period: 50.0,
        width: 20.0,
        start: 1.0,
        offset: 0.0,
        stop: None,
        modulation: None,
    };
    let table = |interpolation| ExternalConfig::Table {
        times: vec![0.0, 1.0, 1.0, 9.0],
        values: vec![0.0, 0.0, 1.0, 1.0],
        interpolation,
    };
    let start = case(ExternalConfig::Constant { value: 1.0 });
    for signal in [
        ExternalConfig::Step { time: 1.0, before: 0.0, after: 1.0 },
        pulses,
        table(Interpolation::Linear),
        table(Interpolation::Previous),
    ] {
        let jump = case(signal.clone());
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            let config = |stop| {
                let coupling = CouplingConfig::foh(StartUp::Constant);
                RunConfig { coupling, schedule: schedule.clone(), ..RunConfig::new(stop, 0.05) }
            };
            let (_, late) = run(jump.system().unwrap(), &config(4.0));
            let (_, early) = run(start.system().unwrap(), &config(3.0));
            for (k, row) in early.rows.iter().enumerate().skip(1) {
                for (a, b) in row.iter().zip(&late.rows[k + 20]) {
                    assert!((a - b).abs() < 1e-9, "{k} steps after the jump: {a} {b}\n{signal:?}");
                }
            }
        }
    }
}

/// A signal that jumps at communication points had its old value over the step that ends there: x' = -x + u is learned as
/// y^{k+1} = e^{-h} y^k + (1 - e^{-h}) u.
#[test]
fn a_jump_is_no_input_of_the_step_that_ends_at_it() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let lag = || linear(one(-1.0), one(1.0), one(1.0), one(0.0), &[0.0]);
    let pulses = ExternalConfig::Pulses {
        amplitude: 1.0,
        period: 2.0,
        width: 1.0,
        start: 0.6,
        offset: 0.0,
        stop: None,
        modulation: None,
    };
    for reading in [Reading::Fresh, Reading::Stale] {
        let system = SystemBuilder::new()
            .add("plant", lag())
            .add("sink", lag())
            .connect(Connection::new("plant.y1", "sink.u1"))
            .external("plant.u1", pulses.clone())
            .build()
            .unwrap();
        let model = ModelConfig::Rls(RlsConfig { forgetting: 1.0, ..RlsConfig::default() });
        let coupling = CouplingConfig::from(PrestepConfig { model, ..PrestepConfig::default() });
        let (run, _) = run(system, &RunConfig { coupling, reading, ..RunConfig::new(20.0, 0.2) });
        let Some(Learned::Rls(learned)) = run.learned().remove("plant") else { panic!("no model") };
        let (p, exact) = (&learned.parameters[0], (-0.2_f64).exp());
        assert!((p[0] - exact).abs() < 1e-5 && (p[1] - 1.0 + exact).abs() < 1e-5, "{reading:?}: {p:?}");
    }
}

/// Outputs that are read again after a free input was set have met its new value: nothing is left to be made up for.
#[test]
fn a_free_input_that_is_set_gives_no_kick() {
    let block = |rate: f64, x0: f64| {
        let (b, d) = (matrix(1, 2, &[rate, 0.5]), matrix(1, 2, &[0.0, 2.0]));
        linear(matrix(1, 1, &[-rate]), b, matrix(1, 1, &[1.0]), d, &[x0])
    };
    let system = || {
        SystemBuilder::new()
            .add("a", block(1.0, 0.0))
            .add("b", block(3.0, 0.0))
            .connect(Connection::new("a.y1", "b.u1").gain(-0.4))
            .connect(Connection::new("b.y1", "a.u1"))
            .build()
            .unwrap()
    };
    let set = |time: f64| vec![Change { time, set: [("a.u2".to_owned(), 1.0)].into() }];
    let continuous = [ErrorEquationConfig::Off, ErrorEquationConfig::Carried].map(|error_equation| {
        CouplingConfig::from(PrestepConfig { error_equation, ..PrestepConfig::default() })
    });
    let corrector = CouplingConfig::from(CorrectorConfig::default());
    for coupling in continuous.into_iter().chain([corrector]) {
        let record = Record::Many(vec!["*.y*".into()]);
        let config = RunConfig { coupling, record, reading: Reading::Stale, ..RunConfig::new(3.0, 0.05) };
        let (_, early) = run(system(), &RunConfig { at: set(0.0), ..config.clone() });
        let (_, late) = run(system(), &RunConfig { at: set(1.0), stop: 4.0, ..config.clone() });
        for (k, row) in early.rows.iter().enumerate().skip(1) {
            for (a, b) in row.iter().zip(&late.rows[k + 20]) {
                assert!((a - b).abs() < 1e-9, "{k} steps after the change: {a} {b}\n{config:?}");
            }
        }
    }
}

/// A parameter or state that is set makes outputs jump; that is no fault of the models, and derivatives taken anew do not
/// spoil what was expected with the old ones.
#[test]
fn a_jump_from_outside_is_no_fault_of_the_models() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let block = |rate: f64| linear(one(-rate), one(rate), one(1.0), one(0.0), &[1.0]);
    let system = SystemBuilder::new()
        .add("a", block(1.0))
        .add("b", block(3.0))
        .connect(Connection::new("a.y1", "b.u1").gain(-0.4))
        .connect(Connection::new("b.y1", "a.u1"))
        .build()
        .unwrap();
    let coupling = CouplingConfig::from(PrestepConfig::default());
    let at = vec![Change { time: 1.0, set: [("a.x[1]".to_owned(), 5.0)].into() }];
    let mut run = Run::new(system, &RunConfig { coupling, at, ..RunConfig::new(2.0, 0.05) }).unwrap();
    while !run.is_done() {
        run.advance().unwrap();
        let worst = run.model_quality().iter().copied().fold(0.0, f64::max);
        assert!(worst < 1e-6, "t = {}: {worst}", run.time());
    }
}

/// Where all outputs belong to a loop that is iterated, they are read with the inputs of their own instant whatever the
/// reading, also after a timed change: nothing may be made up for twice.
#[test]
fn iterated_outputs_are_known_to_be_fresh() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let block = |rate: f64, d: f64| linear(one(-rate), one(rate), one(1.0), one(d), &[1.0]);
    let continuous = [ErrorEquationConfig::Off, ErrorEquationConfig::Carried].map(|error_equation| {
        CouplingConfig::from(PrestepConfig { error_equation, ..PrestepConfig::default() })
    });
    let corrector = CouplingConfig::from(CorrectorConfig::default());
    for coupling in continuous.into_iter().chain([corrector]) {
        let [fresh, stale] = [Reading::Fresh, Reading::Stale].map(|reading| {
            let system = SystemBuilder::new()
                .add("a", block(1.0, 0.5))
                .add("b", block(3.0, 0.7))
                .connect(Connection::new("a.y1", "b.u1").gain(-0.4))
                .connect(Connection::new("b.y1", "a.u1"))
                .build()
                .unwrap();
            let iteration = IterationConfig {
                tolerance: 1e-12,
                ..IterationConfig::new(IterationKind::Outputs, AccelerationKind::Newton)
            };
            let at = vec![Change { time: 1.0, set: [("a.x[1]".to_owned(), 3.0)].into() }];
            let record = Record::Many(vec!["*.u*".into(), "*.y*".into()]);
            let (coupling, iteration) = (coupling.clone(), Some(iteration));
            run(system, &RunConfig { coupling, iteration, reading, record, at, ..RunConfig::new(2.0, 0.05) })
                .1
        });
        for (k, (a, b)) in fresh.rows.iter().zip(&stale.rows).enumerate() {
            let away = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(away < 1e-8, "step {k}: {a:?} {b:?}\n{coupling:?}");
        }
    }
}

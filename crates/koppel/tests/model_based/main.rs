//! Model-based couplings where things are odd: rest away from zero, jumps from outside, singular blocks, nothing to model.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod random;

use koppel::coupling::{
    Against, ConstantConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, Goal, LearningConfig,
    LearningKind, PrestepConfig, Shape, TimeForm,
};
use koppel::identify::{ModelConfig, MoespConfig, RlsConfig};
use koppel::linalg::Matrix;
use koppel::record::{Record, Table};
use koppel::run::{
    AccelerationKind, Change, Flow, IterationConfig, IterationKind, Reading, RunConfig, ScheduleConfig,
    Simulation,
};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};

fn matrix(rows: usize, cols: usize, entries: &[f64]) -> Matrix {
    Matrix::from_slice(rows, cols, entries)
}

/// Inputs `u1`, `u2`, ..., outputs `y1`, `y2`, ...
fn linear(a: Matrix, b: Matrix, c: Matrix, d: Matrix, x0: &[f64]) -> OdeModel {
    let names =
        |letter: &str, count: usize| (1..=count).map(|i| Variable::new(format!("{letter}{i}"))).collect();
    let matrices = StateSpace::new("s", a, b, c, d).unwrap();
    let (inputs, outputs) = (names("u", matrices.inputs()), names("y", matrices.outputs()));
    let ode = LinearOde::new(matrices, inputs, outputs, x0).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

fn methods() -> Vec<CouplingConfig> {
    let plain = PrestepConfig::default();
    let carried = PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..plain.clone() };
    let learned = PrestepConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        learning: Some(LearningConfig { duration: 0.5, switch: 0.2, ..LearningConfig::default() }),
        ..plain.clone()
    };
    let by_moesp = MoespConfig { order: Some(1), window: 60, rows: Some(3) };
    let by_moesp = PrestepConfig { model: ModelConfig::Moesp(by_moesp), ..learned.clone() };
    let corrector =
        CorrectorConfig { model: learned.model, learning: learned.learning, ..CorrectorConfig::default() };
    let higher = RlsConfig { outputs: 2, inputs: 2, ..RlsConfig::default() };
    let variants = [
        PrestepConfig { model: ModelConfig::Rls(higher), ..learned.clone() },
        by_moesp,
        PrestepConfig { input: Shape::Constant, ..plain.clone() },
        PrestepConfig { input: Shape::Energy, ..plain.clone() },
        PrestepConfig { objective: Goal::Integral, ..plain.clone() },
        PrestepConfig { objective: Goal::Midpoint, ..plain.clone() },
        PrestepConfig { model: ModelConfig::Derivatives, ..plain.clone() },
        PrestepConfig { modified: true, ..plain.clone() },
        learned,
        carried,
        plain,
    ];
    let mut all: Vec<_> = variants.into_iter().map(CouplingConfig::Prestep).collect();
    all.extend(discrete());
    let reset = CorrectorConfig { error_equation: ErrorEquationConfig::Reset, ..CorrectorConfig::default() };
    all.push(CouplingConfig::Corrector(CorrectorConfig::default()));
    all.push(CouplingConfig::Corrector(reset));
    for against in [Against::Extrapolated, Against::Applied] {
        all.push(CouplingConfig::Nepce { gain: 0.5, against, anti_aliasing: false });
    }
    all.push(CouplingConfig::Corrector(corrector));
    all
}

/// Discrete time on known equations.
fn discrete() -> Vec<CouplingConfig> {
    let plain = PrestepConfig { time: Some(TimeForm::Discrete), ..PrestepConfig::default() };
    let carried = PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..plain.clone() };
    let parts = PrestepConfig { recursion: true, ..carried.clone() };
    [plain, carried, parts].into_iter().map(CouplingConfig::Prestep).collect()
}

fn settings(stop: f64, step: f64) -> Vec<RunConfig> {
    let mut all = Vec::new();
    for coupling in methods() {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            for reading in [Reading::Fresh, Reading::Stale] {
                let (coupling, schedule) = (coupling.clone(), schedule.clone());
                // What the couplings know themselves is no part of the system.
                let record = Record::Many(vec!["*.u*".into(), "*.y*".into()]);
                all.push(RunConfig { coupling, schedule, reading, record, ..RunConfig::new(stop, step) });
            }
        }
    }
    all
}

fn run(system: System, config: &RunConfig) -> (Simulation, Table) {
    let mut simulation = Simulation::new(system, config).unwrap();
    let mut table = Table::default();
    let ending = simulation.run(&mut table, &mut |_| Ok(Flow::Continue));
    ending.unwrap_or_else(|error| panic!("{error}\n{config:?}"));
    (simulation, table)
}

/// Two walls of two layers each, with one temperature seen: more states than outputs, so the models are surrogates and only
/// their constants keep them at rest.
#[test]
fn surrogates_rest_at_three_hundred_kelvin() {
    let wall = |rate: f64| {
        let a = matrix(2, 2, &[-2.0 * rate, rate, 3.0, -6.0]);
        linear(
            a,
            matrix(2, 1, &[rate, 3.0]),
            matrix(1, 2, &[0.3, 0.7]),
            matrix(1, 1, &[0.0]),
            &[300.0, 300.0],
        )
    };
    for config in settings(5.0, 0.2) {
        let system = SystemBuilder::new()
            .add("a", wall(1.0))
            .add("b", wall(5.0))
            .connect(Connection::new("a.y1", "b.u1"))
            .connect(Connection::new("b.y1", "a.u1"))
            .build()
            .unwrap();
        let (_, table) = run(system, &config);
        let away = table.rows.iter().flatten().map(|y| (y - 300.0).abs()).fold(0.0, f64::max);
        assert!(away < 1e-9, "moved by {away}\n{config:?}");
    }
}

/// A jump of an external signal at a communication point, with feed-through: what follows is as good as without a jump.
#[test]
fn a_jump_from_outside_gives_no_kick() {
    let case = {
        let mut case = koppel::models::cases::case("control-loop").unwrap();
        case.externals[0].1 = ExternalConfig::Step { time: 1.0, before: 0.0, after: 1.0 };
        case
    };
    let (exact_simulation, exact) = run(case.reference().unwrap(), &RunConfig::new(4.0, 0.05));
    let column = |simulation: &Simulation, name: &str| {
        simulation.columns().iter().position(|c| c.name == name).unwrap()
    };
    for reading in [Reading::Fresh, Reading::Stale] {
        for error_equation in [ErrorEquationConfig::Off, ErrorEquationConfig::Carried] {
            let coupling =
                CouplingConfig::Prestep(PrestepConfig { error_equation, ..PrestepConfig::default() });
            let config = RunConfig { coupling, reading, ..RunConfig::new(4.0, 0.05) };
            let (simulation, table) = run(case.system().unwrap(), &config);
            let own = column(&simulation, "plant.y");
            let other = column(&exact_simulation, "monolith.plant.y");
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
        let mut case = koppel::models::cases::case("control-loop").unwrap();
        case.externals[0].1 = signal;
        case
    };
    let jump = case(ExternalConfig::Step { time: 1.0, before: 0.0, after: 1.0 });
    let start = case(ExternalConfig::Constant { value: 1.0 });
    let continuous = [ErrorEquationConfig::Off, ErrorEquationConfig::Carried, ErrorEquationConfig::Reset]
        .into_iter()
        .flat_map(|error_equation| {
            [Shape::Linear, Shape::Constant, Shape::Energy].map(|input| {
                CouplingConfig::Prestep(PrestepConfig { error_equation, input, ..PrestepConfig::default() })
            })
        });
    for coupling in continuous.chain(discrete()) {
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

/// The corrector on learned models gives back what an input lacked in the last step, not what it lacked while it learned: behind a
/// ramp by hold, half of what the ramp rises in a step.
#[test]
fn corrections_do_not_add_up_while_models_are_learned() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let ramp = linear(one(0.0), one(1.0), one(1.0), one(0.0), &[0.0]);
    let sink = linear(one(-1.0), one(1.0), one(1.0), one(0.0), &[0.0]);
    let system = SystemBuilder::new()
        .add("ramp", ramp)
        .add("sink", sink)
        .connect(Connection::new("ramp.y1", "sink.u1"))
        .external("ramp.u1", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let learning =
        LearningConfig { duration: 1.0, modified_above: 1e9, hold_above: 1e9, ..LearningConfig::default() };
    let corrector = CorrectorConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        learning: Some(learning),
        ..CorrectorConfig::default()
    };
    let record = Record::Many(vec!["sink.u1".into(), "coupling.phase".into()]);
    let coupling = CouplingConfig::Corrector(corrector);
    let (_, table) = run(system, &RunConfig { coupling, record, ..RunConfig::new(2.0, 0.1) });
    for (k, row) in table.rows.iter().enumerate().skip(1) {
        let given = (k - 1) as f64 * 0.1 + if k > 10 { 0.05 } else { 0.0 };
        assert!((row[0] - given).abs() < 1e-6, "step {k}: {} instead of {given}", row[0]);
    }
    // The whole method, not one without step 3, which a corrector never has.
    assert_eq!(table.rows[15][1], 2.0, "{:?}", table.rows[15]);
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
        CouplingConfig::Prestep(PrestepConfig { error_equation, ..PrestepConfig::default() })
    });
    let corrector = CouplingConfig::Corrector(CorrectorConfig::default());
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
    for time in [TimeForm::Continuous, TimeForm::Discrete] {
        let block = |rate: f64| linear(one(-rate), one(rate), one(1.0), one(0.0), &[1.0]);
        let system = SystemBuilder::new()
            .add("a", block(1.0))
            .add("b", block(3.0))
            .connect(Connection::new("a.y1", "b.u1").gain(-0.4))
            .connect(Connection::new("b.y1", "a.u1"))
            .build()
            .unwrap();
        let prestep = PrestepConfig { time: Some(time), ..PrestepConfig::default() };
        let coupling = CouplingConfig::Prestep(prestep);
        let at = vec![Change { time: 1.0, set: [("a.x[1]".to_owned(), 5.0)].into() }];
        let mut simulation =
            Simulation::new(system, &RunConfig { coupling, at, ..RunConfig::new(2.0, 0.05) }).unwrap();
        while !simulation.is_done() {
            simulation.advance().unwrap();
            let worst = simulation.model_quality().iter().copied().fold(0.0, f64::max);
            assert!(worst < 1e-6, "{time:?}, t = {}: {worst}", simulation.time());
        }
    }
}

/// Where all outputs belong to a loop that is iterated, they are read with the inputs of their own instant whatever the
/// reading, also after a timed change: nothing may be made up for twice.
#[test]
fn iterated_outputs_are_known_to_be_fresh() {
    let one = |value: f64| matrix(1, 1, &[value]);
    let block = |rate: f64, d: f64| linear(one(-rate), one(rate), one(1.0), one(d), &[1.0]);
    let continuous = [ErrorEquationConfig::Off, ErrorEquationConfig::Carried].map(|error_equation| {
        CouplingConfig::Prestep(PrestepConfig { error_equation, ..PrestepConfig::default() })
    });
    let corrector = CouplingConfig::Corrector(CorrectorConfig::default());
    for coupling in continuous.into_iter().chain(discrete()).chain([corrector]) {
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

/// What there is only once in a run cannot be set twice.
#[test]
fn methods_that_learn_differently_are_not_mixed() {
    let learned = |parts: u32| {
        let learning = LearningConfig {
            kind: LearningKind::SmallStep,
            parts,
            duration: 0.5,
            ..LearningConfig::default()
        };
        CouplingConfig::Prestep(PrestepConfig {
            model: ModelConfig::Rls(RlsConfig::default()),
            learning: Some(learning),
            ..PrestepConfig::default()
        })
    };
    let constant = |constant| CouplingConfig::Prestep(PrestepConfig { constant, ..PrestepConfig::default() });
    let case = koppel::models::cases::case("two-mass").unwrap();
    let to = &case.connections[0].to;
    for (first, second, word) in [
        (learned(3), learned(4), "one step"),
        (constant(ConstantConfig::Measured), constant(ConstantConfig::None), "one constant"),
    ] {
        let coupling =
            CouplingConfig::Mixed { default: Box::new(first), connections: [(to.clone(), second)].into() };
        let config = RunConfig { coupling, ..RunConfig::new(1.0, 0.01) };
        let refused = Simulation::new(case.system().unwrap(), &config).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

/// A gain without states, a subsystem that feeds itself, two inputs that act as one, an input that does nothing, an output
/// that stays zero: all at once.
#[test]
fn odd_blocks_are_no_trouble() {
    let gain = || {
        let none = Matrix::zeros;
        linear(none(0, 0), none(0, 2), none(2, 0), matrix(2, 2, &[0.5, 0.5, 0.0, 0.0]), &[])
    };
    let lag = || {
        // The first output feeds back to its own second input; the third input does nothing.
        let b = matrix(2, 3, &[1.0, -0.4, 0.0, 2.0, -0.8, 0.0]);
        linear(
            matrix(2, 2, &[-1.0, 0.2, 0.0, -3.0]),
            b,
            Matrix::identity(2),
            Matrix::zeros(2, 3),
            &[1.0, 0.5],
        )
    };
    for config in settings(6.0, 0.1) {
        let build = || {
            SystemBuilder::new()
                .add("gain", gain())
                .add("lag", lag())
                .connect(Connection::new("gain.y1", "lag.u1"))
                .connect(Connection::new("lag.y1", "lag.u2"))
                .connect(Connection::new("gain.y2", "lag.u3"))
                .connect(Connection::new("lag.y1", "gain.u1").gain(-1.0))
                .connect(Connection::new("lag.y2", "gain.u2"))
                .build()
                .unwrap()
        };
        let (_, table) = run(build(), &config);
        assert!(table.rows.iter().flatten().all(|y| y.is_finite() && y.abs() < 10.0), "{config:?}");
        let last = &table.rows[table.rows.len() - 1];
        assert!(last.iter().all(|y| y.abs() < 0.2), "{last:?}\n{config:?}");
    }
}

/// A stiff pair by the pre-step method and a slow absorber beside it by zero-order hold, in one run: as good as the pre-step
/// method everywhere, where the hold everywhere is lost.
#[test]
fn each_connection_by_its_own_method() {
    let mut case = koppel::models::cases::case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    let build = || {
        let mut system = SystemBuilder::new();
        for (part, subsystem) in case.parts.iter().zip(case.system().unwrap().subsystems) {
            system = system.add_boxed(&part.name, subsystem);
        }
        let one = |value: f64| matrix(1, 1, &[value]);
        system = system.add("absorber", linear(one(-5.0), one(5.0), one(1e4), one(0.0), &[0.0]));
        for connection in &case.connections {
            system = system.connect(connection.clone());
        }
        system
            .connect(Connection::new("left.x", "absorber.u1"))
            .connect(Connection::new("absorber.y1", "left.F_ext").gain(-1.0))
            .build()
            .unwrap()
    };
    let prestep = CouplingConfig::Prestep(PrestepConfig::default());
    let stiff = ["left.F", "right.x", "right.v"].map(|input| (input.to_owned(), prestep.clone()));
    let mixed =
        CouplingConfig::Mixed { default: Box::new(CouplingConfig::Zoh {}), connections: stiff.into() };
    let largest = |coupling: CouplingConfig| {
        let config = RunConfig { coupling, reading: Reading::Stale, ..RunConfig::new(0.2, 4e-3) };
        let (simulation, table) = run(build(), &config);
        let force = simulation.columns().iter().position(|column| column.name == "right.F").unwrap();
        table.column(force).skip(40).fold(0.0_f64, |most, y| most.max(y.abs()))
    };
    let [hold, both, all] = [CouplingConfig::Zoh {}, mixed, prestep].map(largest);
    assert!(hold > 10.0 * all && (both / all - 1.0).abs() < 0.05, "{hold} {both} {all}");
}

/// Thresholds put the models of the helicopter, which are unstable without their constant, out of work: what is left is the
/// hold, stable at this step.
#[test]
fn models_of_bad_quality_are_put_aside() {
    let case = koppel::models::cases::case("helicopter").unwrap();
    let largest = |learning| {
        let prestep = PrestepConfig { constant: ConstantConfig::None, learning, ..PrestepConfig::default() };
        let coupling = CouplingConfig::Prestep(prestep);
        let config = RunConfig { coupling, stop: 60.0, step: 0.08, ..case.run.clone() };
        let (_, table) = run(case.system().unwrap(), &config);
        table.rows.iter().flatten().fold(0.0_f64, |most, y| most.max(y.abs()))
    };
    let thresholds = LearningConfig { modified_above: 0.02, hold_above: 0.05, ..LearningConfig::default() };
    assert!(largest(None) > 1e3);
    let seen = largest(Some(thresholds));
    assert!(seen < 20.0, "{seen}");
}

/// What MOESP has learned starts another run at the same step, whose models serve after the few steps they look back on; at
/// another step it is refused with a reason.
#[test]
fn moesp_starts_from_an_earlier_run() {
    let case = koppel::models::cases::case("dual-mass").unwrap();
    let prestep = PrestepConfig {
        model: ModelConfig::Moesp(MoespConfig { order: Some(2), window: 100, rows: None }),
        learning: Some(LearningConfig { duration: 0.015, ..LearningConfig::default() }),
        ..PrestepConfig::default()
    };
    let config = |prestep: PrestepConfig, step: f64| {
        let coupling = CouplingConfig::Prestep(prestep);
        let record = Record::One("coupling.phase".into());
        RunConfig { coupling, record, reading: Reading::Stale, ..RunConfig::new(0.03, step) }
    };
    let (first, table) = run(case.system().unwrap(), &config(prestep.clone(), 1e-4));
    let phases: Vec<f64> = table.column(0).collect();
    assert_eq!((phases[100], phases[300]), (0.0, 2.0));
    let again = PrestepConfig { learned: first.learned(), learning: None, ..prestep };
    let (_, table) = run(case.system().unwrap(), &config(again.clone(), 1e-4));
    // Four block rows for the force: three samples of the past.
    let full = table.column(0).position(|phase| phase == 2.0).unwrap();
    assert!((3..=5).contains(&full), "{full}");
    assert!(table.column(0).skip(full).all(|phase| phase == 2.0));
    let refused = Simulation::new(case.system().unwrap(), &config(again, 2e-4)).err().unwrap().to_string();
    assert!(refused.contains("learned by MOESP at a step of 0.0001 s, not 0.0002 s"), "{refused}");
}

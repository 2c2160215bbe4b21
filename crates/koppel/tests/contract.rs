//! What every coupling must do, whatever it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;
#[path = "common/couplings.rs"]
mod couplings;
#[path = "common/methods.rs"]
mod methods;

use crate::cases::{Case, case, cases};
use couplings::couplings;
use koppel::coupling::Hold;
use koppel::linalg::Matrix;
use koppel::record::{Nothing, Trajectory};
use koppel::run::{Change, Flow, Parallel, Reading, Run, RunConfig, RunState, ScheduleConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use std::collections::BTreeMap;

fn settings(of: &str, stop: f64, step: f64) -> Vec<RunConfig> {
    let mut all = Vec::new();
    for coupling in couplings(of) {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            for reading in [Reading::Fresh, Reading::Stale] {
                for hold in [Hold::Constant, Hold::Continuous] {
                    let (coupling, schedule) = (coupling.clone(), schedule.clone());
                    all.push(RunConfig { coupling, schedule, reading, hold, ..RunConfig::new(stop, step) });
                }
            }
        }
    }
    all
}

/// x' = (u - x) / T, y = x + d (u - x): at rest wherever u = x.
fn room(unit: &str, start: f64, through: f64) -> OdeModel {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("room", one(-2.0), one(2.0), one(1.0 - through), one(through)).unwrap();
    let port = |name: &str| vec![Variable::new(name).unit(unit).start(start)];
    let ode = LinearOde::new(matrices, port("in"), port("out"), &[start]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Rk4 { step: 0.01 }).unwrap()
}

/// Two rooms at 300 K that heat each other, one of them thinking in degrees Celsius.
fn rooms() -> System {
    SystemBuilder::new()
        .add("a", room("K", 300.0, 0.0))
        .add("b", room("degC", 26.85, 0.5))
        .connect(Connection::new("a.out", "b.in"))
        .connect(Connection::new("b.out", "a.in"))
        .build()
        .unwrap()
}

#[test]
fn every_method_is_under_contract() {
    methods::assert_every_method("tests/common/couplings.rs", couplings("a.in").iter());
}

#[test]
fn rest_away_from_zero_stays_at_rest() {
    for config in settings("a.in", 5.0, 0.1) {
        let mut run = Run::new(rooms(), &config).unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        assert_eq!((table.rows.len(), table.times.len()), (51, 51), "{config:?}");
        for (column, rest) in run.columns().iter().zip([300.0, 300.0, 26.85, 26.85]) {
            let index = run.columns().iter().position(|c| c == column).unwrap();
            let away = table.column(index).map(|y| (y - rest).abs()).fold(0.0, f64::max);
            assert!(away < 1e-10, "{} moved by {away} from rest\n{config:?}", column.name);
        }
    }
}

/// One row for each step.
fn rows(run: &mut Run, steps: usize) -> Vec<Vec<f64>> {
    rows_until_lost(run, steps, steps)
}

/// One row for each step, fewer if the run is lost on the way, but not fewer than this.
fn rows_until_lost(run: &mut Run, steps: usize, least: usize) -> Vec<Vec<f64>> {
    let mut table = Trajectory::default();
    for step in 0..steps {
        if let Err(error) = run.advance() {
            assert!(error.to_string().contains("t = ") && step >= least, "{step} rows of {steps}: {error}");
            break;
        }
        run.record(&mut table).unwrap();
        assert_eq!((table.rows.len(), table.times.len()), (step + 1, step + 1));
    }
    table.rows
}

type Rows = fn(&mut Run, usize) -> Vec<Vec<f64>>;

/// Cases with every kind of thing that has memory: external signals, adaptive and stiff solvers, loops; an input of each; and
/// how rows are recorded.
fn busy_cases() -> Vec<(Case, &'static str, Rows)> {
    let stiff: SolverConfig = SolverConfig::Stiff(koppel::solver::Tolerances::default());
    let mut pendulums = case("pendulum-oscillator").unwrap();
    pendulums.parts[0].solver = stiff;
    let mut double_pendulum = case("double-pendulum").unwrap();
    double_pendulum.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Euler { step: 1e-4 });
    // A loop that the pre-step method does not bear; then it must be lost equally, and not before a quarter of the steps.
    let lost = |run: &mut Run, steps: usize| rows_until_lost(run, steps, steps / 4);
    double_pendulum.parts[0].parameters.insert("beta".into(), 0.05);
    vec![
        (case("nonlinear-dual-mass").unwrap(), "left.F", rows),
        (pendulums, "pendulum.x", rows),
        (case("feedthrough-pair").unwrap(), "first.u", rows),
        (double_pendulum, "upper.F1", lost),
    ]
}

#[test]
fn saved_and_restored_runs_repeat_every_bit() {
    for (case, of, rows) in busy_cases() {
        let (step, stop) = (case.run.step, 200.0 * case.run.step);
        for config in settings(of, stop, step) {
            let mut run = Run::new(case.system().unwrap(), &config).unwrap();
            let mut state = RunState::default();
            rows(&mut run, 7);
            run.save(&mut state).unwrap();
            let first = rows(&mut run, 20);
            run.restore(&state).unwrap();
            assert!(rows(&mut run, 20) == first, "{}: rolled back\n{config:?}", case.name);
            let mut other = Run::new(case.system().unwrap(), &config).unwrap();
            other.restore(&state).unwrap();
            assert!(rows(&mut other, 20) == first, "{}: in another instance\n{config:?}", case.name);
        }
    }
}

#[test]
fn one_thread_or_many_give_the_same_bits() {
    for (case, of, rows) in busy_cases() {
        for config in settings(of, 50.0 * case.run.step, case.run.step) {
            let [one, many] = [Parallel::Never, Parallel::Always].map(|threads| {
                let config = RunConfig { threads, ..config.clone() };
                let mut run = Run::new(case.system().unwrap(), &config).unwrap();
                let rows = rows(&mut run, 40);
                (rows, run.statistics().parallel_stages)
            });
            assert!(one.0 == many.0, "{}\n{config:?}", case.name);
            assert_eq!(one.1, 0);
            let is_parallel = config.schedule == ScheduleConfig::PARALLEL;
            assert_eq!(many.1, usize::from(is_parallel), "threads were really used");
        }
    }
}

#[test]
fn every_case_runs_under_every_coupling_without_panic() {
    for name in cases() {
        let case = case(name).unwrap();
        let to = case.connections[0].to.clone();
        for config in settings(&to, 10.0 * case.run.step, case.run.step) {
            let mut run = Run::new(case.system().unwrap(), &config).unwrap();
            let mut table = Trajectory::default();
            match run.run(&mut table, &mut |_| Ok(Flow::Continue)) {
                Ok(_) => assert!(run.is_done() && table.rows.len() == 11, "{name}: {config:?}"),
                // Diverging is a result here; then subsystem and time are named.
                Err(error) => assert!(error.to_string().contains("t = "), "{name}: {error}"),
            }
        }
    }
}

/// Everything that has memory at once, in all combinations: changes of parameters, states and free inputs between and on
/// communication points, external signals, rates, groups, a start before zero, a shortened last step.
#[test]
fn saved_and_restored_runs_repeat_every_bit_whatever_they_do() {
    let adaptive = SolverConfig::Adaptive(koppel::solver::Tolerances::default());
    let system = |solver: &SolverConfig| {
        let build = |model: &str| {
            OdeModel::new(koppel::models::build(model, &BTreeMap::new()).unwrap(), solver).unwrap()
        };
        let sine = ExternalConfig::Sine {
            amplitude: 50.0,
            frequency: 7.3,
            phase: 0.2,
            offset: 0.0,
            start: None,
            stop: None,
        };
        SystemBuilder::new()
            .add("left", build("mass"))
            .add("right", build("spring-mass"))
            .add("third", build("van-der-pol"))
            .connect(Connection { offset: 0.5, ..Connection::new("right.F", "left.F").gain(0.5) })
            .connect(Connection::new("left.x", "right.x"))
            .connect(Connection {
                from: vec!["left.v".into(), "third.v".into()],
                ..Connection::new("", "right.v")
            })
            .connect(Connection::new("right.F", "third.F").gain(1e-6))
            .external("left.F_ext", sine)
            .build()
            .unwrap()
    };
    let set = |name: &str, value: f64| BTreeMap::from([(name.to_owned(), value)]);
    let at = vec![
        Change { time: -0.4, set: set("right.d", 5.0) },
        Change { time: -0.4968, set: set("left.x", 0.2) },
        Change { time: -0.49, set: set("left.m", 12.0) },
        Change { time: -0.4855, set: set("left.F_ext", 3.0) },
    ];
    let groups = ScheduleConfig::Groups(vec![vec!["third".into(), "left".into()], vec!["right".into()]]);
    for solver in [SolverConfig::Euler { step: 1e-4 }, adaptive] {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE, groups.clone()] {
            for slow in [None, Some("right"), Some("left")] {
                for config in settings("left.F", -0.4755, 1e-3) {
                    let every = slow.map(|name| (name.to_owned(), 3)).into_iter().collect();
                    let config = RunConfig {
                        start: -0.5,
                        schedule: schedule.clone(),
                        every,
                        at: at.clone(),
                        ..config
                    };
                    let Ok(mut run) = Run::new(system(&solver), &config) else {
                        assert!(slow.is_some(), "only methods that need one rate are refused, with several");
                        continue;
                    };
                    let whole = rows(&mut run, 25);
                    for saved_at in [1, 4, 11, 15] {
                        let mut run = Run::new(system(&solver), &config).unwrap();
                        rows(&mut run, saved_at);
                        let mut state = RunState::default();
                        run.save(&mut state).unwrap();
                        let mut other = Run::new(system(&solver), &config).unwrap();
                        other.restore(&state).unwrap();
                        let rest = rows(&mut other, 25 - saved_at);
                        assert!(rest[..] == whole[saved_at..], "saved at {saved_at}: {config:?}");
                    }
                }
            }
        }
    }
}

/// A jump is no slope: after a timed change no coupling may extrapolate it, however short the part of the step.
#[test]
fn a_jump_is_not_extrapolated() {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let integrator = |input: f64| {
        let matrices = StateSpace::new("i", one(0.0), one(input), one(1.0), one(0.0)).unwrap();
        let ode =
            LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[0.0]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    for time in [0.5, 0.500_001, 0.5001, 0.51, 0.6, 0.7499, 0.749_999_9] {
        let at = vec![Change { time, set: BTreeMap::from([("source.x[1]".to_owned(), 1.0)]) }];
        for config in settings("sink.u", 2.0, 0.25) {
            let config = RunConfig { at: at.clone(), ..config };
            let system = SystemBuilder::new()
                .add("source", integrator(0.0))
                .add("sink", integrator(1.0))
                .connect(Connection::new("source.y", "sink.u"))
                .build()
                .unwrap();
            let mut run = Run::new(system, &config).unwrap();
            let rows = rows(&mut run, 8);
            let (reached, exact) = (rows[7][2], 2.0 - time);
            // One step late at the most, two with a filter: never further.
            assert!(
                (reached - exact).abs() < 0.55,
                "change at {time}: {reached} instead of {exact}\n{config:?}"
            );
            // What only extrapolates, and is no filter, has nothing but the new value to go by.
            let is_filter = config.coupling.name() == "relaxed";
            if config.coupling.only_extrapolates() && !is_filter && config.hold == Hold::Constant {
                let away = reached - exact;
                assert!(away.abs() < 1e-12, "change at {time}: {away} away from the exact value\n{config:?}");
            }
        }
    }
}

/// `hold` changes the results of exactly those methods whose settings say that they take it.
#[test]
fn methods_say_whether_they_take_the_hold() {
    let case = case("two-mass").unwrap();
    for coupling in couplings("second.F") {
        let [constant, continuous] = [Hold::Constant, Hold::Continuous].map(|hold| {
            let config = RunConfig { coupling: coupling.clone(), hold, ..case.run.clone() };
            rows(&mut Run::new(case.system().unwrap(), &config).unwrap(), 40)
        });
        assert_eq!(constant != continuous, coupling.takes_hold(), "{coupling:?}");
    }
}

/// Threads are taken where subsystems are heavy (some 0.1 ms a step here, several times what waking costs), and not where
/// they are cheap.
#[test]
fn threads_are_used_where_they_pay() {
    let parallel_stages = |solver_step: f64| {
        let mut case = case("van-der-pol").unwrap();
        case.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Euler { step: solver_step });
        let config = RunConfig { threads: Parallel::Auto, ..RunConfig::new(0.4, 0.01) };
        let mut run = Run::new(case.system().unwrap(), &config).unwrap();
        run.run(&mut Nothing, &mut |_| Ok(Flow::Continue)).unwrap();
        run.statistics().parallel_stages
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(parallel_stages(1e-7), usize::from(cores > 1), "heavy, on {cores} cores");
    assert_eq!(parallel_stages(5e-3), 0, "cheap");
}

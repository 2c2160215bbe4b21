//! FMUs that ask to end the simulation: the run ends as by a stop condition.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(dead_code, reason = "what the tests share is not all used here")]

mod common;
#[path = "common/exchange.rs"]
mod exchange;

use common::{MASS2, MASS3, TestFmu};
use exchange::{ALL, BALL};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::models;
use koppel::record::Trajectory;
use koppel::run::{
    AccelerationKind, Ending, Flow, IterationConfig, IterationKind, Parallel, Run, RunConfig, ScheduleConfig,
    Termination,
};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, Subsystem, System, SystemBuilder, UnitRule};
use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, Value, instantiate_any};
use koppel_fmi::isolate::{Isolation, Worker, host};

const STEP: f64 = 0.1;
/// The end of the simulation comes after half of the step from 0.5 s, after all of it, or at once (FMI 3.0).
const HALF: f64 = 6.0;
const WHOLE: f64 = 7.0;
const AT_ONCE: f64 = 4.0;

fn mass(version: u32) -> TestFmu {
    let (source, description) = if version == 2 { ("mass2.c", MASS2) } else { ("mass3.c", MASS3) };
    TestFmu::new(source, &description.replace(" unit=\"N\"", "").replace(" unit=\"m\"", ""), &[])
}

fn instance(fmu: &TestFmu, name: &str, values: &[(&str, f64)], is_isolated: bool) -> Box<dyn Subsystem> {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: name.into(), start_values, ..Options::default() };
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    match is_isolated {
        true => host(&fmu, &options, &isolation).unwrap(),
        false => instantiate_any(&fmu, &options).unwrap_or_else(|error| panic!("{error}")),
    }
}

/// Two masses that drive each other; `a` misbehaves.
fn pair(version: u32, misbehave: f64, is_isolated: bool) -> System {
    let fmu = mass(version);
    SystemBuilder::new()
        .add_boxed("b", instance(&fmu, "b", &[("m", 3.0)], is_isolated))
        .add_boxed("a", instance(&fmu, "a", &[("misbehave", misbehave)], is_isolated))
        .connect(Connection::new("a.x", "b.F").gain(0.5))
        .connect(Connection::new("b.x", "a.F").gain(0.5))
        .build()
        .unwrap()
}

/// How a run ends, times of its rows, and the columns `b.x` and `a.x`, as far as they exist.
fn run(system: System, config: &RunConfig) -> (Ending, Vec<f64>, Vec<Vec<f64>>) {
    let mut run = Run::new(system, config).unwrap_or_else(|error| panic!("{error}"));
    let of = |name: &str| run.columns().iter().position(|column| column.name == name);
    let columns: Vec<usize> = ["b.x", "a.x"].into_iter().filter_map(of).collect();
    let mut table = Trajectory::default();
    let ending = run.run(&mut table, &mut |_| Ok(Flow::ContinueFor(1000)));
    let ending = ending.unwrap_or_else(|error| panic!("{error}"));
    let columns = columns.into_iter().map(|column| table.column(column).collect()).collect();
    (ending, table.times, columns)
}

fn request(ending: Ending) -> Termination {
    match ending {
        Ending::Terminated(request) => request,
        other => panic!("{other:?}"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn all_go_to_the_end_of_the_step_that_was_done() {
    let usual = RunConfig::new(2.0, STEP);
    let coupling = CouplingConfig::foh(StartUp::default());
    let iteration = Some(IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint));
    let configs = [
        usual.clone(),
        RunConfig { coupling, ..usual.clone() },
        RunConfig { iteration, ..usual.clone() },
        RunConfig { record_every: 4, ..usual },
    ];
    for version in [2, 3] {
        for (config, is_isolated) in configs.iter().zip([false, false, false, true]) {
            let (ending, times, columns) = run(pair(version, WHOLE, is_isolated), config);
            let Termination { subsystem, time, text } = request(ending);
            assert_eq!(subsystem, "a");
            assert!(text.contains("`a` asks to end the simulation at 0.6"), "{text}");
            assert!(close(time, 0.6) && close(*times.last().unwrap(), 0.6), "{time} {times:?}");
            let (_, whole_times, whole) =
                run(pair(version, 0.0, false), &RunConfig { record_every: 1, ..config.clone() });
            let at = whole_times.iter().position(|time| close(*time, 0.6)).unwrap();
            for (ended, whole) in columns.iter().zip(&whole) {
                assert_eq!(*ended.last().unwrap(), whole[at]);
            }
        }
    }
}

#[test]
fn otherwise_the_run_ends_at_the_last_point_in_common() {
    for (version, how) in [(2, HALF), (3, HALF), (3, AT_ONCE)] {
        for is_isolated in [false, true] {
            let (ending, times, _) = run(pair(version, how, is_isolated), &RunConfig::new(2.0, STEP));
            let Termination { subsystem, time, .. } = request(ending);
            assert_eq!(subsystem, "a");
            assert!(close(time, 0.5) && close(*times.last().unwrap(), 0.5), "{time} {times:?}");
        }
    }
}

#[test]
fn one_that_is_alone_ends_where_it_stands() {
    for version in [2, 3] {
        for is_isolated in [false, true] {
            let a = instance(&mass(version), "a", &[("misbehave", HALF)], is_isolated);
            let system = SystemBuilder::new().add_boxed("a", a).build().unwrap();
            let (ending, times, columns) = run(system, &RunConfig::new(2.0, STEP));
            assert!(close(request(ending).time, 0.55) && close(*times.last().unwrap(), 0.55), "{times:?}");
            let x = *columns[0].last().unwrap();
            assert!((x - 0.55_f64.cos()).abs() < 1e-9, "{x}");
        }
    }
}

/// Model exchange: the ball asks for the end when it has hit the ground twice.
#[test]
fn events_end_a_run_where_they_happen() {
    for version in exchange::VERSIONS {
        let fmu = Fmu::open(&BALL.fmu(version, ALL, &[]).path()).unwrap();
        let options = Options {
            name: "ball".into(),
            solving: Solving::Koppel(None),
            start_values: vec![("quit".into(), Value::Number(2.0))],
            ..Options::default()
        };
        let ball = instantiate_any(&fmu, &options).unwrap();
        let system = SystemBuilder::new().add_boxed("ball", ball).build().unwrap();
        let (ending, times, _) = run(system, &RunConfig::new(5.0, STEP));
        let (time, expected) = (request(ending).time, 2.4 * (2.0 / 9.81_f64).sqrt());
        assert!((time - expected).abs() < 1e-5 && *times.last().unwrap() == time, "{time} {expected}");
    }
}

/// Who stands where.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Fmu,
    /// Without states.
    Forgetful,
    /// With steps of one size.
    Rigid,
    Native,
}

/// `a` ends the run at 0.55 s; `b` moves before or after it.
fn couple(version: u32, misbehave: f64, other: Other, is_first: bool, gain: f64) -> System {
    let fmu = match (other, version) {
        (Other::Forgetful, 2) => lacking("mass2.c", MASS2, "canGetAndSetFMUstate"),
        (Other::Forgetful, _) => lacking("mass3.c", MASS3, "canGetAndSetFMUState"),
        (Other::Rigid, 2) => lacking("mass2.c", MASS2, "canHandleVariableCommunicationStepSize"),
        (Other::Rigid, _) => lacking("mass3.c", MASS3, "canHandleVariableCommunicationStepSize"),
        _ => mass(version),
    };
    let a = instance(&mass(version), "a", &[("misbehave", misbehave), ("x", 0.3)], false);
    let b: Box<dyn Subsystem> = match other {
        Other::Native => {
            let values = [("m", 1.0), ("c", 1.0), ("d", 0.0), ("x0", 1.0)];
            let model = models::build("mass", &values.map(|(name, value)| (name.to_owned(), value)).into());
            Box::new(OdeModel::new(model.unwrap(), &SolverConfig::Exact {}).unwrap())
        }
        _ => instance(&fmu, "b", &[], false),
    };
    let builder = SystemBuilder::new();
    let builder = match is_first {
        true => builder.add_boxed("a", a).add_boxed("b", b),
        false => builder.add_boxed("b", b).add_boxed("a", a),
    };
    let to_b = Connection { units: UnitRule::Ignore, ..Connection::new("a.x", "b.F").gain(0.01) };
    let to_a = Connection { units: UnitRule::Ignore, ..Connection::new("b.x", "a.F").gain(gain) };
    builder.connect(to_b).connect(to_a).build().unwrap()
}

fn lacking(source: &str, description: &str, ability: &str) -> TestFmu {
    let description = description.replace(" unit=\"N\"", "").replace(" unit=\"m\"", "");
    let (yes, no) = (format!("{ability}=\"true\""), format!("{ability}=\"false\""));
    assert!(description.contains(&yes));
    TestFmu::new(source, &description.replace(&yes, &no), &[])
}

const AT_055: f64 = 8.0;
const AT_055_IF_PUSHED: f64 = 9.0;

/// Who moves later, who is a model of koppel's, and whose state is kept for the iteration, goes along.
#[test]
fn all_go_to_where_one_has_ended_the_run() {
    let usual = RunConfig { record_every: 4, ..RunConfig::new(2.0, STEP) };
    let coupling = CouplingConfig::foh(StartUp::default());
    let iteration = Some(IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint));
    let order = |names: [&str; 2]| ScheduleConfig::Order(names.map(str::to_owned).to_vec());
    let zoh = usual.clone();
    let foh = RunConfig { coupling, ..usual.clone() };
    let a_first = RunConfig { schedule: order(["a", "b"]), ..usual.clone() };
    let b_first = RunConfig { schedule: order(["b", "a"]), ..usual.clone() };
    let iterated = RunConfig { iteration, ..usual };
    let side_by_side = RunConfig { threads: Parallel::Always, ..zoh.clone() };
    let a_first_foh = RunConfig { schedule: order(["a", "b"]), ..foh.clone() };
    let cases = [
        (Other::Fmu, true, &a_first),
        (Other::Forgetful, true, &a_first),
        (Other::Fmu, true, &a_first_foh),
        (Other::Native, true, &zoh),
        (Other::Native, false, &zoh),
        (Other::Native, true, &side_by_side),
        (Other::Native, false, &side_by_side),
        (Other::Native, false, &foh),
        (Other::Native, false, &b_first),
        (Other::Fmu, true, &iterated),
        (Other::Fmu, false, &iterated),
        (Other::Native, false, &iterated),
    ];
    for version in [2, 3] {
        for (other, is_first, config) in cases {
            let case = format!("FMI {version}, {other:?}, {is_first}, {config:?}");
            let (ending, times, columns) = run(couple(version, AT_055, other, is_first, 0.5), config);
            let request = request(ending);
            assert_eq!(request.subsystem, "a");
            assert!(close(request.time, 0.55) && close(*times.last().unwrap(), 0.55), "{times:?} {case}");
            // The same by a run whose last step is that short.
            let short = RunConfig { stop: 0.55, ..config.clone() };
            let (_, whole_times, whole) = run(couple(version, 0.0, other, is_first, 0.5), &short);
            assert!(close(*whole_times.last().unwrap(), 0.55));
            for (ended, whole) in columns.iter().zip(&whole) {
                // Who has ended the run has done so with the inputs of the whole step.
                let tolerance = if std::ptr::eq(config, &b_first) { 1e-4 } else { 1e-9 };
                let gap = ended.last().unwrap() - whole.last().unwrap();
                assert!(gap.abs() < tolerance, "{columns:?} {whole:?} {case}");
            }
        }
    }
}

/// Who has moved and cannot go back, or takes no shorter step, keeps the run at the last communication point; its row is written.
#[test]
fn where_one_cannot_go_along_the_last_common_row_is_written() {
    let usual = RunConfig { record_every: 4, ..RunConfig::new(2.0, STEP) };
    let in_turn = ScheduleConfig::Order(vec!["a".into(), "b".into()]);
    let in_turn = RunConfig { schedule: in_turn, ..usual.clone() };
    let alone = RunConfig { threads: Parallel::Never, ..usual.clone() };
    let side_by_side = RunConfig { threads: Parallel::Always, ..usual };
    let cases = [
        (Other::Forgetful, false, &alone),
        (Other::Fmu, true, &alone),
        (Other::Fmu, true, &side_by_side),
        (Other::Rigid, true, &in_turn),
        (Other::Rigid, false, &alone),
    ];
    for version in [2, 3] {
        for (other, is_first, config) in cases {
            let (ending, times, columns) = run(couple(version, AT_055, other, is_first, 0.5), config);
            assert!(close(request(ending).time, 0.5), "{other:?}");
            assert_eq!(times.len(), 3, "{times:?}");
            let every = RunConfig { record_every: 1, ..config.clone() };
            let (_, whole_times, whole) = run(couple(version, 0.0, other, is_first, 0.5), &every);
            let at = whole_times.iter().position(|time| close(*time, 0.5)).unwrap();
            assert_eq!(times[2], whole_times[at]);
            for (ended, whole) in columns.iter().zip(&whole) {
                assert_eq!(ended[2], whole[at], "{other:?}");
            }
        }
    }
}

/// The first guess of the step from 0.5 s to 1 s is a line that overshoots. A request in a trial that is rejected is void; one in
/// a trial that is accepted ends the run.
#[test]
fn a_trial_that_is_rejected_does_not_end_the_run() {
    let iteration = Some(IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint));
    let config = RunConfig { iteration, ..RunConfig::new(2.0, 0.5) };
    for version in [2, 3] {
        for is_first in [true, false] {
            for (gain, expected) in [(0.385, None), (0.5, Some(0.55))] {
                let system = |misbehave: f64| couple(version, misbehave, Other::Fmu, is_first, gain);
                let (ending, times, columns) = run(system(AT_055_IF_PUSHED), &config);
                let Some(expected) = expected else {
                    assert_eq!(ending, Ending::Reached);
                    let (_, whole_times, whole) = run(system(0.0), &config);
                    assert_eq!((times, columns.len()), (whole_times, whole.len()));
                    assert!(
                        columns
                            .iter()
                            .flatten()
                            .zip(whole.iter().flatten())
                            .all(|(a, b)| (a - b).abs() < 1e-5)
                    );
                    continue;
                };
                assert!(close(request(ending).time, expected), "{times:?}");
                assert!(close(*times.last().unwrap(), expected), "{times:?}");
            }
        }
    }
}

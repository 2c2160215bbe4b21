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
use koppel::record::Table;
use koppel::run::{
    AccelerationKind, Ending, Flow, IterationConfig, IterationKind, RunConfig, Simulation, Termination,
};
use koppel::system::{Connection, Subsystem, System, SystemBuilder};
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
    let mut simulation = Simulation::new(system, config).unwrap_or_else(|error| panic!("{error}"));
    let of = |name: &str| simulation.columns().iter().position(|column| column.name == name);
    let columns: Vec<usize> = ["b.x", "a.x"].into_iter().filter_map(of).collect();
    let mut table = Table::default();
    let ending = simulation.run(&mut table, &mut |_| Ok(Flow::ContinueFor(1000)));
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
    let coupling = CouplingConfig::Foh { start: StartUp::default() };
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

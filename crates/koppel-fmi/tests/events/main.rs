//! Events, clocks, messages and arrays of FMI 3.0, with an FMU that refuses what the standard forbids.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod common;
mod endings;
mod values;

use common::TestFmu;
use koppel::linalg::Matrix;
use koppel::record::Trajectory;
use koppel::run::{Change, Flow, Parallel, Run, RunConfig, ScheduleConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, Message, OdeModel, StateSpace, SystemBuilder, Variable};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};

const EVENTS3: &str = include_str!("../fixtures/events3.xml");

fn fmu(description: &str) -> TestFmu {
    TestFmu::new("events3.c", description, &[])
}

fn instance(fmu: &TestFmu, values: &[(&str, Value)]) -> CoSimulation {
    try_instance(fmu, values).unwrap_or_else(|error| panic!("{error}"))
}

fn try_instance(fmu: &TestFmu, values: &[(&str, Value)]) -> Result<CoSimulation, String> {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    let options = Options { name: "e".into(), start_values, ..Options::default() };
    let fmu = Fmu::open(&fmu.path()).map_err(|error| error.to_string())?;
    CoSimulation::new(&fmu, &options).map_err(|error| error.to_string())
}

/// The last value of each column.
fn ends(run: &mut Run) -> impl Fn(&str) -> f64 + use<> {
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = run.columns().iter().map(|column| column.name.clone()).collect();
    let row = table.rows.last().unwrap().clone();
    move |name| row[names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}"))]
}

fn alone(instance: CoSimulation, config: &RunConfig) -> Run {
    Run::new(SystemBuilder::new().add("e", instance).build().unwrap(), config).unwrap()
}

/// y = x with x' = 1.
fn clock() -> OdeModel {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("clock", one(0.0), one(1.0), one(1.0), one(0.0)).unwrap();
    let ode = LinearOde::new(matrices, vec![Variable::new("u").start(1.0)], vec![Variable::new("y")], &[0.0]);
    OdeModel::new(Box::new(ode.unwrap()), &SolverConfig::Exact {}).unwrap()
}

#[test]
fn everything_happens_at_its_time_whatever_the_step() {
    let fmu = fmu(EVENTS3);
    for step in [0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0] {
        let mut run = alone(instance(&fmu, &[]), &RunConfig::new(2.0, step));
        let end = ends(&mut run);
        let near = |name: &str, time: f64| {
            assert!((end(name) - time).abs() < 1e-9, "{name}: {} instead of {time}, step {step}", end(name));
        };
        // 0.05, 0.15, ..., 1.95.
        assert_eq!(end("e.periodic_ticks"), 20.0, "step {step}");
        near("e.last_periodic", 1.95);
        // 0, 0.1, 0.3, 0.6, 1.0, 1.5; the next would be 2.1.
        assert_eq!(end("e.changing_ticks"), 6.0, "step {step}");
        near("e.last_changing", 1.5);
        // 0.07 s after 0.15, 0.35, ..., 1.75.
        assert_eq!(end("e.countdown_ticks"), 9.0, "step {step}");
        near("e.last_countdown", 1.82);
        // 0, 0.25, ..., 2.
        assert_eq!(end("e.tunable_ticks"), 9.0, "step {step}");
        // The ramp falls at 1 and 2, where the FMU returns early or the step ends.
        assert_eq!(end("e.falls"), 2.0, "step {step}");
        near("e.last_fall", 2.0);
        near("e.ramp", 0.0);
    }
}

#[test]
fn intervals_may_be_fractions() {
    let thirds = EVENTS3
        .replace(
            "intervalDecimal=\"0.1\" shiftDecimal=\"0.05\"",
            "supportsFraction=\"true\" resolution=\"3\" intervalCounter=\"1\" shiftCounter=\"1\"",
        )
        .replace(
            "intervalVariability=\"countdown\"",
            "intervalVariability=\"countdown\" supportsFraction=\"true\"",
        );
    let end = ends(&mut alone(instance(&fmu(&thirds), &[]), &RunConfig::new(2.0, 0.5)));
    // 1/3, 2/3, ..., 2, where the step ends; 21/300 s after the second and fourth of them.
    assert_eq!((end("e.periodic_ticks"), end("e.countdown_ticks")), (6.0, 2.0));
    assert!((end("e.last_countdown") - (4.0 / 3.0 + 0.07)).abs() < 1e-9, "{}", end("e.last_countdown"));
    let silent = EVENTS3.replace("intervalDecimal=\"0.1\"", "");
    let mut run = alone(instance(&fmu(&silent), &[]), &RunConfig::new(1.0, 0.1));
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string();
    assert!(error.contains("`e` does not offer an interval of its clock `periodic`"), "{error}");
}

#[test]
fn a_tuned_clock_ticks_with_its_new_interval() {
    let fmu = fmu(EVENTS3);
    let at = vec![Change { time: 0.6, set: [("e.interval".to_owned(), 0.1)].into() }];
    let config = RunConfig { at, ..RunConfig::new(1.0, 0.2) };
    let end = ends(&mut alone(instance(&fmu, &[]), &config));
    // 0, 0.25, 0.5, then 0.6, 0.7, 0.8, 0.9, 1.0.
    assert_eq!(end("e.tunable_ticks"), 8.0);
}

#[test]
fn wished_events_come() {
    let fmu = fmu(EVENTS3);
    let mut run = alone(instance(&fmu, &[("wish", 0.33.into())]), &RunConfig::new(1.0, 0.5));
    let end = ends(&mut run);
    // 0.33, 0.63, 0.93.
    assert_eq!(end("e.wishes"), 3.0);
}

#[test]
fn ticks_and_what_they_govern_reach_others_at_communication_points() {
    let fmu = fmu(EVENTS3);
    let connect = |names: [&str; 2]| {
        let mut builder = SystemBuilder::new();
        for name in names {
            builder = builder.add(name, instance(&fmu, &[("label", name.into())]));
        }
        builder
            .connect(Connection::new("a.alarm", "b.alarm_in"))
            .connect(Connection::new("a.frame_out", "b.frame"))
            .connect(Connection::new("a.text_out", "b.text_in"))
            .build()
            .unwrap()
    };
    // The fall at 1 s lies inside the step from 0.9 s to 1.2 s, and is told at 1.2 s, where `b` begins its next step.
    for (step, stop, report, alarms, frames) in [
        (0.3, 1.5, 1.2, 1.0, 1.0),
        (0.3, 1.2, 0.0, 0.0, 0.0),
        (0.25, 1.25, 1.0, 1.0, 1.0),
        (0.25, 2.25, 2.0, 2.0, 3.0),
    ] {
        for names in [["a", "b"], ["b", "a"]] {
            for threads in [Parallel::Never, Parallel::Always] {
                let config = RunConfig { threads, ..RunConfig::new(stop, step) };
                let mut run = Run::new(connect(names), &config).unwrap();
                let end = ends(&mut run);
                assert_eq!((end("b.alarms"), end("b.frames")), (alarms, frames), "step {step}, stop {stop}");
                assert!((end("b.last_alarm") - report).abs() < 1e-12, "{}", end("b.last_alarm"));
                let text = run.message("b.text_out").unwrap();
                let earlier = stop - step;
                let expected = format!("silence at {earlier:.3} by a at {stop:.3} by b");
                assert_eq!(text, Message::Text(expected));
            }
        }
    }
    // In a sequence the newest arrives: the fall at 1 s is told before `b` moves from 0.75 s to 1 s.
    let order = ScheduleConfig::Order(vec!["a".into(), "b".into()]);
    let config = RunConfig { schedule: order, ..RunConfig::new(1.0, 0.25) };
    let mut run = Run::new(connect(["a", "b"]), &config).unwrap();
    let end = ends(&mut run);
    assert_eq!((end("b.alarms"), end("b.last_alarm")), (1.0, 0.75));
    assert_eq!(
        run.message("b.text_out").unwrap(),
        Message::Text("silence at 1.000 by a at 1.000 by b".into())
    );
}

#[test]
fn a_clocked_input_is_given_when_its_clock_ticks() {
    let fmu = fmu(EVENTS3);
    let system = SystemBuilder::new()
        .add("clock", clock())
        .add("e", instance(&fmu, &[]))
        .connect(Connection::new("clock.y", "e.sampled"))
        .build()
        .unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    let end = ends(&mut run);
    // The last tick is at 0.95 s, in the step that began with the value of 0.9 s.
    assert!((end("e.sample") - 0.9).abs() < 1e-12, "{}", end("e.sample"));
}

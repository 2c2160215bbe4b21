//! Events, clocks, messages and arrays of FMI 3.0, with an FMU that refuses what the standard forbids.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "other tests use more of it")]
mod common;

use common::TestFmu;
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::linalg::Matrix;
use koppel::record::Table;
use koppel::run::{Change, Flow, Parallel, RunConfig, RunState, ScheduleConfig, Simulation};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, Message, MessageKind, OdeModel, StateSpace, Subsystem, SystemBuilder, Variable,
};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};

const EVENTS3: &str = include_str!("fixtures/events3.xml");

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
fn ends(simulation: &mut Simulation) -> impl Fn(&str) -> f64 + use<> {
    let mut table = Table::default();
    simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = simulation.columns().iter().map(|column| column.name.clone()).collect();
    let row = table.rows.last().unwrap().clone();
    move |name| row[names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}"))]
}

fn alone(instance: CoSimulation, config: &RunConfig) -> Simulation {
    Simulation::new(SystemBuilder::new().add("e", instance).build().unwrap(), config).unwrap()
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
        let mut simulation = alone(instance(&fmu, &[]), &RunConfig::new(2.0, step));
        let end = ends(&mut simulation);
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
    let mut simulation = alone(instance(&fmu, &[("wish", 0.33.into())]), &RunConfig::new(1.0, 0.5));
    let end = ends(&mut simulation);
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
    for (step, stop, told, alarms, frames) in [
        (0.3, 1.5, 1.2, 1.0, 1.0),
        (0.3, 1.2, 0.0, 0.0, 0.0),
        (0.25, 1.25, 1.0, 1.0, 1.0),
        (0.25, 2.25, 2.0, 2.0, 3.0),
    ] {
        for names in [["a", "b"], ["b", "a"]] {
            for threads in [Parallel::Never, Parallel::Always] {
                let config = RunConfig { threads, ..RunConfig::new(stop, step) };
                let mut simulation = Simulation::new(connect(names), &config).unwrap();
                let end = ends(&mut simulation);
                assert_eq!((end("b.alarms"), end("b.frames")), (alarms, frames), "step {step}, stop {stop}");
                assert!((end("b.last_alarm") - told).abs() < 1e-12, "{}", end("b.last_alarm"));
                let text = simulation.message("b.text_out").unwrap();
                let earlier = stop - step;
                let expected = format!("silence at {earlier:.3} by a at {stop:.3} by b");
                assert_eq!(text, Message::Text(expected));
            }
        }
    }
    // In a sequence the newest arrives: the fall at 1 s is told before `b` moves from 0.75 s to 1 s.
    let order = ScheduleConfig::Order(vec!["a".into(), "b".into()]);
    let config = RunConfig { schedule: order, ..RunConfig::new(1.0, 0.25) };
    let mut simulation = Simulation::new(connect(["a", "b"]), &config).unwrap();
    let end = ends(&mut simulation);
    assert_eq!((end("b.alarms"), end("b.last_alarm")), (1.0, 0.75));
    assert_eq!(
        simulation.message("b.text_out").unwrap(),
        Message::Text("silence at 1.000 by a at 1.000 by b".into())
    );
}

#[test]
fn texts_and_bytes_go_in_and_out() {
    let fmu = fmu(EVENTS3);
    let values = [("key", "ff".into()), ("words", Value::List(vec!["x".into(), "y".into()]))];
    let mut e = instance(&fmu, &values);
    let place = |list: &[koppel::system::MessagePort], name: &str| {
        list.iter().position(|port| port.name == name).unwrap_or_else(|| panic!("{name}"))
    };
    let ports = e.ports().clone();
    let kinds: Vec<_> = ports.message_inputs.iter().map(|port| (port.name.as_str(), port.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("text_in", MessageKind::Text),
            ("data_in", MessageKind::Bytes),
            ("alarm_in", MessageKind::Tick),
            ("words[1]", MessageKind::Text),
            ("words[2]", MessageKind::Text),
            ("frame", MessageKind::Bytes),
        ]
    );
    let input = |name: &str| place(&ports.message_inputs, name);
    let output = |name: &str| place(&ports.message_outputs, name);
    let mut message = Message::Tick(false);
    e.initialize(0.0).unwrap();
    e.send(output("total"), &mut message).unwrap();
    assert_eq!(message, Message::Text("x+y".into()), "a list of texts as start value");
    e.receive(input("words[2]"), &Message::Text("z".into())).unwrap();
    e.receive(input("data_in"), &Message::Bytes(vec![1, 2, 3])).unwrap();
    e.send(output("total"), &mut message).unwrap();
    assert_eq!(message, Message::Text("one+z".into()), "elements not received have their start values");
    e.send(output("data_out"), &mut message).unwrap();
    assert_eq!(message, Message::Bytes(vec![3 ^ 0xff, 2, 1]), "a key in hexadecimal digits");
    let wrong = e.receive(input("text_in"), &Message::Bytes(vec![])).unwrap_err().to_string();
    assert_eq!(wrong, "`e`: `text_in` is a String, bytes is not one");
}

#[test]
fn without_event_mode_the_fmu_is_left_to_itself() {
    let plain =
        EVENTS3.replace("hasEventMode=\"true\"", "").replace("mightReturnEarlyFromDoStep=\"true\"", "");
    let fmu = fmu(&plain);
    let system = SystemBuilder::new()
        .add("a", instance(&fmu, &[]))
        .add("b", instance(&fmu, &[("i32_in", 7.0.into())]))
        .connect(Connection::new("a.text_out", "b.text_in"))
        .connect(Connection::new("b.i32_out", "a.i32_in"))
        .build()
        .unwrap();
    let mut simulation = Simulation::new(system, &RunConfig::new(1.5, 0.5)).unwrap();
    let end = ends(&mut simulation);
    assert_eq!((end("a.falls"), end("a.events"), end("a.periodic_ticks")), (1.0, 0.0, 0.0));
    let text = simulation.message("b.text_out").unwrap();
    assert_eq!(text, Message::Text("silence at 1.500 by events at 1.500 by events".into()));
}

#[test]
fn an_early_return_without_event_mode_is_gone_on_from() {
    let fmu = fmu(&EVENTS3.replace("hasEventMode=\"true\"", ""));
    let end = ends(&mut alone(instance(&fmu, &[]), &RunConfig::new(2.4, 0.4)));
    // Inside the steps from 0.8 s to 1.2 s, and at the end of that to 2 s.
    assert_eq!(end("e.falls"), 2.0);
    assert!((end("e.last_fall") - 2.0).abs() < 1e-9 && (end("e.ramp") - 0.4).abs() < 1e-9);
    let fmu = TestFmu::new("events3.c", EVENTS3, &["-DNO_EVENT_MODE"]);
    let mut simulation = alone(instance(&fmu, &[]), &RunConfig::new(1.0, 0.1));
    let error = simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string();
    assert!(error.contains("fmi3EnterEventMode is not in its library"), "{error}");
}

#[test]
fn a_structural_parameter_sizes_the_arrays() {
    let fmu = fmu(EVENTS3);
    let list = |numbers: &[f64]| Value::List(numbers.iter().map(|number| Value::Number(*number)).collect());
    let e = instance(&fmu, &[("n", 3.0.into()), ("k", list(&[1.0, 2.0, 3.0]))]);
    let names = |list: &[Variable]| {
        let names = list.iter().map(|v| v.name.clone());
        names.filter(|name| name.contains('[')).collect::<Vec<_>>()
    };
    assert_eq!(names(&e.ports().inputs), ["u[1]", "u[2]", "u[3]"]);
    assert_eq!(names(&e.ports().parameters), ["k[1]", "k[2]", "k[3]"]);
    let f = instance(&fmu, &[("n", 3.0.into()), ("k[2]", 10.0.into())]);
    let g = instance(&fmu, &[]);
    let system = |to: &str| {
        SystemBuilder::new()
            .add("e", instance(&fmu, &[("n", 3.0.into()), ("k", list(&[1.0, 2.0, 3.0]))]))
            .add("f", instance(&fmu, &[("n", 3.0.into()), ("k[2]", 10.0.into())]))
            .add("g", instance(&fmu, &[]))
            .connect(Connection::new("e.y", to))
    };
    drop((e, f, g));
    let refused = system("g.u").build().map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused, "connection `e.y` -> `g.u`: the source has 3 values, the input 2 values");
    let mut built = system("f.u");
    for (k, value) in [2.0, 3.0, 4.0].into_iter().enumerate() {
        let signal = koppel::signal::external::ExternalConfig::Constant { value };
        built = built.external(&format!("e.u[{}]", k + 1), signal);
    }
    let config = RunConfig {
        at: vec![Change { time: 0.5, set: [("f.k[3]".to_owned(), -1.0)].into() }],
        ..RunConfig::new(1.0, 0.25)
    };
    let end = ends(&mut Simulation::new(built.build().unwrap(), &config).unwrap());
    assert_eq!([end("e.y[1]"), end("e.y[2]"), end("e.y[3]")], [2.0, 6.0, 12.0]);
    assert_eq!([end("f.y[1]"), end("f.y[2]"), end("f.y[3]")], [2.0, 60.0, -12.0]);

    for (values, expected) in [
        (vec![("k", list(&[1.0]))], "`e`: `k` cannot be set: it has 2 elements, 1 are given"),
        (vec![("k", 1.0.into())], "`e`: `k` cannot be set: it is an array of 2: give a list"),
        (vec![("k[3]", 1.0.into())], "`e` has no variable `k[3]`"),
        (vec![("n", 2.5.into())], "`e`: `n` is a UInt64, 2.5 is not one"),
        (vec![("n", "many".into())], "`e`: `n` is a UInt64, \"many\" is not one"),
        (vec![("key", "xyz".into())], "`e`: `key` is a Binary, \"xyz\" is not one"),
        (vec![("label", 1.0.into())], "`e`: `label` is a String, 1 is not one"),
        (vec![("u", list(&[1.0, 2.0]))], ""),
    ] {
        let error = try_instance(&fmu, &values).err().unwrap_or_default();
        assert!(error.starts_with(expected) && error.is_empty() == expected.is_empty(), "{error}");
    }
    let error = instance(&fmu, &[("n", 9.0.into())]).initialize(0.0).unwrap_err().to_string();
    assert!(
        error.contains("fmi3SetUInt64 returned error") && error.contains("at most 8 elements"),
        "{error}"
    );
}

#[test]
fn numbers_of_every_type_are_carried_and_held() {
    let fmu = fmu(EVENTS3);
    let extremes = [
        ("i8", -128.0),
        ("u8", 255.0),
        ("i16", -32768.0),
        ("u16", 65535.0),
        ("i32", -2_147_483_648.0),
        ("u32", 4_294_967_295.0),
        ("i64", -9_007_199_254_740_992.0),
        ("u64", 9_007_199_254_740_992.0),
        ("b", 1.0),
        ("e", 2.0),
        ("f32", 0.1_f32 as f64),
    ];
    let names: Vec<String> = extremes.iter().map(|(name, _)| format!("{name}_in")).collect();
    let values: Vec<(&str, Value)> = names
        .iter()
        .zip(&extremes)
        .map(|(name, (_, value))| (name.as_str(), Value::Number(*value)))
        .collect();
    // Extrapolated, a Boolean that jumps would become 2.
    for coupling in [CouplingConfig::Zoh {}, CouplingConfig::Soh { start: StartUp::Constant }] {
        for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
            let mut builder =
                SystemBuilder::new().add("a", instance(&fmu, &values)).add("b", instance(&fmu, &[]));
            for (name, _) in extremes {
                builder = builder.connect(Connection::new(&format!("a.{name}_out"), &format!("b.{name}_in")));
            }
            let at = vec![Change {
                time: 0.3,
                set: [("a.b_in".to_owned(), 0.0), ("a.i8_in".to_owned(), 127.0)].into(),
            }];
            let config = RunConfig { coupling: coupling.clone(), schedule, at, ..RunConfig::new(1.0, 0.1) };
            let mut simulation = Simulation::new(builder.build().unwrap(), &config).unwrap();
            simulation.advance().unwrap();
            simulation.advance().unwrap();
            let graph = simulation.graph();
            let b = graph.find("b").unwrap();
            let outputs = &graph.ports(b).outputs;
            for (name, value) in extremes {
                let place = outputs.iter().position(|v| v.name == format!("{name}_out")).unwrap();
                assert_eq!(simulation.outputs(b)[place], value, "{name}");
            }
            let end = ends(&mut simulation);
            assert_eq!((end("b.b_out"), end("b.i8_out")), (0.0, 127.0));
        }
    }
    let error = {
        let system = SystemBuilder::new()
            .add("clock", clock())
            .add("e", instance(&fmu, &[]))
            .connect(Connection::new("clock.y", "e.b_in"))
            .build()
            .unwrap();
        let mut simulation = Simulation::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
        simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string()
    };
    assert!(error.contains("subsystem `e` failed") && error.contains("`b_in` is a Boolean, 0.1"), "{error}");
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
    let mut simulation = Simulation::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    let end = ends(&mut simulation);
    // The last tick is at 0.95 s, in the step that began with the value of 0.9 s.
    assert!((end("e.sample") - 0.9).abs() < 1e-12, "{}", end("e.sample"));
}

#[test]
fn what_is_saved_is_restored_with_clocks_and_messages() {
    let keep = EVENTS3.replace("canSerializeFMUState=\"true\"", "");
    for description in [EVENTS3, &keep] {
        let fmu = fmu(description);
        let make = || {
            let system = SystemBuilder::new()
                .add("a", instance(&fmu, &[("wish", 0.4.into())]))
                .add("b", instance(&fmu, &[]))
                .connect(Connection::new("a.alarm", "b.alarm_in"))
                .connect(Connection::new("a.frame_out", "b.frame"))
                .connect(Connection::new("a.text_out", "b.text_in"))
                .connect(Connection::new("a.periodic_ticks", "b.i32_in"))
                .build()
                .unwrap();
            Simulation::new(system, &RunConfig::new(3.0, 0.15)).unwrap()
        };
        let mut simulation = make();
        let outputs =
            |simulation: &Simulation| [simulation.outputs(0).to_vec(), simulation.outputs(1).to_vec()];
        for before in [0, 6, 7] {
            // After 7 steps, at 1.05 s, a tick is on its way.
            while simulation.index() < before {
                simulation.advance().unwrap();
            }
            let mut state = RunState::default();
            simulation.save(&mut state).unwrap();
            let mut reached = Vec::new();
            for _ in 0..3 {
                (0..5).for_each(|_| simulation.advance().unwrap());
                let text = simulation.message("b.text_out").unwrap();
                reached.push((outputs(&simulation), text));
                simulation.restore(&state).unwrap();
                simulation.save(&mut state).unwrap();
            }
            assert!(reached.windows(2).all(|pair| pair[0] == pair[1]), "after {before} steps");
            if description == EVENTS3 {
                let mut other = make();
                other.restore(&state).unwrap();
                (0..5).for_each(|_| other.advance().unwrap());
                assert_eq!(outputs(&other), reached[0].0, "in another instance");
            }
        }
    }
}

#[test]
fn bad_behaviour_ends_in_one_message() {
    let fmu = fmu(EVENTS3);
    let failure = |fmu: &TestFmu, fault: f64| {
        let mut simulation = alone(instance(fmu, &[("fault", fault.into())]), &RunConfig::new(2.0, 0.1));
        simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string()
    };
    let discard = failure(&fmu, 1.0);
    assert!(discard.contains("`e` discarded the step from 0.5"), "{discard}");
    assert!(discard.ends_with("log: [logStatusError] I refuse to pass 0.5 s"), "{discard}");
    assert!(failure(&fmu, 2.0).contains("fmi3DoStep returned error"));
    assert!(failure(&fmu, 3.0).contains("fmi3DoStep returned fatal"));
    assert!(failure(&fmu, 4.0).contains("`e` asks to end the simulation at 1 s"), "{}", failure(&fmu, 4.0));
    assert!(failure(&fmu, 5.0).contains("its event is not over after 1000 rounds"));
    assert!(
        failure(&fmu, 7.0).contains("does not get on at 0 s: 101 steps led nowhere"),
        "{}",
        failure(&fmu, 7.0)
    );
    let one_size = EVENTS3.replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    let one_size = TestFmu::new("events3.c", &one_size, &[]);
    let mut simulation = alone(instance(&one_size, &[]), &RunConfig::new(2.0, 0.1));
    let error = simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    assert!(error.to_string().contains("`e` has an event at 0.05 s, inside a communication step"), "{error}");
    assert!(error.hint().unwrap().contains("ends where its clocks tick"));
}

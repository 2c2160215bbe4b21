//! Texts, bytes, arrays, and numbers of every type.

use super::{EVENTS3, clock, ends, fmu, instance, try_instance};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::record::Trajectory;
use koppel::run::{Change, Flow, Run, RunConfig, ScheduleConfig};
use koppel::system::{Connection, Mailbox, Message, MessageKind, Subsystem, SystemBuilder, Variable};
use koppel_fmi::import::Value;

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
    let end = ends(&mut Run::new(built.build().unwrap(), &config).unwrap());
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
        ("i64", -9_007_199_254_740_991.0),
        ("u64", 9_007_199_254_740_991.0),
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
    for coupling in [CouplingConfig::zoh(), CouplingConfig::soh(StartUp::Constant)] {
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
            let mut run = Run::new(builder.build().unwrap(), &config).unwrap();
            run.advance().unwrap();
            run.advance().unwrap();
            let graph = run.graph();
            let b = graph.find("b").unwrap();
            let outputs = &graph.ports(b).outputs;
            for (name, value) in extremes {
                let place = outputs.iter().position(|v| v.name == format!("{name}_out")).unwrap();
                assert_eq!(run.outputs(b)[place], value, "{name}");
            }
            let end = ends(&mut run);
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
        let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
        run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string()
    };
    assert!(error.contains("subsystem `e` failed") && error.contains("`b_in` is a Boolean, 0.1"), "{error}");
}

#[test]
fn structural_parameters_that_are_no_sizes_are_taken() {
    let boolean = "<Boolean name=\"fast\" valueReference=\"900\" causality=\"structuralParameter\" variability=\"fixed\" start=\"false\"/>";
    let description = EVENTS3.replacen("<UInt64 name=\"n\"", &format!("{boolean}\n<UInt64 name=\"n\""), 1);
    let fmu = super::common::TestFmu::new("events3.c", &description, &[]);
    let made = |value: f64| try_instance(&fmu, &[("fast", value.into()), ("n", 3.0.into())]).map(|_| ());
    assert_eq!((made(1.0), made(0.0)), (Ok(()), Ok(())));
    assert!(made(2.0).unwrap_err().contains("a Boolean is true or false"));
}

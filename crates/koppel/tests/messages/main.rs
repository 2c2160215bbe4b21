//! Texts, bytes and ticks between subsystems: when they arrive, what is saved, and which wiring is refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrays;

use koppel::record::{Record, Recorder, Trajectory};
use koppel::run::{Flow, Parallel, Run, RunConfig, RunState, ScheduleConfig};
use koppel::signal::{Samples, Segment, Step};
use koppel::system::{
    Connection, Mailbox, Message, MessageKind, MessagePort, Ports, Snapshot, Subsystem, System,
    SystemBuilder, Variable, VariableId, VariableKind,
};
use koppel::{Error, Result};
use std::collections::BTreeMap;

/// Counts its steps and tells the count as text and bytes; ticks at every even one. What it heard when it last moved is
/// its output `heard`, how many ticks it was given its output `ticks`.
struct Teller {
    ports: Ports,
    count: u64,
    text: String,
    bytes: Vec<u8>,
    tick: bool,
    heard: f64,
    ticks: f64,
    /// A text that it does not take.
    refused: Option<String>,
}

impl Teller {
    fn new() -> Self {
        let kinds =
            [("text", MessageKind::Text), ("bytes", MessageKind::Bytes), ("clock", MessageKind::Tick)];
        let ports =
            |suffix: &str| kinds.map(|(name, kind)| MessagePort::new(format!("{name}_{suffix}"), kind));
        let ports = Ports {
            inputs: vec![Variable::new("u")],
            outputs: ["heard", "ticks"].map(Variable::new).into(),
            message_inputs: ports("in").into(),
            message_outputs: ports("out").into(),
            ..Ports::default()
        };
        let (text, bytes) = ("nothing".into(), Vec::new());
        Teller { ports, count: 0, text, bytes, tick: false, heard: -1.0, ticks: 0.0, refused: None }
    }
}

impl Subsystem for Teller {
    fn ports(&self) -> &Ports {
        &self.ports
    }
    fn initialize(&mut self, _start: f64) -> Result<()> {
        let (ports, refused) = (std::mem::take(&mut self.ports), self.refused.take());
        *self = Teller { ports, refused, ..Teller::new() };
        Ok(())
    }
    fn read(&mut self, _inputs: Option<&[f64]>, outputs: &mut [f64]) -> Result<()> {
        outputs.copy_from_slice(&[self.heard, self.ticks]);
        Ok(())
    }
    fn step(
        &mut self,
        _step: &Step,
        _input: &Segment<'_>,
        outputs: &mut [f64],
        _samples: &mut Samples,
    ) -> Result<()> {
        self.count += 1;
        self.heard = self.text.parse().unwrap_or(-1.0);
        assert!(self.bytes.is_empty() || self.bytes == self.text.as_bytes(), "sent together, heard together");
        self.ticks += f64::from(u8::from(std::mem::take(&mut self.tick)));
        self.read(None, outputs)
    }
    fn get(&mut self, _variable: VariableId) -> Result<f64> {
        Ok(0.0)
    }
    fn set(&mut self, _variable: VariableId, _value: f64) -> Result<()> {
        Ok(())
    }
    fn save(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        let tick = f64::from(u8::from(self.tick));
        snapshot.reals = vec![self.count as f64, self.heard, self.ticks, tick];
        snapshot.bytes = [self.text.as_bytes(), b"\0", &self.bytes].concat();
        Ok(())
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.count = snapshot.reals[0] as u64;
        (self.heard, self.ticks, self.tick) =
            (snapshot.reals[1], snapshot.reals[2], snapshot.reals[3] == 1.0);
        let mut parts = snapshot.bytes.split(|byte| *byte == 0);
        self.text = String::from_utf8(parts.next().unwrap().to_vec()).unwrap();
        self.bytes = parts.next().unwrap().to_vec();
        Ok(())
    }
    fn mailbox(&mut self) -> Option<&mut dyn Mailbox> {
        Some(self)
    }
}

impl Mailbox for Teller {
    fn send(&mut self, output: usize, message: &mut Message) -> Result<()> {
        match output {
            0 => message.set_text(&self.count.to_string()),
            1 => message.set_bytes(self.count.to_string().as_bytes()),
            _ => *message = Message::Tick(self.count > 0 && self.count.is_multiple_of(2)),
        }
        Ok(())
    }
    fn receive(&mut self, input: usize, message: &Message) -> Result<()> {
        match (input, message) {
            (0, Message::Text(text)) if self.refused.as_ref() == Some(text) => {
                return Err(
                    Error::Unsupported { what: "three".into(), reason: "of superstition".into() }.into()
                );
            }
            (0, Message::Text(text)) => text.clone_into(&mut self.text),
            (1, Message::Bytes(bytes)) => bytes.clone_into(&mut self.bytes),
            (2, Message::Tick(tick)) => self.tick |= tick,
            other => panic!("{other:?}"),
        }
        Ok(())
    }
}

/// `a` tells `b`, `b` tells `a`, all three kinds; added in this order.
fn pair(order: [&str; 2]) -> System {
    let mut builder = SystemBuilder::new();
    for name in order {
        builder = builder.add(name, Teller::new());
    }
    for (from, to) in [("a", "b"), ("b", "a")] {
        for kind in ["text", "bytes", "clock"] {
            builder =
                builder.connect(Connection::new(&format!("{from}.{kind}_out"), &format!("{to}.{kind}_in")));
        }
    }
    builder.build().unwrap()
}

fn run(system: System, config: &RunConfig) -> BTreeMap<String, Vec<f64>> {
    let mut run = Run::new(system, config).unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    let names = run.columns().iter().map(|column| column.name.clone()).enumerate();
    names.map(|(k, name)| (name, table.rows.iter().map(|row| row[k]).collect())).collect()
}

#[test]
fn messages_are_those_of_the_communication_point_or_the_newest() {
    let order = |names: [&str; 2]| ScheduleConfig::Order(names.map(String::from).into());
    let behind = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0];
    let newest = [-1.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    for (schedule, a, b) in [
        (ScheduleConfig::PARALLEL, behind, behind),
        (order(["a", "b"]), behind, newest),
        (order(["b", "a"]), newest, behind),
    ] {
        for threads in [Parallel::Never, Parallel::Always] {
            let config = RunConfig { schedule: schedule.clone(), threads, ..RunConfig::new(0.5, 0.1) };
            let (one, other) = (run(pair(["a", "b"]), &config), run(pair(["b", "a"]), &config));
            assert_eq!(one, other, "the order of definition does not matter");
            assert_eq!(one["a.heard"], a);
            assert_eq!(one["b.heard"], b);
        }
    }
}

#[test]
fn a_tick_is_heard_once() {
    let config = RunConfig::new(1.0, 0.1);
    let seen = run(pair(["a", "b"]), &config);
    // Ticks after steps 2, 4, 6, 8, 10, each heard by the step that follows.
    assert_eq!(seen["a.ticks"], [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
    assert_eq!(seen["b.ticks"], seen["a.ticks"]);
}

#[test]
fn a_slow_subsystem_is_heard_where_it_stands_and_forgets_no_tick() {
    let config = RunConfig { every: [("a".to_owned(), 4)].into(), ..RunConfig::new(1.6, 0.1) };
    let seen = run(pair(["a", "b"]), &config);
    // `a` moves at 0, 0.4, 0.8 and 1.2: its first step ends at 0.4, and only then is told.
    let report = |k: usize| k.saturating_sub(1) as f64 / 4.0;
    for (k, heard) in seen["b.heard"].iter().enumerate().skip(1) {
        assert_eq!(*heard, report(k).floor(), "after step {k}");
    }
    // It hears what `b` said when it began to move, and all ticks since then, as one.
    assert_eq!(seen["a.heard"][16], 12.0);
    assert_eq!(seen["a.ticks"][16], 3.0);
}

#[test]
fn what_is_saved_is_restored() {
    for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
        let config = RunConfig { schedule, ..RunConfig::new(2.0, 0.1) };
        let mut run = Run::new(pair(["a", "b"]), &config).unwrap();
        (0..5).for_each(|_| run.advance().unwrap());
        let (mut early, mut late) = (RunState::default(), RunState::default());
        run.save(&mut early).unwrap();
        let report = run.message("a.text_out").unwrap();
        assert_eq!(report, Message::Text("5".into()));
        (0..6).for_each(|_| run.advance().unwrap());
        run.save(&mut late).unwrap();
        run.restore(&early).unwrap();
        assert_eq!(run.message("a.text_out").unwrap(), report);
        (0..6).for_each(|_| run.advance().unwrap());
        let mut again = RunState::default();
        run.save(&mut again).unwrap();
        assert_eq!(again, late);
        let mut fresh = Run::new(pair(["a", "b"]), &config).unwrap();
        fresh.restore(&late).unwrap();
        assert_eq!(fresh.message("b.bytes_out").unwrap(), Message::Bytes(b"11".into()));
        assert_eq!(fresh.message("b.clock_out").unwrap(), Message::Tick(false));
    }
}

#[test]
fn unconnected_messages_can_be_asked_for() {
    let system = SystemBuilder::new().add("a", Teller::new()).build().unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    run.advance().unwrap();
    assert_eq!(run.message("a.text_out").unwrap(), Message::Text("1".into()));
    let error = run.message("a.txt_out").unwrap_err().to_string();
    assert!(error.starts_with("unknown message output `a.txt_out`; did you mean `a.text_out`?"), "{error}");
}

fn refused(connections: &[Connection]) -> String {
    let mut builder = SystemBuilder::new().add("a", Teller::new()).add("b", Teller::new());
    for connection in connections {
        builder = builder.connect(connection.clone());
    }
    builder.build().map_or_else(|error| error.to_string(), |_| "accepted".into())
}

#[test]
fn wrong_wiring_is_refused() {
    let wire = Connection::new;
    for (connection, expected) in [
        (wire("a.text_out", "b.text_in"), "accepted"),
        (
            wire("a.text_out", "b.bytes_in"),
            "connection `a.text_out` -> `b.bytes_in`: a text cannot become bytes",
        ),
        (
            wire("a.heard", "b.clock_in"),
            "connection `a.heard` -> `b.clock_in`: a number cannot become a clock",
        ),
        (wire("a.text_out", "b.u"), "connection `a.text_out` -> `b.u`: a text cannot become a number"),
        (
            wire("a.text_out", "b.text_in").gain(2.0),
            "connection `a.text_out` -> `b.text_in`: only numbers have a gain and an offset",
        ),
        (wire("a.text_out", "b.text_out"), "`b.text_out` is an output, where an input is needed"),
        (wire("a.text_in", "b.text_in"), "`a.text_in` is an input, where an output is needed"),
        (wire("a.u", "b.u"), "`a.u` is an input, where an output is needed"),
        (wire("a.heard", "b.ticks"), "`b.ticks` is an output, where an input is needed"),
        (
            wire("a.text_ou", "b.text_in"),
            "unknown output `a.text_ou`; did you mean `a.text_out`? (known: `a.heard`, `a.ticks`, `a.text_out`, `a.bytes_out`, `a.clock_out`)",
        ),
    ] {
        assert_eq!(refused(&[connection]), expected);
    }
    let two = [wire("a.text_out", "b.text_in"), wire("b.text_out", "b.text_in")];
    assert_eq!(
        refused(&two),
        "connection `b.text_out` -> `b.text_in`: the input is connected to `text_out` of `a` already"
    );
    let sum = Connection {
        from: vec!["a.text_out".into(), "b.text_out".into()],
        ..wire("a.text_out", "b.text_in")
    };
    assert_eq!(
        refused(&[sum]),
        "connection `a.text_out`, `b.text_out` -> `b.text_in`: only numbers are summed: name one source"
    );
    let signal = koppel::signal::external::ExternalConfig::Constant { value: 1.0 };
    let system = SystemBuilder::new().add("a", Teller::new()).external("a.text_in", signal).build();
    let error = system.map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "`a.text_in` is a text, where a number is needed");
}

/// Rows with texts and bytes.
#[derive(Default)]
struct Kept(Vec<(f64, Vec<f64>, Vec<Message>)>);

impl Recorder for Kept {
    fn row(&mut self, time: f64, values: &[f64]) -> Result<()> {
        self.row_with(time, values, &[])
    }

    fn row_with(&mut self, time: f64, values: &[f64], messages: &[Message]) -> Result<()> {
        self.0.push((time, values.to_vec(), messages.to_vec()));
        Ok(())
    }
}

/// Connected outputs, what their receivers were given, and outputs that nothing listens to; ticks as numbers.
#[test]
fn messages_are_recorded() {
    let names = ["a.text_out", "a.bytes_out", "a.clock_out", "b.text_*"];
    let record = Record::Many(names.map(Into::into).into());
    let config = RunConfig { record, ..RunConfig::new(0.5, 0.1) };
    let mut run = Run::new(pair(["a", "b"]), &config).unwrap();
    let found: Vec<&str> = run.message_columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(found, ["a.text_out", "a.bytes_out", "b.text_out", "b.text_in"]);
    assert_eq!(run.columns().len(), 1, "the clock is a number");
    let mut rows = Kept::default();
    run.run(&mut rows, &mut |_| Ok(Flow::Continue)).unwrap();
    let mut alone = Run::new(pair(["a", "b"]), &RunConfig::new(0.5, 0.1)).unwrap();
    for (index, (_, numbers, messages)) in rows.0.iter().enumerate() {
        let present = |name: &str| -> Message { alone.message(name).unwrap() };
        let expected = ["a.text_out", "a.bytes_out", "b.text_out", "a.text_out"].map(present);
        assert_eq!(messages[..], expected, "row {index}");
        let ticks = alone.message("a.clock_out").unwrap() == Message::Tick(true);
        assert_eq!(numbers[0], f64::from(u8::from(ticks)), "row {index}");
        alone.advance_by(1).unwrap();
    }
    assert_eq!(rows.0.len(), 6);
    assert_ne!(rows.0[1].2, rows.0[2].2);
}

#[test]
fn an_input_that_gets_no_messages_is_not_recorded() {
    let system = SystemBuilder::new().add("a", Teller::new()).build().unwrap();
    let record = Record::Many(vec!["a.text_in".into()]);
    let config = RunConfig { record, ..RunConfig::new(1.0, 0.1) };
    let error = Run::new(system, &config).err().unwrap().to_string();
    assert_eq!(error, "record: `a.text_in` is a text that nothing is connected to");
}

#[test]
fn a_failing_receiver_is_named() {
    let mut system = pair(["a", "b"]);
    system.subsystems[1] = Box::new(Teller { refused: Some("3".into()), ..Teller::new() });
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string();
    assert!(error.starts_with("subsystem `b` failed at t = 0.3"), "{error}");
    assert!(error.contains("three is not possible"), "{error}");
}

#[test]
fn names_are_unique() {
    let mut ports = Teller::new().ports;
    ports.check_names().unwrap();
    ports.message_outputs[0].name = "u".into();
    assert_eq!(ports.check_names().unwrap_err().to_string(), "variable `u` is defined twice");
    ports.message_outputs[0].name = "text_in".into();
    assert!(ports.check_names().is_err());
    assert_eq!(ports.find(VariableKind::Input, "text_in"), None);
}

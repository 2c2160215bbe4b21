//! Clocks, texts and bytes of a model-exchange FMU that refuses them where the standard forbids them.

use super::*;
use koppel::system::{Horizon, Mailbox, Message};

const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Clocks" instantiationToken="{clocks}" generationTool="the tests">
  <ModelExchange modelIdentifier="mass" canGetAndSetFMUState="true" canSerializeFMUState="true"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
    <Float64 name="x" valueReference="1" causality="output" initial="exact" start="0"/>
    <Float64 name="der(x)" valueReference="2" causality="local" derivative="1"/>
    <String name="text_in" valueReference="3" causality="input"><Start value="silence"/></String>
    <String name="text_out" valueReference="4" causality="output"/>
    <Binary name="data_in" valueReference="5" causality="input"><Start value=""/></Binary>
    <Binary name="data_out" valueReference="6" causality="output"/>
    <Clock name="periodic" valueReference="7" causality="input" intervalVariability="constant" intervalDecimal="0.1" shiftDecimal="0.05"/>
    <Clock name="alarm_in" valueReference="8" causality="input" intervalVariability="triggered"/>
    <Clock name="alarm" valueReference="9" causality="output" intervalVariability="triggered"/>
    <Float64 name="held" valueReference="10" causality="input" variability="discrete" clocks="7" start="0"/>
    <Float64 name="sample" valueReference="11" causality="output" variability="discrete"/>
    <Int32 name="ticks" valueReference="12" causality="output"/>
    <Int32 name="alarms" valueReference="13" causality="output"/>
    <Float64 name="last" valueReference="14" causality="output" variability="discrete"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="1"/><Output valueReference="4"/><Output valueReference="6"/><Output valueReference="9"/>
    <Output valueReference="11"/><Output valueReference="12"/><Output valueReference="13"/><Output valueReference="14"/>
    <ContinuousStateDerivative valueReference="2"/>
  </ModelStructure>
</fmiModelDescription>
"#;

fn body() -> ModelExchange {
    let fmu = TestFmu::new("clocks3.c", DESCRIPTION, &[]);
    let mut body = instance(&fmu, &[], SolverConfig::Rk4 { step: 1e-3 });
    body.initialize(0.0).unwrap();
    body
}

fn place(ports: &[koppel::system::MessagePort], name: &str) -> usize {
    ports.iter().position(|port| port.name == name).unwrap_or_else(|| panic!("no port {name}"))
}

fn say(body: &mut ModelExchange, name: &str, message: &Message) {
    let input = place(&body.ports().message_inputs, name);
    body.receive(input, message).unwrap();
}

fn hear(body: &mut ModelExchange, name: &str) -> Message {
    let output = place(&body.ports().message_outputs, name);
    let mut message = Message::Tick(false);
    body.send(output, &mut message).unwrap();
    message
}

/// Steps of 20 ms, none of which ends where the clock ticks; `held` follows the time.
fn go(body: &mut ModelExchange, steps: std::ops::Range<u64>) {
    drive(body, steps, 0.02, |t| vec![t], |_, _| {}).unwrap();
}

#[test]
fn a_periodic_clock_ticks_on_time_with_what_it_governs() {
    let mut body = body();
    let names = |ports: &[koppel::system::MessagePort]| {
        ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&body.ports().message_inputs), ["text_in", "data_in", "alarm_in"], "no timed clock");
    for (steps, ticks, last) in [(0..2, 0.0, 0.0), (2..3, 1.0, 0.05), (3..8, 2.0, 0.15), (8..50, 10.0, 0.95)]
    {
        go(&mut body, steps.clone());
        assert_eq!(get(&mut body, "ticks"), ticks, "{steps:?}");
        assert!((get(&mut body, "last") - last).abs() < 1e-12, "{}", get(&mut body, "last"));
        // Inputs are those of the step in which it ticked.
        let sample = (last / 0.02 + 1e-9).floor() * 0.02;
        assert!((get(&mut body, "sample") - sample).abs() < 1e-12, "{}", get(&mut body, "sample"));
    }
    assert!((get(&mut body, "x") - 1.0).abs() < 1e-12);
}

#[test]
fn clocks_go_out_and_in_as_ticks() {
    let mut body = body();
    let mut heard = Vec::new();
    for step in 0..50 {
        go(&mut body, step..step + 1);
        if hear(&mut body, "alarm") == Message::Tick(true) {
            heard.push(step);
        }
    }
    // Ticks 3, 6 and 9, at 0.25, 0.55 and 0.85 s.
    assert_eq!(heard, [12, 27, 42]);
    let x = get(&mut body, "x");
    say(&mut body, "alarm_in", &Message::Tick(true));
    assert_eq!(get(&mut body, "alarms"), 0.0, "it waits for the next step");
    go(&mut body, 50..51);
    assert_eq!(get(&mut body, "alarms"), 1.0);
    assert!((get(&mut body, "x") - (0.5 * x + 0.02)).abs() < 1e-12, "it halves the state");
    go(&mut body, 51..52);
    assert_eq!(get(&mut body, "alarms"), 1.0, "once is once");
}

#[test]
fn texts_and_bytes_are_set_in_event_mode() {
    let mut body = body();
    let text = |text: &str| Message::Text(text.into());
    say(&mut body, "text_in", &text("start"));
    assert_eq!(hear(&mut body, "text_out"), text("trats"), "during initialisation at once");
    go(&mut body, 0..1);
    say(&mut body, "text_in", &text("abc"));
    say(&mut body, "data_in", &Message::Bytes(vec![1, 0, 255]));
    assert_eq!(hear(&mut body, "text_out"), text("trats"), "it waits for the next step");
    go(&mut body, 1..2);
    assert_eq!(hear(&mut body, "text_out"), text("cba"));
    assert_eq!(hear(&mut body, "data_out"), Message::Bytes(vec![1, 0, 255]));
}

#[test]
fn saved_states_hold_clocks_and_messages() {
    let mut body = body();
    go(&mut body, 0..11);
    say(&mut body, "text_in", &Message::Text("later".into()));
    say(&mut body, "alarm_in", &Message::Tick(true));
    let mut snapshot = Snapshot::new(Horizon::Anywhere);
    body.save(&mut snapshot).unwrap();
    let seen = |body: &mut ModelExchange| {
        go(body, 11..30);
        let numbers: Vec<f64> =
            ["x", "ticks", "alarms", "last", "sample"].iter().map(|name| get(body, name)).collect();
        (numbers, hear(body, "text_out"), hear(body, "alarm"))
    };
    let first = seen(&mut body);
    assert_eq!(first.0[1..3], [6.0, 1.0]);
    body.restore(&snapshot).unwrap();
    assert_eq!(seen(&mut body), first);
    let mut other = super::clocks::body();
    other.restore(&snapshot).unwrap();
    assert_eq!(seen(&mut other), first, "in another instance");
}

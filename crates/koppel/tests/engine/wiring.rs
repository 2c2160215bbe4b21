//! What arrives at an input: sums, units, signals in the place of wires.

use super::{gain, integrator, last, run, scalar, step};
use koppel::linalg::Matrix;
use koppel::run::{Change, Reading, RunConfig, ScheduleConfig};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, SystemBuilder, Variable};
use std::collections::BTreeMap;

#[test]
fn several_sources_are_summed_with_gain_and_offset() {
    let sum = Connection {
        from: vec!["a.y".into(), "b.y".into()],
        gain: 2.0,
        offset: 5.0,
        ..Connection::new("", "c.u")
    };
    let build = || {
        SystemBuilder::new()
            .add("a", scalar(0.0, 0.0, 1.0, 0.0, 3.0))
            .add("b", scalar(0.0, 0.0, 1.0, 0.0, -1.0))
            .add("c", integrator(0.0))
            .connect(sum.clone())
            .build()
            .unwrap()
    };
    for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
        let (table, _, run) = run(build(), &RunConfig { schedule, ..RunConfig::new(1.0, 0.1) });
        let seen = last(&run, &table, "c.y");
        assert!((seen - 9.0).abs() < 1e-12, "{seen} should be 2 (3 - 1) + 5");
        assert_eq!(last(&run, &table, "c.u"), 9.0);
    }
}

#[test]
fn units_are_converted_on_the_wire() {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let with_units = |from: &str, to: &str, value: f64| {
        let matrices = StateSpace::new("m", one(0.0), one(0.0), one(1.0), one(0.0)).unwrap();
        let inputs = vec![Variable::new("u").unit(to)];
        let outputs = vec![Variable::new("y").unit(from)];
        let ode = LinearOde::new(matrices, inputs, outputs, &[value]).unwrap();
        OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
    };
    for (from, to, value, expected) in [
        ("deg", "rad", 180.0, std::f64::consts::PI),
        ("km/h", "m/s", 36.0, 10.0),
        ("degC", "K", 26.85, 300.0),
        ("K", "degC", 300.0, 26.85),
        ("N", "kN", 1500.0, 1.5),
    ] {
        let system = SystemBuilder::new()
            .add("a", with_units(from, "m", value))
            .add("b", with_units("m", to, 0.0))
            .connect(Connection::new("a.y", "b.u"))
            .build()
            .unwrap();
        let (table, _, run) = run(system, &RunConfig::new(1.0, 0.5));
        let seen = last(&run, &table, "b.u");
        assert!((seen - expected).abs() < 1e-12, "{value} {from} -> {seen} {to}");
    }
    let wrong = SystemBuilder::new()
        .add("a", with_units("m", "m", 0.0))
        .add("b", with_units("m", "N", 0.0))
        .connect(Connection::new("a.y", "b.u"))
        .build();
    let message = wrong.err().unwrap().to_string();
    assert!(message.contains("a.y") && message.contains("b.u") && message.contains('N'), "{message}");
}

#[test]
fn outputs_fed_through_from_outside_are_read_at_the_same_instant() {
    let system = || {
        SystemBuilder::new()
            .add("g", gain(1.0))
            .add("i", integrator(0.0))
            .connect(Connection::new("g.y", "i.u"))
    };
    let outside = system().external("g.u", step(0.5, 1.0)).build().unwrap();
    let (table, _, fed) = run(outside, &RunConfig::new(1.0, 0.25));
    assert!((last(&fed, &table, "i.y") - 0.5).abs() < 1e-13);
    for reading in [Reading::Fresh, Reading::Stale] {
        let at = vec![Change { time: 0.5, set: BTreeMap::from([("g.u".to_owned(), 1.0)]) }];
        let config = RunConfig { at, reading, ..RunConfig::new(1.0, 0.25) };
        let (table, _, run) = run(system().build().unwrap(), &config);
        assert!((last(&run, &table, "i.y") - 0.5).abs() < 1e-13, "{reading:?}");
    }
    // A change at the start is part of the consistent start.
    let at = vec![Change { time: 0.0, set: BTreeMap::from([("g.u".to_owned(), 1.0)]) }];
    let (table, _, changed) = run(system().build().unwrap(), &RunConfig { at, ..RunConfig::new(1.0, 0.25) });
    assert!((last(&changed, &table, "i.y") - 1.0).abs() < 1e-13);
}

#[test]
fn a_signal_takes_the_place_of_the_value_of_a_free_input() {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("i", one(0.0), one(1.0), one(1.0), one(0.0)).unwrap();
    let input = vec![Variable::new("u").start(300.0)];
    let ode = LinearOde::new(matrices, input, vec![Variable::new("y")], &[0.0]).unwrap();
    let model = OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap();
    let system = SystemBuilder::new()
        .add("a", model)
        .external("a.u", ExternalConfig::Constant { value: 310.0 })
        .build()
        .unwrap();
    let (table, _, run) = run(system, &RunConfig::new(1.0, 0.5));
    assert_eq!(last(&run, &table, "a.u"), 310.0);
}

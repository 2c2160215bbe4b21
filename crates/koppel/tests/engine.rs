//! Behaviour of the macro step: wiring, schedules, rates, times, external signals, changes, stop conditions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel::coupling::{CouplingConfig, StartUp};
use koppel::linalg::Matrix;
use koppel::record::{Record, Table};
use koppel::run::{Change, Ending, Flow, Reading, RunConfig, ScheduleConfig, Simulation};
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use koppel::{Error, models};
use std::collections::BTreeMap;

/// x' = a x + b u, y = c x + d u.
fn scalar(a: f64, b: f64, c: f64, d: f64, x0: f64) -> OdeModel {
    let one = |value: f64| Matrix::from_slice(1, 1, &[value]);
    let matrices = StateSpace::new("scalar", one(a), one(b), one(c), one(d)).unwrap();
    let ode = LinearOde::new(matrices, vec![Variable::new("u")], vec![Variable::new("y")], &[x0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Exact {}).unwrap()
}

fn integrator(x0: f64) -> OdeModel {
    scalar(0.0, 1.0, 1.0, 0.0, x0)
}

fn gain(value: f64) -> OdeModel {
    scalar(0.0, 0.0, 0.0, value, 0.0)
}

fn run(system: System, config: &RunConfig) -> (Table, Ending, Simulation) {
    let mut simulation = Simulation::new(system, config).unwrap();
    let mut table = Table::default();
    let ending = simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    (table, ending, simulation)
}

/// The last value of a column by name.
fn last(simulation: &Simulation, table: &Table, name: &str) -> f64 {
    let column = simulation.columns().iter().position(|c| c.name == name).unwrap();
    table.rows.last().unwrap()[column]
}

fn step(time: f64, after: f64) -> ExternalConfig {
    ExternalConfig::Step { time, before: 0.0, after }
}

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
        let (table, _, simulation) = run(build(), &RunConfig { schedule, ..RunConfig::new(1.0, 0.1) });
        let seen = last(&simulation, &table, "c.y");
        assert!((seen - 9.0).abs() < 1e-12, "{seen} should be 2 (3 - 1) + 5");
        assert_eq!(last(&simulation, &table, "c.u"), 9.0);
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
        let (table, _, simulation) = run(system, &RunConfig::new(1.0, 0.5));
        let seen = last(&simulation, &table, "b.u");
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

/// The engine against a loop written by hand, bit for bit.
#[test]
fn sequence_and_parallel_do_what_a_loop_by_hand_does() {
    let build = || {
        SystemBuilder::new()
            .add("a", scalar(-1.0, 2.0, 1.0, 0.0, 1.0))
            .add("b", scalar(-3.0, 0.5, -1.0, 0.0, 0.5))
            .connect(Connection::new("b.y", "a.u"))
            .connect(Connection::new("a.y", "b.u"))
            .build()
            .unwrap()
    };
    let h: f64 = 0.05;
    let exact = |a: f64, b: f64| (h * a).exp_m1() / a * b;
    for is_sequence in [false, true] {
        let schedule = if is_sequence {
            ScheduleConfig::Order(vec!["a".into(), "b".into()])
        } else {
            ScheduleConfig::PARALLEL
        };
        let (table, _, _) = run(build(), &RunConfig { schedule, ..RunConfig::new(2.0, h) });
        let (mut a, mut b) = (1.0_f64, 0.5_f64);
        for row in &table.rows {
            assert!((row[0] - a).abs() < 1e-13 && (row[2] + b).abs() < 1e-13);
            let next_a = (-h).exp() * a + exact(-1.0, 2.0) * -b;
            let seen = if is_sequence { next_a } else { a };
            b = (-3.0 * h).exp() * b + exact(-3.0, 0.5) * seen;
            a = next_a;
        }
    }
}

#[test]
fn groups_run_one_after_the_other() {
    let build = || {
        SystemBuilder::new()
            .add("slow", integrator(1.0))
            .add("road", integrator(2.0))
            .add("left", integrator(3.0))
            .connect(Connection::new("road.y", "left.u"))
            .connect(Connection::new("left.y", "slow.u"))
            .connect(Connection::new("slow.y", "road.u"))
            .build()
            .unwrap()
    };
    let groups = vec![vec!["road".into(), "slow".into()], vec!["left".into()]];
    let config = RunConfig { schedule: ScheduleConfig::Groups(groups), ..RunConfig::new(1.0, 0.1) };
    let (table, _, simulation) = run(build(), &config);
    let (mut slow, mut road, mut left) = (1.0, 2.0, 3.0);
    for _ in 0..10 {
        (slow, road) = (slow + 0.1 * left, road + 0.1 * slow);
        left += 0.1 * road;
    }
    for (name, value) in [("slow.y", slow), ("road.y", road), ("left.y", left)] {
        assert!((last(&simulation, &table, name) - value).abs() < 1e-12, "{name}");
    }
    let names: Vec<_> = simulation.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        ["slow.y", "slow.u", "road.y", "road.u", "left.y", "left.u"],
        "columns keep the order of definition"
    );
}

#[test]
fn a_slow_subsystem_moves_every_nth_step() {
    let build = || {
        SystemBuilder::new()
            .add("fast", integrator(0.0))
            .add("slow", scalar(-1.0, 0.0, 1.0, 0.0, 1.0))
            .connect(Connection::new("slow.y", "fast.u"))
            .build()
            .unwrap()
    };
    let every = BTreeMap::from([("slow".to_owned(), 3)]);
    let (table, _, simulation) = run(build(), &RunConfig { every, ..RunConfig::new(1.0, 0.1) });
    let slow: Vec<f64> = table.column(2).collect();
    let shares = simulation.statistics().shares;
    assert_eq!((shares[0].steps, shares[1].steps), (10, 4));
    for k in [0, 3, 6, 9] {
        assert!((slow[k] - (-0.1 * k as f64).exp()).abs() < 1e-14, "at its own points it is exact");
    }
    assert_eq!(slow[3], slow[5], "between them the last value is kept, not the one ahead");
    assert!((slow[10] - (-1.0_f64).exp()).abs() < 1e-14, "the last step is shortened for it too");
}

#[test]
fn external_signals_act_inside_a_step() {
    let build = |signal: ExternalConfig| {
        SystemBuilder::new().add("a", integrator(0.0)).external("a.u", signal).build().unwrap()
    };
    let pulses = ExternalConfig::Pulses {
        amplitude: 2.0,
        period: 0.3,
        width: 0.01,
        start: 0.05,
        offset: 0.0,
        stop: None,
        modulation: None,
    };
    // Seven pulses begin at 0.05 + 0.3 k before 2.0, each 0.01 wide.
    let (table, _, simulation) = run(build(pulses), &RunConfig::new(2.0, 0.5));
    assert!((last(&simulation, &table, "a.y") - 7.0 * 0.02).abs() < 1e-12);
    let (table, _, simulation) = run(build(step(0.73, 10.0)), &RunConfig::new(1.0, 0.5));
    assert!((last(&simulation, &table, "a.y") - 2.7).abs() < 1e-12);
    assert_eq!(last(&simulation, &table, "a.u"), 10.0, "recorded inputs include external signals");
}

#[test]
fn changes_act_at_their_time_even_between_communication_points() {
    let mass = |parameters: &[(&str, f64)]| {
        let parameters = parameters.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        OdeModel::new(models::build("mass", &parameters).unwrap(), &SolverConfig::Exact {}).unwrap()
    };
    let set = |name: &str, value: f64| BTreeMap::from([(name.to_owned(), value)]);
    let at = vec![
        Change { time: 0.25, set: set("a.F", 6.0) },
        Change { time: 0.625, set: set("a.m", 6.0) },
        Change { time: 0.0, set: set("a.m", 3.0) },
    ];
    let system = SystemBuilder::new()
        .add("a", mass(&[("m", 1.0), ("c", 0.0), ("d", 0.0), ("x0", 0.0)]))
        .build()
        .unwrap();
    let (table, _, simulation) = run(system, &RunConfig { at, ..RunConfig::new(1.0, 0.5) });
    // At rest to 0.25, then 2 m/s² to 0.625, then 1 m/s².
    assert!((last(&simulation, &table, "a.v") - (2.0 * 0.375 + 0.375)).abs() < 1e-13);
    assert_eq!(table.times, [0.0, 0.5, 1.0], "changes add no rows");
}

#[test]
fn changes_of_what_cannot_be_set_are_refused() {
    let system = || {
        SystemBuilder::new()
            .add("a", integrator(0.0))
            .add("b", integrator(0.0))
            .connect(Connection::new("a.y", "b.u"))
            .build()
            .unwrap()
    };
    for (name, part) in [("b.u", "connected"), ("a.y", "output"), ("a.mass", "unknown"), ("c.u", "subsystem")]
    {
        let at = vec![Change { time: 0.5, set: BTreeMap::from([(name.to_owned(), 1.0)]) }];
        let error = Simulation::new(system(), &RunConfig { at, ..RunConfig::new(1.0, 0.1) }).err().unwrap();
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

#[test]
fn a_stop_condition_ends_the_run() {
    let system =
        || SystemBuilder::new().add("a", integrator(0.0)).external("a.u", step(0.0, 1.0)).build().unwrap();
    let stop_when = Some("a.y > 0.35 and time < 10".to_owned());
    let (table, ending, _) =
        run(system(), &RunConfig { stop_when, record_every: 100, ..RunConfig::new(1.0, 0.1) });
    assert_eq!(ending, Ending::Condition { time: 0.4 });
    assert_eq!(table.times, [0.0, 0.4], "the row at which it held is kept");
    for (text, part) in [("a.y +", "expected"), ("a.q > 1", "a.q"), ("a.y + 1", "comparison")] {
        let config = RunConfig { stop_when: Some(text.into()), ..RunConfig::new(1.0, 0.1) };
        let error = Simulation::new(system(), &config).err().unwrap();
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn the_start_is_consistent_through_feed_through_and_loops() {
    let chain = SystemBuilder::new()
        .add("last", gain(2.0))
        .add("middle", gain(3.0))
        .add("first", scalar(0.0, 0.0, 1.0, 0.0, 7.0))
        .connect(Connection::new("first.y", "middle.u"))
        .connect(Connection::new("middle.y", "last.u"))
        .build()
        .unwrap();
    let (table, _, _) = run(chain, &RunConfig { reading: Reading::Stale, ..RunConfig::new(1.0, 0.5) });
    assert_eq!(table.rows[0], [42.0, 21.0, 21.0, 7.0, 7.0, 0.0]);

    // y1 = 3 y2 + 1 and y2 = 2 y1 + 4 have |gain| 6 around the loop: no fixed-point iteration would find -13/5, -6/5.
    let two = SystemBuilder::new()
        .add("a", gain(3.0))
        .add("b", gain(2.0))
        .connect(Connection { offset: 1.0 / 3.0, ..Connection::new("b.y", "a.u") })
        .connect(Connection { offset: 2.0, ..Connection::new("a.y", "b.u") })
        .build()
        .unwrap();
    let (table, _, _) = run(two, &RunConfig::new(1.0, 0.5));
    for row in &table.rows {
        assert!((row[0] + 2.6).abs() < 1e-12 && (row[2] + 1.2).abs() < 1e-12, "{row:?}");
    }

    // y = y + 1 has no solution.
    let none = SystemBuilder::new()
        .add("a", gain(1.0))
        .connect(Connection { offset: 1.0, ..Connection::new("a.y", "a.u") })
        .build()
        .unwrap();
    let error = Simulation::new(none, &RunConfig::new(1.0, 0.5)).err().unwrap();
    assert!(error.to_string().contains("a.y"), "{error}");
}

#[test]
fn non_finite_outputs_name_the_culprit() {
    let system = SystemBuilder::new()
        .add("calm", integrator(0.0))
        .add("wild", scalar(300.0, 0.0, 1.0, 0.0, 1.0))
        .build()
        .unwrap();
    let mut simulation = Simulation::new(system, &RunConfig::new(10.0, 1.0)).unwrap();
    let mut table = Table::default();
    let error = simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap_err();
    let Error::BecameNonFinite { subsystem, variable, time, .. } = *error else { panic!("{error}") };
    assert_eq!((subsystem.as_str(), variable.as_str(), time), ("wild", "y", 3.0));
    assert_eq!(table.times, [0.0, 1.0, 2.0], "rows up to then are kept");
}

#[test]
fn settings_without_sense_are_refused() {
    let system = || SystemBuilder::new().add("a", integrator(0.0)).add("b", integrator(0.0)).build().unwrap();
    let good = RunConfig::new(1.0, 0.1);
    let order = |names: &[&str]| ScheduleConfig::Order(names.iter().map(|n| (*n).to_owned()).collect());
    let reduced = CouplingConfig::Soh { start: StartUp::Reduced };
    let bad = [
        (RunConfig { step: 0.0, ..good.clone() }, "must be positive"),
        (RunConfig { step: f64::NAN, ..good.clone() }, "not finite"),
        (RunConfig { stop: -1.0, ..good.clone() }, "after the start"),
        (RunConfig { step: 1e-300, ..good.clone() }, "too small"),
        (RunConfig { record_every: 0, ..good.clone() }, "at least 1"),
        (RunConfig { schedule: order(&["a"]), ..good.clone() }, "`b` is missing"),
        (RunConfig { schedule: order(&["a", "b", "a"]), ..good.clone() }, "twice"),
        (RunConfig { schedule: order(&["a", "bb"]), ..good.clone() }, "did you mean `b`"),
        (RunConfig { record: Record::One("c.*".into()), ..good.clone() }, "c.*"),
        (RunConfig { every: BTreeMap::from([("a".into(), 0)]), ..good.clone() }, "at least 1"),
        (RunConfig { coupling: CouplingConfig::Relaxed { alpha: 1.0 }, ..good.clone() }, "[0, 1)"),
        (RunConfig { coupling: CouplingConfig::AntiAliasing { order: 2 }, ..good.clone() }, "0 or 1"),
        (RunConfig { coupling: reduced, every: BTreeMap::from([("a".into(), 2)]), ..good }, "rates"),
    ];
    for (config, part) in bad {
        let error = Simulation::new(system(), &config).err().unwrap();
        assert!(error.to_string().contains(part), "{error} should say `{part}`");
    }
    let twice = SystemBuilder::new().add("a", integrator(0.0)).add("a", integrator(0.0)).build();
    assert!(twice.err().unwrap().to_string().contains("`a` is defined twice"));
    let two = SystemBuilder::new()
        .add("a", integrator(0.0))
        .add("b", integrator(0.0))
        .connect(Connection::new("a.y", "b.u"))
        .connect(Connection::new("b.y", "b.u"))
        .build();
    assert!(two.err().unwrap().to_string().contains(r#"from = ["a.y", "b.y"]"#));
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
    let (table, _, simulation) = run(outside, &RunConfig::new(1.0, 0.25));
    assert!((last(&simulation, &table, "i.y") - 0.5).abs() < 1e-13);
    for reading in [Reading::Fresh, Reading::Stale] {
        let at = vec![Change { time: 0.5, set: BTreeMap::from([("g.u".to_owned(), 1.0)]) }];
        let config = RunConfig { at, reading, ..RunConfig::new(1.0, 0.25) };
        let (table, _, simulation) = run(system().build().unwrap(), &config);
        assert!((last(&simulation, &table, "i.y") - 0.5).abs() < 1e-13, "{reading:?}");
    }
    // A change at the start is part of the consistent start.
    let at = vec![Change { time: 0.0, set: BTreeMap::from([("g.u".to_owned(), 1.0)]) }];
    let (table, _, simulation) =
        run(system().build().unwrap(), &RunConfig { at, ..RunConfig::new(1.0, 0.25) });
    assert!((last(&simulation, &table, "i.y") - 1.0).abs() < 1e-13);
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
    let (table, _, simulation) = run(system, &RunConfig::new(1.0, 0.5));
    assert_eq!(last(&simulation, &table, "a.u"), 310.0);
}

/// No state, and any function of the input as output.
struct Static(koppel::system::Ports, fn(f64) -> f64);

impl Static {
    fn model(start: f64, function: fn(f64) -> f64) -> OdeModel {
        let ports = koppel::system::Ports {
            inputs: vec![Variable::new("u").start(start)],
            outputs: vec![Variable::new("y").fed_by(&[0])],
            ..koppel::system::Ports::default()
        };
        OdeModel::new(Box::new(Static(ports, function)), &SolverConfig::default()).unwrap()
    }
}

impl koppel::system::Ode for Static {
    fn ports(&self) -> &koppel::system::Ports {
        &self.0
    }
    fn states(&self) -> usize {
        0
    }
    fn derivative(&self, _time: f64, _x: &[f64], _u: &[f64], _dx: &mut [f64]) {}
    fn output(&self, _time: f64, _x: &[f64], u: &[f64], y: &mut [f64]) {
        y[0] = self.1(u[0]);
    }
    fn parameter(&self, _index: usize) -> f64 {
        f64::NAN
    }
    fn set_parameter(&mut self, _index: usize, _value: f64) -> koppel::Result<()> {
        Ok(())
    }
}

#[test]
fn a_nan_born_in_the_fresh_reading_is_seen_at_once() {
    let system = SystemBuilder::new()
        .add("falling", integrator(0.45))
        .add("root", Static::model(0.0, f64::sqrt))
        .connect(Connection::new("falling.y", "root.u"))
        .external("falling.u", ExternalConfig::Constant { value: -1.0 })
        .build()
        .unwrap();
    let mut simulation = Simulation::new(system, &RunConfig::new(0.5, 0.1)).unwrap();
    let error = simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    let Error::BecameNonFinite { subsystem, time, .. } = *error else { panic!("{error}") };
    assert_eq!((subsystem.as_str(), time), ("root", 0.5));
}

#[test]
fn the_relaxed_hold_is_the_filter_it_says() {
    let system = SystemBuilder::new()
        .add("ramp", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection::new("ramp.y", "sink.u").gain(2.0))
        .external("ramp.u", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let coupling = CouplingConfig::Relaxed { alpha: 0.25 };
    let (table, _, simulation) = run(system, &RunConfig { coupling, ..RunConfig::new(1.0, 0.1) });
    let column = simulation.columns().iter().position(|c| c.name == "sink.u").unwrap();
    let mut w = 0.0;
    for (k, row) in table.rows.iter().enumerate().skip(1) {
        w = 0.25 * w + 0.75 * 2.0 * 0.1 * (k - 1) as f64;
        assert!((row[column] - w).abs() < 1e-13);
    }
}

#[test]
fn anti_aliasing_holds_the_mean_with_gain_and_offset() {
    let system = SystemBuilder::new()
        .add("ramp", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection { offset: 5.0, ..Connection::new("ramp.y", "sink.u").gain(2.0) })
        .external("ramp.u", ExternalConfig::Constant { value: 1.0 })
        .build()
        .unwrap();
    let coupling = CouplingConfig::AntiAliasing { order: 0 };
    let (table, _, simulation) = run(system, &RunConfig { coupling, ..RunConfig::new(1.0, 0.1) });
    let column = simulation.columns().iter().position(|c| c.name == "sink.u").unwrap();
    for (k, row) in table.rows.iter().enumerate().skip(2) {
        let mean = 0.1 * (k - 1) as f64 - 0.05;
        assert!((row[column] - (5.0 + 2.0 * mean)).abs() < 1e-12, "row {k}: {}", row[column]);
    }
}

#[test]
fn the_largest_coupling_error_is_told_with_its_time() {
    let system = SystemBuilder::new()
        .add("parabola", integrator(0.0))
        .add("sink", integrator(0.0))
        .connect(Connection::new("parabola.y", "sink.u").gain(3.0))
        .external("parabola.u", ExternalConfig::Ramp { start: 0.0, stop: 1.0, from: 0.0, to: 1.0 })
        .build()
        .unwrap();
    let (_, _, simulation) = run(system, &RunConfig::new(1.0, 0.1));
    let defect = &simulation.statistics().defects[0];
    // y = t²/2: zero-order hold is behind by 3 (1 - 0.81)/2 at the end, where it is worst.
    assert!((defect.largest - 0.285).abs() < 1e-12 && (defect.time - 1.0).abs() < 1e-12, "{defect:?}");
    assert!((defect.range - 1.5 * (1.0 - 0.01)).abs() < 1e-12, "{defect:?}");
    assert_eq!(defect.connection, "parabola.y -> sink.u");
}

#[test]
fn the_last_row_is_kept() {
    let system = || SystemBuilder::new().add("a", integrator(0.0)).build().unwrap();
    let (table, _, _) = run(system(), &RunConfig { record_every: 3, ..RunConfig::new(1.0, 0.1) });
    assert_eq!(table.times.len(), 5, "0, 0.3, 0.6, 0.9 and the end: {:?}", table.times);
    assert_eq!(table.times[4], 1.0);
}

#[test]
fn a_state_goes_back_only_to_where_it_came_from() {
    let build = || {
        SystemBuilder::new()
            .add("fast", integrator(0.0))
            .add("slow", integrator(0.0))
            .connect(Connection::new("slow.y", "fast.u"))
            .build()
            .unwrap()
    };
    let every = BTreeMap::from([("slow".to_owned(), 4)]);
    let config = RunConfig { every, ..RunConfig::new(1.0, 0.1) };
    let mut simulation = Simulation::new(build(), &config).unwrap();
    let mut state = koppel::run::RunState::default();
    (0..9).for_each(|_| simulation.advance().unwrap());
    simulation.save(&mut state).unwrap();
    let mut longer = Simulation::new(build(), &RunConfig { stop: 2.0, ..config }).unwrap();
    let error = longer.restore(&state).err().unwrap();
    assert!(error.to_string().contains("`slow` stands at 1 s"), "{error}");
    let alone = SystemBuilder::new().add("a", integrator(0.0)).build().unwrap();
    let mut other = Simulation::new(alone, &RunConfig::new(1.0, 0.1)).unwrap();
    assert!(other.restore(&state).err().unwrap().to_string().contains("another system"));
}

#[test]
fn signals_too_fast_to_follow_are_refused() {
    let sine = |frequency: f64| ExternalConfig::Sine {
        amplitude: 1.0,
        frequency,
        phase: 0.0,
        offset: 0.0,
        start: None,
        stop: None,
    };
    let system = |frequency| {
        SystemBuilder::new().add("a", integrator(0.0)).external("a.u", sine(frequency)).build().unwrap()
    };
    assert!(Simulation::new(system(1e2), &RunConfig::new(1.0, 0.1)).is_ok());
    let error = Simulation::new(system(1e12), &RunConfig::new(1.0, 0.1)).err().unwrap();
    assert!(error.to_string().contains("a.u"), "{error}");
}

/// x' = u, u = a sin(2π f t): a (1 - cos)/(2π f), over steps shorter and longer than a period.
#[test]
fn the_exact_solution_follows_a_sine_to_round_off() {
    for frequency in [0.7, 7.0, 333.0] {
        for size in [0.2, 0.05, 0.01, 0.001] {
            let sine = ExternalConfig::Sine {
                amplitude: 2.0,
                frequency,
                phase: 0.0,
                offset: 0.0,
                start: None,
                stop: None,
            };
            let system =
                SystemBuilder::new().add("a", integrator(0.0)).external("a.u", sine).build().unwrap();
            let (table, _, _) = run(system, &RunConfig::new(1.0, size));
            let turning = std::f64::consts::TAU * frequency;
            for (time, row) in table.times.iter().zip(&table.rows) {
                let exact = 2.0 * (1.0 - (turning * time).cos()) / turning;
                assert!(
                    (row[0] - exact).abs() * turning < 1e-10,
                    "{frequency} Hz, step {size}: {:e}",
                    row[0] - exact
                );
            }
        }
    }
}

/// y = u³ - 2 on itself: the only solution is 1.5213797068045676, and from 0 the way there leads over a hump.
#[test]
fn non_linear_loops_are_solved_or_honestly_reported() {
    let cubic = |start: f64| {
        let system = SystemBuilder::new()
            .add("a", Static::model(start, |u| u * u * u - 2.0))
            .connect(Connection::new("a.y", "a.u"))
            .build()
            .unwrap();
        Simulation::new(system, &RunConfig::new(1.0, 0.5)).map(|simulation| simulation.outputs(0)[0])
    };
    let y = cubic(1.0).unwrap();
    assert!((y - 1.521_379_706_804_567_6).abs() < 1e-11, "{y} from the start value of the input");
    match cubic(0.0) {
        Ok(y) => assert!((y - 1.521_379_706_804_567_6).abs() < 1e-11),
        Err(error) => assert!(error.to_string().contains("a.y"), "{error}"),
    }
    let logarithm = SystemBuilder::new()
        .add("a", Static::model(2.0, |u| u.ln() + 2.0))
        .connect(Connection::new("a.y", "a.u"))
        .build()
        .unwrap();
    let simulation = Simulation::new(logarithm, &RunConfig::new(1.0, 0.5)).unwrap();
    let y = simulation.outputs(0)[0];
    assert!((y - y.ln() - 2.0).abs() < 1e-11, "{y}");
}

/// Loops stay solved to the same digits while everything dies away.
#[test]
fn decaying_loops_keep_their_digits() {
    let system = SystemBuilder::new()
        .add("a", scalar(-30.0, 0.0, 1.0, 0.5, 1e3))
        .add("b", gain(0.7))
        .connect(Connection::new("b.y", "a.u"))
        .connect(Connection::new("a.y", "b.u"))
        .build()
        .unwrap();
    let (table, _, _) = run(system, &RunConfig::new(1.0, 0.1));
    for (time, row) in table.times.iter().zip(&table.rows) {
        let exact = 1e3 * (-30.0 * time).exp() / (1.0 - 0.35);
        assert!((row[0] / exact - 1.0).abs() < 1e-10, "t = {time}: {} against {exact}", row[0]);
    }
}

#[test]
fn a_table_is_held_and_says_what_it_lacks() {
    let system = |map: &[(f64, f64)]| {
        let mapped = Connection { map: map.to_vec(), ..Connection::new("count.y", "sink.u") };
        SystemBuilder::new()
            .add("count", scalar(0.0, 1.0, 1.0, 0.0, 0.0))
            .add("sink", integrator(0.0))
            .add("copy", gain(1.0))
            .external("count.u", ExternalConfig::Constant { value: 1.0 })
            .connect(mapped)
            .connect(Connection { map: map.to_vec(), ..Connection::new("count.y", "copy.u") })
            .build()
    };
    // count.y is 0, 1, 2, 3 at t = 0, 1, 2, 3.
    let table = [(2.0, -4.0), (0.0, 10.0), (1.0, 5.0), (3.0, 0.5)];
    let mut config = RunConfig::new(3.0, 1.0);
    config.coupling = CouplingConfig::Soh { start: StartUp::Constant };
    for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
        config.schedule = schedule;
        let (rows, _, simulation) = run(system(&table).unwrap(), &config);
        assert_eq!(last(&simulation, &rows, "copy.y"), 0.5, "fresh, and never extrapolated");
        // Parallel: 10 + 5 - 4; in sequence the sink knows what count has become.
        let expected = if config.schedule == ScheduleConfig::PARALLEL { 11.0 } else { 1.5 };
        assert!((last(&simulation, &rows, "sink.y") - expected).abs() < 1e-12);
    }
    config.schedule = ScheduleConfig::PARALLEL;
    let mut simulation = Simulation::new(system(&table[..3]).unwrap(), &config).unwrap();
    let error = simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    assert!(error.to_string().contains("`count.y -> "), "{error}");
    assert!(error.to_string().contains("no entry for 3 (t = 3 s)"), "{error}");
    for (map, words) in [(&[(0.5, 1.0)][..], "no whole number"), (&[(1.0, 1.0), (1.0, 2.0)], "twice")] {
        assert!(system(map).err().unwrap().to_string().contains(words));
    }
}

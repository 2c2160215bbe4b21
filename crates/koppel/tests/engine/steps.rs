//! Schedules, rates, changes, ends, and settings without sense.

use super::{integrator, last, run, scalar, step};
use koppel::coupling::{AntiAliasingConfig, CouplingConfig, RelaxedConfig, StartUp};
use koppel::record::{Record, Trajectory};
use koppel::run::{Change, Ending, Flow, Run, RunConfig, RunState, ScheduleConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, SystemBuilder, VariableId, VariableKind};
use koppel::{Error, models};
use std::collections::BTreeMap;

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
    let (table, _, run) = run(build(), &config);
    let (mut slow, mut road, mut left) = (1.0, 2.0, 3.0);
    for _ in 0..10 {
        (slow, road) = (slow + 0.1 * left, road + 0.1 * slow);
        left += 0.1 * road;
    }
    for (name, value) in [("slow.y", slow), ("road.y", road), ("left.y", left)] {
        assert!((last(&run, &table, name) - value).abs() < 1e-12, "{name}");
    }
    let names: Vec<_> = run.columns().iter().map(|c| c.name.as_str()).collect();
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
    let (table, _, run) = run(build(), &RunConfig { every, ..RunConfig::new(1.0, 0.1) });
    let slow: Vec<f64> = table.column(2).collect();
    let shares = run.statistics().shares;
    assert_eq!((shares[0].steps, shares[1].steps), (10, 4));
    for k in [0, 3, 6, 9] {
        assert!((slow[k] - (-0.1 * k as f64).exp()).abs() < 1e-14, "at its own points it is exact");
    }
    assert_eq!(slow[3], slow[5], "between them the last value is kept, not the one ahead");
    assert!((slow[10] - (-1.0_f64).exp()).abs() < 1e-14, "the last step is shortened for it too");
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
    let (table, _, run) = run(system, &RunConfig { at, ..RunConfig::new(1.0, 0.5) });
    // At rest to 0.25, then 2 m/s² to 0.625, then 1 m/s².
    assert!((last(&run, &table, "a.v") - (2.0 * 0.375 + 0.375)).abs() < 1e-13);
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
        let error = Run::new(system(), &RunConfig { at, ..RunConfig::new(1.0, 0.1) }).err().unwrap();
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
        let error = Run::new(system(), &config).err().unwrap();
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn non_finite_outputs_name_the_culprit() {
    let system = SystemBuilder::new()
        .add("calm", integrator(0.0))
        .add("wild", scalar(300.0, 0.0, 1.0, 0.0, 1.0))
        .build()
        .unwrap();
    let mut run = Run::new(system, &RunConfig::new(10.0, 1.0)).unwrap();
    let mut table = Trajectory::default();
    let error = run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap_err();
    let Error::BecameNonFinite { subsystem, variable, time, .. } = *error else { panic!("{error}") };
    assert_eq!((subsystem.as_str(), variable.as_str(), time), ("wild", "y", 3.0));
    assert_eq!(table.times, [0.0, 1.0, 2.0], "rows up to then are kept");
}

#[test]
fn settings_without_sense_are_refused() {
    let system = || SystemBuilder::new().add("a", integrator(0.0)).add("b", integrator(0.0)).build().unwrap();
    let good = RunConfig::new(1.0, 0.1);
    let order = |names: &[&str]| ScheduleConfig::Order(names.iter().map(|n| (*n).to_owned()).collect());
    let reduced = CouplingConfig::soh(StartUp::Reduced);
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
        (
            RunConfig { coupling: CouplingConfig::from(RelaxedConfig { alpha: 1.0 }), ..good.clone() },
            "[0, 1)",
        ),
        (
            RunConfig { coupling: CouplingConfig::from(AntiAliasingConfig { order: 2 }), ..good.clone() },
            "0 or 1",
        ),
        (RunConfig { coupling: reduced, every: BTreeMap::from([("a".into(), 2)]), ..good }, "rates"),
    ];
    for (config, part) in bad {
        let error = Run::new(system(), &config).err().unwrap();
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
    let mut run = Run::new(build(), &config).unwrap();
    let mut state = koppel::run::RunState::default();
    (0..9).for_each(|_| run.advance().unwrap());
    run.save(&mut state).unwrap();
    let mut longer = Run::new(build(), &RunConfig { stop: 2.0, ..config }).unwrap();
    let error = longer.restore(&state).err().unwrap();
    assert!(error.to_string().contains("`slow` is at 1 s"), "{error}");
    let alone = SystemBuilder::new().add("a", integrator(0.0)).build().unwrap();
    let mut other = Run::new(alone, &RunConfig::new(1.0, 0.1)).unwrap();
    assert!(other.restore(&state).err().unwrap().to_string().contains("another system"));
}

/// Steps of the simplest kind have a loop of their own: one by one, many at once and through the general loop, which an
/// external signal of zero asks for, the numbers are the same.
#[test]
fn simple_steps_give_the_numbers_of_all_others() {
    let build = |is_simple: bool| {
        let builder = SystemBuilder::new()
            .add("a", scalar(-1.0, 2.0, 1.0, 0.0, 1.0))
            .add("b", scalar(-3.0, 0.5, -1.0, 0.0, 0.5))
            .add("free", scalar(-0.1, 1.0, 1.0, 0.0, 0.2))
            .connect(Connection::new("b.y", "a.u").gain(0.7))
            .connect(Connection::new("a.y", "b.u"));
        let builder = if is_simple { builder } else { builder.external("a.u", step(1e9, 1.0)) };
        builder.build().unwrap()
    };
    let config = RunConfig::new(25.01, 0.01);
    let start = |is_simple: bool| Run::new(build(is_simple), &config).unwrap();
    let (mut each, mut many, mut general) = (start(true), start(true), start(false));
    let (mut one, mut other) = (RunState::default(), RunState::default());
    let mut taken = [1, 7, 30, 600].into_iter().cycle();
    while !general.is_done() {
        let count = taken.next().unwrap();
        many.advance_by(count).unwrap();
        for _ in 0..count {
            each.advance().unwrap();
            general.advance().unwrap();
        }
        each.save(&mut one).unwrap();
        many.save(&mut other).unwrap();
        assert_eq!(one, other);
        for id in 0..3 {
            assert_eq!(each.outputs(id), general.outputs(id), "at {}", each.time());
            let input = VariableId { kind: VariableKind::Input, index: 0 };
            assert_eq!(each.value(id, input).unwrap(), general.value(id, input).unwrap());
        }
        assert_eq!(each.statistics().defects, general.statistics().defects);
        assert_eq!(each.statistics().defects, many.statistics().defects);
        // What is put back goes on like what was not.
        many.restore(&one).unwrap();
    }
    assert!(each.is_done() && many.is_done() && each.index() == 2501);
}

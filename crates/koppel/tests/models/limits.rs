//! The largest stable steps of zero-order hold that MATH 10 lists, seen in runs.

use koppel::models::cases::case;
use koppel::record::{Record, Table};
use koppel::run::{Flow, Reading, RunConfig, ScheduleConfig, Simulation};

const STEPS: usize = 4000;
/// What an algebraic loop, solved to 1e-12 of its largest values, leaves behind.
const NOISE: f64 = 1e-9;

/// Movement of all outputs between communication points, over the last tenth of a run against an earlier tenth.
fn grows(name: &str, schedule: &ScheduleConfig, reading: Reading, step: f64) -> bool {
    let case = case(name).unwrap();
    let config = RunConfig {
        step,
        stop: step * STEPS as f64,
        schedule: schedule.clone(),
        reading,
        record: Record::One("all".into()),
        ..case.run.clone()
    };
    let mut simulation = Simulation::new(case.system().unwrap(), &config).unwrap();
    let mut table = Table::default();
    // An unstable run may end early because a value leaves the range of numbers.
    if simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).is_err() {
        return true;
    }
    let rows = &table.rows;
    let moved = |k: usize| rows[k].iter().zip(&rows[k - 1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let largest = |from: usize| (from..from + STEPS / 10).map(moved).fold(0.0, f64::max);
    largest(STEPS * 9 / 10) > largest(STEPS / 2).max(NOISE)
}

#[test]
fn zero_order_hold_is_stable_up_to_the_known_limits() {
    let sequence = |first: &str, second: &str| ScheduleConfig::Order(vec![first.into(), second.into()]);
    let parallel = ScheduleConfig::PARALLEL;
    let (stale, fresh) = (Reading::Stale, Reading::Fresh);
    let known = [
        ("control-loop", parallel.clone(), stale, 0.0957),
        ("control-loop", sequence("controller", "plant"), stale, 0.183),
        ("control-loop", parallel.clone(), fresh, 0.226),
        ("integral-loop", parallel.clone(), stale, 1.00),
        ("integral-loop", sequence("controller", "plant"), stale, 2.40),
        ("integral-loop", parallel.clone(), fresh, 1.00),
        ("quarter-truck", parallel.clone(), stale, 0.01255),
        ("quarter-truck", sequence("wheel", "chassis"), stale, 0.0392),
        ("quarter-truck", parallel.clone(), fresh, 0.0380),
        ("feedthrough-pair", parallel.clone(), stale, 0.000_610),
        ("feedthrough-pair", sequence("first", "second"), stale, 0.000_642),
        ("feedthrough-pair", parallel, fresh, 0.0123),
    ];
    for (name, schedule, reading, limit) in known {
        let seen = [0.97, 1.03].map(|factor| grows(name, &schedule, reading, factor * limit));
        assert_eq!(
            seen,
            [false, true],
            "{name}, {schedule:?}, {reading:?}: grows at 0.97 and 1.03 times {limit}"
        );
    }
}

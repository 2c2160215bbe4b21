//! External signals inside a step.

use super::{gain, integrator, last, run, scalar, step};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::models;
use koppel::record::{Record, Trajectory};
use koppel::run::{Flow, Run, RunConfig, ScheduleConfig};
use koppel::signal::external::{ExternalConfig, Interpolation};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, SystemBuilder};
use std::collections::BTreeMap;

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
    let (table, _, pulsed) = run(build(pulses), &RunConfig::new(2.0, 0.5));
    assert!((last(&pulsed, &table, "a.y") - 7.0 * 0.02).abs() < 1e-12);
    let (table, _, stepped) = run(build(step(0.73, 10.0)), &RunConfig::new(1.0, 0.5));
    assert!((last(&stepped, &table, "a.y") - 2.7).abs() < 1e-12);
    assert_eq!(last(&stepped, &table, "a.u"), 10.0, "recorded inputs include external signals");
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
    assert!(Run::new(system(1e2), &RunConfig::new(1.0, 0.1)).is_ok());
    let error = Run::new(system(1e12), &RunConfig::new(1.0, 0.1)).err().unwrap();
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
    config.coupling = CouplingConfig::soh(StartUp::Constant);
    for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
        config.schedule = schedule;
        let (rows, _, run) = run(system(&table).unwrap(), &config);
        assert_eq!(last(&run, &rows, "copy.y"), 0.5, "fresh, and never extrapolated");
        // Parallel: 10 + 5 - 4; in sequence the sink knows what count has become.
        let expected = if config.schedule == ScheduleConfig::PARALLEL { 11.0 } else { 1.5 };
        assert!((last(&run, &rows, "sink.y") - expected).abs() < 1e-12);
    }
    config.schedule = ScheduleConfig::PARALLEL;
    let mut run = Run::new(system(&table[..3]).unwrap(), &config).unwrap();
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    assert!(error.to_string().contains("`count.y -> "), "{error}");
    assert!(error.to_string().contains("no entry for 3 (t = 3 s)"), "{error}");
    for (map, words) in [(&[(0.5, 1.0)][..], "no whole number"), (&[(1.0, 1.0), (1.0, 2.0)], "twice")] {
        assert!(system(map).err().unwrap().to_string().contains(words));
    }
}

/// Rows at one time are a jump, for a parameter as for an input: the first value before, the last from then on.
#[test]
fn a_table_that_begins_with_a_jump_has_its_first_value_before() {
    let of = |target: &str, start: f64, times: &[f64], values: &[f64]| {
        let mass = models::build("mass", &BTreeMap::new()).unwrap();
        let table = ExternalConfig::Table {
            times: times.to_vec(),
            values: values.to_vec(),
            interpolation: Interpolation::Previous,
        };
        let system = SystemBuilder::new()
            .add("a", OdeModel::new(mass, &SolverConfig::Exact {}).unwrap())
            .external(target, table)
            .build()
            .unwrap();
        let record = Record::Many(vec![target.into()]);
        let (table, ..) = run(system, &RunConfig { start, record, ..RunConfig::new(start + 2.0, 0.5) });
        table.column(0).collect::<Vec<f64>>()
    };
    // Values at the start of each of the four steps.
    let cases: [(&[f64], &[f64], [f64; 4]); 5] = [
        (&[1.0, 1.0, 1.5], &[5.0, 7.0, 9.0], [5.0, 5.0, 7.0, 9.0]),
        (&[1.0, 1.0, 1.0], &[5.0, 6.0, 7.0], [5.0, 5.0, 7.0, 7.0]),
        (&[0.5, 0.5, 1.0, 1.0], &[5.0, 7.0, 6.0, 8.0], [5.0, 7.0, 8.0, 8.0]),
        // At or before the start the last value counts.
        (&[0.0, 0.0, 1.5], &[5.0, 7.0, 9.0], [7.0, 7.0, 7.0, 9.0]),
        (&[-1.0, -1.0, 1.0, 1.0], &[5.0, 7.0, 7.0, 8.0], [7.0, 7.0, 8.0, 8.0]),
    ];
    for start in [0.0, 0.25] {
        for (times, values, expected) in cases {
            let times: Vec<f64> = times.iter().map(|time| time + start).collect();
            assert_eq!(of("a.F", start, &times, values)[..4], expected, "{times:?}");
            // A row shows the parameter of the step that ended there.
            assert_eq!(of("a.m", start, &times, values)[1..], expected, "{times:?}");
        }
    }
}

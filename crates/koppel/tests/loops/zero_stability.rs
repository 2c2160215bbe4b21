//! Radii of the step matrix with frozen states, against closed forms and the growth that is seen.

use crate::cases::case;
use crate::members::Static;
use koppel::analysis::zero_stability;
use koppel::coupling::{CouplingConfig, Hold, RelaxedConfig, StartUp};
use koppel::linalg::{Matrix, spectral_radius};
use koppel::run::{Change, Reading, Run, RunConfig, ScheduleConfig};
use koppel::system::{Connection, System, SystemBuilder};
use std::collections::BTreeMap;

fn stale(coupling: CouplingConfig) -> RunConfig {
    RunConfig { reading: Reading::Stale, coupling, ..RunConfig::new(1.0, 1e-3) }
}

fn holds() -> [(CouplingConfig, f64); 3] {
    [
        (CouplingConfig::zoh(), 0.949),
        (CouplingConfig::foh(StartUp::Constant), 2.05),
        (CouplingConfig::soh(StartUp::Constant), 3.16),
    ]
}

#[test]
fn the_feed_through_pair_depends_on_the_hold() {
    for (coupling, expected) in holds() {
        let config = stale(coupling);
        let mut run = Run::new(case("feedthrough-pair").unwrap().system().unwrap(), &config).unwrap();
        let report = zero_stability(&mut run, &config);
        println!("{:?}: {}", config.coupling, report.zero_stability_radius);
        assert!((report.zero_stability_radius - expected).abs() < 5e-3, "{report:?}");
        assert!((report.loops[0].gain - 0.9_f64.sqrt()).abs() < 1e-9);
        assert_eq!(report.zero_stable, expected < 1.0);
    }
}

fn pair(a: f64, b: f64) -> System {
    SystemBuilder::new()
        .add("first", Static::gain(a, 1.0))
        .add("second", Static::gain(b, -0.3))
        .connect(Connection::new("first.y", "second.u"))
        .connect(Connection::new("second.y", "first.u"))
        .build()
        .unwrap()
}

/// Growth per step of the distance to the solution in a run that a timed change has pushed away from it.
fn growth(coupling: CouplingConfig, a: f64, b: f64) -> f64 {
    let kick = Change { time: 0.01, set: BTreeMap::from([("first.e".into(), 1.0)]) };
    let config = RunConfig { stop: 0.2, at: vec![kick], ..stale(coupling) };
    let first = Static::new(&[("u", 0.0), ("e", 0.0)], &["y"], move |u, y| y[0] = a * u[0] + u[1]);
    let system = SystemBuilder::new()
        .add("first", first)
        .add("second", Static::gain(b, -0.3))
        .connect(Connection::new("first.y", "second.u"))
        .connect(Connection::new("second.y", "first.u"))
        .build()
        .unwrap();
    let mut run = Run::new(system, &config).unwrap();
    let solution = (1.0 - 0.3 * a) / (1.0 - a * b);
    let mut seen = Vec::new();
    let first = run.graph().find("first").unwrap();
    while !run.is_done() {
        run.advance().unwrap();
        seen.push((run.outputs(first)[0] - solution).abs());
    }
    // Largest over a few steps at both ends: the distance may swing.
    let most = |from: usize| seen[from..from + 40].iter().fold(0.0_f64, |most, d| most.max(*d));
    (most(150) / most(50)).powf(0.01)
}

#[test]
fn schedules_and_holds_have_the_radius_of_their_recursion() {
    let (a, b) = (1.3, -0.8);
    let gain: f64 = a * b;
    let order = ScheduleConfig::Order(vec!["first".into(), "second".into()]);
    // Parallel: y1' = a y2, y2' = b y1; in sequence y1' = a y2, y2' = b y1' with constant inputs.
    let zoh = CouplingConfig::zoh();
    let cases = [
        (stale(zoh.clone()), gain.abs().sqrt()),
        (RunConfig { schedule: order.clone(), ..stale(zoh.clone()) }, gain.abs()),
        // u' = u + (v - u): the input ends at the newest value.
        (RunConfig { hold: Hold::Continuous, ..stale(zoh) }, gain.abs().sqrt()),
        // w' = w/2 + v/2 on both inputs: v1 = a w1, v2 = b w2.
        (stale(CouplingConfig::from(RelaxedConfig { alpha: 0.5 })), {
            let m = Matrix::from_slice(2, 2, &[0.5, 0.5 * b, 0.5 * a, 0.5]);
            spectral_radius(&m).unwrap()
        }),
        (stale(CouplingConfig::foh(StartUp::Constant)), {
            // u' = 2 v - v_old.
            let m = [0.0, 2.0 * a, 0.0, -a, 2.0 * b, 0.0, -b, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
            spectral_radius(&Matrix::from_slice(4, 4, &m)).unwrap()
        }),
    ];
    for (config, expected) in cases {
        let mut run = Run::new(pair(a, b), &config).unwrap();
        let report = zero_stability(&mut run, &config);
        assert!((report.zero_stability_radius - expected).abs() < 1e-6, "{report:?} {expected}");
    }
}

#[test]
fn the_radius_is_the_growth_that_is_seen() {
    for (a, b) in [(1.1, -0.95), (0.99, 0.98), (0.95, -0.99)] {
        for (coupling, _) in holds() {
            let config = stale(coupling.clone());
            let mut run = Run::new(pair(a, b), &config).unwrap();
            let radius = zero_stability(&mut run, &config).zero_stability_radius;
            let seen = growth(coupling, a, b);
            assert!((seen / radius - 1.0).abs() < 0.01, "{a} {b}: {seen} {radius}");
        }
    }
}

#[test]
fn systems_without_algebraic_loops_are_zero_stable() {
    for name in ["dual-mass", "control-loop", "quarter-truck", "helicopter"] {
        let case = case(name).unwrap();
        for coupling in holds() {
            let config = RunConfig { reading: Reading::Stale, coupling: coupling.0, ..case.run.clone() };
            let mut run = Run::new(case.system().unwrap(), &config).unwrap();
            let report = zero_stability(&mut run, &config);
            assert!(report.zero_stable && report.loops.is_empty() && report.zero_stability_radius == 0.0);
        }
    }
}

#[test]
fn units_do_not_matter() {
    // The same loop with signals of very different size.
    let build = |scale: f64| {
        SystemBuilder::new()
            .add("first", Static::gain(1.5 * scale, 0.0))
            .add("second", Static::gain(-0.9 / scale, 0.0))
            .connect(Connection::new("first.y", "second.u"))
            .connect(Connection::new("second.y", "first.u"))
            .build()
            .unwrap()
    };
    for scale in [1e-9, 1.0, 1e12] {
        for reading in [Reading::Stale, Reading::Fresh] {
            let config = RunConfig { reading, ..RunConfig::new(1.0, 1e-3) };
            let mut run = Run::new(build(scale), &config).unwrap();
            let report = zero_stability(&mut run, &config);
            let expected = if reading == Reading::Stale { 1.35_f64.sqrt() } else { 0.0 };
            assert!((report.zero_stability_radius - expected).abs() < 1e-6, "{scale}: {report:?}");
        }
    }
}

#[test]
fn every_method_can_be_judged() {
    for (method, _) in CouplingConfig::METHODS.iter().filter(|(name, _)| !["mixed", "auto"].contains(name)) {
        for reading in [Reading::Stale, Reading::Fresh] {
            let coupling: CouplingConfig =
                serde_json::from_str(&format!("{{\"method\":\"{method}\"}}")).unwrap();
            let config = RunConfig { reading, coupling, ..RunConfig::new(1.0, 1e-3) };
            let system = case("feedthrough-pair").unwrap().system().unwrap();
            let mut run = Run::new(system, &config).unwrap();
            let report = zero_stability(&mut run, &config);
            println!("{method}, {reading:?}: {:?} {:?}", report.loops[0].radius, report.loops[0].problem);
            assert!(report.loops[0].radius.is_some(), "{method}: {report:?}");
        }
    }
}

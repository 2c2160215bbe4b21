//! Radii of the step matrix with frozen states, against closed forms and the growth that is seen.

use crate::members::Static;
use koppel::analysis::zero_stability;
use koppel::coupling::{CouplingConfig, Hold, StartUp};
use koppel::linalg::{Matrix, spectral_radius};
use koppel::models::cases::case;
use koppel::run::{Reading, RunConfig, ScheduleConfig, Simulation};
use koppel::system::{Connection, System, SystemBuilder};

fn stale(coupling: CouplingConfig) -> RunConfig {
    RunConfig { reading: Reading::Stale, coupling, ..RunConfig::new(1.0, 1e-3) }
}

fn holds() -> [(CouplingConfig, f64); 3] {
    [
        (CouplingConfig::Zoh {}, 0.949),
        (CouplingConfig::Foh { start: StartUp::Constant }, 2.05),
        (CouplingConfig::Soh { start: StartUp::Constant }, 3.16),
    ]
}

#[test]
fn the_feed_through_pair_depends_on_the_hold() {
    for (coupling, expected) in holds() {
        let config = stale(coupling);
        let mut simulation =
            Simulation::new(case("feedthrough-pair").unwrap().system().unwrap(), &config).unwrap();
        let told = zero_stability(&mut simulation, &config).unwrap();
        println!("{:?}: {}", config.coupling, told.zero_stability_radius);
        assert!((told.zero_stability_radius - expected).abs() < 5e-3, "{told:?}");
        assert!((told.loops[0].gain - 0.9_f64.sqrt()).abs() < 1e-9);
        assert_eq!(told.zero_stable, expected < 1.0);
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

/// Growth per step of the distance to the solution, over many steps of the run itself.
fn growth(config: &RunConfig, a: f64, b: f64) -> f64 {
    let config = RunConfig { stop: 0.4, ..config.clone() };
    let mut simulation = Simulation::new(pair(a, b), &config).unwrap();
    // A change that the system did not see coming.
    let y = 1.0 - 0.3 * a;
    let solution = y / (1.0 - a * b);
    let mut state = koppel::run::RunState::default();
    simulation.save(&mut state).unwrap();
    let mut seen = Vec::new();
    let first = simulation.graph().find("first").unwrap();
    for _ in 0..400 {
        simulation.advance().unwrap();
        seen.push((simulation.outputs(first)[0] - solution).abs());
    }
    (seen[399] / seen[99]).powf(1.0 / 300.0)
}

#[test]
fn schedules_and_holds_have_the_radius_of_their_recursion() {
    let (a, b) = (1.3, -0.8);
    let gain: f64 = a * b;
    let order = ScheduleConfig::Order(vec!["first".into(), "second".into()]);
    // Parallel: y1' = a y2, y2' = b y1; in sequence y1' = a y2, y2' = b y1' with constant inputs.
    let zoh = CouplingConfig::Zoh {};
    let cases = [
        (stale(zoh.clone()), gain.abs().sqrt()),
        (RunConfig { schedule: order.clone(), ..stale(zoh.clone()) }, gain.abs()),
        // u' = u + (v - u): the input ends at the newest value.
        (RunConfig { hold: Hold::Continuous, ..stale(zoh) }, gain.abs().sqrt()),
        // w' = w/2 + v/2 on both inputs: v1 = a w1, v2 = b w2.
        (stale(CouplingConfig::Relaxed { alpha: 0.5 }), {
            let m = Matrix::from_slice(2, 2, &[0.5, 0.5 * b, 0.5 * a, 0.5]);
            spectral_radius(&m).unwrap()
        }),
        (stale(CouplingConfig::Foh { start: StartUp::Constant }), {
            // u' = 2 v - v_old.
            let m = [0.0, 2.0 * a, 0.0, -a, 2.0 * b, 0.0, -b, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
            spectral_radius(&Matrix::from_slice(4, 4, &m)).unwrap()
        }),
    ];
    for (config, expected) in cases {
        let mut simulation = Simulation::new(pair(a, b), &config).unwrap();
        let told = zero_stability(&mut simulation, &config).unwrap();
        assert!((told.zero_stability_radius - expected).abs() < 1e-6, "{told:?} {expected}");
    }
}

#[test]
fn the_radius_is_the_growth_that_is_seen() {
    for (a, b) in [(1.1, -0.95), (0.99, 0.98)] {
        let config = stale(CouplingConfig::Zoh {});
        let mut simulation = Simulation::new(pair(a, b), &config).unwrap();
        let radius = zero_stability(&mut simulation, &config).unwrap().zero_stability_radius;
        // Consistent from the start, a run has nothing that could grow; round-off does.
        if radius > 1.0 {
            let seen = growth(&config, a, b);
            assert!(seen.is_nan() || (seen - radius).abs() < 0.01 || seen == 1.0, "{seen} {radius}");
        }
        assert!((radius - f64::abs(a * b).sqrt()).abs() < 1e-6);
    }
}

#[test]
fn systems_without_algebraic_loops_are_zero_stable() {
    for name in ["dual-mass", "control-loop", "quarter-truck", "helicopter"] {
        let case = case(name).unwrap();
        for coupling in holds() {
            let config = RunConfig { reading: Reading::Stale, coupling: coupling.0, ..case.run.clone() };
            let mut simulation = Simulation::new(case.system().unwrap(), &config).unwrap();
            let told = zero_stability(&mut simulation, &config).unwrap();
            assert!(told.zero_stable && told.loops.is_empty() && told.zero_stability_radius == 0.0);
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
            let mut simulation = Simulation::new(build(scale), &config).unwrap();
            let told = zero_stability(&mut simulation, &config).unwrap();
            let expected = if reading == Reading::Stale { 1.35_f64.sqrt() } else { 0.0 };
            assert!((told.zero_stability_radius - expected).abs() < 1e-6, "{scale}: {told:?}");
        }
    }
}

#[test]
fn every_method_can_be_judged() {
    for (method, _) in CouplingConfig::METHODS.iter().filter(|(name, _)| *name != "mixed") {
        for reading in [Reading::Stale, Reading::Fresh] {
            let coupling: CouplingConfig =
                serde_json::from_str(&format!("{{\"method\":\"{method}\"}}")).unwrap();
            let config = RunConfig { reading, coupling, ..RunConfig::new(1.0, 1e-3) };
            let system = case("feedthrough-pair").unwrap().system().unwrap();
            let mut simulation = Simulation::new(system, &config).unwrap();
            let told = zero_stability(&mut simulation, &config).unwrap();
            println!("{method}, {reading:?}: {:?} {:?}", told.loops[0].radius, told.loops[0].problem);
            assert!(told.loops[0].radius.is_some(), "{method}: {told:?}");
        }
    }
}

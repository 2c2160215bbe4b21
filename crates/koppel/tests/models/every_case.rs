//! Every case runs, and its co-simulation tends to its reference.

use super::{range, reference_run, run};
use crate::cases::{Case, case, cases, random_dual_mass_case};
use koppel::Error;
use koppel::run::RunConfig;

/// Largest error of any output, relative to the range of its reference.
fn error(case: &Case, step: f64) -> f64 {
    let config = RunConfig { step, ..case.run.clone() };
    let graph = case.system().unwrap().graph;
    let (names, table) = run(case.system().unwrap(), &config).unwrap();
    let (reference_names, reference) = reference_run(case, &config).unwrap();
    assert_eq!(table.times, reference.times, "{}", case.name);
    let mut worst = 0.0_f64;
    for output in 0..graph.outputs() {
        let name = graph.output_name(output);
        let ours = names.iter().position(|n| *n == name).unwrap();
        let theirs = reference_names.iter().position(|n| *n == format!("monolith.{name}")).unwrap();
        let (low, high) = range(reference.column(theirs));
        assert!(high > low, "{}: {name} does not move", case.name);
        let pairs = table.column(ours).zip(reference.column(theirs));
        worst = worst.max(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / (high - low));
    }
    worst
}

/// Bounds of the error at the case's step and at a tenth of it. Order 1 with zero-order hold, order 2 with first-order
/// hold; pulses and jumps between communication points cost more at the larger step.
const BOUNDS: &[(&str, f64, f64)] = &[
    ("dual-mass", 0.06, 6e-3),
    ("nonlinear-dual-mass", 0.07, 5e-3),
    ("pendulum-oscillator", 2e-3, 1e-5),
    ("helicopter", 0.06, 6e-3),
    ("helicopter-2", 0.15, 0.015),
    ("helicopter-3", 0.1, 0.01),
    ("helicopter-4", 0.06, 6e-3),
    ("helicopter-5", 0.06, 6e-3),
    ("random-dual-mass", 0.22, 0.02),
    ("two-mass", 0.03, 3e-3),
    ("two-mass-displacement", 0.03, 3e-3),
    ("undamped-two-mass", 6e-3, 6e-5),
    ("control-loop", 0.04, 4e-3),
    ("integral-loop", 0.05, 5e-3),
    ("feedthrough-pair", 0.04, 4e-3),
    ("quarter-truck", 0.02, 2e-3),
    ("quarter-truck-wheel-force", 0.03, 3e-3),
    ("lugre-mass", 2e-3, 2e-5),
    // The friction turns from one sign to the other within milliseconds.
    ("epas", 0.5, 0.1),
    ("epas-fast", 0.9, 0.12),
    ("van-der-pol", 1e-3, 1e-5),
];

#[test]
fn every_case_converges_to_its_reference() {
    let listed: Vec<&str> = BOUNDS.iter().map(|(name, ..)| *name).collect();
    let all: Vec<&str> = cases().filter(|name| *name != "double-pendulum").collect();
    assert_eq!(listed, all, "every case has its bounds in `BOUNDS`, in the order of `CASES`");
    for &(name, at_step, at_tenth) in BOUNDS {
        let case = case(name).unwrap();
        let (coarse, fine) = (error(&case, case.run.step), error(&case, case.run.step / 10.0));
        assert!(coarse < at_step && fine < at_tenth, "{name}: {coarse:.3e}, a tenth of the step {fine:.3e}");
        assert!(fine < 0.2 * coarse, "{name}: {coarse:.3e}, a tenth of the step {fine:.3e}");
    }
}

#[test]
fn the_double_pendulum_has_no_graph_reference() {
    let error = case("double-pendulum").unwrap().reference().err().unwrap();
    assert!(matches!(*error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn unknown_cases_list_the_known() {
    let error = case("dual-mas").err().unwrap();
    assert!(error.to_string().contains("did you mean `dual-mass`"), "{error}");
}

#[test]
fn seeds_make_different_cases() {
    let (a, b) = (random_dual_mass_case(1), random_dual_mass_case(2));
    assert_ne!(a.parts, b.parts);
    assert_eq!(random_dual_mass_case(17), case("random-dual-mass").unwrap());
}

/// Pilot 1 gives one command at a time, without a jump (Genser 2020, 4.1.2).
#[test]
fn pilot_one_gives_one_command_at_a_time() {
    let case = case("helicopter").unwrap();
    let graph = case.system().unwrap().graph;
    let command = |t: f64, name: &str| -> f64 {
        let to = graph.find_input(&format!("controller.e_{name}")).unwrap();
        graph.externals().iter().filter(|(input, _)| *input == to).map(|(_, signal)| signal.value(t)).sum()
    };
    let names = ["heave", "pitch", "roll", "heading_rate"];
    let mut before = [0.0; 4];
    let mut largest = [0.0_f64; 4];
    for k in 0..=15_000 {
        let now = names.map(|name| command(f64::from(k) * 0.01, name));
        assert!(now.iter().filter(|v| v.abs() > 1e-12).count() <= 1, "t = {}", f64::from(k) * 0.01);
        for i in 0..4 {
            assert!((now[i] - before[i]).abs() < 4e-3, "{} jumps at {}", names[i], f64::from(k) * 0.01);
            largest[i] = largest[i].max(now[i].abs());
        }
        before = now;
    }
    for (found, expected) in largest.iter().zip([0.5, 0.1, 0.1, 0.05]) {
        assert!((found - expected).abs() < 1e-4 * expected, "{largest:?}");
    }
}

//! VFPS: how far it reaches, and what it does where it cannot reach.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/cases/mod.rs"]
mod cases;
mod fresh;
#[expect(dead_code, reason = "the experiment `steps` uses the rest")]
mod problems;
mod trouble;

use koppel::coupling::{Against, CouplingConfig, NepceConfig, StartUp, VfpsConfig};
use problems::Problem;

fn vfps() -> CouplingConfig {
    CouplingConfig::from(VfpsConfig::default())
}

/// The yardstick: couplings that know nothing of the subsystems.
fn signal_based() -> [CouplingConfig; 3] {
    let nepce =
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false });
    [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::Constant), nepce]
}

fn problem(name: &str) -> Problem {
    problems::problems().into_iter().find(|problem| problem.name.starts_with(name)).unwrap()
}

/// Error of at most 5 % at this step and the smaller ones that are tried, down to a tenth of it.
fn reaches(name: &str, limit: f64) {
    let problem = problem(name);
    assert!(problem.steps.contains(&limit), "{limit} ms is one of the steps");
    for step in problem.steps.iter().filter(|step| (0.1 * limit..=limit).contains(*step)) {
        let error = problem.error(&vfps(), *step);
        assert!(error <= 0.05, "{name} at {step} ms: {error}");
    }
}

#[test]
fn linear_systems_allow_steps_far_beyond_signal_based_couplings() {
    reaches("dual mass, linear", 20.0);
    reaches("quarter truck", 100.0);
    reaches("PI-PT1", 500.0);
    reaches("feed-through pair", 200.0);
}

#[test]
fn nonlinear_systems_allow_large_steps() {
    reaches("van der Pol", 100.0);
    reaches("pendulum", 60.0);
    reaches("dual mass, non-linear", 4.0);
    reaches("LuGre mass, stick", 60.0);
}

/// Between sticking and sliding no linear model is right: a step that cannot be taken again must be small.
#[test]
fn friction_needs_steps_that_can_be_taken_again() {
    let once = CouplingConfig::from(VfpsConfig { trials: 1, ..VfpsConfig::default() });
    let problem = problem("LuGre mass, stick");
    assert!(problem.error(&once, 20.0) <= 0.05);
    assert!(problem.error(&once, 60.0) > 0.5);
}

#[test]
fn the_helicopter_allows_large_steps() {
    let mut problem = problem("helicopter");
    problem.case.run.stop = 60.0;
    for step in [100.0, 300.0, 500.0] {
        let error = problem.error(&vfps(), step);
        assert!(error <= 0.05, "at {step} ms: {error}");
    }
}

/// Where the best of the signal-based couplings is good, VFPS is never much worse.
#[test]
fn no_worse_than_the_best_signal_based_coupling() {
    let others = signal_based();
    for problem in problems::problems().iter_mut() {
        problem.case.run.stop = problem.case.run.stop.min(30.0);
        for step in problem.steps.iter().step_by(4) {
            let best = others.iter().map(|c| problem.error(c, *step)).fold(f64::INFINITY, f64::min);
            if best <= 0.05 {
                let error = problem.error(&vfps(), *step);
                // Errors below 0.2 % are those of the experiment.
                assert!(
                    error <= (1.2 * best).max(2e-3),
                    "{} at {step} ms: {error} against {best}",
                    problem.name
                );
            }
        }
    }
}

#[test]
fn the_largest_step_is_found() {
    assert_eq!(problem("PI-PT1").largest_step(&vfps()), 1000.0);
    assert_eq!(problem("PI-PT1").largest_step(&CouplingConfig::foh(StartUp::Constant)), 70.0);
}

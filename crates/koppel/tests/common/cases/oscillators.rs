//! Oscillators that are cut at a spring.

use super::random;
use super::{Case, Part};
use koppel::coupling::CouplingConfig;
use koppel::run::{Reading, RunConfig};
use koppel::signal::external::{ExternalConfig, Modulation};
use koppel::solver::SolverConfig;
use std::f64::consts::{PI, TAU};

const EXACT: SolverConfig = SolverConfig::Exact {};

pub(super) fn foh() -> CouplingConfig {
    CouplingConfig::foh(Default::default())
}

/// Genser 2020, 3.1.
pub(super) fn dual_mass() -> Case {
    let euler = SolverConfig::Euler { step: 1e-5 };
    Case::new("Dual-mass oscillator (Genser 2020, 3.1)", RunConfig::new(0.2, 1e-3))
        .part("left", "mass", &[("x0", 0.1)], euler)
        .part("right", "spring-mass", &[], euler)
        .force_for_motion("left", "right")
}

/// Genser 2020, 3.1.1 and 3.1.2; the pulses are 1 ms wide, because one of a single micro step excites nothing.
pub(super) fn nonlinear_dual_mass() -> Case {
    let euler = SolverConfig::Euler { step: 1e-5 };
    let pulses = ExternalConfig::Pulses {
        amplitude: 5e5,
        period: 0.05,
        width: 1e-3,
        start: 0.0,
        offset: 0.0,
        stop: None,
        modulation: Some(Modulation { frequency: 10.0 / TAU, phase: 0.0 }),
    };
    Case::new(
        "Dual-mass oscillator with a progressive spring (Genser 2020, 3.1.1)",
        RunConfig::new(0.5, 5e-4),
    )
    .part("left", "mass", &[("x0", 0.1)], euler)
    .part("right", "progressive-spring-mass", &[], euler)
    .force_for_motion("left", "right")
    .external("left.F_ext", pulses)
}

/// Genser & Benedikt 2018, 3.1.
pub(super) fn pendulum_oscillator() -> Case {
    let euler = SolverConfig::Euler { step: 1e-4 };
    let run = RunConfig { coupling: foh(), ..RunConfig::new(1.0, 2e-3) };
    Case::new("Stiff pendulum-oscillator (Genser & Benedikt 2018, 3.1)", run)
        .part("pendulum", "pendulum", &[], euler)
        .part("oscillator", "oscillator", &[], euler)
        .connect("oscillator.x", "pendulum.x")
        .connect("oscillator.v", "pendulum.v")
        .connect("pendulum.alpha", "oscillator.alpha")
        .connect("pendulum.omega", "oscillator.omega")
}

/// The seed of the case that is not asked for by seed.
const SEED: u64 = 17;

/// Chen et al. 2021, 4.1, with an unremarkable system.
pub(super) fn random_dual_mass() -> Case {
    random_dual_mass_case(SEED)
}

/// The random dual-mass system of a seed (Chen et al. 2021, 4.1): Euler 1 ms, H = 50 ms, the force read stale, pushes
/// of 1 N on mass 2 after one and four seconds. The paper does not say how long they last; here 0.1 s.
pub(crate) fn random_dual_mass_case(seed: u64) -> Case {
    let solver = SolverConfig::Euler { step: 1e-3 };
    let [first, second] = random::random_dual_mass(seed).parameters();
    let part = |name: &str, model: &str, parameters| Part {
        name: name.into(),
        model: model.into(),
        parameters,
        solver,
    };
    let pushes = ExternalConfig::Pulses {
        amplitude: 1.0,
        period: 3.0,
        width: 0.1,
        start: 1.0,
        offset: 0.0,
        stop: None,
        modulation: None,
    };
    let run = RunConfig { reading: Reading::Stale, ..RunConfig::new(5.0, 0.05) };
    let mut case = Case::new("Random dual-mass oscillator (Chen et al. 2021, 4.1)", run)
        .connect("second.v", "first.v")
        .connect("first.F", "second.F")
        .external("second.F_ext", pushes);
    case.name = "random-dual-mass";
    case.parts = vec![part("first", "velocity-spring-mass", first), part("second", "mass", second)];
    case
}

/// Glumac & Kovacic 2018, (39)-(41).
pub(super) fn two_mass() -> Case {
    let first = [("m", 10.0), ("c", 1.0), ("d", 1.0), ("ck", 1.0), ("dk", 2.0), ("x0", 0.1), ("v0", 0.1)];
    let second = [("m", 10.0), ("c", 1.0), ("d", 2.0), ("x0", 0.2), ("v0", 0.1)];
    Case::new(
        "Two-mass oscillator, force for displacement (Glumac & Kovacic 2018)",
        RunConfig::new(50.0, 0.2),
    )
    .part("first", "spring-mass", &first, EXACT)
    .part("second", "mass", &second, EXACT)
    .force_for_motion("second", "first")
}

/// Glumac & Kovacic 2018, (41), each mass with its own copy of the coupling spring.
pub(super) fn two_mass_displacement() -> Case {
    let common = [("m", 10.0), ("c", 1.0), ("ck", 1.0), ("dk", 2.0), ("v0", 0.1)];
    let with = |d: f64, x0: f64| [&common[..], &[("d", d), ("x0", x0)]].concat();
    Case::new("Two-mass oscillator, displacement for displacement", RunConfig::new(50.0, 0.2))
        .part("first", "displacement-mass", &with(1.0, 0.1), EXACT)
        .part("second", "displacement-mass", &with(2.0, 0.2), EXACT)
        .connect("second.x", "first.x_other")
        .connect("second.v", "first.v_other")
        .connect("first.x", "second.x_other")
        .connect("first.v", "second.v_other")
}

/// Nothing takes energy out, so every error of the coupling stays.
pub(super) fn undamped_two_mass() -> Case {
    let (outer, middle) = (4.0 * PI * PI, 16.0 * PI * PI);
    let left = [("m", 1.0), ("c", outer), ("d", 0.0), ("x0", 1.0)];
    let right = [("m", 1.0), ("c", outer), ("d", 0.0), ("ck", middle), ("dk", 0.0)];
    let run = RunConfig { coupling: foh(), ..RunConfig::new(3.0, 2e-3) };
    Case::new("Two masses without damping", run)
        .part("left", "mass", &left, EXACT)
        .part("right", "spring-mass", &right, EXACT)
        .force_for_motion("left", "right")
}

/// A limit cycle that drags a mass along.
pub(super) fn van_der_pol() -> Case {
    let mass = [("m", 1.0), ("c", 1.0), ("d", 0.1), ("ck", 1.0), ("dk", 0.1)];
    let run = RunConfig { coupling: foh(), ..RunConfig::new(30.0, 0.02) };
    Case::new("Van der Pol oscillator with a spring mass", run)
        .part("oscillator", "van-der-pol", &[], SolverConfig::default())
        .part("mass", "spring-mass", &mass, EXACT)
        .force_for_motion("oscillator", "mass")
}

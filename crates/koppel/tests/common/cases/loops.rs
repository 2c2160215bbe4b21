//! Control loops and algebraic loops.

use super::Case;
use super::oscillators::foh;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::Connection;

const EXACT: SolverConfig = SolverConfig::Exact {};

/// Kübler & Schiehlen 2000, 5.
pub(super) fn double_pendulum() -> Case {
    let solver = SolverConfig::default();
    let run = RunConfig { coupling: foh(), ..RunConfig::new(5.0, 1e-3) };
    Case::new("Double pendulum cut at its hinge: an algebraic loop (Kübler & Schiehlen 2000, 5)", run)
        .part("upper", "upper-pendulum", &[("beta", 1.0)], solver)
        .part("lower", "lower-pendulum", &[], solver)
        .connect("lower.F1", "upper.F1")
        .connect("lower.F2", "upper.F2")
        .connect("upper.a1", "lower.a1")
        .connect("upper.a2", "lower.a2")
}

pub(super) fn control_loop() -> Case {
    closed_loop(
        "PI controller and first-order plant",
        &[("KP", 10.0), ("KI", 10.0)],
        RunConfig::new(5.0, 0.02),
    )
}

pub(super) fn integral_loop() -> Case {
    closed_loop(
        "Integral controller and first-order plant",
        &[("KP", 0.0), ("KI", 1.0)],
        RunConfig::new(20.0, 0.1),
    )
}

/// e = r - y with r = 1 from the start.
fn closed_loop(title: &'static str, gains: &[(&str, f64)], run: RunConfig) -> Case {
    let mut case = Case::new(title, run)
        .part("controller", "pi-controller", gains, EXACT)
        .part("plant", "pt1", &[], EXACT)
        .connect("controller.u", "plant.u")
        .external("controller.e", ExternalConfig::Constant { value: 1.0 });
    case.connections.push(Connection::new("plant.y", "controller.e").gain(-1.0));
    case
}

/// Largest stable steps: docs/problems.md.
pub(super) fn feedthrough_pair() -> Case {
    let second = [("a", -1.0), ("b", 10.0), ("c", -31.0), ("d", -0.9), ("x0", 0.0)];
    Case::new("Two scalar systems with feed-through both ways", RunConfig::new(2.0, 1e-3))
        .part("first", "feedthrough", &[("x0", 1.0)], EXACT)
        .part("second", "feedthrough", &second, EXACT)
        .connect("second.y", "first.u")
        .connect("first.y", "second.u")
}

//! What the certificate of a run costs: time per macro step beyond that of the same run without it.
//!
//! Native models, zero-order hold, one thread, nothing recorded: masses in a ring, with two states each, or in a chain. "No model":
//! subsystems that offer no linear model, as most FMUs: outputs are kept for shadows, whose cost is not counted here. Rounds of both
//! sides alternate and the fastest of each counts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

#[path = "../tests/common/plain.rs"]
mod plain;

use koppel::analysis::Certifier;
use koppel::coupling::CouplingConfig;
use koppel::linalg::Matrix;
use koppel::run::{Parallel, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, LinearOde, OdeModel, StateSpace, System, SystemBuilder, Variable};
use plain::Plain;
use std::time::Instant;

const ROUNDS: u64 = 200;
/// Steps of all subsystems together, in a round.
const STEPS: u64 = 2000;

/// A mass on a spring that carries the springs to its neighbours.
fn mass(x0: f64) -> OdeModel {
    let matrix = Matrix::from_slice;
    let matrices = StateSpace::new(
        "mass",
        matrix(2, 2, &[0.0, 1.0, -30.0, -0.5]),
        matrix(2, 1, &[0.0, 1.0]),
        matrix(1, 2, &[10.0, 0.1]),
        matrix(1, 1, &[0.0]),
    );
    let ode =
        LinearOde::new(matrices.unwrap(), vec![Variable::new("u")], vec![Variable::new("y")], &[x0, 0.0]);
    OdeModel::new(Box::new(ode.unwrap()), &SolverConfig::Exact {}).unwrap()
}

/// Masses in a ring, or in a chain, each pulled by the next.
fn ring(count: usize, shape: &str, is_hidden: bool) -> System {
    let mut builder = SystemBuilder::new();
    for k in 0..count {
        builder = builder.add(&format!("m{k}"), mass(if k == 0 { 1.0 } else { 0.0 }));
    }
    for k in 0..if shape == "ring" { count } else { count - 1 } {
        let (from, to) = (format!("m{}.y", (k + 1) % count), format!("m{k}.u"));
        builder = builder.connect(Connection::new(&from, &to));
    }
    let system = builder.build().unwrap();
    if is_hidden { plain::each(system, |inner| Plain::new(inner, None)) } else { system }
}

fn run(count: usize, shape: &str, is_hidden: bool) -> Run {
    let mut config = RunConfig::new(ROUNDS as f64 * STEPS as f64 * 1e-2, 1e-2);
    config.threads = Parallel::Never;
    Run::new(ring(count, shape, is_hidden), &config).unwrap()
}

fn main() {
    println!("| subsystems | shape | states | without, µs | with, µs | the certificate, µs | ratio |");
    println!("| ---: | --- | --- | ---: | ---: | ---: | ---: |");
    for (count, shape, is_hidden) in [
        (2, "ring", false),
        (20, "ring", false),
        (250, "ring", false),
        (100, "chain", false),
        (300, "chain", false),
        (2, "ring", true),
        (20, "ring", true),
        (250, "ring", true),
    ] {
        let steps = (STEPS / count as u64).max(2);
        let (mut plain, mut certified) = (run(count, shape, is_hidden), run(count, shape, is_hidden));
        let mut certifier = Certifier::new(&mut certified, &CouplingConfig::zoh());
        let (mut without, mut with) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            plain.advance_by(steps).unwrap();
            without = without.min(begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            for _ in 0..steps {
                certified.advance().unwrap();
                certifier.look(&mut certified);
            }
            with = with.min(begin.elapsed().as_secs_f64());
        }
        std::hint::black_box(certifier.certificate(&certified, &mut |_| Err("not made".into())));
        let (without, with) = (without * 1e6 / steps as f64, with * 1e6 / steps as f64);
        let states = if is_hidden { "no model".into() } else { format!("{}", 2 * count) };
        println!(
            "| {count} | {shape} | {states} | {without:.3} | {with:.3} | {:.3} | {:.2} |",
            with - without,
            with / without
        );
    }
}

//! What VFPS costs: time per macro step with ten nodes, beyond that of subsystems moved with as many sub-steps, and the start
//! with probing.
//!
//! The linear dual mass (two subsystems, three signals) and the helicopter (two subsystems, ten signals), one thread, nothing
//! recorded. What a subsystem itself takes is that of a zero-order hold at a tenth of the step. Rounds of both sides alternate and
//! the fastest of each counts.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

#[path = "../tests/common/cases/mod.rs"]
mod cases;

use crate::cases::{Case, case};
use koppel::coupling::{CouplingConfig, VfpsConfig};
use koppel::run::{Parallel, Run, RunConfig};
use std::time::Instant;

const NODES: usize = 10;
const ROUNDS: usize = 60;
const STEPS: u32 = 200;
/// Limits to keep: microseconds per macro step, milliseconds for the start.
const LIMITS: [(&str, f64, f64); 2] = [("dual-mass", 20.0, 50.0), ("helicopter", 300.0, 50.0)];

fn run(case: &Case, coupling: CouplingConfig, parts: f64) -> Run {
    let step = case.run.step / parts;
    let config = RunConfig { coupling, step, stop: 1e9 * step, threads: Parallel::Never, ..case.run.clone() };
    Run::new(case.system().unwrap(), &config).unwrap()
}

fn vfps() -> CouplingConfig {
    CouplingConfig::from(VfpsConfig { nodes: NODES.into(), ..VfpsConfig::default() })
}

/// Seconds of so many steps.
fn time(run: &mut Run, steps: u32) -> f64 {
    let begin = Instant::now();
    (0..steps).for_each(|_| run.advance().unwrap());
    begin.elapsed().as_secs_f64()
}

fn main() {
    println!(
        "| system | VFPS, µs per step | subsystems alone, µs | VFPS itself, µs | limit, µs | start, ms | limit, ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, limit, start_limit) in LIMITS {
        let mut case = case(name).unwrap();
        case.run.step *= 10.0;
        let mut own = run(&case, vfps(), 1.0);
        let mut plain = run(&case, CouplingConfig::zoh(), NODES as f64);
        let (mut with, mut without, mut start) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for round in 0..ROUNDS {
            with = with.min(time(&mut own, STEPS) / f64::from(STEPS));
            without = without.min(time(&mut plain, STEPS * NODES as u32) / f64::from(STEPS));
            if round % 10 == 0 {
                let begin = Instant::now();
                drop(run(&case, vfps(), 1.0));
                start = start.min(begin.elapsed().as_secs_f64());
            }
        }
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {limit} | {:.1} | {start_limit} |",
            with * 1e6,
            without * 1e6,
            (with - without) * 1e6,
            start * 1e3
        );
    }
}

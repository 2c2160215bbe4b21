//! The cost of isolation: two FMUs in a ring, both inside this process, and the same with one of them in a process of its
//! own.
//!
//! `cargo bench --package koppel-fmi --bench isolation` prints microseconds per macro step. Short rounds of both alternate and
//! the fastest of each counts. Both processes need a processor: on a busy machine the figures say little.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends when something fails"
)]

#[path = "../tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod common;
#[path = "../tests/common/reals.rs"]
mod reals;

use common::TestFmu;
use koppel::run::{Parallel, Run, RunConfig};
use koppel::system::{Connection, Subsystem, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};
use koppel_fmi::isolate::{Isolation, Worker, host};
use reals::only_reals;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u64 = 200;
/// Micro step of the FMU.
const MICRO: f64 = 1e-3;

fn main() {
    let fmu = TestFmu::two(&only_reals());
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    println!("| an FMU's own step | both in-process | one isolated | above | of it |");
    println!("| --- | --- | --- | --- | --- |");
    for (micro_steps, steps) in [(1_u32, 1000), (50, 200), (1000, 20), (20_000, 2), (100_000, 1)] {
        let size = f64::from(micro_steps) * MICRO;
        let mut both = ring(&fmu, size, ROUNDS * steps, None);
        let mut one = ring(&fmu, size, ROUNDS * steps, Some(&isolation));
        let (mut inside, mut isolated) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            inside = inside.min(microseconds(&mut both, steps));
            isolated = isolated.min(microseconds(&mut one, steps));
            assert_eq!(both.outputs(0), one.outputs(0), "both compute the same");
        }
        let above = isolated - inside;
        println!(
            "| {:.2} µs | {inside:.2} µs | {isolated:.2} µs | {above:.2} µs | {:.1} % |",
            0.5 * inside,
            100.0 * above / inside
        );
    }
}

/// Microseconds per macro step.
fn microseconds(run: &mut Run, steps: u64) -> f64 {
    let begin = Instant::now();
    run.advance_by(steps).unwrap();
    begin.elapsed().as_secs_f64() * 1e6 / steps as f64
}

/// Two instances, each pushed by a tenth of the other's way; the first may be isolated.
fn ring(fmu: &Arc<Fmu>, size: f64, steps: u64, isolation: Option<&Isolation>) -> Run {
    let options = |name: &str| Options { name: name.into(), ..Options::default() };
    let first: Box<dyn Subsystem> = match isolation {
        Some(isolation) => host(fmu, &options("a"), isolation).unwrap(),
        None => Box::new(CoSimulation::new(fmu, &options("a")).unwrap()),
    };
    let builder =
        SystemBuilder::new().add_boxed("a", first).add("b", CoSimulation::new(fmu, &options("b")).unwrap());
    let builder = builder.connect(Connection::new("a.x", "b.F").gain(0.1));
    let builder = builder.connect(Connection::new("b.x", "a.F").gain(0.1));
    let mut config = RunConfig::new(steps as f64 * size, size);
    config.threads = Parallel::Never;
    Run::new(builder.build().unwrap(), &config).unwrap()
}

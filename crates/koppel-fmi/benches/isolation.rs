//! The cost of isolation: two FMUs in a ring, both inside this process, and the same with one of them in a process of its
//! own, or under Wine, compiled for Windows from the same source.
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
use koppel_fmi::import::{CoSimulation, Options};
use koppel_fmi::isolate::{Isolation, Worker, host};
use koppel_fmi::{Fmu, wine};
use reals::only_reals;
use std::time::Instant;

const ROUNDS: u64 = 200;
/// Micro step of the FMU.
const MICRO: f64 = 1e-3;

fn main() {
    let fmu = TestFmu::two(&only_reals());
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    let windows = wine::Setup::find()
        .is_ok()
        .then(|| Fmu::open(&TestFmu::of("mass2.c", &only_reals(), &[], true).path()).unwrap());
    println!(
        "| an FMU's own step | both in-process | one isolated | above | of it | one under Wine | above |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (micro_steps, steps) in [(1_u32, 1000), (50, 200), (1000, 20), (20_000, 2), (100_000, 1)] {
        let size = f64::from(micro_steps) * MICRO;
        let native = |name: &str| Box::new(CoSimulation::new(&fmu, &options(name)).unwrap());
        // One at a time: a process for which there is no processor sleeps.
        let compare = |first: Box<dyn Subsystem>| {
            let mut both = ring(native("a"), native("b"), size, ROUNDS * steps);
            let mut one = ring(first, native("b"), size, ROUNDS * steps);
            let mut least = [f64::INFINITY; 2];
            for _ in 0..ROUNDS {
                least[0] = least[0].min(microseconds(&mut both, steps));
                least[1] = least[1].min(microseconds(&mut one, steps));
                assert_eq!(both.outputs(0), one.outputs(0), "both compute the same");
            }
            least
        };
        let [inside, isolated] = compare(host(&fmu, &options("a"), &isolation).unwrap());
        let under =
            windows.as_ref().map(|fmu| compare(Box::new(CoSimulation::new(fmu, &options("a")).unwrap())));
        let under =
            under.map_or("- | -".into(), |[inside, wine]| format!("{wine:.2} µs | {:.2} µs", wine - inside));
        let above = isolated - inside;
        println!(
            "| {:.2} µs | {inside:.2} µs | {isolated:.2} µs | {above:.2} µs | {:.1} % | {under} |",
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

fn options(name: &str) -> Options {
    Options { name: name.into(), ..Options::default() }
}

/// Two instances, each pushed by a tenth of the other's way.
fn ring(first: Box<dyn Subsystem>, second: Box<dyn Subsystem>, size: f64, steps: u64) -> Run {
    let builder = SystemBuilder::new().add_boxed("a", first).add_boxed("b", second);
    let builder = builder.connect(Connection::new("a.x", "b.F").gain(0.1));
    let builder = builder.connect(Connection::new("b.x", "a.F").gain(0.1));
    let mut config = RunConfig::new(steps as f64 * size, size);
    config.threads = Parallel::Never;
    Run::new(builder.build().unwrap(), &config).unwrap()
}

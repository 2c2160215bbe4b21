//! The cost of isolation: one step of an FMU inside this process, and the same in a process of its own.
//!
//! `cargo bench --package koppel-fmi --bench isolation` prints microseconds per step, the best of several turns in which the
//! two alternate. Both sides need a processor: on a busy machine the figures say little.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends when something fails"
)]

#[path = "../tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod common;

use common::{MASS2, TestFmu};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::Subsystem;
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};
use koppel_fmi::isolate::{Isolation, Worker, host};
use std::time::{Duration, Instant};

const TURNS: usize = 9;

fn main() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    println!("| work per step | in-process | isolated | above |");
    println!("| --- | --- | --- | --- |");
    for (size, steps) in [(1e-3, 100_000), (0.05, 20_000), (1.0, 2_000), (20.0, 200)] {
        let (mut inside, mut isolated) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..TURNS {
            let mut own = CoSimulation::new(&fmu, &Options::default()).unwrap();
            let mut other = host(&fmu, &Options::default(), &isolation).unwrap();
            let (a, last) = drive(&mut own, steps, size);
            let (b, same) = drive(other.as_mut(), steps, size);
            assert_eq!(last.to_bits(), same.to_bits(), "both compute the same");
            inside = inside.min(a);
            isolated = isolated.min(b);
        }
        let work = (size / 1e-3_f64).round();
        println!("| {work} micro steps | {inside:.3} µs | {isolated:.3} µs | {:.3} µs |", isolated - inside);
    }
}

/// Microseconds per step, the best of a hundred parts of the run, and the first output at the end.
fn drive(instance: &mut dyn Subsystem, steps: u64, size: f64) -> (f64, f64) {
    instance.initialize(0.0).unwrap();
    let mut y = [0.0; 3];
    let mut samples = Samples::new(Request::Nothing, y.len());
    let mut best = Duration::MAX;
    let part = steps / 100;
    for begin in (0..steps).step_by(part as usize) {
        let clock = Instant::now();
        for index in begin..begin + part {
            let step = Step { index, start: index as f64 * size, size };
            let u = [0.1 * y[0], 0.0];
            instance.step(&step, &Segment::new(&step, 2, 1, &u), &mut y, &mut samples).unwrap();
        }
        best = best.min(clock.elapsed());
    }
    (best.as_secs_f64() * 1e6 / part as f64, y[0])
}

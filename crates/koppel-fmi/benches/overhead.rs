//! The cost of the import layer: instances driven through [`Subsystem`] against a C loop over the same library.
//!
//! `cargo bench --package koppel-fmi --bench overhead` prints nanoseconds per instance and step, the best of several turns
//! in which the two alternate. The engine's own cost (coupling, history, recording) is measured in `koppel`.
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
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const TURNS: usize = 9;

fn main() {
    let plain = MASS2
        .replace("<Unknown index=\"8\" dependencies=\"\"/>", "")
        .lines()
        .filter(|line| !line.contains("name=\"steps\"") && !line.contains("name=\"on\""))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("<InitialUnknowns><Unknown index=\"7\"/><Unknown index=\"8\"/></InitialUnknowns>", "");
    let fmu = TestFmu::two(&plain);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("loop2");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmus/loop2.c");
    assert!(
        Command::new("cc")
            .arg("-O2")
            .arg("-o")
            .arg(&program)
            .arg(source)
            .arg("-ldl")
            .status()
            .unwrap()
            .success()
    );
    println!("| instances | work per step | C loop | koppel-fmi | above |");
    println!("| --- | --- | --- | --- | --- |");
    for (instances, size, steps) in
        [(2, 1e-3, 500_000), (100, 1e-3, 10_000), (2, 0.05, 20_000), (100, 0.05, 400)]
    {
        let (mut c, mut rust) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..TURNS {
            let library = fmu.folder().join("binaries/linux64/mass.so");
            let words = [instances.to_string(), steps.to_string(), size.to_string()];
            let output = Command::new(&program).arg(library).args(words).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let (seconds, last) = text.trim().split_once(' ').unwrap();
            let (own, own_last) = drive(&fmu, instances, steps, size);
            assert_eq!(own_last, last.parse::<f64>().unwrap(), "both compute the same");
            let per_step = 1e9 / (instances as f64 * steps as f64);
            c = c.min(seconds.parse::<f64>().unwrap() * per_step);
            rust = rust.min(own * per_step);
        }
        let work = (size / 1e-3).round();
        println!(
            "| {instances} | {work} micro steps | {c:.1} ns | {rust:.1} ns | {:.1} ns, {:.3} x |",
            rust - c,
            rust / c
        );
    }
}

/// Seconds, and the first output at the end.
fn drive(fmu: &std::sync::Arc<Fmu>, instances: usize, steps: u64, size: f64) -> (f64, f64) {
    let make = |_| CoSimulation::new(fmu, &Options::default()).unwrap();
    let mut all: Vec<CoSimulation> = (0..instances).map(make).collect();
    all.iter_mut().for_each(|instance| instance.initialize(0.0).unwrap());
    let mut y = vec![[0.0; 2]; instances];
    let mut new = y.clone();
    let mut samples = Samples::new(Request::Nothing, 2);
    let begin = Instant::now();
    for index in 0..steps {
        let step = Step { index, start: index as f64 * size, size };
        for (i, instance) in all.iter_mut().enumerate() {
            let u = [0.1 * y[(i + 1) % instances][0]];
            instance.step(&step, &Segment::new(&step, 1, 1, &u), &mut new[i], &mut samples).unwrap();
        }
        y.copy_from_slice(&new);
    }
    (begin.elapsed().as_secs_f64(), y[0][0])
}

//! What a certificate costs beside FMUs: a ring of instances whose every step a [`Certifier`] looks at, beside the same ring without it, as
//! whole runs with and without rows, which nobody keeps. Shadows are not counted.
//!
//! `cargo bench --package koppel-fmi --bench certified` prints nanoseconds per instance and step. Short rounds of all sides alternate and
//! the fastest of each counts: what else the machine does is not measured.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints and ends when something fails"
)]

#[path = "../tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod common;
#[path = "../tests/common/reals.rs"]
mod reals;

use common::TestFmu;
use koppel::analysis::Certifier;
use koppel::coupling::CouplingConfig;
use koppel::record::Nothing;
use koppel::run::{Flow, Parallel, Run, RunConfig};
use koppel::system::{Connection, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};
use reals::only_reals;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u64 = 300;
/// Micro step of the FMU.
const MICRO: f64 = 1e-3;

fn main() {
    let fmu = TestFmu::two(&only_reals());
    let fmu = Fmu::open(&fmu.path()).unwrap();
    println!("| FMUs | an FMU's own step | rows | without, ns | with, ns | ratio | limit |");
    println!("| ---: | --- | --- | ---: | ---: | ---: | ---: |");
    for (instances, micro_steps, limit) in
        [(2_usize, 1_u32, 1.6), (100, 1, 1.6), (300, 1, 1.6), (2, 52, 1.1), (100, 52, 1.1)]
    {
        for is_recorded in [false, true] {
            let size = f64::from(micro_steps) * MICRO;
            let steps = (100_000 / (instances as u64 * (2 + u64::from(micro_steps)))).max(4);
            let one = || engine(&fmu, instances, size, ROUNDS * steps, is_recorded);
            let (mut plain, mut watched) = (one(), one());
            let mut certifier = Certifier::new(&mut watched, &CouplingConfig::zoh());
            let (mut without, mut with) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS {
                let begin = Instant::now();
                drive(&mut plain, steps, &mut |_| 64);
                without = without.min(begin.elapsed().as_secs_f64());
                let begin = Instant::now();
                drive(&mut watched, steps, &mut |run| {
                    certifier.look(run);
                    1
                });
                with = with.min(begin.elapsed().as_secs_f64());
                assert_eq!(plain.outputs(0)[0], watched.outputs(0)[0], "both compute the same");
            }
            let each = 1e9 / (instances as f64 * steps as f64);
            let (without, with) = (without * each, with * each);
            let own = if micro_steps == 1 { "cheapest" } else { "1.5 µs" };
            let rows = if is_recorded { "every step" } else { "none" };
            println!(
                "| {instances} | {own} | {rows} | {without:.1} | {with:.1} | {:.2} | {limit} |",
                with / without
            );
        }
    }
}

/// Takes so many steps as a whole run takes them.
fn drive(run: &mut Run, steps: u64, look: &mut (dyn FnMut(&mut Run) -> u64 + Send)) {
    let end = run.index() + steps;
    let mut watch = |run: &mut Run| {
        let next = look(run);
        let left = end - run.index();
        Ok(if left == 0 { Flow::Stop } else { Flow::ContinueFor(left.min(next)) })
    };
    run.run(&mut Nothing, &mut watch).unwrap();
}

/// A ring in which every instance is pushed by a tenth of its neighbour's way.
fn engine(fmu: &Arc<Fmu>, instances: usize, size: f64, steps: u64, is_recorded: bool) -> Run {
    let mut builder = SystemBuilder::new();
    for i in 0..instances {
        let name = format!("i{i}");
        let options = Options { name: name.clone(), ..Options::default() };
        builder = builder.add(&name, CoSimulation::new(fmu, &options).unwrap());
    }
    for i in 0..instances {
        let from = format!("i{}.x", (i + 1) % instances);
        builder = builder.connect(Connection::new(&from, &format!("i{i}.F")).gain(0.1));
    }
    let mut config = RunConfig::new(steps as f64 * size, size);
    config.threads = Parallel::Never;
    config.record_every = if is_recorded { 1 } else { u64::MAX };
    Run::new(builder.build().unwrap(), &config).unwrap()
}

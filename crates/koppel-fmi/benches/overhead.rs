//! What koppel costs with FMUs: a ring of instances in the engine, beside the same ring driven by a C loop over the same
//! library, in one process.
//!
//! `cargo bench --package koppel-fmi --bench overhead` prints nanoseconds per instance and step. Short rounds of all
//! sides alternate and the fastest of each counts: what else the machine does is not measured. All sides must arrive at
//! the same number. "Run" is the loop of a whole run, whose watcher looks after every 64 steps, as `koppel run` does
//! without a certificate.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    unsafe_code,
    reason = "a benchmark prints, ends when something fails, and calls its yardstick in C"
)]

#[path = "../tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod common;
#[path = "../tests/common/reals.rs"]
mod reals;

use common::TestFmu;
use koppel::record::Nothing;
use koppel::run::{Flow, Parallel, Run, RunConfig};
use koppel::system::{Connection, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};
use libloading::Library;
use reals::only_reals;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u64 = 400;
/// Micro step of the FMU.
const MICRO: f64 = 1e-3;

fn main() {
    let fmu = TestFmu::two(&only_reals());
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let yardstick = compile_loop(folder.path());
    println!("| FMUs | work per step | C loop | koppel | above | ratio | run | above |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (instances, micro_steps) in [(2_usize, 1_u32), (100, 1), (2, 50), (100, 50)] {
        let size = f64::from(micro_steps) * MICRO;
        let steps = (100_000 / (instances as u64 * (2 + u64::from(micro_steps)))).max(4);
        let by_hand = Loop::new(&yardstick, &fmu, instances);
        let mut driven = engine(&fmu, instances, size, ROUNDS * steps);
        let mut engine = engine(&fmu, instances, size, ROUNDS * steps);
        let (mut c, mut koppel, mut run) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let last = by_hand.run(steps, size);
            c = c.min(begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            engine.advance_by(steps).unwrap();
            koppel = koppel.min(begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            drive(&mut driven, steps);
            run = run.min(begin.elapsed().as_secs_f64());
            assert_eq!(engine.outputs(0)[0], last, "both compute the same");
            assert_eq!(driven.outputs(0)[0], last, "both compute the same");
        }
        let each = 1e9 / (instances as f64 * steps as f64);
        let (c, koppel, run) = (c * each, koppel * each, run * each);
        println!(
            "| {instances} | {micro_steps} micro steps | {c:.1} ns | {koppel:.1} ns | {:.1} ns | {:.3} | {run:.1} ns | {:.1} ns |",
            koppel - c,
            koppel / c,
            run - c
        );
    }
}

/// Takes so many steps as a whole run takes them.
fn drive(run: &mut Run, steps: u64) {
    let end = run.index() + steps;
    let mut watch = |run: &mut Run| {
        let left = end - run.index();
        Ok(if left == 0 { Flow::Stop } else { Flow::ContinueFor(left.min(64)) })
    };
    run.run(&mut Nothing, &mut watch).unwrap();
}

/// A ring in which every instance is pushed by a tenth of its neighbour's way.
fn engine(fmu: &Arc<Fmu>, instances: usize, size: f64, steps: u64) -> Run {
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
    config.record_every = u64::MAX;
    Run::new(builder.build().unwrap(), &config).unwrap()
}

fn compile_loop(folder: &Path) -> Library {
    let library = folder.join("loop2.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmus/loop2.c");
    let mut command = Command::new("cc");
    command.args(["-O2", "-fPIC", "-shared", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(command.status().unwrap().success());
    // SAFETY: compiled just now from a source without constructors.
    unsafe { Library::new(library).unwrap() }
}

/// The yardstick.
struct Loop<'a> {
    library: &'a Library,
    state: *mut c_void,
}

impl<'a> Loop<'a> {
    fn new(library: &'a Library, fmu: &Fmu, instances: usize) -> Loop<'a> {
        let path = fmu.folder().join("binaries/linux64/mass.so");
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the signature of loop2.c.
        let state = unsafe {
            let new = library.get::<unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void>(b"loop_new\0");
            new.unwrap()(path.as_ptr(), instances as c_int)
        };
        assert!(!state.is_null());
        Loop { library, state }
    }

    /// The first output at the end.
    fn run(&self, steps: u64, size: f64) -> f64 {
        // SAFETY: the signature of loop2.c; the state is alive.
        unsafe {
            let run =
                self.library.get::<unsafe extern "C" fn(*mut c_void, c_long, f64) -> f64>(b"loop_run\0");
            run.unwrap()(self.state, steps as c_long, size)
        }
    }
}

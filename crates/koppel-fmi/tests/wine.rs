//! FMUs for Windows under Wine beside the same sources compiled for this platform.
//!
//! Needs Wine and a compiler for Windows, which `cargo xtask test` installs. `KOPPEL_TEST_WINDOWS=1` lets all other tests of FMUs
//! that are compiled from C run under Wine as well.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{MASS2, MASS3, TestFmu};
use koppel::coupling::CouplingConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Connection, Horizon, Snapshot, Subsystem, SystemBuilder};
use koppel_fmi::import::{CoSimulation, Options, Solving};
use koppel_fmi::wine::Setup;
use koppel_fmi::{Execution, Fmu};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// False where Windows FMUs cannot be made or run, which is said; under `cargo xtask test` they can.
fn can_run() -> bool {
    let trouble = Setup::find().err().map(|trouble| trouble.to_string());
    let compiler = std::process::Command::new("x86_64-w64-mingw32-gcc").arg("--version").output();
    let trouble = trouble.or_else(|| compiler.err().map(|error| format!("x86_64-w64-mingw32-gcc: {error}")));
    let must = std::env::var_os("KOPPEL_TEST_ALL").is_some();
    assert!(!must || trouble.is_none(), "{trouble:?}");
    trouble.iter().for_each(|trouble| eprintln!("skipped: {trouble}"));
    trouble.is_none()
}

fn open(fmu: &TestFmu) -> Arc<Fmu> {
    Fmu::open(&fmu.path()).unwrap()
}

fn options(name: &str, values: &[(&str, f64)]) -> Options {
    let start_values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    Options { name: name.into(), start_values, ..Options::default() }
}

/// Two masses that push each other: all rows as bits.
fn dual_mass(fmus: [&Arc<Fmu>; 2], coupling: &CouplingConfig) -> Vec<u64> {
    let body = |fmu: &Arc<Fmu>, name: &str, m: f64| {
        CoSimulation::new(fmu, &options(name, &[("m", m), ("c", 40.0), ("d", 0.3)])).unwrap()
    };
    let system = SystemBuilder::new()
        .add("left", body(fmus[0], "left", 1.0))
        .add("right", body(fmus[1], "right", 2.5))
        .connect(Connection::new("left.v", "right.F"))
        .connect(Connection::new("right.v", "left.F"))
        .build()
        .unwrap();
    let config = RunConfig { coupling: coupling.clone(), ..RunConfig::new(0.5, 0.01) };
    let mut run = Run::new(system, &config).unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    let columns = run.columns().len();
    (0..columns).flat_map(|column| table.column(column).map(f64::to_bits).collect::<Vec<u64>>()).collect()
}

#[test]
fn runs_under_wine_have_the_same_bits() {
    if !can_run() {
        return;
    }
    let couplings = [CouplingConfig::default(), serde_json::from_str(r#"{ "method": "foh" }"#).unwrap()];
    let native = [TestFmu::two(MASS2), TestFmu::three(MASS3)];
    let windows = [("mass2.c", MASS2), ("mass3.c", MASS3)].map(|(c, xml)| TestFmu::of(c, xml, &[], true));
    let (native, windows) = (native.each_ref().map(open), windows.each_ref().map(open));
    for fmu in &windows {
        let interface = fmu.interface(Solving::Own).unwrap();
        assert_eq!(fmu.execution(interface).unwrap(), Execution::Wine);
    }
    for coupling in &couplings {
        for k in [0, 1] {
            let expected = dual_mass([&native[k], &native[1]], coupling);
            assert!(expected.len() > 200);
            let found = dual_mass([&windows[k], &windows[1]], coupling);
            assert!(found == expected, "{coupling:?}");
            // One of each.
            assert!(dual_mass([&windows[k], &native[1]], coupling) == expected, "{coupling:?}");
        }
    }
}

/// Steps of 0.1 s with F = 1.5 until something fails.
fn until_it_fails(subsystem: &mut dyn Subsystem) -> (u64, String) {
    subsystem.initialize(0.0).unwrap();
    let mut y = vec![0.0; subsystem.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, y.len());
    let mut u = vec![0.0; subsystem.ports().inputs.len()];
    (u[0], u[1]) = (1.5, 1.0);
    for index in 0..100 {
        let step = Step { index, start: index as f64 * 0.1, size: 0.1 };
        let segment = Segment::new(&step, u.len(), 1, &u);
        if let Err(error) = subsystem.step(&step, &segment, &mut y, &mut samples) {
            return (index, error.to_string());
        }
    }
    panic!("nothing failed");
}

#[test]
fn each_way_to_end_has_its_message() {
    if !can_run() {
        return;
    }
    let fmus = [("mass2.c", MASS2, "fmi2DoStep"), ("mass3.c", MASS3, "fmi3DoStep")];
    for (source, description, call) in fmus {
        let fmu = open(&TestFmu::of(source, description, &[], true));
        let under = format!("{call}, under Wine: it ");
        for (how, message) in [
            (10.0, "crashed: access violation (0xc0000005)"),
            (12.0, "ended its process with exit code 3"),
            (13.0, "did not return within 0.5 s"),
        ] {
            let limit = Some(Duration::from_millis(500));
            let options = Options { call_limit: limit, ..options("body", &[("misbehave", how)]) };
            let mut body = CoSimulation::new(&fmu, &options).unwrap();
            let (index, error) = until_it_fails(&mut body);
            assert_eq!(index, 5, "{error}");
            assert!(error.contains(&under) && error.contains(message), "{error}");
            // A new start has a new process.
            assert_eq!(until_it_fails(&mut body).0, 5);
        }
    }
}

#[test]
fn saved_states_are_good_in_another_process() {
    if !can_run() {
        return;
    }
    for (source, description) in [("mass2.c", MASS2), ("mass3.c", MASS3)] {
        let fmu = open(&TestFmu::of(source, description, &[], true));
        let step = |body: &mut CoSimulation, index: u64| {
            let mut y = vec![0.0; body.ports().outputs.len()];
            let mut samples = Samples::new(Request::Nothing, y.len());
            let mut u = vec![0.0; body.ports().inputs.len()];
            u[0] = 0.7;
            let step = Step { index, start: index as f64 * 0.1, size: 0.1 };
            body.step(&step, &Segment::new(&step, u.len(), 1, &u), &mut y, &mut samples).unwrap();
            y.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        };
        let mut one = CoSimulation::new(&fmu, &options("one", &[])).unwrap();
        one.initialize(0.0).unwrap();
        (0..5).for_each(|k| _ = step(&mut one, k));
        let mut saved = Snapshot::new(Horizon::Anywhere);
        one.save(&mut saved).unwrap();
        let next = step(&mut one, 5);
        let mut other = CoSimulation::new(&fmu, &options("other", &[])).unwrap();
        other.initialize(0.0).unwrap();
        other.restore(&saved).unwrap();
        assert_eq!(step(&mut other, 5), next);
        one.restore(&saved).unwrap();
        assert_eq!(step(&mut one, 5), next);
    }
}

/// Processes under Wine that this process has started.
fn workers() -> usize {
    let marker = format!("\\\\proc\\\\{}\\\\fd", std::process::id());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |path: std::path::PathBuf| std::fs::read(path.join("cmdline")).unwrap_or_default();
    all.filter(|entry| String::from_utf8_lossy(&line(entry.path())).contains(&marker.replace("\\\\", "\\")))
        .count()
}

#[test]
fn a_library_that_is_missing_is_named_and_no_process_stays() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A library that needs another one, which is not packed.
    let compile = |arguments: &[&str]| {
        let mut command = std::process::Command::new("x86_64-w64-mingw32-gcc");
        assert!(command.current_dir(folder.path()).args(arguments).status().unwrap().success());
    };
    std::fs::write(folder.path().join("helper.c"), "double helper(double x) { return x; }").unwrap();
    compile(&["-shared", "-o", "helper-42.dll", "helper.c"]);
    let library = folder.path().join("helper-42.dll").display().to_string();
    let needs = TestFmu::of("mass2.c", MASS2, &["-DNEEDS_HELPER", &library], true);
    let error = CoSimulation::new(&open(&needs), &options("body", &[])).err().unwrap().to_string();
    assert!(error.contains("needs `helper-42.dll`"), "{error}");
    let fmu = open(&TestFmu::of("mass2.c", MASS2, &[], true));
    drop(CoSimulation::new(&fmu, &options("body", &[])).unwrap());
    let begin = Instant::now();
    while workers() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "a process stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

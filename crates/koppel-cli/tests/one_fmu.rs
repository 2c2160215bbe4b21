//! `koppel run X.fmu`: one FMU with its default experiment and a table of inputs, for this platform and for Windows.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::Folder;
use common::masses::{MASS2, compile, pack};
use std::process::Command;

/// The mass with a default experiment.
fn described() -> String {
    let experiment =
        "<DefaultExperiment startTime=\"0.0\" stopTime=\"4.0\" stepSize=\"0.02\"/>\n  <ModelVariables>";
    MASS2.replacen("<ModelVariables>", experiment, 1)
}

fn folder() -> Folder {
    let folder = Folder::new();
    let library = compile("mass2.c", &[]);
    let files = [("modelDescription.xml", described().into_bytes()), ("binaries/linux64/mass.so", library)];
    pack(&folder.path("big-mass.fmu"), &files.each_ref().map(|(name, bytes)| (*name, &bytes[..])));
    folder
}

/// m x'' = F - c x with m = c = 2, F = t, x(0) = 1, x'(0) = 0: x = cos t + (t - sin t) / 2.
fn exact(t: f64) -> f64 {
    t.cos() + 0.5 * (t - t.sin())
}

#[test]
fn it_runs_its_default_experiment_with_a_table_of_inputs() {
    let folder = folder();
    folder.write("u.csv", "time,F\n0,0\n10,10\n");
    let arguments = ["run", "big-mass.fmu", "--input", "u.csv", "--set", "m=2", "--set", "c=2"];
    let said = folder.succeed(&[&arguments[..], &["--out", "r.csv"]].concat());
    said.says(&["Mass"]);
    let (times, x) = (folder.column("r.csv", "time"), folder.column("r.csv", "big_mass.x"));
    assert_eq!((times.len(), times[200]), (201, 4.0));
    for (t, x) in times.iter().zip(&x) {
        assert!((x - exact(*t)).abs() < 1e-9, "t = {t}: {x} against {}", exact(*t));
    }
    // Options are those of any run.
    folder.succeed(&[&arguments[..], &["--out", "s.csv", "--stop", "1", "--step", "0.5"]].concat());
    assert_eq!(folder.column("s.csv", "time"), [0.0, 0.5, 1.0]);
    folder.succeed(&["check", "big-mass.fmu"]);
}

#[test]
fn without_a_default_experiment_it_says_what_it_takes() {
    let folder = folder();
    pack(
        &folder.path("bare.fmu"),
        &[("modelDescription.xml", MASS2.as_bytes()), ("binaries/linux64/mass.so", &compile("mass2.c", &[]))],
    );
    let said = folder.succeed(&["run", "bare.fmu", "--out", "r.csv"]);
    said.says(&["1 s: the FMU proposes no stop time", "0.002 s: the FMU proposes no step"]);
    assert_eq!(folder.column("r.csv", "time").len(), 501);
}

#[test]
fn mistakes_are_named() {
    let folder = folder();
    folder.write("u.csv", "time,G\n0,0\n10,10\n");
    folder.write("system.toml", "");
    for (arguments, words) in [
        (&["run", "big-mass.fmu", "--input", "u.csv"][..], &["the FMU has no input `G`", "hint: "][..]),
        (&["run", "big-mass.fmu", "--input", "none.csv"], &["none.csv", "No such file"]),
        (&["run", "none.fmu"], &["`none.fmu`: cannot be opened"]),
        (&["run", "system.toml", "--input", "u.csv"], &["--input is for a single FMU"]),
        (&["run", "big-mass.fmu", "--set", "mm=3"], &["mm"]),
    ] {
        let said = folder.run(arguments);
        assert_eq!(said.code, Some(2), "{}", said.err);
        said.errs_with(words);
    }
}

/// False where Windows FMUs cannot be made or run; under `cargo xtask test` they can.
fn has_windows(folder: &Folder) -> bool {
    let compiler = Command::new("x86_64-w64-mingw32-gcc").arg("--version").output();
    let abilities = folder.succeed(&["doctor", "--json"]).json()["abilities"].clone();
    let list = abilities.as_array().expect("a list");
    let is_windows = |what: &serde_json::Value| what.as_str().is_some_and(|what| what.contains("Windows"));
    let can = list.iter().any(|one| is_windows(&one["what"]) && one["can"] == true);
    let is_there = compiler.is_ok_and(|output| output.status.success()) && can;
    assert!(is_there || std::env::var_os("KOPPEL_TEST_ALL").is_none(), "Wine or mingw is missing");
    is_there
}

#[test]
fn one_for_windows_runs_like_any_other_and_its_faults_cost_a_message() {
    let folder = folder();
    if !has_windows(&folder) {
        return;
    }
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../koppel-fmi/tests/fmus/mass2.c");
    let mut compile = Command::new("x86_64-w64-mingw32-gcc");
    compile.args(["-O2", "-ffp-contract=off", "-shared", "-static-libgcc", "-o"]);
    assert!(compile.arg(folder.path("mass.dll")).arg(source).status().unwrap().success());
    let library = folder.bytes("mass.dll");
    let files = [("modelDescription.xml", described().into_bytes()), ("binaries/win64/mass.dll", library)];
    pack(&folder.path("windows.fmu"), &files.each_ref().map(|(name, bytes)| (*name, &bytes[..])));
    folder.succeed(&["fmu", "info", "windows.fmu"]).says(&["yes, under Wine"]);

    folder.succeed(&["run", "big-mass.fmu", "--out", "native.csv", "--confirm", "off"]);
    folder.succeed(&["run", "windows.fmu", "--out", "windows.csv", "--confirm", "off"]);
    assert_eq!(folder.column("windows.csv", "windows.x"), folder.column("native.csv", "big_mass.x"));

    let said = folder.run(&["run", "windows.fmu", "--set", "misbehave=10", "--out", "crash.csv"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["`windows`", "fmi2DoStep, under Wine: it crashed: access violation", "hint: "]);
    assert_eq!(folder.column("crash.csv", "time").last(), Some(&0.5));
}

//! FMUs in processes of their own, and what is left when they, or koppel itself, go down.
//!
//! The FMUs are the C sources of `koppel-fmi`, compiled here.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod resuming;
mod sandbox;
mod supervised;

use common::{Folder, Said, signal};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const FMI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../koppel-fmi/tests");

/// Packs a mass that can misbehave as `name`; `change` edits its description.
fn pack(folder: &Folder, name: &str, change: impl Fn(String) -> String) {
    pack_with(folder, name, change, "");
}

/// The same with a function in C that runs when the library is loaded.
fn pack_with(folder: &Folder, name: &str, change: impl Fn(String) -> String, at_load: &str) {
    folder.write(
        "load.h",
        &format!(
            "#include <unistd.h>\n__attribute__((constructor)) static void at_load(void) {{ {at_load} }}\n"
        ),
    );
    let library = folder.path("mass.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let source = Path::new(FMI).join("fmus/mass2.c");
    let built = Command::new(compiler)
        .args(["-O2", "-fPIC", "-shared", "-include"])
        .args([&folder.path("load.h"), Path::new("-o"), &library, &source])
        .arg("-lm")
        .status();
    assert!(built.unwrap().success());
    let description = std::fs::read_to_string(Path::new(FMI).join("fixtures/mass2.xml")).unwrap();
    let mut writer = ZipWriter::new(std::fs::File::create(folder.path(name)).unwrap());
    let library = std::fs::read(library).unwrap();
    let files =
        [("modelDescription.xml", change(description).into_bytes()), ("binaries/linux64/mass.so", library)];
    for (name, content) in files {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(&content).unwrap();
    }
    writer.finish().unwrap();
}

/// Two masses, pushed by each other's speed; `body` is the one that may misbehave.
fn system(run: &str, body: &str) -> String {
    format!(
        r#"
[run]
stop = 1
step = 1e-2
{run}
coupling = "zoh"
[subsystems.body]
fmu = "mass.fmu"
{body}

[subsystems.other]
fmu = "mass.fmu"
parameters = {{ m = 2.0, c = 30.0 }}

[[connections]]
from = "body.v"
to = "other.F"

[[connections]]
from = "other.v"
to = "body.F"
"#
    )
}

fn folder(run: &str, body: &str) -> Folder {
    let folder = Folder::with(&system(run, body));
    pack(&folder, "mass.fmu", |description| description);
    std::fs::create_dir(folder.path("tmp")).unwrap();
    folder
}

/// An FMU that cannot save its state.
fn plain(description: String) -> String {
    description.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", "")
}

/// Runs with temporary files in a folder of its own.
fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command(arguments);
    command.env("TMPDIR", folder.path("tmp"));
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Said {
    Said::new(command(folder, arguments).output().unwrap())
}

fn spawn(folder: &Folder, arguments: &[&str]) -> Child {
    // Workers hold standard error; a pipe that nobody reads would not be closed while one of them lives.
    command(folder, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Processes that host FMUs for the run with this supervisor.
fn workers_of(supervisor: u32) -> usize {
    let supervised = processes(|line| line.contains(&format!(" supervised {supervisor} ")));
    let is_worker = |line: &str, parent: &u32| line.ends_with(&format!("isolated-fmu {parent}"));
    processes(|line| supervised.iter().any(|parent| is_worker(line, parent))).len()
}

/// Numbers of the processes with such a command line.
fn processes(is_wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()))
    });
    all.filter(|(_, line)| is_wanted(line)).map(|(number, _)| number).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn temporary(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path("tmp")).unwrap().count()
}

#[test]
fn isolated_or_not_the_numbers_are_the_same() {
    let folder = folder("", "parameters = { c = 40.0 }");
    assert_eq!(run(&folder, &["run", "system.toml", "-q", "--out", "inside.csv"]).code, Some(0));
    for (k, options) in [
        &["--isolate"][..],
        &["--set", "body.isolate=true"],
        &["--isolate", "--threads", "always"],
        &["--isolate", "--schedule", "parallel", "--step-timeout", "30"],
        &["--set", "run.isolate=true", "--set", "run.memory_limit=\"1 GiB\""],
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("{k}.csv");
        let mut arguments = vec!["run", "system.toml", "--out", &out];
        arguments.extend(options);
        let said = run(&folder, &arguments);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.says(&["isolated"]);
        assert_eq!(folder.read(&out), folder.read("inside.csv"), "{options:?}");
    }
    assert_eq!(temporary(&folder), 0);
}

#[test]
fn a_bad_fmu_ends_its_own_process_only() {
    for (how, says) in [
        (10, "crashed with SIGSEGV (invalid memory access) in fmi2DoStep"),
        (11, "crashed with SIGABRT"),
        (12, "ended its process with exit code 3 in fmi2DoStep"),
        (13, "did not return within 0.5 s in fmi2DoStep"),
        (14, "raise memory_limit"),
    ] {
        let timeout = if how == 13 { "step_timeout = 0.5" } else { "" };
        let run_keys = format!("isolate = true\nmemory_limit = \"200 MiB\"\n{timeout}");
        let folder = folder(&run_keys, &format!("parameters = {{ misbehave = {how} }}"));
        let said = run(&folder, &["run", "system.toml", "--out", "r.csv"]);
        assert_eq!(said.code, Some(1), "{}", said.err);
        said.errs_with(&[
            "error: subsystem `body` failed at t = 0.5 s: `body` ",
            says,
            "in the step from t = 0.5 s to t = 0.51 s",
            "inputs: F = ",
            " N, on = 0",
            "hint: ",
            "the 51 rows up to t = 0.5 s are kept in r.csv",
            "with --checkpoint-every, a run can continue",
        ]);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
        assert!(said.out.contains("with an error\n"), "told once, on standard error: {}", said.out);
        assert_eq!(folder.column("r.csv", "time").len(), 51);
        assert_eq!(temporary(&folder), 0);
    }
}

#[test]
fn what_the_fmu_prints_does_not_mix_with_results() {
    for run_keys in ["isolate = true", ""] {
        let folder = folder(run_keys, "parameters = { misbehave = 18 }");
        let said = run(&folder, &["run", "system.toml", "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_eq!(said.json()["status"], "finished");
        said.errs_with(&["from the FMU"]);
    }
}

#[test]
fn a_crash_before_the_run_counts_as_one() {
    let folder = folder("isolate = true", "");
    pack_with(&folder, "mass.fmu", |description| description, "__builtin_trap();");
    let said = run(&folder, &["run", "system.toml"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["system.toml:8:7", "`body` crashed with SIGILL", "the fault is in the FMU"]);
    assert!(!said.err.contains("inputs") && !said.err.contains("memory"), "{}", said.err);
    let said = run(&folder, &["fmu", "check", "mass.fmu"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["crashed with SIGILL"]);
    let said = run(&folder, &["fmu", "check", "mass.fmu", "--json"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let verdict = said.json();
    assert_eq!(verdict["verdict"], "failed");
    assert_eq!(verdict["interfaces"][0]["verdict"], "crashed");
    let message = verdict["interfaces"][0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("SIGILL"), "{message}");
    assert_eq!(run(&folder, &["fmu", "check", "none.fmu", "--json"]).json()["status"], "invalid");
    pack_with(&folder, "mass.fmu", |description| description, "pause();");
    let said = run(&folder, &["fmu", "check", "mass.fmu", "--timeout", "0.5"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["did not return within 0.5 s", "--timeout"]);
    assert!(!said.err.contains("step_timeout"), "{}", said.err);
    assert_eq!(temporary(&folder), 0);
}

#[test]
fn no_worker_and_no_folder_outlives_a_killed_run() {
    for (name, how) in [("KILL", 0), ("KILL", 13), ("TERM", 0)] {
        let folder = folder("isolate = true", &format!("parameters = {{ misbehave = {how} }}"));
        let arguments = ["run", "system.toml", "--realtime", "--speed", "0.5", "--out", "r.csv", "-q"];
        let mut child = spawn(&folder, &arguments);
        wait_until("both workers run", || workers_of(child.id()) == 2);
        wait_until("rows are written", || folder.has("r.csv.part"));
        if how == 13 {
            std::thread::sleep(Duration::from_millis(1500));
        }
        let supervised = processes(|line| line.contains(&format!(" supervised {} ", child.id())));
        signal(&child, name);
        child.wait().unwrap();
        let is_left =
            |line: &str| supervised.iter().any(|one| line.ends_with(&format!("isolated-fmu {one}")));
        wait_until("no worker is left", || processes(is_left).is_empty());
        wait_until("no folder is left", || temporary(&folder) == 0);
    }
}

#[test]
fn ctrl_c_in_a_terminal_lets_the_step_end() {
    let folder = folder("isolate = true", "");
    let arguments = ["run", "system.toml", "--realtime", "--speed", "0.1", "--out", "r.csv"];
    let mut child = command(&folder, &arguments);
    let child = std::os::unix::process::CommandExt::process_group(&mut child, 0).spawn().unwrap();
    wait_until("both workers run", || workers_of(child.id()) == 2);
    wait_until("rows are written", || folder.has("r.csv.part"));
    // A terminal sends the signal to the whole group in the foreground.
    let group = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    let said = Said::new(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    said.errs_with(&["continue with `koppel resume r.csv.checkpoint`"]);
    let said = run(&folder, &["resume", "r.csv.checkpoint", "-q"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(run(&folder, &["run", "system.toml", "-q", "--out", "whole.csv"]).code, Some(0));
    assert_eq!(folder.read("r.csv"), folder.read("whole.csv"));
}

#[test]
fn wrong_settings_are_told() {
    for (run_keys, body, says) in [
        ("isolate = 1", "", "system.toml:5:11"),
        ("", "isolate = \"yes\"", "true or false"),
        ("step_timeout = 0", "", "must be a time above zero"),
        ("", "memory_limit = \"2 gigs\"", "2 GiB"),
        (
            "isolate = true\nmemory_limit = \"1 MiB\"",
            "",
            "memory_limit of 1 MiB is too small: an FMU needs at least",
        ),
        ("isolat = true", "", "`isolate`"),
        ("", "isolated = true", "did you mean `isolate`?"),
    ] {
        let folder = folder(run_keys, body);
        let said = run(&folder, &["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{run_keys} {body}: {}", said.err);
        said.errs_with(&[says]);
    }
    let folder = folder("step_timeout = 3", "");
    run(&folder, &["run", "system.toml", "-q", "--in-process"])
        .errs_with(&["`step_timeout` does nothing for `body`"]);
    let said = run(&folder, &["run", "system.toml", "-q"]);
    assert!(!said.err.contains("does nothing"), "a supervisor ends what takes too long: {}", said.err);
    let said = run(&folder, &["isolated-fmu", "1"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["used by koppel itself"]);
}

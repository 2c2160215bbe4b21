//! Runs that are interrupted, by a crash or by Ctrl-C, and go on from a checkpoint.

use super::{command, folder, pack, plain, run, wait_until};
use crate::common::{Said, signal};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_run_goes_on_from_its_checkpoint_whatever_the_fmu_can_save() {
    for change in [|description: String| description, plain] {
        for run_keys in ["isolate = true", ""] {
            let folder = folder(run_keys, "parameters = { c = 40.0 }");
            pack(&folder, "mass.fmu", change);
            let said = run(&folder, &["run", "system.toml", "-q", "--out", "whole.csv"]);
            assert_eq!(said.code, Some(0), "{}", said.err);
            let options = ["--out", "r.csv", "--checkpoint-every", "7", "--stop", "0.5"];
            let said = run(&folder, &[&["run", "system.toml", "-q"][..], &options].concat());
            assert_eq!(said.code, Some(0), "{}", said.err);
            let logs = ["r.csv.checkpoint.0-body.inputs", "r.csv.checkpoint.1-other.inputs"];
            let is_logged =
                change("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"".into()).is_empty();
            logs.iter().for_each(|log| assert_eq!(folder.has(log), is_logged, "{log}"));
            // Twice, the second time from a checkpoint elsewhere.
            for (from, to, stop) in [("r.csv.checkpoint", "second", "0.8"), ("second", "third", "1")] {
                let options = ["--checkpoint", to, "--checkpoint-every", "5", "--stop", stop];
                let said = run(&folder, &[&["resume", from, "-q"][..], &options].concat());
                assert_eq!(said.code, Some(0), "{}", said.err);
            }
            assert_eq!(folder.read("r.csv"), folder.read("whole.csv"));
        }
    }
}

#[test]
fn a_crash_suggests_the_checkpoint_and_the_repaired_fmu_goes_on() {
    for change in [|description: String| description, plain] {
        let folder = folder("isolate = true", "parameters = { misbehave = 10 }");
        pack(&folder, "mass.fmu", change);
        let arguments = ["run", "system.toml", "--out", "r.csv", "--checkpoint-every", "10"];
        let said = run(&folder, &arguments);
        assert_eq!(said.code, Some(1), "{}", said.err);
        said.errs_with(&[
            "SIGSEGV",
            "`koppel resume r.csv.checkpoint` continues from the checkpoint at t = 0.5 s",
        ]);
        // The same FMU, repaired: its library now reads another parameter in the place of the bad one.
        pack(&folder, "mass.fmu", |description| {
            change(description)
                .replace("name=\"misbehave\" valueReference=\"1\"", "name=\"misbehave\" valueReference=\"2\"")
        });
        let said = run(&folder, &["resume", "r.csv.checkpoint", "-q"]);
        said.errs_with(&["warning: `mass.fmu` has changed since the run began", "repaired"]);
        if change("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"".into()).is_empty() {
            assert_eq!(said.code, Some(0), "{}", said.err);
            assert_eq!(folder.column("r.csv", "time").len(), 101);
            let well = run(&folder, &["run", "system.toml", "-q", "--out", "whole.csv"]);
            assert_eq!(well.code, Some(0), "{}", well.err);
            assert_eq!(folder.read("r.csv"), folder.read("whole.csv"));
        } else {
            // Its saved state has the fault in it.
            assert_eq!(said.code, Some(1), "{}", said.err);
        }
    }
}

#[test]
fn a_log_of_inputs_that_does_not_fit_is_refused() {
    let folder = folder("", "parameters = { c = 40.0 }");
    pack(&folder, "mass.fmu", plain);
    let arguments = ["run", "system.toml", "-q", "--out", "r.csv", "--checkpoint-every", "10"];
    assert_eq!(run(&folder, &arguments).code, Some(0));
    let resume = ["resume", "r.csv.checkpoint", "--stop", "2", "-q"];
    // The FMU is another one now: its stiffness has become its damping.
    pack(&folder, "mass.fmu", |description| {
        let (c, d) = ("name=\"c\" valueReference=\"4\"", "name=\"d\" valueReference=\"5\"");
        let swapped = plain(description).replace(c, "name=\"c\" valueReference=\"5\"");
        swapped.replace(d, "name=\"d\" valueReference=\"4\"")
    });
    let said = run(&folder, &resume);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["`body` cannot be restored to its checkpoint", "at t = 0.01 s", "has changed"]);
    pack(&folder, "mass.fmu", plain);
    let log = folder.path("r.csv.checkpoint.0-body.inputs");
    let kept = folder.bytes("r.csv.checkpoint.0-body.inputs");
    std::fs::remove_file(&log).unwrap();
    let said = run(&folder, &resume);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["the logged inputs of `body` cannot be read", "keep both together"]);
    std::fs::write(&log, kept).unwrap();
    assert_eq!(run(&folder, &resume).code, Some(0));
}

/// Results are written, so inputs are logged: in memory, until Ctrl-C needs a file.
#[test]
fn ctrl_c_can_be_continued_although_nobody_asked_for_checkpoints() {
    let folder = folder("", "parameters = { c = 40.0 }");
    pack(&folder, "mass.fmu", plain);
    let logs = ["r.csv.checkpoint.0-body.inputs", "r.csv.checkpoint.1-other.inputs"];
    assert_eq!(run(&folder, &["run", "system.toml", "-q", "--out", "r.csv"]).code, Some(0));
    let whole = folder.read("r.csv");
    assert!(logs.iter().all(|log| !folder.has(log)) && !folder.has("r.csv.checkpoint"));
    for option in ["--no-certificate", "--isolate"] {
        let realtime = ["run", "system.toml", "--realtime", "--speed", "0.1", "--out", "r.csv", option];
        let child = command(&folder, &realtime).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("rows are written", || folder.has("r.csv.part"));
        signal(&child, "INT");
        let said = Said::new(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(130), "{}", said.err);
        said.errs_with(&["continue with `koppel resume r.csv.checkpoint`"]);
        assert!(!said.err.contains("cannot be continued"), "{}", said.err);
        assert!(logs.iter().all(|log| folder.has(log)));
        let said = run(&folder, &["resume", "r.csv.checkpoint", "-q"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(folder.read("r.csv") == whole);
    }
}

#[test]
fn ctrl_c_without_a_log_says_so() {
    let folder = folder("", "");
    pack(&folder, "mass.fmu", plain);
    let realtime = ["run", "system.toml", "--realtime", "--speed", "0.01"];
    let mut child = command(&folder, &realtime).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stderr.as_mut().unwrap()), &mut first)
        .unwrap();
    assert!(first.contains("if interrupted, this run cannot be continued"), "{first}");
    signal(&child, "INT");
    let said = Said::new(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    said.errs_with(&["warning: no checkpoint", "canGetAndSetFMUState", "--checkpoint-every"]);
}

#[test]
fn a_second_ctrl_c_ends_a_step_that_does_not() {
    let folder = folder("", "parameters = { misbehave = 13 }");
    let child = command(&folder, &["run", "system.toml", "--out", "r.csv"]).spawn().unwrap();
    wait_until("rows are written", || folder.has("r.csv.part"));
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "INT");
    let said = Said::new(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    said.errs_with(&["stopping after this step; press Ctrl-C again", "are kept in r.csv"]);
    assert_eq!(folder.column("r.csv", "time").len(), 51);
    assert!(!folder.has("r.csv.part"));
}

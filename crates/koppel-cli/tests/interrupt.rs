//! Runs that do not reach their end: Ctrl-C, kill, checkpoints.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a result file that cannot be read fails the test")]

mod common;

use common::{Folder, SYSTEM, Said, signal};

/// Half a minute in real time, no time at all otherwise.
fn folder() -> Folder {
    let system = SYSTEM.replace("stop = 0.2", "stop = 30").replace("step = 1e-3", "step = 1e-2");
    Folder::with(&system)
}

/// Runs in real time, with a checkpoint every so often.
fn start(folder: &Folder, out: &str, every: &str) -> std::process::Child {
    folder.spawn(&[
        "run",
        "system.toml",
        "--realtime",
        "--checkpoint",
        "c",
        "--checkpoint-every",
        every,
        "--out",
        out,
    ])
}

#[test]
fn ctrl_c_keeps_results_and_a_checkpoint_and_resume_goes_on() {
    for out in ["r.csv", "r.parquet"] {
        let folder = folder();
        let whole = format!("whole-{out}");
        folder.succeed(&["run", "system.toml", "-q", "--out", &whole]);
        let child = start(&folder, out, "20");
        folder.wait_for("c");
        signal(&child, "INT");
        let said = Said::new(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(130), "{}", said.err);
        said.says(&["interrupted", "wrote c"]);
        said.errs_with(&["hint: continue with `koppel resume c`"]);
        let rows = koppel_io::results::read_table(&folder.path(out)).unwrap().time.len();
        assert!((21..3001).contains(&rows), "{rows} rows");

        folder.succeed(&["resume", "c"]).says(&["continued", "3000 steps of 0.01 s"]);
        assert_same(&folder, out, &whole);
    }
}

#[test]
fn a_killed_run_is_resumed_or_recovered() {
    for out in ["r.csv", "r.parquet"] {
        let folder = folder();
        let whole = format!("whole-{out}");
        folder.succeed(&["run", "system.toml", "-q", "--out", &whole]);
        let mut child = start(&folder, out, "0.3s");
        folder.wait_for("c");
        signal(&child, "KILL");
        child.wait().unwrap();
        let part = format!("{out}.part");
        assert!(folder.has(&part) && !folder.has(out));

        std::fs::copy(folder.path(&part), folder.path(&format!("copy-{part}"))).unwrap();
        folder
            .succeed(&["recover", &format!("copy-{part}"), "--out", &format!("left-{out}")])
            .says(&["recovered"]);
        let left = koppel_io::results::read_table(&folder.path(&format!("left-{out}"))).unwrap();
        let all = koppel_io::results::read_table(&folder.path(&whole)).unwrap();
        assert!(left.time.len() >= 21, "{} rows", left.time.len());
        for ((_, some), (_, every)) in left.columns.iter().zip(&all.columns) {
            assert_eq!(some[..], every[..some.len()]);
        }

        folder.succeed(&["resume", "c", "-q"]);
        assert_same(&folder, out, &whole);
    }
}

/// CSV byte for byte; Parquet column by column.
fn assert_same(folder: &Folder, one: &str, other: &str) {
    if one.ends_with(".csv") {
        assert!(folder.bytes(one) == folder.bytes(other), "{one} is not {other}");
    }
    let read = |name: &str| koppel_io::results::read_table(&folder.path(name)).unwrap();
    let (a, b) = (read(one), read(other));
    assert!(a.time == b.time && a.columns == b.columns, "{one} is not {other}");
}

#[test]
fn every_coupling_goes_on_bit_for_bit() {
    let couplings = [
        "zoh",
        "{ method = \"foh\", start = \"reduced\" }",
        "soh",
        "{ method = \"relaxed\", alpha = 0.3 }",
        "{ method = \"anti-aliasing\", order = 1 }",
    ];
    let system = SYSTEM
        .replace("\"mass\"", "\"van-der-pol\"")
        .replace("parameters = { m = 10.0 }", "solver = \"adaptive\"")
        + "[[at]]\ntime = 0.0535\nset = { \"right.mu\" = 3 }\n";
    for schedule in ["parallel", "sequence"] {
        for coupling in couplings {
            let folder = Folder::with(&system);
            let base =
                ["system.toml", "-q", "--coupling", coupling, "--schedule", schedule, "--record-every", "3"];
            folder.succeed(&[&["run"], &base[..], &["--out", "whole.csv"]].concat());
            let checkpoints = ["--out", "r.csv", "--checkpoint", "c", "--checkpoint-every", "71"];
            folder.succeed(&[&["run"], &base[..], &checkpoints[..]].concat());
            folder.write("r.csv", &folder.read("r.csv"));
            folder.succeed(&["resume", "c", "-q"]);
            assert!(folder.bytes("r.csv") == folder.bytes("whole.csv"), "{coupling} {schedule}");
        }
    }
}

#[test]
fn slow_subsystems_go_on_bit_for_bit() {
    let folder = Folder::with(&SYSTEM.replace("stop = 0.2", "stop = 0.2\nevery = { right = 7 }"));
    folder.succeed(&["run", "system.toml", "-q", "--out", "whole.csv"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--out",
        "r.csv",
        "--checkpoint",
        "c",
        "--checkpoint-every",
        "60",
    ]);
    folder.succeed(&["resume", "c", "-q"]);
    assert!(folder.bytes("r.csv") == folder.bytes("whole.csv"));
}

#[test]
fn resume_to_another_time_and_file() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&["run", "system.toml", "-q", "--out", "whole.csv", "--stop", "0.4"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--out",
        "r.csv",
        "--checkpoint",
        "c",
        "--checkpoint-every",
        "150",
    ]);
    folder.succeed(&["resume", "c", "-q", "--stop", "0.4", "--out", "longer.csv"]);
    assert!(folder.bytes("longer.csv") == folder.bytes("whole.csv"));
    assert_eq!(folder.csv("r.csv").1.len(), 201, "the old file is left alone");
    let said = folder.run(&["resume", "c", "--stop", "0.1"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["nothing to continue", "--stop"]);
}

/// The settings of a run are in its checkpoint: other ones in the file are told, and change nothing.
#[test]
fn a_system_file_that_was_edited_is_told() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&["run", "system.toml", "-q", "--out", "whole.csv", "--stop", "0.4"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--out",
        "r.csv",
        "--checkpoint",
        "c",
        "--checkpoint-every",
        "150",
    ]);
    let resumed =
        |stop: &str| folder.succeed(&["resume", "c", "-q", "--stop", stop, "--checkpoint-every", "10"]);
    // Written anew with the same bytes: nothing to tell.
    folder.write("system.toml", SYSTEM);
    assert_eq!(resumed("0.3").err, "");
    let edited = SYSTEM.replace("[run]", "# harder\n[run]\nthreads = \"never\"");
    assert_ne!(edited, SYSTEM);
    folder.write("system.toml", &edited);
    // Also the second time, from a checkpoint of a run that went on.
    for stop in ["0.375", "0.4"] {
        let said = resumed(stop);
        said.errs_with(&["warning: `system.toml` has changed since the run began", "its original settings"]);
        assert_eq!(said.err.matches("warning").count(), 1, "{}", said.err);
    }
    assert!(folder.bytes("r.csv") == folder.bytes("whole.csv"));
    // Nobody needs it any more.
    std::fs::remove_file(folder.path("system.toml")).unwrap();
    assert_eq!(resumed("0.5").err, "");
}

#[test]
fn damaged_checkpoints_are_refused() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&["run", "system.toml", "-q", "--checkpoint", "c", "--checkpoint-every", "100"]);
    let mut bytes = folder.bytes("c");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(folder.path("c"), bytes).unwrap();
    folder.write("old", "koppel checkpoint 3\n12345678");
    for (file, text) in [
        ("c", "is damaged"),
        ("old", "was written by another version of koppel"),
        ("system.toml", "is not a checkpoint"),
        ("none", "there is no checkpoint `none`"),
    ] {
        let said = folder.run(&["resume", file]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&[text]);
    }
    folder.succeed(&["run", "system.toml", "-q", "--out", "r.csv", "--checkpoint-every", "100"]);
    for file in ["r.csv", "r"] {
        let said = folder.run(&["resume", file]);
        let is_named = said.err.contains("did you mean `r.csv.checkpoint`?");
        assert_eq!((said.code, is_named), (Some(2), file == "r.csv"), "{}", said.err);
    }
    let said = folder.run(&["recover", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["is not the part file"]);
}

#[test]
fn a_disk_that_fills_up() {
    let folder = folder();
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" run system.toml --step 1e-4 --out r.csv";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_koppel")]).current_dir(folder.path("."));
    let said = Said::new(command.output().unwrap());
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["error: cannot write `r.csv.part`", "koppel recover"]);
    folder.write("r.csv", "");
    folder.run(&["recover", "r.csv.part"]).errs_with(&["`r.csv` already exists", "--out"]);
    let said = folder.succeed(&["recover", "r.csv.part", "--out", "r.csv"]);
    said.says(&["recovered", "r.csv.part was removed"]);
    assert!(folder.csv("r.csv").1.len() > 10);
}

/// Runs with no file allowed to become longer than `blocks`.
fn limited(folder: &Folder, blocks: u32, arguments: &str) -> Said {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {arguments}");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_koppel")]).current_dir(folder.path("."));
    Said::new(command.output().unwrap())
}

#[test]
fn a_full_disk_tells_of_the_results_first() {
    let folder = folder();
    let said = limited(&folder, 16, "run system.toml --step 1e-4 --out r.csv --report r.html");
    assert_eq!(said.code, Some(1), "{}", said.err);
    let (results, report) = (said.err.find("r.csv.part`").unwrap(), said.err.find("r.html`").unwrap());
    assert!(results < report, "{}", said.err);
    assert!(!folder.has("r.html") && !folder.has("r.html.tmp"));
}

#[test]
fn without_room_for_the_report_the_results_are_told() {
    let folder = folder();
    let said = limited(&folder, 64, "run system.toml --record left.x --step 0.1 --out r.csv --report r.html");
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.says(&["wrote r.csv: 301 rows", "real-time factor"]);
    said.errs_with(&[
        "error: cannot write `r.html`",
        "hint: there is no report, but all 301 rows are in r.csv",
    ]);
    assert!(!folder.has("r.html") && !folder.has("r.html.tmp"));
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_run() {
    let folder = folder();
    let said = limited(&folder, 0, "run system.toml --checkpoint c --checkpoint-every 10");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.matches("warning: no checkpoint: cannot write `c`").count(), 1, "{}", said.err);
    assert!(!folder.has("c") && !folder.has("c.tmp"));
}

#[test]
fn resume_overwrites_nothing_else_and_shows_paths_as_run_does() {
    let folder = Folder::with(SYSTEM);
    let checkpoints = ["--out", "r.csv", "--checkpoint", "c", "--checkpoint-every", "150"];
    let said = folder.succeed(&[&["run", "system.toml"], &checkpoints[..]].concat());
    said.says(&[
        "wrote r.csv-metadata.json",
        "wrote c: the checkpoint at t = 0.15 s; needed only to continue",
    ]);
    for (arguments, text) in [
        (["--report", "c"], "the report and the checkpoint are the same file"),
        (["--report", "r.csv"], "the results and the report are the same file"),
        (["--report", "system.toml"], "the system file and the report are the same file"),
        (["--checkpoint", "system.toml"], "the system file and the checkpoint are the same file"),
    ] {
        let said = folder.run(&[&["resume", "c"], &arguments[..]].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}");
        said.errs_with(&[text]);
    }
    folder.succeed(&["resume", "c"]).says(&["wrote r.csv: 201 rows"]);
}

/// Killed between the last step and the end of the file: only the file is left to be finished.
#[test]
fn resume_finishes_a_file_whose_run_had_ended() {
    let folder = Folder::with(common::SYSTEM);
    folder.succeed(&["run", "system.toml", "--out", "r.csv", "--checkpoint-every", "100"]);
    let whole = folder.read("r.csv");
    std::fs::rename(folder.path("r.csv"), folder.path("r.csv.part")).unwrap();
    folder.succeed(&["resume", "r.csv.checkpoint"]);
    assert_eq!(folder.read("r.csv"), whole);
    assert!(!folder.has("r.csv.part"));
    let said = folder.run(&["resume", "r.csv.checkpoint"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["nothing to continue"]);
}

//! FMUs that are not isolated: the process that runs them has a supervisor, which keeps the rows and says what happened.

use super::common::Said;
use super::*;

#[test]
fn a_bad_fmu_costs_a_message_and_no_row() {
    for (how, says) in [
        (10, "`body` crashed with SIGSEGV (invalid memory access) in fmi2DoStep, in the step from t = 0.5 s"),
        (11, "`body` crashed with SIGABRT"),
        (12, "`body` ended its process with exit code 3 in fmi2DoStep, in the step from t = 0.5 s"),
        (15, "`body` crashed with SIGFPE"),
    ] {
        for out in ["r.csv", "r.parquet"] {
            let folder = folder("", &format!("parameters = {{ misbehave = {how} }}"));
            let said = run(&folder, &["run", "system.toml", "--out", out]);
            assert_eq!(said.code, Some(1), "{}", said.err);
            said.errs_with(&[
                "error: ",
                says,
                "hint: ",
                "run with --isolate",
                &format!("the 51 rows up to t = 0.5 s are kept in {out}"),
            ]);
            let rows = koppel_io::results::read_table(&folder.path(out)).unwrap().time.len();
            assert_eq!((rows, temporary(&folder)), (51, 0), "{how} {out}");
            assert!(!folder.has(&format!("{out}.part")));
        }
    }
}

#[test]
fn rows_are_the_same_with_and_without_a_supervisor() {
    let folder = folder("", "");
    for (out, option) in [("a.csv", "--in-process"), ("b.csv", "--quiet"), ("c.parquet", "--quiet")] {
        assert_eq!(run(&folder, &["run", "system.toml", option, "--out", out]).code, Some(0));
    }
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    let table = koppel_io::results::read_table(&folder.path("c.parquet")).unwrap();
    assert_eq!(table.time.len(), 101);
}

#[test]
fn a_crash_without_results_is_told_too() {
    let folder = folder("", "");
    pack_with(&folder, "mass.fmu", |description| description, "__builtin_trap();");
    for command in [&["run", "system.toml", "--out", "r.csv"][..], &["check", "system.toml"]] {
        let said = run(&folder, command);
        assert_eq!(said.code, Some(1), "{}", said.err);
        said.errs_with(&["SIGILL"]);
    }
    let said = run(&folder, &["run", "system.toml", "--json"]);
    assert_eq!((said.code, said.json()["exit_code"].as_i64()), (Some(1), Some(1)));
    assert_eq!(temporary(&folder), 0);
}

/// A hang is ended by the second Ctrl-C, and its child with it.
#[test]
fn a_hang_is_ended_by_hand() {
    let folder = folder("", "parameters = { misbehave = 17 }");
    let child = command(&folder, &["run", "system.toml", "--out", "r.csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let place = folder.path("tmp");
    let left = || {
        let environment =
            |process: u32| std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let is_ours =
            |process: &u32| String::from_utf8_lossy(&environment(*process)).contains(place.to_str().unwrap());
        processes(|line| line == "sleep 1000").iter().filter(|process| is_ours(process)).count()
    };
    wait_until("the FMU hangs", || left() == 1);
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, "INT");
    let said = Said::new(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    said.errs_with(&["aborted inside fmi2DoStep of `body`, in the step from t = 0.5 s; the 51 rows up to t = 0.5 s are kept in r.csv"]);
    assert_eq!(folder.column("r.csv", "time").len(), 51);
    assert_eq!((temporary(&folder), left()), (0, 0));
}

#[test]
fn a_supervised_process_needs_a_supervisor() {
    let folder = folder("", "");
    let said = run(&folder, &["supervised", "1", "run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["used by koppel itself"]);
}

/// Two of seven runs end their process: they have failed, and all others are there, on one thread and on two.
#[test]
fn a_study_loses_the_runs_that_crash_and_no_other() {
    for threads in ["1", "2"] {
        let folder = folder("", "");
        folder.write(
            "study.toml",
            "system = \"system.toml\"\n[factors]\n\"body.misbehave\" = [0, 30, 10, 31, 32, 12, 33]\n\
             [measures]\npeak = { of = \"abs(body.x)\", take = \"max\" }\n",
        );
        let said = run(&folder, &["study", "study.toml", "--out", "out", "--threads", threads]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.says(&["7 of 7, 2 failed", "`body` crashed with SIGSEGV (invalid memory access) in fmi2DoStep"]);
        let table = folder.read("out/runs.csv");
        let failed: Vec<&str> = table.lines().filter(|line| line.contains("fmi2DoStep")).collect();
        assert_eq!(failed.len(), 2, "{table}");
        assert!(failed[1].contains("ended its process with exit code 3"), "{table}");
        assert_eq!((table.lines().count(), temporary(&folder)), (8, 0));
    }
}

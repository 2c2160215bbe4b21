//! `coupling = "auto"` and `step = "auto"`: chosen, explained, pinned, refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, examples};
use serde_json::Value;

/// The quarter truck: linear, with a ramp from outside.
fn open(step: &str, coupling: &str) -> String {
    let system = std::fs::read_to_string(examples().join("quarter-truck.toml")).unwrap();
    assert!(system.contains(RUN));
    system.replace(RUN, &format!("step = {step}\ncoupling = {coupling}\n"))
}

const RUN: &str = "step = 2e-3\ncoupling = \"zoh\"\n";

const COUNTED: &str = "{ method = \"auto\", save = \"calls\" }";

fn summary(folder: &Folder, arguments: &[&str]) -> Value {
    folder.succeed(&[arguments, &["--json"]].concat()).json()
}

/// What is chosen keeps the error, is told with its reasons, and written into the file gives the same run to the last byte.
#[test]
fn a_choice_is_explained_and_can_be_pinned() {
    let folder = Folder::with(&open("\"auto\"", COUNTED));
    let report = summary(&folder, &["run", "system.toml", "--out", "a.csv"]);
    let auto = &report["auto"];
    assert_eq!(auto["basis"], "forecast", "{auto:#}");
    assert!(auto["error"].as_f64().unwrap() <= 0.05, "{auto:#}");
    assert!(auto["tried"].as_array().unwrap().len() > 4, "{auto:#}");
    assert_ne!(report["certificate"]["verdict"], "wrong", "{report:#}");
    assert_eq!(report["step"], auto["chosen"]["step"]);
    let lines: Vec<&str> =
        auto["pin"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let pinned =
        open("1", "\"zoh\"").replace("step = 1\ncoupling = \"zoh\"\n", &format!("{}\n", lines.join("\n")));
    assert!(!pinned.contains("auto"), "{pinned}");
    folder.write("pinned.toml", &pinned);
    folder.succeed(&["run", "pinned.toml", "--out", "b.csv"]);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    let said = folder.succeed(&["run", "system.toml", "--explain"]);
    said.says(&["auto  ", "predicted error", "by the forecast", "pinned by", "step = "]);
    assert!(said.err.contains("tried:"), "{}", said.err);
}

/// A number is a number; a grid has its rows whatever the step.
#[test]
fn a_given_step_is_kept_and_rows_on_a_grid_come_out() {
    let folder = Folder::with(&open("5e-4", COUNTED));
    let report = summary(&folder, &["run", "system.toml"]);
    assert_eq!(report["step"], 5e-4);
    assert!(report["auto"]["error"].as_f64().unwrap() <= 0.05, "{report:#}");
    let report = summary(&folder, &["run", "system.toml", "--step", "{ at_most = 0.01 }", "--out", "g.csv"]);
    let step = report["step"].as_f64().unwrap();
    let parts = 0.01 / step;
    assert!((parts - parts.round()).abs() < 1e-9 && parts >= 1.0, "{step}");
    let text = folder.read("g.csv");
    let times: Vec<f64> =
        text.lines().skip(1).map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(times.len(), 301, "{text}");
    assert!(times.iter().enumerate().all(|(k, t)| (t - 0.01 * k as f64).abs() < 1e-9), "{times:?}");
}

#[test]
fn check_and_dry_run_tell_what_would_be_chosen() {
    let folder = Folder::with(&open("\"auto\"", COUNTED));
    let ran = summary(&folder, &["run", "system.toml"]);
    let checked = summary(&folder, &["check", "system.toml", "--methods", "own"]);
    assert_eq!(checked["auto"]["chosen"], ran["auto"]["chosen"], "{checked:#}");
    assert_eq!(checked["verdict"], "stable");
    let planned = summary(&folder, &["run", "system.toml", "--dry-run"]);
    assert_eq!(planned["auto"]["chosen"], ran["auto"]["chosen"], "{planned:#}");
    folder.succeed(&["check", "system.toml", "--methods", "own"]).says(&["auto  ", "pinned by", "tried  "]);
}

#[test]
fn bad_wishes_are_refused_where_they_stand() {
    for (step, coupling, words) in [
        ("1e-3", "{ method = \"auto\", error = 0 }", "must lie above 0 and below 1"),
        ("1e-3", "{ method = \"auto\", error = -0.1 }", "must lie above 0 and below 1"),
        ("1e-3", "{ method = \"auto\", eror = 0.1 }", "unknown key `eror`"),
        ("1e-3", "{ method = \"auto\", save = \"money\" }", "`money`"),
        ("\"autoo\"", "\"auto\"", "`step` must be a number of seconds, \"auto\""),
        ("{ at_most = -1 }", "\"auto\"", "`at_most` must be positive"),
        ("{ most = 1 }", "\"auto\"", "unknown key `most`"),
        ("true", "\"auto\"", "`step` must be"),
    ] {
        let folder = Folder::with(&open(step, coupling));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{coupling}: {}\n{}", said.out, said.err);
        assert!(said.err.contains(words) && said.err.contains("system.toml"), "{coupling}: {}", said.err);
    }
}

/// A checkpoint has what was chosen: nothing is chosen anew.
#[test]
fn a_resumed_run_keeps_the_choice() {
    let folder = Folder::with(&open("\"auto\"", COUNTED));
    let whole =
        summary(&folder, &["run", "system.toml", "--stop", "4", "--step", "5e-3", "--out", "whole.csv"]);
    let first = ["run", "system.toml", "--step", "5e-3", "--checkpoint", "c", "--checkpoint-every", "50"];
    let part = summary(&folder, &[&first[..], &["--out", "part.csv"]].concat());
    let resumed = summary(&folder, &["resume", "c", "--stop", "4"]);
    assert!(resumed["auto"].is_null(), "{resumed:#}");
    assert_eq!(resumed["settings"]["run"]["coupling"], part["settings"]["run"]["coupling"]);
    if whole["settings"]["run"]["coupling"] == part["settings"]["run"]["coupling"] {
        assert_eq!(folder.read("whole.csv"), folder.read("part.csv"));
    }
}

/// Non-linear subsystems are judged by runs of copies, within what was asked for; the certificate is the witness.
#[test]
fn a_system_that_is_not_linear_is_tried_on_copies() {
    let folder = Folder::new();
    let file = examples().join("van-der-pol.toml");
    let arguments =
        ["run", file.to_str().unwrap(), "--coupling", COUNTED, "--step", "auto", "--confirm", "always"];
    let report = summary(&folder, &arguments);
    assert_eq!(report["auto"]["basis"], "pilots", "{:#}", report["auto"]);
    assert!(report["auto"]["error"].as_f64().unwrap() <= 0.05, "{report:#}");
    assert_ne!(report["certificate"]["verdict"], "wrong", "{report:#}");
}

/// What must not be copied is not; the choice then rests on linear models, or on nothing.
#[test]
fn what_must_not_be_copied_is_not() {
    let system = std::fs::read_to_string(examples().join("van-der-pol.toml")).unwrap();
    let folder = Folder::with(&system.replacen("solver = {", "probe = false\nsolver = {", 1));
    let said = folder.run(&["run", "system.toml", "--coupling", "auto", "--json"]);
    if said.code == Some(0) {
        let report: Value = serde_json::from_str(&said.out).unwrap();
        assert_ne!(report["auto"]["basis"], "pilots", "{:#}", report["auto"]);
        assert!(said.err.contains("no copies were run"), "{}", said.err);
    } else {
        panic!("{}\n{}", said.out, said.err);
    }
}

#[test]
fn studies_and_fmus_take_what_is_chosen() {
    let folder = Folder::with(&open("1e-3", COUNTED));
    folder.write(
        "study.toml",
        "system = \"system.toml\"\n[factors]\n\"run.step\" = [2e-3, 5e-3]\n[reference]\nmonolithic = true\n[measures]\nerror = { error = \"all\" }\n",
    );
    folder.succeed(&["study", "study.toml", "--out", "found"]);
    let said = folder.run(&["fmu", "export", "system.toml", "--out", "system.fmu"]);
    if said.code == Some(0) {
        assert!(said.err.contains("the settings that `auto` chose"), "{}", said.err);
    }
}

/// The default coupling with a step that it cannot bear is warned of before the run.
#[test]
fn a_run_that_will_be_unstable_is_warned_of() {
    let file = examples().join("quarter-truck.toml");
    let folder = Folder::new();
    let said = folder.run(&["run", file.to_str().unwrap(), "--step", "0.06", "--coupling", "zoh"]);
    assert!(said.err.contains("warning: the run will be unstable: `zoh` at steps of 0.06 s"), "{}", said.err);
    let said = folder.succeed(&["run", file.to_str().unwrap(), "--coupling", "zoh"]);
    assert!(!said.err.contains("warning"), "{}", said.err);
}

/// The quarter truck without a word on its coupling.
fn unsaid(step: &str) -> String {
    let system = open(step, "\"zoh\"");
    let unsaid = system.replace("coupling = \"zoh\"\n", "");
    assert!(!unsaid.contains("coupling"), "{unsaid}");
    unsaid
}

/// A file that says nothing gets the most accurate of the cheapest methods at its step, without a word but in the summary; and another
/// one where holding inputs is not stable.
#[test]
fn a_coupling_that_is_not_said_is_chosen() {
    let folder = Folder::with(&unsaid("2e-3"));
    let said = folder.succeed(&["run", "system.toml", "--out", "a.csv"]);
    said.says(&["auto  ", ", 0.002 s: predicted error ", "pinned by"]);
    assert_eq!(said.err, "");
    let chosen = summary(&folder, &["run", "system.toml"]);
    let held = summary(&folder, &["run", "system.toml", "--coupling", "zoh"]);
    let of = |report: &Value| report["certificate"]["overall"]["error"].as_f64().unwrap();
    assert!(
        of(&chosen) < 0.2 * of(&held)
            && chosen["subsystems"][0]["step_calls"] == held["subsystems"][0]["step_calls"]
    );
    // What is pinned gives the same run.
    let method = chosen["settings"]["run"]["coupling"]["method"].as_str().unwrap();
    let schedule = chosen["settings"]["run"]["schedule"].as_str().unwrap();
    folder.succeed(&["run", "system.toml", "--coupling", method, "--schedule", schedule, "--out", "b.csv"]);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    // Zero-order hold is stable up to 38.1 ms.
    folder.write("system.toml", &unsaid("0.038"));
    let report = summary(&folder, &["run", "system.toml"]);
    assert_eq!(report["step"], 0.038);
    assert_ne!(report["settings"]["run"]["coupling"]["method"], "zoh", "{:#}", report["auto"]);
    assert!(report["auto"]["error"].as_f64().unwrap() <= 0.05, "{report:#}");
    assert_ne!(report["certificate"]["verdict"], "wrong", "{report:#}");
    // Where nothing keeps the error, a step that does is named.
    folder.write("system.toml", &unsaid("0.29"));
    let said = folder.run(&[
        "run",
        "system.toml",
        "--coupling",
        "{ method = \"auto\", error = 1e-4 }",
        "--no-cache",
    ]);
    assert!(said.err.contains(" s would, or step = \"auto\""), "{}", said.err);
}

/// What goes without copies: connections that are none, subsystems that are spared, studies.
#[test]
fn where_nothing_may_be_tried_inputs_are_held() {
    let folder = Folder::with("[run]\nstop = 1\nstep = 0.1\n[subsystems.a]\nmodel = \"pt1\"\n");
    let report = summary(&folder, &["run", "system.toml"]);
    assert!(
        report["auto"].is_null() && report["settings"]["run"]["coupling"]["method"] == "zoh",
        "{report:#}"
    );
    let spared = unsaid("0.038").replacen("model = ", "probe = false\nmodel = ", 1);
    folder.write("spared.toml", &spared);
    let said = folder.run(&["run", "spared.toml", "--json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["auto"]["basis"], "nothing", "{:#}", report["auto"]);
    assert_eq!(report["settings"]["run"]["coupling"]["method"], "zoh");
    assert!(!said.err.contains("no copies"), "{}", said.err);
    folder.write("system.toml", &unsaid("2e-3"));
    folder.write(
        "study.toml",
        "system = \"system.toml\"\n[factors]\n\"run.step\" = [2e-3, 0.038]\n[reference]\nmonolithic = true\n[measures]\nerror = { error = \"all\" }\n",
    );
    folder.succeed(&["study", "study.toml", "--out", "found"]);
    folder.write("said.toml", &open("2e-3", "\"zoh\""));
    folder.write("study.toml", &folder.read("study.toml").replace("system.toml", "said.toml"));
    folder.succeed(&["study", "study.toml", "--out", "wanted"]);
    assert_eq!(folder.read("found/runs.csv"), folder.read("wanted/runs.csv"));
}

/// Nothing is timed: however busy the machine, all that is said of a choice is the same.
#[test]
fn choices_do_not_depend_on_the_load() {
    let folder = Folder::new();
    let file = examples().join("van-der-pol.toml");
    let arguments = ["run", file.to_str().unwrap(), "--coupling", "auto", "--step", "auto", "--no-cache"];
    let choice = || summary(&folder, &arguments)["auto"].clone();
    let first = choice();
    assert!(first["calls"].as_f64().unwrap() <= 2e5, "{first:#}");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::black_box((0..10_000_u64).sum::<u64>());
                }
            });
        }
        let again = [choice(), choice()];
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(again, [first.clone(), first.clone()]);
    });
}

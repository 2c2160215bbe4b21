//! What the binary says, word for word: `tests/snapshots/NAME.txt` holds command, exit code, both outputs.
//!
//! `KOPPEL_UPDATE_SNAPSHOTS=1 cargo test -p koppel-cli --test snapshots` writes them anew; read the difference before
//! you commit it.

mod common;

use common::{Folder, SYSTEM};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The system with one text replaced, run.
fn bad(name: &'static str, from: &str, to: &str) -> (&'static str, String, Vec<&'static str>) {
    assert!(SYSTEM.contains(from), "{from}");
    (name, SYSTEM.replacen(from, to, 1), vec!["run", "system.toml"])
}

fn with(name: &'static str, more: &str) -> (&'static str, String, Vec<&'static str>) {
    (name, format!("{SYSTEM}{more}"), vec!["run", "system.toml"])
}

fn quiet_bad(name: &'static str, from: &str, to: &str) -> (&'static str, String, Vec<&'static str>) {
    let (name, text, _) = bad(name, from, to);
    (name, text, vec!["run", "system.toml", "--quiet"])
}

fn good(name: &'static str, arguments: &[&'static str]) -> (&'static str, String, Vec<&'static str>) {
    (name, SYSTEM.to_owned(), arguments.to_vec())
}

fn commands() -> Vec<(&'static str, String, Vec<&'static str>)> {
    vec![
        good("help", &["--help"]),
        good("help-run", &["run", "--help"]),
        good("help-check", &["check", "--help"]),
        good("check", &["check", "system.toml", "--methods", "holds"]),
        good("help-resume", &["resume", "--help"]),
        good("help-recover", &["recover", "--help"]),
        good("help-models", &["models", "--help"]),
        good("help-new", &["new", "--help"]),
        good("help-hinf", &["hinf", "--help"]),
        good("help-probe", &["probe", "--help"]),
        good("help-study", &["study", "--help"]),
        good("help-tune", &["tune", "--help"]),
        good("help-fmu", &["fmu", "--help"]),
        good("help-fmu-info", &["fmu", "info", "--help"]),
        good("help-fmu-check", &["fmu", "check", "--help"]),
        good("help-fmu-export", &["fmu", "export", "--help"]),
        good("help-ssp", &["ssp", "--help"]),
        good("help-ssp-check", &["ssp", "check", "--help"]),
        good("help-ssp-export", &["ssp", "export", "--help"]),
        good("help-study-merge", &["study", "merge", "--help"]),
        good("help-study-analyse", &["study", "analyse", "--help"]),
        good("help-study-jobs", &["study", "jobs", "--help"]),
        good("help-doctor", &["doctor", "--help"]),
        good("help-completions", &["completions", "--help"]),
        good("help-exit-codes", &["exit-codes", "--help"]),
        good("hinf", &["hinf", "--step", "0.01", "--disc", "0.001"]),
        good("hinf-order", &["hinf", "--step", "0.01", "--weight-order", "4"]),
        good("hinf-disc", &["hinf", "--step", "0.01", "--weight-hz", "400"]),
        good("exit-codes", &["exit-codes"]),
        good("models", &["models"]),
        good("models-spring-mass", &["models", "spring-mass"]),
        good("new-list", &["new", "--list"]),
        good("dry-run", &["run", "system.toml", "--dry-run"]),
        good("quiet", &["run", "system.toml", "--quiet", "--out", "r.csv"]),
        good("missing-file", &["run", "sytem.toml"]),
        good("unknown-command", &["rnu", "system.toml"]),
        good("unknown-option", &["run", "system.toml", "--stpe", "1"]),
        good("option-step", &["run", "system.toml", "--step", "-1"]),
        good("option-coupling", &["run", "system.toml", "--coupling", "zho"]),
        good("option-set", &["run", "system.toml", "--set", "left.mass=1"]),
        good("out-unknown", &["run", "system.toml", "--out", "r.xlsx"]),
        good("out-folder-missing", &["run", "system.toml", "--out", "none/r.csv"]),
        good("recover-nothing", &["recover", "r.csv.part"]),
        good("resume-nothing", &["resume", "system.toml"]),
        bad("toml-syntax", "stop = 0.2", "stop = = 0.2"),
        bad("unknown-key", "step = 1e-3", "stpe = 1e-3"),
        bad("unknown-model", "\"mass\"", "\"spring-mas\""),
        bad("matrix-shape", "x0 = [0.1, 0]", "x0 = [0.1, 0, 0]"),
        bad("matrix-b", "B = [[0], [0.1]]", "B = [[0], [0.1], [0]]"),
        bad("not-finite", "stop = 0.2", "stop = inf"),
        bad("step-zero", "step = 1e-3", "step = 0"),
        bad("stop-before-start", "stop = 0.2", "stop = -0.2"),
        with("connected-twice", "[[connections]]\nfrom = \"left.x\"\nto = \"left.F\"\n"),
        with("unknown-port", "[[connections]]\nfrom = \"left.y\"\nto = \"right.F_ext\"\n"),
        with("unknown-subsystem", "[[connections]]\nfrom = \"lft.x\"\nto = \"right.F_ext\"\n"),
        with("unit-mismatch", "[[connections]]\nfrom = \"right.v\"\nto = \"right.F_ext\"\n"),
        with("bad-signal", "[[inputs]]\nto = \"right.F_ext\"\nsignal = { kind = \"sin\", amplitude = 1 }\n"),
        with("bad-change", "[[at]]\ntime = 0.1\nset = { \"left.F\" = 1 }\n"),
        bad("bad-condition", "step = 1e-3", "step = 1e-3\nstop_when = \"left.x >\""),
        // Quiet, because the summary has times in it.
        quiet_bad("diverges", "A = [[0, 1], [-1e5, -0.1]]", "A = [[0, 1], [1e9, -0.1]]"),
    ]
}

#[test]
fn the_binary_says_what_it_said() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let is_update = std::env::var_os("KOPPEL_UPDATE_SNAPSHOTS").is_some();
    let mut changed = String::new();
    for (name, text, arguments) in commands() {
        let said = Folder::with(&text).run(&arguments);
        let code = said.code.map_or("none".into(), |code| code.to_string());
        let now = format!(
            "$ koppel {}\nexit code {code}\n--- standard output\n{}--- standard error\n{}",
            arguments.join(" "),
            said.out,
            said.err
        );
        let path = folder.join(format!("{name}.txt"));
        if is_update {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &now).unwrap();
            continue;
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        if known != now {
            writeln!(changed, "=== {name}, was:\n{known}\n=== {name}, is:\n{now}").unwrap();
        }
    }
    assert!(changed.is_empty(), "{changed}");
}

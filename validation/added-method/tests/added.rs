//! A method that koppel does not know is found wherever methods are: help, messages, `check`, `tune`, `auto` and a run.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

use serde_json::Value;
use std::process::Command;

/// What rises by one each second, and its integral.
const RAMP: &str = r#"
[run]
stop = 1.0
step = 0.1
coupling = { method = "damped", beta = 0.25 }

[subsystems.ramp]
model = "linear"
A = [[0, 1], [0, 0]]
B = [[0], [0]]
C = [[1, 0]]
inputs = ["u"]
outputs = ["y"]
x0 = [0, 1]

[subsystems.sum]
model = "linear"
A = [[0]]
B = [[1]]
C = [[1]]
inputs = ["u"]
outputs = ["y"]

[[connections]]
from = "ramp.y"
to = "sum.u"

[[connections]]
from = "sum.y"
to = "ramp.u"
"#;

/// Two lags, each the other's environment.
const LOOP: &str = r#"
[run]
stop = 5.0
step = 0.1
coupling = "zoh"

[subsystems.first]
model = "linear"
A = [[-1]]
B = [[-1]]
C = [[1]]
inputs = ["u"]
outputs = ["y"]
x0 = [1]

[subsystems.second]
model = "linear"
A = [[-2]]
B = [[2]]
C = [[1]]
inputs = ["u"]
outputs = ["y"]

[[connections]]
from = "first.y"
to = "second.u"

[[connections]]
from = "second.y"
to = "first.u"
"#;

struct Said {
    is_ok: bool,
    out: String,
    err: String,
}

/// koppel with the added method, in a folder with the system.
fn koppel(text: &str, arguments: &[&str]) -> Said {
    within(&tempfile::tempdir().unwrap(), text, arguments)
}

fn within(folder: &tempfile::TempDir, text: &str, arguments: &[&str]) -> Said {
    std::fs::write(folder.path().join("system.toml"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_koppel-added-method"))
        .args(arguments)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let read = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = Said { is_ok: output.status.success(), out: read(output.stdout), err: read(output.stderr) };
    eprintln!("koppel {}\n{}{}", arguments.join(" "), said.out, said.err);
    said
}

#[test]
fn help_names_it_after_the_others() {
    let last = koppel::coupling::methods().last().unwrap().name;
    for command in ["run", "tune"] {
        let help = koppel(RAMP, &[command, "--help"]).out;
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("{last}, damped")), "{help}");
    }
}

/// Step k holds t_k - β H, the first one 0: ∫ = Σ H (k H - β H) over k = 1 to N - 1.
#[test]
fn a_run_has_the_numbers_of_the_method() {
    let (steps, h) = (10.0_f64, 0.1_f64);
    for beta in [0.0, 0.25, 1.0] {
        let text = RAMP.replace("beta = 0.25", &format!("beta = {beta:?}"));
        let expected = h * h * (steps * (steps - 1.0) / 2.0 - beta * (steps - 1.0));
        let found = last(&text);
        assert!((found - expected).abs() < 1e-14, "beta {beta}: {found} against {expected}");
    }
    let zoh = RAMP.replace("{ method = \"damped\", beta = 0.25 }", "\"zoh\"");
    assert_eq!(last(&zoh), last(&RAMP.replace("0.25", "0.0")));
}

/// A value that jumps from 0 to 1 inside a step, by a timed change, arrives at once: before it there is nothing to go by.
#[test]
fn what_was_before_a_jump_does_not_count() {
    let jump =
        RAMP.replace("A = [[0, 1], [0, 0]]\nB = [[0], [0]]\nC = [[1, 0]]", "A = [[0]]\nB = [[0]]\nC = [[1]]");
    let jump =
        jump.replace("x0 = [0, 1]", "x0 = [0]") + "[[at]]\ntime = 0.55\nset = { \"ramp.x[1]\" = 1.0 }\n";
    for beta in [0.0, 0.25, 1.0] {
        let found = last(&jump.replace("beta = 0.25", &format!("beta = {beta:?}")));
        assert!((found - 0.45).abs() < 1e-12, "beta {beta}: {found}");
    }
}

/// `sum.y` at the end.
fn last(text: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    assert!(within(&folder, text, &["run", "system.toml", "--out", "out.csv"]).is_ok);
    let table = std::fs::read_to_string(folder.path().join("out.csv")).unwrap();
    let mut rows = table.lines();
    let column = rows.next().unwrap().split(',').position(|name| name.starts_with("sum.y")).unwrap();
    rows.last().unwrap().split(',').nth(column).unwrap().parse().unwrap()
}

#[test]
fn mistakes_in_it_are_told_like_those_of_any_other() {
    let unknown = koppel(&RAMP.replace("\"damped\"", "\"dampd\""), &["run", "system.toml"]);
    assert!(!unknown.is_ok && unknown.err.contains("unknown coupling `dampd`"));
    assert!(unknown.err.contains("did you mean `damped`?"), "{}", unknown.err);
    let key = koppel(&RAMP.replace("beta", "bets"), &["run", "system.toml"]);
    assert!(!key.is_ok && key.err.contains("unknown key `bets`") && key.err.contains("beta"));
    let value = koppel(&RAMP.replace("0.25", "2.0"), &["run", "system.toml"]);
    assert!(!value.is_ok && value.err.contains("damped.beta"), "{}", value.err);
}

#[test]
fn check_compares_it() {
    for arguments in [["--methods", "all"].as_slice(), &["--frequency"]] {
        let said = koppel(LOOP, &[&["check", "system.toml"], arguments].concat());
        assert!(said.is_ok && said.out.contains("damped"));
    }
}

#[test]
fn tune_and_auto_try_it() {
    let slow = LOOP.replace("\"zoh\"", "{ method = \"relaxed\", alpha = 0.9 }");
    let kept = ["--keep", "step,schedule,connections", "--json"];
    let said = koppel(&slow, &[&["tune", "system.toml", "--methods", "damped"], kept.as_slice()].concat());
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(found["combinations"], 9.0, "{found}");
    let best = found["front"].as_array().unwrap().iter().find(|row| row["is_own"] == false).unwrap();
    assert_eq!(best["coupling"]["method"], "damped", "{found}");
    // Of its nine levels the one that is most like zero-order hold is the most exact.
    assert!(found.to_string().contains(r#""coupling":{"beta":0.1,"method":"damped"}"#), "{found}");
    let open = LOOP.replace("\"zoh\"", "{ method = \"auto\", error = 1e-6 }");
    let said = koppel(&open, &["run", "system.toml", "--explain"]);
    assert!(said.is_ok && said.err.contains("damped, parallel, 0.1 s: error"));
}

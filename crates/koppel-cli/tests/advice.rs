//! Three lines open the summary of every run and check, and what they say holds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, examples};
use serde_json::Value;

const NAMES: [&str; 3] = ["verdict", "stability", "better"];

fn example(name: &str) -> String {
    examples().join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Value {
    let said = Folder::new().run(&[&["run", "--json"], arguments].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.err))
}

fn line<'a>(document: &'a Value, name: &str) -> &'a str {
    document["advice"][name].as_str().unwrap()
}

/// Root mean square over the range of the reference, of the worst output.
fn error(seen: &(Vec<String>, Vec<Vec<f64>>), exact: &(Vec<String>, Vec<Vec<f64>>)) -> f64 {
    let (seen, exact) = (&seen.1, &exact.1);
    assert_eq!(seen.len(), exact.len());
    let of = |column: usize| {
        let squares: f64 = seen.iter().zip(exact).map(|(a, b)| (a[column] - b[column]).powi(2)).sum();
        let values = || exact.iter().map(|row| row[column]);
        let range = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
        (squares / (seen.len() - 1) as f64).sqrt() / range
    };
    (1..exact[0].len()).map(of).fold(0.0, f64::max)
}

#[test]
fn three_lines_open_every_summary() {
    let folder = Folder::new();
    for file in ["dual-mass.toml", "van-der-pol.toml", "epas.toml"].map(example) {
        for arguments in [vec!["run", &file], vec!["run", &file, "--no-certificate"], vec!["check", &file]] {
            let said = folder.succeed(&arguments);
            let lines: Vec<&str> = said.out.lines().skip(1).take(3).collect();
            for (line, name) in lines.iter().zip(NAMES) {
                assert!(
                    line.starts_with(&format!("  {name} ")) && line.len() > 20,
                    "{arguments:?}: {}",
                    said.out
                );
            }
        }
    }
}

/// What is recommended for a linear system has the error that is said, at the price that is said; its limit is that of `check`.
#[test]
fn a_linear_system_is_computed() {
    let file = example("dual-mass.toml");
    let own = run(&[&file]);
    assert!(line(&own, "verdict").starts_with("trusted: error at most 2.6 % (`right.F`)"), "{own:#}");
    let words = line(&own, "better").to_owned();
    let (method, rest) = words.strip_prefix('`').unwrap().split_once("`, ").unwrap();
    let (schedule, rest) = rest.split_once(", at ").unwrap();
    let (step, rest) = rest.split_once(" s: error ").unwrap();
    let (percent, _) = rest.split_once(" %").unwrap();
    let better = run(&[&file, "--coupling", method, "--schedule", schedule, "--step", step]);
    let error = 100.0 * better["certificate"]["overall"]["error"].as_f64().unwrap();
    let percent: f64 = percent.parse().unwrap();
    assert!((error / percent - 1.0).abs() < 0.3, "{words}: {error}");
    let limit = |words: &str| -> f64 { words.split(' ').nth(3).unwrap().parse().unwrap() };
    let check = Folder::new().succeed(&["check", &file, "--methods", "own", "--json"]).json();
    let (of_run, of_check) = (limit(line(&own, "stability")), limit(line(&check, "stability")));
    assert!((of_run / of_check - 1.0).abs() < 0.02, "{of_run} {of_check}");
    // Beyond it the run is unstable, and the lines say so.
    let beyond = run(&[&file, "--step", "0.009"]);
    assert!(line(&beyond, "stability").starts_with("unstable at 0.009 s; stable up to 0.007"), "{beyond:#}");
    assert!(!line(&beyond, "verdict").starts_with("trusted"), "{beyond:#}");
}

/// Of a system that is not linear only what was run is said.
#[test]
fn nothing_is_said_that_was_not_tried() {
    let file = example("van-der-pol.toml");
    let tried = run(&[&file]);
    assert!(line(&tried, "stability").contains("where it was tried"), "{tried:#}");
    assert!(line(&tried, "better").starts_with("a step of 0.0324 s was tried"), "{tried:#}");
    let silent = run(&[&file, "--confirm", "off"]);
    for name in ["stability", "better"] {
        assert!(line(&silent, name).starts_with("not "), "{silent:#}");
    }
    assert!(line(&silent, "verdict").starts_with("unconfirmed: error unknown"), "{silent:#}");
}

/// VFPS keeps a system without damping: no warning, no alarm.
#[test]
fn systems_without_damping_raise_no_alarm() {
    let file = example("undamped-two-mass.toml");
    for step in ["0.02", "0.05"] {
        let folder = Folder::new();
        let said = folder.succeed(&["run", &file, "--coupling", "vfps", "--step", step]);
        assert!(
            !said.err.contains("warning") && said.out.contains("verdict           trusted"),
            "{}",
            said.out
        );
        assert!(!said.out.contains("unstable"), "{}", said.out);
    }
    // First-order hold adds energy at any step, but next to nothing in this run.
    let held = run(&[&file]);
    assert!(line(&held, "stability").starts_with("disturbances grow at 0.002 s, but only by "), "{held:#}");
}

/// With first-order hold the error is above 100 %; it was called trusted once.
#[test]
fn a_steering_under_first_order_hold_is_not_trusted() {
    let found = run(&[&example("epas.toml"), "--coupling", "foh"]);
    assert_eq!(found["certificate"]["verdict"], "wrong", "{}", found["certificate"]);
}

/// The phase of an oscillator drifts: short runs are good, long ones are not; the truth is a run at a twentieth of the step.
#[test]
fn long_runs_of_an_oscillator_have_the_error_that_is_stated() {
    let file = example("van-der-pol.toml");
    for (stop, step, every) in [("150", "0.1", "20"), ("2900", "0.1", "20"), ("3000", "0.1", "20")] {
        let folder = Folder::new();
        let certified = [
            "run",
            &file,
            "--stop",
            stop,
            "--step",
            step,
            "--confirm",
            "always",
            "--json",
            "--out",
            "own.csv",
        ];
        let found = folder.run(&certified).json();
        let fine = [
            "run",
            &file,
            "--stop",
            stop,
            "--step",
            "0.005",
            "--record-every",
            every,
            "--no-certificate",
            "-q",
        ];
        folder.succeed(&[&fine[..], &["--out", "fine.csv"]].concat());
        let truth = error(&folder.csv("own.csv"), &folder.csv("fine.csv"));
        let band = |key: &str| found["certificate"]["overall"][key].as_f64().unwrap();
        assert!(
            band("low") <= truth && truth <= band("high"),
            "T = {stop}: {truth} {}",
            found["certificate"]
        );
        let verdict = if truth > 0.1 { "wrong" } else { "unconfirmed" };
        assert_eq!(found["certificate"]["verdict"], verdict, "T = {stop}: {truth} {}", found["certificate"]);
    }
}

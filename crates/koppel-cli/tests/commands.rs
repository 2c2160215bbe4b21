//! The small commands, and help.

mod common;

use common::{Folder, examples};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn models_are_listed_and_described() {
    let folder = Folder::new();
    folder.succeed(&["models"]).says(&[
        "spring-mass",
        "linear",
        "Example systems",
        "dual-mass",
        "quarter-truck",
    ]);
    folder.succeed(&["models", "spring-mass"]).says(&["Source:", "parameter  m", "kg", "feed-through"]);
    folder.succeed(&["models", "linear"]).says(&["A, B, C"]);
    assert!(folder.succeed(&["models", "--json"]).json().as_array().unwrap().len() > 10);
    assert_eq!(folder.succeed(&["models", "linear", "--json"]).json()["name"], "linear");
    let unknown = folder.run(&["models", "spring-mas", "--json"]);
    assert_eq!((unknown.code, &unknown.json()["exit_code"]), (Some(2), &2.into()));
    let said = folder.run(&["models", "sprin-mass"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&[
        "unknown model or example system `sprin-mass`",
        "did you mean `spring-mass`",
        "linear",
        "quarter-truck",
    ]);
}

#[test]
fn compensators_are_designed_alone() {
    let folder = Folder::new();
    let document = folder.succeed(&["hinf", "--step", "0.01", "--disc", "0.001", "--json"]).json();
    assert!((document["gamma"].as_f64().unwrap() - 0.01795).abs() < 5e-6);
    assert_eq!(document["poles"].as_array().unwrap().len(), document["zeros"].as_array().unwrap().len());
    folder.succeed(&["hinf", "--step", "0.05", "--weight-order", "3", "--hold", "soh", "--plot", "e.svg"]);
    let picture = folder.read("e.svg");
    assert!(picture.contains(">hinf</text>") && picture.contains(">soh</text>"));
    folder.run(&["hinf", "--step", "0"]).errs_with(&["hinf.step", "above zero"]);
    folder.run(&["hinf", "--step", "-1"]).errs_with(&["hinf.step", "`-1`", "above zero"]);
    folder.run(&["hinf", "--step", "0.01", "--disc", "-1e-3"]).errs_with(&["hinf.disc", "above zero"]);
    let refused = folder.run(&["hinf", "--step", "0", "--json"]).json();
    assert_eq!((&refused["status"], &refused["exit_code"]), (&"invalid".into(), &2.into()));
}

/// Every option that takes a number takes a wrong one, too, and says what is wrong with it.
#[test]
fn negative_numbers_are_numbers() {
    let folder = Folder::with(&std::fs::read_to_string(examples().join("dual-mass.toml")).unwrap());
    for (option, problem) in [
        ("--step", "positive"),
        ("--stop", "stop"),
        ("--record-every", "whole number above zero"),
        ("--step-timeout", "above zero"),
        ("--checkpoint-every", "number of steps"),
    ] {
        let said = folder.run(&["run", "system.toml", option, "-1"]);
        said.errs_with(&[problem]);
        assert!(!said.err.contains("unexpected argument"), "{option}: {}", said.err);
    }
    folder.run(&["run", "system.toml", "--realtime", "--speed", "-1"]).errs_with(&["above zero"]);
    folder.run(&["fmu", "check", "x.fmu", "--step", "-1"]).errs_with(&["above zero"]);
    folder.run(&["fmu", "check", "x.fmu", "--timeout", "-1"]).errs_with(&["above zero"]);
    folder.run(&["hinf", "--step", "0.01", "--weight-order", "-1"]).errs_with(&["whole number"]);
    folder.run(&["hinf", "--step", "one"]).errs_with(&["must be a number"]);
}

#[test]
fn an_example_of_a_model_runs() {
    let folder = Folder::new();
    folder.write("e.toml", &folder.succeed(&["models", "spring-mass", "--example"]).out);
    folder.succeed(&["run", "e.toml", "-q"]);
    folder.write("l.toml", &folder.succeed(&["models", "linear", "--example"]).out);
    folder.succeed(&["run", "l.toml", "-q"]);
}

#[test]
fn every_example_is_embedded() {
    let list = Folder::new().succeed(&["new", "--list"]).out;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(
                list.lines().any(|line| line.split_whitespace().next() == Some(name)),
                "{name} in commands/examples.rs"
            );
        }
    }
}

#[test]
fn new_files_run_and_are_not_replaced() {
    let folder = Folder::new();
    folder.succeed(&["new", "first"]).says(&["wrote first.toml", "koppel run first.toml --out first.csv"]);
    folder.succeed(&["run", "first.toml", "-q"]);
    let said = folder.run(&["new", "first"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`first.toml` exists already", "--force"]);
    folder.succeed(&["new", "first", "--force", "--from", "dual-mass"]);
    assert_eq!(
        folder.read("first.toml"),
        std::fs::read_to_string(examples().join("dual-mass.toml")).unwrap()
    );
    let text = folder.succeed(&["new", "a car"]).out;
    assert!(text.contains("'a car.toml'"), "{text}");
    let text = folder.read("a car.toml");
    let head: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert_eq!(
        head,
        [
            "# Run it:      koppel run 'a car.toml' --out 'a car.csv' --report 'a car.html'",
            "# Forecast:    koppel check 'a car.toml'   (`koppel run 'a car.toml' --dry-run` examines the file only)"
        ]
    );
    folder.succeed(&["new", "wheel", "--from", "epas"]);
    let text = folder.read("wheel.toml");
    assert!(text.contains("koppel run wheel.toml --coupling hinf") && !text.contains("epas.toml"), "{text}");
    folder.run(&["new", "x", "--from", "dual-mas"]).errs_with(&["did you mean `dual-mass`"]);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        Folder::new().succeed(&["completions", shell]).says(&["koppel", "resume"]);
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = Folder::new();
    folder.succeed(&["--help"]).says(&["Examples:", "Exit codes:", "130  interrupted"]);
    folder.succeed(&["help", "exit-codes"]).says(&["Exit codes:"]);
    folder.succeed(&["exit-codes"]).says(&["2  invalid input"]);
    folder.succeed(&["--version"]).says(&[env!("CARGO_PKG_VERSION")]);
}

#[test]
fn names_of_new_systems() {
    let folder = Folder::new();
    for name in ["", ".", "..", ".toml", "a/"] {
        let said = folder.run(&["new", name]);
        assert_eq!(said.code, Some(2), "{name}");
        said.errs_with(&["is not a valid system name"]);
    }
    folder.succeed(&["new", "two words"]).says(&["koppel run 'two words.toml' --out 'two words.csv'"]);
}

/// `/dev/full` takes nothing.
#[test]
#[cfg(target_os = "linux")]
fn standard_output_that_fails_is_an_error() {
    let folder = Folder::with(common::SYSTEM);
    for arguments in
        [&["models"][..], &["--help"], &["run", "system.toml"], &["run", "system.toml", "--dry-run"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let said = common::Said::new(folder.command(arguments).stdout(full).output().unwrap());
        assert_eq!(said.code, Some(1), "{arguments:?}");
        said.errs_with(&["cannot write to standard output"]);
        let mut child = folder.spawn(arguments);
        drop(child.stdout.take());
        let said = common::Said::new(child.wait_with_output().unwrap());
        assert!(!said.err.contains("error"), "{arguments:?}: {}", said.err);
    }
}

/// As the name of a file, `/dev/stdout` means what koppel was given as standard output, though FMUs have another.
#[test]
#[cfg(target_os = "linux")]
fn standard_output_can_be_named_as_a_file() {
    let folder = Folder::with(common::SYSTEM);
    let said = folder.succeed(&["run", "system.toml", "--report", "/dev/stdout", "-q"]);
    assert!(
        said.out.starts_with("<!DOCTYPE html>") && said.out.trim_end().ends_with("</html>"),
        "{}",
        said.out
    );
    let said = folder.succeed(&["check", "system.toml", "--graph", "/dev/stdout"]);
    assert!(said.out.starts_with("<svg") && !said.err.contains("<svg"), "{}", said.err);
    said.says(&["</svg>", "wrote /dev/stdout"]);
    let said = folder.succeed(&["new", "car", "--out", "/dev/stdout"]);
    assert!(said.out.contains("[run]") && !said.out.contains("wrote"), "{}", said.out);
    // What is at the end of the pipe may be a file: nothing is lost of what comes before or after.
    let file = std::fs::File::create(folder.path("all.txt")).unwrap();
    let check = ["check", "system.toml", "--graph", "/proc/self/fd/1"];
    assert!(folder.command(&check).stdout(file).status().unwrap().success());
    assert_eq!(folder.read("all.txt"), folder.succeed(&check).out);
    let said = folder.run(&["fmu", "export", "mass", "-o", "/dev/stdout"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["an FMU cannot be written to standard output", "name a file with --out"]);
}

/// Every key of a document is named in the documentation.
#[test]
fn keys_of_json_are_documented() {
    fn collect(value: &Value, keys: &mut BTreeSet<String>) {
        match value {
            Value::Object(all) => {
                for (key, inner) in all {
                    keys.insert(key.clone());
                    // Inside are keys of system files.
                    if !["settings", "coupling", "iteration"].contains(&key.as_str()) {
                        collect(inner, keys);
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| collect(inner, keys)),
            _ => {}
        }
    }
    let docs = examples().join("../docs/json.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let folder = Folder::with(&std::fs::read_to_string(examples().join("loops/iterated.toml")).unwrap());
    let run =
        ["run", "system.toml", "--stop", "0.01", "--out", "r.csv", "--checkpoint-every", "10", "--json"];
    let mut keys = BTreeSet::new();
    collect(&folder.succeed(&run).json(), &mut keys);
    collect(&folder.succeed(&[&run[..4], &["--dry-run", "--json"]].concat()).json(), &mut keys);
    collect(&folder.succeed(&["check", "system.toml", "--json", "--vary", "10"]).json(), &mut keys);
    collect(&folder.run(&["check", "none.toml", "--json"]).json(), &mut keys);
    let sidecar: Value = serde_json::from_str(&folder.read("r.csv-metadata.json")).unwrap();
    collect(&sidecar["notes"][0]["koppel"], &mut keys);
    folder.succeed(&["new", "other", "--from", "dual-mass"]);
    collect(
        &folder.succeed(&["run", "other.toml", "--realtime", "--speed", "10", "--json"]).json(),
        &mut keys,
    );
    collect(&folder.succeed(&["check", "other.toml", "--json"]).json(), &mut keys);
    assert!(keys.len() > 120, "{keys:?}");
    let missing: Vec<&String> = keys.iter().filter(|key| !docs.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not in docs/json.md: {missing:?}");
}

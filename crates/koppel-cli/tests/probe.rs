//! `koppel probe`, and runs that use what it has kept.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::Folder;
use common::masses::{MASS2, mass, masses};

/// Two masses that push each other, as FMUs of FMI 2.0 and 3.0.
const SYSTEM: &str = r#"
title = "Two FMUs"

[run]
stop = 3
step = 0.25
coupling = "vfps"

[subsystems.left]
fmu = "left.fmu"
parameters = { c = 6.0, d = 0.1 }

[subsystems.right]
fmu = "right.fmu"
parameters = { m = 3.0, c = 9.0, d = 0.2 }

[[connections]]
from = "left.x"
to = "right.F"
gain = 4

[[connections]]
from = "right.x"
to = "left.F"
gain = 4
"#;

fn folder() -> Folder {
    let folder = masses();
    folder.write("system.toml", SYSTEM);
    folder
}

fn files(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path("cache")).map_or(0, Iterator::count)
}

#[test]
fn what_probing_found_is_kept_and_used() {
    let folder = folder();
    folder.succeed(&["run", "system.toml", "--no-cache", "--out", "without.csv"]);
    assert_eq!(files(&folder), 0, "nothing is kept");
    let said = folder.succeed(&["probe", "system.toml"]);
    said.says(&["Two FMUs", "models of 0 of 2 from", "left.x", "movement with inputs at rest", "rad/s"]);
    assert!(files(&folder) >= 4);
    folder.succeed(&["probe", "system.toml"]).says(&["models of 2 of 2 from", "from the cache"]);
    let said = folder.succeed(&["run", "system.toml", "--out", "with.csv"]);
    said.says(&["models of 2 subsystems from the cache", "240 of the run, 0 of the probing"]);
    assert!(folder.bytes("with.csv") == folder.bytes("without.csv"), "the same bytes");
    let said = folder.succeed(&["run", "system.toml", "--json"]).json();
    assert_eq!((&said["probing"]["from_cache"], &said["probing"]["step_calls"]), (&2.into(), &0.into()));
    assert_eq!(said["subsystems"][0]["step_calls"], 120);
    let anew = folder.succeed(&["run", "system.toml", "--no-cache", "--json"]).json();
    assert_eq!(anew["probing"]["from_cache"], 0);
    assert!(anew["probing"]["step_calls"].as_u64() > Some(500), "{}", anew["probing"]["step_calls"]);
    assert_eq!(anew["probing"]["subsystems"][0]["outputs"], said["probing"]["subsystems"][0]["outputs"]);
}

#[test]
fn other_settings_are_other_questions() {
    let folder = folder();
    let known = |arguments: &[&str]| {
        let all = [&["probe", "system.toml", "--json"], arguments].concat();
        folder.succeed(&all).json()["from_cache"].as_u64()
    };
    assert_eq!((known(&[]), known(&[])), (Some(0), Some(2)));
    assert_eq!(known(&["--step", "0.2"]), Some(0));
    assert_eq!(known(&["--coupling", "{ method = \"vfps\", nodes = 5 }"]), Some(0));
    assert_eq!(known(&["--set", "left.c=7"]), Some(0), "right gets other inputs then");
    assert_eq!(known(&["--set", "left.substeps=2"]), Some(1));
    assert_eq!(known(&["--isolate"]), Some(2), "a process of its own gives the same");
    assert_eq!(known(&["--cache", "elsewhere"]), Some(0));
    assert_eq!(known(&[]), Some(2));
    // Another file under the same name.
    mass(&folder.path("left.fmu"), &MASS2.replace("koppel tests", "others"));
    assert_eq!(known(&[]), Some(1));
    folder.succeed(&["probe", "--clear"]).says(&["removed", "files", "cache"]);
    assert_eq!((files(&folder), known(&[])), (0, Some(0)));
}

#[test]
fn a_bad_cache_is_told_of_and_changes_nothing() {
    let folder = folder();
    folder.succeed(&["run", "system.toml", "--out", "first.csv"]);
    for entry in std::fs::read_dir(folder.path("cache")).unwrap() {
        std::fs::write(entry.unwrap().path(), "not what it was").unwrap();
    }
    let said = folder.succeed(&["run", "system.toml", "--out", "second.csv"]);
    said.errs_with(&["warning:", "is not a file of koppel: it is ignored"]);
    assert!(folder.bytes("first.csv") == folder.bytes("second.csv"));
    folder.succeed(&["run", "system.toml"]).says(&["models of 2 subsystems from the cache"]);
    folder.write("file", "");
    let said = folder.succeed(&["run", "system.toml", "--cache", "file/below", "--out", "third.csv"]);
    said.errs_with(&["warning: the cache `file/below` cannot be written", "--no-cache"]);
    assert_eq!(said.err.matches("cannot be written").count(), 1, "{}", said.err);
    assert!(folder.bytes("first.csv") == folder.bytes("third.csv"));
}

#[test]
fn what_may_not_be_excited_is_named_with_its_connections() {
    let folder = folder();
    folder.write(
        "system.toml",
        &SYSTEM.replace("parameters = { c = 6.0", "probe = false\nparameters = { c = 6.0"),
    );
    let words =
        ["`left` has no model: it must not be probed", "until then, held values at left.x -> right.F"];
    folder.succeed(&["run", "system.toml", "--step", "0.05"]).says(&words);
    folder.succeed(&["probe", "system.toml"]).says(&words);
    let said = folder.succeed(&["probe", "system.toml", "--json"]).json();
    assert_eq!(said["subsystems"][0]["connections"][0], "left.x -> right.F");
    assert_eq!(said["subsystems"][0]["reason"], "it must not be probed");
}

#[test]
fn systems_of_other_couplings_and_structures_are_probed() {
    let folder = folder();
    folder.write("zoh.toml", &SYSTEM.replace("\"vfps\"", "\"zoh\""));
    let said = folder.succeed(&["probe", "zoh.toml", "--json"]);
    said.errs_with(&["the coupling `zoh` needs no probing; these are the results for `vfps`"]);
    assert_eq!(said.json()["subsystems"].as_array().map(Vec::len), Some(2));
    folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    folder.succeed(&["run", "system.toml", "--out", "toml.csv"]);
    let run =
        ["run", "system.ssp", "--step", "0.25", "--stop", "3", "--coupling", "vfps", "--out", "ssp.csv"];
    folder.succeed(&run).says(&["2 subsystems probed before the run"]);
    folder.succeed(&run).says(&["models of 2 subsystems from the cache"]);
    for name in ["left.x", "right.x"] {
        assert_eq!(folder.column("toml.csv", name), folder.column("ssp.csv", name));
    }
    // Native models are not kept: to excite them takes as long as to look.
    folder.succeed(&["new", "truck", "--from", "quarter-truck"]);
    let before = files(&folder);
    let said = folder.succeed(&["probe", "truck.toml", "--coupling", "vfps"]);
    said.says(&["chassis", "wheel.road", "models of 0 of 2"]);
    assert_eq!(files(&folder), before);
}

#[test]
fn interrupted_runs_go_on_with_the_same_models() {
    let folder = folder();
    mass(
        &folder.path("left.fmu"),
        &MASS2.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", ""),
    );
    folder.succeed(&["run", "system.toml", "--out", "whole.csv"]);
    for cache in ["--no-cache", "--quiet"] {
        let first =
            ["run", "system.toml", "--stop", "1.5", "--out", "r.csv", "--checkpoint-every", "2", cache];
        folder.succeed(&first);
        folder.succeed(&["resume", "r.csv.checkpoint", "--stop", "3", cache]);
        assert!(folder.bytes("whole.csv") == folder.bytes("r.csv"), "{cache}: the same bytes");
    }
}

#[test]
fn mistakes_are_told() {
    let folder = folder();
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = folder.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {} {}", said.out, said.err);
        said.errs_with(words);
    };
    refused(&["probe", "sytem.toml"], &["sytem.toml"]);
    refused(&["probe"], &["FILE"]);
    refused(&["probe", "system.toml", "--set", "left.mass=2"], &["`left` has no variable `mass`"]);
    refused(&["probe", "system.toml", "--cache", "x", "--no-cache"], &["cannot be used with"]);
    folder.write("none.toml", &SYSTEM.replace("left.fmu", "lft.fmu"));
    refused(&["probe", "none.toml"], &["lft.fmu"]);
}

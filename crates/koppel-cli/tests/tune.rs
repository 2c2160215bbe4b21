//! `koppel tune`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, SYSTEM, examples};
use serde_json::Value;

/// Few methods and settings, so that it is quick.
const QUICK: [&str; 4] = ["--methods", "zoh,foh,relaxed", "--evaluations", "150"];

fn copied(example: &str) -> (Folder, String) {
    let folder = Folder::new();
    let text = std::fs::read_to_string(examples().join(example)).unwrap();
    folder.write("system.toml", &text);
    (folder, text)
}

fn tune(folder: &Folder, more: &[&str]) -> Value {
    folder.succeed(&[&["tune", "system.toml", "--json"], more].concat()).json()
}

#[test]
fn the_front_is_told_as_table_json_and_picture() {
    let (folder, text) = copied("two-mass.toml");
    let said = folder.succeed(&[&["tune", "system.toml", "--plot", "front.svg"], &QUICK[..]].concat());
    said.says(&[
        "settings that no others beat in radius, error and cost",
        "current",
        "recommended",
        "front.svg",
    ]);
    let picture = folder.read("front.svg");
    assert!(
        picture.starts_with("<svg") && picture.contains("spectral radius") && picture.contains("<title>1:")
    );
    let found = tune(&folder, &QUICK);
    let front = found["front"].as_array().unwrap();
    assert!(front.len() > 3 && found["evaluated"].as_u64().unwrap() <= 150, "{found:#}");
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    assert!(front.is_sorted_by_key(|row| number(row, "calls")), "{found:#}");
    assert!(front.iter().all(|row| number(row, "spectral_radius") < 1.0 && number(row, "error") <= 1.0));
    let chosen = &front[found["chosen"].as_u64().unwrap() as usize - 1];
    assert!(
        number(chosen, "error") <= 0.05 && number(chosen, "calls") < number(&found["own"], "calls"),
        "{chosen:#}"
    );
    assert_eq!(folder.read("system.toml"), text, "nothing was asked to be written");
    // The same seed finds the same.
    assert_eq!(tune(&folder, &QUICK), found);
}

/// What was written is what the table says, by `check` and by `run`; the rest of the file is as it was.
#[test]
fn applied_settings_have_the_figures_of_their_row() {
    for (example, row) in
        [("two-mass.toml", None), ("quarter-truck.toml", Some("2")), ("control-loop.toml", None)]
    {
        let (folder, text) = copied(example);
        let mut more = QUICK.to_vec();
        more.push("--apply");
        more.extend(row);
        let found = tune(&folder, &more);
        assert_eq!(found["applied"]["file"], "system.toml", "{found:#}");
        let row = &found["front"][found["applied"]["row"].as_u64().unwrap() as usize - 1];
        let new = folder.read("system.toml");
        assert_ne!(new, text);
        for line in text.lines().filter(|line| line.starts_with('#')) {
            assert!(new.contains(line), "{line}\n{new}");
        }
        let check = folder.succeed(&["check", "system.toml", "--json", "--methods", "own"]).json();
        let close = |a: &Value, b: &Value| (a.as_f64().unwrap() / b.as_f64().unwrap() - 1.0).abs() < 1e-9;
        assert!(close(&check["spectral_radius"], &row["spectral_radius"]), "{check:#} {row:#}");
        assert!(close(&check["error"]["overall"], &row["error"]), "{check:#} {row:#}");
        assert!(close(&check["consistency"], &row["consistency"]), "{check:#} {row:#}");
        assert!(close(&check["cost"]["calls"], &row["calls"]), "{check:#} {row:#}");
        let run = folder.succeed(&["run", "system.toml", "--json"]).json();
        assert_eq!(run["settings"]["run"]["step"], row["step"], "{run:#}");
    }
}

#[test]
fn what_is_kept_stays() {
    let (folder, _) = copied("two-mass.toml");
    let found = tune(&folder, &["--keep", "step,connections,schedule", "--methods", "zoh,relaxed"]);
    assert_eq!((&found["is_complete"], &found["evaluated"]), (&true.into(), &100.into()), "{found:#}");
    for row in found["front"].as_array().unwrap() {
        assert_eq!((&row["step"], &row["schedule"]), (&0.2.into(), &"parallel".into()), "{row:#}");
        assert!(row["coupling"]["connections"].is_null(), "{row:#}");
    }
    let found = tune(&folder, &["--keep", "method", "--steps", "0.1:1"]);
    assert_eq!((&found["is_complete"], &found["evaluated"]), (&true.into(), &123.into()), "{found:#}");
    assert!(
        found["front"].as_array().unwrap().iter().all(|row| row["coupling"]["method"] == "zoh"),
        "{found:#}"
    );
    // One connection alone: the others stay as they are.
    let one = ["--connections", "second.F", "--methods", "relaxed", "--steps", "1", "--evaluations", "100"];
    let found = tune(&folder, &one);
    for row in found["front"].as_array().unwrap().iter().filter(|row| row["is_own"] == false) {
        let coupling = &row["coupling"];
        assert_eq!(
            (&coupling["default"]["method"], coupling["connections"].as_object().unwrap().len()),
            (&"zoh".into(), 1)
        );
        assert_eq!(coupling["connections"]["second.F"]["method"], "relaxed", "{row:#}");
    }
}

#[test]
fn every_bad_option_says_what_is_wanted() {
    let (folder, text) = copied("two-mass.toml");
    let cases: &[(&[&str], &[&str])] = &[
        (&["--error", "0"], &["--error", "between 0 and 1"]),
        (&["--error", "-1"], &["--error", "between 0 and 1"]),
        (&["--error", "5"], &["--error", "between 0 and 1, such as 0.05 for 5 %"]),
        (&["--error", "some"], &["--error", "between 0 and 1"]),
        (&["--objectives", "radius,speed"], &["speed", "consistency"]),
        (&["--methods", "zoh,relaxt"], &["relaxt", "relaxed"]),
        (&["--methods", "mixed"], &["mixed", "relaxed"]),
        (&["--steps", "1:0.1"], &["--steps", "0.1:1"]),
        (&["--steps", "0:1"], &["--steps", "above zero"]),
        (&["--steps", "a:b"], &["--steps", "1e-3:0.1"]),
        (&["--steps", "nan"], &["--steps", "above zero"]),
        (&["--steps", "1:inf"], &["--steps", "above zero"]),
        (&["--keep", "stepp"], &["stepp", "schedule"]),
        (&["--connections", "second.G"], &["second.G", "second.F"]),
        (&["--connections", "third.F"], &["third"]),
        (&["--evaluations", "0"], &["--evaluations 0"]),
        (&["--evaluations", "-5"], &["--evaluations", "whole number"]),
        (&["--evaluations", "many"], &["--evaluations", "whole number"]),
        (&["--seed", "x"], &["--seed"]),
        (&["--apply", "0"], &["--apply", "1 or above"]),
        (&["--apply", "first"], &["--apply", "1 or above"]),
        (&["--apply", "500", "--methods", "zoh", "--evaluations", "20"], &["--apply 500", "rows 1 to"]),
        (
            &["--apply", "--error", "1e-9", "--methods", "zoh", "--evaluations", "20"],
            &["no settings meet the error target", "--apply "],
        ),
        (&["--steps", "1", "--keep", "step"], &["--steps and --keep step"]),
        (&["--methods", "zoh", "--keep", "method"], &["--methods and --keep method"]),
        (&["--connections", "second.F", "--keep", "connections"], &["--connections and --keep"]),
        (&["--plot", "system.toml"], &["are the same file", "--plot"]),
        (&["--plot", "none/front.svg"], &["none/front.svg"]),
        (&["--coupling", "zho"], &["zho", "zoh"]),
        (&["--tolerant"], &["--tolerant is for system structures"]),
    ];
    for (options, words) in cases {
        let said = folder.run(&[&["tune", "system.toml"], *options].concat());
        assert_eq!(said.code, Some(2), "{options:?}: {}", said.err);
        words.iter().for_each(|word| assert!(said.err.contains(word), "{options:?}: {word}: {}", said.err));
        assert_eq!(folder.read("system.toml"), text, "{options:?}");
    }
    let said = folder.run(&["tune", "none.toml", "--json"]);
    assert_eq!((said.code, &said.json()["status"]), (Some(2), &"invalid".into()));
}

/// Changes, loops, other rates and couplings still to be chosen are tuned with a word of warning.
#[test]
fn what_is_not_looked_at_is_said() {
    let (folder, text) = copied("two-mass.toml");
    folder.write("system.toml", &format!("{text}\n[[at]]\ntime = 10\nset = {{ \"second.m\" = 12 }}\n"));
    let said =
        folder.succeed(&["tune", "system.toml", "--methods", "zoh", "--keep", "connections", "--apply"]);
    said.says(&["was written into system.toml"]);
    said.errs_with(&["changes by [[at]] are ignored"]);
    assert!(folder.read("system.toml").contains("[[at]]"));
    folder.write("system.toml", &text.replace("stop = 50.0", "stop = 50.0\nevery = { second = 2 }"));
    let found = tune(&folder, &["--methods", "zoh,foh", "--keep", "connections"]);
    assert!(!found["front"].as_array().unwrap().is_empty(), "{found:#}");
    folder.write("system.toml", &text.replace("stop = 50.0", "stop = 50.0\niteration = \"step\""));
    let said = folder.succeed(&["tune", "system.toml"]);
    said.errs_with(&["only the step is searched"]);
}

#[test]
fn systems_without_linear_models_are_refused() {
    let folder = Folder::new();
    let text = SYSTEM.replace("gain = 100", "map = [[0, 0], [1, 100]]");
    folder.write("system.toml", &text);
    let said = folder.run(&["tune", "system.toml", "--apply"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("cannot be tuned") && said.err.contains("table") && said.err.contains("hint:"),
        "{}",
        said.err
    );
    assert_eq!(folder.read("system.toml"), text);
}

/// A system structure with FMUs: the settings go into the file beside it, the structure stays as it is.
#[test]
fn settings_of_a_structure_go_beside_it() {
    let (folder, _) = copied("two-mass.toml");
    folder.succeed(&["ssp", "export", "system.toml", "-o", "x.ssp"]);
    let before = folder.bytes("x.ssp");
    folder.write("x.koppel.toml", "# mine\n[run]\nrecord_every = 2 # rows\n");
    let options = ["--methods", "zoh,foh", "--evaluations", "60", "--no-cache", "--json", "--apply"];
    let found = folder.succeed(&[&["tune", "x.ssp"], &options[..]].concat()).json();
    assert_eq!(found["applied"]["file"], "x.koppel.toml", "{found:#}");
    let row = &found["front"][found["applied"]["row"].as_u64().unwrap() as usize - 1];
    let text = folder.read("x.koppel.toml");
    assert!(text.starts_with("# mine\n[run]\nrecord_every = 2 # rows\nstep = "), "{text}");
    assert_eq!(folder.bytes("x.ssp"), before);
    let check = folder.succeed(&["check", "x.ssp", "--json", "--methods", "own", "--no-cache"]).json();
    let radius = |value: &Value| value["spectral_radius"].as_f64().unwrap();
    assert!((radius(&check) / radius(row) - 1.0).abs() < 1e-6, "{check:#} {row:#}");
}

/// Whose loop is closed after a second: linear models at the start know nothing of it.
const LATE: &str = "[run]\nstop = 10.0\nstep = 0.05\ncoupling = \"zoh\"\n\
    [subsystems.a]\nmodel = \"equations\"\nequations = \"\"\"\ninput u\noutput y\nstate x = 1\n\
    der(x) = -0.2 * x + 30 * clamp(time - 1, 0, 1) * u\ny = x\n\"\"\"\n\
    [subsystems.b]\nmodel = \"equations\"\nequations = \"\"\"\ninput u\noutput y\nstate x = 0\n\
    der(x) = 2 * (-u - x)\ny = x\n\"\"\"\n\
    [[connections]]\nfrom = \"a.y\"\nto = \"b.u\"\n[[connections]]\nfrom = \"b.y\"\nto = \"a.u\"\n";

/// What is recommended was run: settings that are good only by the forecast are neither recommended nor written.
#[test]
fn nothing_is_written_that_a_run_does_not_confirm() {
    let folder = Folder::with(LATE);
    let only = ["--methods", "zoh", "--steps", "0.2:1", "--keep", "schedule,connections"];
    let said = folder.run(&[&["tune", "system.toml", "--apply"], &only[..]].concat());
    assert_eq!(said.code, Some(2), "{}\n{}", said.out, said.err);
    said.errs_with(&["nothing was written", "a run of a copy"]);
    assert_eq!(folder.read("system.toml"), LATE);
    let found = tune(&folder, &only);
    assert!(found["chosen"].is_null() && !found["refused"].as_array().unwrap().is_empty(), "{found:#}");
    // A row by its number is run, too.
    let said = folder.run(&[&["tune", "system.toml", "--apply", "1"], &only[..]].concat());
    assert!(said.code == Some(2) && folder.read("system.toml") == LATE, "{}", said.err);
    // What holds is written, and its run keeps the error.
    let fine =
        ["--methods", "foh", "--steps", "0.001:0.005", "--keep", "schedule,connections", "--error", "0.02"];
    let found = tune(&folder, &[&fine[..], &["--apply"]].concat());
    assert_eq!(found["verified"]["verdict"], "trusted", "{found:#}");
    let run = folder.succeed(&["run", "system.toml", "--json"]).json();
    assert!(run["certificate"]["overall"]["error"].as_f64().unwrap() <= 0.02, "{run:#}");
}

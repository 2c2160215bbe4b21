//! The certificate of a run: in the summary, as JSON, in the metadata, as exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, SYSTEM};
use serde_json::Value;

fn told(folder: &Folder, arguments: &[&str]) -> Value {
    let said = folder.run(&[&["run", "system.toml", "--json"], arguments].concat());
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["exit_code"], Value::from(said.code), "{}", said.err);
    document["certificate"].clone()
}

/// Small steps are trusted, large ones are called wrong; `--require` makes an exit code of it.
#[test]
fn a_verdict_for_people_programs_and_ci() {
    let folder = Folder::with(SYSTEM);
    let said =
        folder.succeed(&["run", "system.toml", "--step", "2e-5", "--require", "trusted", "--out", "a.csv"]);
    said.says(&["certificate       trusted: its error is at most", "estimated error"]);
    let beside: Value = serde_json::from_str(&folder.read("a.csv-metadata.json")).unwrap();
    assert_eq!(beside["notes"][0]["koppel"]["extra"]["certificate"]["verdict"], "trusted");
    let said = folder.run(&["run", "system.toml", "--step", "1e-2", "--require", "trusted"]);
    assert_eq!(said.code, Some(3), "{}\n{}", said.out, said.err);
    said.errs_with(&["error: --require trusted: its error is about"]);
    let certificate = told(&folder, &["--step", "1e-2"]);
    assert_eq!(certificate["verdict"], "wrong");
    assert_eq!(certificate["evidence"], "linear-model");
    let largest = &certificate["error"][0];
    assert!(largest["error"].as_f64().unwrap() > 0.2 && largest["signal"].is_string(), "{largest}");
}

/// A second run at half the step says the same without any model.
#[test]
fn a_second_run_says_the_same() {
    let folder = Folder::with(SYSTEM);
    let by_model = told(&folder, &["--step", "1e-4"]);
    let by_run = told(&folder, &["--step", "1e-4", "--second-run"]);
    assert_eq!(by_run["evidence"], "second-run");
    let truth = by_model["overall"]["error"].as_f64().unwrap();
    let band = |key: &str| by_run["overall"][key].as_f64().unwrap();
    assert!(truth > 0.0 && band("low") <= truth && truth <= band("high"), "{truth} in {}", by_run["overall"]);
}

/// Without it nothing is said, and nothing can be required.
#[test]
fn it_can_be_left_out() {
    let folder = Folder::with(SYSTEM);
    assert!(told(&folder, &["--no-certificate"]).is_null());
    let said = folder.run(&["run", "system.toml", "--no-certificate", "--require", "trusted"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["--require", "cannot be used with"]);
}

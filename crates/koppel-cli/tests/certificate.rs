//! The certificate of a run: in the summary, as JSON, in the metadata, as exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, SYSTEM};
use serde_json::Value;

fn report(folder: &Folder, arguments: &[&str]) -> Value {
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
    said.says(&["certificate       trusted: mean error at most", "estimated error"]);
    let beside: Value = serde_json::from_str(&folder.read("a.csv-metadata.json")).unwrap();
    assert_eq!(beside["notes"][0]["koppel"]["extra"]["certificate"]["verdict"], "trusted");
    let said = folder.run(&["run", "system.toml", "--step", "1e-2", "--require", "trusted"]);
    assert_eq!(said.code, Some(3), "{}\n{}", said.out, said.err);
    said.errs_with(&["error: --require trusted: mean error about"]);
    let certificate = report(&folder, &["--step", "1e-2"]);
    assert_eq!(certificate["verdict"], "wrong");
    assert_eq!(certificate["evidence"], "linear-model");
    let largest = &certificate["error"][0];
    assert!(largest["error"].as_f64().unwrap() > 0.2 && largest["signal"].is_string(), "{largest}");
}

/// A second run at half the step says the same without any model.
#[test]
fn a_second_run_says_the_same() {
    let folder = Folder::with(SYSTEM);
    let by_model = report(&folder, &["--step", "1e-4"]);
    let by_run = report(&folder, &["--step", "1e-4", "--second-run"]);
    assert_eq!(by_run["evidence"], "second-run");
    let truth = by_model["overall"]["error"].as_f64().unwrap();
    let band = |key: &str| by_run["overall"][key].as_f64().unwrap();
    assert!(truth > 0.0 && band("low") <= truth && truth <= band("high"), "{truth} in {}", by_run["overall"]);
}

/// Without it nothing is said, and nothing can be required.
#[test]
fn it_can_be_left_out() {
    let folder = Folder::with(SYSTEM);
    assert!(report(&folder, &["--no-certificate"]).is_null());
    let said = folder.run(&["run", "system.toml", "--no-certificate", "--require", "trusted"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["--require", "cannot be used with"]);
}

/// FMUs that tell nothing of themselves are never trusted by what was seen of them alone; a second run tells the error, which is
/// compared with a run at a tiny step.
#[test]
fn plain_fmus_are_trusted_by_a_second_run_alone() {
    let wires = "[[connections]]\nfrom = \"right.F\"\nto = \"left.F\"\n\
                 [[connections]]\nfrom = \"left.x\"\nto = \"right.x\"\n\
                 [[connections]]\nfrom = \"left.v\"\nto = \"right.v\"\n";
    let run = "[run]\nstop = 0.2\nstep = 2e-4\ncoupling = \"zoh\"\nrecord = [\"left.x\", \"left.v\", \"right.F\"]\n";
    let folder = Folder::with(&format!(
        "{run}[subsystems.left]\nfmu = \"left.fmu\"\n[subsystems.right]\nfmu = \"right.fmu\"\n{wires}"
    ));
    folder.write(
        "native.toml",
        &format!(
            "{run}[subsystems.left]\nmodel = \"mass\"\nparameters = {{ x0 = 0.1 }}\n\
             [subsystems.right]\nmodel = \"spring-mass\"\n{wires}"
        ),
    );
    let tiny = ["--step", "1e-6", "--set", "run.record_every=200", "--no-certificate"];
    folder.succeed(&[&["run", "native.toml", "-q", "--out", "exact.csv"], &tiny[..]].concat());
    let solver = "{ method = \"rk4\", step = 1e-5 }";
    for version in ["2", "3"] {
        let export = ["fmu", "export", "--force", "--fmi", version, "--plain", "--solver", solver];
        folder.succeed(&[&export[..], &["mass", "-o", "left.fmu", "--set", "x0=0.1"]].concat());
        folder.succeed(&[&export[..], &["spring-mass", "-o", "right.fmu"]].concat());
        for coupling in ["zoh", "foh"] {
            let alone = report(&folder, &["--coupling", coupling]);
            assert_eq!(alone["verdict"], "doubtful", "{alone:#}");
            let report = report(&folder, &["--coupling", coupling, "--out", "a.csv", "--second-run"]);
            assert_eq!(report["evidence"], "second-run", "{report:#}");
            let error = |name: &str| {
                let (seen, exact) = (folder.column("a.csv", name), folder.column("exact.csv", name));
                let range = exact.iter().fold(f64::MIN, |a, b| a.max(*b))
                    - exact.iter().fold(f64::MAX, |a, b| a.min(*b));
                let sum: f64 = seen.iter().zip(&exact).skip(1).map(|(a, b)| (a - b).abs()).sum();
                sum / (exact.len() - 1) as f64 / range
            };
            let truth = f64::hypot(0.5 * (error("left.x") + error("left.v")), error("right.F"));
            let band = |key: &str| report["overall"][key].as_f64().unwrap();
            let what = format!("FMI {version}, {coupling}: {truth} in {}", report["overall"]);
            assert!(band("low") <= truth && truth <= band("high"), "{what}");
        }
    }
}

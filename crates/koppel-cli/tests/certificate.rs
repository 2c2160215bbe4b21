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
    said.says(&["verdict           trusted: error at most", "estimated error"]);
    let beside: Value = serde_json::from_str(&folder.read("a.csv-metadata.json")).unwrap();
    assert_eq!(beside["notes"][0]["koppel"]["extra"]["certificate"]["verdict"], "trusted");
    let said = folder.run(&["run", "system.toml", "--step", "1e-2", "--require", "trusted"]);
    assert_eq!(said.code, Some(3), "{}\n{}", said.out, said.err);
    said.errs_with(&["error: --require trusted: error at least"]);
    let certificate = report(&folder, &["--step", "1e-2"]);
    assert_eq!(certificate["verdict"], "wrong");
    assert_eq!(certificate["evidence"], "linear-model");
    let largest = &certificate["error"][0];
    assert!(largest["error"].as_f64().unwrap() > 0.2 && largest["signal"].is_string(), "{largest}");
}

/// A non-linear system: the nearest right thing costs little, and it is said what would have to be done.
const PENDULUM: &str = "[run]\nstop = 5.0\nstep = 0.01\ncoupling = \"zoh\"\n\
    [subsystems.pendulum]\nmodel = \"equations\"\nequations = \"\"\"\ninput F\noutput w\nstate th = 1\n\
    der(th) = w\nstate w = 0\nder(w) = -9.81 * sin(th) - 0.5 * w + F\n\"\"\"\n\
    [subsystems.drive]\nmodel = \"equations\"\nequations = \"\"\"\ninput w\noutput F\nstate F = 0\n\
    der(F) = 5 * (-2 * w - F)\n\"\"\"\n\
    [[connections]]\nfrom = \"pendulum.w\"\nto = \"drive.w\"\n\
    [[connections]]\nfrom = \"drive.F\"\nto = \"pendulum.F\"\n";

/// Runs at other steps confirm it, unless they are not wanted or take too many step calls; the number of steps decides, not time.
#[test]
fn runs_at_other_steps_confirm_what_no_model_tells() {
    let folder = Folder::with(PENDULUM);
    let found = report(&folder, &[]);
    assert_eq!((&found["verdict"], &found["evidence"]), (&"trusted".into(), &"shadows".into()), "{found:#}");
    folder.succeed(&["run", "system.toml", "-q", "--out", "a.csv"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--step",
        "1e-5",
        "--set",
        "run.record_every=1000",
        "--no-certificate",
        "--out",
        "exact.csv",
    ]);
    let error = |name: &str| {
        let (seen, exact) = (folder.column("a.csv", name), folder.column("exact.csv", name));
        let range =
            exact.iter().fold(f64::MIN, |a, b| a.max(*b)) - exact.iter().fold(f64::MAX, |a, b| a.min(*b));
        let sum: f64 = seen.iter().zip(&exact).skip(1).map(|(a, b)| (a - b).powi(2)).sum();
        (sum / (exact.len() - 1) as f64).sqrt() / range
    };
    let truth = error("pendulum.w").max(error("drive.F"));
    let of = |key: &str| found["overall"][key].as_f64().unwrap();
    assert!(truth > 1e-4 && of("low") <= truth && truth <= of("high"), "{truth} in {}", found["overall"]);
    let confirmed = |arguments: &[&str]| report(&folder, arguments)["confirmation"].is_object();
    assert!(!confirmed(&["--confirm", "off"]) && !confirmed(&["--set", "run.confirm=off"]));
    assert!(!confirmed(&["--step", "1e-4"]), "100,000 step calls and those of the shadows are too many");
    assert!(confirmed(&["--step", "1e-4", "--confirm", "always"]));
    assert!(confirmed(&["--step", "1e-4", "--require", "trusted"]), "what is required is worth its cost");
    assert!(confirmed(&["--step", "1e-4", "--second-run"]), "its former name");
    let said = folder.succeed(&["run", "system.toml", "--step", "1e-4"]);
    said.says(&["unconfirmed: error unknown: confirming it takes 3.24e5 step calls", "`--confirm always`"]);
    let said = folder.succeed(&["run", "system.toml", "--step", "0.1"]);
    said.says(&["unconfirmed: error about", "better            a step of 0.02 s was run"]);
    // The former name of the verdict.
    folder.succeed(&["run", "system.toml", "--step", "1e-4", "--require", "doubtful"]);
    let said = folder.run(&["run", "system.toml", "--confirm", "sometimes"]);
    said.errs_with(&["--confirm", "off, auto or always"]);
    let said = folder.run(&["run", "system.toml", "--set", "run.confirm=sometimes"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["sometimes", "off", "auto", "always"]);
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

/// FMUs tell nothing of themselves: runs at other steps tell the error, which is compared with a run at a tiny step.
#[test]
fn plain_fmus_are_trusted_by_runs_at_other_steps() {
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
            let alone = report(&folder, &["--coupling", coupling, "--confirm", "off"]);
            assert_eq!(alone["verdict"], "unconfirmed", "{alone:#}");
            let report = report(&folder, &["--coupling", coupling, "--out", "a.csv"]);
            assert_eq!(report["evidence"], "shadows", "{report:#}");
            assert_eq!(report["verdict"], "trusted", "{report:#}");
            let error = |name: &str| {
                let (seen, exact) = (folder.column("a.csv", name), folder.column("exact.csv", name));
                let range = exact.iter().fold(f64::MIN, |a, b| a.max(*b))
                    - exact.iter().fold(f64::MAX, |a, b| a.min(*b));
                let sum: f64 = seen.iter().zip(&exact).skip(1).map(|(a, b)| (a - b).powi(2)).sum();
                (sum / (exact.len() - 1) as f64).sqrt() / range
            };
            let truth = error("left.x").max(error("left.v")).max(error("right.F"));
            let band = |key: &str| report["overall"][key].as_f64().unwrap();
            let what = format!("FMI {version}, {coupling}: {truth} in {}", report["overall"]);
            assert!(band("low") <= truth && truth <= band("high"), "{what}");
        }
    }
}

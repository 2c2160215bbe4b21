//! The forecast of `koppel check`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Folder, SYSTEM, examples};
use serde_json::Value;

fn check(example: &str, more: &[&str]) -> Value {
    let file = examples().join(example);
    let mut arguments = vec!["check", file.to_str().unwrap(), "--json"];
    arguments.extend_from_slice(more);
    Folder::new().succeed(&arguments).json()
}

#[test]
fn check_tells_whether_a_run_is_stable_and_at_which_steps() {
    let zoh = ["--set", "run.coupling=zoh", "--set", "run.reading=stale", "--set", "run.schedule=parallel"];
    for (step, verdict) in [("run.step=0.012", "stable"), ("run.step=0.013", "unstable")] {
        let found = check("quarter-truck.toml", &[&zoh[..], &["--set", step, "--methods", "own"]].concat());
        assert_eq!(found["verdict"], verdict, "{found:#}");
        let radius = found["spectral_radius"].as_f64().unwrap();
        assert_eq!(radius < 1.0, verdict == "stable", "{found:#}");
        let robust = found["stability_radius"].as_f64().unwrap();
        assert!(robust <= (1.0 - radius).max(0.0) && (robust > 0.0) == (radius < 1.0), "{found:#}");
        // The limit of zero-order hold, from the step matrix of the two exact solutions written by hand.
        let own = &found["limits"][0];
        let limit = own["intervals"][0]["to"].as_f64().unwrap();
        assert!((limit / 0.012_563_287 - 1.0).abs() < 1e-4, "{found:#}");
        assert_eq!((&own["method"], &own["is_own"]), (&"zoh".into(), &true.into()));
    }
}

/// All there is to tell of a small system, in JSON, in words, and as a map.
#[test]
fn check_tells_limits_recommended_steps_and_blame() {
    let found = check("quarter-truck.toml", &["--error", "0.02", "--vary", "20"]);
    for key in ["verdict", "spectral_radius", "stability_radius", "consistency", "zero_stable"] {
        assert!(!found[key].is_null(), "{key}: {found:#}");
    }
    for key in ["limits", "recommended", "blame", "modes"] {
        assert!(!found[key].as_array().unwrap().is_empty(), "{key}: {found:#}");
    }
    let limits = found["limits"].as_array().unwrap();
    for method in ["zoh", "foh", "soh", "nepce", "corrector", "prestep", "hinf", "vfps"] {
        for schedule in ["parallel", "sequence"] {
            let fits = |limit: &&Value| limit["method"] == method && limit["schedule"] == schedule;
            let limit = limits.iter().find(fits).unwrap_or_else(|| panic!("{method}, {schedule}"));
            assert!(
                limit["problem"].is_null() && !limit["intervals"].as_array().unwrap().is_empty(),
                "{limit:#}"
            );
        }
    }
    let recommended = found["recommended"].as_array().unwrap();
    assert!(recommended.iter().all(|item| item["error"].as_f64().unwrap() <= 0.02), "{recommended:#?}");
    assert_eq!(found["blame"].as_array().unwrap().len(), 3, "{found:#}");
    assert_eq!(found["error"]["outputs"].as_array().unwrap().len(), 3, "{found:#}");
    assert!(found["stiffness"]["ratio"].as_f64().unwrap() > 1.0, "{found:#}");
    assert!(found["cost"]["calls"].as_f64().unwrap() > 0.0, "{found:#}");
    let robustness = &found["robustness"];
    assert_eq!(robustness["survives"], true, "{found:#}");
    let parameters = robustness["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|range| range["parameter"] == "wheel.m"), "{robustness:#}");

    let folder = Folder::new();
    let file = examples().join("quarter-truck.toml");
    let arguments =
        ["check", file.to_str().unwrap(), "--map", "map.svg", "--methods", "holds", "--vary", "20"];
    let said = folder.succeed(&arguments);
    said.says(&["stable: spectral radius", "predicted error", "for error 5 %", "blame", "± 20 %", "map.svg"]);
    let map = folder.read("map.svg");
    assert!(map.starts_with("<svg") && map.contains("soh, sequence") && map.contains("recommended"), "{map}");
}

#[test]
fn methods_that_learn_are_judged_by_running_linear_models() {
    let found = check("quarter-truck.toml", &["--set", "run.coupling=vfps", "--methods", "own"]);
    assert_eq!((&found["verdict"], &found["found"]), (&"stable".into(), &"running".into()), "{found:#}");
    assert!(found["stability_radius"].is_null(), "{found:#}");
}

#[test]
fn non_linear_systems_are_linearised_again_on_the_way() {
    let found = check("double-pendulum.toml", &["--methods", "own"]);
    assert_eq!(found["linearised"], serde_json::json!(["upper", "lower"]), "{found:#}");
    assert!(found["spectral_radius"].is_number(), "{found:#}");
    assert!(found["trust"]["models"][0]["error"].is_number(), "{found:#}");
}

#[test]
fn wrong_wishes_get_one_message() {
    let folder = Folder::with(SYSTEM);
    for (arguments, parts) in [
        (&["--error", "0"][..], &["--error 0", "0.05"][..]),
        (&["--vary", "100"], &["--vary 100", "below 100"]),
        (&["--map", "missing/map.svg"], &["missing"]),
        (&["--map", "system.toml"], &["system.toml"]),
    ] {
        let said = folder.run(&[&["check", "system.toml"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}\n{}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
        said.errs_with(parts);
    }
    // Bad files are told as `run` tells them.
    let wrong = SYSTEM.replace("left.x", "left.y");
    let folder = Folder::with(&wrong);
    let (checked, run) = (folder.run(&["check", "system.toml"]), folder.run(&["run", "system.toml"]));
    assert_eq!((checked.code, &checked.err), (run.code, &run.err));
    assert!(checked.err.contains("system.toml:"), "{}", checked.err);
}

/// The two masses as FMUs: with derivatives or saved states they have the limit of the native models; a plain one has no model.
#[test]
fn fmus_are_judged_as_far_as_they_tell() {
    let wires = "[[connections]]\nfrom = \"right.F\"\nto = \"left.F\"\n\
                 [[connections]]\nfrom = \"left.x\"\nto = \"right.x\"\n\
                 [[connections]]\nfrom = \"left.v\"\nto = \"right.v\"\n";
    let run =
        "[run]\nstop = 0.1\nstep = 1e-3\ncoupling = \"zoh\"\nschedule = \"parallel\"\nreading = \"stale\"\n";
    let native = format!(
        "{run}[subsystems.left]\nmodel = \"mass\"\nparameters = {{ x0 = 0.1 }}\n\
         [subsystems.right]\nmodel = \"spring-mass\"\n{wires}"
    );
    let folder = Folder::with(&native);
    let own = ["--json", "--methods", "own"];
    let limit = |found: &Value| found["limits"][0]["intervals"][0]["to"].as_f64();
    let wanted = folder.succeed(&[&["check", "system.toml"], &own[..]].concat()).json();
    let solver = "{ method = \"rk4\", step = 1e-5 }";
    for version in ["2", "3"] {
        let export = ["fmu", "export", "--fmi", version, "--solver", solver];
        folder.succeed(&[&export[..], &["mass", "-o", "left.fmu", "--set", "x0=0.1"]].concat());
        folder.succeed(&[&export[..], &["spring-mass", "-o", "right.fmu"]].concat());
        folder.succeed(&[&export[..], &["mass", "-o", "plain.fmu", "--plain"]].concat());
        let system = |left: &str| {
            format!(
                "{run}[subsystems.left]\nfmu = \"{left}\"\n[subsystems.right]\nfmu = \"right.fmu\"\n{wires}"
            )
        };
        folder.write("fmus.toml", &system("left.fmu"));
        let found = folder.succeed(&[&["check", "fmus.toml"], &own[..]].concat()).json();
        let (fmus, models) = (limit(&found).unwrap(), limit(&wanted).unwrap());
        assert!((fmus / models - 1.0).abs() < 0.01, "FMI {version}: {fmus}, {models}\n{found:#}");
        for model in found["trust"]["models"].as_array().unwrap() {
            let source = model["source"].as_str().unwrap();
            assert!(source.contains("derivatives") || source.contains("trial steps"), "{model:#}");
            assert!(model["error"].as_f64().unwrap() < 0.05, "{model:#}");
        }
        folder.write("plain.toml", &system("plain.fmu"));
        let found = folder.succeed(&[&["check", "plain.toml"], &own[..]].concat()).json();
        assert_eq!(found["verdict"], "untrusted", "{found:#}");
        assert!(found["reason"].as_str().unwrap().contains("`left`"), "{found:#}");
    }
}

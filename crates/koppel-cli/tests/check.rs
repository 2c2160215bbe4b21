//! The forecast of `koppel check`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use common::{Folder, SYSTEM, examples};
use prepared::prepared;
use serde_json::{Value, json};

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
        (&["--error", "5"], &["--error 5", "between 0 and 1, such as 0.05 for 5 %"]),
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

/// The two masses as FMUs: with derivatives or saved states they have the limit of the native models; a plain one as soon as it may be
/// excited.
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
        let export = ["fmu", "export", "--force", "--fmi", version, "--solver", solver];
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
        let plain = limit(&found).unwrap();
        assert!((plain / models - 1.0).abs() < 0.01, "FMI {version}: {plain}, {models}\n{found:#}");
        assert_eq!(found["trust"]["models"][0]["source"], "exciting it", "{found:#}");
        let spared = system("plain.fmu").replace("plain.fmu\"", "plain.fmu\"\nprobe = false");
        folder.write("plain.toml", &spared);
        let found = folder.succeed(&[&["check", "plain.toml"], &own[..]].concat()).json();
        assert_eq!(found["verdict"], "untrusted", "{found:#}");
        let reason = found["reason"].as_str().unwrap();
        assert!(reason.contains("`left`") && reason.contains("probe = false"), "{reason}");
    }
}

/// A spring that becomes softer on the way: the verdict holds at the run's own step, figures of the start do not, and none is shown.
#[test]
fn a_verdict_holds_where_figures_do_not() {
    let folder = Folder::with(
        "[run]\nstop = 10.0\nstep = 0.02\ncoupling = \"zoh\"\nschedule = \"parallel\"\n\
         [subsystems.hard]\nmodel = \"equations\"\n\
         equations = \"input u\\noutput y\\nstate x = 3\\nder(x) = u - x - x^3\\ny = x + x^3\"\n\
         [subsystems.soft]\nmodel = \"equations\"\n\
         equations = \"input u\\noutput y\\nstate z = 0\\nder(z) = u - z\\ny = z\"\n\
         [[connections]]\nfrom = \"hard.y\"\nto = \"soft.u\"\n[[connections]]\nfrom = \"soft.y\"\nto = \"hard.u\"\ngain = -1\n",
    );
    let found = folder.succeed(&["check", "system.toml", "--json", "--require", "stable"]).json();
    assert_eq!(found["verdict"], "stable", "{found:#}");
    assert!(found["trust"]["doubt"].is_string() && found["error"].is_null(), "{found:#}");
    assert_eq!((&found["recommended"], &found["blame"]), (&json!([]), &json!([])), "{found:#}");
    assert!(found["limits"].as_array().unwrap().iter().all(|one| one["intervals"] == json!([])), "{found:#}");
    let said = folder.succeed(&["check", "system.toml"]);
    said.says(&["stable: spectral radius", "not known", "stable at 0.02 s, at all points of the run"]);
    assert!(!said.out.contains("predicted error"), "{}", said.out);
}

/// What `run` refuses is not recommended, with the reason of `run`.
#[test]
fn methods_that_a_run_refuses_are_not_recommended() {
    let run = "[run]\nstop = 0.05\nstep = 1e-3\ncoupling = \"zoh\"\nreading = \"stale\"\n";
    let wires = "[[connections]]\nfrom = \"right.F\"\nto = \"left.F\"\n\
                 [[connections]]\nfrom = \"left.x\"\nto = \"right.x\"\n\
                 [[connections]]\nfrom = \"left.v\"\nto = \"right.v\"\n";
    let folder = Folder::with(&format!(
        "{run}[subsystems.left]\nfmu = \"plain.fmu\"\n[subsystems.right]\nmodel = \"spring-mass\"\n{wires}"
    ));
    let solver = "{ method = \"rk4\", step = 1e-4 }";
    folder.succeed(&[
        "fmu",
        "export",
        "--solver",
        solver,
        "mass",
        "-o",
        "plain.fmu",
        "--plain",
        "--set",
        "x0=0.1",
    ]);
    let found = folder.succeed(&["check", "system.toml", "--json"]).json();
    assert_eq!(found["verdict"], "stable", "{found:#}");
    let all = |key: &str| found[key].as_array().unwrap().clone();
    let prestep = all("limits").into_iter().find(|limit| limit["method"] == "prestep").unwrap();
    assert_eq!(prestep["is_refused"], true, "{prestep:#}");
    let refused = folder.run(&["run", "system.toml", "--coupling", "prestep"]);
    let words = prestep["problem"].as_str().unwrap();
    assert!(refused.code == Some(2) && refused.err.contains(words), "{words}: {}", refused.err);
    // Each of those that are recommended runs.
    for one in all("recommended") {
        let method = one["method"].as_str().unwrap();
        let step = one["step"].to_string();
        folder.succeed(&[
            "run",
            "system.toml",
            "-q",
            "--confirm",
            "off",
            "--coupling",
            method,
            "--step",
            &step,
        ]);
    }
}

/// The quarter truck of the examples with FMUs in place of its models, which are named after them.
fn truck(chassis: &str, wheel: &str) -> String {
    let text = std::fs::read_to_string(examples().join("quarter-truck.toml")).unwrap();
    let is_kept = |line: &&str| !line.starts_with("parameters") && !line.starts_with("solver");
    let text: String = text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    text.replace("model = \"chassis\"", &format!("fmu = '{chassis}'"))
        .replace("model = \"wheel\"", &format!("fmu = '{wheel}'"))
}

/// Where the stable steps of zero- and first-order holds end, of all that are told.
fn ends(found: &Value) -> Vec<(String, f64)> {
    let limits = found["limits"].as_array().unwrap().iter();
    let limits = limits.filter(|limit| limit["method"] == "zoh" || limit["method"] == "foh");
    limits
        .map(|limit| {
            let end = limit["intervals"][0]["to"].as_f64().unwrap_or(f64::NAN);
            (format!("{} {}", limit["method"], limit["schedule"]), end)
        })
        .collect()
}

fn close(found: &Value, native: &Value) {
    let (ours, theirs) = (ends(found), ends(native));
    assert!(ours.len() >= 4 && ours.len() == theirs.len(), "{found:#}");
    for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        assert!((ours / theirs - 1.0).abs() < 0.05, "{name}: {ours} in place of {theirs}\n{found:#}");
    }
}

/// FMUs that offer nothing have the limits of the native models, recommended steps and connections to blame; what was found is kept.
#[test]
fn plain_fmus_are_judged_by_exciting_them() {
    let folder = Folder::new();
    for (version, reading) in [("2", "fresh"), ("3", "stale")] {
        let solver = "{ method = \"rk4\", step = 2e-4 }";
        let export = ["fmu", "export", "--force", "--fmi", version, "--plain", "--solver", solver];
        for (model, values) in
            [("chassis", ["m=400", "c=15000", "d=1000"]), ("wheel", ["m=40", "k=150000", "v0=0"])]
        {
            let name = format!("{model}.fmu");
            let set = values.iter().flat_map(|value| ["--set", value]);
            let arguments: Vec<&str> = export.into_iter().chain([model, "-o", &name]).chain(set).collect();
            folder.succeed(&arguments);
        }
        folder.write("truck.toml", &truck("chassis.fmu", "wheel.fmu"));
        let reading = format!("run.reading={reading}");
        let more = ["--methods", "holds", "--set", &reading];
        let native = check("quarter-truck.toml", &more);
        let report = || folder.succeed(&[&["check", "truck.toml", "--json"], &more[..]].concat()).json();
        let found = report();
        assert_eq!(found["verdict"], "stable", "{found:#}");
        close(&found, &native);
        assert!(!found["recommended"].as_array().unwrap().is_empty(), "{found:#}");
        assert!(!found["blame"].as_array().unwrap().is_empty(), "{found:#}");
        for model in found["trust"]["models"].as_array().unwrap() {
            let identified = &model["identified"];
            assert!(identified["error"].as_f64().unwrap() < 0.01, "{model:#}");
            assert!(identified["step_calls"].as_u64() > Some(100), "{model:#}");
        }
        let again = report();
        assert_eq!(again["limits"], found["limits"]);
        assert_eq!(again["trust"]["models"][0]["identified"]["from_cache"], true, "{again:#}");
        let anew =
            folder.succeed(&[&["check", "truck.toml", "--json", "--no-cache"], &more[..]].concat()).json();
        assert_eq!(anew["trust"]["models"][0]["identified"]["from_cache"], false, "{anew:#}");
        folder.succeed(&[&["check", "truck.toml"], &more[..]].concat()).says(&[
            "stable: spectral radius",
            "chassis: identified by probing (2 states; known from an earlier run)",
            "wheel: identified",
        ]);
    }
    // Settings are tuned on the same models.
    let tune = ["tune", "truck.toml", "--methods", "zoh,foh", "--evaluations", "60", "--json"];
    let tuned = folder.succeed(&tune).json();
    assert!(!tuned["front"].as_array().unwrap().is_empty(), "{tuned:#}");
}

/// Outputs of these FMUs are evaluated in their steps alone, however they are read: limits are those of stale reading.
#[test]
fn fmus_of_pythonfmu_are_judged_by_exciting_them() {
    let names = ["QuarterTruckChassis.fmu", "QuarterTruckWheel.fmu"];
    let Some(paths) = names.map(prepared).into_iter().collect::<Option<Vec<_>>>() else { return };
    let folder = Folder::new();
    folder.write("truck.toml", &truck(paths[0].to_str().unwrap(), paths[1].to_str().unwrap()));
    let more = ["--methods", "holds", "--set", "run.reading=stale"];
    let native = check("quarter-truck.toml", &more);
    for reading in ["run.reading=stale", "run.reading=fresh"] {
        let more = ["check", "truck.toml", "--json", "--methods", "holds", "--set", reading];
        let found = folder.succeed(&more).json();
        assert_eq!(found["verdict"], "stable", "{found:#}");
        if reading == "run.reading=stale" {
            close(&found, &native);
        }
        // Under a schedule in which nobody waits for the other both readings are the same.
        let own = |found: &Value| ends(found).iter().find(|(name, _)| name.contains("parallel")).unwrap().1;
        assert!((own(&found) / own(&native) - 1.0).abs() < 0.05, "{reading}: {found:#}");
    }
}

//! `koppel check`, refusals, iteration and filters from the command line.

mod common;

use common::{Folder, examples};

fn pendulum() -> String {
    examples().join("double-pendulum.toml").display().to_string()
}

/// Stale, constant inputs, Euler's method at 0.1 ms: the setting of Kübler & Schiehlen 2000.
fn plain<'a>(command: &'a str, file: &'a str, beta: &'a str) -> Vec<&'a str> {
    vec![
        command,
        file,
        "--set",
        beta,
        "--set",
        "run.reading=stale",
        "--set",
        "run.coupling=zoh",
        "--set",
        "run.step=1e-4",
        "--set",
        "run.stop=1",
        "--set",
        "upper.solver={ method = \"euler\", step = 1e-4 }",
        "--set",
        "lower.solver={ method = \"euler\", step = 1e-4 }",
    ]
}

#[test]
fn check_tells_the_radius_and_the_ways_out() {
    let (folder, file) = (Folder::new(), pendulum());
    for (beta, radius, is_stable) in [
        ("upper.beta=0.25", 0.9636 * 0.5, true),
        ("upper.beta=1", 0.9636, true),
        ("upper.beta=2", 0.9636 * 2_f64.sqrt(), false),
        ("upper.beta=32", 0.9636 * 32_f64.sqrt(), false),
    ] {
        let mut arguments = plain("check", &file, beta);
        arguments.push("--json");
        let found = folder.succeed(&arguments).json();
        assert_eq!(found["zero_stable"], is_stable, "{found:#}");
        assert!((found["zero_stability_radius"].as_f64().unwrap() - radius).abs() < 1e-3, "{found:#}");
        let l = &found["loops"][0];
        assert_eq!(l["path"], "lower.F1 -> upper.F1 => upper.a1 -> lower.a1 => lower.F1");
        assert_eq!(l["torn"].as_array().unwrap().len(), 2);
        assert_eq!((&l["is_smallest_cut"], &l["can_iterate_steps"]), (&true.into(), &true.into()));
        assert_eq!(found["remedies"].as_array().unwrap().is_empty(), is_stable);
    }
    let said = folder.succeed(&plain("check", &file, "upper.beta=2"));
    said.says(&[
        "not zero-stable: radius 1.36",
        "the smallest cut",
        "iterate: iteration = ",
        "filter = \"auto\"",
        "causality",
    ]);
}

#[test]
fn the_drawing_shows_the_loop() {
    let (folder, file) = (Folder::new(), pendulum());
    folder.succeed(&["check", &file, "--graph", "system.svg"]).says(&["wrote system.svg"]);
    let svg = folder.read("system.svg");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for part in ["upper", "lower", "arrow loop", "F1, F2", "a1, a2"] {
        assert!(svg.contains(part), "{part}");
    }
    // The arrow that goes back stays on the paper.
    let number = |before: &str, end: char| {
        let rest = &svg[svg.find(before).unwrap() + before.len()..];
        rest[..rest.find(end).unwrap()].parse::<f64>().unwrap()
    };
    assert!(number("translate(", ' ') + number(" H", ' ') > 0.0, "{svg}");
    // Nothing that is read is drawn over, and no drawing over another.
    let text = std::fs::read_to_string(&file).unwrap();
    folder.write("own.toml", &text);
    for (arguments, words) in [
        (&["--graph", "own.toml"][..], "the system file and the graph are the same file"),
        (&["--frequency", "--graph", "a.svg", "--plot", "a.svg"], "the graph and the plot are the same file"),
        (&["--graph", "nowhere/a.svg"], "nowhere/a.svg"),
    ] {
        let said = folder.run(&[&["check", "own.toml"], arguments].concat());
        assert_eq!(said.code, Some(2), "{}", said.err);
        said.errs_with(&[words]);
    }
    assert_eq!(folder.read("own.toml"), text);
}

#[test]
fn a_run_that_is_not_zero_stable_is_refused() {
    let (folder, file) = (Folder::new(), pendulum());
    let said = folder.run(&plain("run", &file, "upper.beta=2"));
    assert_eq!(said.code, Some(2));
    said.errs_with(&["not zero-stable", "lower.F1 -> upper.F1", "1.36", "--accept-unstable"]);
    let dry = folder.run(&[&plain("run", &file, "upper.beta=2")[..], &["--dry-run"]].concat());
    assert_eq!((dry.code, dry.err), (said.code, said.err));
    let mut arguments = plain("run", &file, "upper.beta=2");
    arguments.extend(["--accept-unstable", "--quiet", "--stop", "0.002"]);
    folder.succeed(&arguments);
    folder.succeed(&[&plain("run", &file, "upper.beta=0.5")[..], &["--quiet"]].concat());
}

/// What `koppel run` refuses, a study refuses with the same words, and runs if it says so.
#[test]
fn a_study_refuses_what_a_run_refuses() {
    let (folder, file) = (Folder::new(), pendulum());
    let mut arguments = plain("run", &file, "upper.beta=2");
    arguments.truncate(12);
    arguments.extend(["--stop", "0.01"]);
    let refused = folder.run(&arguments);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let study = |betas: &str, accept: &str| {
        let text = format!(
            r#"
system = "{file}"
{accept}
[factors]
"upper.beta" = {betas}
"run.reading" = ["stale"]
"run.coupling" = ["zoh"]
"run.step" = [1e-4]
"run.stop" = [0.01]
[measures]
end = {{ of = "upper.alpha", take = "final" }}
forecast = {{ stable = "forecast" }}
"#
        );
        folder.write("study.toml", &text);
        let _ = std::fs::remove_dir_all(folder.path("s"));
        folder.run(&["study", "study.toml", "--out", "s", "--quiet"])
    };
    let said = study("[2.0]", "");
    assert_eq!((said.code, said.err), (refused.code, refused.err.clone()));
    // Where other runs can be made, this one is a row with the reason.
    let said = study("[0.5, 2.0]", "");
    let rows = folder.read("s/runs.csv");
    let reason = refused.err.lines().next().unwrap().trim_start_matches("error: ");
    assert_eq!(rows.matches(reason).count(), 1, "{rows}\n{}", said.err);
    // Its forecast is known all the same.
    let place = rows.lines().next().unwrap().split(',').position(|name| name == "forecast").unwrap();
    let row = rows.lines().find(|row| row.contains(reason)).unwrap();
    assert_eq!(row.split(',').nth(place).and_then(|value| value.parse().ok()), Some(0.0), "{rows}");
    study("[0.5, 2.0]", "accept_unstable = true");
    assert!(!folder.read("s/runs.csv").contains("zero-stable"));
    let said = study("[0.5]", "accept_unstable = 1");
    said.errs_with(&["study.toml:3:19", "`accept_unstable` must be true or false"]);
}

#[test]
fn feed_through_that_grows_on_the_way_ends_the_run() {
    // At the start the pendulums hang alike: the loop has no gain. They swing apart, and it passes 1 at t = 0.0576 s; by
    // |sin(alpha1 - alpha2)| sqrt(beta) it is 1.0279 at 0.06 s, when it is judged next.
    let (folder, file) = (Folder::new(), pendulum());
    let mut arguments = plain("run", &file, "upper.beta=8");
    arguments.extend(["--set", "upper.alpha0=0.3", "--set", "upper.omega0=4"]);
    arguments.extend(["--set", "lower.omega0=-4", "--quiet", "--out", "r.csv"]);
    let said = folder.run(&arguments);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&["not zero-stable", "1.0279", "(t = 0.06 s)"]);
    // The run had begun: it failed, and its rows are kept.
    assert_eq!(folder.column("r.csv", "time").len(), 601);
}

#[test]
fn the_examples_of_loops_run() {
    let folder = Folder::new();
    let example = |name: &str| examples().join("loops").join(name).to_str().unwrap().to_owned();
    let said = folder.succeed(&["run", &example("iterated.toml"), "--out", "r.csv", "--json"]).json();
    let l = &said["loops"][0];
    assert_eq!((&l["kind"], &l["unconverged"]), (&"outputs".into(), &0.into()));
    let evaluations = l["evaluations"].as_f64().unwrap() / l["points"].as_f64().unwrap();
    assert!(evaluations < 3.1, "{evaluations}");
    let counts = folder.column("r.csv", "loops[1].iterations");
    assert!(counts[1..].iter().all(|count| *count >= 1.0 && *count < 10.0));
    assert!(folder.column("r.csv", "loops[1].residual").iter().all(|r| *r <= 1e-8));
    let angle = *folder.column("r.csv", "upper.alpha").last().unwrap();
    folder.succeed(&["run", &example("steps.toml"), "--out", "s.csv", "--quiet"]);
    let other = *folder.column("s.csv", "upper.alpha").last().unwrap();
    assert!((angle - other).abs() < 1e-2, "{angle} {other}");
    let said = folder.run(&["run", &example("filtered.toml"), "--out", "f.csv"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    said.errs_with(&["filter into `upper.F1`: PT2 with omega =", "it delays by"]);
    let filtered = *folder.column("f.csv", "upper.alpha").last().unwrap();
    assert!((angle - filtered).abs() < 0.5, "{angle} {filtered}");
    folder.succeed(&["run", &example("iterated.toml")]).says(&[
        "iterated loop",
        "evaluations per step",
        "outputs by broyden",
    ]);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = Folder::new();
    let file = examples().join("loops/iterated.toml");
    let text = std::fs::read_to_string(file).unwrap();
    for (from, to, part) in [
        ("kind = \"outputs\"", "kind = \"output\"", "did you mean `outputs`"),
        ("acceleration = \"broyden\"", "acceleration = \"broiden\"", "did you mean `broyden`"),
        ("tolerance = 1e-8", "tolerance = 0.0", "must lie between 0 and 1"),
        ("tolerance = 1e-8", "tolerence = 1e-8", "tolerance"),
        ("to = \"upper.F1\"", "to = \"upper.F1\"\nfilter = { kind = \"pt3\" }", "pt2"),
        (
            "to = \"upper.F1\"",
            "to = \"upper.F1\"\nfilter = { kind = \"pt2\", omega = -1 }",
            "must be positive",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        folder.write("system.toml", &text.replacen(from, to, 1));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        said.errs_with(&[part]);
    }
    // There is no loop to choose a filter for.
    folder.write(
        "system.toml",
        &common::SYSTEM.replacen("to = \"right.F\"", "to = \"right.F\"\nfilter = \"auto\"", 1),
    );
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&["belongs to no loop"]);
}

/// The quarter truck of the examples at its own step, and at one where zero-order hold turns around -1.
#[test]
fn a_loop_is_judged_over_frequency() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(examples().join("quarter-truck.toml")).unwrap();
    folder.write("truck.toml", &text);
    let judged = |step: &str| {
        let said = folder.succeed(&[
            "check",
            "truck.toml",
            "--step",
            step,
            "--frequency",
            "--plot",
            "loop.svg",
            "--json",
        ]);
        said.json()["frequency"].as_array().unwrap().clone()
    };
    let find = |all: &[serde_json::Value], name: &str| {
        all.iter().find(|verdict| verdict["coupling"] == name).unwrap()["stable"].as_bool().unwrap()
    };
    let (fine, coarse) = (judged("0.005"), judged("0.03"));
    assert!(find(&fine, "zoh") && find(&fine, "hinf"));
    assert!(!find(&coarse, "zoh") && find(&coarse, "hinf"));
    assert!(folder.read("loop.svg").contains(">hinf</text>"));
    let said = folder.succeed(&["check", "truck.toml", "--frequency"]);
    said.says(&["Over frequency", "loop gain", "small gain", "stable", "one signal each way", "causality"]);
}

/// The step matrix of loops with equal filters has several equal eigenvalues; they are told all the same, and but for the filters
/// it is that of the iterated loop: a pendulum that falls.
#[test]
fn filtered_loops_are_forecast() {
    let folder = Folder::new();
    let judged = |name: &str| {
        let file = examples().join("loops").join(name).display().to_string();
        let found = folder.succeed(&["check", &file, "--json"]).json();
        let is_stable = found["verdict"] == "stable" && found["grows_by_itself"] == false;
        (is_stable, found["spectral_radius"].as_f64().unwrap())
    };
    let ((filtered, radius), (iterated, expected)) = (judged("filtered.toml"), judged("iterated.toml"));
    // What falls is not stable but by its coupling, whatever else is known of it.
    assert!(!filtered && !iterated, "{filtered}, {iterated}");
    assert!((radius - expected).abs() < 1e-6, "{radius} against {expected}");
}

#[test]
fn iteration_without_loops_is_noted() {
    let folder = Folder::with(&std::fs::read_to_string(examples().join("control-loop.toml")).unwrap());
    let said = folder.succeed(&["run", "system.toml", "--set", "run.iteration=outputs"]);
    assert!(said.err.contains("`iteration` has no effect"), "{}", said.err);
}

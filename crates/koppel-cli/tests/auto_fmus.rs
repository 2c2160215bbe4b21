//! `auto` and `tune` on FMUs: those of koppel, with and without saved states, of another tool, and in a system structure.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use common::Folder;
use prepared::prepared;
use serde_json::Value;

const WIRES: &str = "[[connections]]\nfrom = \"right.F\"\nto = \"left.F\"\n\
                     [[connections]]\nfrom = \"left.x\"\nto = \"right.x\"\n\
                     [[connections]]\nfrom = \"left.v\"\nto = \"right.v\"\n";
const COUNTED: &str = "{ method = \"auto\", save = \"calls\" }";

/// Two masses and a spring between them (Genser 2020, 3.1), each part as given.
fn system(left: &str, right: &str) -> String {
    format!(
        "[run]\nstop = 0.1\nstep = 5e-4\nrecord = [\"left.x\", \"left.v\", \"right.F\"]\n\
         [subsystems.left]\n{left}\n[subsystems.right]\n{right}\n{WIRES}"
    )
}

const NATIVE: [&str; 2] = [
    "model = \"mass\"\nparameters = { x0 = 0.1 }\nsolver = \"exact\"",
    "model = \"spring-mass\"\nsolver = \"exact\"",
];

/// A folder with `fine.csv`: the native models at steps so small that nothing is left to gain.
fn folder() -> Folder {
    let folder = Folder::with(&system(NATIVE[0], NATIVE[1]));
    let fine = ["--coupling", "foh", "--step", "2e-6", "--record-every", "5", "--out", "fine.csv"];
    folder.succeed(&[&["run", "system.toml"], &fine[..]].concat());
    folder
}

/// Root mean square of the worst output over its range, against the fine run.
fn error(folder: &Folder, file: &str) -> f64 {
    let (times, fine) = (folder.column(file, "time"), folder.column("fine.csv", "time"));
    let mut worst = 0.0_f64;
    for name in ["left.x", "left.v", "right.F"] {
        let (found, wanted) = (folder.column(file, name), folder.column("fine.csv", name));
        let low = wanted.iter().copied().fold(f64::INFINITY, f64::min);
        let high = wanted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let square = |(time, y): (&f64, &f64)| {
            let at = fine.partition_point(|t| t < time).clamp(1, fine.len() - 1);
            let part = (time - fine[at - 1]) / (fine[at] - fine[at - 1]);
            (y - wanted[at - 1] - part * (wanted[at] - wanted[at - 1])).powi(2)
        };
        let sum: f64 = times.iter().zip(&found).skip(1).map(square).sum();
        worst = worst.max((sum / (times.len() - 1) as f64).sqrt() / (high - low));
    }
    worst
}

/// With a given step and with a free one; tells what was chosen.
fn keeps_the_error(folder: &Folder, file: &str) -> [Value; 2] {
    let run = |more: &[&str]| {
        let all = [&["run", file, "--json", "--no-cache", "--out", "out.csv"], more].concat();
        let report = folder.succeed(&all).json();
        let own = error(folder, "out.csv");
        assert!(own <= 0.05, "{file} {more:?}: {own}\n{:#}", report["auto"]);
        report["auto"].clone()
    };
    let given = run(&["--coupling", "auto"]);
    assert_eq!(given["chosen"]["step"], 5e-4);
    let free = run(&["--coupling", COUNTED, "--step", "auto"]);
    assert!(free["chosen"]["step"].as_f64().unwrap() > 5e-4, "{free:#}");
    [given, free]
}

/// FMUs exported with these options; `basis` is by what `auto` chooses if they must not be copied.
fn fmus_of_koppel(options: &[&str], basis: &str) {
    let folder = folder();
    let solver = "{ method = \"rk4\", step = 1e-4 }";
    let export = [&["fmu", "export", "--force", "--solver", solver], options].concat();
    folder.succeed(&[&export[..], &["mass", "-o", "left.fmu", "--set", "x0=0.1"]].concat());
    folder.succeed(&[&export[..], &["spring-mass", "-o", "right.fmu"]].concat());
    folder.write("fmus.toml", &system("fmu = \"left.fmu\"", "fmu = \"right.fmu\""));
    for choice in keeps_the_error(&folder, "fmus.toml") {
        assert_eq!(choice["basis"], "pilots", "{choice:#}");
    }
    let spared = system("fmu = \"left.fmu\"\nprobe = false", "fmu = \"right.fmu\"");
    folder.write("spared.toml", &spared);
    let report = folder.succeed(&["run", "spared.toml", "--coupling", "auto", "--json", "--no-cache"]).json();
    assert_eq!(report["auto"]["basis"], basis, "{:#}", report["auto"]);
    // Tuning needs models, which are found by exciting what tells none.
    let tune = ["tune", "fmus.toml", "--methods", "zoh,foh", "--evaluations", "40", "--json", "--no-cache"];
    let said = folder.succeed(&tune);
    assert!(!said.json()["front"].as_array().unwrap().is_empty(), "{}", said.out);
}

/// What must not be copied is not: their linear models tell enough.
#[test]
fn fmus_of_koppel_with_saved_states() {
    fmus_of_koppel(&["--fmi", "2"], "linear-models");
}

/// The same without linear models: inputs are held.
#[test]
fn fmus_of_koppel_without_saved_states() {
    fmus_of_koppel(&["--fmi", "3", "--plain"], "nothing");
}

/// FMUs of pythonfmu, which tell no derivatives.
#[test]
fn fmus_of_another_tool() {
    let (Some(left), Some(right)) = (prepared("DualMassLeft.fmu"), prepared("DualMassRight.fmu")) else {
        return;
    };
    let folder = Folder::new();
    let part = |path: &std::path::Path| format!("fmu = \"{}\"", path.display());
    folder.write("python.toml", &system(&part(&left), &part(&right)));
    let run =
        |more: &[&str]| folder.succeed(&[&["run", "python.toml", "--json", "--no-cache"], more].concat());
    run(&["--coupling", "foh", "--step", "2e-5", "--out", "fine.csv"]);
    let report = run(&["--coupling", "auto", "--out", "out.csv"]).json();
    assert_eq!(report["auto"]["basis"], "pilots", "{:#}", report["auto"]);
    let own = error(&folder, "out.csv");
    assert!(own <= 0.05, "{own}: {:#}", report["auto"]);
}

/// A system structure: FMUs made of the native models.
#[test]
fn a_system_structure() {
    let folder = folder();
    folder.succeed(&["ssp", "export", "system.toml", "-o", "x.ssp"]);
    keeps_the_error(&folder, "x.ssp");
}

/// FMUs without a word on the coupling: copies are run if they are quickly made; the run is what it would be with the choice written.
#[test]
fn fmus_without_a_coupling() {
    let folder = folder();
    let solver = "{ method = \"rk4\", step = 1e-4 }";
    folder.succeed(&[
        "fmu", "export", "mass", "-o", "left.fmu", "--set", "x0=0.1", "--solver", solver, "--plain",
    ]);
    folder.succeed(&["fmu", "export", "spring-mass", "-o", "right.fmu", "--solver", solver]);
    folder.write("fmus.toml", &system("fmu = \"left.fmu\"", "fmu = \"right.fmu\""));
    let report = folder.succeed(&["run", "fmus.toml", "--json", "--out", "a.csv"]).json();
    let method = report["settings"]["run"]["coupling"].to_string();
    if report["auto"]["basis"] == "pilots" {
        assert!(error(&folder, "a.csv") <= 0.05, "{:#}", report["auto"]);
    } else {
        // A machine so busy that copies do not pay.
        assert_eq!(report["auto"]["basis"], "nothing", "{:#}", report["auto"]);
    }
    let schedule = report["settings"]["run"]["schedule"].to_string();
    let coupling = toml(&method);
    folder.succeed(&[
        "run",
        "fmus.toml",
        "--coupling",
        &coupling,
        "--schedule",
        schedule.trim_matches('"'),
        "--out",
        "b.csv",
    ]);
    assert!(folder.bytes("a.csv") == folder.bytes("b.csv"), "the same bytes");
}

/// A flat table of JSON as TOML.
fn toml(json: &str) -> String {
    let Value::Object(table) = serde_json::from_str(json).unwrap() else { panic!("{json}") };
    let all: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", all.join(", "))
}

/// y1 = 3 x1 + u1, x1' = -0.9 x1 + 0.5 u1 and y2 = -31 x2 - 0.9 u2, x2' = -x2 + 10 u2 around, from x = (1, 0), as one system.
fn feedthrough_pair(stop: f64) -> [f64; 2] {
    let outputs = |x: [f64; 2]| {
        let y = (3.0 * x[0] - 31.0 * x[1]) / 1.9;
        [y, y - 3.0 * x[0]]
    };
    let slope = |x: [f64; 2]| {
        let [first, second] = outputs(x);
        [-0.9 * x[0] + 0.5 * second, -x[1] + 10.0 * first]
    };
    let (mut x, steps) = ([1.0, 0.0], 20_000);
    let h = stop / f64::from(steps);
    for _ in 0..steps {
        let moved = |by: f64, k: [f64; 2]| [x[0] + by * k[0], x[1] + by * k[1]];
        let a = slope(x);
        let b = slope(moved(0.5 * h, a));
        let c = slope(moved(0.5 * h, b));
        let d = slope(moved(h, c));
        for i in 0..2 {
            x[i] += h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
        }
    }
    outputs(x)
}

/// Two FMUs of pythonfmu that feed each other at once, and evaluate outputs in their steps alone: inputs that are held run away at
/// all but very small steps, which is told before the run, and `auto` does not hold them.
#[test]
fn a_loop_of_fmus_that_evaluate_outputs_in_steps_alone() {
    let paths = ["FeedthroughFirst.fmu", "FeedthroughSecond.fmu"].map(prepared);
    let [Some(first), Some(second)] = paths else { return };
    let folder = Folder::with(&format!(
        "[run]\nstop = 0.5\nstep = 0.02\n\
         [subsystems.first]\nfmu = \"{}\"\n[subsystems.second]\nfmu = \"{}\"\n\
         [[connections]]\nfrom = \"first.y\"\nto = \"second.u\"\n\
         [[connections]]\nfrom = \"second.y\"\nto = \"first.u\"\n",
        first.display(),
        second.display()
    ));
    let check = |coupling: &str| {
        folder.run(&["check", "system.toml", "--json", "--coupling", coupling, "--methods", "holds"])
    };
    let (held, predicted) = (check("zoh").json(), check("vfps").json());
    assert_eq!((&held["verdict"], &predicted["verdict"]), (&"unstable".into(), &"stable".into()));
    let error = predicted["error"]["overall"].as_f64().unwrap();
    assert!(error < 0.01, "{predicted:#}");
    let report =
        folder.succeed(&["run", "system.toml", "--coupling", "auto", "--json", "--out", "out.csv"]).json();
    assert_eq!(report["auto"]["chosen"]["coupling"]["method"], "vfps", "{:#}", report["auto"]);
    for (i, name) in ["first.y", "second.y"].into_iter().enumerate() {
        let y = folder.column("out.csv", name);
        let range = y.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - y.iter().copied().fold(f64::INFINITY, f64::min);
        for (found, time) in [(y[0], 0.0), (y[y.len() - 1], 0.5)] {
            let wanted = feedthrough_pair(time)[i];
            assert!((found - wanted).abs() < 0.01 * range, "{name} at {time} s: {found} instead of {wanted}");
        }
    }
}

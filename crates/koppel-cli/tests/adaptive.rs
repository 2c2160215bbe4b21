//! Steps that adapt, from the file to the summary.

mod common;

use common::{Folder, SYSTEM};

/// The two masses with steps from 10 µs to 5 ms.
fn system() -> String {
    let adaptive = "step = 1e-5\nadaptive = { max = 5e-3, tolerance = 0.01 }";
    SYSTEM.replace("step = 1e-3", adaptive).replace("coupling = \"zoh\"", "coupling = \"foh\"")
}

#[test]
fn steps_are_told() {
    let folder = Folder::with(&system());
    let said = folder.succeed(&["run", "system.toml", "--out", "a.csv"]);
    said.says(&[
        "on average",
        "changes",
        "adaptive step     defects below 0.01",
        "verdict           trusted",
    ]);
    let document = folder.succeed(&["run", "system.toml", "--json"]).json();
    let sizes = &document["step_sizes"];
    let (steps, mean) = (document["steps"].as_u64().unwrap(), sizes["mean"].as_f64().unwrap());
    assert!((mean * steps as f64 - 0.2).abs() < 1e-9 && (50..5000).contains(&steps), "{sizes} {steps}");
    assert!(document["steps_planned"].is_null());
    assert_eq!(sizes["smallest"], 1e-5);
    let (times, lengths) = (folder.column("a.csv", "time"), folder.column("a.csv", "step"));
    assert_eq!(times.len() as u64, steps + 1);
    assert!(lengths[1..].iter().all(|step| *step > 0.9e-5 && *step < 5.001e-3));
    folder.succeed(&["run", "system.toml", "--dry-run"]).says(&["at most 20000 steps of 1e-5 to 0.005 s"]);
}

/// Rows at equal distances, whatever the steps are.
#[test]
fn rows_where_they_are_wanted() {
    let folder = Folder::with(&system());
    folder.succeed(&["run", "system.toml", "--set", "run.record_every=1000", "--out", "a.csv"]);
    let times = folder.column("a.csv", "time");
    assert_eq!(times.len(), 21);
    assert!(times.iter().enumerate().all(|(k, time)| (time - 0.01 * k as f64).abs() < 1e-12), "{times:?}");
}

#[test]
fn a_resumed_run_takes_the_same_steps() {
    let folder = Folder::with(&system());
    folder.succeed(&["run", "system.toml", "-q", "--out", "whole.csv"]);
    let half = ["--stop", "0.1", "--checkpoint", "c", "--checkpoint-every", "60"];
    folder.succeed(&[&["run", "system.toml", "-q", "--out", "part.csv"], &half[..]].concat());
    folder.succeed(&["resume", "c", "--stop", "0.2"]).says(&["continued"]);
    let (whole, part) = (folder.csv("whole.csv").1, folder.csv("part.csv").1);
    assert_eq!(whole.len(), part.len());
    for (a, b) in whole.iter().zip(&part).skip(1) {
        assert_eq!(a, b);
    }
}

/// Judged at both limits; what is unstable at the largest step is said to be so.
#[test]
fn a_check_at_the_limits() {
    let folder = Folder::with(&system());
    let said = folder.succeed(&["check", "system.toml"]);
    said.says(&["largest step      0.005 s: ", "smallest step     1e-5 s: "]);
    let document = folder.succeed(&["check", "system.toml", "--json"]).json();
    assert_eq!(document["adaptive"]["largest"]["step"], 5e-3);
    assert_eq!(document["adaptive"]["largest"]["verdict"], document["verdict"]);
    assert_eq!(document["adaptive"]["smallest"]["step"], 1e-5);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let refused = |from: &str, to: &str, parts: &[&str]| {
        let folder = Folder::with(&system().replace(from, to));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        said.errs_with(parts);
    };
    refused("max = 5e-3", "max = 5e-6", &["system.toml:7", "must be a number not below `step` = 0.00001"]);
    refused("max = 5e-3, ", "", &["needs `max`", "system.toml:7"]);
    refused("tolerance = 0.01", "tolerence = 0.01", &["system.toml:7", "did you mean `tolerance`?"]);
    refused("tolerance = 0.01", "on = \"error\"", &["system.toml:7", "`defect`, `power`"]);
    refused("tolerance = 0.01", "on = \"power\"", &["system.toml:7", "no two subsystems exchange"]);
    refused(
        "\"foh\"",
        "\"hinf\"",
        &["system.toml:9:12", "`hinf` cannot change its step", "remove `adaptive`"],
    );
    refused(
        "coupling = ",
        "every = { right = 2 }\ncoupling = ",
        &["system.toml:9", "`right` has a slower rate"],
    );
}

/// As an FMU the system takes its own steps within those of the importer.
#[test]
fn an_exported_system_adapts_inside() {
    let folder =
        Folder::with(&system().replace("stop = 0.2", "stop = 0.2\nrecord = [\"right.x\", \"step\"]"));
    folder.succeed(&["fmu", "export", "system.toml", "-o", "all.fmu"]);
    folder.write("outer.toml", "[run]\nstop = 0.2\nstep = 1.3e-3\n[subsystems.all]\nfmu = \"all.fmu\"\n");
    folder.succeed(&["run", "outer.toml", "--out", "outer.csv"]);
    folder.succeed(&["run", "system.toml", "--set", "run.record_every=130", "--out", "native.csv"]);
    let (outer, native) = (folder.column("outer.csv", "all.right.x"), folder.column("native.csv", "right.x"));
    let range = native.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(outer.len() == native.len() && range > 0.0);
    assert!(outer.iter().zip(&native).all(|(a, b)| (a - b).abs() < 1e-3 * range), "{outer:?} {native:?}");
}

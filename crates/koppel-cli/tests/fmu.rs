//! FMUs in system files and `koppel fmu`; `koppel ssp`.
//!
//! The FMUs are those of exporters koppel did not write. `cargo xtask test` builds them and says where they are; without
//! that, the tests that need them say so and stop.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use common::Folder;
use common::masses::{MASS2, mass, pack};
#[cfg(target_os = "linux")]
use common::masses::{compile, wandering};
use prepared::prepared;

fn system(subsystem: &str) -> String {
    format!(
        r#"
[run]
stop = 0.5
step = 1e-2
coupling = "zoh"
[subsystems.body]
{subsystem}

[subsystems.spring]
model = "spring-mass"
parameters = {{ m = 1.0, c = 10.0, d = 1.0, ck = 20.0, dk = 0.5, x0 = 0.1 }}

[[connections]]
from = "spring.F"
to = "body.F"

[[connections]]
from = "body.x"
to = "spring.x"

[[connections]]
from = "body.v"
to = "spring.v"
"#
    )
}

/// Columns of a CSV file, by name.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|header| header == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

/// A counter of steps has another value at every other step, and is no error.
#[test]
fn what_counts_is_not_judged_as_a_signal() {
    let Some(path) = prepared("Oscillator2.fmu") else { return };
    let folder = Folder::with(&system("fmu = \"body.fmu\"\nparameters = { m = 2.0, c = 30.0, d = 0.5 }"));
    std::fs::copy(path, folder.path("body.fmu")).unwrap();
    let report = folder.succeed(&["run", "system.toml", "--step", "1e-3", "--confirm", "always", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let signals: Vec<_> = report["certificate"]["error"].as_array().unwrap().iter().collect();
    assert!(signals.iter().any(|one| one["signal"] == "body.x"), "{signals:?}");
    assert!(signals.iter().all(|one| one["signal"] != "body.steps"), "{signals:?}");
    assert_eq!(report["certificate"]["verdict"], "trusted", "{}", report["certificate"]);
}

/// What is written down to come back after a crash is no way to take a step again.
#[test]
fn checkpoints_change_no_number() {
    let Some(path) = prepared("Oscillator2.fmu") else { return };
    let folder = Folder::with(&system("fmu = \"body.fmu\"\nparameters = { m = 2.0, c = 30.0, d = 0.5 }"));
    std::fs::copy(path, folder.path("body.fmu")).unwrap();
    let vfps = ["run", "system.toml", "--coupling", "vfps", "--step", "0.05", "--no-cache"];
    folder.succeed(&[&vfps[..], &["--out", "without.csv"]].concat()).errs_with(&["`body` cannot roll back"]);
    folder
        .succeed(&[&vfps[..], &["--out", "with.csv", "--checkpoint-every", "3"]].concat())
        .errs_with(&["`body` cannot roll back"]);
    assert_eq!(folder.read("without.csv"), folder.read("with.csv"));
}

#[test]
fn an_fmu_runs_like_the_native_model() {
    for name in ["Oscillator2.fmu", "Oscillator3.fmu"] {
        let Some(path) = prepared(name) else { return };
        let folder = Folder::with(&system("fmu = \"body.fmu\"\nparameters = { m = 2.0, c = 30.0, d = 0.5 }"));
        std::fs::copy(path, folder.path("body.fmu")).unwrap();
        folder.write(
            "native.toml",
            &system(
                "model = \"mass\"\nparameters = { m = 2.0, c = 30.0, d = 0.5, x0 = 1.0 }\nsolver = { method = \"rk4\", step = 1e-3 }",
            ),
        );
        folder.succeed(&["run", "system.toml", "--out", "fmu.csv"]);
        folder.succeed(&["run", "native.toml", "--out", "native.csv"]);
        let (fmu, native) = (folder.read("fmu.csv"), folder.read("native.csv"));
        for name in ["body.x", "body.v", "spring.F"] {
            let pairs = column(&fmu, name).into_iter().zip(column(&native, name));
            let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-11, "{name}: {largest:e}");
        }
        assert!(column(&fmu, "body.x").iter().any(|x| x.abs() > 1e-3), "something moves");
        folder.succeed(&["run", "system.toml", "--set", "body.m=3", "-q"]);
        folder.succeed(&["fmu", "info", "body.fmu"]).says(&[
            "FMI version",
            "co-simulation",
            "parameter",
            "input",
        ]);
        let said = folder.run(&["run", "system.toml", "--set", "body.mass=3"]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&["mass"]);
    }
}

/// Columns are there where something stands in them.
#[test]
fn start_values_and_limits_are_shown() {
    let folder = Folder::new();
    mass(&folder.path("mass.fmu"), MASS2);
    let said = folder.succeed(&["fmu", "info", "mass.fmu"]);
    let lines: Vec<Vec<&str>> = said.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |words: &[&str]| assert!(lines.iter().any(|line| line == words), "{words:?}\n{}", said.out);
    has(&["variable", "causality", "variability", "type", "start", "unit"]);
    has(&["x", "output", "continuous", "Float64", "1", "m"]);
    has(&["c", "parameter", "tunable", "Float64", "1"]);
    has(&["label", "parameter", "fixed", "String", "\"mass\""]);
    has(&["on", "input", "discrete", "Boolean", "false"]);
    let limited = MASS2.replace(
        "<Real unit=\"N\" start=\"0\"/>",
        "<Real unit=\"N\" start=\"0\" min=\"-5\" max=\"7.5\" nominal=\"2\"/>",
    );
    mass(&folder.path("limited.fmu"), &limited);
    let said = folder.succeed(&["fmu", "info", "limited.fmu"]);
    let words = "F input continuous Float64 0 N -5 7.5 2".split(' ').collect::<Vec<_>>();
    assert!(said.out.lines().any(|line| line.split_whitespace().eq(words.iter().copied())), "{}", said.out);
    said.says(&["nominal"]);
    let report = folder.succeed(&["fmu", "info", "limited.fmu", "--json"]).json();
    let force = &report["variables"][0];
    let keys = ["min", "max", "nominal", "start"].map(|key| force[key].as_f64().unwrap());
    assert_eq!(keys, [-5.0, 7.5, 2.0, 0.0]);
    assert_eq!((&force["unit"], &force["reference"]), (&"N".into(), &0.into()));
    let said = folder.run(&["fmu", "info", "none.fmu", "--json"]);
    assert_eq!((said.code, &said.json()["status"]), (Some(2), &"invalid".into()));
}

#[test]
fn bad_fmus_get_one_message() {
    let folder = Folder::with(&system("fmu = \"body.fmu\""));
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["system.toml:7:7", "body.fmu"]);
    folder.write("body.fmu", "no zip");
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["system.toml:7:7", "body.fmu", "zip"]);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
    let said = folder.run(&["fmu", "info", "body.fmu"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["body.fmu", "zip"]);
    // An element that is not closed is missed at the end.
    let cut = &MASS2[..MASS2.find("<ModelStructure>").unwrap()];
    pack(&folder.path("cut.fmu"), &[("modelDescription.xml", cut.as_bytes())]);
    let said = folder.run(&["fmu", "info", "cut.fmu"]);
    assert_eq!(said.code, Some(2));
    let last = cut.trim_end().lines().last().unwrap();
    let end = format!("cut.fmu!modelDescription.xml:{}:{}", cut.trim_end().lines().count(), last.len() + 1);
    said.errs_with(&[&end, "malformed XML"]);
    let folder = Folder::with(&system("fmu = \"body.fmu\"\nsubsteps = 0"));
    folder.run(&["run", "system.toml"]).errs_with(&["system.toml:8:12", "substeps", "whole number"]);
    let folder = Folder::with(&system("fmu = \"body.fmu\"\nsolvr = \"exact\""));
    folder.run(&["run", "system.toml"]).errs_with(&["unknown key `solvr`", "`solver`", "`substeps`"]);
}

/// An FMU that changes the current folder in every step: all files lie where the user wanted them, and the run goes on.
#[cfg(target_os = "linux")]
#[test]
fn files_stay_in_their_folder() {
    let text = system("fmu = \"body.fmu\"").replace(
        "coupling = \"zoh\"",
        r#"coupling = { method = "prestep", model = { identify = "rls" }, learning = { duration = 0.1 } }"#,
    );
    let folder = Folder::with(&text);
    wandering(&folder.path("body.fmu"));
    let said = folder.succeed(&[
        "run",
        "system.toml",
        "--out",
        "r.csv",
        "--report",
        "r.html",
        "--save-models",
        "models.toml",
        "--checkpoint",
        "c.checkpoint",
        "--checkpoint-every",
        "30",
    ]);
    let names = ["r.csv", "r.html", "models.toml", "c.checkpoint"];
    names.iter().for_each(|name| assert!(folder.has(name), "{name}"));
    said.says(&["wrote r.csv: 51 rows", "r.html: the report", "c.checkpoint: the checkpoint at t = 0.3 s"]);
    folder
        .succeed(&["resume", "c.checkpoint", "--stop", "1", "--out", "more.csv"])
        .says(&["more.csv: 101 rows"]);
}

/// Another FMU may be the one that was mended: it goes on, and that is told.
#[cfg(target_os = "linux")]
#[test]
fn an_fmu_that_was_replaced_is_told() {
    let folder = Folder::with(&system("fmu = \"body.fmu\""));
    mass(&folder.path("body.fmu"), MASS2);
    let fmu = folder.bytes("body.fmu");
    folder.succeed(&["run", "system.toml", "-q", "--checkpoint", "c", "--checkpoint-every", "30"]);
    mass(&folder.path("body.fmu"), &MASS2.replace("koppel tests", "another tool"));
    let said = folder.succeed(&["resume", "c", "--stop", "1"]);
    said.errs_with(&["warning: `body.fmu` has changed since the run began", "continues as `body`"]);
    std::fs::write(folder.path("body.fmu"), fmu).unwrap();
    let said = folder.succeed(&["resume", "c", "--stop", "1"]);
    assert!(!said.err.contains("changed"), "{}", said.err);
}

/// Values that a parameter cannot have are shown at their place in the file.
#[cfg(target_os = "linux")]
#[test]
fn values_of_the_wrong_type_are_shown_at_their_place() {
    let flags = r#"<ScalarVariable name="kind" valueReference="2" causality="parameter" variability="fixed"><Enumeration declaredType="Kind" start="1"/></ScalarVariable>
    <ScalarVariable name="fixed" valueReference="1" causality="parameter" variability="fixed"><Boolean start="false"/></ScalarVariable>
  </ModelVariables>"#;
    let kinds = r#"<TypeDefinitions><SimpleType name="Kind"><Enumeration><Item name="soft" value="1"/><Item name="hard" value="2"/></Enumeration></SimpleType></TypeDefinitions>
  <ModelVariables>"#;
    let description = MASS2.replace("</ModelVariables>", flags).replace("<ModelVariables>", kinds);
    for (parameter, words) in [
        ("misbehave = 1.5", "`misbehave` of `body` cannot be 1.5: Int32 holds whole numbers"),
        ("misbehave = 3000000000", "`misbehave` of `body` cannot be 3000000000"),
        ("fixed = 2", "`fixed` of `body` cannot be 2: a Boolean is true or false"),
        ("kind = 1.5", "`kind` of `body` cannot be 1.5: it is one of 1 (soft), 2 (hard)"),
        ("kind = 3", "`kind` of `body` cannot be 3: it is one of 1 (soft), 2 (hard)"),
    ] {
        let folder = Folder::with(&system(&format!(
            "fmu = \"body.fmu\"\n[subsystems.body.parameters]\n{parameter}\n"
        )));
        mass(&folder.path("body.fmu"), &description);
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{parameter}: {}{}", said.out, said.err);
        said.errs_with(&["system.toml:9:1", words]);
    }
}

#[test]
fn a_model_exchange_fmu_runs_like_the_native_model() {
    let (Some(exchange), Some(own)) = (prepared("Exchange3.fmu"), prepared("Oscillator3.fmu")) else {
        return;
    };
    let values = "parameters = { m = 2.0, c = 30.0, d = 0.5 }";
    let solver = "solver = { method = \"rk4\", step = 1e-3 }";
    let folder = Folder::with(&system(&format!("fmu = \"body.fmu\"\n{values}\n{solver}")));
    std::fs::copy(&exchange, folder.path("body.fmu")).unwrap();
    std::fs::copy(&own, folder.path("own.fmu")).unwrap();
    let native =
        format!("model = \"mass\"\nparameters = {{ m = 2.0, c = 30.0, d = 0.5, x0 = 1.0 }}\n{solver}");
    folder.write("native.toml", &system(&native));
    folder
        .succeed(&["run", "system.toml", "--out", "fmu.csv"])
        .says(&["rk4, step 0.001; FMI 3.0 model exchange", "inputs followed inside the solver"]);
    folder.succeed(&["run", "native.toml", "--out", "native.csv"]);
    let (found, native) = (folder.read("fmu.csv"), folder.read("native.csv"));
    for name in ["body.x", "body.v", "spring.F"] {
        let pairs = column(&found, name).into_iter().zip(column(&native, name));
        let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-11, "{name}: {largest:e}");
    }
    let refused = |subsystem: &str, words: &[&str]| {
        folder.write("bad.toml", &system(subsystem));
        let said = folder.run(&["run", "bad.toml"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        said.errs_with(words);
    };
    let own_solver = "`solver` does not go with a co-simulation FMU, which brings its own";
    refused("fmu = \"own.fmu\"\nsolver = \"adaptive\"", &["bad.toml:8:10", own_solver, "remove it"]);
    refused("fmu = \"own.fmu\"\ninterface = \"model-exchange\"", &["is no model-exchange FMU"]);
    refused(
        "fmu = \"body.fmu\"\ninterface = \"co-simulation\"",
        &["is no co-simulation FMU", "model-exchange"],
    );
    refused(
        "fmu = \"body.fmu\"\ninterface = \"exchange\"",
        &["bad.toml:8:13", "unknown interface `exchange`"],
    );
    refused("fmu = \"body.fmu\"\nsubsteps = 4", &["bad.toml:8:12", "followed inside the solver"]);
    refused("fmu = \"body.fmu\"\nsolver = \"exact\"", &["bad.toml:8:10", "linear models only"]);
}

#[test]
fn what_an_fmu_declares_is_checked() {
    let (Some(honest), Some(liar), Some(exchange)) =
        (prepared("Oscillator2State.fmu"), prepared("Oscillator2Liar.fmu"), prepared("Exchange3.fmu"))
    else {
        return;
    };
    let folder = Folder::new();
    for (file, name) in [(honest, "honest.fmu"), (liar, "liar.fmu"), (exchange, "exchange.fmu")] {
        std::fs::copy(file, folder.path(name)).unwrap();
    }
    folder.succeed(&["fmu", "check", "honest.fmu", "--step", "0.05"]).says(&[
        "co-simulation in steps of 0.05 s",
        "roll-back",
        "held",
        "the same bits",
        "not tried",
    ]);
    folder.succeed(&["fmu", "check", "exchange.fmu", "--step", "0.05"]).says(&["model-exchange in steps"]);
    let said = folder.run(&["fmu", "check", "liar.fmu", "--step", "0.05", "--json"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(found["verdict"], "failed");
    let list = found["interfaces"][0]["findings"].as_array().unwrap();
    let failed: Vec<&str> =
        list.iter().filter(|f| f["outcome"] == "failed").map(|f| f["capability"].as_str().unwrap()).collect();
    assert_eq!(failed, ["input-derivatives"], "{}", said.out);
    assert_eq!(folder.run(&["fmu", "check", "none.fmu"]).code, Some(2));
}

/// A crash in one trial is the finding of that trial, and leaves the others.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_crash_in_one_trial_leaves_the_others() {
    let folder = Folder::new();
    let library = compile("mass2.c", &["-DCRASH_STATE"]);
    let files = [("modelDescription.xml", MASS2.as_bytes()), ("binaries/linux64/mass.so", &library)];
    pack(&folder.path("crash.fmu"), &files);
    let said = folder.run(&["fmu", "check", "crash.fmu", "--step", "0.05", "--json"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let found = said.json();
    let list = found["interfaces"][0]["findings"].as_array().unwrap();
    let with = |outcome: &str| -> Vec<&str> {
        let is = |finding: &&serde_json::Value| finding["outcome"] == outcome;
        list.iter().filter(is).map(|finding| finding["capability"].as_str().unwrap()).collect()
    };
    assert_eq!(with("failed"), ["roll-back", "serialization"], "{found}");
    let held = [
        "steps",
        "directional-derivatives",
        "input-derivatives",
        "variable-step-size",
        "reset",
        "second-instance",
    ];
    assert!(held.iter().all(|name| with("held").contains(name)), "{found}");
    assert!(list[1]["text"].as_str().unwrap().contains("crashed with SIGILL"), "{found}");
}

/// One interface without its library leaves the findings of the other.
#[cfg(target_os = "linux")]
#[test]
fn both_interfaces_are_checked_whatever_becomes_of_one() {
    let folder = Folder::new();
    let both = MASS2.replace("<CoSimulation ", "<ModelExchange modelIdentifier=\"gone\"/>\n  <CoSimulation ");
    mass(&folder.path("both.fmu"), &both);
    let said = folder.run(&["fmu", "check", "both.fmu", "--step", "0.05"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.says(&["co-simulation in steps of 0.05 s", "roll-back", "the same bits"]);
    said.errs_with(&["gone"]);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
    let said = folder.run(&["fmu", "check", "both.fmu", "--step", "0.05", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&found["verdict"], said.code), (&"failed".into(), Some(1)));
    assert_eq!(found["interfaces"][0]["verdict"], "held");
    assert_eq!(found["interfaces"][1]["verdict"], "failed");
    assert!(found["interfaces"][1]["error"]["message"].as_str().unwrap().contains("gone"), "{}", said.out);
    // Where neither can be tried, that is bad input.
    mass(&folder.path("none.fmu"), &both.replace("modelIdentifier=\"mass\"", "modelIdentifier=\"lost\""));
    let said = folder.run(&["fmu", "check", "none.fmu"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    said.errs_with(&["lost", "gone"]);
}

#[test]
fn system_structures_are_checked() {
    let folder = Folder::new();
    let ssd = |connector: &str| {
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="s">
  <ssd:System name="s">
    <ssd:Connectors>
      <ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>
      <ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
    </ssd:Connectors>
    <ssd:Connections><ssd:Connection startConnector="{connector}" endConnector="y"/></ssd:Connections>
  </ssd:System>
</ssd:SystemStructureDescription>
"#
        )
    };
    folder.write("good.ssd", &ssd("u"));
    folder.succeed(&["ssp", "check", "good.ssd"]).says(&["conforms to the standard"]);
    folder.write("bad.ssd", &ssd("w"));
    let said = folder.run(&["ssp", "check", "bad.ssd"]);
    assert_eq!(said.code, Some(2));
    said.says(&["bad.ssd:9", "w"]);
    assert_eq!(folder.run(&["ssp", "check", "none.ssp"]).code, Some(2));
}

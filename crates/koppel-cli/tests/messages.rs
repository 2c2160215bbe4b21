//! Texts, clocks, arrays and log messages of FMUs in system files, with an FMU compiled by the test.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Folder;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A folder with `events.fmu` and `system.toml`.
fn folder(system: &str) -> Folder {
    folder_with(system, str::to_owned)
}

/// The same with another description.
fn folder_with(system: &str, describe: fn(&str) -> String) -> Folder {
    let folder = Folder::with(system);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../koppel-fmi/tests");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(folder.path("mass.so"));
    assert!(command.arg(tests.join("fmus/events3.c")).arg("-lm").status().unwrap().success());
    let mut writer = ZipWriter::new(std::fs::File::create(folder.path("events.fmu")).unwrap());
    let terminals = r#"<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
        <Terminal name="shaft" matchingRule="plug" terminalKind="test">
          <TerminalMemberVariable variableName="ramp" memberName="e" variableKind="signal"/>
          <TerminalMemberVariable variableName="sampled" memberName="f" variableKind="inflow"/>
        </Terminal></Terminals></fmiTerminalsAndIcons>"#;
    let description = std::fs::read_to_string(tests.join("fixtures/events3.xml")).unwrap();
    for (name, content) in [
        ("modelDescription.xml", describe(&description).into_bytes()),
        ("terminalsAndIcons/terminalsAndIcons.xml", terminals.into()),
        ("binaries/x86_64-linux/mass.so", folder.bytes("mass.so")),
    ] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(&content).unwrap();
    }
    writer.finish().unwrap();
    folder
}

fn system(connections: &str, parameters: &str) -> String {
    format!(
        r#"
[run]
stop = 1.5
step = 0.25
coupling = "zoh"
[subsystems.a]
fmu = "events.fmu"
parameters = {{ n = 3, k = [1, 2, 3], u = [4, 5, 6], label = "first", key = "0a", b_in = true }}

[subsystems.b]
fmu = "events.fmu"
parameters = {{ {parameters} }}

{connections}
"#
    )
}

fn connection(from: &str, to: &str) -> String {
    format!("[[connections]]\nfrom = \"{from}\"\nto = \"{to}\"\n")
}

#[test]
fn arrays_texts_and_clocks_are_connected_like_numbers() {
    let pairs = [
        ("a.y", "b.u"),
        ("a.text_out", "b.text_in"),
        ("a.data_out", "b.data_in"),
        ("a.alarm", "b.alarm_in"),
        ("a.frame_out", "b.frame"),
        ("a.b_out", "b.b_in"),
    ];
    let connections: String = pairs.iter().map(|(from, to)| connection(from, to)).collect();
    let folder = folder(&system(&connections, "n = 3"));
    folder.succeed(&["run", "system.toml", "--dry-run"]);
    let said = folder.succeed(&["run", "system.toml", "--out", "r.csv"]);
    said.says(&["events handled"]);
    assert!(said.err.is_empty(), "{}", said.err);
    let last = |name: &str| *folder.column("r.csv", name).last().unwrap();
    assert_eq!([last("b.u[1]"), last("b.u[2]"), last("b.u[3]")], [4.0, 10.0, 18.0]);
    assert_eq!((last("b.alarms"), last("b.last_alarm"), last("b.b_out")), (1.0, 1.0, 1.0));
    folder.succeed(&["run", "system.toml", "--coupling", "foh", "-q", "--out", "foh.csv"]);
    assert_eq!(folder.column("foh.csv", "b.alarms"), folder.column("r.csv", "b.alarms"));
    // Texts and bytes beside numbers, in CSV and in Parquet.
    let recorded = ["--record", "b.alarms", "--record", "*.text_out", "--record", "a.data_out"];
    for out in ["texts.csv", "texts.parquet"] {
        let run: Vec<&str> = ["run", "system.toml", "-q", "--out", out].into_iter().chain(recorded).collect();
        folder.succeed(&run);
        let table = koppel_io::results::read_table(&folder.path(out)).unwrap();
        let names: Vec<&str> = table.messages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, table.columns.len()), (vec!["a.text_out", "a.data_out", "b.text_out"], 1));
        let texts = &table.messages[0].1;
        assert!(texts.len() == 7 && texts.iter().any(|text| *text != texts[0]), "{texts:?}");
    }
    let [csv, parquet] =
        ["texts.csv", "texts.parquet"].map(|out| koppel_io::results::read_table(&folder.path(out)).unwrap());
    assert_eq!(csv.messages, parquet.messages);
    // Continued after an interruption, clocks and messages go on as if nothing had been.
    folder.succeed(&["run", "system.toml", "--stop", "3", "--out", "whole.csv", "-q"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "--stop",
        "1",
        "--out",
        "part.csv",
        "-q",
        "--checkpoint-every",
        "4",
    ]);
    folder.succeed(&["resume", "part.csv.checkpoint", "--stop", "3", "-q"]);
    assert_eq!(folder.read("part.csv"), folder.read("whole.csv"));
}

/// `ramp` falls back to 0 when it reaches 1, inside a step; the other FMU is interpolated there.
#[test]
fn events_become_rows_where_asked() {
    let folder = folder(&system("", ""));
    let run_to = |stop: &str, out: &str, more: &[&str]| {
        let all = ["run", "system.toml", "--step", "0.4", "--stop", stop, "-q", "--out", out];
        let columns = ["--record", "a.ramp", "--record", "b.time", "--record", "a.falls"];
        folder.succeed(&[&all[..], &columns, more].concat());
        folder.read(out)
    };
    let run = |out: &str, more: &[&str]| run_to("1.6", out, more);
    let plain = run("plain.csv", &[]);
    let events = run("events.csv", &["--record-events"]);
    assert_eq!(plain.lines().count(), 6);
    let falls: Vec<&str> =
        events.lines().filter(|line| line.starts_with("1,") || line.starts_with("1.0,")).collect();
    assert_eq!(falls.len(), 2, "{events}");
    let cells = |line: &str| -> Vec<f64> { line.split(',').map(|cell| cell.parse().unwrap()).collect() };
    let (before, after) = (cells(falls[0]), cells(falls[1]));
    assert!((before[1] - 1.0).abs() < 1e-9 && after[1].abs() < 1e-9, "{events}");
    assert!(plain.lines().all(|line| events.lines().any(|other| line == other)), "{events}");
    let times: Vec<f64> = events.lines().skip(1).map(|line| cells(line)[0]).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(run("isolated.csv", &["--record-events", "--isolate"]), events);
    // Continued, the rows are the same.
    run_to("0.8", "part.csv", &["--record-events", "--checkpoint-every", "1"]);
    folder.succeed(&["resume", "part.csv.checkpoint", "--stop", "1.6", "-q"]);
    assert_eq!(folder.read("part.csv"), events);
}

/// Times of FMUs are sums of steps, those of rows are products: events at communication points stay before their rows.
#[test]
fn rows_at_events_never_go_back() {
    let folder = folder(&system("", ""));
    let all = ["run", "system.toml", "--step", "0.1", "-q", "--record", "a.falls", "--record-events"];
    let run = |stop: &str, out: &str| {
        folder.succeed(&[&all[..], &["--stop", stop, "--out", out, "--checkpoint-every", "10"]].concat());
    };
    run("12", "whole.csv");
    for column in ["time", "a.falls"] {
        assert!(folder.column("whole.csv", column).is_sorted(), "{}", folder.read("whole.csv"));
    }
    run("6", "part.csv");
    folder.succeed(&["resume", "part.csv.checkpoint", "--stop", "12", "-q"]);
    assert_eq!(folder.read("part.csv"), folder.read("whole.csv"));
    // A page without a result file.
    folder.succeed(&[
        "run",
        "system.toml",
        "-q",
        "--record",
        "a.text_out",
        "--record",
        "a.y",
        "--report",
        "r.html",
    ]);
}

#[test]
fn wrong_wiring_gets_one_message_with_its_place() {
    for (from, to, place, parts) in [
        ("a.text_out", "b.data_in", "system.toml:16:6", vec!["a text cannot become bytes"]),
        ("a.text_out", "b.u[1]", "system.toml:16:6", vec!["a text cannot become a number"]),
        ("a.ramp", "b.alarm_in", "system.toml:16:6", vec!["a number cannot become a clock"]),
        ("a.y", "b.u", "system.toml:16:6", vec!["the source has 3 values, the input 2 values"]),
        ("a.y", "b.ramp", "system.toml:16:6", vec!["`b.ramp` is an output, where an input is needed"]),
        ("a.text_in", "b.text_in", "system.toml:15:8", vec!["is an input, where an output is needed"]),
        ("a.k[1]", "b.u[1]", "system.toml:15:8", vec!["is a parameter, where an output is needed"]),
        ("a.text_ou", "b.text_in", "system.toml:15:8", vec!["unknown output", "did you mean `a.text_out`?"]),
    ] {
        let folder = folder(&system(&connection(from, to), ""));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{from} {to}: {}", said.err);
        said.errs_with(&[place]);
        said.errs_with(&parts);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
    }
    for (parameters, parts) in [
        ("k = [1, 2, 3]", vec!["system.toml:12:16", "it has 2 elements, 3 are given"]),
        ("label = 3", vec!["`label` is a String, 3 is not one"]),
        ("n = 2.5", vec!["`n` is a UInt64, 2.5 is not one"]),
        ("lable = \"x\"", vec!["did you mean `label`?"]),
        ("k = 1979-05-27", vec!["system.toml:12:20", "a number, text, true, false, or a list"]),
    ] {
        let folder = folder(&system("", parameters));
        let said = folder.run(&["run", "system.toml"]);
        assert_eq!(said.code, Some(2), "{parameters}: {}", said.err);
        said.errs_with(&parts);
    }
}

#[test]
fn what_fmus_say_is_shown_with_subsystem_and_time() {
    let folder = folder(&system("", "fault = 6"));
    let line = "log: `b` at t = 0.25 s, warning [logStatusWarning]: I am not well";
    let said = folder.succeed(&["run", "system.toml", "-q", "--step", "0.01"]);
    said.errs_with(&["more messages of `b` were not shown"]);
    assert_eq!(said.err.matches("I am not well").count(), 20, "{}", said.err);
    folder.succeed(&["run", "system.toml", "-q"]).errs_with(&[line]);
    let said = folder.succeed(&["run", "system.toml", "-q", "--log", "error"]);
    assert!(said.err.is_empty(), "{}", said.err);
    let said = folder.succeed(&["run", "system.toml", "-q", "--log", "debug"]);
    said.errs_with(&["log: `a` at t = 0 s, info [logAll]: debug logging is on", line]);
    assert!(!folder.succeed(&["run", "system.toml", "-q", "--log", "info"]).err.contains("debug logging"));
    let said = folder.run(&["run", "system.toml", "--log", "loud"]);
    assert_eq!(said.code, Some(2));
    let said = folder.run(&["run", "system.toml", "-q", "--set", "b.fault=2"]);
    assert_eq!(said.code, Some(1));
    said.errs_with(&[
        "subsystem `b` failed at t = 0.5 s",
        "fmi3DoStep returned error",
        "I refuse to pass 0.5 s",
    ]);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
}

#[test]
fn an_only_once_fmu_used_twice_gets_one_message() {
    let once = |text: &str| {
        text.replace("hasEventMode", "canBeInstantiatedOnlyOncePerProcess=\"true\" hasEventMode")
    };
    let folder = folder_with(&system("", ""), once);
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["system.toml:11:7", "can be instantiated only once per process, and is in use"]);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
}

#[test]
fn a_wrong_token_is_told_with_the_log_of_the_fmu() {
    let folder = folder_with(&system("", ""), |text| text.replace("{events}", "{other}"));
    let said = folder.run(&["run", "system.toml"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["system.toml:7:7", "returned no instance", "log: [logStatusError] wrong token"]);
}

#[test]
fn an_fmu_tells_its_terminals_arrays_and_clocks() {
    let folder = folder("");
    folder.succeed(&["fmu", "info", "events.fmu"]).says(&[
        "power bond: effort ramp, flow sampled into the FMU",
        "Float64[n]",
        "String[2]",
        "Clock (countdown)",
        "event mode",
    ]);
}

#[test]
fn everything_an_fmu_declares_is_told_as_json() {
    let folder = folder("");
    let report = folder.succeed(&["fmu", "info", "events.fmu", "--json"]).json();
    let variable = |name: &str| {
        let all = report["variables"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!((&report["model"], &report["fmi_version"]), (&"Events".into(), &"3.0".into()));
    assert_eq!(report["platforms"], serde_json::json!(["x86_64-linux"]));
    assert_eq!(report["co_simulation"]["has_event_mode"], true);
    assert!(report["model_exchange"].is_null());
    assert_eq!(
        report["types"][0]["items"][1],
        serde_json::json!({ "name": "on", "value": 2, "description": null })
    );
    let gains = variable("k");
    assert_eq!(gains["start"], serde_json::json!([1.0, 1.0]));
    assert_eq!((&gains["dimensions"], &gains["variability"]), (&serde_json::json!(["n"]), &"tunable".into()));
    assert_eq!(variable("text_in")["start"], "silence");
    assert_eq!(variable("n")["start"], 2);
    assert_eq!(variable("n")["causality"], "structuralParameter");
    let clock = &variable("periodic")["clock"];
    assert_eq!(
        (&clock["interval_variability"], &clock["interval_decimal"]),
        (&"constant".into(), &0.1.into())
    );
    assert_eq!(report["terminals"][0]["power_bond"]["effort"], "ramp");
}

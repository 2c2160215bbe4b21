//! The example files say the same as the cases of the same name.

use crate::cases::{Case, Part, case, cases};
use koppel::coupling::CouplingConfig;
use koppel::models::entry;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;
use koppel::system::Connection;
use std::path::Path;
use toml::{Table, Value};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn every_case_has_its_file() {
    let mut expected: Vec<String> =
        cases().filter(|name| !name.starts_with("helicopter-")).map(|name| format!("{name}.toml")).collect();
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn files_and_cases_agree() {
    for name in cases().filter(|name| !name.starts_with("helicopter-")) {
        let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
        let file: Table = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(file["title"].is_str() && file["description"].is_str(), "{name}");
        let case = case(name).unwrap();
        assert_eq!(run_of(&file), case.run, "{name}");
        parts_agree(&parts_of(&file), &case, name);
        let mut connections = connections_of(&file);
        let mut expected = case.connections.clone();
        connections.sort_by(|a, b| a.to.cmp(&b.to));
        expected.sort_by(|a, b| a.to.cmp(&b.to));
        assert_eq!(connections, expected, "{name}");
        inputs_agree(&file, &case, name);
    }
}

/// `"zoh"` is short for `{ method = "zoh" }`.
fn spelled_out(value: &Value) -> Value {
    match value {
        Value::String(method) => {
            Table::from_iter([("method".to_owned(), Value::String(method.clone()))]).into()
        }
        other => other.clone(),
    }
}

fn run_of(file: &Table) -> RunConfig {
    let mut run = file["run"].as_table().unwrap().clone();
    let coupling: CouplingConfig = spelled_out(&run["coupling"]).try_into().unwrap();
    run.remove("coupling");
    RunConfig { coupling, ..Value::Table(run).try_into().unwrap() }
}

fn parts_of(file: &Table) -> Vec<Part> {
    let part = |(name, part): (&String, &Value)| Part {
        name: name.clone(),
        model: part["model"].as_str().unwrap().into(),
        parameters: part.get("parameters").map_or_else(Default::default, |p| p.clone().try_into().unwrap()),
        solver: spelled_out(&part["solver"]).try_into::<SolverConfig>().unwrap(),
    };
    file["subsystems"].as_table().unwrap().iter().map(part).collect()
}

/// Same names, models and solvers; parameters equal once the models' defaults are filled in.
fn parts_agree(found: &[Part], case: &Case, name: &str) {
    assert_eq!(found.len(), case.parts.len(), "{name}");
    for expected in &case.parts {
        let part = found.iter().find(|part| part.name == expected.name).unwrap();
        assert_eq!((&part.model, part.solver), (&expected.model, expected.solver), "{name}");
        let models = [part, expected].map(|p| entry(&p.model).unwrap().build(&p.parameters).unwrap());
        assert_eq!(models[0].ports(), models[1].ports(), "{name}.{}", part.name);
    }
}

fn connections_of(file: &Table) -> Vec<Connection> {
    let connection = |value: &Value| Connection {
        from: vec![value["from"].as_str().unwrap().into()],
        to: value["to"].as_str().unwrap().into(),
        gain: value.get("gain").map_or(1.0, |gain| gain.as_float().unwrap()),
        ..Connection::new("", "")
    };
    file["connections"].as_array().unwrap().iter().map(connection).collect()
}

/// Every signal of the file is one of the case, to round-off in the phase, and the other way round.
fn inputs_agree(file: &Table, case: &Case, name: &str) {
    let mut found: Vec<(String, ExternalConfig)> = Vec::new();
    for input in file.get("inputs").and_then(Value::as_array).into_iter().flatten() {
        let signals = input["signal"].as_array().cloned().unwrap_or_else(|| vec![input["signal"].clone()]);
        let to = input["to"].as_str().unwrap();
        found.extend(signals.into_iter().map(|signal| (to.to_owned(), signal.try_into().unwrap())));
    }
    assert_eq!(found.len(), case.externals.len(), "{name}");
    for (to, expected) in &case.externals {
        let same =
            |(other, signal): &(String, ExternalConfig)| other == to && rounded(signal) == rounded(expected);
        assert!(found.iter().any(same), "{name}: {to} {expected:?} is not among {found:?}");
    }
}

fn rounded(signal: &ExternalConfig) -> ExternalConfig {
    let mut signal = signal.clone();
    if let ExternalConfig::Sine { phase, .. } = &mut signal {
        *phase = (*phase * 1e9).round() + 0.0;
    }
    signal
}

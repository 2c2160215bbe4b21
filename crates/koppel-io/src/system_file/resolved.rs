//! All settings as TOML again: options applied, defaults and tables written out.

use koppel::system::{Ode, Scaling};
use toml::{Table, Value};

use super::tree::Entry;
use super::{SystemSpec, auto, confirm, equations, isolation, subsystem};

pub(super) fn text(file: &SystemSpec) -> String {
    toml::to_string(&table(file)).unwrap_or_default()
}

pub(super) fn json(file: &SystemSpec) -> serde_json::Value {
    serde_json::to_value(table(file)).unwrap_or_default()
}

pub(super) fn table(file: &SystemSpec) -> Table {
    let mut table = Table::new();
    for (key, text) in [("title", &file.title), ("description", &file.description)] {
        if !text.is_empty() {
            table.insert(key.into(), Value::String(text.clone()));
        }
    }
    table.insert("run".into(), run(file));
    let root = &file.document.root;
    let entries = root.get("subsystems").map_or(&[][..], |node| node.entries());
    table.insert(
        "subsystems".into(),
        Value::Table(entries.iter().map(|e| (e.name.clone(), complete(e))).collect()),
    );
    let connections = file.links.iter().filter_map(|link| Value::try_from(&link.connection).ok());
    insert_list(&mut table, "connections", connections.collect());
    insert_list(&mut table, "inputs", inputs(file));
    if let Some(at) = root.get("at") {
        table.insert("at".into(), at.plain());
    }
    table
}

/// The same without what the file leaves open: read again, a schedule and a coupling that are not written are still free.
pub(super) fn open_table(file: &SystemSpec) -> Table {
    let mut table = table(file);
    let is_written = |key: &str| file.document.root.get("run").is_some_and(|run| run.get(key).is_some());
    if let Some(Value::Table(run)) = table.get_mut("run") {
        if !is_written("schedule") && !file.is_settled {
            run.remove("schedule");
        }
        if !is_written("coupling") && file.is_open() {
            run.remove("coupling");
        }
    }
    table
}

fn insert_list(table: &mut Table, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        table.insert(key.into(), Value::Array(list));
    }
}

/// Timed changes have a section of their own.
fn run(file: &SystemSpec) -> Value {
    let mut run = Value::try_from(&file.run).unwrap_or(Value::Table(Table::new()));
    if let Some(table) = run.as_table_mut() {
        table.remove("at");
        if let Some(step) = auto::written(file.steps) {
            table.insert("step".into(), step);
        }
        let node = file.document.root.get("run");
        for key in isolation::KEYS.into_iter().chain([confirm::KEY]) {
            if let Some(value) = node.and_then(|node| node.get(key)) {
                table.insert(key.into(), value.plain());
            }
        }
    }
    run
}

/// The subsystem with its solver and all its parameters.
fn complete(entry: &Entry) -> Value {
    let mut value = entry.node.plain();
    if let (Some(table), Ok((ode, solver))) = (value.as_table_mut(), subsystem::parts(entry)) {
        if let Ok(solver) = Value::try_from(solver) {
            table.insert("solver".into(), solver);
        }
        let parameters = parameters(ode.as_ref());
        // Those of equations may be formulas and have units; their defaults stand in the text.
        if !equations::is_of(&entry.node) && !parameters.is_empty() {
            table.insert("parameters".into(), Value::Table(parameters));
        }
    }
    value
}

fn parameters(ode: &dyn Ode) -> Table {
    let names = ode.ports().parameters.iter().enumerate();
    names.map(|(index, variable)| (variable.name.clone(), Value::Float(ode.parameter(index)))).collect()
}

fn inputs(file: &SystemSpec) -> Vec<Value> {
    let one = |input: &super::wiring::Input| {
        let signals = input.signals.iter().filter_map(|signal| Value::try_from(signal).ok()).collect();
        let mut table = Table::new();
        table.insert("to".into(), Value::String(input.to.clone()));
        table.insert("signal".into(), Value::Array(signals));
        let Scaling { unit, gain, offset, .. } = &input.scaling;
        if let Some(unit) = unit {
            table.insert("unit".into(), Value::String(unit.clone()));
        }
        for (key, value, default) in [("gain", *gain, 1.0), ("offset", *offset, 0.0)] {
            if value != default {
                table.insert(key.into(), Value::Float(value));
            }
        }
        Value::Table(table)
    };
    file.inputs.iter().map(one).collect()
}

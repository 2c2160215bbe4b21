//! Settings that replace those of the file: `--set left.m=12`, `--step 1e-3`.

use koppel::system::VariableKind;

use super::document::Document;
use super::mistake::Mark;
use super::subsystem;
use super::tree::{self, Entry, Node, Value};
use crate::Result;

/// Puts `value` where `name` says.
pub(super) fn apply(document: &mut Document, name: &str, value: &str, origin: &str) -> Result<()> {
    let written = format!("{name} = {value}");
    let offset = document.add(origin, &written);
    let whole = offset..offset + name.len();
    let node = read_value(value, offset + name.len() + 3).map_err(|mark| document.mistake(mark))?;
    let path = path(document, name).map_err(|mark| {
        let mark = Mark { span: whole, ..mark };
        document.mistake(mark)
    })?;
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    document.root.put(&keys, node);
    Ok(())
}

/// TOML, or a word that needs no quotes on a command line.
fn read_value(text: &str, offset: usize) -> std::result::Result<Node, Mark> {
    const PREFIX: &str = "value = ";
    let moved = offset as isize - PREFIX.len() as isize;
    match tree::parse(&format!("{PREFIX}{text}")) {
        Ok(root) => {
            let mut node = root.get("value").cloned().unwrap_or(root);
            node.shift(moved);
            Ok(node)
        }
        Err(_) if is_word(text) => {
            Ok(Node { span: offset..offset + text.len(), value: Value::Text(text.to_owned()) })
        }
        Err(mark) => {
            let at = |position: usize| position.saturating_add_signed(moved).max(offset);
            Err(Mark { span: at(mark.span.start)..at(mark.span.end), ..mark })
        }
    }
}

/// Names, patterns and conditions, but no numbers, lists or tables gone wrong.
fn is_word(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    (first.is_alphabetic() || "*?_".contains(first)) && !is_number_like(text)
}

fn is_number_like(text: &str) -> bool {
    matches!(text, "inf" | "nan")
}

/// Keys of the tree that a setting stands for.
fn path(document: &Document, name: &str) -> std::result::Result<Vec<String>, Mark> {
    let keys = |keys: &[&str]| keys.iter().map(ToString::to_string).collect();
    if let Some(key) = name.strip_prefix("run.") {
        let every = key.strip_prefix("every.").map(|slow| keys(&["run", "every", slow]));
        return Ok(every.unwrap_or_else(|| keys(&["run", key])));
    }
    let entries = document.root.get("subsystems").map_or(&[][..], Node::entries);
    let found = entries
        .iter()
        .filter_map(|entry| Some((entry, name.strip_prefix(&entry.name)?.strip_prefix('.')?)))
        .max_by_key(|(entry, _)| entry.name.len());
    let Some((entry, rest)) = found else {
        let known: Vec<String> =
            std::iter::once("run").chain(entries.iter().map(|e| e.name.as_str())).map(String::from).collect();
        let first = name.split('.').next().unwrap_or(name);
        let mark = Mark::unknown(0..0, "subsystem", first, &known);
        let hint = mark.hint.clone().unwrap_or_default();
        return Err(mark.hint(format!("{hint}; write `subsystem.variable`, or `run.key`")));
    };
    if subsystem::is_key(entry, rest) {
        return Ok(keys(&["subsystems", &entry.name, rest]));
    }
    variable_path(entry, rest)
}

/// A parameter is given to the model; states and inputs get start values.
fn variable_path(entry: &Entry, name: &str) -> std::result::Result<Vec<String>, Mark> {
    let (ode, _) = subsystem::parts(entry)?;
    let ports = ode.ports();
    let kinds = [
        (VariableKind::Parameter, "parameters"),
        (VariableKind::Local, "start"),
        (VariableKind::Input, "start"),
    ];
    let found = kinds.iter().find(|(kind, _)| ports.find(*kind, name).is_some());
    if let Some((_, table)) = found {
        return Ok(["subsystems", &entry.name, table, name].map(String::from).to_vec());
    }
    let known: Vec<String> = kinds
        .iter()
        .flat_map(|(kind, _)| ports.of(*kind))
        .map(|variable| format!("{}.{}", entry.name, variable.name))
        .collect();
    Err(Mark::unknown(0..0, "setting", &format!("{}.{name}", entry.name), &known))
}

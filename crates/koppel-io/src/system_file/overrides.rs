//! Settings that replace those of the file: `--set left.m=12`, `--step 1e-3`.

use koppel::system::VariableKind;

use super::Setting;
use super::document::Document;
use super::mistake::{Mark, Marks};
use super::subsystem;
use super::tree::{self, Entry, Node, Value};
use crate::Result;

type Marked<T> = std::result::Result<T, Marks>;

/// Puts all values where their names say, and gives the mistakes among them, to be reported with those of the file.
///
/// # Errors
///
/// If a value cannot be read that the file does not give: what the file lacks then is not its own mistake.
pub(super) fn apply_all(document: &mut Document, settings: &[Setting]) -> Result<Marks> {
    let (mut marks, mut leaves_gap) = (Marks::default(), false);
    for Setting { name, value, origin } in settings {
        if marks.note(apply(document, name, value, origin)).is_none() {
            leaves_gap |= path(document, name).is_ok_and(|keys| !is_given(document, &keys));
        }
    }
    if leaves_gap { Err(document.mistake(marks)) } else { Ok(marks) }
}

fn is_given(document: &Document, keys: &[String]) -> bool {
    keys.iter().try_fold(&document.root, |node, key| node.get(key)).is_some()
}

/// Puts `value` where `name` says.
pub(super) fn apply(document: &mut Document, name: &str, value: &str, origin: &str) -> Marked<()> {
    match path(document, name) {
        Ok(path) => put(document, name, &path, value, origin),
        Err(marks) => Err(at_option(document, name, &format!("{name} = {value}"), origin, marks)),
    }
}

/// Keys of the tree that `name` stands for.
pub(super) fn find(document: &Document, name: &str, origin: &str) -> Result<Vec<String>> {
    path(document, name).map_err(|marks| {
        let mut document = document.clone();
        let marks = at_option(&mut document, name, name, origin, marks);
        document.mistake(marks)
    })
}

/// Mistakes in the name of a setting, shown in what was written.
fn at_option(document: &mut Document, name: &str, written: &str, origin: &str, marks: Marks) -> Marks {
    let offset = document.add(origin, written);
    marks.into_iter().map(|mark| Mark { span: offset..offset + name.len(), ..mark }).collect()
}

/// Puts `value` at keys that were found before.
pub(super) fn put(
    document: &mut Document,
    name: &str,
    path: &[String],
    value: &str,
    origin: &str,
) -> Marked<()> {
    let written = format!("{name} = {value}");
    let offset = document.add(origin, &written);
    let whole = offset..offset + name.len();
    let node = read_value(value, offset + name.len() + 3)?;
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let last = keys.last().map_or(0, |key| key.len()).min(name.len());
    document.root.put(&keys, &(whole.end - last..whole.end), node);
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
fn path(document: &Document, name: &str) -> Marked<Vec<String>> {
    let name = name.strip_prefix("subsystems.").unwrap_or(name);
    if matches!(name, "title" | "description") {
        return Ok(vec![name.to_owned()]);
    }
    if let Some(key) = name.strip_prefix("run.") {
        // Names of subsystems may have dots.
        let is_by_name = key.starts_with("every.");
        return Ok(if is_by_name {
            joined(&["run"], key)
        } else {
            walked("run", document.root.get("run"), key)
        });
    }
    let entries = document.root.get("subsystems").map_or(&[][..], Node::entries);
    let found = entries
        .iter()
        .filter_map(|entry| Some((entry, name.strip_prefix(&entry.name)?.strip_prefix('.')?)))
        .max_by_key(|(entry, _)| entry.name.len());
    let Some((entry, rest)) = found else {
        return member(document, name).unwrap_or_else(|| Err(unknown(name, entries).into()));
    };
    let first = rest.split('.').next().unwrap_or(rest);
    if subsystem::keys(entry).contains(&first) {
        return Ok(joined(&["subsystems", &entry.name], rest));
    }
    variable_path(entry, rest)
}

/// The keys before, the first of `rest`, and all that comes after its dot as one: names of variables may have dots.
fn joined(before: &[&str], rest: &str) -> Vec<String> {
    let rest = rest.splitn(2, '.');
    before.iter().copied().chain(rest).map(String::from).collect()
}

/// Keys that are there are taken as they are, names with dots too; where nothing is there yet, a dot ends a key.
fn walked(first: &str, node: Option<&Node>, rest: &str) -> Vec<String> {
    let mut keys = vec![first.to_owned()];
    let (mut node, mut rest) = (node, rest);
    while !rest.is_empty() {
        let after = |name: &str| match rest.strip_prefix(name)? {
            "" => Some(""),
            more => more.strip_prefix('.'),
        };
        let entries = node.map_or(&[][..], Node::entries).iter();
        let known = entries.filter(|entry| after(&entry.name).is_some()).max_by_key(|entry| entry.name.len());
        let key = known.map_or_else(|| rest.split('.').next().unwrap_or(rest), |entry| entry.name.as_str());
        keys.push(key.to_owned());
        node = match (known, node) {
            (Some(entry), _) => Some(&entry.node),
            (None, Some(list)) => key.parse::<usize>().ok().and_then(|index| list.items().get(index)),
            (None, None) => None,
        };
        rest = after(key).unwrap_or("");
    }
    keys
}

/// `connections.left.F.gain`, `inputs.left.F.signal.amplitude`: a connection or an input from outside by where it ends.
fn member(document: &Document, name: &str) -> Option<Marked<Vec<String>>> {
    let (section, rest) =
        name.split_once('.').filter(|(first, _)| ["connections", "inputs"].contains(first))?;
    let list = document.root.get(section).map_or(&[][..], Node::items);
    let end = |node: &Node| node.get("to").and_then(|to| to.text("to").ok()).map(ToOwned::to_owned);
    let ends: Vec<Option<String>> = list.iter().map(end).collect();
    let key_of = |end: &Option<String>| rest.strip_prefix(end.as_deref()?)?.strip_prefix('.');
    let found = ends.iter().enumerate().filter_map(|(index, end)| Some((index, key_of(end)?)));
    Some(match found.min_by_key(|(_, key)| key.len()) {
        Some((index, key)) => {
            let mut keys = vec![section.to_owned()];
            keys.extend(walked(&index.to_string(), Some(&list[index]), key));
            Ok(keys)
        }
        None => {
            let known: Vec<String> =
                ends.into_iter().flatten().map(|end| format!("{section}.{end}")).collect();
            let more = format!("; write the input it ends at and a key, such as `{section}.left.F.KEY`");
            Err(Mark::unknown(0..0, "setting", name, &known).and(&more).into())
        }
    })
}

/// Why there is no such setting.
fn unknown(name: &str, entries: &[Entry]) -> Mark {
    if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
        return Mark::new(0..0, format!("`{name}` is a subsystem; say which of its settings"))
            .hint(format!("known: `{}`", settings(entry).join("`, `")));
    }
    if name == "run" {
        return Mark::new(0..0, "`run` is a section; say which of its settings").hint("such as `run.step`");
    }
    let subsystems = entries.iter().map(|entry| entry.name.as_str());
    let known: Vec<String> =
        ["title", "description", "run"].into_iter().chain(subsystems).map(String::from).collect();
    let first = name.split('.').next().unwrap_or(name);
    Mark::unknown(0..0, "setting or subsystem", first, &known)
        .and("; write `subsystem.variable`, `subsystem.key` or `run.key`")
}

/// Variables that can be set, with the table they stand in.
const KINDS: [(VariableKind, &str); 3] =
    [(VariableKind::Parameter, "parameters"), (VariableKind::Local, "start"), (VariableKind::Input, "start")];

/// A parameter is given to the model; states and inputs get start values.
fn variable_path(entry: &Entry, name: &str) -> Marked<Vec<String>> {
    if subsystem::is_fmu(entry) {
        return Ok(["subsystems", &entry.name, "parameters", name].map(String::from).to_vec());
    }
    let (ode, _) = subsystem::parts(entry)?;
    match KINDS.iter().find(|(kind, _)| ode.ports().find(*kind, name).is_some()) {
        Some((_, table)) => Ok(["subsystems", &entry.name, table, name].map(String::from).to_vec()),
        None => {
            let name = format!("{}.{name}", entry.name);
            Err(Mark::unknown(0..0, "setting", &name, &settings(entry)).into())
        }
    }
}

/// Everything of a subsystem that can be set, variables first.
fn settings(entry: &Entry) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if let Ok((ode, _)) = subsystem::parts(entry) {
        let variables = KINDS.iter().flat_map(|(kind, _)| ode.ports().of(*kind));
        names.extend(variables.map(|variable| variable.name.clone()));
    }
    names.extend(subsystem::keys(entry).iter().map(ToString::to_string));
    names.iter().map(|name| format!("{}.{name}", entry.name)).collect()
}

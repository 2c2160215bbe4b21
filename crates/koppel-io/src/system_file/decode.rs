//! Settings that are serde data (couplings, solvers, signals), read from a node.
//!
//! serde knows the names of fields and variants, the tree knows the places: the error's text is taken apart to join both,
//! so that a new setting of the library needs no code here.

use serde::de::DeserializeOwned;

use super::mistake::{Mark, Span, known_names};
use super::tree::{Node, Value};

type Result<T> = std::result::Result<T, Mark>;

/// Keys whose value names the thing itself.
const TAGS: [&str; 2] = ["method", "kind"];

/// Reads `node`; `what` names it in messages.
pub(super) fn decode<T: DeserializeOwned>(node: &Node, what: &str) -> Result<T> {
    read::<T>(node).map_err(|message| match choice::<T>(&message, node) {
        Some(mark) => mark,
        None => explain(&message, node, what),
    })
}

fn read<T: DeserializeOwned>(node: &Node) -> std::result::Result<T, String> {
    node.plain().try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Something else where one of several names is wanted: serde tells neither the place nor the names, but it does for a
/// name that it does not know, so that one is tried at every place.
fn choice<T: DeserializeOwned>(message: &str, node: &Node) -> Option<Mark> {
    const NOBODY: &str = "?";
    let is_type = message.starts_with("invalid type") || message.starts_with("wanted");
    if !is_type || !["variant", "string", "identifier"].iter().any(|word| message.contains(word)) {
        return None;
    }
    replaced(node, NOBODY).into_iter().find_map(|(key, old, tried)| {
        let message = read::<T>(&tried).err()?;
        let names = quoted(&message);
        let known = names.split_first().filter(|(name, _)| *name == NOBODY)?.1;
        let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
        message.starts_with("unknown variant").then(|| old.wanted(&key, &known.join(" or ")))
    })
}

/// The node with each value that is no text replaced in turn, with key and old value; lists are left as they are.
fn replaced(node: &Node, text: &str) -> Vec<(String, Node, Node)> {
    let mut all = Vec::new();
    for (index, entry) in node.entries().iter().enumerate() {
        let mut put = |key: &str, old: &Node, new: Node| {
            let mut whole = node.clone();
            if let Value::Table(entries) = &mut whole.value {
                entries[index].node = new;
            }
            all.push((key.to_owned(), old.clone(), whole));
        };
        if let Value::Text(_) = entry.node.value {
            continue;
        }
        let name = Node { span: entry.node.span.clone(), value: Value::Text(text.to_owned()) };
        put(&entry.name, &entry.node, name);
        replaced(&entry.node, text).iter().for_each(|(key, old, new)| put(key, old, new.clone()));
    }
    all
}

/// Reads a table with a `tag`, or a bare name that stands for `{ tag = name }`.
///
/// # Errors
///
/// If a name or a value does not fit.
pub fn decode_tagged<T: DeserializeOwned>(node: &Node, what: &str, tag: &str) -> Result<T> {
    let Value::Text(name) = &node.value else {
        node.table(what).map_err(|_| node.wanted(what, &format!("a name or a table with `{tag}`")))?;
        return decode(node, what);
    };
    let mut table = toml::Table::new();
    table.insert(tag.into(), toml::Value::String(name.clone()));
    let read = toml::Value::Table(table).try_into();
    read.map_err(|error: toml::de::Error| {
        let mark = explain(error.message(), node, what);
        match missing_field(error.message()) {
            Some(field) => Mark::new(node.span.clone(), format!("{what} `{name}` needs `{field}`"))
                .hint(format!("write {what} = {{ {tag} = \"{name}\", {field} = ... }}")),
            None => mark,
        }
    })
}

fn missing_field(message: &str) -> Option<String> {
    message.starts_with("missing field").then(|| quoted(message).into_iter().next())?
}

/// serde's message with its place.
fn explain(message: &str, node: &Node, what: &str) -> Mark {
    let names = quoted(message);
    let (name, known) = names.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if message.starts_with("unknown field") {
        let span = key_named(node, name).unwrap_or(node.span.clone());
        return Mark::new(span, format!("unknown key `{name}` in {what}")).hint(known_names(name, known));
    }
    if message.starts_with("unknown variant") {
        let is_it = |node: &Node| matches!(&node.value, Value::Text(text) if text == name);
        let (key, span) = found(node, &is_it).unwrap_or((None, node.span.clone()));
        let message = match key {
            Some(key) if !TAGS.contains(&key) => format!("unknown value `{name}` of `{key}`"),
            _ => format!("unknown {what} `{name}`"),
        };
        return Mark::new(span, message).hint(known_names(name, known));
    }
    if message.starts_with("missing field") {
        return Mark::new(node.span.clone(), format!("{what} needs `{name}`"));
    }
    let (key, span) = found(node, &|node| is_unexpected(node, message)).unwrap_or((None, node.span.clone()));
    let place = key.map_or(what.to_owned(), |key| format!("`{key}`"));
    let is_date = found(node, &|node| node.span == span && matches!(node.value, Value::Date(_))).is_some();
    match message.split_once(", expected ") {
        Some((_, wanted)) if is_date => {
            Mark::new(span, format!("{place}: found a date, expected {}", in_words(wanted)))
        }
        _ => Mark::new(span, format!("{place}: {}", in_words(message))),
    }
}

/// The words between backticks.
fn quoted(message: &str) -> Vec<String> {
    message.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// serde speaks of types of Rust; users of numbers and lists.
fn in_words(message: &str) -> String {
    let words = [
        ("invalid type: ", "found "),
        ("invalid value: ", "found "),
        ("floating point ", "the number "),
        ("integer ", "the number "),
        ("a sequence", "a list"),
        ("sequence", "a list"),
        ("a map", "a table"),
        ("map", "a table"),
        ("a string", "text in quotes"),
        ("string ", "the text "),
        ("boolean ", ""),
        ("f64", "a number"),
        ("usize", "a whole number"),
        ("u64", "a whole number above zero"),
        ("u32", "a whole number from 1 to 4294967295"),
    ];
    words.iter().fold(message.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}

fn key_named(node: &Node, name: &str) -> Option<Span> {
    node.entries()
        .iter()
        .find_map(|e| if e.name == name { Some(e.key.clone()) } else { key_named(&e.node, name) })
}

/// The first node that is meant, innermost first, with the key it stands under.
fn found<'a>(node: &'a Node, is_it: &dyn Fn(&Node) -> bool) -> Option<(Option<&'a str>, Span)> {
    let inside = match &node.value {
        Value::List(list) => list.iter().find_map(|child| found(child, is_it)),
        Value::Table(entries) => entries.iter().find_map(|entry| {
            found(&entry.node, is_it).map(|(key, span)| (key.or(Some(entry.name.as_str())), span))
        }),
        _ => None,
    };
    inside.or_else(|| is_it(node).then(|| (None, node.span.clone())))
}

/// True for the value serde did not expect, recognised by how serde prints it.
fn is_unexpected(node: &Node, message: &str) -> bool {
    let Some((_, rest)) = message.split_once(": ") else { return false };
    let Some((printed, _)) = rest.split_once(", expected") else { return false };
    match &node.value {
        Value::Text(text) => printed == format!("string {text:?}"),
        Value::Integer(number) => printed == format!("integer `{number}`"),
        Value::Float(_) => {
            printed.starts_with("floating point") && printed.contains(&node.plain().to_string())
        }
        Value::Bool(value) => printed == format!("boolean `{value}`"),
        Value::List(_) => printed == "sequence",
        Value::Table(_) => printed == "map",
        Value::Date(text) => printed == format!("string {text:?}"),
    }
}

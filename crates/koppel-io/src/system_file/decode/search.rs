//! The place of what is refused inside a table that serde has taken in whole.
//!
//! serde reads entries and members in order and stops at the first that it refuses. So the culprit is the last of the shortest
//! beginning that is refused for the same reason; inside it the search goes on.

use serde::de::DeserializeOwned;

use super::TAGS;
use super::fault::Refusal;
use super::reader::{Refused, read};
use crate::system_file::tree::{Entry, Node, Value};

/// The same refusal at the innermost node that causes it.
pub(super) fn culprit<'a, T: DeserializeOwned>(root: &'a Node, refused: Refused<'a>) -> Refused<'a> {
    let mut refused = refused;
    if let Refusal::MissingKey(name) = &refused.refusal {
        if let Some((node, key)) = lacking::<T>(root, (refused.node, refused.key), name) {
            (refused.node, refused.key) = (node, key);
        }
        return refused;
    }
    while refused.at_key.is_none()
        && let Some(length) = shortest::<T>(root, &refused)
    {
        let (entry, node) = match &refused.node.value {
            Value::List(list) => (None, &list[length - 1]),
            Value::Table(entries) => match counted(entries).nth(length - 1) {
                Some(entry) => (Some(entry), &entry.node),
                None => return refused,
            },
            _ => return refused,
        };
        match (&refused.refusal, entry) {
            (Refusal::UnknownKey { name, .. }, Some(entry)) if *name == entry.name => {
                refused.at_key = Some(&entry.key);
            }
            // Words are about values that do not go together, not about the last of them.
            (Refusal::Words(_), _) if !matches!(node.value, Value::List(_) | Value::Table(_)) => {
                return refused;
            }
            _ => {
                refused.key = entry.map_or(refused.key, |entry| Some(&entry.name));
                refused.node = node;
            }
        }
    }
    match tag::<T>(root, &refused) {
        Some(tag) => Refused { key: Some(&tag.name), node: &tag.node, ..refused },
        None => refused,
    }
}

/// The entry that tells the kind of the table, if it is to blame.
fn tag<'a, T: DeserializeOwned>(root: &Node, refused: &Refused<'a>) -> Option<&'a Entry> {
    let is_value = matches!(refused.refusal, Refusal::UnknownName { .. } | Refusal::Wrong { .. });
    let entries = refused.node.entries();
    let tag = entries.iter().find(|entry| TAGS.contains(&entry.name.as_str())).filter(|_| is_value)?;
    let tried = with(root, refused.node, &Value::Table(counted(entries).cloned().collect()));
    let is_same = read::<T>(&tried).is_err_and(|other| other.refusal == refused.refusal);
    (!is_same).then_some(tag)
}

/// A table and the key it stands under.
type Keyed<'a> = (&'a Node, Option<&'a str>);

/// The outermost table that does not lack the key any more once it is put there.
fn lacking<'a, T: DeserializeOwned>(root: &Node, (node, key): Keyed<'a>, name: &str) -> Option<Keyed<'a>> {
    if let Value::Table(entries) = &node.value {
        let value = Node { span: node.span.clone(), value: Value::Bool(true) };
        let added = Entry { name: name.to_owned(), key: node.span.clone(), node: value };
        let tried = with(root, node, &Value::Table([&entries[..], &[added]].concat()));
        let is_it = match read::<T>(&tried).map_err(|other| other.refusal) {
            Err(Refusal::MissingKey(other)) => other != name,
            Err(Refusal::UnknownKey { name: other, .. }) => other != name,
            _ => true,
        };
        if is_it {
            return Some((node, key));
        }
    }
    let inside = node.entries().iter().map(|entry| (&entry.node, Some(entry.name.as_str())));
    let mut children = inside.chain(node.items().iter().map(|item| (item, key)));
    children.find_map(|child| lacking::<T>(root, child, name))
}

/// Entries but for those that tell the kind of the table.
fn counted(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| !TAGS.contains(&entry.name.as_str()))
}

/// Names that can stand in the place of a node: serde tells them for one that nobody has.
pub(super) fn names<T: DeserializeOwned>(root: &Node, node: &Node) -> Vec<&'static str> {
    const NOBODY: &str = "?";
    let tried = with(root, node, &Value::Text(NOBODY.to_owned()));
    match read::<T>(&tried).err().map(|refused| refused.refusal) {
        Some(Refusal::UnknownName { name, known }) if name == NOBODY => known,
        _ => Vec::new(),
    }
}

/// How many entries or members of the node it takes to be refused in this way; nothing if it takes none.
fn shortest<T: DeserializeOwned>(root: &Node, refused: &Refused<'_>) -> Option<usize> {
    let count = match &refused.node.value {
        Value::List(list) => list.len(),
        Value::Table(entries) => counted(entries).count(),
        _ => return None,
    };
    let is_refused = |length: usize| {
        let tried = with(root, refused.node, &beginning(refused.node, length));
        read::<T>(&tried).is_err_and(|other| other.refusal == refused.refusal)
    };
    if is_refused(0) || !is_refused(count) {
        return None;
    }
    let (mut accepted, mut enough) = (0, count);
    while enough - accepted > 1 {
        let middle = usize::midpoint(accepted, enough);
        if is_refused(middle) { enough = middle } else { accepted = middle }
    }
    Some(enough)
}

/// The first members, or the first entries and those that tell the kind of the table.
fn beginning(node: &Node, length: usize) -> Value {
    match &node.value {
        Value::List(list) => Value::List(list[..length].to_vec()),
        Value::Table(entries) => {
            let mut left = length;
            let is_kept = |name: &str, left: &mut usize| {
                let is_tag = TAGS.contains(&name);
                let is_first = !is_tag && *left > 0;
                *left -= usize::from(is_first);
                is_tag || is_first
            };
            Value::Table(entries.iter().filter(|entry| is_kept(&entry.name, &mut left)).cloned().collect())
        }
        other => other.clone(),
    }
}

/// The tree with another value in the place of a node.
fn with(root: &Node, node: &Node, value: &Value) -> Node {
    if std::ptr::eq(root, node) {
        return Node { span: root.span.clone(), value: value.clone() };
    }
    let mut copy = root.clone();
    match (&root.value, &mut copy.value) {
        (Value::List(list), Value::List(copies)) => {
            list.iter().zip(copies).for_each(|(one, copy)| *copy = with(one, node, value));
        }
        (Value::Table(entries), Value::Table(copies)) => {
            entries.iter().zip(copies).for_each(|(one, copy)| copy.node = with(&one.node, node, value));
        }
        _ => {}
    }
    copy
}

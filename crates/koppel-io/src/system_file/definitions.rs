//! `[models.NAME]`: models written once for several subsystems; and koppel's blocks, which are such models, too.
//!
//! A subsystem with `model = "NAME"` becomes one with `model = "equations"`: it takes everything from the model, and what it says itself
//! wins. Tables such as `parameters` are merged name by name. A model may stand on another one.

use koppel::models::{self, Block};

use super::document::Document;
use super::equations::{self, EQUATIONS};
use super::mistake::{Mark, Marks, Span};
use super::tree::{Entry, Node, Value};

type Marked<T> = std::result::Result<T, Marks>;

/// Keys that are merged name by name.
const MERGED: [&str; 6] = ["parameters", "start", "units", "tables", "inputs", "outputs"];

/// Puts models into the subsystems of a tree, and takes them out of it.
pub(super) fn resolve(document: &mut Document, root: &mut Node) -> Marked<()> {
    let mut marks = Marks::default();
    let known = take(root, "models");
    let mut known = match known {
        Some(entry) => entry
            .node
            .table("models")
            .map(<[Entry]>::to_vec)
            .map_err(|mark| mark.hint("write [models.NAME], once for each"))?,
        None => Vec::new(),
    };
    for entry in &mut known {
        marks.note(check_name(entry));
        marks.note(equations::expand(document, &mut entry.node));
    }
    let mut blocks = Blocks::default();
    for entry in entries_mut(root, "subsystems").into_iter().flatten() {
        marks.note(equations::expand(document, &mut entry.node));
        marks.note(put(document, &mut entry.node, &known, &mut blocks, &mut Vec::new()));
    }
    marks.or(())
}

/// A model must not hide one of koppel's.
fn check_name(entry: &Entry) -> Marked<()> {
    let name = &entry.name;
    super::subsystem::check_name(name, &entry.key, "a model")?;
    if models::names().contains(name) || ["linear", EQUATIONS].contains(&name.as_str()) {
        let what = format!("`{name}` is a model of koppel");
        return Err(Mark::new(entry.key.clone(), what).hint("choose another name").into());
    }
    Ok(())
}

/// Puts the model that a node names below what it says itself.
fn put(
    document: &mut Document,
    node: &mut Node,
    known: &[Entry],
    blocks: &mut Blocks,
    path: &mut Vec<String>,
) -> Marked<()> {
    let Some(model) = node.get("model").cloned() else { return Ok(()) };
    let Ok(name) = model.text("model") else { return Ok(()) };
    let mut base = match (known.iter().find(|entry| entry.name == name), models::block(name)) {
        (Some(entry), _) => entry.node.clone(),
        (None, Some(block)) => blocks.node(document, block),
        (None, None) => return Ok(()),
    };
    if let Some(key) = ["equations", "every"].iter().find(|key| node.get(key).is_some()) {
        let span = node.get(key).map_or(model.span.clone(), |node| node.span.clone());
        let what = format!("model `{name}` has equations of its own: `{key}` beside it is one too many");
        return Err(Mark::new(span, what).hint("write model = \"equations\"").into());
    }
    if path.iter().any(|other| other == name) {
        path.push(name.to_owned());
        let what = format!("these models depend on each other: `{}`", path.join("` -> `"));
        return Err(Mark::new(model.span, what).into());
    }
    path.push(name.to_owned());
    if base.get("model").is_none() {
        let text = Value::Text(EQUATIONS.into());
        set(&mut base, "model", &model.span, Node { span: model.span.clone(), value: text });
    }
    put(document, &mut base, known, blocks, path)?;
    path.pop();
    let Value::Table(own) = &mut node.value else { return Ok(()) };
    own.retain(|entry| entry.name != "model");
    let own = std::mem::take(own);
    for entry in own {
        merge(&mut base, entry);
    }
    node.value = base.value;
    Ok(())
}

/// What stands in `entry` wins.
fn merge(base: &mut Node, entry: Entry) {
    let Value::Table(entries) = &mut base.value else { return };
    let Some(known) = entries.iter_mut().find(|known| known.name == entry.name) else {
        entries.push(entry);
        return;
    };
    match (&mut known.node.value, entry.node.value) {
        (Value::Table(_), Value::Table(own)) if MERGED.contains(&entry.name.as_str()) => {
            let Value::Table(inner) = &mut known.node.value else { return };
            for entry in own {
                match inner.iter_mut().find(|known| known.name == entry.name) {
                    Some(known) => *known = entry,
                    None => inner.push(entry),
                }
            }
        }
        (_, value) => {
            known.key = entry.key;
            known.node = Node { span: entry.node.span, value };
        }
    }
}

/// Blocks whose texts are part of the document already.
#[derive(Default)]
struct Blocks(Vec<(&'static str, usize)>);

impl Blocks {
    fn node(&mut self, document: &mut Document, block: &'static Block) -> Node {
        let start = match self.0.iter().find(|(name, _)| *name == block.name) {
            Some((_, start)) => *start,
            None => {
                let start = document.add(&format!("block `{}` of koppel", block.name), block.text);
                self.0.push((block.name, start));
                start
            }
        };
        let span = start..start + block.text.len();
        let node = |value: Value| Node { span: span.clone(), value };
        let entry =
            |name: &str, value: Value| Entry { name: name.into(), key: span.clone(), node: node(value) };
        let list =
            |numbers: &[f64]| Value::List(numbers.iter().map(|one| node(Value::Float(*one))).collect());
        let mut entries = vec![entry("equations", Value::Text(block.text.into()))];
        let tables: Vec<Entry> = block
            .tables()
            .iter()
            .map(|map| {
                let mut points = vec![entry("x", list(&map.x))];
                match &map.y {
                    None => points.push(entry("y", list(&map.values))),
                    Some(y) => {
                        points.push(entry("y", list(y)));
                        let rows = map.values.chunks(y.len()).map(|row| node(list(row))).collect();
                        points.push(entry("z", Value::List(rows)));
                    }
                }
                entry(&map.name, Value::Table(points))
            })
            .collect();
        if !tables.is_empty() {
            entries.push(entry("tables", Value::Table(tables)));
        }
        node(Value::Table(entries))
    }
}

/// The entries of a table inside a table.
pub(super) fn entries_mut<'a>(root: &'a mut Node, key: &str) -> Option<&'a mut Vec<Entry>> {
    let Value::Table(sections) = &mut root.value else { return None };
    match &mut sections.iter_mut().find(|section| section.name == key)?.node.value {
        Value::Table(entries) => Some(entries),
        _ => None,
    }
}

/// Takes an entry out of a table.
pub(super) fn take(root: &mut Node, key: &str) -> Option<Entry> {
    let Value::Table(entries) = &mut root.value else { return None };
    let at = entries.iter().position(|entry| entry.name == key)?;
    Some(entries.remove(at))
}

/// Puts an entry into a table, in place of one of that name.
pub(super) fn set(root: &mut Node, key: &str, at: &Span, node: Node) {
    let Value::Table(entries) = &mut root.value else { return };
    match entries.iter_mut().find(|entry| entry.name == key) {
        Some(entry) => entry.node = node,
        None => entries.push(Entry { name: key.into(), key: at.clone(), node }),
    }
}

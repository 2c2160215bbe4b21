//! From an error of the engine to the text that caused it.
//!
//! The engine names what is wrong; here the name is looked up in the part of the tree the engine was reading.

use koppel::Error as Engine;
use koppel::diagnostic::Diagnostic;
use koppel::solver::SolverError;
use koppel::unit::UnitError;

use super::document::Document;
use super::mistake::{Mark, Marks, Span};
use super::tree::{Node, Value};
use crate::Error;

/// An error about one subsystem.
pub(super) fn within(error: &Engine, node: &Node) -> Mark {
    let span = match error {
        Engine::MatrixShape { matrix, .. } => node.get(matrix).map(|found| found.span.clone()),
        _ => span_of(error, &[node], node, &|_| None),
    };
    mark(error, span.unwrap_or_else(|| node.span.clone()))
}

impl Document {
    /// An error about the system or the run, caused by something in these sections.
    pub(super) fn blame(&self, error: Engine, sections: &[&str]) -> Box<Error> {
        match self.marks(&error, sections) {
            Some(marks) => self.mistake(marks),
            None => Box::new(Error::Engine(Box::new(error))),
        }
    }

    /// The same as marks; nothing if part of it has no place.
    pub(super) fn marks(&self, error: &Engine, sections: &[&str]) -> Option<Marks> {
        if let Engine::Several { first, others } = error {
            let mut marks = self.marks(first, sections)?;
            for other in others {
                marks.join(self.marks(other, sections)?);
            }
            return Some(marks);
        }
        let nodes: Vec<&Node> = sections.iter().filter_map(|key| self.root.get(key)).collect();
        let inside = |name: &str| nodes.iter().find_map(|node| self.text_with(node, name));
        let span = span_of(error, &nodes, &self.root, &inside)?;
        Some(mark(error, self.narrow(error, span)).into())
    }

    /// A text that holds `name` somewhere, cut to the name.
    fn text_with(&self, node: &Node, name: &str) -> Option<Span> {
        match &node.value {
            Value::Text(text) if text.contains(name) => {
                let at = self.written(&node.span).find(name).map(|at| node.span.start + at);
                at.map(|at| at..at + name.len())
            }
            Value::List(list) => list.iter().find_map(|child| self.text_with(child, name)),
            Value::Table(entries) => entries.iter().find_map(|entry| self.text_with(&entry.node, name)),
            _ => None,
        }
    }

    /// Inside an expression the engine knows the very byte.
    fn narrow(&self, error: &Engine, span: Span) -> Span {
        let Engine::Expression { text, source } = error else { return span };
        let written = self.written(&span);
        let Some(begin) = written.find(text.as_str()) else { return span };
        let at = source.position().min(text.len());
        let rest = &text[at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = word.max(rest.chars().next().map_or(1, char::len_utf8));
        span.start + begin + at..span.start + begin + at + length
    }
}

/// What to do about units that do not go together.
const UNITS: &str = "connect another variable; if the numbers are meant as they are, write units = \"ignore\" below the connection";

/// The message without what the snippet or the hint shows anyway.
fn mark(error: &Engine, span: Span) -> Mark {
    let root = root_cause(error);
    let is_whole = std::ptr::eq(root, error);
    let mark = match root {
        Engine::Unknown { kind, name, known } => return Mark::unknown(span, kind, name, known),
        // The snippet shows text and position.
        Engine::Expression { source, .. } => Mark::new(span, source.problem()),
        Engine::Setting { what, value, problem } if what == CHANGE => {
            Mark::new(span, format!("`{value}` {problem}"))
        }
        Engine::Setting { what, value, problem } if is_whole => {
            Mark::with_number(span, &format!("{what}: `"), value, &format!("` {problem}"))
        }
        Engine::Parameter { model, name, value, problem } if is_whole => {
            let before = format!("parameter `{name}` of model `{model}`: `");
            Mark::with_number(span, &before, &value.to_string(), &format!("` {problem}"))
        }
        Engine::Solver(SolverError::Setting { field, value, wanted }) if is_whole => {
            let before = format!("solver: `{field}` is ");
            Mark::with_number(span, &before, &value.to_string(), &format!(", but must be {wanted}"))
        }
        _ => Mark::new(span, error.what()),
    };
    match (&error.hints()[..], root) {
        ([], Engine::ConnectionUnit { source: UnitError::Dimension { .. }, .. }) => mark.hint(UNITS),
        (hints, _) => Mark { hints: hints.to_vec(), ..mark },
    }
}

fn root_cause(error: &Engine) -> &Engine {
    match error {
        Engine::Subsystem { source, .. } => root_cause(source),
        other => other,
    }
}

type Inside<'a> = &'a dyn Fn(&str) -> Option<Span>;

fn span_of(error: &Engine, nodes: &[&Node], root: &Node, inside: Inside<'_>) -> Option<Span> {
    let first = |name: &str| matches(nodes, name).into_iter().next().or_else(|| inside(name));
    let key = |name: &str| nodes.iter().find_map(|node| value_of(node, name));
    match error {
        Engine::Unknown { kind: "input", name, .. } => end_of_wire(nodes, "to", name).or_else(|| first(name)),
        Engine::Unknown { kind: "output", name, .. } => {
            end_of_wire(nodes, "from", name).or_else(|| first(name))
        }
        // A start value is written without its subsystem.
        Engine::Unknown { name, .. } => first(name).or_else(|| first(name.split_once('.')?.1)),
        Engine::Setting { what, value, .. } if what == CHANGE => {
            let changes = root.get("at").map_or(Vec::new(), |node| matches(&[node], value));
            changes.into_iter().next().or_else(|| start_value(root, value))
        }
        Engine::Duplicate { name, .. } | Engine::ConnectedTwice { input: name, .. } => {
            matches(nodes, name).into_iter().nth(1)
        }
        Engine::Setting { what, value, .. } => {
            let last = what.rsplit('.').next().unwrap_or(what);
            at_path(root, what).or_else(|| first(value)).or_else(|| key(last))
        }
        Engine::NotFinite { place, .. } => at_path(root, place),
        Engine::ConnectionUnit { to, .. } | Engine::Connection { to, .. } => {
            end_of_wire(nodes, "to", to).or_else(|| first(to))
        }
        Engine::WrongPort { name, wanted: "an output", .. } => {
            end_of_wire(nodes, "from", name).or_else(|| first(name))
        }
        Engine::WrongPort { name, .. } => end_of_wire(nodes, "to", name).or_else(|| first(name)),
        Engine::Unit { place, .. } => first(place).or_else(|| first(place.split('`').nth(1)?)),
        Engine::External { input, .. } => first(input),
        Engine::Expression { text, .. } => first(text),
        Engine::Unsupported { what, .. } => first(what.name()?),
        Engine::Parameter { name, .. } => key(name),
        Engine::MatrixShape { subsystem, matrix, .. } => {
            let model = nodes.iter().find_map(|node| model_of(node, subsystem))?;
            Some(model.get(matrix).unwrap_or(model).span.clone())
        }
        Engine::Solver(SolverError::Setting { field, .. }) => key(field),
        Engine::Subsystem { source, .. } => span_of(source, nodes, root, inside),
        _ => None,
    }
}

/// What the engine calls a value to be set, also one at the start.
const CHANGE: &str = "at.set";

/// The name where a connection or an input from outside begins or ends.
fn end_of_wire(nodes: &[&Node], key: &str, name: &str) -> Option<Span> {
    let wires = nodes.iter().flat_map(|node| node.items());
    let ends: Vec<&Node> = wires.filter_map(|wire| wire.get(key)).collect();
    matches(&ends, name).into_iter().next()
}

/// The key of a start value, by its full name.
fn start_value(root: &Node, name: &str) -> Option<Span> {
    let subsystems = root.get("subsystems")?.entries().iter();
    let in_them = subsystems.filter_map(|entry| {
        let variable = name.strip_prefix(&entry.name)?.strip_prefix('.')?;
        entry.node.get("start")?.entries().iter().find(|start| start.name == variable)
    });
    in_them.map(|start| start.key.clone()).next()
}

fn at_path(root: &Node, path: &str) -> Option<Span> {
    let mut node = root;
    for key in path.split('.') {
        node = node.get(key)?;
    }
    (!path.is_empty()).then(|| node.span.clone())
}

/// Texts and keys equal to `name`, in order; else those that begin with `name.`, cut to the name.
fn matches(nodes: &[&Node], name: &str) -> Vec<Span> {
    let mut equal = Vec::new();
    let mut begins = Vec::new();
    let mut note = |text: &str, span: &Span, quote: usize| {
        if text == name {
            equal.push(span.clone());
        } else if text.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')) {
            begins.push(span.start + quote..span.start + quote + name.len());
        }
    };
    nodes.iter().for_each(|node| visit(node, &mut note));
    if equal.is_empty() { begins } else { equal }
}

fn visit(node: &Node, note: &mut impl FnMut(&str, &Span, usize)) {
    match &node.value {
        Value::Text(text) => note(text, &node.span, 1),
        Value::List(list) => list.iter().for_each(|child| visit(child, note)),
        Value::Table(entries) => {
            for entry in entries {
                let quoted = entry.key.len() > entry.name.len();
                note(&entry.name, &entry.key, usize::from(quoted));
                visit(&entry.node, note);
            }
        }
        _ => {}
    }
}

/// The given model of a subsystem, in whichever coupling.
fn model_of<'a>(node: &'a Node, subsystem: &str) -> Option<&'a Node> {
    let own = node.get("models").and_then(|models| models.get(subsystem));
    let children = node.entries().iter().map(|entry| &entry.node).chain(node.items());
    own.or_else(|| children.into_iter().find_map(|child| model_of(child, subsystem)))
}

/// The value of the first key called `name`, at any depth.
fn value_of(node: &Node, name: &str) -> Option<Span> {
    match &node.value {
        Value::List(list) => list.iter().find_map(|child| value_of(child, name)),
        Value::Table(entries) => entries.iter().find_map(|entry| {
            if entry.name == name { Some(entry.node.span.clone()) } else { value_of(&entry.node, name) }
        }),
        _ => None,
    }
}

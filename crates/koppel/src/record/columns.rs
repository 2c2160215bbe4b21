//! Which variables become columns.

use super::Channel;
use crate::error::{Error, Result};
use crate::system::{MessageKind, MessagePort, SubsystemId, SystemGraph, VariableId, VariableKind};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// `"all"` (every input and output), or one name or pattern.
    One(String),
    /// Names or patterns over any variable.
    Many(Vec<String>),
}

impl Record {
    /// Its names and patterns.
    pub fn patterns(&self) -> Vec<&str> {
        match self {
            Record::One(text) => vec![text],
            Record::Many(texts) => texts.iter().map(String::as_str).collect(),
        }
    }
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A variable of a subsystem.
    Variable {
        /// Whose variable it is.
        subsystem: SubsystemId,
        /// Which one.
        variable: VariableId,
    },
    /// A number of the coupling: the place in its list of channels.
    Coupling(usize),
    /// A number of an iterated loop: the place in the list of those.
    Loop(usize),
    /// The length of the last step.
    Step,
    /// Whether a clock that goes out ticks, 1 or 0.
    Tick {
        /// Whose clock it is.
        subsystem: SubsystemId,
        /// Its place among the message outputs.
        output: usize,
    },
}

/// One recorded text, or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageColumn {
    /// `subsystem.variable`.
    pub name: String,
    /// Text or bytes.
    pub kind: MessageKind,
    /// One line about it.
    pub description: String,
    /// Whose variable it is.
    pub subsystem: SubsystemId,
    /// Whose output it is; of an input, the one that is connected to it.
    pub from: SubsystemId,
    /// Its place among the message outputs.
    pub output: usize,
}

/// One recorded variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `subsystem.variable`, or `coupling.` and the name of a channel.
    pub name: String,
    /// Its unit, if it has one.
    pub unit: Option<String>,
    /// One line about it.
    pub description: String,
    /// Where its values come from.
    pub source: Source,
}

/// The columns of a run, grouped by subsystem.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    list: Vec<Column>,
    messages: Vec<MessageColumn>,
}

impl Columns {
    /// All inputs and outputs that are numbers for `"all"`, and the channels that are recorded unasked; else every variable and channel whose full
    /// name matches one of the patterns, in which `*` stands for any text and `?` for any character. A pattern that matches
    /// nothing is an error.
    pub fn select(
        record: &Record,
        graph: &SystemGraph,
        channels: &[Channel],
        others: Vec<Column>,
    ) -> Result<Self> {
        let patterns = record.patterns();
        let mut everything = every_variable(graph);
        everything.extend(channels.iter().enumerate().map(|(index, channel)| Column {
            name: format!("coupling.{}", channel.name),
            unit: None,
            description: channel.description.clone(),
            source: Source::Coupling(index),
        }));
        everything.extend(others);
        let (ticks, every_message) = every_message(graph);
        everything.extend(ticks);
        let is_unasked = |column: &Column| match column.source {
            Source::Variable { variable, .. } => {
                matches!(variable.kind, VariableKind::Input | VariableKind::Output)
            }
            Source::Coupling(index) => channels[index].is_recorded,
            Source::Loop(_) | Source::Step => true,
            Source::Tick { .. } => false,
        };
        let mut is_message_wanted = vec![false; every_message.len()];
        let mut is_wanted = vec![false; everything.len()];
        for pattern in patterns {
            let mut any = false;
            // The name of an array stands for its elements, unless something has that name.
            let mut every_name =
                everything.iter().map(|c| &c.name).chain(every_message.iter().map(|c| &c.name));
            let is_array = !every_name.any(|name| matches(pattern, name));
            let fits_name =
                |name: &str| if is_array { names_array(pattern, name) } else { matches(pattern, name) };
            for (column, wanted) in everything.iter().zip(&mut is_wanted) {
                let fits = if pattern == "all" { is_unasked(column) } else { fits_name(&column.name) };
                *wanted |= fits;
                any |= fits;
            }
            for (column, wanted) in every_message.iter().zip(&mut is_message_wanted) {
                let fits = pattern != "all" && fits_name(&column.name);
                *wanted |= fits;
                any |= fits;
            }
            if !any && let Some(port) = message_port(pattern, graph) {
                let problem = format!("is {} that nothing is connected to", port.kind.name());
                return Err(Error::Setting { what: "record".into(), value: pattern.into(), problem }.into());
            }
            if !any && pattern != "all" {
                let messages = every_message.iter().map(|c| c.name.clone());
                let known = everything.iter().map(|c| c.name.clone()).chain(messages).collect();
                return Err(Error::Unknown { kind: "variable to record", name: pattern.into(), known }.into());
            }
        }
        let list =
            everything.into_iter().zip(is_wanted).filter_map(|(c, wanted)| wanted.then_some(c)).collect();
        let messages = every_message.into_iter().zip(is_message_wanted);
        let messages = messages.filter_map(|(column, wanted)| wanted.then_some(column)).collect();
        Ok(Columns { list, messages })
    }

    /// The same columns in the order in which subsystems were defined, number k being the one defined as `order[k]`; those of the
    /// coupling and of loops stay last.
    pub(crate) fn in_order_of_definition(mut self, order: &[SubsystemId]) -> Self {
        crate::sort::sort_by_key(&mut self.list, |column| match column.source {
            Source::Variable { subsystem, .. } | Source::Tick { subsystem, .. } => order[subsystem],
            Source::Coupling(_) | Source::Loop(_) | Source::Step => order.len(),
        });
        crate::sort::sort_by_key(&mut self.messages, |column| order[column.subsystem]);
        self
    }

    /// Texts and bytes, which come after all numbers.
    pub fn messages(&self) -> &[MessageColumn] {
        &self.messages
    }

    /// The columns of numbers in order.
    pub fn list(&self) -> &[Column] {
        &self.list
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Writes the present values into `row`.
    pub(crate) fn fill(&self, row: &mut [f64], mut value: impl FnMut(Source) -> Result<f64>) -> Result<()> {
        for (column, out) in self.list.iter().zip(row) {
            *out = value(column.source)?;
        }
        Ok(())
    }
}

fn every_variable(graph: &SystemGraph) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for id in 0..graph.len() {
        let mut taken = HashSet::new();
        for (variable, v) in graph.ports(id).all() {
            // A local or parameter named like an output or input is the same thing or hidden by it.
            if !taken.insert(v.name.as_str()) {
                continue;
            }
            columns.push(Column {
                name: format!("{}.{}", graph.name(id), v.name),
                unit: v.unit.clone(),
                description: v.description.clone(),
                source: Source::Variable { subsystem: id, variable },
            });
        }
    }
    columns
}

/// All message outputs and all message inputs that are connected: clocks that go out as numbers, texts and bytes.
fn every_message(graph: &SystemGraph) -> (Vec<Column>, Vec<MessageColumn>) {
    let (mut ticks, mut messages) = (Vec::new(), Vec::new());
    let mut add = |owner: SubsystemId, port: &MessagePort, from: SubsystemId, output: usize| {
        let (name, description) = (format!("{}.{}", graph.name(owner), port.name), port.description.clone());
        match port.kind {
            MessageKind::Tick if owner == from => {
                let source = Source::Tick { subsystem: from, output };
                ticks.push(Column { name, unit: None, description, source });
            }
            MessageKind::Tick => {}
            kind => messages.push(MessageColumn { name, kind, description, subsystem: owner, from, output }),
        }
    };
    for id in 0..graph.len() {
        let outputs = graph.ports(id).message_outputs.iter().enumerate();
        outputs.for_each(|(output, port)| add(id, port, id, output));
        for wire in graph.message_wires().iter().filter(|wire| wire.to == id) {
            add(id, &graph.ports(id).message_inputs[wire.input], wire.from, wire.output);
        }
    }
    (ticks, messages)
}

/// The first text, bytes or clock that fits the pattern.
fn message_port<'a>(pattern: &str, graph: &'a SystemGraph) -> Option<&'a MessagePort> {
    (0..graph.len()).find_map(|id| {
        let ports = graph.ports(id);
        let fits = |port: &&MessagePort| matches(pattern, &format!("{}.{}", graph.name(id), port.name));
        ports.message_inputs.iter().chain(&ports.message_outputs).find(fits)
    })
}

/// Finds one variable of any kind by its full name.
pub(crate) fn find(name: &str, graph: &SystemGraph) -> Result<(SubsystemId, VariableId)> {
    let (id, variable) = graph.split_name(name, "variable")?;
    let found = graph.ports(id).find_any(variable).ok_or_else(|| Error::Unknown {
        kind: "variable",
        name: name.into(),
        known: graph.ports(id).all().map(|(_, v)| format!("{}.{}", graph.name(id), v.name)).collect(),
    })?;
    Ok((id, found))
}

/// True if a pattern fits the name of the array that something is an element of.
fn names_array(pattern: &str, name: &str) -> bool {
    let array = name.strip_suffix(']').and_then(|name| name.split_once('['));
    array.is_some_and(|(array, _)| matches(pattern, array))
}

/// Shell-like matching: `*` any text, `?` any character.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::{matches, names_array};

    #[test]
    fn the_name_of_an_array_is_that_of_its_elements() {
        assert!(names_array("left.y", "left.y[2]") && names_array("left.y", "left.y[2,3]"));
        assert!(!names_array("left.y", "left.yy[2]") && !names_array("left.x", "left.y[2]"));
    }

    #[test]
    fn patterns() {
        assert!(matches("left.*", "left.x"));
        assert!(matches("*.x", "left.x"));
        assert!(matches("l?ft.x*", "left.x[12]"));
        assert!(!matches("left.?", "left.xy"));
        assert!(!matches("right.*", "left.x"));
        assert!(matches("**", ""));
    }
}

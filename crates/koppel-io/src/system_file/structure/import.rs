//! Flat components and connections as the tree of a system file.

use std::path::Path;

use koppel_fmi::description::{Start, Variability};
use koppel_ssp::model::{Implementation, Value as Given};
use koppel_ssp::{
    Carries, Components, FlatComponent, FlatConnection, FlatParameter, Mapping, Origin, Port, Severity, Ssp,
};

use super::super::document::Document;
use super::super::mistake::{Mark, Span};
use super::super::tree::{Entry, Node, Value};
use crate::Result;

type Marked<T> = std::result::Result<T, Mark>;

/// The tree of a structure: title, subsystems, connections, start and stop.
pub(super) fn document(path: &Path, ssp: &Ssp, components: &Components) -> Result<Document> {
    let structure = ssp.structure();
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let main = ssp.documents().get(&structure.file).map_or("", String::as_str);
    let mut document = Document::empty(&structure.file, main, folder);
    for (place, text) in ssp.documents().iter().filter(|(place, _)| **place != structure.file) {
        document.add(place, text);
    }
    for finding in ssp.findings().iter().chain(&components.findings) {
        let kind = if finding.severity == Severity::Forgiven { "forgiven" } else { "warning" };
        document.notices.push((kind, finding.text()));
    }
    let at = document.span(&structure.file, structure.system.at.line, structure.system.at.column);
    let tree = Tree { document: &document, components };
    let root = tree.root(ssp, &at).map_err(|mark| document.mistake(mark))?;
    document.root = root;
    Ok(document)
}

struct Tree<'a> {
    document: &'a Document,
    components: &'a Components,
}

impl Tree<'_> {
    fn root(&self, ssp: &Ssp, at: &Span) -> Marked<Node> {
        let flat = &self.components.flat;
        let text = |name: &str, text: &str| entry(name, at, Value::Text(text.to_owned()));
        let mut entries = vec![text("title", &flat.name)];
        entries.extend(ssp.structure().system.description.iter().map(|words| text("description", words)));
        let times = [("start", flat.default_experiment.0), ("stop", flat.default_experiment.1)];
        let times = times.iter().filter_map(|(name, time)| Some(entry(name, at, Value::Float((*time)?))));
        entries.push(entry("run", at, Value::Table(times.collect())));
        let subsystems = flat.components.iter().enumerate().map(|(k, c)| self.subsystem(k, c));
        entries.push(entry("subsystems", at, Value::Table(subsystems.collect::<Marked<_>>()?)));
        let connections = flat.connections.iter().filter_map(|c| self.connection(c).transpose());
        entries.push(entry("connections", at, Value::List(connections.collect::<Marked<_>>()?)));
        Ok(Node { span: at.clone(), value: Value::Table(entries) })
    }

    fn span(&self, origin: &Origin) -> Span {
        self.document.span(&origin.file, origin.at.line, origin.at.column)
    }

    fn subsystem(&self, number: usize, component: &FlatComponent) -> Marked<Entry> {
        let at = self.span(&component.origin);
        let address = Value::Text(self.components.addresses[number].clone());
        let mut entries = vec![entry("fmu", &at, address)];
        let interface = match component.implementation {
            Implementation::CoSimulation => Some("co-simulation"),
            Implementation::ModelExchange => Some("model-exchange"),
            Implementation::Any | Implementation::ScheduledExecution => None,
        };
        entries.extend(interface.map(|name| entry("interface", &at, Value::Text(name.into()))));
        let mut parameters = Vec::new();
        for parameter in &component.parameters {
            let span = self.span(&parameter.origin);
            let value = self.value(number, parameter, &component.name, &span)?;
            parameters.push(entry(&parameter.variable, &span, value));
        }
        parameters.extend(self.constants(number)?);
        if !parameters.is_empty() {
            entries.push(entry("parameters", &at, Value::Table(parameters)));
        }
        Ok(entry(&component.name, &at, Value::Table(entries)))
    }

    /// A start value; that of an array is a list.
    fn value(&self, number: usize, parameter: &FlatParameter, component: &str, at: &Span) -> Marked<Value> {
        let name = format!("{component}.{}", parameter.variable);
        let bad = |problem: &str| Mark::new(at.clone(), format!("the value of `{name}` {problem}"));
        let mut values: Vec<Value> = match &parameter.value {
            Given::Float(list) => {
                if list.iter().any(|number| !number.is_finite()) {
                    return Err(bad("is not finite"));
                }
                list.iter().map(|number| Value::Float(*number)).collect()
            }
            Given::Integer(list) => {
                let whole = |number: &i128| i64::try_from(*number).map(Value::Integer);
                list.iter()
                    .map(whole)
                    .collect::<std::result::Result<_, _>>()
                    .map_err(|_| bad("is too large"))?
            }
            Given::Boolean(list) => list.iter().map(|value| Value::Bool(*value)).collect(),
            Given::String(list) => list.iter().map(|text| Value::Text(text.clone())).collect(),
            Given::Binary(list) => list.iter().map(|bytes| Value::Text(hexadecimal(bytes))).collect(),
            Given::Enumeration(_) => return Err(bad("is an item whose number is not known")),
        };
        let description = &self.components.descriptions[number];
        let is_array =
            description.find(&parameter.variable).is_some_and(|at| description.variables[at].is_array());
        if values.len() == 1 && !is_array {
            return Ok(values.remove(0));
        }
        Ok(Value::List(values.into_iter().map(|value| Node { span: at.clone(), value }).collect()))
    }

    /// Parameters that are connected to constants of other FMUs.
    fn constants(&self, number: usize) -> Marked<Vec<Entry>> {
        let flat = &self.components.flat;
        let is_it = |c: &&FlatConnection| c.carries == Carries::Parameter && c.to.component == Some(number);
        let mut entries = Vec::new();
        for connection in flat.connections.iter().filter(is_it) {
            let Some(source) = connection.from.component else { continue };
            let at = self.span(&connection.origin);
            let description = &self.components.descriptions[source];
            let variable = description.find(&connection.from.connector).map(|at| &description.variables[at]);
            let constant = variable.filter(|v| v.variability == Variability::Constant);
            let number = match constant.and_then(|v| v.start.as_ref()) {
                Some(Start::Reals(list)) => list.first().copied(),
                Some(Start::Integers(list)) => list.first().map(|value| *value as f64),
                _ => None,
            };
            let Some(number) = number.filter(|_| connection.mapping.is_none()) else {
                let (from, to) = (flat.port_name(&connection.from), flat.port_name(&connection.to));
                return Err(Mark::new(at, format!("`{from}` cannot give its value to the parameter `{to}`"))
                    .hint("of an FMU's parameters only constants are passed on to others"));
            };
            let value = Value::Float(connection.factor * number + connection.offset);
            entries.push(entry(&connection.to.connector, &at, value));
        }
        Ok(entries)
    }

    /// A connection between components; those with the top system's connectors have done their work.
    fn connection(&self, connection: &FlatConnection) -> Marked<Option<Node>> {
        let is_inside = connection.from.component.is_some() && connection.to.component.is_some();
        if !is_inside || connection.carries == Carries::Parameter {
            return Ok(None);
        }
        let at = self.span(&connection.origin);
        let end = |port: &Port| Value::Text(self.components.flat.port_name(port) + &index(&port.indices));
        let mut entries = vec![
            entry("from", &at, end(&connection.from)),
            entry("to", &at, end(&connection.to)),
            entry("units", &at, Value::Text("ignore".into())),
        ];
        let is_plain = (connection.factor, connection.offset) == (1.0, 0.0);
        if let Some(mapping) = &connection.mapping {
            if !is_plain {
                let message = "a mapping and a linear transformation follow each other on the way";
                return Err(Mark::new(at, message).hint("koppel carries one of them on a connection"));
            }
            entries.push(entry("map", &at, table(mapping, &at)));
        } else if !is_plain {
            entries.push(entry("gain", &at, Value::Float(connection.factor)));
            entries.push(entry("offset", &at, Value::Float(connection.offset)));
        }
        Ok(Some(Node { span: at.clone(), value: Value::Table(entries) }))
    }
}

pub(super) fn entry(name: &str, at: &Span, value: Value) -> Entry {
    Entry { name: name.to_owned(), key: at.clone(), node: Node { span: at.clone(), value } }
}

/// `[2,1]` for an element of an array.
fn index(indices: &[u64]) -> String {
    if indices.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = indices.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

fn table(mapping: &Mapping, at: &Span) -> Value {
    let pairs: Vec<(f64, f64)> = match mapping {
        Mapping::Boolean(list) => {
            list.iter().map(|(a, b)| (f64::from(u8::from(*a)), f64::from(u8::from(*b)))).collect()
        }
        Mapping::Integer(list) => list.iter().map(|(a, b)| (*a as f64, *b as f64)).collect(),
    };
    let number = |number: f64| Node { span: at.clone(), value: Value::Float(number) };
    let pair = |(a, b): (f64, f64)| Node { span: at.clone(), value: Value::List(vec![number(a), number(b)]) };
    Value::List(pairs.into_iter().map(pair).collect())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! From connections as the user writes them to wires: names are looked up, arrays taken apart, units converted, and what
//! cannot be connected is refused.
//!
//! The bare name of an array stands for all its elements `name[1]`, `name[2]`, ...

use super::builder::Connection;
use super::filtered::{WithFilters, filtered_output};
use super::graph::{InputId, SubsystemId, SystemGraph, Wire, number_ports};
use super::message::MessagePort;
use super::ports::{Ports, Variable, VariableKind};
use super::subsystem::Subsystem;
use super::transfer::{UnitRule, UnitWarnings, ValueMap, conversion};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// One message output feeding one message input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageWire {
    /// The subsystem it starts from.
    pub from: SubsystemId,
    /// Which of its message outputs.
    pub output: usize,
    /// The subsystem it ends at.
    pub to: SubsystemId,
    /// Which of its message inputs.
    pub input: usize,
}

/// Which end of a connection a name stands at.
#[derive(Clone, Copy)]
enum Side {
    Source,
    Target,
}

impl Side {
    fn kind(self) -> VariableKind {
        match self {
            Side::Source => VariableKind::Output,
            Side::Target => VariableKind::Input,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Side::Source => "output",
            Side::Target => "input",
        }
    }

    fn messages(self, ports: &Ports) -> &[MessagePort] {
        match self {
            Side::Source => &ports.message_outputs,
            Side::Target => &ports.message_inputs,
        }
    }
}

/// What a name stands for.
struct End {
    subsystem: SubsystemId,
    /// Places in the list of the subsystem's ports: one, or all elements of an array.
    places: Vec<usize>,
    is_message: bool,
    /// What stands in the brackets of the elements, if they have several indices.
    shape: Vec<String>,
}

/// Names of ports and their places, of each subsystem that has many, from the first time one is looked for.
#[derive(Default)]
struct Index(HashMap<(SubsystemId, VariableKind), HashMap<String, usize>>);

/// Ports that are looked through in sequence.
const FEW: usize = 16;

impl Index {
    /// The place of a port.
    fn place(
        &mut self,
        ports: &Ports,
        subsystem: SubsystemId,
        kind: VariableKind,
        name: &str,
    ) -> Option<usize> {
        let list = ports.of(kind);
        if list.len() <= FEW {
            return list.iter().position(|port| port.name == name);
        }
        let names =
            || list.iter().enumerate().rev().map(|(place, port)| (port.name.clone(), place)).collect();
        self.0.entry((subsystem, kind)).or_insert_with(names).get(name).copied()
    }
}

/// What is collected while connections are wired.
struct Wiring<'a> {
    index: Index,
    /// Per input, the connection that ends there.
    connected: Vec<Option<&'a Connection>>,
    wires: Vec<Wire>,
    unit_warnings: UnitWarnings,
}

/// Wires the graph; tells what is wrong with each connection that cannot be wired.
pub(super) fn wire(graph: &mut SystemGraph, connections: &[Connection]) -> Vec<Error> {
    let connected = vec![None; graph.inputs()];
    let mut wiring = Wiring {
        index: Index::default(),
        connected,
        wires: Vec::new(),
        unit_warnings: UnitWarnings::default(),
    };
    let mistakes = connections
        .iter()
        .filter_map(|connection| wiring.connect(graph, connection).err())
        .map(|error| *error);
    let mistakes = mistakes.collect();
    graph.set_wires(wiring.wires);
    graph.remarks = wiring.unit_warnings.remarks();
    graph.message_wires.sort();
    crate::sort::sort_by_key(&mut graph.maps, |(input, _)| *input);
    mistakes
}

impl<'a> Wiring<'a> {
    fn connect(&mut self, graph: &mut SystemGraph, connection: &'a Connection) -> Result<()> {
        let target = end(graph, &connection.to, Side::Target, &mut self.index)?;
        check_factors(connection)?;
        if target.is_message {
            return wire_message(graph, connection, &target, &mut self.index);
        }
        let first = graph.inputs_of(target.subsystem).start;
        for place in &target.places {
            if let Some(other) = self.connected[first + place].replace(connection) {
                return Err(Error::ConnectedTwice {
                    input: connection.to.clone(),
                    first: other.from.join("\", \""),
                    second: connection.from.join("\", \""),
                }
                .into());
            }
            graph.offsets[first + place] = connection.offset;
            if let Some(map) = table(connection)? {
                graph.maps.push((first + place, map));
            }
        }
        let is_mapped = !connection.map.is_empty();
        let rule = if is_mapped { UnitRule::Ignore } else { connection.units };
        // Somebody who gives a factor knows the units.
        let mut settled = UnitWarnings::default();
        let is_plain = (connection.gain.abs(), connection.offset) == (1.0, 0.0);
        let unit_warnings = if is_plain { &mut self.unit_warnings } else { &mut settled };
        for from in &connection.from {
            let source = matching(graph, from, &connection.to, &target, &mut self.index)?;
            let outputs = graph.outputs_of(source.subsystem).start;
            for (output, input) in source.places.iter().zip(&target.places) {
                let (output, input) = (outputs + output, first + input);
                let ends = (graph.output_variable(output), graph.input_variable(input));
                let unit = conversion((from, ends.0), (&connection.to, ends.1), rule, unit_warnings)?;
                graph.offsets[input] += connection.gain * unit.offset;
                let gain = if is_mapped { 0.0 } else { connection.gain * unit.factor };
                self.wires.push(Wire { source: output, from: source.subsystem, target: input, gain });
            }
        }
        Ok(())
    }
}

/// Ports, subsystems, and the connections between them.
type Unwired = (SystemGraph, Vec<Box<dyn Subsystem>>, Vec<Connection>);

/// Filters become outputs of the subsystems their connections start from; these are connected in place of the others.
pub(super) fn filter(
    graph: SystemGraph,
    subsystems: Vec<Box<dyn Subsystem>>,
    mut connections: Vec<Connection>,
) -> Result<Unwired> {
    if connections.iter().all(|connection| connection.filter.is_none()) {
        return Ok((graph, subsystems, connections));
    }
    let mut added: Vec<Vec<Variable>> = vec![Vec::new(); graph.len()];
    let mut index = Index::default();
    for connection in &mut connections {
        let Some(filter) = connection.filter.take() else { continue };
        for from in &mut connection.from {
            // What has no such name is reported when it is wired.
            let Ok(source) = end(&graph, from, Side::Source, &mut index) else { continue };
            if source.is_message || !connection.map.is_empty() {
                return Err(refused(from, &connection.to, "only numbers without a map are filtered"));
            }
            filter.matrices(&format!("{from} -> {}", connection.to))?;
            let (id, ports) = (source.subsystem, graph.ports(source.subsystem));
            let name_of = |place: &usize| filtered_output(ports, &mut added[id], *place, &filter);
            let names: Vec<String> = source.places.iter().map(name_of).collect();
            let is_array = end_name(graph.name(id), from) != ports.outputs[source.places[0]].name;
            let name = if is_array { names[0].split('[').next().unwrap_or_default() } else { &names[0] };
            *from = format!("{}.{name}", graph.name(id));
        }
    }
    let names: Vec<String> = graph.names().to_vec();
    let wrap = |((name, inner), outputs): ((&String, Box<dyn Subsystem>), Vec<Variable>)| {
        if outputs.is_empty() {
            return Ok(inner);
        }
        Ok(Box::new(WithFilters::new(name, inner, outputs)?) as Box<dyn Subsystem>)
    };
    let subsystems = names.iter().zip(subsystems).zip(added).map(wrap).collect::<Result<Vec<_>>>()?;
    Ok((number_ports(names, &subsystems), subsystems, connections))
}

/// The variable's part of a full name.
fn end_name<'a>(subsystem: &str, full: &'a str) -> &'a str {
    full.get(subsystem.len() + 1..).unwrap_or_default()
}

fn check_factors(connection: &Connection) -> Result<()> {
    for (what, value) in [("gain", connection.gain), ("offset", connection.offset)] {
        if !value.is_finite() {
            return Err(Error::NotFinite { place: format!("{what} into {}", connection.to), value }.into());
        }
    }
    Ok(())
}

fn wire_message(
    graph: &mut SystemGraph,
    connection: &Connection,
    target: &End,
    index: &mut Index,
) -> Result<()> {
    let to = &connection.to;
    let [from] = connection.from.as_slice() else {
        return Err(refused(&connection.from.join("`, `"), to, "only numbers are summed: name one source"));
    };
    if (connection.gain, connection.offset) != (1.0, 0.0) {
        return Err(refused(from, to, "only numbers have a gain and an offset"));
    }
    if !connection.map.is_empty() {
        return Err(refused(from, to, "only numbers have a map"));
    }
    let source = matching(graph, from, to, target, index)?;
    for (output, input) in source.places.iter().copied().zip(target.places.iter().copied()) {
        let sent = graph.ports(source.subsystem).message_outputs[output].kind;
        let wanted = graph.ports(target.subsystem).message_inputs[input].kind;
        if sent != wanted {
            return Err(refused(from, to, &format!("{} cannot become {}", sent.name(), wanted.name())));
        }
        let is_taken = |wire: &&MessageWire| wire.to == target.subsystem && wire.input == input;
        if let Some(other) = graph.message_wires.iter().find(is_taken) {
            let name = &graph.ports(other.from).message_outputs[other.output].name;
            let problem =
                format!("the input is connected to `{name}` of `{}` already", graph.name(other.from));
            return Err(refused(from, to, &problem));
        }
        graph.message_wires.push(MessageWire { from: source.subsystem, output, to: target.subsystem, input });
    }
    Ok(())
}

/// The source, if it has what the target takes.
fn matching(graph: &SystemGraph, from: &str, to: &str, target: &End, index: &mut Index) -> Result<End> {
    let source = end(graph, from, Side::Source, index)?;
    let kind = |end: &End, side: Side| match end.is_message {
        true => side.messages(graph.ports(end.subsystem))[end.places[0]].kind.name(),
        false => "a number",
    };
    if source.is_message != target.is_message {
        let (sent, wanted) = (kind(&source, Side::Source), kind(target, Side::Target));
        return Err(refused(from, to, &format!("{sent} cannot become {wanted}")));
    }
    let (sent, wanted) = (source.places.len(), target.places.len());
    if sent != wanted {
        let values = |count: usize| if count == 1 { "1 value".into() } else { format!("{count} values") };
        let problem = format!("the source has {}, the input {}", values(sent), values(wanted));
        return Err(refused(from, to, &problem));
    }
    if !source.shape.is_empty() && !target.shape.is_empty() && source.shape != target.shape {
        return Err(refused(from, to, "the arrays have different shapes"));
    }
    Ok(source)
}

fn refused(from: &str, to: &str, problem: &str) -> Box<Error> {
    Error::Connection { from: from.into(), to: to.into(), problem: problem.into() }.into()
}

/// Looks a name up: a port, or an array of them.
fn end(graph: &SystemGraph, name: &str, side: Side, index: &mut Index) -> Result<End> {
    let (subsystem, variable) = graph.split_name(name, side.word())?;
    let ports = graph.ports(subsystem);
    let number = index.place(ports, subsystem, side.kind(), variable).map(|place| (place, false));
    let message =
        || side.messages(ports).iter().position(|port| port.name == variable).map(|place| (place, true));
    if let Some((place, is_message)) = number.or_else(message) {
        return Ok(End { subsystem, places: vec![place], is_message, shape: Vec::new() });
    }
    let numbers: Vec<&str> = ports.of(side.kind()).iter().map(|v| v.name.as_str()).collect();
    let messages: Vec<&str> = side.messages(ports).iter().map(|port| port.name.as_str()).collect();
    for (names, is_message) in [(&numbers, false), (&messages, true)] {
        let elements =
            names.iter().enumerate().filter_map(|(k, known)| Some((k, index_of(known, variable)?)));
        let (places, indices): (Vec<usize>, Vec<&str>) = elements.unzip();
        if !places.is_empty() {
            let shape = indices.iter().filter(|index| index.contains(',')).map(|i| (*i).to_owned()).collect();
            return Ok(End { subsystem, places, is_message, shape });
        }
    }
    Err(no_such_port(graph, subsystem, name, side.kind(), side.word()))
}

/// What stands in the brackets, if the name is that of an element of the array.
fn index_of<'a>(name: &'a str, array: &str) -> Option<&'a str> {
    let index = name.strip_prefix(array)?.strip_prefix('[')?.strip_suffix(']')?;
    index.bytes().all(|byte| byte.is_ascii_digit() || byte == b',').then_some(index)
}

impl SystemGraph {
    /// Finds an input, or all elements of an array of inputs, by full name.
    pub fn find_inputs(&self, name: &str) -> Result<Vec<InputId>> {
        let found = end(self, name, Side::Target, &mut Index::default())?;
        if found.is_message {
            return Err(no_such_port(self, found.subsystem, name, VariableKind::Input, "input"));
        }
        let first = self.inputs_of(found.subsystem).start;
        Ok(found.places.iter().map(|place| first + place).collect())
    }

    /// Finds an output of texts, bytes or ticks by its full name: its subsystem, and its place there.
    pub fn find_message_output(&self, name: &str) -> Result<(SubsystemId, usize)> {
        let (id, variable) = self.split_name(name, "output")?;
        let list = &self.ports(id).message_outputs;
        let known = || list.iter().map(|port| format!("{}.{}", self.name(id), port.name)).collect();
        let unknown = || Error::Unknown { kind: "message output", name: name.into(), known: known() };
        let place = list.iter().position(|port| port.name == variable).ok_or_else(unknown)?;
        Ok((id, place))
    }
}

/// Why there is no such input or output of numbers: it is something else, or nothing at all.
#[cold]
pub(super) fn no_such_port(
    graph: &SystemGraph,
    subsystem: SubsystemId,
    name: &str,
    kind: VariableKind,
    word: &'static str,
) -> Box<Error> {
    let ports = graph.ports(subsystem);
    let variable = &name[name.len().min(graph.name(subsystem).len() + 1)..];
    let full = |name: &str| format!("{}.{name}", graph.name(subsystem));
    let message =
        ports.message_inputs.iter().chain(&ports.message_outputs).find(|port| port.name == variable);
    let is_message_of_kind = match kind {
        VariableKind::Input => ports.message_inputs.iter().any(|port| port.name == variable),
        _ => ports.message_outputs.iter().any(|port| port.name == variable),
    };
    let wanted = if kind == VariableKind::Input { "an input" } else { "an output" };
    if let Some(port) = message {
        let found = match is_message_of_kind {
            true => port.kind.name(),
            false if kind == VariableKind::Input => "an output",
            false => "an input",
        };
        let wanted = if is_message_of_kind { "a number" } else { wanted };
        return Error::WrongPort { name: name.into(), found, wanted }.into();
    }
    if let Some(id) = ports.find_any(variable) {
        let found = match id.kind {
            VariableKind::Input => "an input",
            VariableKind::Output => "an output",
            VariableKind::Parameter => "a parameter",
            VariableKind::Local => "a local variable",
        };
        return Error::WrongPort { name: name.into(), found, wanted }.into();
    }
    let numbers = ports.of(kind).iter().map(|v| full(&v.name));
    let messages = match kind {
        VariableKind::Input => &ports.message_inputs,
        _ => &ports.message_outputs,
    };
    let known = numbers.chain(messages.iter().map(|port| full(&port.name))).collect();
    Error::Unknown { kind: word, name: name.into(), known }.into()
}

/// The table of a connection, which then has one source and neither gain nor offset.
fn table(connection: &Connection) -> Result<Option<ValueMap>> {
    if connection.map.is_empty() {
        return Ok(None);
    }
    let refused = |problem: String| {
        let (what, value) = ("connection with a map into".into(), connection.to.clone());
        Box::new(Error::Setting { what, value, problem })
    };
    if connection.from.len() != 1 || (connection.gain, connection.offset) != (1.0, 0.0) {
        return Err(refused("has one source, and neither gain nor offset".into()));
    }
    ValueMap::new(&connection.map)
        .map(Some)
        .map_err(|problem| refused(format!("cannot have this map: {problem}")))
}

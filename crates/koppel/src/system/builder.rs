//! Systems: subsystems and connections as the user gives them, checked against each other and wired.

use super::filter::FilterConfig;
use super::graph::{InputId, ParameterTable, SubsystemId, SystemGraph, Wire, number_ports};
use super::ports::{Variable, VariableId, VariableKind};
use super::subsystem::Subsystem;
use super::transfer::UnitRule;
use super::wiring::{self, MessageWire};
use crate::error::{Error, Result};
use crate::signal::external::{External, ExternalConfig, Interpolation};
use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A connection as the user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Sources, summed.
    pub from: Vec<String>,
    /// The input.
    pub to: String,
    /// Factor on the sum, after unit conversion.
    pub gain: f64,
    /// Added after the gain.
    pub offset: f64,
    /// What is done about units.
    #[serde(default, skip_serializing_if = "UnitRule::is_default")]
    pub units: UnitRule,
    /// A table of whole numbers in place of gain and offset, for one source; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<(f64, f64)>,
    /// A filter between source and input, which breaks loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterConfig>,
}

impl Connection {
    /// One output to one input, gain 1.
    pub fn new(from: &str, to: &str) -> Self {
        Connection {
            from: vec![from.into()],
            to: to.into(),
            gain: 1.0,
            offset: 0.0,
            units: UnitRule::Convert,
            map: Vec::new(),
            filter: None,
        }
    }

    /// With a filter.
    pub fn filter(mut self, filter: FilterConfig) -> Self {
        self.filter = Some(filter);
        self
    }

    /// With another gain.
    pub fn gain(mut self, gain: f64) -> Self {
        self.gain = gain;
        self
    }
}

/// A system ready to be run: the graph and its subsystems, in the same order.
pub struct System {
    /// The wiring.
    pub graph: SystemGraph,
    /// What is wired.
    pub subsystems: Vec<Box<dyn Subsystem>>,
}

impl System {
    /// The same system with its subsystems in another order: `order[k]` is the one that becomes number k.
    pub fn reordered(self, order: &[SubsystemId]) -> System {
        let old = self.graph;
        let mut waiting: Vec<_> = self.subsystems.into_iter().map(Some).collect();
        let subsystems: Vec<_> = order.iter().filter_map(|id| waiting[*id].take()).collect();
        let names = order.iter().map(|id| old.names[*id].clone()).collect();
        let mut graph = number_ports(names, &subsystems);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, id)| place[*id] = new);
        let input = |i: InputId| {
            let id = old.subsystem_of_input(i);
            graph.first_input[place[id]] + i - old.first_input[id]
        };
        let wires = old.wires().iter().map(|wire| Wire {
            source: graph.first_output[place[wire.from]] + wire.source - old.first_output[wire.from],
            from: place[wire.from],
            target: input(wire.target),
            gain: wire.gain,
        });
        let wires = wires.collect();
        // Inputs that a subsystem has beyond those of the graph keep their start values.
        let mut offsets = graph.offsets.clone();
        (0..old.inputs()).for_each(|i| offsets[input(i)] = old.offsets[i]);
        let mut externals: Vec<_> = old.externals.iter().map(|(i, e)| (input(*i), e.clone())).collect();
        crate::sort::sort_by_key(&mut externals, |(i, _)| *i);
        let mut maps: Vec<_> = old.maps.iter().map(|(i, map)| (input(*i), map.clone())).collect();
        crate::sort::sort_by_key(&mut maps, |(i, _)| *i);
        graph.maps = maps;
        graph.remarks = old.remarks;
        graph.drives = old.drives;
        graph.drives.iter_mut().for_each(|drive| drive.subsystem = place[drive.subsystem]);
        graph.offsets = offsets;
        graph.externals = externals;
        graph.set_wires(wires);
        let moved = |wire: &MessageWire| MessageWire { from: place[wire.from], to: place[wire.to], ..*wire };
        graph.message_wires = old.message_wires.iter().map(moved).collect();
        graph.message_wires.sort();
        System { graph, subsystems }
    }
}

/// Collects subsystems and connections and checks them against each other.
#[derive(Default)]
pub struct SystemBuilder {
    subsystems: Vec<(String, Box<dyn Subsystem>)>,
    connections: Vec<Connection>,
    externals: Vec<(String, ExternalConfig, Scaling)>,
}

/// What becomes of the values of an external signal: gain · value + offset, in the unit of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The unit of gain · value + offset, if it is to be converted.
    pub unit: Option<String>,
    /// Multiplies the value.
    pub gain: f64,
    /// Is added.
    pub offset: f64,
    /// It is added to another signal: the zero of its unit counts there.
    pub is_difference: bool,
}

impl Default for Scaling {
    fn default() -> Self {
        Scaling { unit: None, gain: 1.0, offset: 0.0, is_difference: false }
    }
}

impl SystemBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        SystemBuilder::default()
    }

    /// Adds a subsystem.
    pub fn add(mut self, name: &str, subsystem: impl Subsystem + 'static) -> Self {
        self.subsystems.push((name.into(), Box::new(subsystem)));
        self
    }

    /// Adds a subsystem that is boxed already.
    pub fn add_boxed(mut self, name: &str, subsystem: Box<dyn Subsystem>) -> Self {
        self.subsystems.push((name.into(), subsystem));
        self
    }

    /// Adds a connection.
    pub fn connect(mut self, connection: Connection) -> Self {
        self.connections.push(connection);
        self
    }

    /// Adds an external signal to an input; several are summed.
    pub fn external(self, input: &str, signal: ExternalConfig) -> Self {
        self.scaled_external(input, signal, Scaling::default())
    }

    /// The same with a gain, an offset and a unit.
    pub fn scaled_external(mut self, input: &str, signal: ExternalConfig, scaling: Scaling) -> Self {
        self.externals.push((input.into(), signal, scaling));
        self
    }

    /// Checks everything and wires it.
    pub fn build(self) -> Result<System> {
        let (system, mistakes) = self.build_partly()?;
        Error::several(mistakes).map(|()| system)
    }

    /// The same without the connections and signals that do not fit, and what is wrong with each of them.
    pub fn build_partly(self) -> Result<(System, Vec<Error>)> {
        let (names, subsystems): (Vec<_>, Vec<_>) = self.subsystems.into_iter().unzip();
        let mut known = HashSet::new();
        if let Some(name) = names.iter().find(|name| !known.insert(name.as_str())) {
            return Err(Error::Duplicate { kind: "subsystem", name: name.clone() }.into());
        }
        let graph = number_ports(names, &subsystems);
        let (mut graph, subsystems, connections) = wiring::filter(graph, subsystems, self.connections)?;
        // A mistake in one connection or signal says nothing of the others.
        let mut mistakes = wiring::wire(&mut graph, &connections);
        for (input, config, scaling) in self.externals {
            mistakes.extend(external(&mut graph, input, config, &scaling).err().map(|error| *error));
        }
        crate::sort::sort_by_key(&mut graph.externals, |(id, _)| *id);
        Ok((System { graph, subsystems }, mistakes))
    }
}

/// Adds a signal from outside to an input, or lets a parameter follow a table.
fn external(graph: &mut SystemGraph, input: String, config: ExternalConfig, scaling: &Scaling) -> Result<()> {
    if let Some(parameter) = parameter(graph, &input) {
        let (factor, offset) = factors(&input, graph.ports(parameter.0).variable(parameter.1), scaling)?;
        let mut drive = drive(graph, &input, parameter, config)?;
        drive.values.iter_mut().for_each(|value| *value = factor * *value + offset);
        graph.drives.push(drive);
        return Ok(());
    }
    let id = graph.find_input(&input)?;
    let config = if graph.input_variable(id).is_held { held(config) } else { config };
    let (factor, offset) = factors(&input, graph.input_variable(id), scaling)?;
    let external = External::new(&config).map_err(|source| Error::External { input, source })?;
    let external = external.scaled(factor, offset);
    if graph.is_free(id) {
        // The signal takes the place of the value for want of anything else.
        graph.offsets[id] = 0.0;
    }
    graph.externals.push((id, external));
    Ok(())
}

/// Factor and offset from a signal to the variable it goes to.
fn factors(name: &str, variable: &Variable, scaling: &Scaling) -> Result<(f64, f64)> {
    let Scaling { unit, gain, offset, is_difference } = scaling;
    for (what, value) in [("gain", gain), ("offset", offset)] {
        if !value.is_finite() {
            return Err(Error::NotFinite { place: format!("{what} into {name}"), value: *value }.into());
        }
    }
    let Some(unit) = unit else { return Ok((*gain, *offset)) };
    let Some(wanted) = &variable.unit else {
        return Err(Error::Setting {
            what: "external input of".into(),
            value: name.into(),
            problem: format!("has no unit that `{unit}` could be converted to: give a `gain` instead"),
        }
        .into());
    };
    let place = || format!("external input of `{name}`");
    let failed = |source| Error::Unit { place: place(), source };
    let sent = Unit::parse(unit).map_err(failed)?;
    let wanted = match &variable.definition {
        Some(unit) => unit.clone(),
        None => Unit::parse(wanted).map_err(failed)?,
    };
    let conversion = Unit::conversion(&sent, &wanted).map_err(failed)?;
    let zero = if *is_difference { 0.0 } else { conversion.offset };
    Ok((gain * conversion.factor, offset * conversion.factor + zero))
}

/// The parameter of this name, if it is one.
fn parameter(graph: &SystemGraph, name: &str) -> Option<(SubsystemId, VariableId)> {
    let (id, variable) = graph.split_name(name, "input").ok()?;
    let ports = graph.ports(id);
    let found = ports.find_any(variable)?;
    (found.kind == VariableKind::Parameter).then_some((id, found))
}

/// A table for a parameter, which keeps the value of a row until the next.
fn drive(
    graph: &SystemGraph,
    name: &str,
    (subsystem, variable): (SubsystemId, VariableId),
    config: ExternalConfig,
) -> Result<ParameterTable> {
    let refused = |problem: &str| {
        let (what, value) = ("external input of".into(), name.into());
        Box::new(Error::Setting { what, value, problem: problem.into() })
    };
    if graph.ports(subsystem).variable(variable).is_fixed {
        return Err(refused(
            "is a parameter that cannot change during the run; only tunable ones follow a table",
        ));
    }
    if graph.drives.iter().any(|drive| (drive.subsystem, drive.variable) == (subsystem, variable)) {
        return Err(refused("is a parameter, which follows one table only"));
    }
    config.validate().map_err(|source| Error::External { input: name.into(), source })?;
    match config {
        ExternalConfig::Table { times, values, .. } => {
            Ok(ParameterTable { subsystem, variable, times, values })
        }
        _ => Err(refused("is a parameter, which follows kind = \"table\" only; see also [[at]]")),
    }
}

/// The same signal for an input that jumps: a table holds each of its values.
fn held(config: ExternalConfig) -> ExternalConfig {
    match config {
        ExternalConfig::Table { times, values, .. } => {
            ExternalConfig::Table { times, values, interpolation: Interpolation::Previous }
        }
        other => other,
    }
}

//! Nested systems, system connectors and signal dictionaries dissolved: components, and what connects them.
//!
//! Every connector and every dictionary entry becomes a node, every connection an edge from source to target. From each
//! component's target the edges are followed back to the component (or the top system's input) the value comes from;
//! unit conversions and transformations met on the way are composed.

mod chain;
mod graph;
mod parameters;
mod scope;
mod trace;
mod values;
mod wire;

use crate::finding::{Origin, Report};
use crate::model::{
    DataType, Dimension, Enumeration, Implementation, Kind, Location, SystemStructure, Value,
};
use koppel::unit::Unit;

/// A system without levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatSystem {
    /// Name of the structure.
    pub name: String,
    /// Components, named by their path from the top.
    pub components: Vec<FlatComponent>,
    /// What connects them, and what connects them with the top system's connectors.
    pub connections: Vec<FlatConnection>,
    /// Inputs and parameters of the top system.
    pub inputs: Vec<FlatConnector>,
    /// Outputs and calculated parameters of the top system.
    pub outputs: Vec<FlatConnector>,
    /// Suggested start and stop time in s.
    pub default_experiment: (Option<f64>, Option<f64>),
    /// Units that are defined somewhere.
    pub units: Vec<Unit>,
    /// Enumerations that are defined somewhere.
    pub enumerations: Vec<Enumeration>,
    /// koppel's own settings, a TOML text, if the structure carries them.
    pub settings: Option<String>,
}

/// A component.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatComponent {
    /// Path from the top, such as `plant.engine`.
    pub name: String,
    /// Where its source lies; none for a component that is only planned.
    pub source: Option<ResourceRef>,
    /// Which part of an FMU is meant.
    pub implementation: Implementation,
    /// Start values, after prefixes, mappings and precedence.
    pub parameters: Vec<FlatParameter>,
    /// Its connectors, as far as they are written.
    pub connectors: Vec<FlatConnector>,
    /// Where it stands.
    pub origin: Origin,
}

/// Where a component's source lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRef {
    /// Place in the package.
    pub location: Location,
    /// Media type; `application/x-fmu-sharedlibrary` for an FMU.
    pub media_type: String,
}

/// A connector of a component or of the top system.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatConnector {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Its type, if written.
    pub data: Option<DataType>,
    /// Its unit, if known.
    pub unit: Option<Unit>,
    /// Its enumeration, if it has one.
    pub enumeration: Option<Enumeration>,
    /// Dimensions of an array.
    pub dimensions: Vec<Dimension>,
    /// Clocks it belongs to.
    pub clocks: Vec<String>,
    /// Value bound to a connector of the top system.
    pub start: Option<FlatParameter>,
    /// Where it stands.
    pub origin: Origin,
}

/// A start value.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatParameter {
    /// Name of the component's variable.
    pub variable: String,
    /// The value.
    pub value: Value,
    /// The unit the value is in; none if none was given.
    pub unit: Option<Unit>,
    /// Where the value stands.
    pub origin: Origin,
}

/// One end of a flat connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Number of the component; none is the top system.
    pub component: Option<usize>,
    /// The connector.
    pub connector: String,
    /// Which element of an array; empty is the whole.
    pub indices: Vec<u64>,
}

/// When a connection carries its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// A signal, all the time.
    Signal,
    /// A parameter, once at the start.
    Parameter,
}

/// A connection from a source to a target:
/// target = factor · source + offset for floats, or by the table of `mapping`.
///
/// Units are converted already: between the units of [`FlatConnection::units`]. Whoever takes this connection must not
/// convert again.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatConnection {
    /// Where the value comes from.
    pub from: Port,
    /// Where it goes.
    pub to: Port,
    /// Signal or parameter.
    pub carries: Carries,
    /// Multiplies, with unit conversion.
    pub factor: f64,
    /// Is added, with unit conversion.
    pub offset: f64,
    /// Table for booleans, integers and enumerations.
    pub mapping: Option<Mapping>,
    /// Units at the source and at the target as far as they are known.
    pub units: (Option<Unit>, Option<Unit>),
    /// True if a part of it suppresses the conversion of units.
    pub suppresses_units: bool,
    /// Where its last part stands, the one that ends at the target.
    pub origin: Origin,
}

/// A table of values. Enumerations are given by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Mapping {
    Boolean(Vec<(bool, bool)>),
    Integer(Vec<(i128, i128)>),
}

impl FlatSystem {
    /// `component.connector` of an end; a connector of the top system stands alone.
    pub fn port_name(&self, port: &Port) -> String {
        match port.component.and_then(|c| self.components.get(c)) {
            Some(component) => format!("{}.{}", component.name, port.connector),
            None => port.connector.clone(),
        }
    }

    /// Finds a component by its path.
    pub fn component(&self, name: &str) -> Option<&FlatComponent> {
        self.components.iter().find(|c| c.name == name)
    }
}

/// Gives the unit of a component's variable where the structure does not: `(component path, variable)`.
pub type UnitLookup<'a> = &'a dyn Fn(&str, &str) -> Option<Unit>;

/// Flattens and reports what is wrong with names, kinds, types, units and parameters.
pub(crate) fn flatten(structure: &SystemStructure, units: UnitLookup, report: &mut Report) -> FlatSystem {
    let mut builder = graph::Builder::new(report, units);
    let top = builder.top(structure);
    let graph = builder.finish();
    let mut flat = trace::connections(&graph, report);
    flat.name.clone_from(&structure.name);
    parameters::apply(&graph, &top, units, &mut flat, report);
    let experiment = structure.experiment.as_ref();
    flat.default_experiment = (experiment.and_then(|e| e.start), experiment.and_then(|e| e.stop));
    flat.settings = crate::settings::find(structure);
    flat
}

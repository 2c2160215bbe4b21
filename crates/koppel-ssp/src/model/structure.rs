//! The system structure (SSD): systems, components, connectors, connections, bindings.

use super::common::{Annotation, DataType, Dimension, Enumeration, Transformation, UnitDefinition, Version};
use super::parameters::{ParameterMapping, ParameterSet, SignalDictionary};
use crate::finding::Position;

/// Where a document lies: archives inside one another, then the path inside the innermost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Archives below the package that was opened, outermost first.
    pub archives: Vec<String>,
    /// Path inside the innermost, with `/`.
    pub path: String,
}

/// A system structure description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemStructure {
    /// Where it lies.
    pub location: Location,
    /// The file's name for messages.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Version of the format.
    pub version: Version,
    /// The top system.
    pub system: System,
    /// Enumerations its connectors refer to.
    pub enumerations: Vec<Enumeration>,
    /// Units its connectors refer to.
    pub units: Vec<UnitDefinition>,
    /// Suggested run.
    pub experiment: Option<DefaultExperiment>,
    /// Tools' own data.
    pub annotations: Vec<Annotation>,
}

/// Suggested run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DefaultExperiment {
    /// Start time in s.
    pub start: Option<f64>,
    /// Stop time in s.
    pub stop: Option<f64>,
    /// Tools' own data.
    pub annotations: Vec<Annotation>,
}

/// A system of elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// Name, unique in the enclosing system.
    pub name: String,
    /// Name for references within the file.
    pub id: Option<String>,
    /// In words.
    pub description: Option<String>,
    /// Its interface.
    pub connectors: Vec<Connector>,
    /// Its parameters.
    pub bindings: Vec<ParameterBinding>,
    /// What is in it.
    pub elements: Vec<Element>,
    /// How that is wired.
    pub connections: Vec<Connection>,
    /// Signal dictionaries visible here and below.
    pub dictionaries: Vec<Dictionary>,
    /// Tools' own data.
    pub annotations: Vec<Annotation>,
    /// Where it stands.
    pub at: Position,
}

/// Something in a system.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A system.
    System(System),
    /// A component, such as an FMU.
    Component(Component),
    /// The use of a signal dictionary.
    Reference(DictionaryReference),
}

impl Element {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Element::System(s) => &s.name,
            Element::Component(c) => &c.name,
            Element::Reference(r) => &r.name,
        }
    }

    /// Where it stands.
    pub fn at(&self) -> Position {
        match self {
            Element::System(s) => s.at,
            Element::Component(c) => c.at,
            Element::Reference(r) => r.at,
        }
    }

    /// The connectors written at it.
    pub fn connectors(&self) -> &[Connector] {
        match self {
            Element::System(s) => &s.connectors,
            Element::Component(c) => &c.connectors,
            Element::Reference(r) => &r.connectors,
        }
    }
}

/// Which part of an FMU is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub enum Implementation {
    #[default]
    Any,
    ModelExchange,
    CoSimulation,
    ScheduledExecution,
}

impl Implementation {
    /// All of them.
    pub const ALL: [Implementation; 4] = [
        Implementation::Any,
        Implementation::ModelExchange,
        Implementation::CoSimulation,
        Implementation::ScheduledExecution,
    ];

    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Implementation::Any => "any",
            Implementation::ModelExchange => "ModelExchange",
            Implementation::CoSimulation => "CoSimulation",
            Implementation::ScheduledExecution => "ScheduledExecution",
        }
    }
}

/// A component.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// Name, unique in the system.
    pub name: String,
    /// Name for references within the file.
    pub id: Option<String>,
    /// In words.
    pub description: Option<String>,
    /// Media type; `None`: an FMU.
    pub kind: Option<String>,
    /// Address of the source, as written.
    pub source: Option<String>,
    /// Which part of an FMU.
    pub implementation: Implementation,
    /// Its interface, as far as it is written.
    pub connectors: Vec<Connector>,
    /// Its parameters.
    pub bindings: Vec<ParameterBinding>,
    /// Tools' own data.
    pub annotations: Vec<Annotation>,
    /// Where the source lies; filled in on loading.
    pub location: Option<Location>,
    /// The system it stands for, if its source is a system structure; filled in on loading.
    pub nested: Option<Nested>,
    /// Where it stands.
    pub at: Position,
}

/// The system a component stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    /// Another file.
    Document(Box<SystemStructure>),
    /// Another system of the same file, by its id.
    Same(Box<System>),
}

impl Nested {
    /// The system.
    pub fn system(&self) -> &System {
        match self {
            Nested::Document(structure) => &structure.system,
            Nested::Same(system) => system,
        }
    }
}

/// What a connector is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub enum Kind {
    Input,
    Output,
    Parameter,
    CalculatedParameter,
    StructuralParameter,
    Constant,
    Local,
    Inout,
    Unspecified,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Input,
        Kind::Output,
        Kind::Parameter,
        Kind::CalculatedParameter,
        Kind::StructuralParameter,
        Kind::Constant,
        Kind::Local,
        Kind::Inout,
        Kind::Unspecified,
    ];

    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Kind::Input => "input",
            Kind::Output => "output",
            Kind::Parameter => "parameter",
            Kind::CalculatedParameter => "calculatedParameter",
            Kind::StructuralParameter => "structuralParameter",
            Kind::Constant => "constant",
            Kind::Local => "local",
            Kind::Inout => "inout",
            Kind::Unspecified => "unspecified",
        }
    }
}

/// A connector.
#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    /// Name, unique in its element.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Its type, if written.
    pub data: Option<DataType>,
    /// Dimensions of an array.
    pub dimensions: Vec<Dimension>,
    /// Clocks it belongs to.
    pub clocks: Vec<String>,
    /// In words.
    pub description: Option<String>,
    /// Where it stands.
    pub at: Position,
}

impl Connector {
    /// A connector with a type.
    pub fn new(name: impl Into<String>, kind: Kind, data: Option<DataType>) -> Self {
        Connector {
            name: name.into(),
            kind,
            data,
            dimensions: Vec::new(),
            clocks: Vec::new(),
            description: None,
            at: Position::default(),
        }
    }
}

/// One end of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// The element; none is the enclosing system itself.
    pub element: Option<String>,
    /// The connector.
    pub connector: String,
    /// Which element of an array, as written; empty is the whole.
    pub indices: Vec<u64>,
}

impl End {
    /// `element.connector`, or the connector of the system itself.
    pub fn text(&self) -> String {
        match &self.element {
            Some(element) => format!("{element}.{}", self.connector),
            None => self.connector.clone(),
        }
    }
}

/// A connection. Which end is the source follows from the kinds of the connectors, not from start and end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// One end.
    pub start: End,
    /// The other.
    pub end: End,
    /// What happens to the value.
    pub transformation: Option<Transformation>,
    /// Units are not converted.
    pub suppress_unit_conversion: bool,
    /// Where it stands.
    pub at: Position,
}

/// What a source's address is relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceBase {
    /// The file it stands in.
    #[default]
    Document,
    /// The component's source, for files inside an FMU.
    Component,
}

/// A parameter set applied to an element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterBinding {
    /// Address of the set; none if it stands inline.
    pub source: Option<String>,
    /// What the address is relative to.
    pub base: SourceBase,
    /// Put before all names.
    pub prefix: String,
    /// The set; read in on loading if it is in another file.
    pub set: Option<ParameterSet>,
    /// Its mapping.
    pub mapping: Option<MappingBinding>,
    /// Where it stands.
    pub at: Position,
}

/// A mapping applied to a parameter set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappingBinding {
    /// Address of the mapping; none if it stands inline.
    pub source: Option<String>,
    /// What the address is relative to.
    pub base: SourceBase,
    /// The mapping; read in on loading if it is in another file.
    pub mapping: Option<ParameterMapping>,
    /// Where it stands.
    pub at: Position,
}

/// A signal dictionary of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary {
    /// Name it is referred to by.
    pub name: String,
    /// Address; none if it stands inline.
    pub source: Option<String>,
    /// The dictionary; read in on loading if it is in another file.
    pub content: Option<SignalDictionary>,
    /// Where it stands.
    pub at: Position,
}

/// The use of a signal dictionary as an element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DictionaryReference {
    /// Name, unique in the system.
    pub name: String,
    /// Name of the dictionary, looked up here and then outwards.
    pub dictionary: String,
    /// Signals of the dictionary that are used.
    pub connectors: Vec<Connector>,
    /// Where it stands.
    pub at: Position,
}

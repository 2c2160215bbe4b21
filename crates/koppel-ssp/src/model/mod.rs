//! The content of SSD, SSV, SSM and SSB files as plain data. Geometry, notes and meta data are left out.

mod common;
mod parameters;
mod structure;

pub use common::{
    Annotation, BaseType, Class, ClockType, DataType, Dimension, Enumeration, Transformation, UnitDefinition,
    Version,
};
pub use parameters::{
    DictionaryEntry, MappingEntry, Parameter, ParameterMapping, ParameterSet, SignalDictionary, Value,
};
pub use structure::{
    Component, Connection, Connector, DefaultExperiment, Dictionary, DictionaryReference, Element, End,
    Implementation, Kind, Location, MappingBinding, Nested, ParameterBinding, SourceBase, System,
    SystemStructure,
};

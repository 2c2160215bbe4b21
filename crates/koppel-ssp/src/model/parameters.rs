//! Parameter sets (SSV), parameter mappings (SSM) and signal dictionaries (SSB).

use super::common::{
    BaseType, Class, DataType, Dimension, Enumeration, Transformation, UnitDefinition, Version,
};
use crate::finding::Position;

/// A parameter set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterSet {
    /// The file it stands in.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Version of the format.
    pub version: Version,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Enumerations its values may refer to.
    pub enumerations: Vec<Enumeration>,
    /// Units its values may refer to.
    pub units: Vec<UnitDefinition>,
}

/// A name with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name, before prefix and mapping.
    pub name: String,
    /// Type as written.
    pub base: BaseType,
    /// The value.
    pub value: Value,
    /// Name of the unit.
    pub unit: Option<String>,
    /// Name of the enumeration.
    pub enumeration: Option<String>,
    /// Dimensions of an array; none for a scalar.
    pub dimensions: Vec<Dimension>,
    /// Where it stands.
    pub at: Position,
}

/// A value: one number for a scalar, several in row-major order for an array.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Value {
    Float(Vec<f64>),
    Integer(Vec<i128>),
    Boolean(Vec<bool>),
    String(Vec<String>),
    /// Item names.
    Enumeration(Vec<String>),
    Binary(Vec<Vec<u8>>),
}

impl Value {
    /// The sort of value.
    pub fn class(&self) -> Class {
        match self {
            Value::Float(_) => Class::Float,
            Value::Integer(_) => Class::Integer,
            Value::Boolean(_) => Class::Boolean,
            Value::String(_) => Class::String,
            Value::Enumeration(_) => Class::Enumeration,
            Value::Binary(_) => Class::Binary,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        match self {
            Value::Float(v) => v.len(),
            Value::Integer(v) => v.len(),
            Value::Boolean(v) => v.len(),
            Value::String(v) | Value::Enumeration(v) => v.len(),
            Value::Binary(v) => v.len(),
        }
    }

    /// True if there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number, if it is one real number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(v) if v.len() == 1 => Some(v[0]),
            Value::Integer(v) if v.len() == 1 => Some(v[0] as f64),
            _ => None,
        }
    }
}

/// A parameter mapping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterMapping {
    /// The file it stands in.
    pub file: String,
    /// Version of the format.
    pub version: Version,
    /// The entries.
    pub entries: Vec<MappingEntry>,
}

/// One parameter under another name.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingEntry {
    /// Name in the parameter set, with the binding's prefix.
    pub source: String,
    /// Name in the element.
    pub target: String,
    /// What happens to the value.
    pub transformation: Option<Transformation>,
    /// The value's unit is not converted into the target's.
    pub suppress_unit_conversion: bool,
    /// Where it stands.
    pub at: Position,
}

/// A signal dictionary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalDictionary {
    /// The file it stands in.
    pub file: String,
    /// Version of the format.
    pub version: Version,
    /// The signals.
    pub entries: Vec<DictionaryEntry>,
    /// Enumerations the entries refer to.
    pub enumerations: Vec<Enumeration>,
    /// Units the entries refer to.
    pub units: Vec<UnitDefinition>,
}

/// A signal of a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryEntry {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data: Option<DataType>,
    /// Dimensions of an array.
    pub dimensions: Vec<Dimension>,
    /// Where it stands.
    pub at: Position,
}

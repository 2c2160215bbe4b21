//! Values as a user gives them.

use serde::{Deserialize, Serialize};

/// A value for a variable, as a user gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number, for floats, integers, Booleans (0 or 1) and enumerations.
    Number(f64),
    /// True or false, for Booleans.
    Boolean(bool),
    /// A text, for strings; hexadecimal digits, for binaries.
    Text(String),
    /// Bytes, for binaries.
    Bytes(Vec<u8>),
    /// The elements of an array, the last index running fastest.
    List(Vec<Value>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::List(list) => write!(f, "a list of {}", list.len()),
        }
    }
}

impl Value {
    /// As a number; a Boolean is 0 or 1.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Boolean(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

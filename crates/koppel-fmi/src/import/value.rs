//! Values as a user gives them.

use serde::{Deserialize, Serialize};

/// A value for a variable, as a user gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number, for floats, integers, Booleans (0 or 1) and enumerations.
    Number(f64),
    /// True or false, for Booleans.
    Boolean(bool),
    /// An integer that may have more digits than a floating-point number.
    Integer(i64),
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
            Value::Integer(number) => write!(f, "{number}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::List(list) => write!(f, "a list of {}", list.len()),
        }
    }
}

impl Value {
    /// The number it is, rounded if need be; a Boolean is 0 or 1.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            Value::Boolean(value) => Some(f64::from(u8::from(*value))),
            Value::Text(_) | Value::Bytes(_) | Value::List(_) => None,
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

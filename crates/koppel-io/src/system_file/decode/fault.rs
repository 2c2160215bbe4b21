//! What serde refuses, by its parts.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

/// Why a value was refused, without its place.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::system_file) enum Refusal {
    /// A key that nobody knows.
    UnknownKey { name: String, known: Vec<&'static str> },
    /// A name that nobody knows, where one of several is wanted.
    UnknownName { name: String, known: Vec<&'static str> },
    /// A key that must be there.
    MissingKey(String),
    /// Another value than is wanted.
    Wrong { found: Found, wanted: Expectation },
    /// Anything else, in words.
    Words(String),
}

/// A value that is not wanted.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::system_file) enum Found {
    Number(String),
    Text(String),
    Bool(bool),
    List,
    Table,
    Other(String),
}

/// What is wanted in its place.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::system_file) enum Expectation {
    /// One of several names; which, as far as they are known.
    Name(Vec<&'static str>),
    /// In words.
    Words(String),
}

impl Found {
    fn new(unexpected: Unexpected<'_>) -> Self {
        match unexpected {
            Unexpected::Bool(value) => Found::Bool(value),
            Unexpected::Unsigned(number) => Found::Number(number.to_string()),
            Unexpected::Signed(number) => Found::Number(number.to_string()),
            Unexpected::Float(number) => Found::Number(number.to_string()),
            Unexpected::Str(text) => Found::Text(text.to_owned()),
            Unexpected::Seq => Found::List,
            Unexpected::Map => Found::Table,
            other => Found::Other(other.to_string()),
        }
    }
}

impl Expectation {
    /// serde names what is expected by types of Rust; users know numbers and lists. What a type of koppel's says itself is meant for
    /// users.
    fn new(expected: &dyn Expected) -> Self {
        let own = expected.to_string();
        let words = match own.as_str() {
            "string or map" | "variant identifier" => return Expectation::Name(Vec::new()),
            "f64" | "f32" => "a number",
            "usize" => "a whole number",
            "u64" => "a whole number above zero",
            "u32" => "a whole number from 1 to 4294967295",
            "i64" | "i32" => "a whole number",
            "a boolean" => "true or false",
            "a string" => "text in quotes",
            "a sequence" => "a list",
            "a map" => "a table",
            _ if own.starts_with("struct ") || own.starts_with("internally tagged ") => "a table",
            _ => own.as_str(),
        };
        Expectation::Words(words.to_owned())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::UnknownKey { name, .. } => write!(f, "unknown key `{name}`"),
            Refusal::UnknownName { name, .. } => write!(f, "unknown name `{name}`"),
            Refusal::MissingKey(name) => write!(f, "`{name}` is missing"),
            Refusal::Wrong { .. } => f.write_str("another value is wanted"),
            Refusal::Words(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Refusal {}

impl Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Refusal::Words(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Refusal::Wrong { found: Found::new(unexpected), wanted: Expectation::new(expected) }
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Refusal::invalid_type(unexpected, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Refusal::Words(format!("{length} entries are given, expected {expected}"))
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Refusal::UnknownName { name: name.to_owned(), known: known.to_vec() }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Refusal::UnknownKey { name: name.to_owned(), known: known.to_vec() }
    }

    fn missing_field(name: &'static str) -> Self {
        Refusal::MissingKey(name.to_owned())
    }

    fn duplicate_field(name: &'static str) -> Self {
        Refusal::Words(format!("`{name}` is given twice"))
    }
}

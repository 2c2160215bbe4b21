//! Why settings could not be read, by its parts: it is raised again as the error of whoever reads.

use super::content::Content;
use serde::de::{Error, Expected, Unexpected, value};
use std::fmt;

/// What serde refuses.
#[derive(Clone, Debug)]
pub enum ContentError {
    /// In words.
    Words(String),
    /// A value of another type than this.
    Type(Found, String),
    /// Another value than this.
    Value(Found, String),
    /// So many entries, where this is wanted.
    Length(usize, String),
    /// A name where one of these is wanted.
    Variant(String, &'static [&'static str]),
    /// A key where one of these is wanted.
    Field(String, &'static [&'static str]),
    /// A key that is missing.
    Missing(&'static str),
    /// A key that is there twice.
    Duplicate(&'static str),
}

/// A value that is not wanted.
#[derive(Clone, Debug)]
pub enum Found {
    /// One that settings can have.
    Content(Content),
    /// Another one, in words.
    Other(String),
}

impl Found {
    fn new(unexpected: Unexpected<'_>) -> Self {
        Content::of(unexpected).map_or_else(|| Found::Other(unexpected.to_string()), Found::Content)
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Found::Content(content) => content.unexpected(),
            Found::Other(words) => Unexpected::Other(words),
        }
    }
}

impl ContentError {
    /// The same as another error of serde.
    pub fn raise<E: Error>(&self) -> E {
        match self {
            ContentError::Words(words) => E::custom(words),
            ContentError::Type(found, wanted) => E::invalid_type(found.unexpected(), &wanted.as_str()),
            ContentError::Value(found, wanted) => E::invalid_value(found.unexpected(), &wanted.as_str()),
            ContentError::Length(length, wanted) => E::invalid_length(*length, &wanted.as_str()),
            ContentError::Variant(name, known) => E::unknown_variant(name, known),
            ContentError::Field(name, known) => E::unknown_field(name, known),
            ContentError::Missing(name) => E::missing_field(name),
            ContentError::Duplicate(name) => E::duplicate_field(name),
        }
    }
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raise::<value::Error>().fmt(f)
    }
}

impl std::error::Error for ContentError {}

impl Error for ContentError {
    fn custom<T: fmt::Display>(words: T) -> Self {
        ContentError::Words(words.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        ContentError::Type(Found::new(found), wanted.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        ContentError::Value(Found::new(found), wanted.to_string())
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        ContentError::Length(length, wanted.to_string())
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        ContentError::Variant(name.to_owned(), known)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        ContentError::Field(name.to_owned(), known)
    }

    fn missing_field(name: &'static str) -> Self {
        ContentError::Missing(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        ContentError::Duplicate(name)
    }
}

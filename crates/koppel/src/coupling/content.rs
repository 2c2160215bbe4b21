//! Settings as they were read, kept until it is known whose they are.
//!
//! A table says which method it means by `method`, which may stand after the settings. serde buffers such tables for enums that it
//! knows; the list of methods is open, so the buffer is here. What is refused is kept by its parts ([`ContentError`]), so that the reader
//! of a file is told just what serde would have told it.

use super::content_error::ContentError;
use serde::de::Unexpected;
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A value of any format.
#[derive(Clone, Debug)]
pub struct Content(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Nothing,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Content>),
    Table(Vec<(String, Content)>),
}

impl Content {
    /// What a message names, if it is a value that can be kept.
    pub(super) fn of(unexpected: Unexpected<'_>) -> Option<Self> {
        Some(Content(match unexpected {
            Unexpected::Bool(value) => Kind::Bool(value),
            Unexpected::Signed(value) => Kind::Signed(value),
            Unexpected::Unsigned(value) => Kind::Unsigned(value),
            Unexpected::Float(value) => Kind::Float(value),
            Unexpected::Str(text) => Kind::Text(text.to_owned()),
            Unexpected::Unit => Kind::Nothing,
            Unexpected::Seq => Kind::List(Vec::new()),
            Unexpected::Map => Kind::Table(Vec::new()),
            _ => return None,
        }))
    }

    /// A table.
    pub(super) fn table(entries: Vec<(String, Content)>) -> Self {
        Content(Kind::Table(entries))
    }

    /// As a message names it.
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match &self.0 {
            Kind::Nothing => Unexpected::Unit,
            Kind::Bool(value) => Unexpected::Bool(*value),
            Kind::Signed(value) => Unexpected::Signed(*value),
            Kind::Unsigned(value) => Unexpected::Unsigned(*value),
            Kind::Float(value) => Unexpected::Float(*value),
            Kind::Text(text) => Unexpected::Str(text),
            Kind::List(_) => Unexpected::Seq,
            Kind::Table(_) => Unexpected::Map,
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any).map(Content)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Nothing)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kind, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Kind::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Kind, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = table.next_entry()? {
            all.push(entry);
        }
        Ok(Kind::Table(all))
    }
}

impl IntoDeserializer<'_, ContentError> for Content {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Content {
    type Error = ContentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ContentError> {
        match self.0 {
            Kind::Nothing => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(value),
            Kind::Signed(value) => visitor.visit_i64(value),
            Kind::Unsigned(value) => visitor.visit_u64(value),
            Kind::Float(value) => visitor.visit_f64(value),
            Kind::Text(text) => visitor.visit_string(text),
            Kind::List(list) => {
                let mut list = SeqDeserializer::new(list.into_iter());
                let value = visitor.visit_seq(&mut list)?;
                list.end()?;
                Ok(value)
            }
            Kind::Table(table) => {
                let mut table = MapDeserializer::new(table.into_iter());
                let value = visitor.visit_map(&mut table)?;
                table.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ContentError> {
        match self.0 {
            Kind::Nothing => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ContentError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ContentError> {
        match self.0 {
            Kind::Text(name) => visitor.visit_enum(StringDeserializer::new(name)),
            Kind::Table(table) => {
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(table.into_iter())))
            }
            _ => Err(ContentError::invalid_type(self.unexpected(), &"string or map")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

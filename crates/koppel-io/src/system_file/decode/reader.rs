//! A tree as serde reads it. The first refusal is kept with the node it is about, whatever becomes of the error on its way out.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::{Expectation, Found, Refusal};
use crate::system_file::mistake::Span;
use crate::system_file::tree::{Entry, Node, Value};

/// A refusal and where it happened.
pub(super) struct Refused<'a> {
    pub(super) refusal: Refusal,
    /// The node that was read.
    pub(super) node: &'a Node,
    /// The key it stands under.
    pub(super) key: Option<&'a str>,
    /// The key that is refused, if it is one.
    pub(super) at_key: Option<&'a Span>,
}

/// Reads a node, or tells what is refused where.
pub(super) fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Refused<'_>> {
    let first = RefCell::new(None);
    T::deserialize(Reader { node, key: None, first: &first })
        .map_err(|refusal| first.into_inner().unwrap_or(Refused { refusal, node, key: None, at_key: None }))
}

/// Reads one node.
#[derive(Clone, Copy)]
struct Reader<'a, 'c> {
    node: &'a Node,
    key: Option<&'a str>,
    first: &'c RefCell<Option<Refused<'a>>>,
}

impl<'a> Reader<'a, '_> {
    /// Keeps what is refused here, unless something inside was refused before; what went well after all is forgotten.
    fn noted<T>(self, result: Result<T, Refusal>, at_key: Option<&'a Span>) -> Result<T, Refusal> {
        let mut first = self.first.borrow_mut();
        match &result {
            Ok(_) => *first = None,
            Err(refusal) if first.is_none() => {
                let Reader { node, key, .. } = self;
                *first = Some(Refused { refusal: refusal.clone(), node, key, at_key });
            }
            Err(_) => {}
        }
        result
    }

    fn name(self, known: &[&'static str]) -> Result<&'a str, Refusal> {
        let found = match &self.node.value {
            Value::Text(name) => return Ok(name),
            Value::List(_) => Found::List,
            Value::Table(_) => Found::Table,
            Value::Bool(value) => Found::Bool(*value),
            Value::Integer(number) => Found::Number(number.to_string()),
            Value::Float(number) => Found::Number(number.to_string()),
            Value::Date(text) => Found::Text(text.clone()),
        };
        self.noted(Err(Refusal::Wrong { found, wanted: Expectation::Name(known.to_vec()) }), None)
    }
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let result = match &self.node.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) | Value::Date(text) => visitor.visit_str(text),
            Value::List(list) => visitor.visit_seq(Items { reader: self, rest: list.iter() }),
            Value::Table(entries) => {
                visitor.visit_map(Entries { reader: self, rest: entries.iter(), current: None })
            }
        };
        self.noted(result, None)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    /// A number would be taken for the place of a name in the list of all.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let result = visitor.visit_str(self.name(&[])?);
        self.noted(result, None)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let result = visitor.visit_enum(Name(self.name(known)?));
        self.noted(result, None)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}

/// Members of a list.
struct Items<'a, 'c> {
    reader: Reader<'a, 'c>,
    rest: std::slice::Iter<'a, Node>,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refusal> {
        let Some(node) = self.rest.next() else { return Ok(None) };
        seed.deserialize(Reader { node, ..self.reader }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// Entries of a table.
struct Entries<'a, 'c> {
    reader: Reader<'a, 'c>,
    rest: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        self.current = self.rest.next();
        let Some(entry) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Refusal> = entry.name.as_str().into_deserializer();
        let key = seed.deserialize(key);
        self.reader.noted(key, Some(&entry.key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        let Some(entry) = self.current.take() else {
            return Err(Refusal::invalid_type(Unexpected::Map, &"a key before its value"));
        };
        let key = Some(entry.name.as_str());
        seed.deserialize(Reader { node: &entry.node, key, ..self.reader })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// One of several names; settings of their own they have none.
struct Name<'a>(&'a str);

impl<'de> EnumAccess<'de> for Name<'de> {
    type Error = Refusal;
    type Variant = Bare;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Bare), Refusal> {
        let name: StrDeserializer<'_, Refusal> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, Bare))
    }
}

/// A name without anything.
struct Bare;

impl<'de> VariantAccess<'de> for Bare {
    type Error = Refusal;

    fn unit_variant(self) -> Result<(), Refusal> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _seed: T) -> Result<T::Value, Refusal> {
        Err(Refusal::invalid_type(Unexpected::UnitVariant, &"a name with settings"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Refusal> {
        Err(Refusal::invalid_type(Unexpected::UnitVariant, &"a name with settings"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Refusal> {
        Err(Refusal::invalid_type(Unexpected::UnitVariant, &"a name with settings"))
    }
}

//! Whether start values fit the variables they name. No instance is needed.

use super::Value;
use super::ports::{index_text, sizes};
use super::starts::bytes_of;
use crate::description::{Causality, Description, Initial, ValueType, Variability, Variable};
use crate::error::{Error, Result};

/// A value that is given: the variable's place in the description, the element of an array.
pub(super) type Given<'a> = (usize, Option<usize>, &'a Value);

/// Start values of an instance.
pub(super) struct StartValues<'a> {
    pub(super) instance: &'a str,
    pub(super) description: &'a Description,
    pub(super) values: &'a [(String, Value)],
}

impl<'a> StartValues<'a> {
    /// What is to be set: inputs, and all others.
    pub(super) fn given(&self) -> Result<(Vec<Given<'a>>, Vec<Given<'a>>)> {
        let mut values = Vec::new();
        for (name, value) in self.values {
            let (place, element) = self.find(name)?;
            values.push((place, element, value));
        }
        let is_input = |given: &Given<'_>| self.description.variables[given.0].causality == Causality::Input;
        Ok(values.into_iter().partition(is_input))
    }

    /// Start values must name variables that can be set before the start, and have their type and size.
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in self.values {
            let (place, element) = self.find(name)?;
            let variable = &self.description.variables[place];
            let is_start = matches!(variable.initial, Some(Initial::Exact | Initial::Approx));
            let is_clock = variable.value_type == ValueType::Clock;
            if is_clock
                || variable.variability == Variability::Constant
                || !(is_start || variable.causality == Causality::Input)
            {
                let reason = "it is neither a parameter, nor an input, nor does it have a start value";
                return Err(self.not_settable(name, reason.into()));
            }
            let elements = self.description.elements(variable) as usize;
            match (value, element) {
                (Value::List(list), None) if variable.is_array() => {
                    if list.len() != elements {
                        let reason = format!("it has {elements} elements, {} are given", list.len());
                        return Err(self.not_settable(name, reason));
                    }
                    list.iter().try_for_each(|value| self.check_type(name, variable, value))?;
                }
                (_, None) if variable.is_array() => {
                    let reason = format!("it is an array of {elements}: give a list");
                    return Err(self.not_settable(name, reason));
                }
                _ => self.check_type(name, variable, value)?,
            }
        }
        Ok(())
    }

    pub(super) fn not_settable(&self, name: &str, reason: String) -> Box<Error> {
        Error::NotSettable { instance: self.instance.to_owned(), name: name.into(), reason }.into()
    }

    fn check_type(&self, name: &str, variable: &Variable, value: &Value) -> Result<()> {
        let fits = match variable.value_type {
            ValueType::String => matches!(value, Value::Text(_)),
            ValueType::Binary => bytes_of(value).is_some(),
            ValueType::Boolean => value.number().is_some(),
            _ => matches!(value, Value::Number(_) | Value::Integer(_)),
        };
        let (instance, name) = (self.instance.to_owned(), name.into());
        if !fits {
            let (expected, value) = (variable.value_type.name(), value.to_string());
            return Err(Error::WrongType { instance, name, expected, value }.into());
        }
        match value.number().and_then(|number| wanted(self.description, variable, number)) {
            None => Ok(()),
            Some(wanted) => {
                Err(Error::OutOfRange { instance, name, value: value.to_string(), wanted }.into())
            }
        }
    }

    /// Finds a variable by name, or one element of an array.
    pub(super) fn find(&self, name: &str) -> Result<(usize, Option<usize>)> {
        let description = self.description;
        if let Some(place) = description.find(name) {
            return Ok((place, None));
        }
        let array = name.split_once('[').and_then(|(array, _)| description.find(array));
        if let Some(place) = array {
            let variable = &description.variables[place];
            let sizes = sizes(description, variable);
            let index = &name[variable.name.len().min(name.len())..];
            let mut elements = 0..description.elements(variable) as usize;
            if let Some(element) = elements.find(|element| index_text(&sizes, *element) == index) {
                return Ok((place, Some(element)));
            }
        }
        // What is meant to be set comes first.
        let is_set =
            |v: &&Variable| matches!(v.causality, Causality::Parameter | Causality::StructuralParameter);
        let (first, others): (Vec<&Variable>, Vec<&Variable>) =
            description.variables.iter().partition(is_set);
        let known = first.into_iter().chain(others).map(|v| v.name.clone()).collect();
        Err(Error::UnknownVariable { instance: self.instance.to_owned(), name: name.into(), known }.into())
    }
}

/// What a variable takes, if a number is nothing for it.
fn wanted(description: &Description, variable: &Variable, number: f64) -> Option<String> {
    let value_type = variable.value_type;
    if value_type == ValueType::Boolean {
        return (number != 0.0 && number != 1.0).then(|| "a Boolean is true or false, 1 or 0".into());
    }
    let (least, most) = value_type.integer_range()?;
    let whole = number as i128;
    if value_type == ValueType::Enumeration {
        let declared = variable.declared_type.as_deref();
        let definition = description.types.iter().find(|known| Some(known.name.as_str()) == declared);
        let items = definition.map_or(&[][..], |definition| &definition.items);
        if items.is_empty() || items.iter().any(|item| item.value as f64 == number) {
            return (whole as f64 != number).then(|| "an enumeration has whole numbers".into());
        }
        let list: Vec<String> =
            items.iter().take(MOST_ITEMS).map(|item| format!("{} ({})", item.value, item.name)).collect();
        let more = if items.len() > MOST_ITEMS { ", ..." } else { "" };
        return Some(format!("it is one of {}{more}", list.join(", ")));
    }
    let fits = whole as f64 == number && (least..=most).contains(&whole);
    (!fits).then(|| format!("{} holds whole numbers from {least} to {most}", value_type.name()))
}

/// Most items of an enumeration that are named.
const MOST_ITEMS: usize = 10;

//! Start values: parameters, inputs and other variables that are set before the start.

use super::access::Access;
use super::ports::{Slot, exact_start, index_text, sizes, start_value};
use super::{Base, Value};
use crate::description::{Causality, Description, Initial, Start, ValueType, Variability, Variable};
use crate::error::{Error, Result};
use koppel::system::Message;

/// A value that is given: the variable's place in the description, the element of an array.
pub(super) type Given<'a> = (usize, Option<usize>, &'a Value);

/// A description in which structural parameters and inputs of many digits have these values; `None` if none is among them.
pub(super) fn resized(
    description: &Description,
    instance: &str,
    values: &[(String, Value)],
) -> Result<Option<Description>> {
    let mut resized = None;
    for (name, value) in values {
        let Some(place) = description.find(name) else { continue };
        let variable = &description.variables[place];
        if let (Causality::Input, Value::Integer(number), false) =
            (variable.causality, value, variable.is_array())
        {
            // While nothing is connected it keeps all of its digits.
            let resized = resized.get_or_insert_with(|| description.clone());
            resized.variables[place].start = Some(Start::Integers(vec![(*number).into()]));
            continue;
        }
        let is_size = variable.causality == Causality::StructuralParameter && !variable.is_array();
        let Some((least, most)) = variable.value_type.integer_range().filter(|_| is_size) else { continue };
        let refused = || Error::WrongType {
            instance: instance.into(),
            name: name.clone(),
            expected: variable.value_type.name(),
            value: value.to_string(),
        };
        let Some(number) = value.number() else { return Err(refused().into()) };
        let size = number as i128;
        if size as f64 != number || size < least.max(0) || size > most {
            return Err(refused().into());
        }
        let resized = resized.get_or_insert_with(|| description.clone());
        resized.variables[place].start = Some(Start::Integers(vec![size]));
    }
    Ok(resized)
}

/// Inputs that are given a value keep it while nothing is connected.
pub(super) fn start_inputs(inputs: &mut [koppel::system::Variable], values: &[(String, Value)]) {
    for (name, value) in values {
        match value {
            Value::Number(_) | Value::Integer(_) => {
                let named = inputs.iter_mut().find(|input| input.name == *name);
                named.zip(value.number()).into_iter().for_each(|(input, number)| input.start = number);
            }
            Value::List(list) => {
                let is_element = |input: &&mut koppel::system::Variable| {
                    input.name.strip_prefix(name.as_str()).is_some_and(|index| index.starts_with('['))
                };
                for (input, value) in inputs.iter_mut().filter(is_element).zip(list) {
                    if let Some(number) = value.number() {
                        input.start = number;
                    }
                }
            }
            Value::Text(_) | Value::Bytes(_) => {}
        }
    }
}

impl Base {
    /// Start values must name variables that can be set before the start, and have their type and size.
    pub(super) fn check_start_values(&self) -> Result<()> {
        for (name, value) in &self.options.start_values {
            let (place, element) = self.find(name)?;
            let variable = &self.description().variables[place];
            let is_start = matches!(variable.initial, Some(Initial::Exact | Initial::Approx));
            let is_clock = variable.value_type == ValueType::Clock;
            if is_clock
                || variable.variability == Variability::Constant
                || !(is_start || variable.causality == Causality::Input)
            {
                let reason = "it is neither a parameter, nor an input, nor does it have a start value";
                return Err(self.not_settable(name, reason.into()));
            }
            let elements = self.description().elements(variable) as usize;
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

    fn not_settable(&self, name: &str, reason: String) -> Box<Error> {
        Error::NotSettable { instance: self.name.clone(), name: name.into(), reason }.into()
    }

    fn check_type(&self, name: &str, variable: &Variable, value: &Value) -> Result<()> {
        let fits = match variable.value_type {
            ValueType::String => matches!(value, Value::Text(_)),
            ValueType::Binary => bytes_of(value).is_some(),
            _ => value.number().is_some(),
        };
        let (instance, name) = (self.name.clone(), name.into());
        if !fits {
            let (expected, value) = (variable.value_type.name(), value.to_string());
            return Err(Error::WrongType { instance, name, expected, value }.into());
        }
        match value.number().and_then(|number| wanted(self.description(), variable, number)) {
            None => Ok(()),
            Some(wanted) => {
                Err(Error::OutOfRange { instance, name, value: value.to_string(), wanted }.into())
            }
        }
    }

    /// Finds a variable by name, or one element of an array.
    pub(super) fn find(&self, name: &str) -> Result<(usize, Option<usize>)> {
        let description = self.description();
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
        Err(Error::UnknownVariable { instance: self.name.clone(), name: name.into(), known }.into())
    }

    /// What is to be set: inputs, and all others.
    pub(super) fn given_values(&self) -> Result<(Vec<Given<'_>>, Vec<Given<'_>>)> {
        let mut values = Vec::new();
        for (name, value) in &self.options.start_values {
            let (place, element) = self.find(name)?;
            values.push((place, element, value));
        }
        let is_input =
            |given: &Given<'_>| self.description().variables[given.0].causality == Causality::Input;
        Ok(values.into_iter().partition(is_input))
    }

    pub(super) fn apply_start_values(&self, values: &[Given<'_>]) -> Result<()> {
        let is_structural =
            |place: usize| self.description().variables[place].causality == Causality::StructuralParameter;
        if let super::access::Backend::Three(fmu) = &self.backend
            && values.iter().any(|(place, ..)| is_structural(*place))
        {
            self.called(fmu.enter_configuration_mode())?;
            for (place, element, value) in values.iter().filter(|(place, ..)| is_structural(*place)) {
                self.apply(*place, *element, value)?;
            }
            self.called(fmu.exit_configuration_mode())?;
        }
        let mut done: Vec<usize> = Vec::new();
        for (place, element, value) in values.iter().filter(|(place, ..)| !is_structural(*place)) {
            if element.is_none() {
                self.apply(*place, None, value)?;
            } else if !done.contains(place) {
                done.push(*place);
                let of_it = values.iter().filter(|(other, ..)| other == place);
                self.apply_elements(*place, of_it.map(|(_, element, value)| (*element, *value)))?;
            }
        }
        Ok(())
    }

    /// Single elements of an array of numbers; the others keep their start values, or what a list gave them.
    fn apply_elements<'a>(
        &self,
        place: usize,
        given: impl Iterator<Item = (Option<usize>, &'a Value)>,
    ) -> Result<()> {
        let variable = &self.description().variables[place];
        let elements = self.description().elements(variable) as usize;
        let start = |element: usize| match exact_start(variable, element).map(i64::try_from) {
            Some(Ok(number)) => Value::Integer(number),
            _ => Value::Number(start_value(variable, element)),
        };
        let mut all: Vec<Value> = (0..elements).map(start).collect();
        if matches!(variable.value_type, ValueType::String | ValueType::Binary) {
            return Err(self.not_settable(&variable.name, "give all its elements as a list".into()));
        }
        for (element, value) in given {
            match (element, value) {
                (Some(element), value) => all[element] = value.clone(),
                (None, Value::List(list)) => all.clone_from(list),
                _ => {}
            }
        }
        self.apply(place, None, &Value::List(all))
    }

    fn apply(&self, place: usize, element: Option<usize>, value: &Value) -> Result<()> {
        let variable = &self.description().variables[place];
        let values = match value {
            Value::List(list) => list.as_slice(),
            value => std::slice::from_ref(value),
        };
        if matches!(variable.value_type, ValueType::String | ValueType::Binary) {
            let message = |value: &Value| match value {
                Value::Text(text) if variable.value_type == ValueType::String => Message::Text(text.clone()),
                value => Message::Bytes(bytes_of(value).unwrap_or_default()),
            };
            let messages: Vec<Message> = values.iter().map(message).collect();
            return self.called(self.backend.set_messages(variable, messages.iter()));
        }
        let slots: Vec<Slot> = (0..values.len()).map(|element| Slot { variable: place, element }).collect();
        let numbers: Vec<f64> = values.iter().map(|value| value.number().unwrap_or(f64::NAN)).collect();
        debug_assert!(element.is_none(), "elements are set together");
        let mut access = Access::new(self.description(), &slots);
        for (place, value) in values.iter().enumerate() {
            if let Value::Integer(number) = value {
                access.keep_exact(place, Some((*number).into()));
            }
        }
        self.accessed(access.write(&self.backend, &mut self.scratch.borrow_mut(), &numbers), &slots)
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

/// Bytes as they are, or written in hexadecimal digits.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::Text(text) if text.len().is_multiple_of(2) && text.is_ascii() => {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
        }
        _ => None,
    }
}

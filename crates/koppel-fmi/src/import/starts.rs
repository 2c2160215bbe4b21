//! Start values: parameters, inputs and other variables that are set before the start.

use super::access::{Access, Scratch};
use super::binding::Binding;
use super::ports::{Slot, exact_start, start_value};
use super::start_values::Given;
use super::{Options, Value, messages};
use crate::description::{Causality, Description, Start, ValueType, Variability, Variable};
use crate::error::{Error, Result};
use crate::xml::hexadecimal;
use koppel::system::Message;

/// The description an instance follows where it is not the FMU's own: sizes of arrays, discrete reals that are continuous, and
/// nothing declared that is done without; `None` if the options change nothing.
pub(super) fn adapted(description: &Description, options: &Options) -> Result<Option<Box<Description>>> {
    let hidden = options.without.hidden(description);
    let resized = resized(hidden.as_ref().unwrap_or(description), &options.name, &options.start_values)?;
    let adapted = resized.or(hidden);
    if options.continuous.is_empty() {
        return Ok(adapted.map(Box::new));
    }
    let mut adapted = adapted.unwrap_or_else(|| description.clone());
    for name in &options.continuous {
        let is_one = |v: &Variable| {
            v.value_type.is_float() && matches!(v.causality, Causality::Input | Causality::Output)
        };
        let place = adapted.find(name).filter(|place| is_one(&adapted.variables[*place]));
        let Some(place) = place else {
            let instance = options.name.clone();
            let known =
                adapted.variables.iter().filter(|v| is_one(v) && v.variability == Variability::Discrete);
            let known = known.map(|v| v.name.clone()).collect();
            return Err(Error::UnknownVariable { instance, name: name.clone(), known }.into());
        };
        adapted.variables[place].variability = Variability::Continuous;
    }
    Ok(Some(Box::new(adapted)))
}

/// A description in which structural parameters and inputs of many digits have these values; `None` if none is among them.
fn resized(
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
            Value::Number(_) | Value::Integer(_) | Value::Boolean(_) => {
                let named = inputs.iter_mut().find(|input| input.name == *name);
                named.into_iter().for_each(|input| input.start = value.number().unwrap_or(input.start));
            }
            Value::List(list) => {
                let is_element = |input: &&mut koppel::system::Variable| {
                    input.name.strip_prefix(name.as_str()).is_some_and(|index| index.starts_with('['))
                };
                for (input, value) in inputs.iter_mut().filter(is_element).zip(list) {
                    input.start = value.number().unwrap_or(input.start);
                }
            }
            Value::Text(_) | Value::Bytes(_) => {}
        }
    }
}

/// Sets these values.
pub(super) fn apply_all(binding: &Binding, values: &[Given<'_>]) -> Result<()> {
    let is_structural =
        |place: usize| binding.description().variables[place].causality == Causality::StructuralParameter;
    if values.iter().any(|(place, ..)| is_structural(*place)) {
        binding.called(binding.backend.enter_configuration_mode())?;
        for (place, element, value) in values.iter().filter(|(place, ..)| is_structural(*place)) {
            apply(binding, *place, *element, value)?;
        }
        binding.called(binding.backend.exit_configuration_mode())?;
    }
    let mut done: Vec<usize> = Vec::new();
    for (place, element, value) in values.iter().filter(|(place, ..)| !is_structural(*place)) {
        if element.is_none() {
            apply(binding, *place, None, value)?;
        } else if !done.contains(place) {
            done.push(*place);
            let of_it = values.iter().filter(|(other, ..)| other == place);
            apply_elements(binding, *place, of_it.map(|(_, element, value)| (*element, *value)))?;
        }
    }
    Ok(())
}

/// Single elements of an array of numbers; the others keep their start values, or what a list gave them.
fn apply_elements<'a>(
    binding: &Binding,
    place: usize,
    given: impl Iterator<Item = (Option<usize>, &'a Value)>,
) -> Result<()> {
    let variable = &binding.description().variables[place];
    let elements = binding.description().elements(variable) as usize;
    let start = |element: usize| match exact_start(variable, element).map(i64::try_from) {
        Some(Ok(number)) => Value::Integer(number),
        _ => Value::Number(start_value(variable, element)),
    };
    let mut all: Vec<Value> = (0..elements).map(start).collect();
    if matches!(variable.value_type, ValueType::String | ValueType::Binary) {
        let (instance, name) = (binding.name.clone(), variable.name.clone());
        let reason = "give all its elements as a list".to_owned();
        return Err(Error::NotSettable { instance, name, reason }.into());
    }
    for (element, value) in given {
        match (element, value) {
            (Some(element), value) => all[element] = value.clone(),
            (None, Value::List(list)) => all.clone_from(list),
            _ => {}
        }
    }
    apply(binding, place, None, &Value::List(all))
}

fn apply(binding: &Binding, place: usize, element: Option<usize>, value: &Value) -> Result<()> {
    let variable = &binding.description().variables[place];
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
        return binding.called(messages::set_messages(&binding.backend, variable, messages.iter()));
    }
    let slots: Vec<Slot> = (0..values.len()).map(|element| Slot { variable: place, element }).collect();
    let numbers: Vec<f64> = values.iter().map(|value| value.number().unwrap_or(f64::NAN)).collect();
    debug_assert!(element.is_none(), "elements are set together");
    let mut access = Access::new(binding.description(), &slots);
    for (place, value) in values.iter().enumerate() {
        if let Value::Integer(number) = value {
            access.keep_exact(place, Some((*number).into()));
        }
    }
    binding.accessed(access.write(&binding.backend, &mut Scratch::default(), &numbers), &slots)
}

/// Bytes as they are, or written in hexadecimal digits.
pub(super) fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::Text(text) => hexadecimal(text),
        _ => None,
    }
}

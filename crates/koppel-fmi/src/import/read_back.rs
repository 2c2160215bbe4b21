//! Parameters read back after initialization: an FMU that has lost one computes something else than it was asked for.

use super::access::{Access, Scratch};
use super::binding::Binding;
use super::ports::Slot;
use super::start_values::Given;
use super::{Value, messages};
use crate::description::{Causality, ValueType, Variable};
use koppel::system::Message;

/// Which parameters the FMU does not have as they were given, in words.
#[cold]
pub(super) fn lost(binding: &Binding, given: &[Given<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for given in given {
        let variable = &binding.description().variables[given.0];
        let is_parameter =
            matches!(variable.causality, Causality::Parameter | Causality::StructuralParameter);
        let found = difference(binding, variable, given).filter(|_| is_parameter);
        all.extend(found.map(|(asked, found)| {
            format!(
                "`{}` was set to {asked}, but is {found} after initialization: the FMU uses another value than the given one",
                variable.name
            )
        }));
    }
    all
}

/// What was given and what the FMU has, if they differ. An FMU that does not tell is not asked twice.
fn difference(
    binding: &Binding,
    variable: &Variable,
    (place, element, value): &Given<'_>,
) -> Option<(String, String)> {
    let values = match value {
        Value::List(list) => list.as_slice(),
        value => std::slice::from_ref(*value),
    };
    if variable.value_type == ValueType::String {
        let (Value::Text(asked), false) = (value, variable.is_array()) else { return None };
        let mut found = Message::Text(String::new());
        let slot = Slot { variable: *place, element: 0 };
        messages::get_message(&binding.backend, binding.description(), slot, &mut found).ok()?;
        let Message::Text(found) = found else { return None };
        return (found != *asked).then(|| (format!("{asked:?}"), format!("{found:?}")));
    }
    if variable.value_type == ValueType::Binary {
        return None;
    }
    let elements = binding.description().elements(variable) as usize;
    let slots: Vec<Slot> = (0..elements).map(|element| Slot { variable: *place, element }).collect();
    let access = Access::new(binding.description(), &slots).rounding();
    let mut found = vec![0.0; elements];
    access.read(&binding.backend, &mut Scratch::default(), &mut found).ok()?;
    let found = found.iter().skip(element.unwrap_or(0));
    let numbers = values.iter().filter_map(Value::number);
    let mut pairs = numbers.zip(found);
    let (asked, found) = pairs.find(|(asked, found)| !is_same(variable.value_type, *asked, **found))?;
    Some((asked.to_string(), found.to_string()))
}

/// Equal as far as numbers of this type can be.
fn is_same(value_type: ValueType, asked: f64, found: f64) -> bool {
    let precision = match value_type {
        ValueType::Float64 => f64::EPSILON,
        ValueType::Float32 => f64::from(f32::EPSILON),
        _ => 0.0,
    };
    asked == found
        || (asked - found).abs() <= 4.0 * precision * asked.abs()
        || asked.is_nan() && found.is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_with_the_precision_of_their_type() {
        assert!(is_same(ValueType::Float64, 0.1, 0.1 * 3.0 / 3.0));
        assert!(!is_same(ValueType::Float64, 0.1, f64::from(0.1_f32)));
        assert!(is_same(ValueType::Float32, 0.1, f64::from(0.1_f32)));
        assert!(!is_same(ValueType::Int32, 3.0, 4.0));
        assert!(!is_same(ValueType::Float64, 0.0, 1e-300));
    }
}

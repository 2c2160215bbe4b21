//! Parameters read back after initialization: an FMU that has lost one computes something else than it was asked for.

use super::access::{Access, Scratch};
use super::ports::Slot;
use super::starts::Given;
use super::{Base, Value, messages};
use crate::description::{Causality, ValueType, Variable};
use koppel::system::Message;

impl Base {
    /// Says which parameters the FMU does not have as they were given.
    #[cold]
    pub(super) fn warn_of_lost_parameters(&self) {
        let (Some(_), Ok((_, given))) = (&self.options.log, self.given_values()) else { return };
        for given in &given {
            let variable = &self.description().variables[given.0];
            let is_parameter =
                matches!(variable.causality, Causality::Parameter | Causality::StructuralParameter);
            let Some((asked, found)) = self.difference(variable, given).filter(|_| is_parameter) else {
                continue;
            };
            let text = format!(
                "`{}` was set to {asked}, but the FMU has {found} after its initialization: it computes with another value than the one given",
                variable.name
            );
            self.warn(self.backend.log().time(), text);
        }
    }

    /// What was given and what the FMU has, if they differ. An FMU that does not tell is not asked twice.
    fn difference(
        &self,
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
            messages::get_message(&self.backend, self.description(), slot, &mut found).ok()?;
            let Message::Text(found) = found else { return None };
            return (found != *asked).then(|| (format!("{asked:?}"), format!("{found:?}")));
        }
        if variable.value_type == ValueType::Binary {
            return None;
        }
        let elements = self.description().elements(variable) as usize;
        let slots: Vec<Slot> = (0..elements).map(|element| Slot { variable: *place, element }).collect();
        let access = Access::new(self.description(), &slots).rounding();
        let mut found = vec![0.0; elements];
        access.read(&self.backend, &mut Scratch::default(), &mut found).ok()?;
        let found = found.iter().skip(element.unwrap_or(0));
        let numbers = values.iter().filter_map(Value::number);
        let mut pairs = numbers.zip(found);
        let (asked, found) = pairs.find(|(asked, found)| !is_same(variable.value_type, *asked, **found))?;
        Some((asked.to_string(), found.to_string()))
    }
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

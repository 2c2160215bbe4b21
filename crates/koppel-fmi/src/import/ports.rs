//! Variables of an FMU as ports of a subsystem.
//!
//! Everything that is a number without loss is a port: floats, integers, Booleans (0 and 1) and enumerations. Arrays are
//! taken apart into elements `name[1]`, `name[1,2]`, .... Strings, binaries and triggered clocks that come in or go out are
//! message ports; clocks that tick by themselves are no ports.

use super::{messages, terminals};
use crate::description::{
    BaseUnit, Causality, Description, Dimension, Start, ValueType, Variability, Variable,
};
use koppel::system::{Dependencies, Ports, Variable as Port};
use koppel::unit::Unit;
use std::collections::HashMap;

/// Largest array that is taken apart.
pub(super) const MAX_ELEMENTS: u64 = 10_000;

/// One port: an element of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) variable: usize,
    pub(super) element: usize,
}

/// The slots behind [`Ports`], in the same order.
#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) inputs: Vec<Slot>,
    pub(super) outputs: Vec<Slot>,
    pub(super) parameters: Vec<Slot>,
    pub(super) locals: Vec<Slot>,
    pub(super) message_inputs: Vec<Slot>,
    pub(super) message_outputs: Vec<Slot>,
}

/// All ports of an FMU, without an instance of it.
pub fn ports(description: &Description) -> Ports {
    of(description).0
}

/// All ports of an FMU.
pub(super) fn of(description: &Description) -> (Ports, Slots) {
    let (mut ports, mut slots) = (Ports::default(), Slots::default());
    let units: HashMap<&str, Option<BaseUnit>> =
        description.units.iter().map(|unit| (unit.name.as_str(), unit.base)).collect();
    for (place, variable) in description.variables.iter().enumerate() {
        let elements = description.elements(variable);
        if elements > MAX_ELEMENTS {
            continue;
        }
        if !is_number(variable.value_type) {
            messages::add_ports(description, place, &mut ports, &mut slots);
            continue;
        }
        let (list, slot_list) = match variable.causality {
            Causality::Input => (&mut ports.inputs, &mut slots.inputs),
            Causality::Output => (&mut ports.outputs, &mut slots.outputs),
            Causality::Parameter => (&mut ports.parameters, &mut slots.parameters),
            _ => (&mut ports.locals, &mut slots.locals),
        };
        let unit = unit_of(variable, &units);
        let sizes = sizes(description, variable);
        for element in 0..elements as usize {
            let (unit, definition) = unit.clone().unzip();
            list.push(Port {
                unit,
                definition: definition.flatten(),
                nominal: variable.attributes.nominal,
                start: start_value(variable, element),
                description: variable.description.clone().unwrap_or_default(),
                is_held: variable.variability != Variability::Continuous,
                is_discrete_real: variable.variability == Variability::Discrete
                    && variable.value_type.is_float()
                    && variable.clocks.is_empty(),
                is_fixed: variable.causality == Causality::Parameter
                    && variable.variability != Variability::Tunable,
                is_wide: matches!(variable.value_type, ValueType::Int64 | ValueType::UInt64),
                ..Port::new(format!("{}{}", variable.name, index_text(&sizes, element)))
            });
            slot_list.push(Slot { variable: place, element });
        }
    }
    add_dependencies(description, &slots, &mut ports);
    ports.terminals = terminals::of(description);
    (ports, slots)
}

fn is_number(value_type: ValueType) -> bool {
    !matches!(value_type, ValueType::String | ValueType::Binary | ValueType::Clock)
}

pub(super) fn sizes(description: &Description, variable: &Variable) -> Vec<usize> {
    let size = |dimension: &Dimension| match dimension {
        Dimension::Fixed(size) => *size as usize,
        Dimension::Parameter(place) => start_value(&description.variables[*place], 0) as usize,
    };
    variable.dimensions.iter().map(size).collect()
}

/// `[2,1]` for an element in row-major order; nothing for a scalar.
pub(super) fn index_text(sizes: &[usize], element: usize) -> String {
    if sizes.is_empty() {
        return String::new();
    }
    let mut rest = element;
    let mut indices: Vec<String> = Vec::new();
    for size in sizes.iter().rev() {
        indices.push((rest % size.max(&1) + 1).to_string());
        rest /= size.max(&1);
    }
    indices.reverse();
    format!("[{}]", indices.join(","))
}

pub(super) fn start_value(variable: &Variable, element: usize) -> f64 {
    let pick = |length: usize| if length == 1 { 0 } else { element };
    match &variable.start {
        Some(Start::Reals(list)) => list.get(pick(list.len())).copied().unwrap_or(0.0),
        Some(Start::Integers(list)) => list.get(pick(list.len())).map_or(0.0, |value| *value as f64),
        Some(Start::Booleans(list)) => {
            list.get(pick(list.len())).map_or(0.0, |value| f64::from(u8::from(*value)))
        }
        _ => 0.0,
    }
}

/// The same as the integer it is.
pub(super) fn exact_start(variable: &Variable, element: usize) -> Option<i128> {
    let Some(Start::Integers(list)) = &variable.start else { return None };
    list.get(if list.len() == 1 { 0 } else { element }).copied()
}

/// What tools write where a variable has no unit.
const NO_UNITS: [&str; 5] = ["null", "none", "None", "n/a", "undefined"];

/// The name of a unit and, where the engine would not read it as the FMU means it, its definition. A name that neither
/// the FMU nor the engine knows the meaning of is kept: connections tell of it.
fn unit_of(variable: &Variable, units: &HashMap<&str, Option<BaseUnit>>) -> Option<(String, Option<Unit>)> {
    let name = variable.attributes.unit.as_deref()?;
    let Some(base) = units.get(name).copied().flatten() else {
        let is_unit = !name.trim().is_empty() && !NO_UNITS.contains(&name.trim());
        return is_unit.then(|| (name.to_owned(), None));
    };
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    let agrees = Unit::parse(name).is_ok_and(|unit| {
        unit.exponents == base.exponents && close(unit.factor, base.factor) && close(unit.offset, base.offset)
    });
    if agrees {
        return Some((name.to_owned(), None));
    }
    let defined = Unit::from_base(name, base.exponents, base.factor, base.offset).ok()?;
    Some((name.to_owned(), Some(defined)))
}

/// Which inputs act on an output directly, as the model structure says.
fn add_dependencies(description: &Description, slots: &Slots, ports: &mut Ports) {
    let mut inputs_of: HashMap<usize, Vec<usize>> = HashMap::new();
    for (input, slot) in slots.inputs.iter().enumerate() {
        inputs_of.entry(slot.variable).or_default().push(input);
    }
    let unknowns: HashMap<usize, _> = description
        .structure
        .outputs
        .iter()
        .map(|unknown| (unknown.variable, &unknown.dependencies))
        .collect();
    for (port, slot) in ports.outputs.iter_mut().zip(&slots.outputs) {
        port.depends = match unknowns.get(&slot.variable) {
            Some(Some(list)) => {
                let inputs = list.iter().filter_map(|dependency| inputs_of.get(&dependency.variable));
                let inputs: Vec<usize> = inputs.flatten().copied().collect();
                if inputs.is_empty() { Dependencies::None } else { Dependencies::On(inputs) }
            }
            _ if inputs_of.is_empty() => Dependencies::None,
            _ => Dependencies::Unknown,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports_of(text: &str) -> Ports {
        of(&Description::parse(text.as_bytes(), "modelDescription.xml").unwrap()).0
    }

    #[test]
    fn fmi2_variables_become_ports() {
        let ports = ports_of(include_str!("../../tests/fixtures/fmi2.xml"));
        let names = |list: &[Port]| list.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ports.inputs), ["force", "on", "gear"]);
        assert_eq!(names(&ports.outputs), ["body.x", "count"]);
        assert_eq!(names(&ports.parameters), ["mass"], "a string is no port");
        assert_eq!(ports.inputs.iter().map(|port| port.start).collect::<Vec<_>>(), [1.5, 1.0, -1.0]);
        assert_eq!(ports.inputs[0].unit.as_deref(), Some("N"));
        assert_eq!(ports.inputs[0].nominal, Some(100.0));
        assert_eq!(ports.outputs[0].depends, Dependencies::None);
        assert_eq!(ports.outputs[1].depends, Dependencies::Unknown);
    }

    #[test]
    fn fmi3_arrays_are_taken_apart() {
        let ports = ports_of(include_str!("../../tests/fixtures/fmi3.xml"));
        let find = |name: &str| ports.find_any(name).map(|id| ports.variable(id).start);
        assert_eq!(find("matrix[1,3]"), Some(3.0));
        assert_eq!(find("matrix[2,1]"), Some(4.0));
        assert_eq!(find("matrix[3,1]"), None);
        assert_eq!(find("vector[3]"), Some(0.0));
        assert_eq!(find("flags[2]"), Some(0.0));
        assert_eq!(ports.outputs[0].depends, Dependencies::On(vec![0]));
    }

    #[test]
    fn units_the_engine_does_not_know_bring_their_definition() {
        let unit = |name: &str, base: Option<BaseUnit>| {
            let text = include_str!("../../tests/fixtures/fmi2.xml");
            let mut description = Description::parse(text.as_bytes(), "x").unwrap();
            description.variables[0].attributes.unit = Some(name.into());
            let found = unit_of(&description.variables[0], &HashMap::from([(name, base)]))?;
            assert_eq!(found.0, name);
            Some(found.1.map(|unit| (unit.dimension(), unit.factor)))
        };
        let speed = |factor| Some(BaseUnit { exponents: [0, 1, -1, 0, 0, 0, 0, 0], factor, offset: 0.0 });
        let defined = |factor| Some(Some(("m.s-1".to_owned(), factor)));
        assert_eq!(unit("m/s", speed(1.0)), Some(None));
        assert_eq!(unit("velocity", speed(1.0)), defined(1.0));
        assert_eq!(unit("knots of mine", speed(0.5)), defined(0.5));
        assert_eq!(unit("kg", speed(1.0)), defined(1.0), "the FMU's own meaning counts");
        assert_eq!(unit("no unit at all", None), Some(None), "its name is kept");
        assert_eq!(unit("null", None), None);
    }
}

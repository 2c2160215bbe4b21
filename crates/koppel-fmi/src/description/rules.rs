//! Rules that need the whole list of variables. Those that real exporters break without harm are warnings.

use super::model::{
    Causality, Description, FmiVersion, Initial, Start, Unknown, ValueType, Variability, Variable,
};
use super::problem::Problem;
use super::xml::{Element, Result};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// A variable's element, and the one with its typed attributes.
type Elements<'e> = (Element<'e>, Element<'e>);

/// Names, references and combinations.
pub(super) fn check_variables(elements: &[Elements<'_>], description: &Description) -> Result<()> {
    check_names(elements, description)?;
    check_references(elements, description)?;
    let units: HashSet<&str> = description.units.iter().map(|unit| unit.name.as_str()).collect();
    let mut independents = 0;
    for ((element, inner), variable) in elements.iter().zip(&description.variables) {
        check_combination(*element, variable)?;
        check_initial(*element, variable);
        check_start(*inner, variable);
        check_unit(*inner, variable, &units, description);
        independents += usize::from(variable.causality == Causality::Independent);
        if independents > 1 {
            return Err(element.error(Problem::TwoIndependents));
        }
    }
    Ok(())
}

/// Rules about the whole.
pub(super) fn check(root: Element<'_>, description: &Description) -> Result<()> {
    let is = |wanted: Causality| description.variables.iter().any(|v| v.causality == wanted);
    if description.fmi_version == FmiVersion::Fmi3 && !is(Causality::Independent) {
        root.warn(Problem::NoIndependent);
    }
    let structure = &description.structure;
    check_roles(root, description, &structure.outputs, "an output", |v| v.causality == Causality::Output);
    let derivatives = &structure.continuous_state_derivatives;
    check_roles(root, description, derivatives, "a derivative", |v| v.derivative.is_some());
    let listed: HashSet<usize> = structure.outputs.iter().map(|unknown| unknown.variable).collect();
    for (place, variable) in description.variables.iter().enumerate() {
        if variable.causality == Causality::Output
            && variable.value_type != ValueType::Clock
            && !listed.contains(&place)
        {
            root.warn(Problem::UnlistedOutput { name: variable.name.clone() });
        }
    }
    Ok(())
}

fn check_roles(
    root: Element<'_>,
    description: &Description,
    unknowns: &[Unknown],
    role: &'static str,
    fits: impl Fn(&Variable) -> bool,
) {
    for unknown in unknowns {
        let variable = &description.variables[unknown.variable];
        if !fits(variable) {
            root.warn(Problem::Role { name: variable.name.clone(), role });
        }
    }
}

fn check_names(elements: &[Elements<'_>], description: &Description) -> Result<()> {
    let mut names = HashSet::new();
    for ((element, _), variable) in elements.iter().zip(&description.variables) {
        let aliases = variable.aliases.iter().map(|alias| &alias.name);
        for name in std::iter::once(&variable.name).chain(aliases) {
            if !names.insert(name) {
                return Err(element.error(Problem::Duplicate { what: "variable", name: name.clone() }));
            }
        }
    }
    Ok(())
}

/// FMI 3.0 references are unique. In FMI 2.0 equal references of one type are aliases, of which one at most is set.
fn check_references(elements: &[Elements<'_>], description: &Description) -> Result<()> {
    let mut first: HashMap<(u32, u8), usize> = HashMap::new();
    for (place, variable) in description.variables.iter().enumerate() {
        let element = elements[place].0;
        let class = match description.fmi_version {
            FmiVersion::Fmi3 => 0,
            FmiVersion::Fmi2 => class(variable.value_type),
        };
        let reference = variable.value_reference;
        let Entry::Occupied(mut entry) = first.entry((reference, class)) else {
            first.insert((reference, class), place);
            continue;
        };
        let other = &description.variables[*entry.get()];
        let name = || other.name.clone();
        if description.fmi_version == FmiVersion::Fmi3 {
            return Err(element.error(Problem::DuplicateReference { reference, first: name() }));
        }
        if is_set(variable) && is_set(other) {
            return Err(element.error(Problem::AmbiguousAlias { reference, first: name() }));
        }
        if variable.attributes.unit != other.attributes.unit {
            let first_unit = other.attributes.unit.clone().unwrap_or_else(|| "1".into());
            element.warn(Problem::AliasUnit { reference, first: name(), first_unit });
        }
        if is_set(variable) {
            entry.insert(place);
        }
    }
    Ok(())
}

/// Types of FMI 2.0 that share references.
fn class(value_type: ValueType) -> u8 {
    match value_type {
        ValueType::Float64 => 0,
        ValueType::Int32 | ValueType::Enumeration => 1,
        ValueType::Boolean => 2,
        _ => 3,
    }
}

fn is_set(variable: &Variable) -> bool {
    matches!(variable.causality, Causality::Input | Causality::Parameter)
}

fn check_combination(element: Element<'_>, variable: &Variable) -> Result<()> {
    use {Causality as C, Variability as V};
    let Variable { causality, variability, value_type, .. } = *variable;
    let fits = match causality {
        C::Parameter | C::CalculatedParameter | C::StructuralParameter => {
            matches!(variability, V::Fixed | V::Tunable)
        }
        C::Input => matches!(variability, V::Discrete | V::Continuous),
        C::Output => matches!(variability, V::Constant | V::Discrete | V::Continuous),
        C::Local => true,
        C::Independent => variability == V::Continuous,
    };
    if !fits {
        return Err(element.error(Problem::Combination { causality, variability }));
    }
    if variability == V::Continuous && !value_type.is_float() {
        return Err(element.error(Problem::NotContinuous));
    }
    let is_whole = value_type.integer_range().is_some() || value_type == ValueType::Boolean;
    if causality == C::StructuralParameter && !is_whole {
        return Err(element.error(Problem::StructuralType));
    }
    Ok(())
}

/// Whether `initial` and `start` go with causality and variability.
fn check_initial(element: Element<'_>, variable: &Variable) {
    use {Causality as C, Initial as I, Variability as V};
    let is_written = element.raw("initial").is_some();
    let fits = match (variable.causality, variable.variability, variable.initial) {
        (_, _, None) => true,
        (C::Independent, ..) => false,
        (C::Input, _, Some(initial)) => !is_written || initial == I::Exact,
        (_, V::Constant, Some(initial)) => initial == I::Exact,
        (C::Parameter | C::StructuralParameter, _, Some(initial)) => initial == I::Exact,
        (C::CalculatedParameter, _, Some(initial)) => initial != I::Exact,
        (C::Local, V::Fixed | V::Tunable, Some(initial)) => initial != I::Exact,
        (C::Output | C::Local, ..) => true,
    };
    if !fits {
        element.warn(Problem::Initial);
    }
    if variable.value_type == ValueType::Clock {
        return;
    }
    let needs_start = variable.causality == C::Input
        || variable.causality != C::Independent && matches!(variable.initial, Some(I::Exact | I::Approx));
    match (&variable.start, needs_start) {
        (None, true) => element.warn(Problem::MissingStart),
        (Some(_), false) => element.warn(Problem::UselessStart),
        _ => {}
    }
}

fn check_start(element: Element<'_>, variable: &Variable) {
    let (min, max) = (variable.attributes.min, variable.attributes.max);
    if min.is_none() && max.is_none() {
        return;
    }
    let (min, max) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
    let outside = |value: &f64| *value < min || *value > max;
    let found = match &variable.start {
        Some(Start::Reals(list)) => list.iter().copied().find(outside),
        Some(Start::Integers(list)) => list.iter().map(|value| *value as f64).find(outside),
        _ => None,
    };
    if let Some(start) = found {
        element.warn(Problem::StartOutside { start, min, max });
    }
}

fn check_unit(element: Element<'_>, variable: &Variable, units: &HashSet<&str>, description: &Description) {
    let Some(unit) = variable.attributes.unit.as_deref() else { return };
    if !units.contains(unit) {
        if element.raw("unit").is_some() {
            element.warn(Problem::Unknown { what: "unit", name: unit.into(), close: None });
        }
        return;
    }
    let Some(shown) = element.raw("displayUnit").filter(|shown| *shown != unit && !shown.is_empty()) else {
        return;
    };
    let definition = description.units.iter().find(|definition| definition.name == unit);
    if definition.is_some_and(|definition| definition.display_units.iter().all(|d| d.name != shown)) {
        element.warn(Problem::Unknown { what: "display unit", name: shown.into(), close: None });
    }
}

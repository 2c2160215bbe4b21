//! Which types meet, which transformations fit, and values that are transformed.

use super::Mapping;
use super::chain::Chain;
use crate::finding::{Place, Report, Rule};
use crate::model::{BaseType, Class, DataType, Dimension, Enumeration, Transformation, Value};

/// Types at both ends of a connection agree in their sort; floats and integers of all sizes meet.
pub(super) fn check_types(
    source: &DataType,
    target: &DataType,
    transformation: Option<&Transformation>,
    place: &Place,
    report: &mut Report,
) {
    let (from, to) = (source.base, target.base);
    if from.class() == to.class() {
        let both = (source.enumeration.as_deref(), target.enumeration.as_deref());
        if let (Some(a), Some(b)) = both
            && a != b
            && transformation.is_none()
        {
            let message =
                format!("enumerations `{a}` and `{b}` meet without a mapping; numbers are passed on");
            report.note(place, Rule::Type, message);
        }
        return;
    }
    let message = format!("the source is {}, the target {}", from.name(), to.name());
    if numeric(from) && numeric(to) {
        report.lapse(place, Rule::Type, message);
    } else {
        report.fault(place, Rule::Type, message);
    }
}

fn numeric(base: BaseType) -> bool {
    matches!(base.class(), Class::Float | Class::Integer | Class::Enumeration | Class::Boolean)
}

/// A transformation fits the types it stands between.
pub(super) fn check_transformation(
    transformation: &Transformation,
    classes: [Option<Class>; 2],
    place: &Place,
    report: &mut Report,
) {
    let (name, fits): (_, &[Class]) = match transformation {
        Transformation::Linear { .. } => ("a linear transformation", &[Class::Float]),
        Transformation::Boolean(_) => ("a boolean mapping", &[Class::Boolean]),
        Transformation::Integer(_) => ("an integer mapping", &[Class::Integer, Class::Enumeration]),
        Transformation::Enumeration(_) => ("an enumeration mapping", &[Class::Enumeration]),
    };
    for class in classes.into_iter().flatten() {
        if !fits.contains(&class) {
            let message = format!("{name} does not fit type {class:?}");
            let plain = matches!((transformation, class), (Transformation::Linear { .. }, Class::Integer));
            if plain {
                report.lapse(place, Rule::Transformation, message);
            } else {
                report.fault(place, Rule::Transformation, message);
            }
            return;
        }
    }
    if let Transformation::Linear { factor, .. } = transformation
        && *factor == 0.0
    {
        report.note(place, Rule::Transformation, "the factor is 0: the source has no effect");
    }
}

/// Arrays meet arrays of the same shape, after taking elements.
pub(super) fn check_shapes(
    source: (&[Dimension], &[u64]),
    target: (&[Dimension], &[u64]),
    place: &Place,
    report: &mut Report,
) {
    for (dimensions, indices) in [source, target] {
        if indices.len() > dimensions.len() {
            let message = format!("{} indices for {} dimensions", indices.len(), dimensions.len());
            report.fault(place, Rule::Type, message);
            return;
        }
    }
    let (from, to) = (&source.0[source.1.len()..], &target.0[target.1.len()..]);
    let differ = |a: &Dimension, b: &Dimension| match (a, b) {
        (Dimension::Fixed(a), Dimension::Fixed(b)) => a != b,
        _ => false,
    };
    if from.len() != to.len() {
        let message = format!("the source has {} dimensions, the target {}", from.len(), to.len());
        report.fault(place, Rule::Type, message);
    } else if from.iter().zip(to).any(|(a, b)| differ(a, b)) {
        report.fault(place, Rule::Type, "the arrays differ in size");
    }
}

/// The value at the end of a chain.
pub(super) fn transform(
    value: &Value,
    chain: &Chain,
    enumeration: Option<&Enumeration>,
) -> Result<Value, String> {
    let missing = |what: String| format!("the mapping has no entry for {what}");
    Ok(match (value, &chain.mapping) {
        (Value::Float(numbers), None) => {
            Value::Float(numbers.iter().map(|x| chain.factor * x + chain.offset).collect())
        }
        (Value::Integer(numbers), None) if !chain.is_identity() => {
            Value::Float(numbers.iter().map(|x| chain.factor * *x as f64 + chain.offset).collect())
        }
        (Value::Boolean(all), Some(Mapping::Boolean(table))) => {
            let mapped: Result<Vec<_>, _> = all
                .iter()
                .map(|v| {
                    table.iter().find(|(a, _)| a == v).map(|e| e.1).ok_or_else(|| missing(v.to_string()))
                })
                .collect();
            Value::Boolean(mapped?)
        }
        (Value::Integer(all), Some(Mapping::Integer(table))) => {
            let mapped: Result<Vec<_>, _> = all
                .iter()
                .map(|v| {
                    table.iter().find(|(a, _)| a == v).map(|e| e.1).ok_or_else(|| missing(v.to_string()))
                })
                .collect();
            Value::Integer(mapped?)
        }
        (Value::Enumeration(items), Some(Mapping::Integer(table))) => {
            let number = |item: &String| {
                let known = enumeration.and_then(|e| e.value(item));
                let number = known.ok_or_else(|| format!("the number of item `{item}` is not known"))?;
                let found = table.iter().find(|(a, _)| *a == i128::from(number)).map(|e| e.1);
                found.ok_or_else(|| missing(format!("`{item}`")))
            };
            Value::Integer(items.iter().map(number).collect::<Result<_, _>>()?)
        }
        (value, None) if chain.is_identity() => value.clone(),
        (value, _) => return Err(format!("a value of type {:?} cannot be transformed so", value.class())),
    })
}

/// A value as the target's type takes it; `Ok(.., Some(words))` if it had to be changed.
pub(super) fn fit(value: Value, target: &DataType) -> Result<(Value, Option<String>), String> {
    let (have, want) = (value.class(), target.base.class());
    if have == want {
        return Ok((value, None));
    }
    let words = format!("a value of type {have:?} is given to a variable of type {}", target.base.name());
    match (value, want) {
        (Value::Integer(v), Class::Float) => {
            Ok((Value::Float(v.iter().map(|x| *x as f64).collect()), Some(words)))
        }
        (Value::Integer(v), Class::Enumeration) => Ok((Value::Integer(v), None)),
        (Value::Float(v), Class::Integer) if v.iter().all(|x| x.fract() == 0.0 && x.abs() < 1e18) => {
            Ok((Value::Integer(v.iter().map(|x| *x as i128).collect()), Some(words)))
        }
        (Value::String(v), Class::Enumeration) => Ok((Value::Enumeration(v), Some(words))),
        _ => Err(words),
    }
}

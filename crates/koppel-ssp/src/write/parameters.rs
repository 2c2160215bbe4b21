//! Parameter sets, mappings and dictionaries, alone or inline.

use super::finished;
use crate::error::Result;
use crate::model::{
    BaseType, DataType, Dimension, Enumeration, Parameter, ParameterMapping, ParameterSet, SignalDictionary,
    Transformation, UnitDefinition, Value,
};
use crate::parse::Namespace;
use koppel::unit::BASE;
use koppel_fmi::xml::{Writer, number};
use std::fmt::Display;

/// A parameter set as a file of its own (SSV).
pub fn write_parameters(set: &ParameterSet) -> Result<Vec<u8>> {
    let mut writer = Writer::default();
    parameter_set(&mut writer, set, &[Namespace::Ssc, Namespace::Ssv]);
    finished(writer, &set.name)
}

pub(super) fn parameter_set(w: &mut Writer, set: &ParameterSet, declare: &[Namespace]) {
    w.open(Namespace::Ssv.tag("ParameterSet"));
    declare.iter().for_each(|namespace| namespace.declare(w));
    w.attribute("version", set.version.text()).attribute("name", &set.name);
    w.open(Namespace::Ssv.tag("Parameters"));
    set.parameters.iter().for_each(|p| parameter(w, p));
    w.close();
    enumerations(w, Namespace::Ssv, &set.enumerations);
    units(w, Namespace::Ssv, &set.units);
    w.close();
}

fn parameter(w: &mut Writer, parameter: &Parameter) {
    w.open(Namespace::Ssv.tag("Parameter")).attribute("name", &parameter.name);
    w.open(Namespace::Ssv.tag(parameter.base.name())).optional("unit", parameter.unit.as_deref());
    w.optional("name", parameter.enumeration.as_deref());
    match &parameter.value {
        Value::Float(v) => w.attribute("value", blanks(v.iter().map(|x| number(*x)))),
        Value::Integer(v) => w.attribute("value", blanks(v)),
        Value::Boolean(v) => w.attribute("value", blanks(v)),
        Value::String(v) | Value::Enumeration(v) => texts(w, v),
        Value::Binary(v) => texts(w, &v.iter().map(|b| hexadecimal(b)).collect::<Vec<_>>()),
    };
    w.close();
    dimensions(w, &parameter.dimensions);
    w.close();

    fn texts<'w>(w: &'w mut Writer, all: &[String]) -> &'w mut Writer {
        if let [one] = all {
            return w.attribute("value", one);
        }
        for text in all {
            w.open(Namespace::Ssv.tag("Value")).attribute("value", text).close();
        }
        w
    }
}

pub(super) fn blanks(values: impl IntoIterator<Item = impl Display>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

pub(super) fn dimensions(w: &mut Writer, dimensions: &[Dimension]) {
    for dimension in dimensions {
        w.open(Namespace::Ssc.tag("Dimension"));
        match dimension {
            Dimension::Fixed(size) => w.attribute("size", size),
            Dimension::Connector(name) => w.attribute("sizeConnector", name),
            Dimension::Open => w,
        };
        w.close();
    }
}

pub(super) fn units(w: &mut Writer, namespace: Namespace, units: &[UnitDefinition]) {
    if units.is_empty() {
        return;
    }
    w.open(namespace.tag("Units"));
    for unit in units {
        w.open(Namespace::Ssc.tag("Unit")).attribute("name", &unit.name);
        w.open(Namespace::Ssc.tag("BaseUnit"));
        for (base, exponent) in BASE.iter().zip(unit.exponents).filter(|(_, e)| *e != 0) {
            w.attribute(base, exponent);
        }
        w.optional("factor", (unit.factor != 1.0).then(|| number(unit.factor)));
        w.optional("offset", (unit.offset != 0.0).then(|| number(unit.offset)));
        w.close().close();
    }
    w.close();
}

pub(super) fn enumerations(w: &mut Writer, namespace: Namespace, enumerations: &[Enumeration]) {
    if enumerations.is_empty() {
        return;
    }
    w.open(namespace.tag("Enumerations"));
    for enumeration in enumerations {
        w.open(Namespace::Ssc.tag("Enumeration")).attribute("name", &enumeration.name);
        for (name, value) in &enumeration.items {
            w.open(Namespace::Ssc.tag("Item")).attribute("name", name).attribute("value", value).close();
        }
        w.close();
    }
    w.close();
}

pub(super) fn data_type(w: &mut Writer, data: &DataType) {
    w.open(Namespace::Ssc.tag(data.base.name()));
    w.optional("unit", data.unit.as_deref());
    if data.base == BaseType::Enumeration {
        w.optional("name", data.enumeration.as_deref());
    }
    w.optional("mime-type", data.mime.as_deref());
    if let Some(clock) = &data.clock {
        w.optional("intervalVariability", clock.interval_variability.as_deref());
        w.optional("intervalDecimal", clock.interval_decimal.map(number));
        w.optional("shiftDecimal", clock.shift_decimal.map(number));
        w.optional("supportsFraction", clock.supports_fraction).optional("resolution", clock.resolution);
        w.optional("intervalCounter", clock.interval_counter).optional("shiftCounter", clock.shift_counter);
        w.optional("priority", clock.priority);
    }
    w.close();
}

pub(super) fn transformation(w: &mut Writer, transformation: &Transformation) {
    match transformation {
        Transformation::Linear { factor, offset } => {
            w.open(Namespace::Ssc.tag("LinearTransformation"));
            w.attribute("factor", number(*factor)).attribute("offset", number(*offset)).close();
        }
        Transformation::Boolean(table) => entries(w, "BooleanMappingTransformation", table),
        Transformation::Integer(table) => entries(w, "IntegerMappingTransformation", table),
        Transformation::Enumeration(table) => entries(w, "EnumerationMappingTransformation", table),
    }
}

fn entries<T: Display>(w: &mut Writer, name: &str, table: &[(T, T)]) {
    w.open(Namespace::Ssc.tag(name));
    for (source, target) in table {
        w.open(Namespace::Ssc.tag("MapEntry"));
        w.attribute("source", source).attribute("target", target).close();
    }
    w.close();
}

pub(super) fn mapping(w: &mut Writer, mapping: &ParameterMapping) {
    w.open(Namespace::Ssm.tag("ParameterMapping")).attribute("version", mapping.version.text());
    for entry in &mapping.entries {
        w.open(Namespace::Ssm.tag("MappingEntry"));
        w.attribute("source", &entry.source).attribute("target", &entry.target);
        w.flag("suppressUnitConversion", entry.suppress_unit_conversion);
        if let Some(step) = &entry.transformation {
            transformation(w, step);
        }
        w.close();
    }
    w.close();
}

pub(super) fn dictionary(w: &mut Writer, dictionary: &SignalDictionary) {
    w.open(Namespace::Ssb.tag("SignalDictionary")).attribute("version", dictionary.version.text());
    for entry in &dictionary.entries {
        w.open(Namespace::Ssb.tag("DictionaryEntry")).attribute("name", &entry.name);
        if let Some(data) = &entry.data {
            data_type(w, data);
        }
        dimensions(w, &entry.dimensions);
        w.close();
    }
    enumerations(w, Namespace::Ssb, &dictionary.enumerations);
    units(w, Namespace::Ssb, &dictionary.units);
    w.close();
}

//! Parameter sets, mappings and dictionaries, alone or inline.

use super::xml::{Writer, double};
use crate::error::Result;
use crate::model::{
    BaseType, DataType, Dimension, Enumeration, Parameter, ParameterMapping, ParameterSet, SignalDictionary,
    Transformation, UnitDefinition, Value,
};
use crate::parse::Namespace;
use koppel::unit::BASE;
use std::fmt::Display;

/// A parameter set as a file of its own (SSV).
pub fn write_parameters(set: &ParameterSet) -> Result<Vec<u8>> {
    let mut writer = Writer::new();
    parameter_set(&mut writer, set, &[Namespace::Ssc, Namespace::Ssv]);
    writer.finish(&set.name)
}

pub(super) fn parameter_set(w: &mut Writer, set: &ParameterSet, declare: &[Namespace]) {
    w.open(Namespace::Ssv, "ParameterSet").declare(declare);
    w.attribute("version", set.version.text()).attribute("name", &set.name);
    w.open(Namespace::Ssv, "Parameters");
    set.parameters.iter().for_each(|p| parameter(w, p));
    w.close();
    enumerations(w, Namespace::Ssv, &set.enumerations);
    units(w, Namespace::Ssv, &set.units);
    w.close();
}

fn parameter(w: &mut Writer, parameter: &Parameter) {
    w.open(Namespace::Ssv, "Parameter").attribute("name", &parameter.name);
    w.open(Namespace::Ssv, parameter.base.name()).optional("unit", parameter.unit.as_deref());
    w.optional("name", parameter.enumeration.as_deref());
    match &parameter.value {
        Value::Float(v) => w.attribute("value", &v.iter().map(|x| double(*x)).collect::<Vec<_>>().join(" ")),
        Value::Integer(v) => w.attribute("value", &blanks(v)),
        Value::Boolean(v) => w.attribute("value", &blanks(v)),
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
            w.open(Namespace::Ssv, "Value").attribute("value", text).close();
        }
        w
    }
}

fn blanks(values: &[impl Display]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

pub(super) fn dimensions(w: &mut Writer, dimensions: &[Dimension]) {
    for dimension in dimensions {
        w.open(Namespace::Ssc, "Dimension");
        match dimension {
            Dimension::Fixed(size) => w.attribute("size", &size.to_string()),
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
    w.open(namespace, "Units");
    for unit in units {
        w.open(Namespace::Ssc, "Unit").attribute("name", &unit.name);
        w.open(Namespace::Ssc, "BaseUnit");
        for (base, exponent) in BASE.iter().zip(unit.exponents).filter(|(_, e)| *e != 0) {
            w.attribute(base, &exponent.to_string());
        }
        if unit.factor != 1.0 {
            w.number("factor", unit.factor);
        }
        if unit.offset != 0.0 {
            w.number("offset", unit.offset);
        }
        w.close().close();
    }
    w.close();
}

pub(super) fn enumerations(w: &mut Writer, namespace: Namespace, enumerations: &[Enumeration]) {
    if enumerations.is_empty() {
        return;
    }
    w.open(namespace, "Enumerations");
    for enumeration in enumerations {
        w.open(Namespace::Ssc, "Enumeration").attribute("name", &enumeration.name);
        for (name, value) in &enumeration.items {
            w.open(Namespace::Ssc, "Item")
                .attribute("name", name)
                .attribute("value", &value.to_string())
                .close();
        }
        w.close();
    }
    w.close();
}

pub(super) fn data_type(w: &mut Writer, data: &DataType) {
    w.open(Namespace::Ssc, data.base.name());
    w.optional("unit", data.unit.as_deref());
    if data.base == BaseType::Enumeration {
        w.optional("name", data.enumeration.as_deref());
    }
    w.optional("mime-type", data.mime.as_deref());
    if let Some(clock) = &data.clock {
        w.optional("intervalVariability", clock.interval_variability.as_deref());
        for (name, value) in
            [("intervalDecimal", clock.interval_decimal), ("shiftDecimal", clock.shift_decimal)]
        {
            w.optional(name, value.map(double).as_deref());
        }
        w.optional("supportsFraction", clock.supports_fraction.map(|v| v.to_string()).as_deref());
        let counts = [
            ("resolution", clock.resolution),
            ("intervalCounter", clock.interval_counter),
            ("shiftCounter", clock.shift_counter),
            ("priority", clock.priority.map(u64::from)),
        ];
        for (name, value) in counts {
            w.optional(name, value.map(|v| v.to_string()).as_deref());
        }
    }
    w.close();
}

pub(super) fn transformation(w: &mut Writer, transformation: &Transformation) {
    match transformation {
        Transformation::Linear { factor, offset } => {
            w.open(Namespace::Ssc, "LinearTransformation");
            w.number("factor", *factor).number("offset", *offset).close();
        }
        Transformation::Boolean(table) => entries(w, "BooleanMappingTransformation", table),
        Transformation::Integer(table) => entries(w, "IntegerMappingTransformation", table),
        Transformation::Enumeration(table) => entries(w, "EnumerationMappingTransformation", table),
    }
}

fn entries<T: Display>(w: &mut Writer, name: &str, table: &[(T, T)]) {
    w.open(Namespace::Ssc, name);
    for (source, target) in table {
        w.open(Namespace::Ssc, "MapEntry");
        w.attribute("source", &source.to_string()).attribute("target", &target.to_string()).close();
    }
    w.close();
}

pub(super) fn mapping(w: &mut Writer, mapping: &ParameterMapping) {
    w.open(Namespace::Ssm, "ParameterMapping").attribute("version", mapping.version.text());
    for entry in &mapping.entries {
        w.open(Namespace::Ssm, "MappingEntry");
        w.attribute("source", &entry.source).attribute("target", &entry.target);
        if entry.suppress_unit_conversion {
            w.attribute("suppressUnitConversion", "true");
        }
        if let Some(step) = &entry.transformation {
            transformation(w, step);
        }
        w.close();
    }
    w.close();
}

pub(super) fn dictionary(w: &mut Writer, dictionary: &SignalDictionary) {
    w.open(Namespace::Ssb, "SignalDictionary").attribute("version", dictionary.version.text());
    for entry in &dictionary.entries {
        w.open(Namespace::Ssb, "DictionaryEntry").attribute("name", &entry.name);
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

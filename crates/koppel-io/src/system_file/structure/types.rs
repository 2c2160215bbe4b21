//! Variables of FMUs as connectors and parameters of the standard.

use koppel::system::Connection as Link;
use koppel::unit::Unit;
use koppel_fmi::description::{
    Causality, Description, Dimension as Size, FmiVersion, Start, ValueType, Variable,
};
use koppel_fmi::import::ports;
use koppel_ssp::Position;
use koppel_ssp::model::{
    BaseType, Class, Connector, DataType, Dimension, Enumeration, Kind, Parameter, Transformation, Value,
    Version,
};
use std::collections::HashMap;

/// Types in one version of the standard, with the units and enumerations they refer to.
pub(super) struct Types {
    version: Version,
    pub(super) units: Vec<Unit>,
    pub(super) enumerations: Vec<Enumeration>,
}

/// A value as the system file has it: one element, or a list; the rows of a matrix follow each other.
pub(super) struct GivenValue {
    pub(super) elements: Vec<Element>,
    pub(super) is_list: bool,
}

/// An element of a value.
pub(super) enum Element {
    Number(f64),
    Text(String),
}

impl Element {
    fn number(&self) -> Result<f64, String> {
        match self {
            Element::Number(number) => Ok(*number),
            Element::Text(text) => Err(format!("`{text}` is no number")),
        }
    }

    fn text(&self) -> Result<&str, String> {
        match self {
            Element::Number(number) => Err(format!("{number} is no text")),
            Element::Text(text) => Ok(text),
        }
    }
}

impl Types {
    pub(super) fn new(version: Version) -> Self {
        Types { version, units: Vec::new(), enumerations: Vec::new() }
    }

    /// Inputs and outputs of an FMU, as far as the version has types for them.
    pub(super) fn connectors(&mut self, description: &Description) -> Vec<Connector> {
        let ports = ports(description);
        let units: HashMap<&str, Unit> = ports
            .all()
            .filter_map(|(_, port)| {
                let unit = port.definition.clone().or_else(|| Unit::parse(port.unit.as_deref()?).ok());
                // An array's elements share its unit.
                let name = port.name.split_once('[').map_or(port.name.as_str(), |(array, _)| array);
                Some([(port.name.as_str(), unit.clone()?), (name, unit?)])
            })
            .flatten()
            .collect();
        let mut connectors = Vec::new();
        for variable in &description.variables {
            let kind = match variable.causality {
                Causality::Input => Kind::Input,
                Causality::Output => Kind::Output,
                _ => continue,
            };
            let is_new = variable.is_array() || matches!(variable.value_type, ValueType::Clock);
            if is_new && self.version == Version::One {
                continue;
            }
            let unit = units.get(variable.name.as_str());
            let data = self.data(description, variable, unit);
            let mut connector = Connector::new(&variable.name, kind, data);
            connector.dimensions =
                variable.dimensions.iter().map(|size| dimension(description, size)).collect();
            connector.description.clone_from(&variable.description);
            connectors.push(connector);
        }
        connectors
    }

    /// The type of a variable; none for an enumeration whose items are not known.
    fn data(
        &mut self,
        description: &Description,
        variable: &Variable,
        unit: Option<&Unit>,
    ) -> Option<DataType> {
        let base = self.base(description, variable);
        let mut data = DataType::new(base);
        match base.class() {
            Class::Float => data.unit = unit.map(|unit| self.unit(unit)),
            Class::Enumeration => data.enumeration = Some(self.enumeration(description, variable)?),
            Class::Binary => data.mime.clone_from(&variable.attributes.mime_type),
            _ => {}
        }
        Some(data)
    }

    fn base(&self, description: &Description, variable: &Variable) -> BaseType {
        let is_old = self.version == Version::One || description.fmi_version == FmiVersion::Fmi2;
        match variable.value_type {
            float if is_old && float.is_float() => BaseType::Real,
            ValueType::Enumeration => BaseType::Enumeration,
            whole if is_old && whole.integer_range().is_some() => BaseType::Integer,
            same => BaseType::named(same.name()).unwrap_or(BaseType::Integer),
        }
    }

    /// The name a unit goes by here: FMUs may mean different things by the same name.
    fn unit(&mut self, unit: &Unit) -> String {
        let means = |other: &Unit| {
            (other.exponents, other.factor, other.offset) == (unit.exponents, unit.factor, unit.offset)
        };
        let numbered = (2..).map(|k| format!("{} ({k})", unit.name));
        for name in std::iter::once(unit.name.clone()).chain(numbered) {
            match self.units.iter().find(|known| known.name == name) {
                Some(known) if means(known) => return name,
                Some(_) => {}
                None => {
                    self.units.push(Unit { name: name.clone(), ..unit.clone() });
                    return name;
                }
            }
        }
        unit.name.clone()
    }

    fn enumeration(&mut self, description: &Description, variable: &Variable) -> Option<String> {
        let definition = description.type_of(variable).filter(|definition| !definition.items.is_empty())?;
        let items: Vec<(String, i64)> =
            definition.items.iter().map(|item| (item.name.clone(), item.value)).collect();
        let numbered = (2..).map(|k| format!("{} ({k})", definition.name));
        for name in std::iter::once(definition.name.clone()).chain(numbered) {
            match self.enumerations.iter().find(|known| known.name == name) {
                Some(known) if known.items == items => return Some(name),
                Some(_) => {}
                None => {
                    self.enumerations.push(Enumeration {
                        name: name.clone(),
                        items,
                        at: Position::default(),
                    });
                    return Some(name);
                }
            }
        }
        None
    }

    /// A start value in the type of its variable.
    pub(super) fn parameter(
        &mut self,
        description: &Description,
        name: &str,
        wanted: &GivenValue,
    ) -> Result<Parameter, String> {
        let Some(at) = description.find(name) else {
            return Err(match name.split_once('[').filter(|(array, _)| description.find(array).is_some()) {
                Some((array, _)) => {
                    format!("SSP has no values of single elements; give all of `{array}` as a list")
                }
                None => format!("the FMU has no variable `{name}`"),
            });
        };
        let variable = &description.variables[at];
        let base = self.base(description, variable);
        let mut parameter = Parameter {
            name: name.to_owned(),
            base,
            value: self.value(description, variable, base.class(), &wanted.elements)?,
            unit: None,
            enumeration: None,
            dimensions: Vec::new(),
            at: Position::default(),
        };
        if wanted.is_list {
            if self.version == Version::One {
                return Err("SSP 1.0 has no arrays; write SSP 2.0 with --ssp 2".into());
            }
            parameter.dimensions =
                variable.dimensions.iter().map(|size| dimension(description, size)).collect();
        }
        if base.class() == Class::Enumeration {
            parameter.enumeration = self.enumeration(description, variable);
        }
        Ok(parameter)
    }

    fn value(
        &self,
        description: &Description,
        variable: &Variable,
        class: Class,
        elements: &[Element],
    ) -> Result<Value, String> {
        let numbers = elements.iter().map(Element::number);
        Ok(match class {
            Class::Float => Value::Float(numbers.collect::<Result<_, _>>()?),
            Class::Boolean => Value::Boolean(numbers.map(|n| Ok(n? != 0.0)).collect::<Result<_, String>>()?),
            Class::Integer => {
                let whole = |number: Result<f64, String>| match number? {
                    number if number.fract() == 0.0 => Ok(number as i128),
                    number => Err(format!("{number} is no {}", variable.value_type.name())),
                };
                Value::Integer(numbers.map(whole).collect::<Result<_, _>>()?)
            }
            Class::Enumeration => {
                let items = description.type_of(variable).map_or(&[][..], |definition| &definition.items);
                let name = |number: Result<f64, String>| {
                    let number = number?;
                    let item = items.iter().find(|item| item.value as f64 == number);
                    let item = item.ok_or_else(|| format!("its enumeration has no item for {number}"))?;
                    Ok(item.name.clone())
                };
                Value::Enumeration(numbers.map(name).collect::<Result<_, String>>()?)
            }
            Class::String => {
                Value::String(elements.iter().map(|e| e.text().map(str::to_owned)).collect::<Result<_, _>>()?)
            }
            Class::Binary => {
                let bytes = |element: &Element| {
                    let text = element.text()?;
                    bytes_of(text).ok_or_else(|| format!("`{text}` is not written in hexadecimal digits"))
                };
                Value::Binary(elements.iter().map(bytes).collect::<Result<_, _>>()?)
            }
            Class::Clock => return Err("SSP has no values for clocks".into()),
        })
    }

    /// A connection's table or factor in the words of the standard; an error says why it has none.
    pub(super) fn transformation(
        &self,
        connection: &Link,
        [source, target]: [(&Description, &str); 2],
    ) -> Result<Option<Transformation>, String> {
        let class = |(description, name): (&Description, &str)| {
            let variable = &description.variables[description.find(name)?];
            Some(self.base(description, variable).class())
        };
        let (Some(from), Some(to)) = (class(source), class(target)) else { return Ok(None) };
        let is_number =
            |class| matches!(class, Class::Float | Class::Integer | Class::Boolean | Class::Enumeration);
        if from != to && is_number(from) && is_number(to) {
            return Err(format!("leads from type {from:?} to type {to:?}"));
        }
        let pairs = &connection.map;
        if !pairs.is_empty() {
            let is_whole = pairs.iter().all(|(a, b)| a.fract() == 0.0 && b.fract() == 0.0);
            return match to {
                Class::Boolean => {
                    let pairs = pairs.iter().map(|(a, b)| (*a != 0.0, *b != 0.0));
                    Ok(Some(Transformation::Boolean(pairs.collect())))
                }
                Class::Integer | Class::Enumeration if is_whole => {
                    let pairs = pairs.iter().map(|(a, b)| (*a as i128, *b as i128));
                    Ok(Some(Transformation::Integer(pairs.collect())))
                }
                _ => Err(format!("has a table of type {to:?}")),
            };
        }
        match (connection.gain, connection.offset) {
            (1.0, 0.0) => Ok(None),
            (factor, offset) if to == Class::Float => Ok(Some(Transformation::Linear { factor, offset })),
            _ => Err(format!("has a factor or an offset between values of type {to:?}")),
        }
    }
}

/// Bytes written in hexadecimal digits.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn dimension(description: &Description, size: &Size) -> Dimension {
    match size {
        Size::Fixed(size) => Dimension::Fixed(*size),
        Size::Parameter(place) => match &description.variables[*place].start {
            Some(Start::Integers(list)) => {
                let size = list.first().and_then(|size| u64::try_from(*size).ok());
                size.map_or(Dimension::Open, Dimension::Fixed)
            }
            _ => Dimension::Open,
        },
    }
}

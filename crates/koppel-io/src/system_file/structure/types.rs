//! Variables of FMUs as connectors and parameters of the standard.

use koppel::system::unit::Unit;
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

/// A value as the system file has it.
pub(super) enum Wanted<'a> {
    Number(f64),
    List(Vec<f64>),
    Text(&'a str),
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
            ValueType::Float32 | ValueType::Float64 if is_old => BaseType::Real,
            ValueType::Boolean => BaseType::Boolean,
            ValueType::String => BaseType::String,
            ValueType::Enumeration => BaseType::Enumeration,
            ValueType::Binary => BaseType::Binary,
            ValueType::Clock => BaseType::Clock,
            ValueType::Float32 => BaseType::Float32,
            ValueType::Float64 => BaseType::Float64,
            _ if is_old => BaseType::Integer,
            sized => BaseType::named(sized.name()).unwrap_or(BaseType::Integer),
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
        wanted: Wanted<'_>,
    ) -> Result<Parameter, String> {
        let at = description.find(name).ok_or_else(|| format!("the FMU has no variable `{name}`"))?;
        let variable = &description.variables[at];
        let base = self.base(description, variable);
        let mut parameter = Parameter {
            name: name.to_owned(),
            base,
            value: Value::Float(Vec::new()),
            unit: None,
            enumeration: None,
            dimensions: Vec::new(),
            at: Position::default(),
        };
        if let Wanted::List(_) = wanted {
            if self.version == Version::One {
                return Err("SSP 1.0 has no arrays; write SSP 2.0 with --ssp 2".into());
            }
            parameter.dimensions =
                variable.dimensions.iter().map(|size| dimension(description, size)).collect();
        }
        parameter.value = match (base.class(), wanted) {
            (Class::Float, Wanted::List(list)) => Value::Float(list),
            (Class::Integer, Wanted::List(list)) => {
                Value::Integer(list.iter().map(|number| *number as i128).collect())
            }
            (Class::Boolean, Wanted::List(list)) => {
                Value::Boolean(list.iter().map(|number| *number != 0.0).collect())
            }
            (_, Wanted::List(_)) => {
                return Err(format!("lists of {} are not written", variable.value_type.name()));
            }
            (Class::String, Wanted::Text(text)) => Value::String(vec![text.to_owned()]),
            (Class::Float, Wanted::Number(number)) => Value::Float(vec![number]),
            (Class::Boolean, Wanted::Number(number)) => Value::Boolean(vec![number != 0.0]),
            (Class::Enumeration, Wanted::Number(number)) => {
                let items = description.type_of(variable).map_or(&[][..], |definition| &definition.items);
                let item = items.iter().find(|item| item.value as f64 == number);
                let item = item.ok_or_else(|| format!("its enumeration has no item for {number}"))?;
                parameter.enumeration = self.enumeration(description, variable);
                Value::Enumeration(vec![item.name.clone()])
            }
            (Class::Integer, Wanted::Number(number)) if number.fract() == 0.0 => {
                Value::Integer(vec![number as i128])
            }
            (_, Wanted::Number(number)) => {
                return Err(format!("{number} is no {}", variable.value_type.name()));
            }
            (_, Wanted::Text(text)) => return Err(format!("`{text}` is no {}", variable.value_type.name())),
        };
        Ok(parameter)
    }

    /// A table in the words of the type it leads to.
    pub(super) fn map(&self, pairs: &[(f64, f64)], target: &Description, variable: &str) -> Transformation {
        let class = target.find(variable).map(|at| self.base(target, &target.variables[at]).class());
        if class == Some(Class::Boolean) {
            return Transformation::Boolean(pairs.iter().map(|(a, b)| (*a != 0.0, *b != 0.0)).collect());
        }
        Transformation::Integer(pairs.iter().map(|(a, b)| (*a as i128, *b as i128)).collect())
    }
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

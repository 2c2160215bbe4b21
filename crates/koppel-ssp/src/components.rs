//! Components against what their FMUs say: names, kinds, types, units.

use crate::Ssp;
use crate::error::{Error, Result};
use crate::finding::{Finding, Place, Report, Rule, suggest};
use crate::flatten::{self, FlatComponent, FlatConnector, FlatParameter, FlatSystem, Port};
use crate::load::FMU;
use crate::model::{Class, Implementation, Kind, Location, Value};
use koppel::unit::Unit;
use koppel_fmi::archive::Archive;
use koppel_fmi::description::{Causality, Description, ValueType, Variability, Variable};
use koppel_fmi::import::ports;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A flat system whose components have met their FMUs.
#[derive(Clone, Debug)]
pub struct Components {
    /// The system; units that only FMUs know are converted, items of enumerations are numbers.
    pub flat: FlatSystem,
    /// Per component, what its FMU says of itself.
    pub descriptions: Vec<Arc<Description>>,
    /// Per component, where its FMU is, seen from the folder of the package.
    pub addresses: Vec<String>,
    /// What was forgiven, and warnings, beyond those of [`Ssp::findings`].
    pub findings: Vec<Finding>,
}

impl Ssp {
    /// Flattens, reads the description of every FMU, and checks both against each other.
    pub fn components(&self) -> Result<Components> {
        let mut report = Report::new(self.tolerance);
        let plain = flatten::flatten(&self.structure, &|_, _| None, &mut Report::new(self.tolerance));
        let mut known: HashMap<Location, Option<Arc<Description>>> = HashMap::new();
        let mut described = Vec::new();
        for component in &plain.components {
            described.extend(self.describe(component, &mut known, &mut report));
        }
        if report.has_errors() {
            return Err(Error::Invalid { findings: report.findings, documents: self.documents.clone() });
        }
        let units: HashMap<(&str, String), Unit> = plain
            .components
            .iter()
            .zip(&described)
            .flat_map(|(component, (description, _))| {
                units(description).into_iter().map(|(name, unit)| ((component.name.as_str(), name), unit))
            })
            .collect();
        let lookup = |component: &str, variable: &str| units.get(&(component, variable.to_owned())).cloned();
        let mut flat = flatten::flatten(&self.structure, &lookup, &mut report);
        let enumerations = flat.enumerations.clone();
        for (component, (description, _)) in flat.components.iter_mut().zip(&described) {
            let mut check = Check { name: component.name.clone(), description, report: &mut report };
            component.connectors.iter().for_each(|connector| check.connector(connector, &lookup));
            let connectors = &component.connectors;
            for parameter in &mut component.parameters {
                let items = connectors.iter().find(|c| c.name == parameter.variable);
                let own = items.and_then(|c| c.enumeration.as_ref()).into_iter();
                let items = own.chain(&enumerations).flat_map(|e| &e.items);
                check.parameter(parameter, items.map(|(name, value)| (name.as_str(), *value)).collect());
            }
        }
        let (descriptions, addresses): (Vec<_>, Vec<_>) = described.into_iter().unzip();
        note_unknown_units(&flat, &descriptions, &mut report);
        let findings = self.sound(report)?;
        Ok(Components { flat, descriptions, addresses, findings })
    }

    /// The description of a component's FMU, each FMU read once; `None` has been reported.
    fn describe(
        &self,
        component: &FlatComponent,
        known: &mut HashMap<Location, Option<Arc<Description>>>,
        report: &mut Report,
    ) -> Option<(Arc<Description>, String)> {
        let element = format!("Component {}", component.name);
        let place = Place::new(&component.origin.file, component.origin.at, element);
        let Some(source) = &component.source else {
            report.fault(&place, Rule::Runnable, "has no source and cannot be run: it is an interface without a model; name an FMU as its `source`");
            return None;
        };
        if source.media_type != FMU {
            let message = format!("a component of type `{}` cannot be run, only FMUs can", source.media_type);
            report.fault(&place, Rule::MediaType, message);
            return None;
        }
        let read = || match self.path(&source.location) {
            Some(path) => Description::open(&path).map_err(|error| error.to_string()),
            None => {
                let bytes = self.read(&source.location).map_err(|error| error.to_string())?;
                let label = self.package.label(&source.location);
                Archive::from_bytes(Path::new(&label), bytes)
                    .and_then(|mut archive| Description::read(&mut archive))
                    .map_err(|error| error.to_string())
            }
        };
        let mut problem = None;
        let description = known.entry(source.location.clone()).or_insert_with(|| match read() {
            Ok(description) => Some(Arc::new(description)),
            Err(words) => {
                problem = Some(words);
                None
            }
        });
        if let Some(words) = problem {
            report.fault(&place, Rule::Fmu, words);
        }
        let description = description.clone()?;
        let (wanted, offers) = match component.implementation {
            Implementation::Any => return Some((description, self.address(&source.location))),
            Implementation::CoSimulation => ("co-simulation", description.co_simulation.is_some()),
            Implementation::ModelExchange => ("model exchange", description.model_exchange.is_some()),
            Implementation::ScheduledExecution => ("scheduled execution", false),
        };
        if !offers {
            report.fault(&place, Rule::Fmu, format!("its FMU cannot be run by {wanted}"));
        }
        Some((description, self.address(&source.location)))
    }
}

/// Units of all variables that have one.
fn units(description: &Description) -> Vec<(String, Unit)> {
    let ports = ports(description);
    let unit = |v: &koppel::system::Variable| {
        let unit = v.definition.clone().or_else(|| Unit::parse(v.unit.as_deref()?).ok())?;
        Some((v.name.clone(), unit))
    };
    ports.all().filter_map(|(_, variable)| unit(variable)).collect()
}

/// Notes, once for each pair, units of different names of which one is not known: nothing is converted between them.
fn note_unknown_units(flat: &FlatSystem, descriptions: &[Arc<Description>], report: &mut Report) {
    let unit = |port: &Port| {
        let number = port.component?;
        let connector = flat.components[number].connectors.iter().find(|c| c.name == port.connector)?;
        let written = connector.data.as_ref().and_then(|data| data.unit.clone());
        let description = &descriptions[number];
        let own = || description.variables[description.find(&port.connector)?].attributes.unit.clone();
        Some((written.or_else(own)?, connector.unit.is_some()))
    };
    let mut reported: Vec<(String, String)> = Vec::new();
    for connection in flat.connections.iter().filter(|c| !c.suppresses_units) {
        if (connection.factor.abs(), connection.offset) != (1.0, 0.0) || connection.mapping.is_some() {
            continue;
        }
        let (Some(source), Some(target)) = (unit(&connection.from), unit(&connection.to)) else { continue };
        let pair = (source.0, target.0);
        if pair.0 == pair.1 || source.1 && target.1 || reported.contains(&pair) {
            continue;
        }
        let ends = (flat.port_name(&connection.from), flat.port_name(&connection.to));
        let element = format!("Connection {} -> {}", ends.0, ends.1);
        let place = Place::new(&connection.origin.file, connection.origin.at, element);
        let unknown = if source.1 { &pair.1 } else { &pair.0 };
        let message = format!(
            "unit `{unknown}` is not known: values in `{}` pass unchanged to `{}`; define it in `Units`, add a `LinearTransformation`, or write suppressUnitConversion=\"true\" if the numbers are meant as they are",
            pair.0, pair.1
        );
        report.note(&place, Rule::Unit, message);
        reported.push(pair);
    }
}

struct Check<'a> {
    name: String,
    description: &'a Description,
    report: &'a mut Report,
}

impl Check<'_> {
    fn find(&mut self, name: &str, place: &Place) -> Option<Variable> {
        let found = self.description.find(name);
        if found.is_none() {
            let known = self.description.variables.iter().map(|v| v.name.as_str());
            let message = format!("the FMU has no variable `{name}`{}", suggest(name, known));
            self.report.fault(place, Rule::Interface, message);
        }
        found.map(|at| self.description.variables[at].clone())
    }

    fn connector(&mut self, connector: &FlatConnector, units: &dyn Fn(&str, &str) -> Option<Unit>) {
        let element = format!("Connector {}.{}", self.name, connector.name);
        let place = Place::new(&connector.origin.file, connector.origin.at, element);
        let Some(variable) = self.find(&connector.name, &place) else { return };
        if !fits(connector.kind, &variable) {
            let causality = format!("{:?}", variable.causality).to_lowercase();
            let message = format!("is `{}` here but {causality} in the FMU", connector.kind.text());
            self.report.lapse(&place, Rule::Interface, message);
        }
        let own = class(variable.value_type);
        if let Some(data) = &connector.data
            && data.base.class() != own
        {
            let message =
                format!("is {} here but {} in the FMU", data.base.name(), variable.value_type.name());
            let is_number = |class| !matches!(class, Class::String | Class::Binary | Class::Clock);
            if is_number(own) && is_number(data.base.class()) {
                self.report.lapse(&place, Rule::Type, message);
            } else {
                self.report.fault(&place, Rule::Type, message);
            }
        }
        if let (Some(here), Some(there)) = (&connector.unit, units(&self.name, &connector.name)) {
            let same = Unit::conversion(here, &there);
            let close = |c: koppel::unit::Conversion| (c.factor - 1.0).abs() < 1e-9 && c.offset.abs() < 1e-9;
            if !same.is_ok_and(close) {
                let message = format!("is in `{}` here but in `{}` in the FMU", here.name, there.name);
                self.report.lapse(&place, Rule::Unit, message);
            }
        }
    }

    /// The variable exists, and items of enumerations become numbers.
    fn parameter(&mut self, parameter: &mut FlatParameter, items: Vec<(&str, i64)>) {
        let element = format!("Parameter {}.{}", self.name, parameter.variable);
        let origin = parameter.origin.clone();
        let place = Place::new(&origin.file, origin.at, element);
        let Some(variable) = self.find(&parameter.variable, &place) else { return };
        let Value::Enumeration(names) = &parameter.value else { return };
        let own = self.description.type_of(&variable).map_or(&[][..], |t| &t.items);
        let mut numbers = Vec::new();
        for name in names {
            let known = own.iter().find(|item| item.name == *name).map(|item| item.value);
            let written = || items.iter().find(|(item, _)| item == name).map(|(_, value)| *value);
            match known.or_else(written) {
                Some(number) => numbers.push(i128::from(number)),
                None => {
                    let close = suggest(name, own.iter().map(|item| item.name.as_str()));
                    let message = format!("the FMU's enumeration has no item `{name}`{close}");
                    self.report.fault(&place, Rule::Type, message);
                    return;
                }
            }
        }
        parameter.value = Value::Integer(numbers);
    }
}

/// Whether a connector's kind is what the variable is.
fn fits(kind: Kind, variable: &Variable) -> bool {
    match kind {
        Kind::Input => variable.causality == Causality::Input,
        Kind::Output => variable.causality == Causality::Output,
        Kind::Parameter => variable.causality == Causality::Parameter,
        Kind::CalculatedParameter => variable.causality == Causality::CalculatedParameter,
        Kind::StructuralParameter => variable.causality == Causality::StructuralParameter,
        Kind::Constant => variable.variability == Variability::Constant,
        Kind::Local => variable.causality == Causality::Local,
        Kind::Inout | Kind::Unspecified => true,
    }
}

fn class(value_type: ValueType) -> Class {
    match value_type {
        ValueType::Float32 | ValueType::Float64 => Class::Float,
        ValueType::Boolean => Class::Boolean,
        ValueType::String => Class::String,
        ValueType::Enumeration => Class::Enumeration,
        ValueType::Binary => Class::Binary,
        ValueType::Clock => Class::Clock,
        _ => Class::Integer,
    }
}

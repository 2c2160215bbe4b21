//! `modelDescription.xml` of FMI 2.0 and 3.0.

use super::xml::{Attributes, Xml, number};
use super::{Export, FmiVersion};
use crate::interface::{Role, Setting, Variable};
use crate::plan::{Abilities, Content};
use koppel::unit::{BASE, Unit};

/// The whole document.
pub(super) fn text(
    export: &Export,
    version: FmiVersion,
    abilities: &Abilities,
    identifier: &str,
    token: &str,
) -> String {
    let mut xml = Xml::new();
    let is_two = version == FmiVersion::Two;
    let header = Attributes::new()
        .with("fmiVersion", if is_two { "2.0" } else { "3.0" })
        .with("modelName", &export.name)
        .with(if is_two { "guid" } else { "instantiationToken" }, token)
        .with("description", &export.description)
        .with("generationTool", concat!("koppel ", env!("CARGO_PKG_VERSION")))
        .with("variableNamingConvention", "flat");
    let header = if is_two { header.with("numberOfEventIndicators", 0) } else { header };
    xml.open("fmiModelDescription", header);
    interfaces(&mut xml, export, version, abilities, identifier);
    units(&mut xml, export);
    xml.open("LogCategories", Attributes::new());
    xml.empty("Category", Attributes::new().with("name", "logStatusError"));
    xml.close();
    let experiment = Attributes::new()
        .with("startTime", number(export.experiment.start))
        .with("stopTime", number(export.experiment.stop))
        .some("stepSize", export.experiment.step.map(number));
    xml.empty("DefaultExperiment", experiment);
    xml.open("ModelVariables", Attributes::new());
    for (place, variable) in export.interface.variables.iter().enumerate() {
        match version {
            FmiVersion::Two => variable2(&mut xml, export, place, variable),
            FmiVersion::Three => variable3(&mut xml, export, place, variable, abilities),
        }
    }
    xml.close();
    xml.open("ModelStructure", Attributes::new());
    match version {
        FmiVersion::Two => structure2(&mut xml, export),
        FmiVersion::Three => structure3(&mut xml, export),
    }
    xml.finish()
}

fn interfaces(xml: &mut Xml, export: &Export, version: FmiVersion, abilities: &Abilities, identifier: &str) {
    let is_two = version == FmiVersion::Two;
    let state = if is_two { "FMUstate" } else { "FMUState" };
    let common = || {
        let attributes = Attributes::new()
            .with("modelIdentifier", identifier)
            .flag(&format!("canGetAndSet{state}"), abilities.state)
            .flag(&format!("canSerialize{state}"), abilities.serialize)
            .flag("canBeInstantiatedOnlyOncePerProcess", export.is_single);
        if is_two {
            attributes.flag("providesDirectionalDerivative", abilities.derivatives)
        } else {
            attributes
                .flag("providesDirectionalDerivatives", abilities.derivatives)
                .flag("providesAdjointDerivatives", abilities.derivatives)
        }
    };
    if export.has_model_exchange() {
        xml.empty("ModelExchange", common());
    }
    let section = common().flag("canHandleVariableCommunicationStepSize", export.experiment.is_free);
    let section = if is_two {
        section.flag("canInterpolateInputs", abilities.moving_inputs)
    } else {
        section.flag("providesIntermediateUpdate", abilities.moving_inputs)
    };
    xml.empty("CoSimulation", section);
}

fn units(xml: &mut Xml, export: &Export) {
    let variables = &export.interface.variables;
    let mut names: Vec<&str> = variables.iter().filter_map(|v| v.unit.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    // What an FMU inside means by a name comes before what the name means elsewhere.
    let defined = |name: &str| {
        variables.iter().filter(|v| v.unit.as_deref() == Some(name)).find_map(|v| v.definition.clone())
    };
    xml.open("UnitDefinitions", Attributes::new());
    for name in names {
        let attributes = Attributes::new().with("name", name);
        let Some(unit) = defined(name).or_else(|| Unit::parse(name).ok()) else {
            xml.empty("Unit", attributes);
            continue;
        };
        xml.open("Unit", attributes);
        let mut base = Attributes::new();
        for (name, exponent) in BASE.iter().zip(unit.exponents).filter(|(_, exponent)| *exponent != 0) {
            base = base.with(name, exponent);
        }
        let factor = (unit.factor != 1.0).then(|| number(unit.factor));
        let offset = (unit.offset != 0.0).then(|| number(unit.offset));
        xml.empty("BaseUnit", base.some("factor", factor).some("offset", offset));
        xml.close();
    }
    xml.close();
}

/// Causality, variability and, where it is not fixed by these, `initial`.
fn kind(export: &Export, variable: &Variable) -> (&'static str, &'static str, Option<&'static str>) {
    let initial = if variable.setting == Setting::Start { "exact" } else { "calculated" };
    match variable.role {
        Role::Time => ("independent", "continuous", None),
        Role::Input(_) if variable.is_held => ("input", "discrete", None),
        Role::Input(_) => ("input", "continuous", None),
        Role::Output(_) if variable.is_held => ("output", "discrete", Some(initial)),
        Role::Output(_) => ("output", "continuous", Some(initial)),
        Role::Parameter(_) if variable.setting == Setting::Always => ("parameter", "tunable", Some("exact")),
        Role::Parameter(_) => ("parameter", "fixed", Some("exact")),
        // Locals of a container may jump: they belong to whatever is inside.
        Role::Local(_) if matches!(export.content, Content::System {}) => {
            ("local", "discrete", Some(initial))
        }
        Role::Local(_) | Role::Derivative(_) => ("local", "continuous", Some(initial)),
    }
}

fn named(export: &Export, place: usize, variable: &Variable) -> Attributes {
    let (causality, variability, initial) = kind(export, variable);
    let about = (!variable.description.is_empty()).then_some(&variable.description);
    Attributes::new()
        .with("name", &variable.name)
        .with("valueReference", place)
        .some("description", about)
        .with("causality", causality)
        .with("variability", variability)
        .some("initial", initial)
}

/// Unit, nominal value, and the start value of what can be set.
fn valued(attributes: Attributes, variable: &Variable) -> Attributes {
    let start = (variable.setting != Setting::Never).then(|| number(variable.start));
    attributes
        .some("unit", variable.unit.as_deref())
        .some("nominal", variable.nominal.map(number))
        .some("start", start)
}

fn variable2(xml: &mut Xml, export: &Export, place: usize, variable: &Variable) {
    xml.open("ScalarVariable", named(export, place, variable));
    let derivative = state_place(export, variable).map(|state| state + 1);
    xml.empty("Real", valued(Attributes::new(), variable).some("derivative", derivative));
    xml.close();
}

fn variable3(xml: &mut Xml, export: &Export, place: usize, variable: &Variable, abilities: &Abilities) {
    let is_asked = abilities.moving_inputs && matches!(variable.role, Role::Input(_));
    let attributes = named(export, place, variable).flag("intermediateUpdate", is_asked);
    xml.empty("Float64", valued(attributes, variable).some("derivative", state_place(export, variable)));
}

/// Of a derivative: the place of its state.
fn state_place(export: &Export, variable: &Variable) -> Option<usize> {
    match variable.role {
        Role::Derivative(state) => Some(export.interface.states[state]),
        _ => None,
    }
}

/// Outputs, derivatives, and what is computed at the start.
fn unknowns(export: &Export) -> [Vec<usize>; 3] {
    let interface = &export.interface;
    let outputs = interface.places(|role| matches!(role, Role::Output(_)));
    let derivatives = interface.places(|role| matches!(role, Role::Derivative(_)));
    let mut initial: Vec<usize> = [&outputs[..], &derivatives, &interface.states].concat();
    initial.retain(|place| interface.variables[*place].setting == Setting::Never);
    initial.sort_unstable();
    initial.dedup();
    [outputs, derivatives, initial]
}

/// What acts on an unknown, as a list of numbers that begin with `first`.
fn dependencies(export: &Export, place: usize, first: usize) -> String {
    let list = export.interface.variables[place].depends.iter();
    list.map(|known| (known + first).to_string()).collect::<Vec<_>>().join(" ")
}

fn structure2(xml: &mut Xml, export: &Export) {
    let [outputs, derivatives, initial] = unknowns(export);
    for (name, places, has_dependencies) in
        [("Outputs", outputs, true), ("Derivatives", derivatives, true), ("InitialUnknowns", initial, false)]
    {
        if places.is_empty() {
            continue;
        }
        xml.open(name, Attributes::new());
        for place in places {
            let depends = has_dependencies.then(|| dependencies(export, place, 1));
            xml.empty("Unknown", Attributes::new().with("index", place + 1).some("dependencies", depends));
        }
        xml.close();
    }
}

fn structure3(xml: &mut Xml, export: &Export) {
    let [outputs, derivatives, initial] = unknowns(export);
    for (name, places, has_dependencies) in [
        ("Output", outputs, true),
        ("ContinuousStateDerivative", derivatives, true),
        ("InitialUnknown", initial, false),
    ] {
        for place in places {
            let depends = has_dependencies.then(|| dependencies(export, place, 0));
            xml.empty(name, Attributes::new().with("valueReference", place).some("dependencies", depends));
        }
    }
}

//! `modelDescription.xml` of FMI 2.0 and 3.0.

use super::{Export, FmiVersion, Shape, plain};
use crate::interface::{Role, Setting, Variable};
use crate::plan::{Abilities, Content};
use koppel::unit::{BASE, Unit};
use koppel_fmi::xml::{Writer, number};

/// The whole document.
pub(super) fn text(export: &Export, shape: &Shape, identifier: &str, token: &str) -> String {
    let version = shape.version;
    let mut xml = Writer::default();
    let is_two = version == FmiVersion::Fmi2;
    xml.open("fmiModelDescription").attribute("fmiVersion", if is_two { "2.0" } else { "3.0" });
    xml.attribute("modelName", plain(&export.name));
    xml.attribute(if is_two { "guid" } else { "instantiationToken" }, token);
    xml.attribute("description", plain(&export.description));
    xml.attribute("generationTool", concat!("koppel ", env!("CARGO_PKG_VERSION")));
    xml.attribute("variableNamingConvention", "flat");
    let indicators = export.interface.places(|role| matches!(role, Role::Indicator(_)));
    xml.optional("numberOfEventIndicators", is_two.then_some(indicators.len()));
    interfaces(&mut xml, export, shape, identifier);
    units(&mut xml, export);
    xml.open("LogCategories").open("Category").attribute("name", "logStatusError").close().close();
    let experiment = &export.experiment;
    xml.open("DefaultExperiment").attribute("startTime", number(experiment.start));
    xml.attribute("stopTime", number(experiment.stop));
    xml.optional("stepSize", experiment.step.map(number)).close();
    xml.open("ModelVariables");
    for (place, variable) in export.interface.variables.iter().enumerate() {
        match version {
            FmiVersion::Fmi2 => variable2(&mut xml, export, place, variable),
            FmiVersion::Fmi3 => variable3(&mut xml, export, place, variable, &shape.abilities),
        }
    }
    xml.close();
    xml.open("ModelStructure");
    match version {
        FmiVersion::Fmi2 => structure2(&mut xml, export),
        FmiVersion::Fmi3 => structure3(&mut xml, export, &indicators),
    }
    // What XML cannot hold has been replaced.
    xml.finish().unwrap_or_default()
}

fn interfaces(xml: &mut Writer, export: &Export, shape: &Shape, identifier: &str) {
    let Shape { version, kinds: [has_co_simulation, has_model_exchange], abilities } = shape;
    let is_two = *version == FmiVersion::Fmi2;
    let state = if is_two { "FMUstate" } else { "FMUState" };
    let open = |xml: &mut Writer, section: &str| {
        xml.open(section).attribute("modelIdentifier", identifier);
        xml.flag(&format!("canGetAndSet{state}"), abilities.state);
        xml.flag(&format!("canSerialize{state}"), abilities.serialize);
        xml.flag("canBeInstantiatedOnlyOncePerProcess", export.is_single);
        if is_two {
            xml.flag("providesDirectionalDerivative", abilities.derivatives);
        } else {
            xml.flag("providesDirectionalDerivatives", abilities.derivatives);
            xml.flag("providesAdjointDerivatives", abilities.derivatives);
        }
    };
    if *has_model_exchange {
        open(xml, "ModelExchange");
        xml.close();
    }
    if !has_co_simulation {
        return;
    }
    open(xml, "CoSimulation");
    xml.flag("canHandleVariableCommunicationStepSize", export.experiment.is_free);
    let moving = if is_two { "canInterpolateInputs" } else { "providesIntermediateUpdate" };
    xml.flag(moving, abilities.moving_inputs).close();
}

fn units(xml: &mut Writer, export: &Export) {
    let variables = &export.interface.variables;
    let mut names: Vec<&str> = variables.iter().filter_map(|v| v.unit.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    // What an FMU inside means by a name comes before what the name means elsewhere.
    let defined = |name: &str| {
        variables.iter().filter(|v| v.unit.as_deref() == Some(name)).find_map(|v| v.definition.clone())
    };
    xml.open("UnitDefinitions");
    for name in names {
        xml.open("Unit").attribute("name", plain(name));
        if let Some(unit) = defined(name).or_else(|| Unit::parse(name).ok()) {
            xml.open("BaseUnit");
            for (name, exponent) in BASE.iter().zip(unit.exponents).filter(|(_, exponent)| *exponent != 0) {
                xml.attribute(name, exponent);
            }
            xml.optional("factor", (unit.factor != 1.0).then(|| number(unit.factor)));
            xml.optional("offset", (unit.offset != 0.0).then(|| number(unit.offset))).close();
        }
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
        Role::Local(_) if variable.is_held => ("local", "discrete", Some(initial)),
        Role::Local(_) | Role::Derivative(_) | Role::Indicator(_) => ("local", "continuous", Some(initial)),
    }
}

/// Opens the element of a variable.
fn open(xml: &mut Writer, tag: &str, export: &Export, place: usize, variable: &Variable) {
    let (causality, variability, initial) = kind(export, variable);
    let about = (!variable.description.is_empty()).then(|| plain(&variable.description));
    xml.open(tag).attribute("name", plain(&variable.name)).attribute("valueReference", place);
    xml.optional("description", about).attribute("causality", causality);
    xml.attribute("variability", variability).optional("initial", initial);
}

/// Unit, nominal value, and the start value of what can be set.
fn valued(xml: &mut Writer, variable: &Variable) {
    let start = (variable.setting != Setting::Never).then(|| number(variable.start));
    xml.optional("unit", variable.unit.as_deref().map(plain));
    xml.optional("nominal", variable.nominal.map(number)).optional("start", start);
}

fn variable2(xml: &mut Writer, export: &Export, place: usize, variable: &Variable) {
    open(xml, "ScalarVariable", export, place, variable);
    valued(xml.open("Real"), variable);
    xml.optional("derivative", state_place(export, variable).map(|state| state + 1)).close().close();
}

fn variable3(xml: &mut Writer, export: &Export, place: usize, variable: &Variable, abilities: &Abilities) {
    let is_asked = abilities.moving_inputs && matches!(variable.role, Role::Input(_));
    open(xml, "Float64", export, place, variable);
    valued(xml.flag("intermediateUpdate", is_asked), variable);
    xml.optional("derivative", state_place(export, variable)).close();
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

fn structure2(xml: &mut Writer, export: &Export) {
    let [outputs, derivatives, initial] = unknowns(export);
    for (name, places, has_dependencies) in
        [("Outputs", outputs, true), ("Derivatives", derivatives, true), ("InitialUnknowns", initial, false)]
    {
        if places.is_empty() {
            continue;
        }
        xml.open(name);
        for place in places {
            let depends = has_dependencies.then(|| dependencies(export, place, 1));
            xml.open("Unknown").attribute("index", place + 1).optional("dependencies", depends).close();
        }
        xml.close();
    }
}

fn structure3(xml: &mut Writer, export: &Export, indicators: &[usize]) {
    let [outputs, derivatives, initial] = unknowns(export);
    for (name, places, has_dependencies) in [
        ("Output", outputs, true),
        ("ContinuousStateDerivative", derivatives, true),
        ("InitialUnknown", initial, false),
    ] {
        for place in places {
            let depends = has_dependencies.then(|| dependencies(export, place, 0));
            xml.open(name).attribute("valueReference", place).optional("dependencies", depends).close();
        }
    }
    for place in indicators {
        xml.open("EventIndicator").attribute("valueReference", place).close();
    }
}

//! Everything before the variables: attributes of the root, interfaces, units, types.

use super::model::{
    Attributes, BaseUnit, ClockAttributes, CoSimulation, DefaultExperiment, Description, DisplayUnit,
    EnumerationItem, FmiVersion, Interface, IntervalVariability, LogCategory, ModelExchange, ModelStructure,
    NamingConvention, TypeDefinition, UnitDefinition, ValueType,
};
use super::problem::Problem;
use super::xml::{Element, Result, words};
use std::collections::HashSet;

words! { NamingConvention: "`flat` or `structured`";
    "flat" => NamingConvention::Flat,
    "structured" => NamingConvention::Structured,
}

words! { IntervalVariability: "`constant`, `fixed`, `tunable`, `changing`, `countdown` or `triggered`";
    "constant" => IntervalVariability::Constant,
    "fixed" => IntervalVariability::Fixed,
    "tunable" => IntervalVariability::Tunable,
    "changing" => IntervalVariability::Changing,
    "countdown" => IntervalVariability::Countdown,
    "triggered" => IntervalVariability::Triggered,
}

/// A description without variables.
pub(super) fn read(root: Element<'_>) -> Result<Description> {
    let fmi_version = version(root)?;
    let token = match fmi_version {
        FmiVersion::Fmi2 => "guid",
        FmiVersion::Fmi3 => "instantiationToken",
    };
    let units = units(root)?;
    let description = Description {
        fmi_version,
        fmi_version_text: root.required("fmiVersion")?.into(),
        model_name: root.required("modelName")?.into(),
        instantiation_token: root.required(token)?.into(),
        description: root.text("description"),
        author: root.text("author"),
        version: root.text("version"),
        copyright: root.text("copyright"),
        license: root.text("license"),
        generation_tool: root.text("generationTool"),
        generation_date_and_time: root.text("generationDateAndTime"),
        variable_naming_convention: root.get("variableNamingConvention")?.unwrap_or_default(),
        default_experiment: root.child("DefaultExperiment")?.map(experiment).transpose()?,
        model_exchange: root.child("ModelExchange")?.map(|e| model_exchange(e, fmi_version)).transpose()?,
        co_simulation: root.child("CoSimulation")?.map(|e| co_simulation(e, fmi_version)).transpose()?,
        scheduled_execution: root
            .child("ScheduledExecution")?
            .map(|e| interface(e, fmi_version))
            .transpose()?,
        number_of_event_indicators: root.get::<u32>("numberOfEventIndicators")?.unwrap_or(0) as usize,
        types: types(root, fmi_version, &units)?,
        units,
        log_categories: log_categories(root)?,
        variables: Vec::new(),
        structure: ModelStructure::default(),
        terminals: Vec::new(),
        warnings: Vec::new(),
        more_warnings: 0,
    };
    let interfaces = &description;
    if interfaces.model_exchange.is_none()
        && interfaces.co_simulation.is_none()
        && interfaces.scheduled_execution.is_none()
    {
        return Err(root.error(Problem::NoInterface));
    }
    Ok(description)
}

fn version(root: Element<'_>) -> Result<FmiVersion> {
    let text = root.required("fmiVersion")?;
    if text == "2.0" || text.starts_with("2.0.") {
        return Ok(FmiVersion::Fmi2);
    }
    let Some(minor) = text.strip_prefix("3.") else {
        return Err(root.error(Problem::Version { version: text.into() }));
    };
    match minor.strip_prefix('0') {
        Some(rest) if rest.is_empty() || rest.starts_with(['.', '-']) => {}
        _ if minor.starts_with(|c: char| c.is_ascii_digit()) => {
            root.warn(Problem::NewerVersion { version: text.into() });
        }
        _ => return Err(root.error(Problem::Version { version: text.into() })),
    }
    Ok(FmiVersion::Fmi3)
}

fn experiment(element: Element<'_>) -> Result<DefaultExperiment> {
    Ok(DefaultExperiment {
        start_time: element.get("startTime")?,
        stop_time: element.get("stopTime")?,
        tolerance: element.get("tolerance")?,
        step_size: element.get("stepSize")?,
    })
}

fn interface(element: Element<'_>, version: FmiVersion) -> Result<Interface> {
    let (state, serialize, directional) = match version {
        FmiVersion::Fmi2 => ("canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"),
        FmiVersion::Fmi3 => {
            ("canGetAndSetFMUState", "canSerializeFMUState", "providesDirectionalDerivatives")
        }
    };
    let mut source_files = Vec::new();
    if let Some(files) = element.child("SourceFiles")? {
        for file in files.only("File") {
            source_files.push(file.required("name")?.to_owned());
        }
    }
    let interface = Interface {
        model_identifier: model_identifier(element)?,
        needs_execution_tool: element.flag("needsExecutionTool")?,
        can_be_instantiated_only_once_per_process: element.flag("canBeInstantiatedOnlyOncePerProcess")?,
        can_not_use_memory_management_functions: element.flag("canNotUseMemoryManagementFunctions")?,
        can_get_and_set_fmu_state: element.flag(state)?,
        can_serialize_fmu_state: element.flag(serialize)?,
        provides_directional_derivatives: element.flag(directional)?,
        provides_adjoint_derivatives: element.flag("providesAdjointDerivatives")?,
        provides_per_element_dependencies: element.flag("providesPerElementDependencies")?,
        source_files,
    };
    if interface.can_serialize_fmu_state && !interface.can_get_and_set_fmu_state {
        element.warn(Problem::Requires { first: serialize, second: state });
    }
    Ok(interface)
}

/// It becomes part of a path, so nothing but a plain file name will do.
fn model_identifier(element: Element<'_>) -> Result<String> {
    let name = element.required("modelIdentifier")?;
    let is_plain =
        |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*');
    if name.is_empty() || matches!(name, "." | "..") || name.len() > 250 || !name.chars().all(is_plain) {
        return Err(element.bad("modelIdentifier", name, "a file name without its ending"));
    }
    Ok(name.into())
}

fn co_simulation(element: Element<'_>, version: FmiVersion) -> Result<CoSimulation> {
    Ok(CoSimulation {
        interface: interface(element, version)?,
        can_handle_variable_communication_step_size: element
            .flag("canHandleVariableCommunicationStepSize")?,
        can_interpolate_inputs: element.flag("canInterpolateInputs")?,
        max_output_derivative_order: element.get("maxOutputDerivativeOrder")?.unwrap_or(0),
        can_run_asynchronously: element.flag("canRunAsynchronuously")?,
        fixed_internal_step_size: element.get("fixedInternalStepSize")?,
        recommended_intermediate_input_smoothness: element
            .get("recommendedIntermediateInputSmoothness")?
            .unwrap_or(0),
        provides_intermediate_update: element.flag("providesIntermediateUpdate")?,
        might_return_early_from_do_step: element.flag("mightReturnEarlyFromDoStep")?,
        can_return_early_after_intermediate_update: element.flag("canReturnEarlyAfterIntermediateUpdate")?,
        has_event_mode: element.flag("hasEventMode")?,
        provides_evaluate_discrete_states: element.flag("providesEvaluateDiscreteStates")?,
    })
}

fn model_exchange(element: Element<'_>, version: FmiVersion) -> Result<ModelExchange> {
    let needs_completed_integrator_step = match version {
        FmiVersion::Fmi2 => !element.flag("completedIntegratorStepNotNeeded")?,
        FmiVersion::Fmi3 => element.flag("needsCompletedIntegratorStep")?,
    };
    Ok(ModelExchange {
        interface: interface(element, version)?,
        needs_completed_integrator_step,
        provides_evaluate_discrete_states: element.flag("providesEvaluateDiscreteStates")?,
    })
}

/// Source files of FMI 3.0, for every section with the same model identifier.
pub(super) fn read_sources(root: Element<'_>, description: &mut Description) -> Result<()> {
    for configuration in root.children().filter(|child| child.name() == "BuildConfiguration") {
        let identifier = configuration.required("modelIdentifier")?;
        let mut files = Vec::new();
        for set in configuration.children().filter(|child| child.name() == "SourceFileSet") {
            for file in set.children().filter(|child| child.name() == "SourceFile") {
                files.push(file.required("name")?.to_owned());
            }
        }
        let sections = [
            description.model_exchange.as_mut().map(|section| &mut section.interface),
            description.co_simulation.as_mut().map(|section| &mut section.interface),
            description.scheduled_execution.as_mut(),
        ];
        for interface in sections.into_iter().flatten().filter(|i| i.model_identifier == identifier) {
            interface.source_files.clone_from(&files);
        }
    }
    Ok(())
}

fn units(root: Element<'_>) -> Result<Vec<UnitDefinition>> {
    let mut units = Vec::new();
    let mut names = HashSet::new();
    for element in root.child("UnitDefinitions")?.into_iter().flat_map(|list| list.only("Unit")) {
        let name = element.required("name")?;
        if !names.insert(name) {
            return Err(element.error(Problem::Duplicate { what: "unit", name: name.into() }));
        }
        let display = element.children().filter(|child| child.name() == "DisplayUnit");
        units.push(UnitDefinition {
            name: name.into(),
            base: element.child("BaseUnit")?.map(base_unit).transpose()?,
            display_units: display.map(display_unit).collect::<Result<_>>()?,
        });
    }
    Ok(units)
}

fn base_unit(element: Element<'_>) -> Result<BaseUnit> {
    let mut exponents = [0; 8];
    for (exponent, name) in exponents.iter_mut().zip(koppel::unit::BASE) {
        *exponent = element.get(name)?.unwrap_or(0);
    }
    let factor: f64 = element.get("factor")?.unwrap_or(1.0);
    let offset: f64 = element.get("offset")?.unwrap_or(0.0);
    if !factor.is_finite() || factor == 0.0 {
        return Err(element.bad("factor", &factor.to_string(), "a finite number other than zero"));
    }
    if !offset.is_finite() {
        return Err(element.bad("offset", &offset.to_string(), "a finite number"));
    }
    Ok(BaseUnit { exponents, factor, offset })
}

fn display_unit(element: Element<'_>) -> Result<DisplayUnit> {
    Ok(DisplayUnit {
        name: element.required("name")?.into(),
        factor: element.get("factor")?.unwrap_or(1.0),
        offset: element.get("offset")?.unwrap_or(0.0),
        inverse: element.flag("inverse")?,
    })
}

fn log_categories(root: Element<'_>) -> Result<Vec<LogCategory>> {
    let list = root.child("LogCategories")?.into_iter().flat_map(|list| list.only("Category"));
    list.map(|element| {
        Ok(LogCategory { name: element.required("name")?.into(), description: element.text("description") })
    })
    .collect()
}

fn types(root: Element<'_>, version: FmiVersion, units: &[UnitDefinition]) -> Result<Vec<TypeDefinition>> {
    let units: HashSet<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    let mut types: Vec<TypeDefinition> = Vec::new();
    let mut names = HashSet::new();
    for element in root.child("TypeDefinitions")?.into_iter().flat_map(|list| list.children()) {
        let Some(definition) = type_definition(element, version)? else { continue };
        if !names.insert(definition.name.clone()) {
            return Err(element.error(Problem::Duplicate { what: "type", name: definition.name }));
        }
        if let Some(unit) = definition.attributes.unit.as_deref().filter(|unit| !units.contains(unit)) {
            element.warn(Problem::Unknown { what: "unit", name: unit.into(), close: None });
        }
        types.push(definition);
    }
    Ok(types)
}

fn type_definition(element: Element<'_>, version: FmiVersion) -> Result<Option<TypeDefinition>> {
    let (inner, value_type) = match version {
        FmiVersion::Fmi2 => {
            let inner =
                element.children().find_map(|child| Some((child, value_type(child.name(), version)?)));
            inner.ok_or_else(|| element.error(Problem::MissingElement { name: "Real, Integer, ..." }))?
        }
        FmiVersion::Fmi3 => {
            let name = element.name().strip_suffix("Type");
            let Some(value_type) = name.and_then(|name| value_type(name, version)) else {
                element.warn(Problem::UnknownElement);
                return Ok(None);
            };
            (element, value_type)
        }
    };
    let items = if value_type == ValueType::Enumeration { items(inner)? } else { Vec::new() };
    Ok(Some(TypeDefinition {
        name: element.required("name")?.into(),
        value_type,
        description: element.text("description"),
        attributes: attributes(inner, value_type)?,
        items,
    }))
}

fn items(element: Element<'_>) -> Result<Vec<EnumerationItem>> {
    let mut items: Vec<EnumerationItem> = Vec::new();
    let mut names = HashSet::new();
    for item in element.only("Item") {
        let name = item.required("name")?;
        if !names.insert(name) {
            return Err(item.error(Problem::Duplicate { what: "item", name: name.into() }));
        }
        items.push(EnumerationItem {
            name: name.into(),
            value: item.require("value")?,
            description: item.text("description"),
        });
    }
    Ok(items)
}

/// The type an element stands for.
pub(super) fn value_type(name: &str, version: FmiVersion) -> Option<ValueType> {
    match (version, name) {
        (FmiVersion::Fmi2, "Real") => Some(ValueType::Float64),
        (FmiVersion::Fmi2, "Integer") => Some(ValueType::Int32),
        (FmiVersion::Fmi2, "Boolean" | "String" | "Enumeration") | (FmiVersion::Fmi3, _) => {
            ValueType::named(name)
        }
        (FmiVersion::Fmi2, _) => None,
    }
}

/// Attributes that types and variables have in common, as far as they are written here.
pub(super) fn attributes(element: Element<'_>, value_type: ValueType) -> Result<Attributes> {
    let mut attributes = Attributes { quantity: element.text("quantity"), ..Attributes::default() };
    if value_type.is_float() {
        attributes.unit = element.text("unit").filter(|unit| !unit.is_empty());
        attributes.display_unit = element.text("displayUnit").filter(|unit| !unit.is_empty());
        attributes.relative_quantity = element.flag("relativeQuantity")?;
        attributes.unbounded = element.flag("unbounded")?;
        attributes.nominal = element.get("nominal")?;
        if let Some(nominal) = attributes.nominal.filter(|nominal| !(nominal.is_finite() && *nominal > 0.0)) {
            element.warn(Problem::Nominal { nominal });
            attributes.nominal = None;
        }
    }
    if value_type.is_float() {
        (attributes.min, attributes.max) = (element.get("min")?, element.get("max")?);
    } else if value_type.integer_range().is_some() {
        let integer = |name| Ok(element.get::<i128>(name)?.map(|value| value as f64));
        (attributes.min, attributes.max) = (integer("min")?, integer("max")?);
    }
    if let (Some(min), Some(max)) = (attributes.min, attributes.max)
        && min > max
    {
        element.warn(Problem::Bounds { min, max });
    }
    if value_type == ValueType::Binary {
        attributes.mime_type = element.text("mimeType");
        attributes.max_size = element.get("maxSize")?;
    }
    if value_type == ValueType::Clock && element.raw("intervalVariability").is_some() {
        attributes.clock = Some(clock(element)?);
    }
    Ok(attributes)
}

fn clock(element: Element<'_>) -> Result<ClockAttributes> {
    Ok(ClockAttributes {
        interval_variability: element.require("intervalVariability")?,
        can_be_deactivated: element.flag("canBeDeactivated")?,
        priority: element.get("priority")?,
        interval_decimal: element.get("intervalDecimal")?,
        shift_decimal: element.get("shiftDecimal")?.unwrap_or(0.0),
        supports_fraction: element.flag("supportsFraction")?,
        resolution: element.get("resolution")?,
        interval_counter: element.get("intervalCounter")?,
        shift_counter: element.get("shiftCounter")?.unwrap_or(0),
    })
}

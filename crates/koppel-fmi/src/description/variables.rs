//! The variables of both versions.

use super::header::{attributes, value_type};
use super::model::{
    Alias, Attributes, Causality, ClockAttributes, Description, Dimension, FmiVersion, Initial, Start,
    TypeDefinition, ValueType, Variability, Variable,
};
use super::problem::Problem;
use super::structure::Places;
use super::xml::{Element, Result, words};
use std::collections::HashMap;

/// Most elements of one array.
pub const MAX_ARRAY_ELEMENTS: u64 = 10_000_000;

words! { Causality: "a causality of the standard, such as `input`";
    "parameter" => Causality::Parameter,
    "calculatedParameter" => Causality::CalculatedParameter,
    "structuralParameter" => Causality::StructuralParameter,
    "input" => Causality::Input,
    "output" => Causality::Output,
    "local" => Causality::Local,
    "independent" => Causality::Independent,
}

words! { Variability: "`constant`, `fixed`, `tunable`, `discrete` or `continuous`";
    "constant" => Variability::Constant,
    "fixed" => Variability::Fixed,
    "tunable" => Variability::Tunable,
    "discrete" => Variability::Discrete,
    "continuous" => Variability::Continuous,
}

words! { Initial: "`exact`, `approx` or `calculated`";
    "exact" => Initial::Exact,
    "approx" => Initial::Approx,
    "calculated" => Initial::Calculated,
}

/// Reads `ModelVariables` into the description.
pub(super) fn read(root: Element<'_>, description: &mut Description) -> Result<()> {
    let Some(list) = root.child("ModelVariables")? else {
        return Err(root.error(Problem::MissingElement { name: "ModelVariables" }));
    };
    let context = Context {
        version: description.fmi_version,
        types: description.types.iter().map(|definition| (definition.name.as_str(), definition)).collect(),
        names: &description.types,
    };
    let mut variables = Vec::new();
    let mut elements = Vec::new();
    for element in list.children() {
        if let Some((variable, inner)) = context.variable(element)? {
            variables.push(variable);
            elements.push((element, inner));
        }
    }
    link(&elements, &mut variables, description.fmi_version)?;
    description.variables = variables;
    for (variable, (element, _)) in description.variables.iter().zip(&elements) {
        check_size(*element, description, variable)?;
    }
    super::rules::check_variables(&elements, description)
}

/// What a variable is read with.
struct Context<'a> {
    version: FmiVersion,
    types: HashMap<&'a str, &'a TypeDefinition>,
    names: &'a [TypeDefinition],
}

impl Context<'_> {
    /// One variable, and the element that carries its typed attributes.
    fn variable<'e>(&self, element: Element<'e>) -> Result<Option<(Variable, Element<'e>)>> {
        let Some((inner, value_type)) = self.typed(element)? else { return Ok(None) };
        let causality: Causality = element.get("causality")?.unwrap_or(Causality::Local);
        let variability = self.variability(element, value_type, causality)?;
        // FMI 2.0 keeps `initial` with the variable, FMI 3.0 has one element for both.
        let initial =
            element.get("initial")?.or_else(|| default_initial(self.version, causality, variability));
        let declared_type = inner.text("declaredType").filter(|name| !name.is_empty());
        let mut variable = Variable {
            name: element.required("name")?.into(),
            value_reference: element.require("valueReference")?,
            value_type,
            description: element.text("description"),
            causality,
            variability,
            initial,
            start: start(inner, value_type, self.version)?,
            attributes: attributes(inner, value_type)?,
            declared_type,
            dimensions: Vec::new(),
            derivative: None,
            reinit: inner.flag("reinit")?,
            previous: None,
            can_handle_multiple_set: element.get("canHandleMultipleSetPerTimeInstant")?.unwrap_or(true),
            intermediate_update: element.flag("intermediateUpdate")?,
            clocks: Vec::new(),
            aliases: aliases(element)?,
        };
        self.inherit(inner, &mut variable)?;
        if value_type == ValueType::Clock && variable.attributes.clock.is_none() {
            return Err(element.error(Problem::MissingAttribute { name: "intervalVariability" }));
        }
        Ok(Some((variable, inner)))
    }

    fn typed<'e>(&self, element: Element<'e>) -> Result<Option<(Element<'e>, ValueType)>> {
        match self.version {
            FmiVersion::Fmi2 if element.name() == "ScalarVariable" => {
                let typed = |child: Element<'e>| Some((child, value_type(child.name(), self.version)?));
                match element.children().find_map(typed) {
                    Some(found) => Ok(Some(found)),
                    None => Err(element.error(Problem::MissingElement { name: "Real, Integer, ..." })),
                }
            }
            FmiVersion::Fmi3 if value_type(element.name(), self.version).is_some() => {
                Ok(value_type(element.name(), self.version).map(|value_type| (element, value_type)))
            }
            _ => {
                element.warn(Problem::UnknownElement);
                Ok(None)
            }
        }
    }

    fn variability(
        &self,
        element: Element<'_>,
        value_type: ValueType,
        causality: Causality,
    ) -> Result<Variability> {
        use Causality::{CalculatedParameter, Parameter, StructuralParameter};
        if let Some(variability) = element.get("variability")? {
            return Ok(variability);
        }
        let is_parameter = matches!(causality, Parameter | CalculatedParameter | StructuralParameter);
        let assumed = match (is_parameter, value_type.is_float()) {
            (true, _) => Variability::Fixed,
            (false, true) => Variability::Continuous,
            (false, false) => Variability::Discrete,
        };
        // The default of FMI 2.0 is `continuous` whatever the type, which is forbidden for all but reals.
        if self.version == FmiVersion::Fmi2 && assumed != Variability::Continuous {
            element.warn(Problem::AssumedVariability { read_as: assumed });
        }
        Ok(assumed)
    }

    /// Takes from the declared type what the variable does not say itself.
    fn inherit(&self, element: Element<'_>, variable: &mut Variable) -> Result<()> {
        let Some(name) = variable.declared_type.as_deref() else {
            if variable.value_type == ValueType::Enumeration {
                return Err(element.error(Problem::MissingAttribute { name: "declaredType" }));
            }
            return Ok(());
        };
        let Some(definition) = self.types.get(name) else {
            let known: Vec<String> = self.names.iter().take(1000).map(|known| known.name.clone()).collect();
            let close = koppel::error::closest(name, &known).map(str::to_owned);
            return Err(element.error(Problem::Unknown { what: "declared type", name: name.into(), close }));
        };
        if definition.value_type != variable.value_type {
            return Err(element.error(Problem::TypeMismatch {
                name: name.into(),
                found: definition.value_type.name(),
                expected: variable.value_type.name(),
            }));
        }
        let (own, from) = (&mut variable.attributes, &definition.attributes);
        let explicit = |attribute| element.raw(attribute).is_some();
        let fill = |own: &mut Option<String>, from: &Option<String>| {
            if own.is_none() {
                own.clone_from(from);
            }
        };
        fill(&mut own.quantity, &from.quantity);
        fill(&mut own.unit, &from.unit);
        fill(&mut own.display_unit, &from.display_unit);
        fill(&mut own.mime_type, &from.mime_type);
        *own = Attributes {
            relative_quantity: if explicit("relativeQuantity") {
                own.relative_quantity
            } else {
                from.relative_quantity
            },
            unbounded: if explicit("unbounded") { own.unbounded } else { from.unbounded },
            min: own.min.or(from.min),
            max: own.max.or(from.max),
            nominal: own.nominal.or(from.nominal),
            max_size: own.max_size.or(from.max_size),
            clock: inherit_clock(element, own.clock, from.clock),
            ..std::mem::take(own)
        };
        Ok(())
    }
}

/// A clock with what its type adds.
fn inherit_clock(
    element: Element<'_>,
    own: Option<ClockAttributes>,
    from: Option<ClockAttributes>,
) -> Option<ClockAttributes> {
    let (Some(own), Some(from)) = (own, from) else { return own.or(from) };
    let explicit = |attribute| element.raw(attribute).is_some();
    Some(ClockAttributes {
        interval_variability: own.interval_variability,
        can_be_deactivated: if explicit("canBeDeactivated") {
            own.can_be_deactivated
        } else {
            from.can_be_deactivated
        },
        priority: own.priority.or(from.priority),
        interval_decimal: own.interval_decimal.or(from.interval_decimal),
        shift_decimal: if explicit("shiftDecimal") { own.shift_decimal } else { from.shift_decimal },
        supports_fraction: if explicit("supportsFraction") {
            own.supports_fraction
        } else {
            from.supports_fraction
        },
        resolution: own.resolution.or(from.resolution),
        interval_counter: own.interval_counter.or(from.interval_counter),
        shift_counter: if explicit("shiftCounter") { own.shift_counter } else { from.shift_counter },
    })
}

/// The standard's table of defaults (FMI 2.0.5 and 3.0.1, section 2.2.7 / 2.4.7.5).
fn default_initial(version: FmiVersion, causality: Causality, variability: Variability) -> Option<Initial> {
    use {Causality as C, Variability as V};
    match (causality, variability) {
        (C::Input, _) if version == FmiVersion::Fmi3 => Some(Initial::Exact),
        (C::Input | C::Independent, _) => None,
        (_, V::Constant) | (C::Parameter | C::StructuralParameter, _) => Some(Initial::Exact),
        (C::CalculatedParameter | C::Output | C::Local, _) => Some(Initial::Calculated),
    }
}

fn start(element: Element<'_>, value_type: ValueType, version: FmiVersion) -> Result<Option<Start>> {
    let in_elements =
        version == FmiVersion::Fmi3 && matches!(value_type, ValueType::String | ValueType::Binary);
    if in_elements {
        let values: Vec<&str> = element
            .children()
            .filter(|child| child.name() == "Start")
            .map(|child| child.required("value"))
            .collect::<Result<_>>()?;
        return Ok(match value_type {
            _ if values.is_empty() => None,
            ValueType::String => Some(Start::Strings(values.into_iter().map(str::to_owned).collect())),
            _ => {
                let bytes = values.into_iter().map(|value| element.convert("start", value));
                Some(Start::Binaries(bytes.collect::<Result<_>>()?))
            }
        });
    }
    let start = match value_type {
        ValueType::Float32 | ValueType::Float64 => element.list("start")?.map(Start::Reals),
        ValueType::Boolean => element.list("start")?.map(Start::Booleans),
        ValueType::String => element.text("start").map(|text| Start::Strings(vec![text])),
        ValueType::Binary | ValueType::Clock => None,
        _ => integers(element, value_type)?.map(Start::Integers),
    };
    if let Some(start) = &start
        && version == FmiVersion::Fmi2
        && start.len() != 1
    {
        return Err(element.bad("start", element.raw("start").unwrap_or_default(), "one value"));
    }
    Ok(start)
}

fn integers(element: Element<'_>, value_type: ValueType) -> Result<Option<Vec<i128>>> {
    let Some(list) = element.list::<i128>("start")? else { return Ok(None) };
    let (min, max) = value_type.integer_range().unwrap_or((i128::MIN, i128::MAX));
    match list.iter().find(|value| !(min..=max).contains(*value)) {
        Some(value) => Err(element.bad("start", &value.to_string(), "a value within the range of its type")),
        None => Ok(Some(list)),
    }
}

fn aliases(element: Element<'_>) -> Result<Vec<Alias>> {
    element
        .children()
        .filter(|child| child.name() == "Alias")
        .map(|child| {
            Ok(Alias {
                name: child.required("name")?.into(),
                description: child.text("description"),
                display_unit: child.text("displayUnit"),
            })
        })
        .collect()
}

/// Turns references between variables into places.
fn link(
    elements: &[(Element<'_>, Element<'_>)],
    variables: &mut [Variable],
    version: FmiVersion,
) -> Result<()> {
    let places = Places::new(version, variables);
    let find = |element: Element<'_>, attribute, reference| places.find(element, attribute, reference);
    for ((element, inner), variable) in elements.iter().zip(variables) {
        variable.derivative = inner.get("derivative")?.map(|r| find(*inner, "derivative", r)).transpose()?;
        if version == FmiVersion::Fmi2 {
            continue;
        }
        variable.previous = element.get("previous")?.map(|r| find(*element, "previous", r)).transpose()?;
        let clocks = element.list("clocks")?.unwrap_or_default();
        variable.clocks = clocks.into_iter().map(|r| find(*element, "clocks", r)).collect::<Result<_>>()?;
        for child in element.children().filter(|child| child.name() == "Dimension") {
            let dimension = match (child.get("start")?, child.get("valueReference")?) {
                (Some(size), None) => Dimension::Fixed(size),
                (None, Some(r)) => Dimension::Parameter(find(child, "valueReference", r)?),
                _ => return Err(child.error(Problem::Dimension)),
            };
            variable.dimensions.push(dimension);
        }
    }
    Ok(())
}

/// Sizes of arrays come from where they may, and fit the start values.
fn check_size(element: Element<'_>, description: &Description, variable: &Variable) -> Result<()> {
    for dimension in &variable.dimensions {
        let Dimension::Parameter(place) = dimension else { continue };
        let source = &description.variables[*place];
        let is_constant =
            source.causality == Causality::StructuralParameter || source.variability == Variability::Constant;
        if !is_constant || source.value_type != ValueType::UInt64 || source.start.is_none() {
            return Err(element.error(Problem::DimensionSource { name: source.name.clone() }));
        }
    }
    let expected = description.elements(variable);
    if expected > MAX_ARRAY_ELEMENTS {
        return Err(element.error(Problem::ArrayTooLarge { limit: MAX_ARRAY_ELEMENTS }));
    }
    match variable.start.as_ref().map(Start::len) {
        Some(found) if found != 1 && found as u64 != expected => {
            Err(element.error(Problem::StartLength { found, expected }))
        }
        _ => Ok(()),
    }
}

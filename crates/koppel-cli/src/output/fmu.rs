//! What an FMU declares, as JSON: `koppel fmu info --json`.

use koppel_fmi::Fmu;
use koppel_fmi::description::{
    BaseUnit, ClockAttributes, CoSimulation, Dependency, Description, Dimension, DisplayUnit,
    EnumerationItem, Interface, MemberKind, ModelExchange, Start, Terminal, TypeDefinition, UnitDefinition,
    Unknown, Variable,
};
use serde_json::{Value, json};

/// A word of the standard: `CalculatedParameter` is `calculatedParameter` there.
pub(crate) fn standard_word(word: impl std::fmt::Debug) -> String {
    let mut text = format!("{word:?}");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}

/// Everything that the description says.
pub(crate) fn fmu_document(fmu: &Fmu) -> Value {
    let description = fmu.description();
    let experiment = description.default_experiment.map(|experiment| {
        json!({
            "start": experiment.start_time,
            "stop": experiment.stop_time,
            "tolerance": experiment.tolerance,
            "step": experiment.step_size,
        })
    });
    let categories = description.log_categories.iter();
    let categories: Vec<Value> = categories
        .map(|category| json!({ "name": category.name, "description": category.description }))
        .collect();
    let variables = description.variables.iter().map(|one| variable(description, one));
    let warnings: Vec<String> = description.warnings.iter().map(ToString::to_string).collect();
    json!({
        "model": description.model_name,
        "description": description.description,
        "fmi_version": description.fmi_version_text,
        "token": description.instantiation_token,
        "author": description.author,
        "version": description.version,
        "copyright": description.copyright,
        "license": description.license,
        "made_by": description.generation_tool,
        "made_at": description.generation_date_and_time,
        "naming": standard_word(description.variable_naming_convention),
        "platforms": fmu.platforms(),
        "default_experiment": experiment,
        "co_simulation": description.co_simulation.as_ref().map(co_simulation),
        "model_exchange": description.model_exchange.as_ref().map(model_exchange),
        "scheduled_execution": description.scheduled_execution.as_ref().map(interface),
        "event_indicators": description.number_of_event_indicators,
        "variables": variables.collect::<Vec<Value>>(),
        "structure": structure(description),
        "units": units(description),
        "types": types(description),
        "terminals": description.terminals.iter().map(|one| terminal(description, one)).collect::<Vec<_>>(),
        "log_categories": categories,
        "warnings": warnings,
        "more_warnings": description.more_warnings,
    })
}

fn interface(section: &Interface) -> Value {
    json!({
        "model_identifier": section.model_identifier,
        "needs_execution_tool": section.needs_execution_tool,
        "can_be_instantiated_only_once_per_process": section.can_be_instantiated_only_once_per_process,
        "can_not_use_memory_management_functions": section.can_not_use_memory_management_functions,
        "can_get_and_set_fmu_state": section.can_get_and_set_fmu_state,
        "can_serialize_fmu_state": section.can_serialize_fmu_state,
        "provides_directional_derivatives": section.provides_directional_derivatives,
        "provides_adjoint_derivatives": section.provides_adjoint_derivatives,
        "provides_per_element_dependencies": section.provides_per_element_dependencies,
        "source_files": section.source_files,
    })
}

fn co_simulation(section: &CoSimulation) -> Value {
    let own = json!({
        "can_handle_variable_communication_step_size": section.can_handle_variable_communication_step_size,
        "can_interpolate_inputs": section.can_interpolate_inputs,
        "max_output_derivative_order": section.max_output_derivative_order,
        "can_run_asynchronously": section.can_run_asynchronously,
        "fixed_internal_step_size": section.fixed_internal_step_size,
        "recommended_intermediate_input_smoothness": section.recommended_intermediate_input_smoothness,
        "provides_intermediate_update": section.provides_intermediate_update,
        "might_return_early_from_do_step": section.might_return_early_from_do_step,
        "can_return_early_after_intermediate_update": section.can_return_early_after_intermediate_update,
        "has_event_mode": section.has_event_mode,
        "provides_evaluate_discrete_states": section.provides_evaluate_discrete_states,
    });
    both(interface(&section.interface), own)
}

fn model_exchange(section: &ModelExchange) -> Value {
    let own = json!({
        "needs_completed_integrator_step": section.needs_completed_integrator_step,
        "provides_evaluate_discrete_states": section.provides_evaluate_discrete_states,
    });
    both(interface(&section.interface), own)
}

/// One object with the keys of two.
fn both(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

fn variable(description: &Description, variable: &Variable) -> Value {
    let name = |place: usize| description.variables[place].name.as_str();
    let size = |dimension: &Dimension| match dimension {
        Dimension::Fixed(size) => json!(size),
        Dimension::Parameter(place) => json!(name(*place)),
    };
    let aliases = variable.aliases.iter().map(|alias| {
        json!({ "name": alias.name, "description": alias.description, "display_unit": alias.display_unit })
    });
    let attributes = &variable.attributes;
    json!({
        "name": variable.name,
        "description": variable.description,
        "reference": variable.value_reference,
        "type": variable.value_type.name(),
        "declared_type": variable.declared_type,
        "causality": standard_word(variable.causality),
        "variability": standard_word(variable.variability),
        "initial": variable.initial.map(standard_word),
        "start": variable.start.as_ref().map(|values| start(values, variable.is_array())),
        "dimensions": variable.dimensions.iter().map(size).collect::<Vec<_>>(),
        "unit": attributes.unit,
        "display_unit": attributes.display_unit,
        "quantity": attributes.quantity,
        "relative_quantity": attributes.relative_quantity,
        "unbounded": attributes.unbounded,
        "min": attributes.min,
        "max": attributes.max,
        "nominal": attributes.nominal,
        "mime_type": attributes.mime_type,
        "max_size": attributes.max_size,
        "derivative_of": variable.derivative.map(name),
        "previous": variable.previous.map(name),
        "reinit": variable.reinit,
        "can_handle_multiple_set": variable.can_handle_multiple_set,
        "intermediate_update": variable.intermediate_update,
        "clock": attributes.clock.as_ref().map(clock),
        "clocks": variable.clocks.iter().map(|place| name(*place)).collect::<Vec<_>>(),
        "aliases": aliases.collect::<Vec<Value>>(),
    })
}

/// One value, or a list of an array.
fn start(start: &Start, is_array: bool) -> Value {
    let integer =
        |value: &i128| i64::try_from(*value).map_or_else(|_| json!(*value as u64), |small| json!(small));
    let list: Vec<Value> = match start {
        Start::Reals(list) => list.iter().map(|value| json!(value)).collect(),
        Start::Integers(list) => list.iter().map(integer).collect(),
        Start::Booleans(list) => list.iter().map(|value| json!(value)).collect(),
        Start::Strings(list) => list.iter().map(|text| json!(text)).collect(),
        Start::Binaries(list) => list.iter().map(|bytes| json!(hexadecimal(bytes))).collect(),
    };
    match (list.as_slice(), is_array) {
        ([one], false) => one.clone(),
        _ => Value::Array(list),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn clock(clock: &ClockAttributes) -> Value {
    json!({
        "interval_variability": standard_word(clock.interval_variability),
        "can_be_deactivated": clock.can_be_deactivated,
        "priority": clock.priority,
        "interval_decimal": clock.interval_decimal,
        "shift_decimal": clock.shift_decimal,
        "supports_fraction": clock.supports_fraction,
        "resolution": clock.resolution,
        "interval_counter": clock.interval_counter,
        "shift_counter": clock.shift_counter,
    })
}

fn structure(description: &Description) -> Value {
    let name = |place: usize| description.variables[place].name.as_str();
    let one = |unknown: &Unknown| {
        let dependencies = unknown.dependencies.as_ref().map(|list| {
            let each =
                |one: &Dependency| json!({ "variable": name(one.variable), "kind": standard_word(one.kind) });
            list.iter().map(each).collect::<Vec<Value>>()
        });
        json!({ "variable": name(unknown.variable), "dependencies": dependencies })
    };
    let all = |list: &[Unknown]| list.iter().map(one).collect::<Vec<Value>>();
    let structure = &description.structure;
    json!({
        "outputs": all(&structure.outputs),
        "continuous_state_derivatives": all(&structure.continuous_state_derivatives),
        "clocked_states": all(&structure.clocked_states),
        "initial_unknowns": all(&structure.initial_unknowns),
        "event_indicators": all(&structure.event_indicators),
    })
}

fn units(description: &Description) -> Vec<Value> {
    let base = |base: &BaseUnit| json!({ "exponents": base.exponents, "factor": base.factor, "offset": base.offset });
    let shown = |unit: &DisplayUnit| json!({ "name": unit.name, "factor": unit.factor, "offset": unit.offset, "inverse": unit.inverse });
    let one = |unit: &UnitDefinition| {
        let display: Vec<Value> = unit.display_units.iter().map(shown).collect();
        json!({ "name": unit.name, "base": unit.base.as_ref().map(base), "display_units": display })
    };
    description.units.iter().map(one).collect()
}

/// Named types; what variables take over from them stands with the variables.
fn types(description: &Description) -> Vec<Value> {
    let item = |item: &EnumerationItem| json!({ "name": item.name, "value": item.value, "description": item.description });
    let one = |one: &TypeDefinition| {
        let items: Vec<Value> = one.items.iter().map(item).collect();
        json!({ "name": one.name, "type": one.value_type.name(), "description": one.description, "items": items })
    };
    description.types.iter().map(one).collect()
}

fn terminal(description: &Description, whole: &Terminal) -> Value {
    let name = |place: usize| description.variables[place].name.as_str();
    let members = whole.members.iter().map(|member| {
        let kind = match &member.kind {
            MemberKind::Other(kind) => kind.clone(),
            kind => standard_word(kind),
        };
        json!({ "variable": name(member.variable), "name": member.member_name, "kind": kind })
    });
    let streams = whole.streams.iter().map(|stream| {
        json!({
            "in_name": stream.in_stream_member_name,
            "in_variable": name(stream.in_stream_variable),
            "out_name": stream.out_stream_member_name,
            "out_variable": name(stream.out_stream_variable),
        })
    });
    let bond = whole.power_bond().map(
        |bond| json!({ "effort": name(bond.effort), "flow": name(bond.flow), "into_the_fmu": bond.sign > 0 }),
    );
    json!({
        "name": whole.name,
        "description": whole.description,
        "matching_rule": whole.matching_rule,
        "kind": whole.terminal_kind,
        "members": members.collect::<Vec<Value>>(),
        "streams": streams.collect::<Vec<Value>>(),
        "power_bond": bond,
        "terminals": whole.terminals.iter().map(|one| terminal(description, one)).collect::<Vec<_>>(),
    })
}

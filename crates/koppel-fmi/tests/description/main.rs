//! Descriptions of both versions: what is read, what is refused and where, and that nothing panics.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hostile;
#[path = "../common/prepared.rs"]
mod prepared;
mod refused;
#[path = "../common/schema.rs"]
mod schema;

use koppel_fmi::description::{
    Causality, DependencyKind, Description, Dimension, FmiVersion, Initial, IntervalVariability, MemberKind,
    NamingConvention, Start, ValueType, Variability, Variable,
};

const FMI2: &str = include_str!("../fixtures/fmi2.xml");

const FMI3: &str = include_str!("../fixtures/fmi3.xml");

const TERMINALS: &str = include_str!("../fixtures/terminals3.xml");

const PYTHONFMU2: &str = include_str!("../fixtures/pythonfmu2.xml");

const PYTHONFMU3: &str = include_str!("../fixtures/pythonfmu3.xml");

fn parse(text: &str) -> Description {
    Description::parse(text.as_bytes(), "modelDescription.xml").unwrap_or_else(|error| panic!("{error}"))
}

/// The message for `text` with `from` replaced by `to`.
fn refused(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the fixture has no `{from}`");
    match Description::parse(text.replacen(from, to, 1).as_bytes(), "modelDescription.xml") {
        Ok(_) => "accepted".into(),
        Err(error) => error.to_string(),
    }
}

/// The warnings for `text` with `from` replaced by `to`.
fn warned(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the fixture has no `{from}`");
    let description = parse(&text.replacen(from, to, 1));
    description.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn variable<'a>(description: &'a Description, name: &str) -> &'a Variable {
    &description.variables[description.find(name).unwrap()]
}

#[test]
fn fmi2_is_read_as_a_whole() {
    let d = parse(FMI2);
    assert!(d.warnings.is_empty(), "{:?}", d.warnings);
    assert_eq!((d.fmi_version, d.fmi_version_text.as_str()), (FmiVersion::Fmi2, "2.0"));
    assert_eq!((d.model_name.as_str(), d.instantiation_token.as_str()), ("Everything Two", "{two}"));
    assert_eq!(d.description.as_deref(), Some("all of FMI 2"));
    assert_eq!((d.author.as_deref(), d.version.as_deref()), (Some("koppel"), Some("1.2")));
    assert_eq!(d.generation_tool.as_deref(), Some("by hand"));
    assert_eq!(d.variable_naming_convention, NamingConvention::Structured);
    assert_eq!(d.number_of_event_indicators, 2);
    let experiment = d.default_experiment.unwrap();
    assert_eq!((experiment.start_time, experiment.stop_time), (Some(0.5), Some(10.0)));
    assert_eq!((experiment.tolerance, experiment.step_size), (Some(1e-6), Some(0.01)));

    let me = d.model_exchange.as_ref().unwrap();
    assert!(!me.needs_completed_integrator_step && me.interface.can_be_instantiated_only_once_per_process);
    assert!(me.interface.can_not_use_memory_management_functions && me.interface.can_get_and_set_fmu_state);
    assert!(!me.interface.can_serialize_fmu_state && me.interface.provides_directional_derivatives);
    let cs = d.co_simulation.as_ref().unwrap();
    assert_eq!(cs.interface.model_identifier, "two_cs");
    assert_eq!(cs.interface.source_files, ["one.c", "two.c"]);
    assert!(cs.interface.needs_execution_tool && cs.interface.can_serialize_fmu_state);
    assert!(cs.can_handle_variable_communication_step_size && cs.can_interpolate_inputs);
    assert!(cs.can_run_asynchronously && cs.interface.provides_directional_derivatives);
    assert_eq!(cs.max_output_derivative_order, 2);

    assert_eq!(d.units.len(), 5);
    assert_eq!(d.units[0].base.unwrap().exponents, [1, 1, -2, 0, 0, 0, 0, 0]);
    assert_eq!(d.units[0].display_units[0].factor, 0.001);
    assert_eq!(d.units[3].base.unwrap().offset, 273.15);
    assert!(d.units[4].base.is_none());
    assert_eq!(d.log_categories[0].description.as_deref(), Some("what happens"));
    let gear = d.types.iter().find(|t| t.name == "Gear").unwrap();
    assert_eq!(gear.items.iter().map(|item| item.value).collect::<Vec<_>>(), [-1, 0, 1]);
}

#[test]
fn fmi2_variables_are_read() {
    let d = parse(FMI2);
    assert_eq!(d.variables.len(), 14);
    let force = variable(&d, "force");
    assert_eq!((force.value_type, force.causality), (ValueType::Float64, Causality::Input));
    assert_eq!(force.start, Some(Start::Reals(vec![1.5])));
    let a = &force.attributes;
    assert_eq!((a.unit.as_deref(), a.display_unit.as_deref()), (Some("N"), Some("kN")));
    assert_eq!((a.min, a.max, a.nominal), (Some(-1e6), Some(2e6), Some(100.0)), "own before declared");
    assert!(a.relative_quantity && a.unbounded);
    assert_eq!(force.initial, None);
    assert_eq!(variable(&d, "der(body.x)").derivative, d.find("body.x"));
    assert!(variable(&d, "body.v").reinit);
    assert_eq!(variable(&d, "body.v").initial, Some(Initial::Approx));
    let mass = variable(&d, "mass");
    assert_eq!((mass.variability, mass.initial), (Variability::Tunable, Some(Initial::Exact)));
    assert!(!mass.can_handle_multiple_set);
    assert_eq!(variable(&d, "half").initial, Some(Initial::Calculated));
    assert_eq!(variable(&d, "count").start, Some(Start::Integers(vec![3])));
    assert_eq!(variable(&d, "count").attributes.max, Some(10.0));
    assert_eq!(variable(&d, "on").start, Some(Start::Booleans(vec![true])));
    assert_eq!(variable(&d, "label").start, Some(Start::Strings(vec!["a < b".into()])));
    assert_eq!(variable(&d, "gear").start, Some(Start::Integers(vec![-1])));
    assert_eq!(variable(&d, "pi").variability, Variability::Constant);
    assert_eq!(variable(&d, "time").causality, Causality::Independent);

    let s = &d.structure;
    assert_eq!(s.outputs[0].dependencies.as_deref(), Some(&[][..]), "an empty list is none");
    assert_eq!(s.outputs[1].dependencies, None, "an absent list is all");
    assert_eq!(s.continuous_state_derivatives[0].variable, d.find("der(body.x)").unwrap());
    let second = s.continuous_state_derivatives[1].dependencies.as_ref().unwrap();
    assert_eq!(second[2].variable, d.find("mass").unwrap());
    let kinds: Vec<_> = second.iter().map(|dependency| dependency.kind).collect();
    assert_eq!(kinds, [DependencyKind::Constant, DependencyKind::Fixed, DependencyKind::Tunable]);
    assert_eq!(s.initial_unknowns.len(), 1);
}

#[test]
fn fmi3_is_read_as_a_whole() {
    let d = parse(FMI3);
    assert!(d.warnings.is_empty(), "{:?}", d.warnings);
    assert_eq!((d.fmi_version, d.instantiation_token.as_str()), (FmiVersion::Fmi3, "{three}"));
    let me = d.model_exchange.as_ref().unwrap();
    assert!(me.needs_completed_integrator_step && me.provides_evaluate_discrete_states);
    let cs = d.co_simulation.as_ref().unwrap();
    let i = &cs.interface;
    assert!(i.can_get_and_set_fmu_state && i.can_serialize_fmu_state && i.provides_directional_derivatives);
    assert!(i.provides_adjoint_derivatives && i.provides_per_element_dependencies);
    assert_eq!(cs.fixed_internal_step_size, Some(0.001));
    assert_eq!(cs.recommended_intermediate_input_smoothness, -1);
    assert!(cs.provides_intermediate_update && cs.might_return_early_from_do_step && cs.has_event_mode);
    assert!(cs.can_return_early_after_intermediate_update && cs.provides_evaluate_discrete_states);
    assert_eq!(d.scheduled_execution.as_ref().unwrap().model_identifier, "three_se");
    assert!(d.units[2].display_units[0].inverse);
    assert_eq!(d.number_of_event_indicators, 1);
    assert_eq!(d.structure.clocked_states.len(), 1);
    assert_eq!(d.structure.outputs[0].dependencies.as_ref().unwrap()[0].kind, DependencyKind::Fixed);
}

#[test]
fn fmi3_variables_are_read() {
    let d = parse(FMI3);
    let start = |name: &str| variable(&d, name).start.clone();
    for (name, value) in [
        ("i8", -5),
        ("u8", 255),
        ("i16", -32768),
        ("u16", 65535),
        ("i32", i32::MIN.into()),
        ("u32", u32::MAX.into()),
        ("i64", i64::MIN.into()),
        ("u64", u64::MAX.into()),
        ("mode", 2),
    ] {
        assert_eq!(start(name), Some(Start::Integers(vec![value])), "{name}");
    }
    assert_eq!(start("blob"), Some(Start::Binaries(vec![vec![0, 255, 16]])));
    assert_eq!(start("text"), Some(Start::Strings(vec!["hello world".into()])));
    assert_eq!(start("flags"), Some(Start::Booleans(vec![true, false, true])));
    assert_eq!(variable(&d, "blob").attributes.mime_type.as_deref(), Some("image/png"));
    assert_eq!(variable(&d, "u").attributes.nominal, Some(230.0));
    assert!(variable(&d, "u").intermediate_update);
    assert_eq!(variable(&d, "u").variability, Variability::Continuous);
    assert_eq!(variable(&d, "u8").variability, Variability::Discrete);
    assert_eq!(d.find("current"), d.find("i"), "aliases are found");

    let matrix = variable(&d, "matrix");
    assert_eq!(matrix.dimensions, [Dimension::Fixed(2), Dimension::Parameter(d.find("n").unwrap())]);
    assert_eq!((d.elements(matrix), d.elements(variable(&d, "u"))), (6, 1));
    let z = variable(&d, "z");
    assert_eq!(z.previous, d.find("previous(z)"));
    assert_eq!(z.clocks, [d.find("tick").unwrap(), d.find("countdown").unwrap()]);

    let tick = variable(&d, "tick").attributes.clock.unwrap();
    assert_eq!(tick.interval_variability, IntervalVariability::Constant);
    assert_eq!((tick.interval_decimal, tick.shift_decimal, tick.priority), (Some(0.1), 0.05, Some(3)));
    let countdown = variable(&d, "countdown").attributes.clock.unwrap();
    assert!(countdown.can_be_deactivated && countdown.supports_fraction);
    assert_eq!(
        (countdown.resolution, countdown.interval_counter, countdown.shift_counter),
        (Some(1000), Some(20), 4)
    );
}

#[test]
fn terminals_are_read() {
    let mut d = parse(FMI3);
    d.add_terminals(TERMINALS.as_bytes(), "terminalsAndIcons.xml").unwrap();
    let plug = &d.terminals[0];
    let bond = plug.power_bond().unwrap();
    assert_eq!((bond.effort, bond.flow, bond.sign), (d.find("u").unwrap(), d.find("i").unwrap(), -1));
    let bus = &d.terminals[1];
    assert!(bus.power_bond().is_none());
    assert_eq!(bus.streams[0].out_stream_variable, d.find("i").unwrap());
    assert_eq!(bus.terminals[0].members[1].kind, MemberKind::Other("special".into()));
    let wrong = TERMINALS.replace("variableName=\"i8\"", "variableName=\"nobody\"");
    let error = d.add_terminals(wrong.as_bytes(), "t.xml").unwrap_err().to_string();
    assert_eq!(error, "t.xml:12:9: <TerminalMemberVariable>: unknown variable `nobody`");
    let deep = format!(
        "<fmiTerminalsAndIcons fmiVersion=\"3.0\"><Terminals>{}{}</Terminals></fmiTerminalsAndIcons>",
        "<Terminal name=\"a\" matchingRule=\"bus\">".repeat(5000),
        "</Terminal>".repeat(5000)
    );
    assert!(
        d.add_terminals(deep.as_bytes(), "t.xml").unwrap_err().to_string().contains("nested deeper than 100")
    );
}

#[test]
fn sources_of_fmi3_are_read() {
    let mut d = parse(FMI3);
    let text = r#"<fmiBuildDescription fmiVersion="3.0"><BuildConfiguration modelIdentifier="three"><SourceFileSet
        language="C99"><SourceFile name="a.c"/><SourceFile name="b.c"/></SourceFileSet></BuildConfiguration></fmiBuildDescription>"#;
    d.add_sources(text.as_bytes(), "buildDescription.xml").unwrap();
    assert_eq!(d.co_simulation.unwrap().interface.source_files, ["a.c", "b.c"]);
    assert!(d.scheduled_execution.unwrap().source_files.is_empty());
}

#[test]
fn descriptions_of_foreign_exporters_are_read() {
    let two = parse(PYTHONFMU2);
    assert_eq!(two.variables.len(), 9);
    let warnings: Vec<String> = two.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].ends_with("<ScalarVariable name=\"steps\">: variability is missing; read as `Discrete`")
    );
    let three = parse(PYTHONFMU3);
    assert_eq!(three.variables.len(), 9);
    assert!(three.warnings.is_empty(), "{:?}", three.warnings);
}

#[test]
fn fixtures_follow_the_schemas() {
    for name in ["fmi2.xml", "fmi3.xml", "terminals3.xml"] {
        schema::validate(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name));
    }
}

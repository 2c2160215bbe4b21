//! Descriptions of both versions: what is read, what is refused and where, and that nothing panics.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel_fmi::description::{
    Causality, DependencyKind, Description, Dimension, FmiVersion, Initial, IntervalVariability, MemberKind,
    NamingConvention, Start, ValueType, Variability, Variable,
};

const FMI2: &str = include_str!("fixtures/fmi2.xml");
const FMI3: &str = include_str!("fixtures/fmi3.xml");
const TERMINALS: &str = include_str!("fixtures/terminals3.xml");
const PYTHONFMU2: &str = include_str!("fixtures/pythonfmu2.xml");
const PYTHONFMU3: &str = include_str!("fixtures/pythonfmu3.xml");

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
fn every_error_names_place_and_rule() {
    for (text, from, to, message) in [
        (
            FMI2,
            "<CoSimulation modelId",
            "<CoSimulation & modelId",
            "modelDescription.xml:8:17: malformed XML: ",
        ),
        (FMI2, "</ModelStructure>", "</ModelStructurr>", "malformed XML"),
        (
            FMI2,
            "fmiVersion=\"2.0\"",
            "fmiVersion=\"1.0\"",
            "modelDescription.xml:3:1: <fmiModelDescription>: FMI version `1.0` is not supported",
        ),
        (FMI2, "fmiVersion=\"2.0\"", "fmiVersion=\"2.1\"", "FMI version `2.1` is not supported"),
        (FMI2, "fmiVersion=\"2.0\"", "fmiVersion=\"3.x\"", "FMI version `3.x` is not supported"),
        (FMI2, "fmiVersion=\"2.0\" ", "", "attribute `fmiVersion` is missing"),
        (FMI2, " guid=\"{two}\"", "", "attribute `guid` is missing"),
        (FMI3, " instantiationToken=\"{three}\"", "", "attribute `instantiationToken` is missing"),
        (
            FMI2,
            "modelIdentifier=\"two_cs\"",
            "",
            "modelDescription.xml:8:3: <CoSimulation>: attribute `modelIdentifier` is missing",
        ),
        (FMI2, "modelIdentifier=\"two_cs\"", "modelIdentifier=\"../../evil\"", "expected a file name"),
        (
            FMI2,
            "canInterpolateInputs=\"true\"",
            "canInterpolateInputs=\"yes\"",
            "canInterpolateInputs=\"yes\": expected true or false",
        ),
        (
            FMI2,
            "start=\"0.25\"",
            "start=\"0,25\"",
            "modelDescription.xml:52:7: <Real>: start=\"0,25\": expected a number",
        ),
        (
            FMI2,
            "<Integer declaredType=\"Count\" start=\"3\"/>",
            "<Integer declaredType=\"Count\" start=\"3.5\"/>",
            "start=\"3.5\": expected an integer",
        ),
        (
            FMI2,
            "<Integer declaredType=\"Count\" start=\"3\"/>",
            "<Integer start=\"3000000000\"/>",
            "within the range of its type",
        ),
        (
            FMI2,
            "causality=\"calculatedParameter\"",
            "causality=\"outlet\"",
            "causality=\"outlet\": expected a causality",
        ),
        (
            FMI2,
            "<Real declaredType=\"Force\" start=\"1.5\"",
            "<Real declaredType=\"Forec\" start=\"1.5\"",
            "unknown declared type `Forec`; did you mean `Force`?",
        ),
        (
            FMI2,
            "<Real declaredType=\"Force\" start=\"1.5\"",
            "<Real declaredType=\"Count\" start=\"1.5\"",
            "the declared type `Count` is a Int32 type, the variable is Float64",
        ),
        (FMI2, "name=\"body.v\"", "name=\"body.x\"", "variable `body.x` is defined twice"),
        (
            FMI2,
            "name=\"mass\" valueReference=\"5\"",
            "name=\"mass\" valueReference=\"0\"",
            "value reference 0 is shared with `force`, and both can be set",
        ),
        (
            FMI3,
            "name=\"u\" valueReference=\"1\"",
            "name=\"u\" valueReference=\"2\"",
            "<Float64 name=\"i\">: value reference 2 belongs to `u` already",
        ),
        (
            FMI2,
            "<Unknown index=\"9\"/>",
            "<Unknown index=\"99\"/>",
            "<Unknown>: index: index 99 is not within 1..14",
        ),
        (FMI2, "<Unknown index=\"9\"/>", "<Unknown index=\"0\"/>", "index: index 0 is not within 1..14"),
        (FMI2, "dependencies=\"1 2 7\"", "dependencies=\"1 2 77\"", "dependencies: index 77 is not within"),
        (
            FMI2,
            "dependencies=\"1 2 7\"",
            "dependencies=\"1 2\"",
            "there are 3 dependency kinds for 2 dependencies",
        ),
        (
            FMI3,
            "<Output valueReference=\"16\"/>",
            "<Output valueReference=\"160\"/>",
            "no variable has value reference 160",
        ),
        (FMI2, "derivative=\"3\"", "derivative=\"33\"", "derivative: index 33"),
        (
            FMI2,
            "causality=\"calculatedParameter\" variability=\"fixed\"",
            "causality=\"calculatedParameter\" variability=\"discrete\"",
            "causality `CalculatedParameter` does not go with variability `Discrete`",
        ),
        (
            FMI2,
            "causality=\"input\" variability=\"continuous\"",
            "causality=\"input\" variability=\"fixed\"",
            "causality `Input` does not go with variability `Fixed`",
        ),
        (
            FMI2,
            "name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"discrete\"",
            "name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"continuous\"",
            "only floating-point variables are continuous",
        ),
        (
            FMI2,
            "causality=\"local\"><Real unit=\"m\"/>",
            "causality=\"independent\"><Real unit=\"m\"/>",
            "two independent variables",
        ),
        (FMI2, "<Real start=\"2\" min=\"0\"/>", "", "element `Real, Integer, ...` is missing"),
        (FMI2, "<Unit name=\"m\">", "<Unit name=\"N\">", "unit `N` is defined twice"),
        (
            FMI2,
            "kg=\"1\" m=\"1\" s=\"-2\"",
            "kg=\"1\" m=\"1000\"",
            "m=\"1000\": expected an integer from -128 to 127",
        ),
        (FMI2, "name=\"Flag\"><Boolean", "name=\"Text\"><Boolean", "type `Text` is defined twice"),
        (FMI2, "<Item name=\"drive\"", "<Item name=\"neutral\"", "item `neutral` is defined twice"),
        (
            FMI3,
            "name=\"countdown\" valueReference=\"18\" causality=\"local\" intervalVariability=\"countdown\"",
            "name=\"countdown\" valueReference=\"18\"",
            "attribute `intervalVariability` is missing",
        ),
        (FMI3, "start=\"1 2 3 4 5 6\"", "start=\"1 2 3 4 5\"", "start has 5 values for 6 elements"),
        (FMI3, "<Dimension start=\"2\"/>", "<Dimension/>", "needs either `start` or `valueReference`"),
        (
            FMI3,
            "<Dimension start=\"2\"/>",
            "<Dimension start=\"99999999999\"/>",
            "more than 10000000 elements",
        ),
        (FMI3, "<Dimension start=\"2\"/>", "<Dimension valueReference=\"1\"/>", "the size comes from `u`"),
        (FMI3, "00fF10", "00fF1", "pairs of hexadecimal digits"),
        (
            FMI3,
            "causality=\"input\" start=\"255\"",
            "causality=\"input\" start=\"256\"",
            "start=\"256\": expected a value within the range",
        ),
        (FMI3, "declaredType=\"Mode\" ", "", "attribute `declaredType` is missing"),
        (FMI3, "clocks=\"17 18\"", "clocks=\"17 99\"", "clocks: no variable has value reference 99"),
        (
            FMI3,
            "name=\"n\" valueReference=\"19\" causality=\"structuralParameter\" variability=\"fixed\"",
            "name=\"n\" valueReference=\"19\" causality=\"structuralParameter\" variability=\"continuous\"",
            "does not go with",
        ),
    ] {
        let found = refused(text, from, to);
        assert!(found.contains(message), "`{to}`:\n  expected {message}\n  found    {found}");
        assert!(found.starts_with("modelDescription.xml:"), "{found}");
    }
    let other = Description::parse(b"<SystemStructure/>", "x.xml").unwrap_err().to_string();
    assert_eq!(other, "x.xml:1:1: <SystemStructure>: the root element must be `fmiModelDescription`");
    assert!(Description::parse(b"\xff\xfe<\0", "x.xml").unwrap_err().to_string().contains("not UTF-8"));
    let none = "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"a\" guid=\"b\"/>";
    assert!(
        Description::parse(none.as_bytes(), "x").unwrap_err().to_string().contains("neither a co-simulation")
    );
}

#[test]
fn oddities_are_warnings() {
    for (text, from, to, message) in [
        (
            FMI2,
            "unit=\"m\" displayUnit=\"mm\"",
            "unit=\"furlong\" displayUnit=\"mm\"",
            "<Real>: unknown unit `furlong`",
        ),
        (FMI2, "displayUnit=\"mm\"", "displayUnit=\"inch\"", "unknown display unit `inch`"),
        (FMI2, "nominal=\"0.1\"", "nominal=\"-0.1\"", "nominal value -0.1 must be larger than zero"),
        (FMI2, "start=\"1.5\" max=\"2e6\"", "start=\"3e6\" max=\"2e6\"", "start value 3000000 is outside"),
        (FMI2, "start=\"1.5\" max=\"2e6\"", "", "a start value is required"),
        (FMI2, "causality=\"parameter\" variability=\"fixed\"", "causality=\"parameter\"", "read as `Fixed`"),
        (FMI2, "<Unknown index=\"9\"/>", "", "output `count` is not listed"),
        (
            FMI2,
            "<Unknown index=\"9\"/>",
            "<Unknown index=\"9\"/><Unknown index=\"1\"/>",
            "`force` is named as an output, but is not one",
        ),
        (
            FMI2,
            "<Real/></ScalarVariable>\n    <ScalarVariable name=\"count\"",
            "<Real start=\"1\"/></ScalarVariable>\n    <ScalarVariable name=\"count\"",
            "a start value is not allowed here",
        ),
        (FMI3, "fmiVersion=\"3.0\"", "fmiVersion=\"3.1\"", "newer than 3.0"),
        (FMI3, "causality=\"independent\" ", "causality=\"local\" ", "no independent variable"),
        (
            FMI3,
            "<Float64 name=\"economy\"",
            "<Float128 name=\"x\"/><Float64 name=\"economy\"",
            "<Float128 name=\"x\">: unknown element is ignored",
        ),
        (FMI3, "canGetAndSetFMUState=\"true\" ", "", "canSerializeFMUState needs canGetAndSetFMUState"),
    ] {
        let found = warned(text, from, to);
        assert!(found.contains(message), "`{to}`:\n  expected {message}\n  found    {found}");
    }
    let latin = FMI2.replace("UTF-8", "ISO-8859-1").replace("all of FMI 2", "M\u{e4}rz");
    let bytes: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let d = Description::parse(&bytes, "x").unwrap();
    assert_eq!(d.description.as_deref(), Some("März"));
    assert!(d.warnings[0].to_string().contains("Latin-1"));
}

#[test]
fn hostile_files_are_refused_quickly() {
    let begin = std::time::Instant::now();
    let refused = |text: String| Description::parse(text.as_bytes(), "x").unwrap_err().to_string();
    let depth = 1_000_000;
    assert!(refused(format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth))).contains("root element"));
    assert!(refused("<a>".repeat(depth)).contains("malformed"));
    let attributes: String = (0..200_000).map(|i| format!("a{i}='' ")).collect();
    assert!(refused(format!("<a {attributes}/>")).contains("more than 500 attributes"));
    let laughs = "<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;\">]><a>&d;</a>";
    assert!(refused(laughs.into()).contains("malformed XML"));
    assert!(refused("<a/>".repeat(1_000_000)).contains("malformed"));
    assert!(refused(format!("<a>{}</a>", "<b/>".repeat(8_000_001))).contains("malformed"));
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

/// A small generator of random numbers (splitmix64), so that every run makes the same edits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// One random edit: a byte, a removed or doubled stretch, a nasty token; mostly a changed attribute value, which gets past
/// the XML parser to the rules.
fn edit(bytes: &mut Vec<u8>, random: &mut Random) {
    const TOKENS: [&str; 14] = [
        "\"\"",
        "\"-1\"",
        "\"0\"",
        "\"4294967295\"",
        "\"99999999999999999999\"",
        "\"NaN\"",
        "\"INF\"",
        "\"1e999\"",
        "<",
        ">",
        "&amp;",
        "</",
        "\u{0}",
        "\u{fffd}",
    ];
    let at = random.below(bytes.len());
    let length = random.below(40).min(bytes.len() - at);
    match random.below(10) {
        0 => bytes[at] = random.next() as u8,
        1 => drop(bytes.drain(at..at + length)),
        2 => {
            let copy = bytes[at..at + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        3 => drop(bytes.splice(at..at + length.min(3), TOKENS[random.below(TOKENS.len())].bytes())),
        _ => {
            let quotes: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == b'"').collect();
            if quotes.len() > 1 {
                let k = random.below(quotes.len() - 1);
                let token = TOKENS[random.below(8)].trim_matches('"').bytes();
                bytes.splice(quotes[k] + 1..quotes[k + 1], token);
            }
        }
    }
    if bytes.is_empty() {
        bytes.push(b'<');
    }
}

#[test]
fn mutated_descriptions_never_panic() {
    let edits: u64 = std::env::var("KOPPEL_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let good = parse(FMI3);
    let mut accepted = 0;
    for seed in 0..edits {
        let mut random = Random(seed);
        let fixture = [FMI2, FMI3, PYTHONFMU2, PYTHONFMU3, TERMINALS][random.below(5)];
        let mut bytes = fixture.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            edit(&mut bytes, &mut random);
        }
        accepted += u64::from(Description::parse(&bytes, "m.xml").is_ok());
        let _ = good.clone().add_terminals(&bytes, "t.xml");
        let _ = good.clone().add_sources(&bytes, "b.xml");
    }
    assert!(accepted > edits / 20, "edits must leave some descriptions readable: {accepted}");
}

#[test]
fn fixtures_follow_the_schemas() {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("KOPPEL_SHARED").map_or_else(beside, std::path::PathBuf::from);
    let schemas = shared.join("data/schemas");
    let validator = std::process::Command::new("xmllint").arg("--version").output();
    if !schemas.exists() || validator.is_err() {
        eprintln!("skipped: needs {} and xmllint", schemas.display());
        return;
    }
    for (schema, fixture) in [
        ("fmi2/fmi2ModelDescription.xsd", "fmi2.xml"),
        ("fmi3/fmi3ModelDescription.xsd", "fmi3.xml"),
        ("fmi3/fmi3TerminalsAndIcons.xsd", "terminals3.xml"),
    ] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let mut command = std::process::Command::new("xmllint");
        let output =
            command.args(["--noout", "--schema"]).arg(schemas.join(schema)).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

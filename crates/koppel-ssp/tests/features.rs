//! Every feature once, with the result worked out by hand.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;

use common::{archive, fixture, ssd, ssv};
use koppel_ssp::model::{Implementation, Value};
use koppel_ssp::{Carries, FlatConnection, FlatSystem, Mapping, Options, Rule, Severity, Ssp, Tolerance};

fn open(name: &str) -> Ssp {
    Ssp::open(&fixture(name), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn between<'f>(flat: &'f FlatSystem, from: &str, to: &str) -> &'f FlatConnection {
    let is = |c: &&FlatConnection| flat.port_name(&c.from) == from && flat.port_name(&c.to) == to;
    flat.connections.iter().find(is).unwrap_or_else(|| panic!("no {from} -> {to}"))
}

#[test]
fn nested_systems_become_flat() {
    let ssp = open("vehicle/vehicle.ssd");
    let flat = ssp.flatten().unwrap();
    let names: Vec<_> = flat.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["powertrain.engine", "powertrain.gearbox", "body"]);
    assert_eq!(flat.connections.len(), 11);
    assert_eq!(flat.inputs.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["throttle", "mass"]);
    assert_eq!(flat.outputs.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["speed", "speed_raw"]);
    assert_eq!(flat.default_experiment, (Some(0.0), Some(12.5)));
    assert_eq!(flat.enumerations.len(), 2);
    assert_eq!(flat.components[0].implementation, Implementation::CoSimulation);
    let gearbox = flat.components[1].source.as_ref().unwrap();
    assert_eq!(gearbox.location.path, "resources/gear box.fmu");
    assert!(ssp.path(&gearbox.location).unwrap().exists());
    assert_eq!(ssp.settings().as_deref(), Some("step = 0.01\n"));
    assert_eq!(flat.settings.as_deref(), Some("step = 0.01\n"));
}

#[test]
fn transformations_compose_along_the_chain() {
    let flat = open("vehicle/vehicle.ssd").flatten().unwrap();
    // percent to one, then 10 x + 0.5, then 2 x + 1
    let pedal = between(&flat, "throttle", "powertrain.engine.u");
    assert_eq!((pedal.factor, pedal.offset), (0.2, 2.0));
    // 3 x, then 0.5 x - 1
    let torque = between(&flat, "powertrain.gearbox.torque_out", "body.force");
    assert_eq!((torque.factor, torque.offset), (1.5, -1.0));
    // not of not
    let brake = between(&flat, "body.braking", "powertrain.gearbox.on");
    assert_eq!(brake.mapping, Some(Mapping::Boolean(vec![(true, true), (false, false)])));
    // 2 becomes 20, for which there is no entry
    let gear = between(&flat, "powertrain.gearbox.gear", "body.gear");
    assert_eq!(gear.mapping, Some(Mapping::Integer(vec![(1, 100)])));
    let mode = between(&flat, "powertrain.engine.mode", "body.mode");
    assert_eq!(mode.mapping, Some(Mapping::Integer(vec![(0, 5), (1, 7)])));
    // through a dictionary, degC to K
    let heat = between(&flat, "powertrain.engine.temperature", "body.temperature");
    assert_eq!((heat.factor, heat.offset), (1.0, 273.15));
    let speed = between(&flat, "body.v", "speed");
    assert!((speed.factor - 3.6).abs() < 1e-15);
    assert_eq!(between(&flat, "body.v", "speed_raw").factor, 1.0);
    assert_eq!(
        between(&flat, "powertrain.engine.torque_max", "powertrain.gearbox.limit").carries,
        Carries::Parameter
    );
    assert_eq!(between(&flat, "mass", "body.m").carries, Carries::Parameter);
}

#[test]
fn parameters_by_prefix_mapping_and_precedence() {
    let ssp = open("vehicle/vehicle.ssd");
    let flat = ssp.flatten().unwrap();
    let value = |component: &str, variable: &str| {
        let component = flat.component(component).unwrap();
        component.parameters.iter().find(|p| p.variable == variable).unwrap().clone()
    };
    let counts: Vec<_> = flat.components.iter().map(|c| c.parameters.len()).collect();
    assert_eq!(counts, [4, 0, 3]);
    // the later binding of the same level wins, the outer level wins over the component's own
    assert_eq!(value("powertrain.engine", "J").value.as_f64(), Some(0.9));
    assert_eq!(value("powertrain.engine", "gain").value.as_f64(), Some(4.0));
    assert_eq!(value("powertrain.engine", "tau").value.as_f64(), Some(0.5));
    assert_eq!(value("powertrain.engine", "mode").value, Value::Enumeration(vec!["on".into()]));
    // 1.5 t are 1500 kg, times 2 plus 10, through the system's connector
    assert_eq!(value("body", "m").value.as_f64(), Some(3010.0));
    assert_eq!(flat.inputs[1].start.as_ref().unwrap().value.as_f64(), Some(3010.0));
    let copy = value("body", "m_copy");
    assert_eq!((copy.value.as_f64(), copy.unit.unwrap().name.as_str()), (Some(1.5), "t"));
    assert_eq!(value("body", "label").value, Value::String(vec!["a \"car\"".into()]));
    let warnings: Vec<_> = ssp.findings().iter().collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!((warnings[0].rule, warnings[0].severity), (Rule::Applied, Severity::Warning));
    assert!(warnings[0].file.ends_with("vehicle.ssv") && warnings[0].line == 8);
}

#[test]
fn units_of_the_fmus_fill_in() {
    let text = ssd(
        "1.0",
        r#"<ssd:System name="s"><ssd:Elements>
        <ssd:Component name="a" source="a.fmu"><ssd:Connectors><ssd:Connector name="y" kind="output"/></ssd:Connectors></ssd:Component>
        <ssd:Component name="b" source="a.fmu"><ssd:Connectors><ssd:Connector name="u" kind="input"/></ssd:Connectors></ssd:Component>
        </ssd:Elements><ssd:Connections><ssd:Connection startElement="a" startConnector="y" endElement="b" endConnector="u"/></ssd:Connections></ssd:System>"#,
    );
    let bytes = archive(&[("SystemStructure.ssd", text.as_bytes()), ("a.fmu", b"")]);
    let ssp = Ssp::from_bytes("x.ssp", bytes, &Options::default()).unwrap();
    assert_eq!(ssp.flatten().unwrap().connections[0].factor, 1.0);
    let unit =
        |component: &str, _: &str| koppel::unit::Unit::parse(if component == "a" { "km" } else { "m" }).ok();
    assert_eq!(ssp.flatten_with(&unit).unwrap().connections[0].factor, 1000.0);
}

#[test]
fn arrays_clocks_and_systems_by_id() {
    let flat = open("arrays/arrays.ssd").flatten().unwrap();
    let names: Vec<_> = flat.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "first.gain", "second.gain", "b"]);
    assert_eq!(flat.connections.len(), 7);
    let indices: Vec<_> = flat
        .connections
        .iter()
        .filter(|c| flat.port_name(&c.from) == "a.y")
        .map(|c| (c.from.indices.clone(), flat.port_name(&c.to), c.to.indices.clone()))
        .collect();
    let expected = [
        (vec![], "b.u".to_owned(), vec![]),
        (vec![2], "b.s".to_owned(), vec![]),
        (vec![1], "b.e".to_owned(), vec![1]),
        (vec![3], "b.e".to_owned(), vec![2]),
    ];
    assert_eq!(indices, expected);
    assert_eq!(between(&flat, "first.gain.y", "second.gain.u").factor, 2.0);
    assert_eq!(between(&flat, "second.gain.y", "b.t").factor, 2.0);
    let a = &flat.components[0];
    assert_eq!(a.connectors[4].clocks, ["tick"]);
    let values: Vec<_> = a.parameters.iter().map(|p| p.value.clone()).collect();
    let expected = [
        Value::Integer(vec![i128::from(u64::MAX)]),
        Value::Float(vec![1.0, 2.0, 3.0, 4.0]),
        Value::String(vec!["one".into(), "two".into()]),
        Value::Binary(vec![vec![0, 255, 160]]),
    ];
    assert_eq!(values, expected);
}

/// A system with one component whose gain is 1, and its own binding on top of it.
fn inner() -> String {
    ssd(
        "1.0",
        r#"<ssd:System name="inner"><ssd:Connectors>
        <ssd:Connector name="x" kind="input"><ssc:Real unit="cm"/></ssd:Connector></ssd:Connectors>
        <ssd:ParameterBindings><ssd:ParameterBinding source="p.ssv"/></ssd:ParameterBindings>
        <ssd:Elements><ssd:Component name="c" source="c.fmu"><ssd:Connectors>
        <ssd:Connector name="u" kind="input"><ssc:Real unit="m"/></ssd:Connector></ssd:Connectors></ssd:Component></ssd:Elements>
        <ssd:Connections><ssd:Connection startConnector="x" endElement="c" endConnector="u"/></ssd:Connections></ssd:System>
        <ssd:Units><ssc:Unit name="cm"><ssc:BaseUnit m="1" factor="0.01"/></ssc:Unit><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>"#,
    )
}

#[test]
fn structures_inside_structures() {
    let set = |gain: f64| {
        ssv(&format!(r#"<ssv:Parameter name="c.gain"><ssv:Real value="{gain}"/></ssv:Parameter>"#))
    };
    let (inner, first, second) = (inner(), set(1.0), set(2.0));
    let fmu_set = ssv(r#"<ssv:Parameter name="from_inside"><ssv:Real value="7"/></ssv:Parameter>"#);
    let fmu = archive(&[("resources/p.ssv", fmu_set.as_bytes())]);
    let package = archive(&[
        ("SystemStructure.ssd", b"not read"),
        ("B.ssd", inner.as_bytes()),
        ("p.ssv", first.as_bytes()),
        ("c.fmu", &fmu),
    ]);
    let top = ssd(
        "1.0",
        r#"<ssd:System name="top"><ssd:Elements>
        <ssd:Component name="one" type="application/x-ssp-definition" source="sub/inner.ssd">
          <ssd:ParameterBindings><ssd:ParameterBinding source="q.ssv"/></ssd:ParameterBindings></ssd:Component>
        <ssd:Component name="two" type="application/x-ssp-package" source="two.ssp#B.ssd"><ssd:Connectors>
          <ssd:Connector name="x" kind="input"/></ssd:Connectors>
          <ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="n"><ssv:Parameters>
          <ssv:Parameter name="x"><ssv:Real value="3" unit="m"/></ssv:Parameter>
          </ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings></ssd:Component>
        <ssd:Component name="s" source="s.fmu"><ssd:Connectors>
          <ssd:Connector name="y" kind="output"><ssc:Real unit="m"/></ssd:Connector></ssd:Connectors>
          <ssd:ParameterBindings><ssd:ParameterBinding sourceBase="component" source="resources/p.ssv"/></ssd:ParameterBindings>
        </ssd:Component></ssd:Elements>
        <ssd:Connections><ssd:Connection startElement="s" startConnector="y" endElement="one" endConnector="x"/>
        <ssd:Connection startElement="s" startConnector="y" endElement="two" endConnector="x"/></ssd:Connections></ssd:System>
        <ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>"#,
    );
    let bytes = archive(&[
        ("SystemStructure.ssd", top.as_bytes()),
        ("sub/inner.ssd", inner.as_bytes()),
        ("sub/p.ssv", first.as_bytes()),
        ("sub/c.fmu", b""),
        ("q.ssv", second.as_bytes()),
        ("two.ssp", &package),
        ("s.fmu", &fmu),
    ]);
    let ssp = Ssp::from_bytes("top.ssp", bytes, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ssp.findings(), &[]);
    let flat = ssp.flatten().unwrap();
    let names: Vec<_> = flat.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["one.c", "two.c", "s"]);
    let gain = |i: usize| flat.components[i].parameters[0].value.as_f64();
    // the component's binding comes after those of the system it stands for
    assert_eq!((gain(0), gain(1), gain(2)), (Some(2.0), Some(1.0), Some(7.0)));
    // 3 m given to a connector in centimetres, which goes on to one in metres
    assert_eq!(flat.components[1].parameters[1].value.as_f64(), Some(3.0));
    assert_eq!(flat.connections.len(), 2);
    // metre to centimetre to metre: untouched
    assert!(flat.connections.iter().all(|c| c.factor == 1.0 && c.offset == 0.0));
    let source = flat.components[1].source.as_ref().unwrap();
    assert_eq!(source.location.archives, ["two.ssp"]);
    assert_eq!(ssp.read(&source.location).unwrap(), fmu);
    assert_eq!(ssp.path(&source.location), None);
}

#[test]
fn variants_are_listed_chosen_and_checked() {
    let good = ssd("1.0", r#"<ssd:System name="a"/>"#);
    let other = ssd("2.0", r#"<ssd:System name="b"/>"#);
    let bad = ssd("1.0", r#"<ssd:System/>"#);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ssp");
    let files =
        [("SystemStructure.ssd", good.as_bytes()), ("B.ssd", other.as_bytes()), ("C.ssd", bad.as_bytes())];
    std::fs::write(&path, archive(&files)).unwrap();
    let ssp = Ssp::open(&path, &Options { variant: Some("B.ssd".into()), ..Options::default() }).unwrap();
    assert_eq!(ssp.structure().system.name, "b");
    assert_eq!(ssp.variants(), ["B.ssd", "C.ssd", "SystemStructure.ssd"]);
    let findings = koppel_ssp::check(&path);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].file.ends_with("C.ssd"));
}

#[test]
fn all_findings_of_a_file_are_reported() {
    let text = ssd(
        "1.0",
        r#"<ssd:System name="s" colour="red"><ssd:Elements>
        <ssd:Component nam="a"/><ssd:Komponent name="b"/></ssd:Elements>
        <ssd:Connections><ssd:Connection startElement="x" startConnector="y"/></ssd:Connections></ssd:System>"#,
    );
    let read = koppel_ssp::read_structure(text.as_bytes(), "f.ssd", Tolerance::Strict);
    let rules: Vec<_> = read.findings.iter().map(|f| f.rule).collect();
    assert_eq!(
        rules,
        [
            Rule::UnknownAttribute,
            Rule::UnknownElement,
            Rule::UnknownAttribute,
            Rule::MissingAttribute,
            Rule::MissingAttribute
        ]
    );
    assert!(read.findings.iter().all(|f| f.line >= 3 && f.column > 0));
}

#[test]
fn mappings_and_dictionaries_inline() {
    let text = ssd(
        "1.0",
        r#"<ssd:System name="s"><ssd:ParameterBindings><ssd:ParameterBinding prefix="p."><ssd:ParameterValues>
        <ssv:ParameterSet version="1.0" name="n"><ssv:Parameters>
        <ssv:Parameter name="b"><ssv:Boolean value="true"/></ssv:Parameter>
        <ssv:Parameter name="i"><ssv:Integer value="3"/></ssv:Parameter>
        <ssv:Parameter name="e"><ssv:Enumeration value="red"/></ssv:Parameter>
        <ssv:Parameter name="r"><ssv:Real value="2" unit="km"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>
        </ssd:ParameterValues><ssd:ParameterMapping><ssm:ParameterMapping version="1.0">
        <ssm:MappingEntry source="p.b" target="a.b"><ssc:BooleanMappingTransformation><ssc:MapEntry source="true" target="false"/></ssc:BooleanMappingTransformation></ssm:MappingEntry>
        <ssm:MappingEntry source="p.i" target="a.i"><ssc:IntegerMappingTransformation><ssc:MapEntry source="3" target="-4"/></ssc:IntegerMappingTransformation></ssm:MappingEntry>
        <ssm:MappingEntry source="p.e" target="a.e"><ssc:EnumerationMappingTransformation><ssc:MapEntry source="red" target="green"/></ssc:EnumerationMappingTransformation></ssm:MappingEntry>
        <ssm:MappingEntry source="p.r" target="a.r"/>
        <ssm:MappingEntry source="p.r" target="a.q" suppressUnitConversion="true"><ssc:LinearTransformation factor="3"/></ssm:MappingEntry>
        </ssm:ParameterMapping></ssd:ParameterMapping></ssd:ParameterBinding></ssd:ParameterBindings>
        <ssd:Elements><ssd:Component name="a" source="a.fmu"><ssd:Connectors>
        <ssd:Connector name="r" kind="parameter"><ssc:Real unit="m"/></ssd:Connector>
        <ssd:Connector name="q" kind="parameter"><ssc:Real unit="m"/></ssd:Connector>
        <ssd:Connector name="y" kind="output"><ssc:Real unit="m"/></ssd:Connector>
        <ssd:Connector name="u" kind="input"><ssc:Real unit="m"/></ssd:Connector></ssd:Connectors></ssd:Component>
        <ssd:SignalDictionaryReference name="in" dictionary="d"><ssd:Connectors><ssd:Connector name="x" kind="input"/></ssd:Connectors></ssd:SignalDictionaryReference>
        <ssd:SignalDictionaryReference name="out" dictionary="d"><ssd:Connectors><ssd:Connector name="x" kind="output"/></ssd:Connectors></ssd:SignalDictionaryReference>
        </ssd:Elements><ssd:Connections>
        <ssd:Connection startElement="a" startConnector="y" endElement="in" endConnector="x"><ssc:LinearTransformation factor="4" offset="1"/></ssd:Connection>
        <ssd:Connection startElement="out" startConnector="x" endElement="a" endConnector="u"><ssc:LinearTransformation factor="0.5"/></ssd:Connection>
        </ssd:Connections><ssd:SignalDictionaries><ssd:SignalDictionary name="d"><ssb:SignalDictionary version="1.0">
        <ssb:DictionaryEntry name="x"><ssc:Real unit="km"/></ssb:DictionaryEntry>
        <ssb:Units><ssc:Unit name="km"><ssc:BaseUnit m="1" factor="1000"/></ssc:Unit></ssb:Units>
        </ssb:SignalDictionary></ssd:SignalDictionary></ssd:SignalDictionaries></ssd:System>
        <ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit><ssc:Unit name="km"><ssc:BaseUnit m="1" factor="1000"/></ssc:Unit></ssd:Units>"#,
    );
    let bytes = archive(&[("SystemStructure.ssd", text.as_bytes()), ("a.fmu", b"")]);
    let ssp = Ssp::from_bytes("x.ssp", bytes, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ssp.findings(), &[]);
    let flat = ssp.flatten().unwrap();
    let values: Vec<_> =
        flat.components[0].parameters.iter().map(|p| (p.variable.as_str(), p.value.clone())).collect();
    let expected = [
        ("b", Value::Boolean(vec![false])),
        ("i", Value::Integer(vec![-4])),
        ("e", Value::Enumeration(vec!["green".into()])),
        ("r", Value::Float(vec![2000.0])),
        // the number as it stands, times three
        ("q", Value::Float(vec![6.0])),
    ];
    assert_eq!(values, expected);
    // 4 x + 1 in metres, through kilometres, half of it
    assert_eq!(flat.connections.len(), 1);
    assert_eq!((flat.connections[0].factor, flat.connections[0].offset), (2.0, 0.5));
}

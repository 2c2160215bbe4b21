//! What is written is read back as it was, and validates against the schemas.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;
#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;
#[path = "../../koppel-fmi/tests/common/schema.rs"]
mod schema;

use common::fixture;
use koppel::unit::Unit;
use koppel_ssp::model::{
    BaseType, Component, Connection, Connector, DataType, Element, End, Enumeration, Implementation, Kind,
    Parameter, SystemStructure, Transformation, Value, Version,
};
use koppel_ssp::{
    ComponentDescription, Options, PackageFile, Payload, Position, Ssp, SystemDescription, Tolerance,
    write_parameters, write_ssp, write_structure,
};
use std::path::Path;

/// Validates with the schemas of the standard.
fn validate(xml: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.xml");
    std::fs::write(&file, xml).unwrap();
    schema::validate(&file);
}

/// What loading filled in is not written.
fn as_written(structure: &SystemStructure) -> SystemStructure {
    let read =
        koppel_ssp::read_structure(&write_structure(structure).unwrap(), &structure.file, Tolerance::Strict);
    assert_eq!(read.findings, []);
    let mut read = read.content.unwrap();
    read.location = structure.location.clone();
    read
}

#[test]
fn every_feature_survives_writing() {
    for name in ["vehicle/vehicle.ssd", "arrays/arrays.ssd"] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let read = koppel_ssp::read_structure(&bytes, name, Tolerance::Strict);
        assert_eq!(read.findings, []);
        let structure = read.content.unwrap();
        assert_eq!(as_written(&structure), structure);
        validate(&write_structure(&structure).unwrap());
    }
}

#[test]
fn parameter_sets_survive_writing() {
    let bytes = std::fs::read(fixture("vehicle/resources/vehicle.ssv")).unwrap();
    let set = koppel_ssp::read_parameters(&bytes, "p", Tolerance::Strict).content.unwrap();
    let written = write_parameters(&set).unwrap();
    validate(&written);
    assert_eq!(koppel_ssp::read_parameters(&written, "p", Tolerance::Strict).content.unwrap(), set);
}

fn real(name: &str, kind: Kind, unit: &str) -> Connector {
    Connector::new(name, kind, Some(DataType { unit: Some(unit.into()), ..DataType::new(BaseType::Real) }))
}

fn parameter(name: &str, base: BaseType, value: Value) -> Parameter {
    let (unit, enumeration) = (None, None);
    Parameter {
        name: name.into(),
        base,
        value,
        unit,
        enumeration,
        dimensions: Vec::new(),
        at: Position::default(),
    }
}

fn end(element: &str, connector: &str) -> End {
    let element = (!element.is_empty()).then(|| element.to_owned());
    End { element, connector: connector.into(), indices: Vec::new() }
}

fn description(version: Version) -> SystemDescription {
    let mut mass = parameter("m", BaseType::Real, Value::Float(vec![0.1 + 0.2]));
    mass.unit = Some("kg".into());
    SystemDescription {
        name: "dual mass <&\"'> ü".into(),
        description: Some("two lines\nand a tab\t".into()),
        version,
        components: vec![
            ComponentDescription {
                name: "left.mass".into(),
                source: Some("resources/left mass ü.fmu".into()),
                implementation: Implementation::CoSimulation,
                connectors: vec![real("f", Kind::Input, "N"), real("x", Kind::Output, "m")],
                parameters: vec![
                    mass,
                    parameter("label", BaseType::String, Value::String(vec!["a < b & \"c\"\n".into()])),
                    parameter("on", BaseType::Boolean, Value::Boolean(vec![true])),
                    parameter("n", BaseType::Integer, Value::Integer(vec![-7])),
                ],
                ..ComponentDescription::default()
            },
            ComponentDescription {
                name: "right".into(),
                source: Some("resources/right.fmu".into()),
                connectors: vec![real("x", Kind::Input, "m"), real("f", Kind::Output, "N")],
                ..ComponentDescription::default()
            },
        ],
        connectors: vec![real("position", Kind::Output, "m")],
        connections: vec![
            Connection { start: end("left.mass", "x"), end: end("right", "x"), ..Connection::default() },
            Connection {
                start: end("right", "f"),
                end: end("left.mass", "f"),
                transformation: Some(Transformation::Linear { factor: -1.0, offset: 1e-300 }),
                ..Connection::default()
            },
            Connection { start: end("left.mass", "x"), end: end("", "position"), ..Connection::default() },
        ],
        units: ["N", "m", "kg"].iter().map(|u| Unit::parse(u).unwrap()).collect(),
        enumerations: vec![Enumeration {
            name: "E".into(),
            items: vec![("a".into(), -1)],
            at: Position::default(),
        }],
        start: Some(0.0),
        stop: Some(1.0 / 3.0),
        settings: Some("# koppel\nstep = 0.001\n[coupling]\nmethod = \"hold\" # a < b && c ]]>\r\n".into()),
    }
}

fn files() -> Vec<PackageFile> {
    ["resources/left mass ü.fmu", "resources/right.fmu"]
        .map(|path| PackageFile { path: path.into(), payload: Payload::Bytes(path.as_bytes().to_vec()) })
        .to_vec()
}

fn unpack(path: &Path, name: &str) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut zip.by_name(name).unwrap(), &mut bytes).unwrap();
    bytes
}

#[test]
fn an_archive_is_written_and_read_back() {
    for version in [Version::One, Version::Two] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dual.ssp");
        let system = description(version);
        write_ssp(&path, &system, &files()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left");
        validate(&unpack(&path, "SystemStructure.ssd"));
        validate(&unpack(&path, "resources/parameters.ssv"));
        assert_eq!(koppel_ssp::check(&path), []);
        let ssp = Ssp::open(&path, &Options::default()).unwrap();
        assert_eq!(ssp.structure().version, version);
        assert_eq!(ssp.settings(), system.settings);
        let flat = ssp.flatten().unwrap();
        assert_eq!(flat.name, system.name);
        assert_eq!(ssp.structure().system.description, system.description);
        assert_eq!(flat.default_experiment, (system.start, system.stop));
        assert_eq!(flat.connections.len(), 3);
        let force = flat.connections.iter().find(|c| flat.port_name(&c.to) == "left.mass.f").unwrap();
        assert_eq!((force.factor, force.offset), (-1.0, 1e-300));
        let left = flat.component("left.mass").unwrap();
        let values: Vec<_> = left.parameters.iter().map(|p| (p.variable.clone(), p.value.clone())).collect();
        let given: Vec<_> =
            system.components[0].parameters.iter().map(|p| (p.name.clone(), p.value.clone())).collect();
        assert_eq!(values, given);
        assert_eq!(left.parameters[0].unit.as_ref().unwrap().name, "kg");
        let bytes = ssp.read(&left.source.as_ref().unwrap().location).unwrap();
        assert_eq!(bytes, "resources/left mass ü.fmu".as_bytes());
        // the same system gives the same bytes
        let again = folder.path().join("again.ssp");
        write_ssp(&again, &system, &files()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
    }
}

#[test]
fn what_cannot_be_sound_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ssp");
    let refuse = |system: &SystemDescription, files: &[PackageFile], words: &str| {
        let error = write_ssp(&path, system, files).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(!path.exists());
    };
    refuse(&description(Version::One), &[], "is not among the files");
    let mut system = description(Version::One);
    system.connections[0].end.connector = "y".into();
    refuse(&system, &files(), "has no connector `y`");
    let mut system = description(Version::One);
    system.name = "zero \0".into();
    refuse(&system, &files(), "XML cannot hold");
    let mut system = description(Version::One);
    system.components[0].connectors[0].data = Some(DataType::new(BaseType::Float64));
    refuse(&system, &files(), "needs version 2.0");
    let mut twice = files();
    twice.push(twice[0].clone());
    refuse(&description(Version::One), &twice, "is in the archive already");
    twice[2].path = "../x".into();
    refuse(&description(Version::One), &twice, "leaves the folder");
}

#[test]
fn foreign_annotations_keep_their_namespaces() {
    let bytes = std::fs::read(fixture("vehicle/vehicle.ssd")).unwrap();
    let structure = koppel_ssp::read_structure(&bytes, "x", Tolerance::Strict).content.unwrap();
    assert_eq!(as_written(&structure).annotations[0].text, "kept");
    let components = |s: &SystemStructure| s.system.elements.len();
    assert_eq!(components(&structure), 3);
    let first: Option<&Component> = structure.system.elements.iter().find_map(|e| match e {
        Element::Component(c) => Some(c),
        _ => None,
    });
    assert_eq!(first.unwrap().name, "body");
}

//! What other tools write: documents of our own with their habits. The numbers are counted in the files by hand.
//!
//! The files of the tools themselves may not be copied; `foreign.rs` reads them where they are.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;

use common::{archive, fixture};
use koppel_ssp::{Carries, Options, Port, Rule, Severity, Ssp, Tolerance, flatten_structure, read_structure};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixture("habits").join(name)).unwrap()
}

#[test]
fn drawn_with_geometry_and_nested() {
    let package = archive(&[
        ("SystemStructure.ssd", &read("winch.ssd")),
        ("resources/drum.fmu", b"x"),
        ("resources/motor.fmu", b"x"),
        ("resources/load.fmu", b"x"),
    ]);
    let ssp = Ssp::from_bytes("winch.ssp", package, &Options::default()).unwrap();
    assert_eq!(ssp.findings(), &[], "strictly sound");
    let flat = ssp.flatten().unwrap();
    let names: Vec<_> = flat.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["drive.drum", "drive.motor", "load"]);
    assert_eq!(flat.components.iter().map(|c| c.connectors.len()).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(flat.components.iter().map(|c| c.parameters.len()).collect::<Vec<_>>(), [2, 0, 0]);
    assert_eq!(flat.outputs.len(), 2);
    let name = |port: &Port| flat.port_name(port);
    let mut wires: Vec<_> = flat.connections.iter().map(|c| (name(&c.from), name(&c.to))).collect();
    wires.sort();
    let expected = [
        ("drive.drum.w", "drive.motor.w"),
        ("drive.drum.w", "speed"),
        ("drive.motor.M", "drive.drum.M_A"),
        ("load.M", "drive.drum.M_B"),
        // Written from the system's output to the component's output: the value flows the other way.
        ("load.M", "pull"),
    ];
    assert_eq!(wires, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    assert!(
        flat.connections.iter().all(|c| c.factor == 1.0 && c.offset == 0.0 && c.carries == Carries::Signal)
    );
    let inertia = &flat.components[0].parameters[0];
    assert_eq!((inertia.variable.as_str(), inertia.value.as_f64()), ("inertia.J", Some(0.05)));
    assert_eq!(inertia.unit.as_ref().unwrap().dimension(), "kg.m2");
}

#[test]
fn missing_fmus_are_no_matter_of_tolerance() {
    for tolerance in [Tolerance::Strict, Tolerance::Tolerant] {
        let options = Options { tolerance, ..Options::default() };
        let findings = koppel_ssp::check_with(&fixture("habits/winch.ssd"), &options);
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(findings.iter().all(|f| f.rule == Rule::MissingFile && f.line > 0));
        assert!(findings.iter().all(|f| f.severity == Severity::Error && !f.is_forgivable));
    }
}

#[test]
fn an_undeclared_prefix_is_forgiven_if_that_is_wanted() {
    let findings = koppel_ssp::check(&fixture("habits/rooms.ssd"));
    let prefix: Vec<_> = findings.iter().filter(|f| f.rule == Rule::Namespace).collect();
    assert_eq!(prefix.len(), 1);
    assert!(prefix[0].message.contains("`osp` is not declared"), "{}", prefix[0]);
    assert_eq!(findings.len(), 3, "the prefix and two FMUs that are not there: {findings:?}");
    let read = read_structure(&read("rooms.ssd"), "rooms.ssd", Tolerance::Tolerant);
    assert_eq!(read.findings.len(), 1);
    assert_eq!((read.findings[0].rule, read.findings[0].severity), (Rule::Namespace, Severity::Forgiven));
    let flat = flatten_structure(&read.content.unwrap(), Tolerance::Tolerant).content.unwrap();
    assert_eq!(flat.components.iter().map(|c| c.connectors.len()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(flat.connections.len(), 2);
    assert_eq!(flat.component("Room").unwrap().parameters[0].value.as_f64(), Some(4.5));
    assert_eq!(flat.default_experiment, (None, None));
}

#[test]
fn parameters_reach_components_through_a_mapping() {
    let package = archive(&[
        ("SystemStructure.ssd", &read("scaled.ssd")),
        ("resources/scaled.ssv", &read("scaled.ssv")),
        ("resources/scaled.ssm", &read("scaled.ssm")),
        ("resources/Sum.fmu", b"x"),
        ("resources/Gain.fmu", b"x"),
    ]);
    let ssp = Ssp::from_bytes("scaled.ssp", package, &Options::default()).unwrap();
    assert_eq!(ssp.findings(), &[]);
    let flat = ssp.flatten().unwrap();
    assert_eq!((flat.components.len(), flat.connections.len()), (2, 1));
    assert_eq!(flat.default_experiment, (Some(0.0), Some(2.0)));
    let gain = flat.component("gain").unwrap();
    let values: Vec<_> = gain.parameters.iter().map(|p| (p.variable.as_str(), p.value.as_f64())).collect();
    // 2 · 3 - 1 and 0.5 · 3 + 7
    assert_eq!(values, [("u", Some(5.0)), ("k", Some(8.5))]);
    assert!(flat.component("sum").unwrap().parameters.is_empty());
}

//! System structures other tools wrote. The numbers are counted in the files by hand.
//!
//! Their licences do not let them be copied: `KOPPEL_SHARED=FOLDER cargo test -p koppel-ssp --test foreign -- --ignored` reads those
//! in FOLDER/data/ssp. What they show is tested on documents of our own in `habits.rs`.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod common;

use common::{archive, shared};
use koppel_ssp::{
    Carries, Finding, FlatSystem, Options, Port, Rule, Severity, Ssp, Tolerance, flatten_structure,
    read_structure,
};
use std::path::Path;

/// A structure without the files it refers to, flat.
fn alone(path: &Path, tolerance: Tolerance) -> (FlatSystem, Vec<Finding>) {
    let read = read_structure(&std::fs::read(path).unwrap(), "structure.ssd", tolerance);
    let flat = flatten_structure(&read.content.unwrap(), tolerance);
    (flat.content.unwrap(), [read.findings, flat.findings].concat())
}

fn has(flat: &FlatSystem, from: &str, to: &str) -> bool {
    let name = |port: &Port| flat.port_name(port);
    flat.connections.iter().any(|c| name(&c.from) == from && name(&c.to) == to)
}

#[test]
#[ignore = "needs files that may not be copied; habits.rs has documents of our own like them"]
fn dc_motor_of_another_tool() {
    let folder = shared("ssp");
    let bytes = std::fs::read(folder.join("dcmotor.ssd")).unwrap();
    let package = archive(&[
        ("SystemStructure.ssd", &bytes),
        ("resources/edrive_mass.fmu", b"x"),
        ("resources/emachine_model.fmu", b"x"),
        ("resources/stimuli_model.fmu", b"x"),
    ]);
    let ssp = Ssp::from_bytes("dcmotor.ssp", package, &Options::default()).unwrap();
    assert_eq!(ssp.findings(), &[], "strictly sound");
    let flat = ssp.flatten().unwrap();
    let names: Vec<_> = flat.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["SuT.edrive_mass", "SuT.emachine_model", "stimuli_model"]);
    assert_eq!(flat.components.iter().map(|c| c.connectors.len()).collect::<Vec<_>>(), [6, 5, 2]);
    assert_eq!(flat.components.iter().map(|c| c.parameters.len()).collect::<Vec<_>>(), [2, 6, 4]);
    assert_eq!(flat.outputs.len(), 5);
    // five between components, five to the top system's outputs
    assert_eq!(flat.connections.len(), 10);
    for (from, to) in [
        ("SuT.emachine_model.M", "SuT.edrive_mass.M_A"),
        ("SuT.edrive_mass.wA", "SuT.emachine_model.w"),
        ("SuT.edrive_mass.phiA", "SuT.emachine_model.phi"),
        ("stimuli_model.U", "SuT.emachine_model.U"),
        ("stimuli_model.M_load", "SuT.edrive_mass.M_B"),
        ("SuT.emachine_model.M", "M_mot"),
        ("SuT.edrive_mass.wB", "wB"),
        ("stimuli_model.U", "U"),
        ("SuT.emachine_model.I", "I"),
        // written from the system's output to the component's output: the value flows the other way
        ("stimuli_model.M_load", "M_load"),
    ] {
        assert!(has(&flat, from, to), "{from} -> {to}");
    }
    assert!(
        flat.connections.iter().all(|c| c.factor == 1.0 && c.offset == 0.0 && c.carries == Carries::Signal)
    );
    let inertia = &flat.components[0].parameters[0];
    assert_eq!((inertia.variable.as_str(), inertia.value.as_f64()), ("inertia.J", Some(0.002)));
    assert_eq!(inertia.unit.as_ref().unwrap().dimension(), "kg.m2");
}

#[test]
#[ignore = "needs files that may not be copied; habits.rs has documents of our own like them"]
fn dc_motor_without_its_fmus() {
    let folder = shared("ssp");
    let path = folder.join("dcmotor.ssd");
    for tolerance in [Tolerance::Strict, Tolerance::Tolerant] {
        let findings = koppel_ssp::check_with(&path, &Options { tolerance, ..Options::default() });
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(findings.iter().all(|f| f.rule == Rule::MissingFile && f.line > 0));
        assert!(findings.iter().all(|f| f.severity == Severity::Error && !f.is_forgivable));
    }
    assert_eq!(alone(&path, Tolerance::Strict).0.connections.len(), 10);
}

#[test]
#[ignore = "needs files that may not be copied; habits.rs has documents of our own like them"]
fn house_with_an_undeclared_prefix() {
    let folder = shared("ssp");
    let path = folder.join("house.ssd");
    let findings = koppel_ssp::check(&path);
    let prefix: Vec<_> = findings.iter().filter(|f| f.rule == Rule::Namespace).collect();
    assert_eq!(prefix.len(), 1);
    assert!(prefix[0].message.contains("`osp` is not declared"), "{}", prefix[0]);
    // the prefix and seven FMUs that are not there
    assert_eq!(findings.len(), 8);
    let (flat, forgiven) = alone(&path, Tolerance::Tolerant);
    assert_eq!(forgiven.len(), 1);
    assert_eq!((forgiven[0].rule, forgiven[0].severity), (Rule::Namespace, Severity::Forgiven));
    assert_eq!(flat.components.len(), 7);
    assert_eq!(flat.connections.len(), 13);
    let counts: Vec<_> = flat.components.iter().map(|c| c.connectors.len()).collect();
    assert_eq!(counts, [1, 3, 2, 2, 4, 4, 5]);
    let wall = flat.component("OuterWall1").unwrap();
    assert_eq!(wall.parameters[0].value.as_f64(), Some(5.3));
    assert_eq!(flat.components.iter().map(|c| c.parameters.len()).sum::<usize>(), 2);
    assert_eq!(flat.default_experiment, (None, None));
}

#[test]
#[ignore = "needs files that may not be copied; habits.rs has documents of our own like them"]
fn parameters_through_a_mapping() {
    let folder = shared("ssp");
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let package = archive(&[
        ("SystemStructure.ssd", &read("linear-transformation.ssd")),
        ("resources/mappedParameter1.ssv", &read("linear-transformation.ssv")),
        ("resources/mappedEntry1.ssm", &read("linear-transformation.ssm")),
        ("resources/Add.fmu", b"x"),
        ("resources/Gain.fmu", b"x"),
    ]);
    let ssp = Ssp::from_bytes("linear.ssp", package, &Options::default()).unwrap();
    assert_eq!(ssp.findings(), &[]);
    let flat = ssp.flatten().unwrap();
    assert_eq!(flat.components.len(), 2);
    assert_eq!(flat.connections.len(), 1);
    assert!(has(&flat, "Gain1.y", "Add1.u1"));
    assert_eq!(flat.default_experiment, (Some(0.0), Some(1.0)));
    let gain = flat.component("Gain1").unwrap();
    let values: Vec<_> = gain.parameters.iter().map(|p| (p.variable.as_str(), p.value.as_f64())).collect();
    // 2 · 2 + 10 and 4 · 2 + 5
    assert_eq!(values, [("u", Some(14.0)), ("k", Some(13.0))]);
    assert!(flat.component("Add1").unwrap().parameters.is_empty());
}

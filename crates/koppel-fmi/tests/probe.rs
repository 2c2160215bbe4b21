//! Probes: honest FMUs hold what they declare, each lie is found. The FMUs are compiled from C by the tests.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;
#[path = "common/exchange.rs"]
mod exchange;

use common::{MASS2, MASS3, TestFmu};
use exchange::{ALL, BALL, GATE, OSCILLATOR, SQUARE, VERSIONS};
use koppel_fmi::Fmu;
use koppel_fmi::ffi::Kind;
use koppel_fmi::import::Options;
use koppel_fmi::probe::{Capability, Declared, Findings, Outcome, ProbeOptions, Scope, probe};

fn findings(fmu: &TestFmu) -> Findings {
    findings_in_steps(fmu, 0.05)
}

fn findings_in_steps(fmu: &TestFmu, step: f64) -> Findings {
    let options = ProbeOptions { step: Some(step), ..ProbeOptions::default() };
    probe(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap()
}

/// The masses with the acceleration as an output that depends on the force directly.
fn fed2() -> String {
    MASS2
        .replace(
            "name=\"a\" valueReference=\"6\" causality=\"local\"",
            "name=\"a\" valueReference=\"6\" causality=\"output\" variability=\"continuous\"",
        )
        .replace("</Outputs>", "<Unknown index=\"7\" dependencies=\"1\"/></Outputs>")
}

fn fed3() -> String {
    MASS3
        .replace("name=\"a\" valueReference=\"6\"", "name=\"a\" valueReference=\"6\" causality=\"output\"")
        .replace(
            "<InitialUnknown valueReference=\"6\"/>",
            "<Output valueReference=\"6\" dependencies=\"0\"/><InitialUnknown valueReference=\"6\"/>",
        )
}

fn outcomes(found: &Findings) -> Vec<(Capability, Outcome)> {
    found.findings.iter().map(|finding| (finding.capability, finding.outcome)).collect()
}

#[test]
fn honest_fmus_hold_what_they_declare() {
    use Capability as C;
    let held = |list: &[C]| list.iter().map(|c| (*c, Outcome::Held)).collect::<Vec<_>>();
    let found = findings(&TestFmu::two(&fed2()));
    let all = [
        C::Steps,
        C::RollBack,
        C::Serialization,
        C::Reevaluation,
        C::Dependencies,
        C::DirectionalDerivatives,
        C::InputDerivatives,
        C::VariableStepSize,
        C::Reset,
        C::SecondInstance,
    ];
    assert_eq!(outcomes(&found), held(&all), "{found}");
    assert!(found.hold() && found.interface == "co-simulation");
    let text = &found.of(C::Reevaluation).unwrap().text;
    assert!(text.starts_with("1 of 4 outputs follow their inputs at the same instant"), "{text}");

    let found = findings(&TestFmu::three(&fed3()));
    assert!(found.hold(), "{found}");
    assert!(found.holds(C::IntermediateUpdate) && found.holds(C::Serialization), "{found}");
    let finding = found.of(C::DirectionalDerivatives).unwrap();
    assert_eq!((finding.declared, finding.outcome), (Declared::No, Outcome::NotTried));

    for version in VERSIONS {
        for model in [OSCILLATOR, BALL, SQUARE, GATE] {
            let found = findings(&model.fmu(version, ALL, &[]));
            assert!(found.hold(), "FMI {version}: {found}");
            assert!(found.holds(C::RollBack) && found.holds(C::Serialization), "FMI {version}: {found}");
            assert!(found.holds(C::Reset) && found.holds(C::SecondInstance), "FMI {version}: {found}");
        }
        let found = findings(&OSCILLATOR.fmu(version, ALL, &[]));
        assert_eq!(found.interface, "model-exchange");
        // 3 outputs and 2 derivatives by 1 input and 2 states
        let text = &found.of(C::DirectionalDerivatives).unwrap().text;
        assert!(text.starts_with("15 entries agree with differences"), "{text}");
        assert_eq!(found.holds(C::AdjointDerivatives), version == 3);
    }
}

/// One finding failed, with these words in its sentence.
fn caught(fmu: &TestFmu, capability: Capability, words: &str) {
    caught_in(&findings(fmu), capability, words);
}

fn caught_in(found: &Findings, capability: Capability, words: &str) {
    let finding = found.of(capability).unwrap();
    assert_eq!(finding.outcome, Outcome::Failed, "{capability}: {found}");
    assert!(finding.text.contains(words), "{capability}: {}", finding.text);
    assert!(!found.hold());
}

/// One finding is a note with these words in its sentence, and nothing failed.
fn noted(fmu: &TestFmu, capability: Capability, words: &str) {
    let found = findings(fmu);
    let finding = found.of(capability).unwrap();
    assert_eq!(finding.outcome, Outcome::Noted, "{capability}: {found}");
    assert!(finding.text.contains(words), "{capability}: {}", finding.text);
    assert!(found.hold() && !found.holds(capability), "{found}");
}

/// An output that depends on the difference of two inputs, and what moves from rest by Euler's method.
#[test]
fn inputs_are_moved_one_by_one_and_steps_refined_before_anything_is_accused() {
    use Capability as C;
    let variable = |name: &str, reference: u32, causality: &str| {
        let start = if causality == "input" { "start=\"0\"" } else { "" };
        format!(
            "<ScalarVariable name=\"{name}\" valueReference=\"{reference}\" causality=\"{causality}\" variability=\"continuous\"><Real {start}/></ScalarVariable>"
        )
    };
    let description = format!(
        "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"Difference\" guid=\"{{gain}}\">
           <CoSimulation modelIdentifier=\"mass\" canHandleVariableCommunicationStepSize=\"true\"/>
           <ModelVariables>{}{}{}{}</ModelVariables>
           <ModelStructure><Outputs><Unknown index=\"3\" dependencies=\"1 2\"/><Unknown index=\"4\" dependencies=\"\"/></Outputs></ModelStructure>
         </fmiModelDescription>",
        variable("u", 0, "input"),
        variable("w", 4, "input"),
        variable("y", 1, "output"),
        variable("z", 5, "output"),
    );
    let found = findings(&TestFmu::new("gain2.c", &description, &["-DDIFFERENCE"]));
    assert!(found.holds(C::Reevaluation), "{found}");
    assert!(found.holds(C::VariableStepSize), "{found}");
    noted(&TestFmu::new("gain2.c", &description, &["-DDIFFERENCE", "-DLAZY"]), C::Reevaluation, "`y` stays");
    let one = description.replace("dependencies=\"1 2\"", "dependencies=\"1\"");
    caught(
        &TestFmu::new("gain2.c", &one, &["-DDIFFERENCE"]),
        C::Dependencies,
        "`y` changes with `w` at the same instant",
    );
}

#[test]
fn lies_of_co_simulation_fmus_are_caught() {
    use Capability as C;
    let two = |flag: &str| TestFmu::new("mass2.c", &fed2(), &[flag]);
    let three = |flag: &str| TestFmu::new("mass3.c", &fed3(), &[flag]);
    for make in [&two as &dyn Fn(&str) -> TestFmu, &three] {
        caught(&make("-DLIE_STATE"), C::RollBack, "3 steps repeated from a saved state: `");
        caught(&make("-DLIE_BYTES"), C::Serialization, "repeated from bytes: `");
        assert!(findings(&make("-DLIE_BYTES")).holds(C::RollBack), "states in memory are another matter");
        caught(&make("-DLIE_RESET"), C::Reset, "3 steps after a reset: `");
        caught(&make("-DLIE_STEP"), C::VariableStepSize, "of the change");
        caught(&make("-DLIE_INSTANCE"), C::SecondInstance, "beside another instance: `");
        noted(&make("-DLIE_FEED"), C::Reevaluation, "`a` stays at");
    }
    caught(
        &two("-DLIE_DERIVATIVE"),
        C::DirectionalDerivatives,
        "d `a` / d `F` is 1.1, but differences give 1",
    );
    caught(&two("-DLIE_SLOPES"), C::InputDerivatives, "changes `");
    noted(&three("-DLIE_UPDATE"), C::IntermediateUpdate, "never asks");
    let refusing = TestFmu::new("mass2.c", &fed2(), &["-DREFUSE_SLOPES=1", "-DREFUSAL=3"]);
    caught(&refusing, C::InputDerivatives, "fmi2SetRealInputDerivatives returned error");
    caught(&three("-DREFUSAL=3"), C::IntermediateUpdate, "fmi3SetFloat64 returned error");
    let undeclared = fed2()
        .replace("<Unknown index=\"7\" dependencies=\"1\"/>", "<Unknown index=\"7\" dependencies=\"\"/>");
    caught(&TestFmu::two(&undeclared), C::Dependencies, "`a` changes with `F` at the same instant");
}

#[test]
fn outputs_without_declared_dependencies_are_told_apart_by_short_steps() {
    use Capability as C;
    const GAIN: &str = include_str!("fixtures/gain2.xml");
    let silent = |text: &str| text.replace(" dependencies=\"1\"", "").replace(" dependencies=\"\"", "");
    let gain = |text: &str, flags: &[&str]| TestFmu::new("gain2.c", text, flags);
    let found = findings(&gain(&silent(GAIN), &[]));
    assert!(found.holds(C::Freshness), "{found}");
    let is_noted = |text: &str, words: &[&str]| {
        let found = findings(&gain(text, &["-DLAZY"]));
        let finding = found.of(C::Freshness).unwrap();
        assert!(
            finding.outcome == Outcome::Noted && words.iter().all(|w| finding.text.contains(w)),
            "{found}"
        );
    };
    is_noted(&silent(GAIN), &["`y` stays at", "however short"]);
    let fixed = silent(GAIN).replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    is_noted(&fixed, &["`y` stays at", "declares no dependencies"]);
    // Position and speed depend on the states alone, the acceleration on the force.
    let mass = |flags: &[&str]| TestFmu::new("mass2.c", &silent(&fed2()), flags);
    let found = findings(&mass(&[]));
    assert!(found.hold() && found.holds(C::Freshness), "{found}");
    let found = findings(&mass(&["-DLIE_FEED"]));
    let text = &found.of(C::Freshness).unwrap().text;
    assert!(text.starts_with("`a` stays at") && text.contains("however short"), "{text}");
    assert!(!text.contains("`x`") && !text.contains("`v`"), "{text}");
    // What stays does not prove its derivative wrong.
    assert_ne!(found.of(C::DirectionalDerivatives).unwrap().outcome, Outcome::Failed, "{found}");
    // Where all is declared there is nothing to find.
    assert!(findings(&TestFmu::two(&fed2())).of(C::Freshness).is_none());
}

#[test]
fn every_output_that_is_evaluated_in_steps_only_is_named() {
    let two = fed2()
        .replace("<Unknown index=\"2\" dependencies=\"\"/>", "<Unknown index=\"2\" dependencies=\"1\"/>");
    let words = "each of `x`, `a` stays as it is when inputs";
    noted(&TestFmu::new("mass2.c", &two, &["-DLIE_FEED"]), Capability::Reevaluation, words);
}

#[test]
fn lies_of_model_exchange_fmus_are_caught() {
    use Capability as C;
    for version in VERSIONS {
        // The wave switches at 1 and 2 s, so its sign differs between the saved state at 1.2 s and the end at 2.4 s. Lost
        // continuous states would do no harm: the solver has them.
        let found = findings_in_steps(&SQUARE.fmu(version, ALL, &["-DLIE_STATE"]), 0.4);
        caught_in(&found, C::RollBack, "3 steps repeated from a saved state: `");
        caught(
            &OSCILLATOR.fmu(version, ALL, &["-DLIE_DERIVATIVE"]),
            C::DirectionalDerivatives,
            "d `der(x2)` / d `x1` is -0.9, but differences give -1",
        );
    }
    caught(&OSCILLATOR.fmu(3, ALL, &["-DLIE_DERIVATIVE"]), C::AdjointDerivatives, "d `der(x2)` / d `x1`");
}

#[test]
fn what_cannot_run_or_be_tried_says_so() {
    let options = |values: &[(&str, f64)]| ProbeOptions {
        instance: Options {
            start_values: values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Options::default()
        },
        step: Some(0.2),
        ..ProbeOptions::default()
    };
    let fmu = TestFmu::two(MASS2);
    let open = Fmu::open(&fmu.path()).unwrap();
    let found = probe(&open, &options(&[("misbehave", 2.0)])).unwrap();
    assert!(!found.hold());
    assert!(found.of(Capability::Steps).unwrap().text.contains("fmi2DoStep returned error"), "{found}");
    assert_eq!(found.of(Capability::RollBack).unwrap().text, "it does not run");
    assert!(probe(&open, &options(&[("misbehav", 2.0)])).unwrap_err().to_string().contains("did you mean"));
    let exchange = ProbeOptions { interface: Some(Kind::ModelExchange), ..options(&[]) };
    assert!(probe(&open, &exchange).unwrap_err().to_string().ends_with("is no model-exchange FMU"));

    let once = TestFmu::two(
        &fed2().replace("modelIdentifier", "canBeInstantiatedOnlyOncePerProcess=\"true\" modelIdentifier"),
    );
    let found = findings(&once);
    assert!(found.hold() && found.holds(Capability::Serialization), "{found}");
    assert_eq!(found.of(Capability::SecondInstance).unwrap().declared, Declared::No);
}

#[test]
fn coupling_methods_can_ask_for_the_cheap_part() {
    let fmu = TestFmu::two(&fed2());
    let options = ProbeOptions { step: Some(0.05), scope: Scope::Coupling, ..ProbeOptions::default() };
    let found = probe(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap();
    let names: Vec<String> = found.findings.iter().map(|finding| finding.capability.to_string()).collect();
    assert_eq!(names, ["steps", "roll-back", "re-evaluation", "directional derivatives"]);
    assert!(found.hold(), "{found}");
    assert!(
        found.to_string().starts_with("steps (declared: required): held: 6 steps of 0.05 s\n"),
        "{found}"
    );
}

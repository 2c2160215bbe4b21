//! FMUs that refuse the moving inputs they declare to take are driven without them.

use super::{difference, drive, go_on, id, instance, options};
use crate::common::{MASS2, MASS3, TestFmu};
use koppel::system::Subsystem;
use koppel_fmi::ffi::{LogMessage, Status};
use koppel_fmi::import::{CoSimulation, Options};
use std::sync::{Arc, Mutex};

const LINE: [f64; 2] = [0.3, -2.0];
const PARABOLA: [f64; 3] = [0.3, -2.0, 5.0];

/// An instance, and koppel's own words on it.
fn listened(fmu: &TestFmu, options: Options) -> (CoSimulation, Arc<Mutex<Vec<LogMessage>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let log = move |message: &LogMessage| {
        if message.category == "koppel" {
            heard.lock().unwrap().push(message.clone());
        }
    };
    (instance(&fmu.path(), Options { log: Some(Arc::new(log)), ..options }), said)
}

fn warned_once(said: &Mutex<Vec<LogMessage>>, fmu: &TestFmu, parts: &[&str]) {
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((said[0].instance.as_str(), said[0].status, said[0].time), ("body", Status::Warning, 0.0));
    let path = fmu.path().display().to_string();
    for part in parts.iter().chain([&path.as_str()]) {
        assert!(said[0].text.contains(part), "{part}: {}", said[0].text);
    }
}

#[test]
fn input_derivatives_of_fmi_2() {
    let plain = TestFmu::two(&MASS2.replace("canInterpolateInputs=\"true\"", ""));
    let expected = drive(&mut instance(&plain.path(), options(&[])), 20, &LINE).unwrap();
    for (refusal, word) in [("-DREFUSAL=3", "error"), ("-DREFUSAL=2", "discard")] {
        let fmu = TestFmu::new("mass2.c", MASS2, &["-DREFUSE_SLOPES=1", refusal]);
        for input_order in [1, 2] {
            let (mut body, said) = listened(&fmu, Options { input_order, ..options(&[]) });
            assert_eq!(drive(&mut body, 20, &LINE).unwrap(), expected, "as one that declares nothing");
            assert_eq!(body.get(id(&body, "steps")).unwrap(), 80.0);
            assert!(
                body.capabilities().solver.contains("inputs by 4 sub-steps"),
                "{}",
                body.capabilities().solver
            );
            // Started anew, it is not tried again.
            assert_eq!(drive(&mut body, 20, &LINE).unwrap(), expected);
            let words =
                format!("fmi2SetRealInputDerivatives returned {word}; it gets means over 4 sub-steps");
            warned_once(&said, &fmu, &[&words]);
        }
    }
}

#[test]
fn only_the_order_that_is_refused_is_lost() {
    let all = TestFmu::two(MASS2);
    let expected = drive(&mut instance(&all.path(), options(&[])), 20, &PARABOLA).unwrap();
    let fmu = TestFmu::new("mass2.c", MASS2, &["-DREFUSE_SLOPES=2", "-DREFUSAL=3"]);
    let (mut body, said) = listened(&fmu, Options { input_order: 2, ..options(&[]) });
    let found = drive(&mut body, 20, &PARABOLA).unwrap();
    assert!(difference(found, expected) < 1e-14, "{found:?} {expected:?}");
    warned_once(&said, &fmu, &["order 1 at most, in 4 sub-steps"]);
}

#[test]
fn fatal_and_later_refusals_end_the_run() {
    let fatal = TestFmu::new("mass2.c", MASS2, &["-DREFUSE_SLOPES=1", "-DREFUSAL=4"]);
    let later = ["-DREFUSE_SLOPES=1", "-DREFUSAL=3", "-DREFUSE_FROM=0.45"];
    let later = TestFmu::new("mass2.c", MASS2, &later);
    for (fmu, word) in [(&fatal, "fatal"), (&later, "error")] {
        let (mut body, said) = listened(fmu, options(&[]));
        let error = drive(&mut body, 20, &LINE).unwrap_err();
        assert!(error.contains(&format!("fmi2SetRealInputDerivatives returned {word}")), "{error}");
        assert!(said.lock().unwrap().is_empty());
    }
}

/// Steps that have begun with one size cannot be divided any more: each gets its mean.
#[test]
fn steps_of_one_size_keep_it() {
    let one_size = MASS2.replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    let fmu = TestFmu::new("mass2.c", &one_size, &["-DREFUSE_SLOPES=1", "-DREFUSAL=3"]);
    let (mut body, _) = listened(&fmu, options(&[]));
    drive(&mut body, 1, &[0.3]).unwrap();
    let found = go_on(&mut body, 1, 5, &LINE).unwrap();
    let mut held = instance(&TestFmu::two(MASS2).path(), options(&[]));
    drive(&mut held, 1, &[0.3]).unwrap();
    // The mean of 0.3 - 2 t over 0.1 s.
    let expected = go_on(&mut held, 1, 5, &[0.2]).unwrap();
    assert!(difference(found, expected) < 1e-14, "{found:?} {expected:?}");
}

#[test]
fn intermediate_updates_of_fmi_3() {
    let plain = TestFmu::three(&MASS3.replace("providesIntermediateUpdate=\"true\"", ""));
    let mut reference = instance(&plain.path(), options(&[]));
    drive(&mut reference, 1, &LINE[..1]).unwrap();
    let expected = go_on(&mut reference, 1, 19, &LINE).unwrap();
    let fmu = TestFmu::new("mass3.c", MASS3, &["-DREFUSAL=3"]);
    let (mut body, said) = listened(&fmu, options(&[]));
    assert_eq!(drive(&mut body, 20, &LINE).unwrap(), expected, "all but the first step as if undeclared");
    warned_once(&said, &fmu, &["fmi3SetFloat64 returned error", "this step kept the values of its start"]);
    let fatal = TestFmu::new("mass3.c", MASS3, &["-DREFUSAL=4"]);
    let error = drive(&mut instance(&fatal.path(), options(&[])), 20, &LINE).unwrap_err();
    assert!(error.contains("fmi3SetFloat64 returned fatal"), "{error}");
}

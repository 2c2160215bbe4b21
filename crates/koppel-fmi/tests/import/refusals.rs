//! What an FMU does wrong, and what is asked of it wrongly: one message each.

use super::{drive, instance, options, try_instance};
use crate::common::{MASS2, MASS3, TestFmu, pack};
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::system::{Subsystem, SystemBuilder};
use koppel_fmi::import::{Options, Value};

#[test]
fn bad_behaviour_ends_in_one_message() {
    let (two, three) = (TestFmu::two(MASS2), TestFmu::three(MASS3));
    let failure = |fmu: &TestFmu, mode: f64| {
        drive(&mut instance(&fmu.path(), options(&[("misbehave", mode)])), 10, &[0.0]).unwrap_err()
    };
    for fmu in [&two, &three] {
        let discard = failure(fmu, 1.0);
        assert!(discard.starts_with("`body` discarded the step from 0.5 s to 0.6 s"), "{discard}");
        assert!(discard.ends_with("log: [logEvents] I refuse to pass 0.5 s"), "{discard}");
        assert!(failure(fmu, 2.0).contains("DoStep returned error\n  log: [logEvents] I refuse"));
        assert!(failure(fmu, 3.0).contains("DoStep returned fatal"));
    }
    assert!(failure(&two, 1.0).contains("it came to 0.5 s"));
    assert!(failure(&two, 4.0).contains("fmi2DoStep returned pending"));
    assert!(failure(&three, 4.0).contains("asks to end the simulation at 0.5 s"));

    let mut dead = instance(&two.path(), options(&[("misbehave", 3.0)]));
    drive(&mut dead, 10, &[0.0]).unwrap_err();
    let mut outputs = vec![0.0; dead.ports().outputs.len()];
    let error = dead.read(None, &mut outputs).unwrap_err().to_string();
    assert!(error.contains("cannot be called after a fatal status"), "{error}");
    // A new instance takes its place.
    dead.initialize(0.0).unwrap();
    dead.read(None, &mut outputs).unwrap();

    for fmu in [&two, &three] {
        let body = instance(&fmu.path(), options(&[("misbehave", 5.0)]));
        let system = SystemBuilder::new().add("body", body).build().unwrap();
        let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
        let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
        assert!(error.to_string().contains("variable `x` became NaN"), "{error}");
    }
}

#[test]
fn what_cannot_be_instantiated_says_why() {
    let wrong = TestFmu::two(&MASS2.replace("{mass}", "{other}"));
    let error = try_instance(&wrong.path(), options(&[])).err().unwrap();
    assert_eq!(
        error,
        "`body`: fmi2Instantiate returned no instance\n  log: [logStatusError] wrong guid {other}, expected {mass} (42, 2.5)"
    );
    let wrong = TestFmu::three(&MASS3.replace("{mass}", "{other}"));
    let error = try_instance(&wrong.path(), options(&[])).err().unwrap();
    assert!(
        error.ends_with(
            "fmi3InstantiateCoSimulation returned no instance\n  log: [logStatusError] wrong token"
        )
    );

    let missing = TestFmu::new("mass2.c", MASS2, &["-DNO_RESET"]);
    let error = try_instance(&missing.path(), options(&[])).err().unwrap();
    assert!(error.ends_with("fmu`: `binaries/linux64/mass.so` has no function `fmi2Reset`"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.fmu");
    let files = [
        ("modelDescription.xml", MASS2.as_bytes()),
        ("binaries/win32/mass.dll", b"MZ"),
        ("binaries/darwin64/mass.dylib", b"x"),
    ];
    pack(&other, &files);
    let error = try_instance(&other, options(&[])).err().unwrap();
    assert!(
        error.ends_with("has no binary `mass.so` for this platform (linux64); there are: darwin64, win32"),
        "{error}"
    );
    pack(
        &other,
        &[("modelDescription.xml", MASS2.as_bytes()), ("binaries/linux64/mass.so", b"not a library")],
    );
    assert!(try_instance(&other, options(&[])).err().unwrap().contains("mass.so` cannot be loaded: "));
    let exchange = MASS2
        .replace("<CoSimulation", "<ModelExchange")
        .replace("canHandleVariableCommunicationStepSize=\"true\" canInterpolateInputs=\"true\"", "");
    pack(&other, &[("modelDescription.xml", exchange.as_bytes())]);
    assert!(try_instance(&other, options(&[])).err().unwrap().ends_with("is no co-simulation FMU"));
    pack(&other, &[("readme.txt", b"")]);
    assert!(
        try_instance(&other, options(&[]))
            .err()
            .unwrap()
            .ends_with("has no `modelDescription.xml`: not an FMU")
    );
}

#[test]
fn an_only_once_fmu_is_used_once_at_a_time() {
    let fmu = TestFmu::two(
        &MASS2.replace("modelIdentifier", "canBeInstantiatedOnlyOncePerProcess=\"true\" modelIdentifier"),
    );
    let first = instance(&fmu.path(), options(&[]));
    let error = try_instance(&fmu.path(), options(&[])).err().unwrap();
    assert!(error.ends_with("can be instantiated only once per process, and is in use"), "{error}");
    drop(first);
    drop(instance(&fmu.path(), options(&[])));
}

#[test]
fn start_values_are_checked() {
    let fmu = TestFmu::three(MASS3);
    let refused = |name: &str, value: Value| {
        let options = Options { start_values: vec![(name.into(), value)], ..options(&[]) };
        try_instance(&fmu.path(), options).map_or_else(
            |error| error,
            |mut body| body.initialize(0.0).map_or_else(|error| error.to_string(), |()| "accepted".into()),
        )
    };
    assert_eq!(refused("lable", 1.0.into()), "`body` has no variable `lable`; did you mean `label`?");
    assert!(refused("a", 1.0.into()).contains("`a` cannot be set: it is neither a parameter"));
    assert!(refused("label", 1.0.into()).contains("`label` is a String"));
    assert!(refused("m", "heavy".into()).contains("`m` is a Float64"));
    assert!(refused("misbehave", 0.5.into()).contains("`misbehave` of `body` cannot be 0.5: Int32 holds"));
    assert!(refused("small", 200.0.into()).contains("`small` of `body` cannot be 200: Int8 holds"));
    assert!(refused("vector", 1.0.into()).contains("it is an array of 3: give a list"));
    for (name, value) in
        [("label", "text".into()), ("m", 2.0.into()), ("small", Value::Number(-3.0)), ("x", 0.5.into())]
    {
        assert_eq!(refused(name, value), "accepted", "{name}");
    }
}

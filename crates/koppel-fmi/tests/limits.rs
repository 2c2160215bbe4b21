//! What an FMU does not take is refused where it is asked for: steps of other sizes, late changes, values of wrong types.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]

mod common;

use common::{MASS2, MASS3, TestFmu};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::run::{Change, Run, RunConfig};
use koppel::signal::external::ExternalConfig;
use koppel::system::{Connection, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};

/// An FMU that takes steps of one size only.
fn rigid() -> TestFmu {
    let text = MASS2.replace(
        "canHandleVariableCommunicationStepSize=\"true\"",
        "canHandleVariableCommunicationStepSize=\"false\"",
    );
    assert_ne!(text, MASS2);
    TestFmu::two(&text)
}

fn part(fmu: &TestFmu, name: &str) -> CoSimulation {
    let options = Options { name: name.into(), ..Options::default() };
    CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap()
}

/// Two of them, one of which may be pushed; runs to the end.
fn run(fmu: &TestFmu, config: &RunConfig, push: Option<ExternalConfig>) -> Result<(), String> {
    let mut system = SystemBuilder::new()
        .add("left", part(fmu, "left"))
        .add("right", part(fmu, "right"))
        .connect(Connection::new("left.v", "right.F"));
    system = match push {
        Some(signal) => system.external("left.F", signal),
        None => system.connect(Connection::new("right.v", "left.F")),
    };
    let mut run = Run::new(system.build().unwrap(), config).map_err(|error| format!("before: {error}"))?;
    while !run.is_done() {
        run.advance().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn change(time: f64, name: &str, value: f64) -> Change {
    Change { time, set: [(name.to_owned(), value)].into() }
}

#[test]
fn steps_of_one_size_are_kept() {
    let fmu = rigid();
    let plain = RunConfig::new(1.0, 0.1);
    let reduced = CouplingConfig::foh(StartUp::Reduced);
    let foh = CouplingConfig::foh(StartUp::default());
    run(&fmu, &plain, None).unwrap();
    run(&fmu, &RunConfig { coupling: foh, ..plain.clone() }, None).unwrap();
    run(&fmu, &RunConfig { at: vec![change(0.3, "left.c", 2.0)], ..plain.clone() }, None).unwrap();
    let every = |count: u32| [("left".to_owned(), count)].into();
    run(&fmu, &RunConfig { every: every(5), ..plain.clone() }, None).unwrap();
    let refused = [
        (RunConfig::new(1.0, 0.3), "the last step would be 0.1 s instead of 0.3 s long"),
        (
            RunConfig { every: every(3), ..plain.clone() },
            "the last step would be 0.1 s instead of 0.3 s long",
        ),
        (RunConfig { coupling: reduced, ..plain.clone() }, "start = \"reduced\" begins with small steps"),
        (RunConfig { at: vec![change(0.35, "left.c", 2.0)], ..plain.clone() }, "the change at t = 0.35 s"),
    ];
    for (config, words) in refused {
        let error = run(&fmu, &config, None).unwrap_err();
        assert!(error.starts_with("before: a step of another size for `left`"), "{error}");
        assert!(error.contains(words), "{error}");
        run(&TestFmu::two(MASS2), &config, None).unwrap_or_else(|error| panic!("others take it: {error}"));
    }
    // Signals cut no step of such an FMU.
    let jump = |time: f64| Some(ExternalConfig::Step { time, before: 0.0, after: 1.0 });
    run(&fmu, &plain, jump(0.5)).unwrap();
    run(&fmu, &plain, jump(0.55)).unwrap();
}

#[test]
fn fixed_parameters_stay_once_the_run_is_under_way() {
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let with = |time: f64, name: &str| RunConfig {
            at: vec![change(time, name, 2.0)],
            ..RunConfig::new(1.0, 0.1)
        };
        run(&fmu, &with(0.0, "left.m"), None).unwrap();
        run(&fmu, &with(0.5, "left.c"), None).unwrap();
        let error = run(&fmu, &with(0.5, "left.m"), None).unwrap_err();
        assert!(error.starts_with("before: ") && error.contains("cannot change during the run"), "{error}");
    }
}

#[test]
fn values_have_the_type_of_their_variable() {
    let modes = MASS3.replace(
        "<ModelVariables>",
        "<TypeDefinitions><EnumerationType name=\"Mode\"><Item name=\"off\" value=\"1\"/><Item name=\"on\" value=\"4\"/></EnumerationType></TypeDefinitions><ModelVariables>\
         <Enumeration name=\"mode\" valueReference=\"90\" causality=\"parameter\" variability=\"fixed\" declaredType=\"Mode\" start=\"1\"/>\
         <UInt8 name=\"tiny\" valueReference=\"91\" causality=\"parameter\" variability=\"fixed\" start=\"1\"/>",
    );
    let fmu = TestFmu::three(&modes);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let with = |name: &str, value: f64| {
        let start_values = vec![(name.to_owned(), Value::Number(value))];
        let options = Options { name: "body".into(), start_values, ..Options::default() };
        CoSimulation::new(&fmu, &options).map(|_| ()).map_err(|error| error.to_string())
    };
    for (name, value) in [("on", 1.0), ("mode", 4.0), ("tiny", 255.0), ("m", 0.5)] {
        with(name, value).unwrap();
    }
    let wrong = [
        ("on", 2.0, "`on` of `body` cannot be 2: a Boolean is true or false, 1 or 0"),
        ("mode", 2.0, "`mode` of `body` cannot be 2: it is one of 1 (off), 4 (on)"),
        ("tiny", 256.0, "`tiny` of `body` cannot be 256: UInt8 holds whole numbers from 0 to 255"),
        ("tiny", 1.5, "`tiny` of `body` cannot be 1.5: UInt8"),
    ];
    for (name, value, words) in wrong {
        let error = with(name, value).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

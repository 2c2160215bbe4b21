//! Co-simulation FMUs as subsystems, with FMUs compiled from C by the tests.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{MASS2, MASS3, TestFmu, pack};
use koppel::linalg::Matrix;
use koppel::record::Table;
use koppel::run::{Flow, RunConfig, Simulation};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{
    Connection, LinearOde, OdeModel, Snapshot, StateSpace, Subsystem, SystemBuilder, Variable, VariableId,
};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn instance(path: &Path, options: Options) -> CoSimulation {
    try_instance(path, options).unwrap_or_else(|error| panic!("{error}"))
}

fn try_instance(path: &Path, options: Options) -> Result<CoSimulation, String> {
    let fmu = Fmu::open(path).map_err(|error| error.to_string())?;
    CoSimulation::new(&fmu, &options).map_err(|error| error.to_string())
}

fn options(start_values: &[(&str, f64)]) -> Options {
    let start_values =
        start_values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    Options { name: "body".into(), start_values, ..Options::default() }
}

/// The same mass without FMI, by the same method with the same micro step.
fn native(m: f64, c: f64, d: f64) -> OdeModel {
    let matrices = StateSpace::new(
        "mass",
        Matrix::from_slice(2, 2, &[0.0, 1.0, -c / m, -d / m]),
        Matrix::from_slice(2, 1, &[0.0, 1.0 / m]),
        Matrix::from_slice(2, 2, &[1.0, 0.0, 0.0, 1.0]),
        Matrix::from_slice(2, 1, &[0.0, 0.0]),
    );
    let outputs = vec![Variable::new("x"), Variable::new("v")];
    let ode = LinearOde::new(matrices.unwrap(), vec![Variable::new("F")], outputs, &[1.0, 0.0]).unwrap();
    OdeModel::new(Box::new(ode), &SolverConfig::Rk4 { step: 1e-3 }).unwrap()
}

fn id(subsystem: &dyn Subsystem, name: &str) -> VariableId {
    subsystem.ports().find_any(name).unwrap_or_else(|| panic!("no variable {name}"))
}

/// Steps under the input with these coefficients, for every step the same; returns x and v.
fn drive(subsystem: &mut dyn Subsystem, steps: u64, coefficients: &[f64]) -> Result<[f64; 2], String> {
    subsystem.initialize(0.0).map_err(|error| error.to_string())?;
    go_on(subsystem, 0, steps, coefficients)
}

fn go_on(
    subsystem: &mut dyn Subsystem,
    from: u64,
    steps: u64,
    coefficients: &[f64],
) -> Result<[f64; 2], String> {
    let inputs = subsystem.ports().inputs.len();
    let mut all = vec![0.0; inputs * coefficients.len()];
    all[..coefficients.len()].copy_from_slice(coefficients);
    let mut outputs = vec![0.0; subsystem.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, outputs.len());
    for index in from..from + steps {
        let step = Step { index, start: 0.1 * index as f64, size: 0.1 };
        let segment = Segment::new(&step, inputs, coefficients.len(), &all);
        subsystem.step(&step, &segment, &mut outputs, &mut samples).map_err(|error| error.to_string())?;
    }
    Ok([outputs[0], outputs[1]])
}

fn difference(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).abs().max((a[1] - b[1]).abs())
}

#[test]
fn constant_inputs_give_the_numbers_of_the_native_model() {
    let reference = drive(&mut native(2.0, 3.0, 0.1), 50, &[0.7]).unwrap();
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let mut body = instance(&fmu.path(), options(&[("m", 2.0), ("c", 3.0), ("d", 0.1)]));
        let found = drive(&mut body, 50, &[0.7]).unwrap();
        assert!(difference(found, reference) < 1e-12, "{found:?} against {reference:?}");
        assert_eq!(body.get(id(&body, "steps")).unwrap(), 50.0, "a constant input needs one doStep");
    }
}

#[test]
fn the_input_polynomial_reaches_the_fmu_by_the_best_way() {
    let quadratic = [0.3, -2.0, 5.0];
    let linear = [0.3, -2.0];
    let exact = drive(&mut native(1.0, 1.0, 0.0), 20, &quadratic).unwrap();
    let exact_linear = drive(&mut native(1.0, 1.0, 0.0), 20, &linear).unwrap();

    let three = TestFmu::three(MASS3);
    let mut body = instance(&three.path(), options(&[]));
    assert!(body.solver().contains("inputs by intermediate update"), "{}", body.solver());
    assert!(difference(drive(&mut body, 20, &quadratic).unwrap(), exact) < 1e-12);

    let two = TestFmu::two(MASS2);
    let mut body = instance(&two.path(), Options { input_order: 2, ..options(&[]) });
    assert!(body.solver().contains("derivatives up to order 2"), "{}", body.solver());
    assert!(difference(drive(&mut body, 20, &quadratic).unwrap(), exact) < 1e-12);

    let mut body = instance(&two.path(), options(&[]));
    assert!(difference(drive(&mut body, 20, &linear).unwrap(), exact_linear) < 1e-12);
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0);
    let chords = difference(drive(&mut body, 20, &quadratic).unwrap(), exact);
    assert!(chords < 1e-6 && chords > 1e-12, "lines with the right mean: {chords}");

    for (fixture, description) in [("two", MASS2), ("three", MASS3)] {
        let plain = description
            .replace("canInterpolateInputs=\"true\"", "")
            .replace("providesIntermediateUpdate=\"true\"", "");
        let fmu = if fixture == "two" { TestFmu::two(&plain) } else { TestFmu::three(&plain) };
        let mut errors = Vec::new();
        for substeps in [1, 2, 4, 8] {
            let mut body = instance(&fmu.path(), Options { substeps, ..options(&[]) });
            let error = difference(drive(&mut body, 20, &quadratic).unwrap(), exact);
            assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0 * f64::from(substeps));
            errors.push(error);
        }
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 2.0).abs() < 0.1, "sub-steps with equal mean are of order 2: {errors:?}");
        }
    }
}

#[test]
fn two_fmus_give_the_numbers_of_two_native_models() {
    let config: RunConfig = RunConfig::new(5.0, 0.01);
    let run = |a: Box<dyn Subsystem>, b: Box<dyn Subsystem>| {
        let system = SystemBuilder::new()
            .add_boxed("a", a)
            .add_boxed("b", b)
            .connect(Connection::new("a.x", "b.F").gain(4.0))
            .connect(Connection::new("b.x", "a.F").gain(4.0));
        let mut simulation = Simulation::new(system.build().unwrap(), &config).unwrap();
        let mut table = Table::default();
        simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        (simulation.outputs(0).to_vec(), simulation.outputs(1).to_vec())
    };
    let (a, b) = (native(1.0, 6.0, 0.1), native(3.0, 9.0, 0.2));
    let (left, right) = run(Box::new(a), Box::new(b));
    let units = |text: &str| text.replace("unit=\"N\"", "").replace("unit=\"m\"", "");
    for fmu in [TestFmu::two(&units(MASS2)), TestFmu::three(MASS3)] {
        let make = |m, c, d| Box::new(instance(&fmu.path(), options(&[("m", m), ("c", c), ("d", d)])));
        let (found_left, found_right) = run(make(1.0, 6.0, 0.1), make(3.0, 9.0, 0.2));
        for (found, reference) in [(found_left, &left), (found_right, &right)] {
            assert!(
                difference([found[0], found[1]], [reference[0], reference[1]]) < 1e-12,
                "{found:?} {reference:?}"
            );
        }
    }
}

#[test]
fn what_is_saved_is_restored_bit_for_bit() {
    let keep = |text: &str| {
        text.replace("canSerializeFMUstate=\"true\"", "").replace("canSerializeFMUState=\"true\"", "")
    };
    for (fmu, survives) in [
        (TestFmu::two(MASS2), true),
        (TestFmu::three(MASS3), true),
        (TestFmu::two(&keep(MASS2)), false),
        (TestFmu::three(&keep(MASS3)), false),
    ] {
        let mut body = instance(&fmu.path(), options(&[]));
        let (mut at_start, mut later) = (Snapshot::default(), Snapshot::default());
        body.initialize(0.0).unwrap();
        body.save(&mut at_start).unwrap();
        let first = go_on(&mut body, 0, 7, &[0.2, 1.0]).unwrap();
        body.save(&mut later).unwrap();
        let second = go_on(&mut body, 7, 5, &[0.1, -1.0]).unwrap();
        body.restore(&later).unwrap();
        assert_eq!(go_on(&mut body, 7, 5, &[0.1, -1.0]).unwrap().map(f64::to_bits), second.map(f64::to_bits));
        body.restore(&at_start).unwrap();
        assert_eq!(go_on(&mut body, 0, 7, &[0.2, 1.0]).unwrap().map(f64::to_bits), first.map(f64::to_bits));

        let mut other = instance(&fmu.path(), options(&[]));
        other.initialize(0.0).unwrap();
        let moved = other.restore(&later);
        assert_eq!(moved.is_ok(), survives, "{moved:?}");
        if survives {
            assert_eq!(go_on(&mut other, 7, 5, &[0.1, -1.0]).unwrap(), second);
        } else {
            assert!(moved.unwrap_err().to_string().contains("in another instance or process"));
            let copy = later.clone();
            body.save(&mut later).unwrap();
            assert!(body.restore(&copy).unwrap_err().to_string().contains("used for a newer state"));
            for _ in 0..200 {
                body.save(&mut Snapshot::default()).unwrap();
            }
        }
    }
}

/// A filter adds numbers to a snapshot, a log of inputs drops them: it is used again all the same, and others stay.
#[test]
fn wrapped_snapshots_keep_their_slot() {
    let fmu = TestFmu::two(&MASS2.replace("canSerializeFMUstate=\"true\"", ""));
    let mut body = instance(&fmu.path(), Options::default());
    body.initialize(0.0).unwrap();
    let mut first = Snapshot::default();
    body.save(&mut first).unwrap();
    let (mut filtered, mut logged) = (Snapshot::default(), Snapshot::default());
    for _ in 0..100 {
        body.save(&mut filtered).unwrap();
        filtered.reals.extend([0.0, 0.37]);
        body.save(&mut logged).unwrap();
        logged.reals.clear();
    }
    body.restore(&first).unwrap();
}

#[test]
fn an_fmu_without_states_says_so() {
    let fmu = TestFmu::two(&MASS2.replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", ""));
    let mut body = instance(&fmu.path(), options(&[]));
    body.initialize(0.0).unwrap();
    let error = body.save(&mut Snapshot::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`body` cannot save its state: the FMU does not declare canGetAndSetFMUState"
    );
    assert!(error.hint().unwrap().contains("needs no roll-back"));
}

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
    assert!(
        dead.initialize(0.0)
            .unwrap_err()
            .to_string()
            .contains("fmi2Reset cannot be called after a fatal status")
    );

    for fmu in [&two, &three] {
        let body = instance(&fmu.path(), options(&[("misbehave", 5.0)]));
        let system = SystemBuilder::new().add("body", body).build().unwrap();
        let mut simulation = Simulation::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
        let error = simulation.run(&mut Table::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
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
    assert!(error.ends_with("mass.so` has no function `fmi2Reset`"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.fmu");
    let files = [
        ("modelDescription.xml", MASS2.as_bytes()),
        ("binaries/win64/mass.dll", b"MZ"),
        ("binaries/darwin64/mass.dylib", b"x"),
    ];
    pack(&other, &files);
    let error = try_instance(&other, options(&[])).err().unwrap();
    assert!(
        error.ends_with("has no binary `mass.so` for this platform (linux64); there are: darwin64, win64"),
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

#[test]
fn every_number_can_be_read_and_parameters_be_changed() {
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let mut body = instance(&fmu.path(), options(&[("x", 0.5)]));
        body.initialize(0.0).unwrap();
        let get = |body: &mut CoSimulation, name: &str| body.get(id(body, name)).unwrap();
        assert_eq!((get(&mut body, "x"), get(&mut body, "a"), get(&mut body, "m")), (0.5, -0.5, 1.0));
        body.set(id(&body, "m"), 4.0).unwrap();
        assert_eq!(get(&mut body, "a"), -0.125, "a fixed parameter may change before the first step");
        let mut outputs = vec![0.0; 3];
        let mut inputs: Vec<f64> = body.ports().inputs.iter().map(|input| input.start).collect();
        (inputs[0], inputs[1]) = (1.0, 1.0);
        body.read(Some(&inputs), &mut outputs).unwrap();
        assert_eq!((get(&mut body, "a"), get(&mut body, "on")), (0.125, 1.0));
        inputs[1] = 0.5;
        assert!(
            body.read(Some(&inputs), &mut outputs)
                .unwrap_err()
                .to_string()
                .contains("`on` is a Boolean, 0.5")
        );
        go_on(&mut body, 0, 1, &[0.0]).unwrap();
        let refused = body.set(id(&body, "m"), 1.0).unwrap_err().to_string();
        assert!(refused.contains("`m` cannot be set: it is fixed once the simulation runs"), "{refused}");
        body.set(id(&body, "c"), 2.0).unwrap();
        assert_eq!(get(&mut body, "c"), 2.0);
        body.initialize(0.0).unwrap();
        assert_eq!((get(&mut body, "m"), get(&mut body, "c")), (4.0, 2.0), "changes outlive a new start");
        assert!(body.set(id(&body, "F"), 1.0).unwrap_err().to_string().contains("inputs are wired"));
    }
}

#[test]
fn arrays_and_large_integers_are_handled() {
    let fmu = TestFmu::three(MASS3);
    let mut body = instance(&fmu.path(), options(&[]));
    body.initialize(0.0).unwrap();
    let mut inputs: Vec<f64> = body.ports().inputs.iter().map(|input| input.start).collect();
    for (k, name) in ["vector[1]", "vector[2]", "vector[3]"].iter().enumerate() {
        inputs[id(&body, name).index] = k as f64 + 1.0;
    }
    body.read(Some(&inputs), &mut [0.0; 3]).unwrap();
    assert_eq!(body.get(id(&body, "vector[2]")).unwrap(), 2.0);
    let large = id(&body, "large");
    body.set(large, 9_007_199_254_740_992.0).unwrap();
    assert_eq!(body.get(large).unwrap(), 9_007_199_254_740_992.0);
    body.set(large, 9_007_199_254_740_994.0).unwrap();
    assert!(body.get(large).unwrap_err().to_string().contains("too large to be exact"));
    assert!(body.set(large, -1.0).is_err());
}

#[test]
fn samples_are_taken_where_asked() {
    let fmu = TestFmu::two(MASS2);
    let mut body = instance(&fmu.path(), options(&[]));
    body.initialize(0.0).unwrap();
    let step = Step { index: 0, start: 0.0, size: 0.4 };
    let segment = Segment::new(&step, 2, 1, &[0.0, 0.0]);
    let mut samples = Samples::new(Request::Nodes(4), 3);
    body.step(&step, &segment, &mut [0.0; 3], &mut samples).unwrap();
    assert_eq!(samples.times().len(), 5);
    for (k, time) in samples.times().iter().enumerate() {
        assert!((time - 0.1 * k as f64).abs() < 1e-15 && (samples.at(k)[0] - time.cos()).abs() < 1e-9);
    }
}

#[test]
fn messages_carry_instance_and_time() {
    let fmu = TestFmu::two(MASS2);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    let log =
        Some(
            Arc::new(move |message: &koppel_fmi::ffi::LogMessage| sink.lock().unwrap().push(message.clone()))
                as _,
        );
    let mut body = instance(&fmu.path(), Options { log, ..options(&[("misbehave", 1.0)]) });
    drive(&mut body, 10, &[0.0]).unwrap_err();
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1);
    assert_eq!(
        (heard[0].instance.as_str(), heard[0].time, heard[0].category.as_str()),
        ("body", 0.5, "logEvents")
    );
}

#[test]
fn one_library_serves_all_instances_and_the_folder_goes_with_the_last() {
    let fmu = TestFmu::two(MASS2);
    let (a, b) = (Fmu::open(&fmu.path()).unwrap(), Fmu::open(&fmu.path()).unwrap());
    assert!(Arc::ptr_eq(&a, &b));
    let folder = a.folder().to_owned();
    let mut bodies: Vec<CoSimulation> =
        (0..100).map(|_| CoSimulation::new(&a, &options(&[])).unwrap()).collect();
    drop((a, b));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = folder.join("binaries/linux64/mass.so");
    assert!(
        maps.lines().filter(|line| line.ends_with(library.to_str().unwrap())).count() < 10,
        "mapped once"
    );
    let threads: Vec<_> = bodies
        .drain(..4)
        .map(|mut body| std::thread::spawn(move || drive(&mut body, 10, &[0.5]).unwrap()))
        .collect();
    let ends: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(ends.iter().all(|end| *end == ends[0]));
    assert!(folder.exists());
    drop(bodies);
    assert!(!folder.exists());
}

#[test]
fn an_fmu_with_steps_of_one_size_gets_them() {
    let fixed = MASS2
        .replace("canHandleVariableCommunicationStepSize=\"true\"", "")
        .replace("canInterpolateInputs=\"true\"", "");
    let fmu = TestFmu::two(&fixed);
    let mut body = instance(&fmu.path(), options(&[]));
    drive(&mut body, 5, &[1.0, 2.0]).unwrap();
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 20.0);
    go_on(&mut body, 5, 5, &[1.0, 0.0]).unwrap();
    assert_eq!(body.get(id(&body, "steps")).unwrap(), 40.0, "also where the slope happens to be zero");
}

#[test]
fn a_failed_step_can_be_rolled_back() {
    for fmu in [TestFmu::two(MASS2), TestFmu::three(MASS3)] {
        let mut body = instance(&fmu.path(), options(&[("misbehave", 1.0)]));
        let at_half = drive(&mut body, 5, &[0.5]).unwrap();
        let mut snapshot = Snapshot::default();
        body.save(&mut snapshot).unwrap();
        go_on(&mut body, 5, 1, &[0.5]).unwrap_err();
        body.restore(&snapshot).unwrap();
        let mut outputs = [0.0; 3];
        body.read(None, &mut outputs).unwrap();
        assert_eq!([outputs[0], outputs[1]], at_half);
    }
}

//! What can be read of an instance, beside its outputs, and what comes and goes with it.

use super::{drive, go_on, id, instance, options};
use crate::common::{MASS2, MASS3, TestFmu};
use koppel::run::{Run, RunConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Subsystem, SystemBuilder};
use koppel::workbench::Source;
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};
use std::sync::{Arc, Mutex};

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
        assert!(refused.contains("`m` cannot be set: it cannot change during the simulation"), "{refused}");
        body.set(id(&body, "c"), 2.0).unwrap();
        assert_eq!(get(&mut body, "c"), 2.0);
        body.initialize(0.0).unwrap();
        assert_eq!((get(&mut body, "m"), get(&mut body, "c")), (4.0, 2.0), "changes outlive a new start");
        assert!(body.set(id(&body, "F"), 1.0).unwrap_err().to_string().contains("inputs are connected"));
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

/// Feed-through is looked for by small changes of inputs, which Booleans and integers do not take.
#[test]
fn feed_through_is_probed_without_parts_of_whole_numbers() {
    let description = MASS2
        .replace("providesDirectionalDerivative=\"true\"", "")
        .replace("index=\"2\" dependencies=\"\"", "index=\"2\"")
        .replace("index=\"8\" dependencies=\"\"", "index=\"8\"");
    let fmu = TestFmu::two(&description);
    let body = Box::new(instance(&fmu.path(), options(&[])));
    let system = SystemBuilder::new().add_boxed("body", body).build().unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    let found = run.workbench().feed_through(0).unwrap();
    assert_eq!(found.source, Source::Probing);
    assert_eq!(found.matrix.max_abs(), 0.0, "{:?}", found.matrix);
}

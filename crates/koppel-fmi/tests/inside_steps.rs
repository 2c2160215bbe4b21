//! What FMUs offer beyond inputs and outputs: outputs inside a step, texts of FMI 2.0, terminals.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "other tests use more of it")]
mod common;

use common::{MASS2, TestFmu};
use koppel::run::{Run, RunConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Connection, Mailbox, Message, Subsystem, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options};

const SMOOTH3: &str = include_str!("fixtures/smooth3.xml");

fn instance(fmu: &TestFmu, name: &str) -> CoSimulation {
    let options = Options { name: name.into(), ..Options::default() };
    CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn outputs_are_sampled_where_the_fmu_shows_them() {
    let fmu = TestFmu::new("smooth3.c", SMOOTH3, &[]);
    for terms in [1, 2] {
        let mut smooth = instance(&fmu, "smooth");
        smooth.initialize(0.0).unwrap();
        let step = Step { index: 0, start: 0.0, size: 0.5 };
        // u = 1 (+ 2 t), w = 4.
        let coefficients = if terms == 1 { vec![1.0, 4.0] } else { vec![1.0, 2.0, 4.0, 0.0] };
        let segment = Segment::new(&step, 2, terms, &coefficients);
        let mut samples = Samples::new(Request::SolverPoints, 3);
        let mut outputs = [0.0; 3];
        smooth.step(&step, &segment, &mut outputs, &mut samples).unwrap();
        assert_eq!(samples.times().len(), 11, "begin, nine inside, end: {:?}", samples.times());
        let u = |t: f64| if terms == 1 { 1.0 } else { 1.0 + 2.0 * t };
        let mut x = 0.0;
        for k in 0..11 {
            let t = 0.05 * k as f64;
            assert!((samples.times()[k] - t).abs() < 1e-12);
            assert!((samples.at(k)[0] - x).abs() < 1e-12, "x at {t}: {} instead of {x}", samples.at(k)[0]);
            x += 0.05 * u(t);
        }
        assert_eq!(samples.at(10), outputs);
        assert!((outputs[1] - 4.0 * u(0.5)).abs() < 1e-12);
        let mut nothing = Samples::new(Request::Nothing, 3);
        let next = Step { index: 1, start: 0.5, size: 0.5 };
        smooth.step(&next, &Segment::new(&next, 2, 1, &[1.0, 4.0]), &mut outputs, &mut nothing).unwrap();
        assert!(nothing.times().is_empty());
    }
}

/// FMI 2.0 shows nothing inside a step: the FMU is driven in sub-steps where the points of its solver are wanted, and comes to the
/// same end. One with steps of one size is seen at both ends.
#[test]
fn outputs_that_are_not_shown_are_seen_in_sub_steps() {
    let one_size = MASS2.replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    assert_ne!(one_size, MASS2);
    for (description, seen) in [(MASS2, 5), (one_size.as_str(), 2)] {
        let fmu = TestFmu::new("mass2.c", description, &[]);
        let run = |request: Request, terms: usize| {
            let mut body = instance(&fmu, "body");
            body.initialize(0.0).unwrap();
            let (inputs, outputs) = (body.ports().inputs.len(), body.ports().outputs.len());
            let step = Step { index: 0, start: 0.0, size: 0.01 };
            let mut coefficients = vec![0.0; inputs * terms];
            coefficients[..terms].fill(0.5);
            let segment = Segment::new(&step, inputs, terms, &coefficients);
            let (mut samples, mut end) = (Samples::new(request, outputs), vec![0.0; outputs]);
            body.step(&step, &segment, &mut end, &mut samples).unwrap();
            (samples, end)
        };
        for terms in [1, 2] {
            let (samples, end) = run(Request::SolverPoints, terms);
            assert_eq!(samples.times().len(), seen, "{:?}", samples.times());
            assert_eq!(samples.at(seen - 1), end);
            let (_, whole) = run(Request::Nothing, terms);
            let apart = end.iter().zip(&whole).take(2).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-12, "{end:?} {whole:?}");
            // It counts its steps.
            assert_eq!((end[2], whole[2]), ((seen - 1) as f64, 1.0));
        }
    }
}

#[test]
fn texts_of_fmi_2_are_carried() {
    let label =
        "<ScalarVariable name=\"label\" valueReference=\"0\" causality=\"parameter\" variability=\"fixed\">";
    let input = label.replace("parameter", "input").replace("fixed", "discrete");
    let output = "<ScalarVariable name=\"told\" valueReference=\"0\" causality=\"output\" variability=\"discrete\" initial=\"exact\"><String start=\"mass\"/></ScalarVariable>";
    let described = MASS2
        .replace(label, &input)
        .replace("</ModelVariables>", &format!("{output}</ModelVariables>"))
        .replace(
            "<Unknown index=\"8\" dependencies=\"\"/>",
            "<Unknown index=\"8\" dependencies=\"\"/><Unknown index=\"12\"/>",
        );
    let fmu = TestFmu::two(&described);
    let start_values = vec![("label".to_owned(), "source".into())];
    let options = Options { name: "a".into(), start_values, ..Options::default() };
    let source = CoSimulation::new(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap();
    let system = SystemBuilder::new()
        .add("a", source)
        .add("b", instance(&fmu, "b"))
        .add("c", instance(&fmu, "c"))
        .connect(Connection::new("a.told", "b.label"))
        .connect(Connection::new("b.told", "c.label"))
        .build()
        .unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.0, 0.1)).unwrap();
    // At the start all tell before anybody hears.
    assert_eq!(run.message("c.told").unwrap(), Message::Text("mass".into()));
    run.advance().unwrap();
    assert_eq!(run.message("c.told").unwrap(), Message::Text("source".into()));
    let mut loud = instance(&fmu, "loud");
    loud.initialize(0.0).unwrap();
    loud.receive(0, &Message::Text("new".into())).unwrap();
    let mut message = Message::Tick(false);
    loud.send(0, &mut message).unwrap();
    assert_eq!(message, Message::Text("new".into()));
}

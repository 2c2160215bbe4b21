//! Steps that end early, states that are put back, and bad behaviour.

use super::{EVENTS3, alone, ends, fmu, instance};
use crate::common::TestFmu;
use koppel::record::Trajectory;
use koppel::run::{Ending, Flow, Run, RunConfig, RunState};
use koppel::system::{Connection, Horizon, Message, SystemBuilder};

#[test]
fn without_event_mode_the_fmu_is_left_to_itself() {
    let plain =
        EVENTS3.replace("hasEventMode=\"true\"", "").replace("mightReturnEarlyFromDoStep=\"true\"", "");
    let fmu = fmu(&plain);
    let system = SystemBuilder::new()
        .add("a", instance(&fmu, &[]))
        .add("b", instance(&fmu, &[("i32_in", 7.0.into())]))
        .connect(Connection::new("a.text_out", "b.text_in"))
        .connect(Connection::new("b.i32_out", "a.i32_in"))
        .build()
        .unwrap();
    let mut run = Run::new(system, &RunConfig::new(1.5, 0.5)).unwrap();
    let end = ends(&mut run);
    assert_eq!((end("a.falls"), end("a.events"), end("a.periodic_ticks")), (1.0, 0.0, 0.0));
    let text = run.message("b.text_out").unwrap();
    assert_eq!(text, Message::Text("silence at 1.500 by events at 1.500 by events".into()));
}

#[test]
fn an_early_return_without_event_mode_is_gone_on_from() {
    let fmu = fmu(&EVENTS3.replace("hasEventMode=\"true\"", ""));
    let end = ends(&mut alone(instance(&fmu, &[]), &RunConfig::new(2.4, 0.4)));
    // Inside the steps from 0.8 s to 1.2 s, and at the end of that to 2 s.
    assert_eq!(end("e.falls"), 2.0);
    assert!((end("e.last_fall") - 2.0).abs() < 1e-9 && (end("e.ramp") - 0.4).abs() < 1e-9);
    let fmu = TestFmu::new("events3.c", EVENTS3, &["-DNO_EVENT_MODE"]);
    let mut run = alone(instance(&fmu, &[]), &RunConfig::new(1.0, 0.1));
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string();
    assert!(error.contains("fmi3EnterEventMode is not in its library"), "{error}");
}

#[test]
fn what_is_saved_is_restored_with_clocks_and_messages() {
    let keep = EVENTS3.replace("canSerializeFMUState=\"true\"", "");
    for description in [EVENTS3, &keep] {
        let fmu = fmu(description);
        let make = || {
            let system = SystemBuilder::new()
                .add("a", instance(&fmu, &[("wish", 0.4.into())]))
                .add("b", instance(&fmu, &[]))
                .connect(Connection::new("a.alarm", "b.alarm_in"))
                .connect(Connection::new("a.frame_out", "b.frame"))
                .connect(Connection::new("a.text_out", "b.text_in"))
                .connect(Connection::new("a.periodic_ticks", "b.i32_in"))
                .build()
                .unwrap();
            Run::new(system, &RunConfig::new(3.0, 0.15)).unwrap()
        };
        let mut run = make();
        let outputs = |run: &Run| [run.outputs(0).to_vec(), run.outputs(1).to_vec()];
        for before in [0, 6, 7] {
            // After 7 steps, at 1.05 s, a tick is on its way.
            while run.index() < before {
                run.advance().unwrap();
            }
            let mut state = RunState::new(Horizon::Anywhere);
            run.save(&mut state).unwrap();
            let mut reached = Vec::new();
            for _ in 0..3 {
                (0..5).for_each(|_| run.advance().unwrap());
                let text = run.message("b.text_out").unwrap();
                reached.push((outputs(&run), text));
                run.restore(&state).unwrap();
                run.save(&mut state).unwrap();
            }
            assert!(reached.windows(2).all(|pair| pair[0] == pair[1]), "after {before} steps");
            if description == EVENTS3 {
                let mut other = make();
                other.restore(&state).unwrap();
                (0..5).for_each(|_| other.advance().unwrap());
                assert_eq!(outputs(&other), reached[0].0, "in another instance");
            }
        }
    }
}

#[test]
fn bad_behaviour_ends_in_one_message() {
    let fmu = fmu(EVENTS3);
    let failure = |fmu: &TestFmu, fault: f64| {
        let mut run = alone(instance(fmu, &[("fault", fault.into())]), &RunConfig::new(2.0, 0.1));
        run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err().to_string()
    };
    let discard = failure(&fmu, 1.0);
    assert!(discard.contains("`e` discarded the step from 0.5"), "{discard}");
    assert!(discard.ends_with("log: [logStatusError] I refuse to pass 0.5 s"), "{discard}");
    assert!(failure(&fmu, 2.0).contains("fmi3DoStep returned error"));
    assert!(failure(&fmu, 3.0).contains("fmi3DoStep returned fatal"));
    let mut ended = alone(instance(&fmu, &[("fault", 4.0.into())]), &RunConfig::new(2.0, 0.1));
    let ending = ended.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap();
    assert!(matches!(ending, Ending::Terminated(request) if request.subsystem == "e" && request.time == 1.0));
    assert!(failure(&fmu, 5.0).contains("its event is not over after 1000 rounds"));
    assert!(failure(&fmu, 7.0).contains("made no progress at 0 s in 101 steps"), "{}", failure(&fmu, 7.0));
    let one_size = EVENTS3.replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    let one_size = TestFmu::new("events3.c", &one_size, &[]);
    let mut run = alone(instance(&one_size, &[]), &RunConfig::new(2.0, 0.1));
    let error = run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap_err();
    assert!(error.to_string().contains("`e` has an event at 0.05 s, inside a communication step"), "{error}");
    assert!(error.hint().unwrap().contains("ends where its clocks tick"));
}

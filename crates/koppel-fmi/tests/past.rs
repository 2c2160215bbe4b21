//! What FMUs are told about their past: `noSetFMUStatePriorToCurrentPoint`.
//!
//! The FMUs note every step with the flag it got, and every state they are given back. A step that got true must never be
//! followed by a state from before its start; and false is for those steps only which need it.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(dead_code, reason = "what the tests share is not all used here")]

mod common;
#[path = "common/exchange.rs"]
mod exchange;
#[path = "common/reals.rs"]
mod reals;

use common::{MASS2, MASS3, TestFmu};
use exchange::{ALL, OSCILLATOR};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::record::Trajectory;
use koppel::run::{
    AccelerationKind, Flow, IterationConfig, IterationKind, OnNonConvergence, Run, RunConfig, RunState,
};
use koppel::system::{Connection, Horizon, Subsystem, System, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, Value, instantiate_any};
use koppel_fmi::isolate::{Isolation, Worker, host};
use reals::only_reals;
use std::sync::{Arc, Mutex};

const STEP: f64 = 0.1;

/// What an FMU notes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Note {
    Step { time: f64, never_back: bool },
    Restore { time: f64 },
}

type Notes = Arc<Mutex<Vec<Note>>>;

/// An instance that notes what it is told.
fn instance(fmu: &TestFmu, options: Options) -> (Box<dyn Subsystem>, Notes) {
    let notes = Notes::default();
    let sink = notes.clone();
    let log = move |message: &koppel_fmi::ffi::LogMessage| {
        let Some((time, flag)) = message.text.split_once(' ') else { return };
        let Ok(time) = time.parse() else { return };
        sink.lock().unwrap().push(match message.category.as_str() {
            "step" => Note::Step { time, never_back: flag == "1" },
            _ => Note::Restore { time },
        });
    };
    let options = Options { log: Some(Arc::new(log)), ..options };
    let fmu = Fmu::open(&fmu.path()).unwrap();
    (instantiate_any(&fmu, &options).unwrap_or_else(|error| panic!("{error}")), notes)
}

fn options(name: &str, substeps: u32, values: &[(&str, f64)]) -> Options {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    Options { name: name.into(), start_values, substeps, input_order: 0, ..Options::default() }
}

/// Two masses that drive each other; the notes are those of the first.
fn pair(version: u32, substeps: u32) -> (System, Notes) {
    let (source, description) = if version == 2 { ("mass2.c", MASS2) } else { ("mass3.c", MASS3) };
    // Without intermediate updates, so that moving inputs take sub-steps.
    let description = description
        .replace("providesIntermediateUpdate=\"true\"", "")
        .replace(" unit=\"N\"", "")
        .replace(" unit=\"m\"", "");
    let fmu = TestFmu::new(source, &description, &["-DNOTE_PAST"]);
    let (a, notes) = instance(&fmu, options("a", substeps, &[("c", 6.0), ("d", 0.1)]));
    let (b, _) = instance(&fmu, options("b", substeps, &[("m", 3.0), ("c", 9.0)]));
    let system = SystemBuilder::new()
        .add_boxed("a", a)
        .add_boxed("b", b)
        .connect(Connection::new("a.x", "b.F").gain(4.0))
        .connect(Connection::new("b.x", "a.F").gain(4.0));
    (system.build().unwrap(), notes)
}

fn foh() -> CouplingConfig {
    CouplingConfig::foh(StartUp::default())
}

fn iterated(otherwise: OnNonConvergence, max_iterations: u32) -> Option<IterationConfig> {
    let usual = IterationConfig::new(IterationKind::Step, AccelerationKind::FixedPoint);
    Some(IterationConfig { otherwise, max_iterations, ..usual })
}

/// Runs and returns the notes taken in the run itself, after what was tried before it.
fn run((system, notes): (System, Notes), config: &RunConfig) -> Vec<Note> {
    let mut run = Run::new(system, config).unwrap_or_else(|error| panic!("{error}"));
    let before = notes.lock().unwrap().len();
    run.run(&mut Trajectory::default(), &mut |_| Ok(Flow::Continue)).unwrap();
    let all = notes.lock().unwrap().clone();
    check(&all);
    all[before..].to_vec()
}

/// No state from before a step that got true is given back after it.
fn check(notes: &[Note]) {
    let mut forgotten = f64::NEG_INFINITY;
    for note in notes {
        match *note {
            Note::Step { time, never_back: true } => forgotten = forgotten.max(time),
            Note::Restore { time } => {
                assert!(
                    time >= forgotten - 1e-12,
                    "{time} is restored, {forgotten} was told to be the oldest"
                )
            }
            Note::Step { .. } => {}
        }
    }
}

/// Begins of the steps that got false.
fn held(notes: &[Note]) -> Vec<f64> {
    let is_held = |note: &Note| match note {
        Note::Step { time, never_back: false } => Some(*time),
        _ => None,
    };
    notes.iter().filter_map(is_held).collect()
}

fn restored(notes: &[Note]) -> usize {
    notes.iter().filter(|note| matches!(note, Note::Restore { .. })).count()
}

fn is_communication_point(time: f64) -> bool {
    (time / STEP - (time / STEP).round()).abs() < 1e-6
}

#[test]
fn steps_that_are_not_repeated_may_forget_the_past() {
    for version in [2, 3] {
        for coupling in [CouplingConfig::zoh(), foh()] {
            let notes = run(pair(version, 4), &RunConfig { coupling, ..RunConfig::new(2.0, STEP) });
            assert!(notes.len() >= 20 && held(&notes).is_empty(), "{notes:?}");
        }
    }
}

#[test]
fn a_step_that_is_repeated_from_its_begin_may_forget_what_was_before() {
    for version in [2, 3] {
        let iteration = iterated(OnNonConvergence::Stop, 50);
        let notes = run(pair(version, 1), &RunConfig { iteration, ..RunConfig::new(2.0, STEP) });
        assert!(restored(&notes) > 20 && held(&notes).is_empty(), "{notes:?}");
    }
}

#[test]
fn sub_steps_of_a_step_that_is_repeated_may_not() {
    for version in [2, 3] {
        let (iteration, coupling) = (iterated(OnNonConvergence::Stop, 50), foh());
        let notes = run(pair(version, 4), &RunConfig { iteration, coupling, ..RunConfig::new(2.0, STEP) });
        let held = held(&notes);
        let inner = notes
            .iter()
            .filter(|note| matches!(note, Note::Step { time, .. } if !is_communication_point(*time)));
        assert!(restored(&notes) > 20 && held.len() > 100, "{notes:?}");
        assert!(held.iter().all(|time| !is_communication_point(*time)), "{held:?}");
        assert_eq!(inner.count(), held.len());
    }
}

#[test]
fn halves_of_a_step_may_forget_what_was_before_them() {
    for version in [2, 3] {
        let mut iteration = iterated(OnNonConvergence::Halve, 2);
        iteration.iter_mut().for_each(|iteration| iteration.tolerance = 1e-6);
        let notes = run(pair(version, 1), &RunConfig { iteration, ..RunConfig::new(0.5, STEP) });
        let halves = notes
            .iter()
            .any(|note| matches!(note, Note::Step { time, .. } if !is_communication_point(*time)));
        assert!(restored(&notes) > 10 && halves && held(&notes).is_empty(), "{notes:?}");
    }
}

#[test]
fn after_probing_and_in_repetitions_the_past_may_be_forgotten() {
    for version in [2, 3] {
        let coupling = CouplingConfig::from(VfpsConfig::default());
        let (system, notes) = pair(version, 1);
        let own = run((system, notes.clone()), &RunConfig { coupling, ..RunConfig::new(4.0, 0.5) });
        let all = notes.lock().unwrap().clone();
        let before = all.len() - own.len();
        assert!(restored(&all[..before]) > 0 && !held(&all[..before]).is_empty(), "it was excited");
        let begins_held = held(&own).iter().filter(|time| (*time / 0.5).fract() == 0.0).count();
        assert_eq!(begins_held, 0, "{own:?}");
    }
}

#[test]
fn what_a_user_saves_is_kept_in_mind_and_checkpoints_are_not() {
    let (system, notes) = pair(2, 1);
    let mut run = Run::new(system, &RunConfig::new(2.0, STEP)).unwrap();
    let (mut checkpoint, mut state) = (RunState::new(Horizon::Elsewhere), RunState::default());
    let steps = |run: &mut Run, count: u64| {
        notes.lock().unwrap().clear();
        run.advance_by(count).unwrap();
        let notes = notes.lock().unwrap();
        (notes.len(), held(&notes).len())
    };
    steps(&mut run, 3);
    run.save(&mut checkpoint).unwrap();
    assert_eq!(steps(&mut run, 3), (3, 0));
    run.save(&mut state).unwrap();
    assert_eq!(steps(&mut run, 3), (3, 2));
    run.restore(&state).unwrap();
    assert_eq!(steps(&mut run, 3), (3, 2));
    drop(state);
    assert_eq!(steps(&mut run, 3), (3, 0));
}

/// Model exchange: the end of a step of the solver.
#[test]
fn steps_of_a_solver_may_forget_the_past_unless_they_are_repeated() {
    let fmu = OSCILLATOR.fmu(2, ALL, &["-DNOTE_PAST"]);
    let system = || {
        let options = Options { solving: Solving::Koppel(None), ..options("a", 1, &[]) };
        let (a, notes) = instance(&fmu, options.clone());
        let (b, _) = instance(&fmu, Options { name: "b".into(), ..options });
        let system = SystemBuilder::new()
            .add_boxed("a", a)
            .add_boxed("b", b)
            .connect(Connection::new("a.x1", "b.u").gain(0.5))
            .connect(Connection::new("b.x1", "a.u").gain(0.5));
        (system.build().unwrap(), notes)
    };
    let notes = run(system(), &RunConfig::new(2.0, STEP));
    assert!(notes.len() >= 20 && held(&notes).is_empty(), "{notes:?}");
    let notes = run(
        system(),
        &RunConfig { iteration: iterated(OnNonConvergence::Stop, 50), ..RunConfig::new(2.0, STEP) },
    );
    assert!(restored(&notes) > 20 && held(&notes).len() > 20, "{notes:?}");
}

/// An FMU that takes false for "begin anew", as OSP's quarter truck does.
#[test]
fn an_fmu_that_restarts_where_it_may_not_forget_moves() {
    let positions = |flags: &[&str], is_isolated: bool| {
        let fmu = TestFmu::new("mass2.c", &only_reals(), flags);
        let options = options("a", 1, &[]);
        let worker =
            Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
        let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
        let open = Fmu::open(&fmu.path()).unwrap();
        let a = match is_isolated {
            true => host(&open, &options, &isolation).unwrap(),
            false => instantiate_any(&open, &options).unwrap(),
        };
        let system = SystemBuilder::new().add_boxed("a", a).build().unwrap();
        let mut run = Run::new(system, &RunConfig::new(3.0, STEP)).unwrap();
        let x = run.columns().iter().position(|column| column.name == "a.x").unwrap();
        let mut table = Trajectory::default();
        run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
        table.column(x).collect::<Vec<f64>>()
    };
    let right = positions(&[], false);
    assert!((right.last().unwrap() - 3.0_f64.cos()).abs() < 1e-6, "{right:?}");
    for is_isolated in [false, true] {
        assert_eq!(positions(&["-DRESTARTS"], is_isolated), right);
    }
}

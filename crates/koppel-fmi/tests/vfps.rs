//! VFPS on FMUs: however they take inputs that move, however they are put back after they were excited, and what becomes of
//! the run if they cannot be.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{MASS2, MASS3, TestFmu};
use koppel::coupling::{CouplingConfig, StartUp, VfpsConfig};
use koppel::identify::{Answer, ProbeStore, Question};
use koppel::record::Trajectory;
use koppel::run::{Change, Flow, Parallel, Run, RunConfig};
use koppel::system::{Connection, Subsystem, System, SystemBuilder};
use koppel::workbench::Preparation;
use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Value, instantiate_any};
use koppel_fmi::isolate::{Isolation, Worker, host};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

const STEP: f64 = 0.5;

/// How a pair of masses is made.
#[derive(Clone, Default)]
struct Pair {
    substeps: u32,
    is_isolated: bool,
    misbehave: i32,
    probe: Option<bool>,
}

impl Pair {
    fn instance(&self, fmu: &TestFmu, name: &str, [m, c, d]: [f64; 3], misbehave: i32) -> Box<dyn Subsystem> {
        let start_values = [("m", m), ("c", c), ("d", d), ("misbehave", misbehave.into())];
        let start_values =
            start_values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
        let (substeps, probe) = (self.substeps.max(1), self.probe);
        let options = Options { name: name.into(), start_values, substeps, probe, ..Options::default() };
        let fmu = Fmu::open(&fmu.path()).unwrap();
        let worker =
            Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
        let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
        if self.is_isolated {
            host(&fmu, &options, &isolation).unwrap()
        } else {
            instantiate_any(&fmu, &options).unwrap_or_else(|error| panic!("{error}"))
        }
    }

    /// The second mass may misbehave.
    fn system(&self, [a, b]: [&TestFmu; 2]) -> System {
        let system = SystemBuilder::new()
            .add_boxed("a", self.instance(a, "a", [1.0, 6.0, 0.1], 0))
            .add_boxed("b", self.instance(b, "b", [3.0, 9.0, 0.2], self.misbehave))
            .connect(Connection::new("a.x", "b.F").gain(4.0))
            .connect(Connection::new("b.x", "a.F").gain(4.0));
        system.build().unwrap()
    }
}

fn vfps(stop: f64, step: f64) -> RunConfig {
    let coupling = CouplingConfig::from(VfpsConfig::default());
    RunConfig { coupling, ..RunConfig::new(stop, step) }
}

/// Positions of both masses at the communication points.
fn positions(run: &mut Run) -> Vec<[f64; 2]> {
    let of = |name: &str| run.columns().iter().position(|c| c.name == name).unwrap();
    let (a, b) = (of("a.x"), of("b.x"));
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap_or_else(|error| panic!("{error}"));
    table.column(a).zip(table.column(b)).map(|(a, b)| [a, b]).collect()
}

fn run(system: System, config: &RunConfig) -> Vec<[f64; 2]> {
    positions(&mut Run::new(system, config).unwrap_or_else(|error| panic!("{error}")))
}

/// Largest distance; positions are about 1.
fn distance(seen: &[[f64; 2]], exact: &[[f64; 2]]) -> f64 {
    assert_eq!(seen.len(), exact.len());
    seen.iter().flatten().zip(exact.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Without a unit of the force, so that positions can be connected to it.
fn mass2() -> String {
    MASS2.replace(" unit=\"N\"", "")
}

fn stairs() -> String {
    mass2().replace("canInterpolateInputs=\"true\"", "")
}

fn forgetful() -> String {
    stairs().replace("canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"", "")
}

fn only_one() -> String {
    let only = "canInterpolateInputs=\"true\" canBeInstantiatedOnlyOncePerProcess=\"true\"";
    mass2().replace("canInterpolateInputs=\"true\"", only)
}

#[test]
fn fmus_are_excited_and_coupled_whatever_they_can() {
    let three = TestFmu::three(MASS3);
    let foh = |step: f64, every: u64| RunConfig {
        coupling: CouplingConfig::foh(StartUp::Constant),
        record_every: every,
        ..RunConfig::new(10.0, step)
    };
    let four = Pair { substeps: 4, ..Pair::default() };
    let exact = run(four.system([&three, &three]), &foh(STEP / 250.0, 250));
    let hold = distance(&run(four.system([&three, &three]), &foh(STEP, 1)), &exact);
    assert!(hold > 0.2, "a hold is far off at this step: {hold}");
    let two = TestFmu::two(&mass2());
    let (stairs, forgetful) = (TestFmu::two(&stairs()), TestFmu::two(&forgetful()));
    for (what, fmu, substeps) in [
        ("intermediate update", &three, 4),
        ("input derivatives", &two, 4),
        ("stairs of four", &stairs, 4),
        ("stairs of two", &stairs, 2),
        ("one constant per sub-step", &stairs, 1),
        ("no saved states", &forgetful, 4),
    ] {
        let pair = Pair { substeps, ..Pair::default() };
        let error = distance(&run(pair.system([fmu, fmu]), &vfps(10.0, STEP)), &exact);
        assert!(error < 5e-3, "{what}: {error}");
    }
}

#[test]
fn isolated_fmus_give_the_same_bits_on_one_thread_or_many() {
    let (two, three) = (TestFmu::two(&forgetful()), TestFmu::three(MASS3));
    let inside = Pair { substeps: 4, ..Pair::default() };
    let outside = Pair { is_isolated: true, ..inside.clone() };
    let config = RunConfig { threads: Parallel::Never, ..vfps(5.0, STEP) };
    let expected = run(inside.system([&two, &three]), &config);
    let mut run = Run::new(outside.system([&two, &three]), &vfps(5.0, STEP)).unwrap();
    assert!(run.probing().iter().all(|report| report.order.is_some() && report.reason.is_none()));
    assert!(positions(&mut run) == expected, "the same bits");
    // Ten nodes of four sub-steps; the FMU itself has counted, too.
    let calls: Vec<u64> = run.statistics().shares.iter().map(|share| share.step_calls).collect();
    assert_eq!(calls, [10 * 10 * 4, 10 * 10]);
    let probing: Vec<u64> = run.probing().iter().map(|report| report.step_calls).collect();
    assert!(probing.iter().all(|calls| *calls > 300), "{probing:?}");
}

#[derive(Default)]
struct Remembered {
    answers: Mutex<HashMap<String, Answer>>,
    recalled: Mutex<usize>,
}

impl ProbeStore for Remembered {
    fn recall(&self, question: &Question) -> Option<Answer> {
        let found = self.answers.lock().unwrap().get(&format!("{question:?}")).cloned();
        *self.recalled.lock().unwrap() += usize::from(found.is_some());
        found
    }
    fn keep(&self, question: &Question, answer: &Answer) {
        self.answers.lock().unwrap().insert(format!("{question:?}"), answer.clone());
    }
}

#[test]
fn what_is_known_is_not_excited_again_and_gives_the_same_bits() {
    let (forgetful, three) = (TestFmu::two(&forgetful()), TestFmu::three(MASS3));
    let pair = Pair { substeps: 4, ..Pair::default() };
    let config = vfps(5.0, STEP);
    let without = run(pair.system([&forgetful, &three]), &config);
    let store = Remembered::default();
    for round in 0..2 {
        let mut run = Run::prepared(
            pair.system([&forgetful, &three]),
            &config,
            Preparation { store: Some(&store), copies: None },
        )
        .unwrap();
        for report in run.probing() {
            assert_eq!(report.from_cache, round == 1, "{report:?}");
            assert_eq!(report.step_calls == 0, round == 1, "{report:?}");
            assert!(report.error.unwrap() < 1e-3 && !report.poles.is_empty());
        }
        assert!(positions(&mut run) == without, "the same bits in round {round}");
    }
    let recalled = *store.recalled.lock().unwrap();
    assert!(recalled >= 4, "{recalled}");
    // Another stiffness, set at the start, is another subsystem; the other one stands at another place then.
    let at = vec![Change { time: 0.0, set: BTreeMap::from([("a.c".to_owned(), 7.0)]) }];
    let changed = RunConfig { at, ..config };
    let with = Run::prepared(
        pair.system([&forgetful, &three]),
        &changed,
        Preparation { store: Some(&store), copies: None },
    )
    .unwrap();
    assert!(!with.probing()[0].from_cache);
    let mut with = with;
    assert!(positions(&mut with) == run(pair.system([&forgetful, &three]), &changed));
    // A file of other content is another FMU.
    let other = TestFmu::two(&self::forgetful().replace("koppel tests", "other tests"));
    let config = vfps(5.0, STEP);
    let with = Run::prepared(
        pair.system([&other, &three]),
        &config,
        Preparation { store: Some(&store), copies: None },
    )
    .unwrap();
    assert!(!with.probing()[0].from_cache && with.probing()[1].from_cache);
}

/// What was set at the start holds again after the FMU was started anew.
#[test]
fn changes_at_the_start_outlive_probing() {
    let (saves, forgets) = (TestFmu::two(&stairs()), TestFmu::two(&forgetful()));
    let at = vec![Change { time: 0.0, set: BTreeMap::from([("b.c".to_owned(), 20.0)]) }];
    let config = RunConfig { at, ..vfps(5.0, STEP) };
    let pair = Pair { substeps: 4, ..Pair::default() };
    let (saved, forgotten) =
        (run(pair.system([&saves, &saves]), &config), run(pair.system([&forgets, &forgets]), &config));
    assert!(distance(&saved, &forgotten) < 1e-12);
    assert!(distance(&saved, &run(pair.system([&saves, &saves]), &vfps(5.0, STEP))) > 0.1);
}

#[test]
fn an_fmu_with_one_instance_is_not_excited_unless_that_is_said() {
    let (only, other) = (TestFmu::two(&only_one()), TestFmu::three(MASS3));
    for (probe, is_isolated) in [(None, false), (None, true), (Some(true), false)] {
        let pair = Pair { substeps: 4, probe, is_isolated, ..Pair::default() };
        let run = Run::new(pair.system([&only, &other]), &vfps(1.0, 0.05)).unwrap();
        let report = &run.probing()[0];
        assert_eq!(report.reason.is_none(), probe == Some(true), "{report:?}");
        if probe.is_none() {
            assert!(report.reason.as_ref().unwrap().contains("one instance per process"), "{report:?}");
            assert_eq!((report.step_calls, &report.connections[..]), (0, &["a.x -> b.F".to_owned()][..]));
        }
    }
}

/// Steps that end after 0.5 s fail. The run ends before, but the experiments do not.
#[test]
fn failures_in_probing_leave_the_run_alone() {
    let good = TestFmu::three(MASS3);
    let (saves, forgets) = (TestFmu::two(&mass2()), TestFmu::two(&forgetful()));
    let config = vfps(0.4, 0.05);
    for (what, fmu, misbehave, is_isolated) in [
        ("discard", &saves, 1, false),
        ("error", &saves, 2, false),
        ("not a number", &saves, 5, false),
        ("not a number, started anew", &forgets, 5, false),
        ("crash", &saves, 11, true),
        ("crash, started anew", &forgets, 11, true),
        ("exit", &saves, 12, true),
    ] {
        let pair = Pair { substeps: 4, misbehave, is_isolated, ..Pair::default() };
        let mut coupled =
            Run::new(pair.system([&good, fmu]), &config).unwrap_or_else(|e| panic!("{what}: {e}"));
        let reports = coupled.probing();
        if what == "not a number" {
            // What is linear shows it within eight steps, before anything goes wrong; behind stairs it does not.
            assert!(reports[1].reason.is_none(), "{what}: {:?}", reports[1]);
        } else {
            let reason = reports[1].reason.clone().unwrap_or_else(|| panic!("{what}: {:?}", reports[1]));
            let words = if what.starts_with("not") { "experiments finished" } else { "`b`" };
            assert!(reason.contains(words), "{what}: {reason}");
        }
        assert!(reports[0].reason.is_none(), "{what}: {:?}", reports[0]);
        let seen = positions(&mut coupled);
        let well = Pair { substeps: 4, ..Pair::default() };
        let exact =
            run(well.system([&good, fmu]), &RunConfig { record_every: 50, ..RunConfig::new(0.4, 1e-3) });
        assert!(distance(&seen, &exact) < 0.02, "{what}: {}", distance(&seen, &exact));
    }
}

/// A new instance is made, whatever a reset does.
#[test]
fn an_fmu_whose_reset_does_nothing_is_put_back() {
    let good = TestFmu::three(MASS3);
    let pair = Pair { substeps: 4, ..Pair::default() };
    let seen = [&[][..], &["-DLIE_RESET"]].map(|flags| {
        let one = TestFmu::new("mass2.c", &forgetful(), flags);
        positions(&mut Run::new(pair.system([&good, &one]), &vfps(1.0, 0.05)).unwrap())
    });
    assert_eq!(seen[0], seen[1]);
}

/// Ranges are what a tool has before the run: nominal values, start values, the subsystem alone.
#[test]
fn ranges_come_from_the_subsystem_alone() {
    let nominal = MASS3.replace("name=\"v\"", "name=\"v\" nominal=\"7.5\"");
    assert_ne!(nominal, MASS3);
    let (a, b) = (TestFmu::three(&nominal), TestFmu::two(&mass2()));
    let pair = Pair { substeps: 4, ..Pair::default() };
    let reports = |stop: f64| {
        let run = Run::new(pair.system([&a, &b]), &vfps(stop, 0.05)).unwrap();
        run.probing().to_vec()
    };
    let (short, long) = (reports(0.5), reports(50.0));
    let words = |k: usize| short[0].outputs[k].from.words();
    let v = short[0].outputs.iter().position(|port| port.name == "v").unwrap();
    assert_eq!((words(v), short[0].outputs[v].range), ("nominal value", 7.5));
    for (short, long) in short.iter().zip(&long) {
        let ranges = |list: &[koppel::workbench::PortRange]| list.iter().map(|p| p.range).collect::<Vec<_>>();
        assert_eq!(ranges(&short.outputs), ranges(&long.outputs), "whatever the run does");
        assert_eq!(ranges(&short.inputs), ranges(&long.inputs));
    }
}

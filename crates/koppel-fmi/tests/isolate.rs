//! FMUs in processes of their own: the same numbers, and one clear message for each way to go wrong.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{MASS2, MASS3, TestFmu};
use koppel::coupling::CouplingConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Parallel, Run, RunConfig, ScheduleConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::system::{Connection, Horizon, Snapshot, Subsystem, SystemBuilder, VariableId, VariableKind};
use koppel_fmi::Fmu;
use koppel_fmi::ffi::LogMessage;
use koppel_fmi::import::{CoSimulation, Options};
use koppel_fmi::isolate::{self, Isolation, MemoryLimit, Worker, host};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn isolation() -> Isolation {
    let worker = Worker { program: env!("CARGO_BIN_EXE_koppel-fmi-worker").into(), arguments: Vec::new() };
    Isolation { worker: Some(worker), ..Isolation::default() }
}

fn options(name: &str, values: &[(&str, f64)]) -> Options {
    let start_values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    Options { name: name.into(), start_values, ..Options::default() }
}

/// Two masses that push each other through a stateless part of their own equations: all rows as bits.
fn dual_mass(fmus: [&Arc<Fmu>; 2], is_isolated: bool, config: &RunConfig) -> Vec<u64> {
    let body = |fmu: &Arc<Fmu>, name: &str, m: f64| -> Box<dyn Subsystem> {
        let options = options(name, &[("m", m), ("c", 40.0), ("d", 0.3)]);
        if is_isolated {
            host(fmu, &options, &isolation()).unwrap()
        } else {
            Box::new(CoSimulation::new(fmu, &options).unwrap())
        }
    };
    let system = SystemBuilder::new()
        .add_boxed("left", body(fmus[0], "left", 1.0))
        .add_boxed("right", body(fmus[1], "right", 2.5))
        .connect(Connection::new("left.v", "right.F"))
        .connect(Connection::new("right.v", "left.F"))
        .build()
        .unwrap();
    let mut run = Run::new(system, config).unwrap();
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    let columns = run.columns().len();
    (0..columns).flat_map(|column| table.column(column).map(f64::to_bits).collect::<Vec<u64>>()).collect()
}

#[test]
fn isolated_runs_have_the_same_bits() {
    let (two, three) = (TestFmu::two(MASS2), TestFmu::three(MASS3));
    let (two, three) = (Fmu::open(&two.path()).unwrap(), Fmu::open(&three.path()).unwrap());
    let couplings = [
        CouplingConfig::default(),
        serde_json::from_str(r#"{ "method": "foh" }"#).unwrap(),
        serde_json::from_str(r#"{ "method": "anti-aliasing", "order": 1 }"#).unwrap(),
    ];
    for fmus in [[&two, &two], [&two, &three], [&three, &three]] {
        for coupling in &couplings {
            for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
                for threads in [Parallel::Never, Parallel::Always] {
                    let config = RunConfig {
                        coupling: coupling.clone(),
                        schedule: schedule.clone(),
                        threads,
                        ..RunConfig::new(0.5, 0.01)
                    };
                    let inside = dual_mass(fmus, false, &config);
                    assert!(inside.len() > 400);
                    assert!(inside == dual_mass(fmus, true, &config), "{config:?}");
                }
            }
        }
    }
}

/// Steps of 0.1 s with F = 1.5 until something fails.
fn until_it_fails(subsystem: &mut dyn Subsystem) -> (u64, Box<koppel::Error>) {
    subsystem.initialize(0.0).unwrap();
    let mut y = vec![0.0; subsystem.ports().outputs.len()];
    let mut samples = Samples::new(Request::Nothing, y.len());
    let mut u = vec![0.0; subsystem.ports().inputs.len()];
    (u[0], u[1]) = (1.5, 1.0);
    for index in 0..100 {
        let step = Step { index, start: index as f64 * 0.1, size: 0.1 };
        if let Err(error) = subsystem.step(&step, &Segment::new(&step, u.len(), 1, &u), &mut y, &mut samples)
        {
            return (index, error);
        }
    }
    panic!("nothing failed in {}", subsystem.capabilities().solver);
}

/// Processes whose command line holds this text.
fn processes_with(text: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |path: std::path::PathBuf| std::fs::read(path.join("cmdline")).unwrap_or_default();
    all.filter(|entry| String::from_utf8_lossy(&line(entry.path())).replace('\0', " ").contains(text)).count()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_way_to_end_has_its_message() {
    let (two, three) = (TestFmu::two(MASS2), TestFmu::three(MASS3));
    let me = format!("koppel-fmi-worker {}", std::process::id());
    for (fmu, call) in [(&two, "fmi2DoStep"), (&three, "fmi3DoStep")] {
        let fmu = Fmu::open(&fmu.path()).unwrap();
        for (how, says, hints) in [
            (10.0, "crashed with SIGSEGV (invalid memory access)", "fault is in the FMU"),
            (11.0, "crashed with SIGABRT", "fault is in the FMU"),
            (12.0, "ended its process with exit code 3", "must not end its process"),
            (13.0, "did not return within 0.3 s", "step_timeout"),
            (14.0, "crashed with SIGSEGV", "run out of its 100 MiB of memory: raise memory_limit"),
            (15.0, "crashed with SIGFPE", "fault is in the FMU"),
        ] {
            let seconds = if how == 13.0 { 0.3 } else { 60.0 };
            let limits = Isolation {
                step_timeout: Some(Duration::from_secs_f64(seconds)),
                memory_limit: MemoryLimit::Bytes(100 << 20),
                ..isolation()
            };
            let mut bad = host(&fmu, &options("body", &[("misbehave", how)]), &limits).unwrap();
            let (index, error) = until_it_fails(bad.as_mut());
            let text = error.to_string();
            assert_eq!(index, 5, "{text}");
            let begin = format!("`body` {says}");
            assert!(text.starts_with(&begin), "{text}");
            let middle = format!(" in {call}, in the step from t = 0.5 s to t = 0.6 s\n  inputs: F = 1.5");
            assert!(text.contains(&middle), "{text}");
            assert!(text.contains(", on = 1"), "{text}");
            assert!(error.hint().unwrap().contains(hints), "{:?}", error.hint());
            let again = bad.get(VariableId { kind: VariableKind::Output, index: 0 }).unwrap_err();
            assert_eq!(again.to_string(), "`body` has ended before");
        }
    }
    wait_until("no worker is left", || processes_with(&me) == 0);
}

#[test]
fn children_of_the_worker_end_with_it() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let limits = Isolation { step_timeout: Some(Duration::from_millis(300)), ..isolation() };
    let mut bad = host(&fmu, &options("body", &[("misbehave", 17.0)]), &limits).unwrap();
    let (_, error) = until_it_fails(bad.as_mut());
    assert!(error.to_string().contains("did not return"), "{error}");
    wait_until("the child is gone", || processes_with("sleep 1000") == 0);
}

#[test]
fn failures_of_the_fmu_itself_read_the_same() {
    for (fmu, statuses) in [(TestFmu::two(MASS2), 1..=4), (TestFmu::three(MASS3), 1..=3)] {
        let fmu = Fmu::open(&fmu.path()).unwrap();
        for how in statuses {
            let options = options("body", &[("misbehave", f64::from(how))]);
            let (at, inside) = until_it_fails(&mut CoSimulation::new(&fmu, &options).unwrap());
            let (other_at, isolated) = until_it_fails(host(&fmu, &options, &isolation()).unwrap().as_mut());
            assert_eq!(at, other_at);
            assert_eq!(inside.to_string(), isolated.to_string());
            assert_eq!(inside.hint(), isolated.hint());
        }
        for wrong in [options("body", &[("mas", 1.0)]), options("body", &[("x", f64::NAN), ("a", 1.0)])] {
            let inside = CoSimulation::new(&fmu, &wrong).map(|_| ()).unwrap_err();
            let isolated = host(&fmu, &wrong, &isolation()).map(|_| ()).unwrap_err();
            assert_eq!(inside.to_string(), isolated.to_string());
        }
        let parameter = VariableId { kind: VariableKind::Parameter, index: 0 };
        let input = VariableId { kind: VariableKind::Input, index: 0 };
        let mut inside = CoSimulation::new(&fmu, &Options::default()).unwrap();
        let mut isolated = host(&fmu, &Options::default(), &isolation()).unwrap();
        for one in [&mut inside as &mut dyn Subsystem, isolated.as_mut()] {
            one.initialize(0.0).unwrap();
            one.set(parameter, 3.0).unwrap();
            assert_eq!(one.get(parameter).unwrap(), 3.0);
            assert!(one.set(input, 3.0).unwrap_err().to_string().contains("inputs are connected"));
        }
        assert_eq!(inside.ports(), isolated.ports());
        assert_eq!(format!("{}; isolated", inside.capabilities().solver), isolated.capabilities().solver);
    }
}

#[test]
fn log_messages_arrive_with_instance_and_time() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let heard: Arc<Mutex<Vec<LogMessage>>> = Arc::default();
    let mine = heard.clone();
    let mut with = options("body", &[("misbehave", 2.0)]);
    with.log = Some(Arc::new(move |message: &LogMessage| mine.lock().unwrap().push(message.clone())));
    until_it_fails(host(&fmu, &with, &isolation()).unwrap().as_mut());
    let heard = heard.lock().unwrap();
    let last = heard.last().unwrap();
    assert_eq!(
        (last.instance.as_str(), last.time, last.text.as_str()),
        ("body", 0.5, "I refuse to pass 0.5 s")
    );
}

#[test]
fn states_are_saved_and_restored_across_processes() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let make = || host(&fmu, &Options::default(), &isolation()).unwrap();
    let mut one = make();
    one.initialize(0.0).unwrap();
    let (mut y, mut again) = ([0.0; 3], [0.0; 3]);
    let mut samples = Samples::new(Request::Nodes(4), 3);
    let step = |index: u64| Step { index, start: index as f64 * 0.1, size: 0.1 };
    let u = [0.5, 2.0, 0.0, 0.0];
    one.step(&step(0), &Segment::new(&step(0), 2, 2, &u), &mut y, &mut samples).unwrap();
    assert_eq!(samples.times().len(), 5);
    assert_eq!(samples.at(4), y);
    let mut snapshot = Snapshot::new(Horizon::Elsewhere);
    one.save(&mut snapshot).unwrap();
    one.step(&step(1), &Segment::new(&step(1), 2, 2, &u), &mut y, &mut samples).unwrap();
    let mut other = make();
    other.initialize(0.0).unwrap();
    other.restore(&snapshot).unwrap();
    other.step(&step(1), &Segment::new(&step(1), 2, 2, &u), &mut again, &mut samples).unwrap();
    assert_eq!(y.map(f64::to_bits), again.map(f64::to_bits));
}

#[test]
fn only_once_per_process_is_no_limit() {
    let once = MASS2.replace("<CoSimulation ", "<CoSimulation canBeInstantiatedOnlyOncePerProcess=\"true\" ");
    let fmu = TestFmu::two(&once);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let one = host(&fmu, &options("one", &[]), &isolation()).unwrap();
    let two = host(&fmu, &options("two", &[]), &isolation()).unwrap();
    assert_eq!(one.ports(), two.ports());
}

#[test]
fn long_messages_get_more_room() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let mut own = CoSimulation::new(&fmu, &Options::default()).unwrap();
    let mut other = host(&fmu, &Options::default(), &isolation()).unwrap();
    let mut results = Vec::new();
    for one in [&mut own as &mut dyn Subsystem, other.as_mut()] {
        one.initialize(0.0).unwrap();
        let mut y = [0.0; 3];
        let mut samples = Samples::new(Request::Nodes(20_000), 3);
        for (index, pieces) in [(0, 1_u32), (1, 20_000), (2, 3)] {
            let step = Step { index, start: index as f64, size: 1.0 };
            let offsets: Vec<f64> = (0..pieces).map(|k| f64::from(k) / f64::from(pieces)).collect();
            let u: Vec<f64> = offsets.iter().flat_map(|offset| [offset.sin(), 0.0]).collect();
            let segment = Segment::from_parts(&step, 2, 1, &offsets, &u);
            one.step(&step, &segment, &mut y, &mut samples).unwrap();
            assert!(samples.times().len() > 20_000);
            results.push((y.map(f64::to_bits), samples.times().to_vec()));
        }
    }
    assert!(results[..3] == results[3..]);
}

/// Seconds of processor time of this thread.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}

#[test]
fn waiting_for_long_costs_nothing() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let mut slow = host(&fmu, &options("slow", &[("misbehave", 16.0)]), &isolation()).unwrap();
    slow.initialize(0.0).unwrap();
    let mut y = [0.0; 3];
    let step = Step { index: 0, start: 0.0, size: 1.0 };
    let (begin, before) = (Instant::now(), processor_time());
    let segment = Segment::new(&step, 2, 1, &[0.0, 0.0]);
    slow.step(&step, &segment, &mut y, &mut Samples::new(Request::Nothing, 3)).unwrap();
    let (wall, used) = (begin.elapsed().as_secs_f64(), processor_time() - before);
    assert!(wall > 0.9, "{wall}");
    assert!(used < 0.05 * wall, "{used} s of processor time in {wall} s");
}

/// The limit is for each call: a model takes many trial steps.
#[test]
fn a_slow_fmu_is_linearised_in_peace() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let limit = Duration::from_millis(500);
    let isolation = Isolation { step_timeout: Some(limit), ..isolation() };
    let options = Options { step: Some(0.01), ..options("slow", &[("misbehave", 19.0)]) };
    let mut slow = host(&fmu, &options, &isolation).unwrap();
    slow.initialize(0.0).unwrap();
    let begin = Instant::now();
    assert!(slow.linearize(&[0.0, 0.0]).unwrap().is_some());
    assert!(begin.elapsed() > limit, "the test needs more trial steps: {:?}", begin.elapsed());
    // One call that does not end is found out all the same, and told with its inputs.
    let options = Options { step: Some(1.0), ..self::options("hung", &[("misbehave", 13.0)]) };
    let mut hung = host(&fmu, &options, &isolation).unwrap();
    hung.initialize(0.0).unwrap();
    let report = hung.linearize(&[0.25, 0.0]).unwrap_err().to_string();
    assert!(report.contains("did not return within 0.5 s") && report.contains("0.25"), "{report}");
}

#[test]
fn a_program_that_is_no_worker_is_told_apart() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let with = |program: &str| {
        let worker = Worker { program: program.into(), arguments: Vec::new() };
        let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
        host(&fmu, &options("body", &[]), &isolation).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(with("/bin/false"), "`body` ended its process with exit code 1, while it was started");
    assert!(with("/no/such/program").contains("`/no/such/program`"), "{}", with("/no/such/program"));
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_koppel-fmi-worker")).arg("1").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not by hand"));
}

/// A worker with jobs of its own: this very program.
#[test]
#[ignore = "run by `jobs_run_in_a_process_of_their_own`"]
fn worker() {
    let parent = std::env::args().next_back().unwrap();
    isolate::serve(&parent, &[("try", try_one_step)]).unwrap();
}

/// The first output after one step of 1 s.
fn try_one_step(fmu: &Arc<Fmu>, input: &[u8]) -> Result<Vec<u8>, String> {
    let how: f64 = std::str::from_utf8(input).unwrap().parse().map_err(|_| "no number")?;
    let mut one = CoSimulation::new(fmu, &options("one", &[("misbehave", how)])).unwrap();
    one.initialize(0.0).unwrap();
    let mut y = [0.0; 3];
    let step = Step { index: 0, start: 0.0, size: 1.0 };
    let done = one.step(
        &step,
        &Segment::new(&step, 2, 1, &[0.0; 2]),
        &mut y,
        &mut Samples::new(Request::Nothing, 3),
    );
    done.map(|()| y[0].to_le_bytes().to_vec()).map_err(|error| error.to_string())
}

#[test]
fn jobs_run_in_a_process_of_their_own() {
    let fmu = TestFmu::two(MASS2);
    let fmu = Fmu::open(&fmu.path()).unwrap();
    let arguments = ["--ignored", "--exact", "worker"].map(Into::into).to_vec();
    let worker = Worker { program: std::env::current_exe().unwrap(), arguments };
    let isolation = Isolation { worker: Some(worker), ..Isolation::default() };
    let job = |name: &str, input: &str| {
        isolate::run_job(&fmu, name, input.as_bytes(), &isolation).map_err(|error| error.to_string())
    };
    assert_eq!(job("try", "0"), try_one_step(&fmu, b"0"));
    assert_eq!(
        job("try", "10"),
        Err("`mass` crashed with SIGSEGV (invalid memory access) in fmi2DoStep".into())
    );
    assert_eq!(job("try", "2"), try_one_step(&fmu, b"2"));
    assert_eq!(job("try", "x"), Err("no number".into()));
    assert_eq!(job("other", ""), Err("there is no job `other`".into()));
}

#[test]
fn folders_go_with_the_last_user() {
    let fmu = TestFmu::two(MASS2);
    let open = Fmu::open(&fmu.path()).unwrap();
    let folder = open.folder().to_owned();
    let instance = host(&open, &options("body", &[]), &isolation()).unwrap();
    drop(open);
    assert!(Path::exists(&folder), "the worker needs it");
    drop(instance);
    assert!(!Path::exists(&folder));
}

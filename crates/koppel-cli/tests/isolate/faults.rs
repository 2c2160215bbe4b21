//! What an FMU may do to the process it runs in and to others: results, files, signals and processes are as without it.
//!
//! `cargo xtask proof faults` tries every fault in every call; here are those that need a look at more than rows.

use super::common::Said;
use super::*;
use std::os::unix::fs::PermissionsExt;

const SYSTEM: &str = r#"
[run]
stop = 1
step = 1e-2
coupling = "zoh"
[subsystems.body]
fmu = "faulty.fmu"
[subsystems.lag]
model = "pt1"
[[connections]]
from = "body.y"
to = "lag.u"
[[connections]]
from = "lag.y"
to = "body.u"
"#;

/// A system with an FMU that has a fault where the environment says so.
pub(crate) fn faulty() -> Folder {
    let folder = Folder::with(SYSTEM);
    let library = folder.path("faulty.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let source = Path::new(FMI).join("fmus/faulty.c");
    let built = Command::new(compiler)
        .args(["-O1", "-w", "-fPIC", "-shared", "-DFMI=2"])
        .args([&source, Path::new("-o"), &library])
        .args(["-lm", "-lpthread"])
        .status();
    assert!(built.unwrap().success());
    let description = std::fs::read(Path::new(FMI).join("fixtures/faulty2.xml")).unwrap();
    let mut writer = ZipWriter::new(std::fs::File::create(folder.path("faulty.fmu")).unwrap());
    let library = std::fs::read(library).unwrap();
    for (name, content) in [("modelDescription.xml", description), ("binaries/linux64/faulty.so", library)] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(&content).unwrap();
    }
    writer.finish().unwrap();
    std::fs::create_dir(folder.path("tmp")).unwrap();
    folder
}

pub(crate) fn with(folder: &Folder, fault: &str, call: &str, arguments: &[&str]) -> Command {
    let mut command = command(folder, &[&["run", "system.toml", "--out", "r.csv"][..], arguments].concat());
    command.env("FAULT", fault).env("FAULT_CALL", call).env("FAULT_FOLDER", folder.path("."));
    command
}

pub(crate) fn run_with(folder: &Folder, fault: &str, call: &str, arguments: &[&str]) -> Said {
    Said::new(with(folder, fault, call, arguments).output().unwrap())
}

/// Processes that have the folder in their environment.
pub(crate) fn left(folder: &Folder) -> usize {
    let place = folder.path("tmp");
    let has = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(place.to_str().unwrap())
    };
    processes(|_| true).iter().filter(|process| has(process)).count()
}

/// Rows of a run without a fault.
pub(crate) fn sound(folder: &Folder) -> String {
    let said = run_with(folder, "none", "none", &["--quiet"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    folder.read("r.csv")
}

#[test]
fn what_an_fmu_changes_of_its_process_is_set_back() {
    let folder = faulty();
    let rows = sound(&folder);
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    let permissions = mode("r.csv");
    let faults = [
        "rounding",
        "flush to zero",
        "traps",
        "umask",
        "chdir",
        "signals",
        "thread",
        "fork returns",
        "flood",
    ];
    for option in ["--no-certificate", "--in-process"] {
        for fault in faults {
            for call in ["load", "instantiate", "step"] {
                let options = [option, "--checkpoint-every", "60"];
                let said = run_with(&folder, fault, call, &options);
                assert_eq!(said.code, Some(0), "{fault} {call} {option}: {}", said.err);
                assert!(folder.read("r.csv") == rows, "{fault} {call} {option}: rows differ");
                assert_eq!(mode("r.csv"), permissions, "{fault} {call} {option}");
                assert_eq!(mode("r.csv.checkpoint"), permissions, "{fault} {call} {option}");
                let is_mode = ["rounding", "flush to zero", "traps"].contains(&fault);
                let says = "fmi2DoStep has changed the floating-point mode".replace("fmi2DoStep", "its step");
                assert_eq!(
                    said.err.contains(&says),
                    is_mode && call == "step",
                    "{fault} {call}: {}",
                    said.err
                );
            }
        }
    }
    assert_eq!((temporary(&folder), left(&folder)), (0, 0));
}

/// The rows are the supervisor's, and so are its descriptors. (With debug assertions Rust aborts a process whose files somebody has closed, at its end.)
#[test]
fn an_fmu_that_closes_all_files_loses_no_row() {
    let folder = faulty();
    let rows = sound(&folder);
    for call in ["load", "instantiate", "step", "get"] {
        let said = run_with(&folder, "close", call, &[]);
        assert!(said.code == Some(0) || cfg!(debug_assertions), "{call}: {}", said.err);
        assert!(folder.read("r.csv") == rows, "{call}");
    }
    assert_eq!((temporary(&folder), left(&folder)), (0, 0));
}

/// A thread looks once a second whose handlers there are.
#[test]
fn ctrl_c_is_heard_although_the_fmu_takes_the_signals() {
    let folder = faulty();
    for option in ["--quiet", "--in-process"] {
        for name in ["INT", "TERM"] {
            let child = with(&folder, "signals", "step", &["--realtime", "--speed", "0.05", option])
                .env("FAULT_FROM", "0")
                .stderr(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(1800));
            signal(&child, name);
            let said = Said::new(child.wait_with_output().unwrap());
            assert_eq!(said.code, Some(130), "{option} {name}: {}", said.err);
            let rows = folder.column("r.csv", "time").len();
            assert!((2..100).contains(&rows), "{option} {name}: {rows} rows");
        }
    }
}

#[test]
fn sigterm_ends_the_process_whatever_the_fmu_does() {
    let folder = faulty();
    for option in ["--quiet", "--in-process"] {
        let child = with(&folder, "deaf", "step", &[option]).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1800));
        signal(&child, "TERM");
        let said = Said::new(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(130), "{option}: {}", said.err);
        assert_eq!(folder.column("r.csv", "time").len(), 51, "{option}");
    }
    assert_eq!(left(&folder), 0);
}

/// Java and .NET live on faults: in real time, so that the thread that looks after signals gets its turn.
#[test]
fn handlers_of_faults_are_left_to_the_fmu() {
    let folder = faulty();
    let rows = sound(&folder);
    for option in ["--quiet", "--in-process"] {
        let said = run_with(&folder, "recovers", "enter", &["--realtime", "--speed", "0.7", option]);
        assert_eq!(said.code, Some(0), "{option}: {}", said.err);
        assert!(folder.read("r.csv") == rows, "{option}");
    }
}

#[test]
fn a_hang_at_the_exit_is_ended() {
    let folder = faulty();
    let rows = sound(&folder);
    let begin = Instant::now();
    let said = run_with(&folder, "exit hangs", "enter", &[]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    said.errs_with(&[
        "an FMU kept the process of this command from ending for 2 s",
        "all files are complete",
    ]);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert!(folder.read("r.csv") == rows);
    assert_eq!((temporary(&folder), left(&folder)), (0, 0));
}

/// Jobs of a shell that becomes koppel are children of koppel, but not koppel's.
#[test]
fn background_jobs_of_the_calling_shell_live_on() {
    let folder = faulty();
    let script = "sleep 1000 >/dev/null 2>&1 & echo $! > job; exec \"$@\"";
    let own = with(&folder, "child", "step", &["--quiet"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script, "sh"])
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(folder.path("."));
    own.get_envs().for_each(|(name, value)| _ = shell.env(name, value.unwrap_or_default()));
    let said = Said::new(shell.stdin(Stdio::null()).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let job = folder.read("job").trim().to_owned();
    let line = std::fs::read_to_string(format!("/proc/{job}/cmdline")).unwrap_or_default();
    assert!(line.starts_with("sleep"), "the job was ended");
    assert_eq!(left(&folder), 1, "the job lives, and the child of the FMU does not");
    assert!(Command::new("kill").args(["-9", &job]).status().unwrap().success());
}

/// From inside or outside: the working process, what FMUs have started and unpacked files go; the rows stay.
#[test]
fn nothing_outlives_a_supervisor_that_is_killed() {
    let folder = faulty();
    let rows = sound(&folder);
    for (fault, call) in [("kill parent", "step"), ("child", "enter"), ("setsid", "enter"), ("hang", "step")]
    {
        let options = ["--realtime", "--speed", "0.3", "--quiet"];
        let mut child = with(&folder, fault, call, &options).stderr(Stdio::null()).spawn().unwrap();
        if fault != "kill parent" {
            std::thread::sleep(Duration::from_millis(2200));
            signal(&child, "KILL");
        }
        assert_eq!(child.wait().unwrap().code(), None, "{fault}");
        wait_until("all processes have ended", || left(&folder) == 0);
        assert_eq!(temporary(&folder), 0, "{fault}");
        std::fs::remove_file(folder.path("r.csv")).unwrap();
        folder.succeed(&["recover", "r.csv.part"]);
        let kept = folder.read("r.csv");
        assert!(rows.starts_with(&kept) && kept.lines().count() > 20, "{fault}: {}", kept.lines().count());
    }
}

#[test]
fn a_hang_is_ended_by_the_limit_of_a_step() {
    let folder = faulty();
    for (call, says) in [
        ("load", "`body` did not return within 0.3 s in dlopen"),
        ("enter", "`body` did not return within 0.3 s in fmi2EnterInitializationMode"),
        ("step", "`body` did not return within 0.3 s in fmi2DoStep, in the step from t = 0.5 s"),
    ] {
        let said = run_with(&folder, "hang", call, &["--step-timeout", "0.3"]);
        assert_eq!(said.code, Some(1), "{call}: {}", said.err);
        said.errs_with(&[says]);
        if call == "step" {
            assert_eq!(folder.column("r.csv", "time").len(), 51);
        }
        assert_eq!((temporary(&folder), left(&folder)), (0, 0));
    }
}

#[test]
fn a_stack_overflow_is_named() {
    let folder = faulty();
    for option in ["--quiet", "--isolate"] {
        let said = run_with(&folder, "stack overflow", "step", &[option]);
        assert_eq!(said.code, Some(1), "{option}: {}", said.err);
        said.errs_with(&["`body`", "in fmi2DoStep", "stack overflow"]);
    }
}

/// The results are complete: it costs a warning with the call, and nothing else.
#[test]
fn what_fails_after_the_last_row_is_told() {
    let folder = faulty();
    let rows = sound(&folder);
    for (option, fault, call, says) in [
        ("--no-certificate", "error", "terminate", "warning [koppel]: fmi2Terminate returned error"),
        ("--isolate", "fatal", "terminate", "warning [koppel]: fmi2Terminate returned fatal"),
        (
            "--isolate",
            "segfault",
            "terminate",
            "crashed with SIGSEGV (invalid memory access) in fmi2Terminate",
        ),
        ("--isolate", "abort", "free", "in fmi2FreeInstance, while it was freed"),
        ("--isolate", "hang", "free", "did not return within 0.3 s in fmi2FreeInstance"),
        ("--isolate", "segfault", "unload", "(invalid memory access) when its library was unloaded"),
        ("--isolate", "exit hangs", "step", "kept its process from ending for 2 s"),
    ] {
        let options = [option, "--no-certificate", "--step-timeout", "0.3"];
        let said =
            run_with(&folder, fault, call, if option == "--isolate" { &options } else { &options[1..] });
        assert_eq!(said.code, Some(0), "{fault} {call}: {}", said.err);
        said.errs_with(&[says]);
        assert!(folder.read("r.csv") == rows, "{fault} {call}: rows differ");
        assert_eq!((temporary(&folder), left(&folder)), (0, 0), "{fault} {call}");
    }
}

/// A copy of a worker that an FMU has forked answers nothing.
#[test]
fn copies_of_isolated_fmus_take_no_part() {
    let folder = faulty();
    let rows = sound(&folder);
    for call in ["load", "instantiate", "enter", "step", "get"] {
        let said = run_with(&folder, "fork returns", call, &["--isolate", "--no-certificate"]);
        assert_eq!(said.code, Some(0), "{call}: {}", said.err);
        assert!(folder.read("r.csv") == rows, "{call}: rows differ");
    }
    assert_eq!((temporary(&folder), left(&folder)), (0, 0));
}

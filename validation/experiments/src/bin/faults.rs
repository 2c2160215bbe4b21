//! Every fault of an FMU in every call, supervised, isolated and in koppel's own process: what it costs.
//!
//! ```console
//! $ cargo run --release --package koppel-experiments --bin faults -- target/release/koppel > table
//! $ cargo run --release --package koppel-experiments --bin faults -- target/release/koppel 3 isolated step segfault
//! ```
//!
//! The second command runs one case and prints what koppel said.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;

type Result<T> = std::result::Result<T, String>;

/// Where the FMU is: tests of the command line use it too.
const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/koppel-fmi/tests");

/// Where a fault can be, and whether the call has a status.
const CALLS: [(&str, bool); 11] = [
    ("load", false),
    ("instantiate", true),
    ("set up", true),
    ("enter", true),
    ("exit", true),
    ("set", true),
    ("step", true),
    ("get", true),
    ("terminate", true),
    ("free", false),
    ("unload", false),
];
/// Calls after the last row.
const LAST: [&str; 3] = ["terminate", "free", "unload"];

/// What a fault should come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A status that says that the call has failed.
    Status,
    /// The process is lost.
    Death,
    /// A value that is no number.
    Value,
    /// The run goes on as if nothing had happened.
    Harmless,
    /// The FMU reaches for something outside of it.
    Deed,
    /// The process cannot end by itself.
    Late,
}

use Kind::{Death, Deed, Harmless, Late, Status, Value};

const FAULTS: [(&str, Kind); 32] = [
    ("discard", Status),
    ("error", Status),
    ("fatal", Status),
    ("nan", Value),
    ("segfault", Death),
    ("abort", Death),
    ("exit", Death),
    ("_exit", Death),
    ("kill itself", Death),
    ("hang", Death),
    ("stack overflow", Death),
    ("memory", Death),
    ("thread crashes", Death),
    ("flood", Harmless),
    ("close", Harmless),
    ("chdir", Harmless),
    ("umask", Harmless),
    ("rounding", Harmless),
    ("flush to zero", Harmless),
    ("traps", Harmless),
    ("signals", Harmless),
    ("recovers", Harmless),
    ("thread", Harmless),
    ("fork returns", Harmless),
    ("child", Harmless),
    ("setsid", Harmless),
    ("write outside", Deed),
    ("socket", Deed),
    ("ptrace", Deed),
    ("kill parent", Deed),
    ("exit hangs", Late),
    ("none", Harmless),
];

const MODES: [(&str, &str); 3] =
    [("supervised", "--quiet"), ("isolated", "--isolate"), ("in process", "--in-process")];

const SUPERVISED: usize = 0;
const IN_PROCESS: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Case {
    version: u32,
    mode: usize,
    call: &'static str,
    fault: &'static str,
    kind: Kind,
}

/// What a run came to.
#[derive(Debug)]
struct Outcome {
    code: Option<i32>,
    error: String,
    rows: Vec<String>,
    /// Processes and temporary files.
    left: (usize, usize),
    is_outside: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [program] => table(Path::new(program)),
        [program, version, mode, call, fault] => one(Path::new(program), version, mode, call, fault),
        _ => Err("usage: faults PROGRAM [VERSION MODE CALL FAULT]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn table(program: &Path) -> Result<()> {
    let fmus = Fmus::new()?;
    let sound: Vec<Vec<String>> =
        [2, 3].into_iter().map(|version| fmus.undisturbed(program, version)).collect::<Result<_>>()?;
    let cases = cases();
    // Most of the time is spent waiting for what hangs.
    let threads = 4 * std::thread::available_parallelism().map_or(1, usize::from);
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let done = AtomicU32::new(0);
    let judge = |case: &Case| {
        let outcome = fmus.run(program, case)?;
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(100) {
            eprintln!("{count} of {} after {} s", cases.len(), begin.elapsed().as_secs());
        }
        Ok((*case, problem(case, &outcome, &sound[case.version as usize - 2])))
    };
    let judged = pool.install(|| cases.par_iter().map(judge).collect::<Result<Vec<_>>>())?;
    println!("| fault | cases | supervised | isolated | in process |\n| --- | --- | --- | --- | --- |");
    for (fault, _) in FAULTS.iter().filter(|(fault, _)| *fault != "none") {
        let of = |mode| judged.iter().filter(move |(case, _)| case.fault == *fault && case.mode == mode);
        let cells = [0, 1, 2].map(|mode| cell(of(mode)));
        println!("| {fault} | {} | {} |", of(0).count(), cells.join(" | "));
    }
    let good = |mode| judged.iter().filter(|(case, problem)| case.mode == mode && problem.is_none()).count();
    let all = judged.len() / MODES.len();
    println!("| all | {all} | {} | {} | {} |", good(0), good(1), good(2));
    for (case, problem) in judged.iter().filter(|(case, _)| case.mode < 2) {
        if let Some(problem) = problem {
            eprintln!("FMI {} {} {}: {}: {problem}", case.version, MODES[case.mode].0, case.call, case.fault);
        }
    }
    Ok(())
}

/// How many were good, and what was wrong with the others.
fn cell<'a>(judged: impl Iterator<Item = &'a (Case, Option<String>)>) -> String {
    let (mut good, mut bad) = (0, BTreeMap::<&str, u32>::new());
    for (_, problem) in judged {
        match problem {
            None => good += 1,
            Some(problem) => *bad.entry(problem.split(':').next().unwrap_or_default()).or_default() += 1,
        }
    }
    let others: Vec<String> = bad.iter().map(|(problem, count)| format!("{count} {problem}")).collect();
    if others.is_empty() { good.to_string() } else { format!("{good}; {}", others.join(", ")) }
}

fn one(program: &Path, version: &str, mode: &str, call: &str, fault: &str) -> Result<()> {
    let fmus = Fmus::new()?;
    let case = cases().into_iter().find(|case| {
        case.version.to_string() == version
            && MODES[case.mode].0 == mode
            && case.call == call
            && case.fault == fault
    });
    let case = case.ok_or("no such case")?;
    let outcome = fmus.run(program, &case)?;
    let sound = fmus.undisturbed(program, case.version)?;
    println!(
        "{}\ncode {:?}, {} rows, left {:?}",
        outcome.error,
        outcome.code,
        outcome.rows.len(),
        outcome.left
    );
    println!("{}", problem(&case, &outcome, &sound).unwrap_or_else(|| "good".into()));
    Ok(())
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (fault, kind) in FAULTS.into_iter().filter(|(fault, _)| *fault != "none") {
        for (call, _) in CALLS.into_iter().filter(|(_, has_status)| *has_status || kind != Status) {
            // FMI 3.0 has no such call.
            let versions: &[u32] = if call == "set up" { &[2] } else { &[2, 3] };
            for version in versions {
                cases.extend((0..MODES.len()).map(|mode| Case {
                    version: *version,
                    mode,
                    call,
                    fault,
                    kind,
                }));
            }
        }
    }
    cases
}

/// Longest time for a run in seconds, in each column; without a fault it takes some hundredths of one.
const LONGEST: [u64; 3] = [15, 15, 4];

/// Longest time for one call, in s: on a busy machine even a harmless one takes long.
fn longest_call(kind: Kind) -> &'static str {
    if kind == Death { "0.5" } else { "10" }
}

/// What is wrong with what became of a fault.
fn problem(case: &Case, outcome: &Outcome, sound: &[String]) -> Option<String> {
    let Case { kind, call, fault, .. } = *case;
    let Outcome { code, error, rows, left, is_outside } = outcome;
    let is_last = LAST.contains(&call);
    let said = error.lines().find(|line| line.starts_with("error")).unwrap_or("nothing was said");
    let needed = match call {
        "set" | "step" => 51,
        "get" => 50,
        _ if is_last => sound.len() - 1,
        _ => 0,
    };
    let rows_are_lost = rows.len() < needed + usize::from(needed > 0);
    let deed = error.contains("a deed was done");
    let is_harmless = kind == Harmless
        || kind == Value && is_last
        // What an FMU does of its own accord while the process ends anyway.
        || call == "unload" && matches!(fault, "exit" | "_exit") && case.mode != IN_PROCESS;
    let killed = code.is_none_or(|code| code >= 128);
    if *code == Some(-1) {
        return Some("hang".into());
    }
    if case.mode == IN_PROCESS {
        match kind {
            _ if killed => return Some("kill koppel".into()),
            Status | Death if *code == Some(0) && !is_last => return Some("exit with 0".into()),
            _ if deed => return Some("succeed".into()),
            _ => {}
        }
    }
    if left.0 > 0 {
        return Some("leave a process".into());
    }
    if left.1 > 0 {
        return Some("leave files".into());
    }
    if fault == "kill parent" && case.mode == SUPERVISED && *code == Some(128 + 9) {
        // Nothing is as strong as SIGKILL: what was flushed is there, and `koppel recover` makes a file of it.
        return None;
    }
    if kind == Deed && case.mode == SUPERVISED {
        // Nothing keeps an FMU that is not isolated from it.
        return (rows.len() != sound.len()).then(|| format!("lose rows: {said}"));
    }
    if deed || *is_outside {
        return Some("succeed".into());
    }
    match kind {
        Late if *code == Some(0) && !error.contains("warning") => Some("exit with 0 and no word".into()),
        Late if rows != sound => Some("change rows".into()),
        Late => None,
        Harmless | Deed if *code != Some(0) => Some(format!("end the run: {code:?}: {said}")),
        _ if rows_are_lost => Some(format!("lose rows: {} of {needed}", rows.len())),
        Harmless | Deed if rows != sound => Some("change rows".into()),
        Harmless | Deed => None,
        _ if is_harmless => (*code != Some(0)).then(|| format!("end the run: {said}")),
        _ if *code == Some(0) && !is_last => Some("exit with 0".into()),
        _ if *code == Some(0) && !error.contains("warning") => Some("exit with 0 and no word".into()),
        _ if killed => Some("kill koppel".into()),
        // The instance is no more when its library is unloaded.
        _ if call != "unload" && !error.contains("`body`") => Some(format!("name no instance: {error}")),
        Death if !names(call, error, case.version) => Some(format!("name no call: {error}")),
        _ => None,
    }
}

/// True if a message names the function.
fn names(call: &str, error: &str, version: u32) -> bool {
    let name = match (call, version) {
        ("load", _) => "dlopen",
        ("instantiate", 2) => "fmi2Instantiate",
        ("instantiate", _) => "fmi3InstantiateCoSimulation",
        ("set up", _) => "fmi2SetupExperiment",
        ("enter", _) => "EnterInitializationMode",
        ("exit", _) => "ExitInitializationMode",
        ("set", 2) => "fmi2SetReal",
        ("set", _) => "fmi3SetFloat64",
        ("step", _) => "DoStep",
        ("get", 2) => "fmi2GetReal",
        ("get", _) => "fmi3GetFloat64",
        ("terminate", _) => "Terminate",
        ("free", _) => "FreeInstance",
        // A destructor of the library is no call.
        _ => "",
    };
    error.contains(name)
}

/// The FMUs, compiled, and a folder for runs.
struct Fmus {
    folder: tempfile::TempDir,
    next: AtomicU32,
}

impl Fmus {
    fn new() -> Result<Fmus> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        for version in [2, 3] {
            let library = folder.path().join("faulty.so");
            let built = Command::new("cc")
                .args(["-O1", "-w", "-fPIC", "-shared", &format!("-DFMI={version}")])
                .args([Path::new(TESTS).join("fmus/faulty.c"), "-o".into(), library.clone()])
                .args(["-lm", "-lpthread"])
                .status();
            if !built.is_ok_and(|status| status.success()) {
                return Err("a C compiler (`cc`) is needed".into());
            }
            pack(&folder.path().join(format!("{version}.fmu")), version, &library)?;
        }
        Ok(Fmus { folder, next: AtomicU32::new(0) })
    }

    /// The rows of a run without a fault.
    fn undisturbed(&self, program: &Path, version: u32) -> Result<Vec<String>> {
        let case = Case { version, mode: 0, call: "step", fault: "none", kind: Harmless };
        let outcome = self.run(program, &case)?;
        if outcome.code == Some(0) { Ok(outcome.rows) } else { Err(outcome.error) }
    }

    fn run(&self, program: &Path, case: &Case) -> Result<Outcome> {
        let words = |error: std::io::Error| error.to_string();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path().join(number.to_string());
        ["", "tmp", "cache"]
            .iter()
            .try_for_each(|name| fs::create_dir_all(folder.join(name)))
            .map_err(words)?;
        let fmu = self.folder.path().join(format!("{}.fmu", case.version));
        fs::write(folder.join("system.toml"), system(&fmu)).map_err(words)?;
        let mark = format!("{}-{number}", std::process::id());
        let program = fs::canonicalize(program).map_err(words)?;
        // The shell stays: it is the parent that an FMU in koppel's own process finds.
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -d 2000000; ulimit -c 0; \"$@\"; exit $?", "sh"])
            .arg(program)
            .args([
                "run",
                "system.toml",
                "--out",
                "r.csv",
                "--no-certificate",
                "--step-timeout",
                longest_call(case.kind),
            ])
            .arg(MODES[case.mode].1)
            .current_dir(&folder)
            .env("TMPDIR", folder.join("tmp"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("FAULT", case.fault)
            .env("FAULT_CALL", case.call)
            .env("FAULT_FOLDER", &folder)
            .env("FAULT_RUN", &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("error")).map_err(words)?)
            .spawn()
            .map_err(words)?;
        let begin = Instant::now();
        let code = loop {
            match child.try_wait().map_err(words)? {
                Some(status) => break status.code(),
                None if begin.elapsed() > Duration::from_secs(LONGEST[case.mode]) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Some(-1);
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let processes = left(&mark);
        let kept = [folder.join("r.csv"), folder.join("r.csv.part")];
        let text = kept.iter().find_map(|path| fs::read(path).ok()).unwrap_or_default();
        let outcome = Outcome {
            code,
            error: fs::read_to_string(folder.join("error")).unwrap_or_default(),
            rows: String::from_utf8_lossy(&text).lines().map(str::to_owned).collect(),
            left: (processes, fs::read_dir(folder.join("tmp")).map_or(0, Iterator::count)),
            is_outside: folder.join("outside").exists(),
        };
        let _ = fs::remove_dir_all(&folder);
        Ok(outcome)
    }
}

/// Processes of a run that are still there; they are ended.
fn left(mark: &str) -> usize {
    let is_marked = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == format!("FAULT_RUN={mark}").as_bytes())
    };
    let find = || -> Vec<PathBuf> {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        all.filter(is_marked).collect()
    };
    let begin = Instant::now();
    loop {
        let found = find();
        if found.is_empty() || begin.elapsed() > Duration::from_secs(1) {
            for process in &found {
                let number = process.file_name().unwrap_or_default();
                let _ = Command::new("kill").arg("-9").arg(number).status();
            }
            return found.len();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn system(fmu: &Path) -> String {
    format!(
        "[run]\nstop = 1\nstep = 1e-2\ncoupling = \"zoh\"\n\
         [subsystems.body]\nfmu = \"{}\"\n\
         [subsystems.lag]\nmodel = \"pt1\"\n\
         [[connections]]\nfrom = \"body.y\"\nto = \"lag.u\"\n\
         [[connections]]\nfrom = \"lag.y\"\nto = \"body.u\"\n",
        fmu.display()
    )
}

fn pack(path: &Path, version: u32, library: &Path) -> Result<()> {
    let words = |error: std::io::Error| error.to_string();
    let place = if version == 2 { "binaries/linux64/faulty.so" } else { "binaries/x86_64-linux/faulty.so" };
    let description = fs::read(format!("{TESTS}/fixtures/faulty{version}.xml")).map_err(words)?;
    let library = fs::read(library).map_err(words)?;
    let mut writer = zip::ZipWriter::new(fs::File::create(path).map_err(words)?);
    for (name, content) in [("modelDescription.xml", description), (place, library)] {
        writer.start_file(name, SimpleFileOptions::default()).map_err(|error| error.to_string())?;
        writer.write_all(&content).map_err(words)?;
    }
    writer.finish().map(|_| ()).map_err(|error| error.to_string())
}

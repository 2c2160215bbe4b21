//! `cargo xtask papers`: tables and figures of the papers, by the binary of `validation/papers`.
//!
//! `cargo xtask proof papers` makes all of them in full and measures what the studies among them cost. Best on a quiet
//! machine: times are elapsed, on all its cores.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::command::{Result, cargo, must, replace_block, root};

const FILE: &str = "bench/papers.md";
/// Studies of methods that the command has, and the seconds on two cores they must stay below.
const STUDIES: [(&str, Option<f64>); 2] = [("rls", Some(90.0)), ("moesp", None)];
/// Megabytes that no study may use.
const MOST_MEMORY: f64 = 500.0;
/// Threads of one process must reach this part of the speed of as many processes.
const LEAST_SCALING: f64 = 0.95;

/// Reproduces papers with the arguments of the binary, in the folder of the caller.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let options = ["run", "--release", "--quiet", "--package", "koppel-papers", "--manifest-path"];
    let mut command = Command::new(cargo(&[]).get_program());
    command.args(options).arg(root().join("Cargo.toml")).arg("--").args(arguments);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// All papers in full, and the cost of their studies.
pub(crate) fn prove() -> Result<()> {
    must(&mut cargo(&["build", "--release", "--package", "koppel-cli", "--package", "koppel-papers"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join("proof/papers");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let binary = target.join("release/koppel");
    replace_block(FILE, "studies", &format!("\n{}", studies(&binary, &folder)?))?;
    let out = folder.join("all");
    let begin = Instant::now();
    must(Command::new(target.join("release/koppel-papers")).arg("--out").arg(&out))?;
    let summary = std::fs::read_to_string(out.join("summary.md")).map_err(|error| error.to_string())?;
    let seconds = begin.elapsed().as_secs_f64();
    replace_block(FILE, "papers", &format!("\nAll papers in full took {seconds:.0} s.\n\n{summary}"))
}

/// Elapsed seconds, processor seconds and memory of each study, and how threads compare with processes.
fn studies(binary: &Path, folder: &Path) -> Result<String> {
    let mut text = String::from(
        "| study | runs | s | of one core, s | memory, MB | limit, s |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut missed = Vec::new();
    for (name, limit) in STUDIES {
        let used = measure(vec![study(binary, folder, name, name, &[])])?;
        let runs = rows(&folder.join(name).join("runs.csv"))?;
        let told = limit.map_or(String::new(), |limit| limit.to_string());
        let line = format!(
            "| `{name}` | {runs} | {:.1} | {:.1} | {:.0} | {told} |",
            used.elapsed, used.processor, used.memory
        );
        eprintln!("{line}");
        writeln!(text, "{line}").map_err(|error| error.to_string())?;
        if limit.is_some_and(|limit| used.elapsed > limit) || used.memory > MOST_MEMORY {
            missed.push(name);
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = cores.min(2);
    let threads = measure(vec![study(binary, folder, "rls", "threads", &["--threads", &cores.to_string()])])?;
    let parts: Vec<String> = (1..=cores).map(|part| format!("{part}/{cores}")).collect();
    let processes = parts.iter().map(|part| {
        let out = format!("part-{}", part.replace('/', "-"));
        study(binary, folder, "rls", &out, &["--threads", "1", "--shard", part])
    });
    let processes = measure(processes.collect())?;
    let scaling = processes.elapsed / threads.elapsed;
    if scaling < LEAST_SCALING {
        missed.push("scaling");
    }
    write!(
        text,
        "\n`rls` on {cores} threads of one process: {:.1} s; as {cores} processes with a part each: {:.1} s; {scaling:.3} of their speed (limit {LEAST_SCALING}).\n",
        threads.elapsed, processes.elapsed
    )
    .map_err(|error| error.to_string())?;
    if !missed.is_empty() {
        write!(text, "\nLimits missed: {}.\n", missed.join(", ")).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn study(binary: &Path, folder: &Path, name: &str, out: &str, more: &[&str]) -> Command {
    let mut command = Command::new(binary);
    let file = root().join(format!("validation/papers/studies/{name}.toml"));
    command.arg("study").arg(file).arg("--out").arg(folder.join(out)).arg("--quiet").args(more);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn rows(file: &Path) -> Result<usize> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.lines().count().saturating_sub(1))
}

/// What commands that run side by side have used.
struct Used {
    elapsed: f64,
    processor: f64,
    /// Of the largest, in MB.
    memory: f64,
}

fn measure(commands: Vec<Command>) -> Result<Used> {
    let begin = Instant::now();
    let before = processor_of_children();
    let spawn = |mut command: Command| command.spawn().map_err(|error| error.to_string());
    let mut running = commands.into_iter().map(spawn).collect::<Result<Vec<Child>>>()?;
    let mut memory = 0.0_f64;
    let mut left = running.len();
    while left > 0 {
        left = 0;
        for child in &mut running {
            memory = memory.max(peak(child.id()));
            match child.try_wait().map_err(|error| error.to_string())? {
                None => left += 1,
                Some(status) if !status.success() => return Err(format!("a study failed: {status}")),
                Some(_) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let elapsed = begin.elapsed().as_secs_f64();
    Ok(Used { elapsed, processor: processor_of_children() - before, memory })
}

/// Largest resident memory so far, in MB.
fn peak(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Processor seconds of all children that have ended: user and system time, in hundredths on Linux.
fn processor_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / 100.0
}

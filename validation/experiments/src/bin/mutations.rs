//! A million mutated inputs for the readers of FMU archives, model descriptions, structures and packages.
//!
//! ```console
//! $ cargo run --package koppel-experiments --bin mutations -- 1000000
//! $ cargo run --package koppel-experiments --bin mutations -- show structure 4711 > input
//! ```
//!
//! Every input follows from its target and number: the second command writes the one that made trouble.

#[path = "../../../../crates/koppel-ssp/tests/mutation/driver.rs"]
mod driver;
#[path = "../../../../crates/koppel-ssp/tests/mutation/mutate.rs"]
mod mutate;
#[path = "../../../../crates/koppel-ssp/tests/mutation/targets.rs"]
mod targets;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["show", target, index] => show(target, index),
        [count] => count.parse().map_err(|_| format!("`{count}` is no number")).and_then(run),
        _ => Err("usage: mutations COUNT | show TARGET NUMBER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn show(name: &str, index: &str) -> Result<(), String> {
    let all = targets::targets().map_err(|error| error.to_string())?;
    let number = all.iter().position(|target| target.name == name).ok_or("no such target")?;
    let index = index.parse().map_err(|_| "no number")?;
    let bytes = driver::input(number, &all[number], index);
    std::io::stdout().write_all(&bytes).map_err(|error| error.to_string())
}

/// Panics are counted and told at the end, not one by one.
fn run(count: u64) -> Result<(), String> {
    std::panic::set_hook(Box::new(|_| {}));
    let all = targets::targets().map_err(|error| error.to_string())?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let (begin, mut parts, mut bad) = (Instant::now(), Vec::new(), Vec::new());
    for (number, target) in all.iter().enumerate() {
        let share = count / all.len() as u64;
        let outcome = driver::feed(number, target, share, threads);
        for (index, words) in outcome.panics.iter().take(5) {
            bad.push(format!("{}: input {index} panicked: {words}", target.name));
        }
        let (accepted, longest) = (outcome.accepted, outcome.longest.0.as_millis());
        parts.push(format!("{} {} ({accepted} accepted, longest {longest} ms)", outcome.inputs, target.name));
        eprintln!("{}; the slowest is number {}", parts[parts.len() - 1], outcome.longest.1);
    }
    if !bad.is_empty() {
        return Err(bad.join("\n"));
    }
    let line = format!(
        "{}; no panic, no hang; {:.0} s in {threads} threads, at most {} MB of memory\n",
        parts.join(", "),
        begin.elapsed().as_secs_f64(),
        most_memory() / 1024
    );
    std::io::stdout().write_all(line.as_bytes()).map_err(|error| error.to_string())
}

/// The most memory this process ever had, in kB; 0 where the system does not tell.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

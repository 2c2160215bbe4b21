//! The page `bench/cross-check.md`.

use super::collection::Entry;
use super::table::Worst;
use super::trial::Trial;
use super::{LIMIT, Seen};
use crate::command::{Result, output, program, replace_block};
use std::fmt::Write as _;
use std::time::Duration;

pub(super) const FILE: &str = "bench/cross-check.md";

/// Errors above this are listed.
const LARGE: f64 = 0.01;

/// Writes the page, and returns how many findings stand against koppel.
pub(super) fn write(
    all: &[Seen],
    absent: &[Entry],
    collection: Option<&str>,
    took: Duration,
) -> Result<usize> {
    let against: Vec<String> = all.iter().flat_map(findings).collect();
    let mut text = summary(all, absent, collection, took)?;
    let mut add = |line: &str| text.push_str(&format!("{line}\n"));
    add("");
    if against.is_empty() {
        add("koppel fails on no FMU that FMPy runs, and crashes on none.");
    } else {
        add("Findings against koppel (it fails where FMPy does not, crashes, or hangs):\n");
        against.iter().for_each(|line| add(&format!("* {line}")));
    }
    add(&format!("\n{}", rows(all)));
    add(&format!("Messages:\n\n{}", list(all, messages)));
    add(&format!("Errors above {} % of the range:\n\n{}", 100.0 * LARGE, list(all, deviations)));
    add(&format!("What `fmu check` accuses:\n\n{}", list(all, accused)));
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|entry| format!("`{}`", entry.slug())).collect();
        add(&format!("Absent from the copy: {}.", names.join(", ")));
    }
    replace_block(FILE, "cross-check", &format!("\n{text}"))?;
    Ok(against.len())
}

fn summary(all: &[Seen], absent: &[Entry], collection: Option<&str>, took: Duration) -> Result<String> {
    let line = |name: &str, arguments: &[&str]| {
        output(&mut program(name, arguments)).map(|text| text.trim().to_owned())
    };
    let commit = line("git", &["describe", "--always", "--dirty"])?;
    let count = |is: &dyn Fn(&Seen) -> bool| all.iter().filter(|seen| is(seen)).count();
    let mut text = format!(
        "{}, koppel at `{commit}`, collection at `{}`: {} FMUs of FMI 2.0 for linux64 (co-simulation {}, model exchange {}), and {} absent from the copy; {} s, {} s at most for one command.\n\n",
        line("date", &["-u", "+%F"])?,
        collection.unwrap_or("?"),
        all.len(),
        count(&|seen| seen.case.entry.kind == "cs"),
        count(&|seen| seen.case.entry.kind == "me"),
        absent.len(),
        took.as_secs(),
        LIMIT.as_secs(),
    );
    text.push_str("| command | ok | other exit codes | crashes and hangs |\n| --- | ---: | ---: | ---: |\n");
    for (name, _) in TRIALS {
        let of =
            |seen: &Seen| trials(seen).into_iter().find(|(known, _)| *known == name).map(|(_, t)| t.clone());
        let trials: Vec<Trial> = all.iter().filter_map(of).collect();
        let ok = trials.iter().filter(|trial| trial.is_ok()).count();
        let crashes = trials.iter().filter(|trial| trial.is_crash()).count();
        let others = trials.len() - ok - crashes;
        writeln!(text, "| {name} | {ok} | {others} | {crashes} |").map_err(|error| error.to_string())?;
    }
    Ok(text)
}

/// Commands and whether they must succeed where FMPy does; `fmu check` may find an FMU wrong.
const TRIALS: [(&str, bool); 7] = [
    ("run", true),
    ("run --isolate", true),
    ("run --coupling auto", true),
    ("check", true),
    ("probe", true),
    ("fmu check", false),
    ("FMPy", false),
];

fn trials(seen: &Seen) -> [(&'static str, &Trial); 7] {
    let list =
        [&seen.plain, &seen.isolated, &seen.auto, &seen.check, &seen.probe, &seen.fmu_check, &seen.fmpy];
    std::array::from_fn(|k| (TRIALS[k].0, list[k]))
}

/// What stands against koppel.
fn findings(seen: &Seen) -> Vec<String> {
    let is_bad = |(k, (name, trial)): &(usize, (&str, &Trial))| {
        let (is_fmpy, must_succeed) = (*name == "FMPy", TRIALS[*k].1);
        !is_fmpy && (trial.is_crash() || must_succeed && seen.fmpy.is_ok() && !trial.is_ok())
    };
    let bad = trials(seen).into_iter().enumerate().filter(is_bad);
    bad.map(|(_, (name, trial))| format!("`{}`: `{name}`: {}", seen.case.entry.slug(), told(trial))).collect()
}

/// How a command ended, and what it said of it.
fn told(trial: &Trial) -> String {
    let message = trial.message();
    if message.is_empty() { trial.cell() } else { format!("{}: {message}", trial.cell()) }
}

fn rows(all: &[Seen]) -> String {
    let mut text = String::from(
        "| tool | version | FMU | kind | step, s | run | isolated | auto | check | probe | fmu check | error to reference | error to FMPy | FMPy | its error to reference |\n| --- | --- | --- | --- | ---: | --- | --- | --- | --- | --- | --- | ---: | ---: | --- | ---: |\n",
    );
    for seen in all {
        let entry = &seen.case.entry;
        let isolated = match &seen.apart {
            Some(worst) => format!("{}, differs by {:.1e}", seen.isolated.cell(), worst.error),
            None => seen.isolated.cell(),
        };
        let fmu_check = match accused(seen).len() {
            0 => seen.fmu_check.cell(),
            count => format!("{count} accused"),
        };
        let cells = [
            entry.tool.clone(),
            entry.version.clone(),
            entry.name.clone(),
            entry.kind.clone(),
            format!("{:.3e}", seen.case.step),
            seen.plain.cell(),
            isolated,
            seen.auto.cell(),
            seen.check.cell(),
            seen.probe.cell(),
            fmu_check,
            error(seen.to_reference.as_ref()),
            error(seen.to_fmpy.as_ref()),
            seen.fmpy.cell(),
            error(seen.fmpy_to_reference.as_ref()),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn error(worst: Option<&Worst>) -> String {
    match worst {
        None => "-".into(),
        Some(worst) if worst.is_late => "0 one step later".into(),
        Some(worst) => format!("{:.1e}", worst.error),
    }
}

/// Lines with the FMUs they hold of.
fn list(all: &[Seen], of: impl Fn(&Seen) -> Vec<String>) -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for seen in all {
        for line in of(seen) {
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, slugs)) => slugs.push(seen.case.entry.slug()),
                None => lines.push((line, vec![seen.case.entry.slug()])),
            }
        }
    }
    if lines.is_empty() {
        return "none\n".into();
    }
    lines.iter().map(|(line, slugs)| format!("* {line} (`{}`)\n", slugs.join("`, `"))).collect()
}

/// Why commands failed; those that say the same in one line.
fn messages(seen: &Seen) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, trial) in trials(seen) {
        let is_accusation = name == "fmu check" && !trial.is_crash() && !accused(seen).is_empty();
        if trial.is_ok() || is_accusation {
            continue;
        }
        let line = told(trial);
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, names)) => names.push(name),
            None => lines.push((line, vec![name])),
        }
    }
    lines.iter().map(|(line, names)| format!("`{}`: {line}", names.join("`, `"))).collect()
}

fn deviations(seen: &Seen) -> Vec<String> {
    let one = |what: &str, worst: &Option<Worst>| {
        let worst = worst.as_ref().filter(|worst| !(worst.is_late || worst.error <= LARGE))?;
        Some(format!("`{}` by {:.3} of its range to {what}", worst.name, worst.error))
    };
    [one("the reference", &seen.to_reference), one("FMPy", &seen.to_fmpy)].into_iter().flatten().collect()
}

/// What does not hold, of the JSON document `koppel fmu check` prints.
fn accused(seen: &Seen) -> Vec<String> {
    let mut accused = Vec::new();
    let (mut capability, mut has_failed) = ("", false);
    for line in seen.fmu_check.output.lines() {
        let Some((key, value)) = line.trim().split_once(": ") else { continue };
        let value = value.trim_end_matches(',').trim_matches('"');
        match key {
            "\"capability\"" => capability = value,
            "\"outcome\"" => has_failed = value == "failed",
            "\"text\"" if has_failed => accused.push(format!("{capability}: {value}").replace('|', "\\|")),
            _ => {}
        }
    }
    accused
}

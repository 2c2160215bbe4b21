//! FMUs for Windows under Wine: `koppel run` and `koppel check` on each, beside the reference of its tool.

use super::collection::Entry;
use super::table::Worst;
use super::trial::{Trial, run as try_out};
use super::{Case, LIMIT, Tools};
use crate::command::{Result, output, program, replace_block};
use std::collections::BTreeMap;
use std::process::Command;

pub(super) const PLATFORM: &str = "win64";

/// Errors up to this are small.
const SMALL: f64 = 0.01;

/// What was seen of one FMU.
pub(super) struct Seen {
    case: Case,
    run: Trial,
    check: Trial,
    to_reference: Option<Worst>,
    /// Where values may stand a communication step earlier or later.
    within_a_step: Option<Worst>,
}

impl Seen {
    fn is_near(&self) -> bool {
        self.to_reference.as_ref().is_some_and(|worst| worst.is_late || worst.error <= SMALL)
    }

    fn is_near_within_a_step(&self) -> bool {
        self.is_near() || self.within_a_step.as_ref().is_some_and(|worst| worst.error <= SMALL)
    }

    /// The collection has a directory for it, but no library inside the FMU.
    fn has_no_library(&self) -> bool {
        self.run.complaints.contains("has no binary")
    }
}

impl Tools {
    pub(super) fn try_under_wine(&self, case: Case) -> Result<Seen> {
        case.write_system()?;
        let koppel = |name: &str, arguments: &[&str]| {
            let mut command = Command::new(&self.koppel);
            command.args(arguments).env("KOPPEL_CACHE", case.folder.join("cache"));
            try_out(command, &case.folder, name, LIMIT)
        };
        let run = koppel("run", &["run", "system.toml", "--no-certificate", "--out", "run.csv"])?;
        let check = koppel("check", &["check", "system.toml"])?;
        let is_held =
            |name: &str| !case.variables.get(name).is_some_and(super::case::Variable::is_continuous);
        let ours = case.result(&case.folder.join("run.csv")).filter(|_| run.is_ok());
        let to_reference = ours.as_ref().zip(case.reference.as_ref()).and_then(|(a, b)| a.worst(b, is_held));
        let within_a_step =
            ours.as_ref().zip(case.reference.as_ref()).and_then(|(a, b)| a.worst_within_a_step(b));
        Ok(Seen { case, run, check, to_reference, within_a_step })
    }
}

/// Writes the block of the page.
pub(super) fn write(all: &[Seen], absent: &[Entry], collection: Option<&str>) -> Result<()> {
    let line = |name: &str, arguments: &[&str]| {
        output(&mut program(name, arguments)).map(|text| text.trim().to_owned())
    };
    let mut text = format!(
        "\n{}, koppel at `{}`, collection at `{}`: {} FMUs of FMI 2.0 for win64 and {} absent from the copy; {} s at most for one command.\n\n",
        line("date", &["-u", "+%F"])?,
        line("git", &["describe", "--always", "--dirty"])?,
        collection.unwrap_or("?"),
        all.len(),
        absent.len(),
        LIMIT.as_secs(),
    );
    text += "| tool | kind | FMUs | without a DLL | run | within 1 % of their reference | the same, but for jumps within a step | check |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let mut tools: BTreeMap<(&str, &str), Vec<&Seen>> = BTreeMap::new();
    for seen in all {
        let entry = &seen.case.entry;
        tools.entry((&entry.tool, &entry.kind)).or_default().push(seen);
        tools.entry(("~ all", &entry.kind)).or_default().push(seen);
    }
    for ((tool, kind), seen) in &tools {
        let count = |is: &dyn Fn(&Seen) -> bool| seen.iter().filter(|seen| is(seen)).count();
        text += &format!(
            "| {} | {kind} | {} | {} | {} | {} | {} | {} |\n",
            tool.trim_start_matches("~ "),
            seen.len(),
            count(&Seen::has_no_library),
            count(&|seen| seen.run.is_ok()),
            count(&|seen| seen.run.is_ok() && seen.is_near()),
            count(&|seen| seen.run.is_ok() && seen.is_near_within_a_step()),
            count(&|seen| seen.check.is_ok()),
        );
    }
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seen in all.iter().filter(|seen| !seen.run.is_ok()) {
        let reason = format!("{}: {}", seen.run.cell(), seen.run.message());
        // Names of files and variables differ where the reason is the same.
        let same = reason.split('`').enumerate().map(|(k, part)| if k % 2 == 1 { ".." } else { part });
        reasons.entry(same.collect()).or_default().push(seen.case.entry.slug());
    }
    text += "\nThose that do not run:\n\n";
    for (reason, slugs) in &reasons {
        text += &format!("* {reason} ({}: `{}`)\n", slugs.len(), slugs.join("`, `"));
    }
    text += "\nThose that run and are further than 1 % from their reference, or have none:\n\n";
    for seen in all.iter().filter(|seen| seen.run.is_ok() && !seen.is_near_within_a_step()) {
        let slug = seen.case.entry.slug();
        text += &match &seen.within_a_step {
            Some(worst) => format!("* `{slug}`: `{}` by {:.3} of its range\n", worst.name, worst.error),
            None => format!("* `{slug}`: nothing to compare\n"),
        };
    }
    replace_block(super::page::FILE, "cross-check-win64", &text)
}

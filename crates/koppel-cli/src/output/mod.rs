//! What is shown: summary, plan of a run, report.

mod auto;
mod check;
mod dry_run;
mod fmu;
mod forecast;
mod grid;
mod probing;
mod report;
mod settings;
mod summary;
mod tune;
mod unconnected;

use std::fs::File;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::supervision;
pub(crate) use auto::explanation;
pub(crate) use check::{Check, Limit};
pub(crate) use dry_run::DryRun;
pub(crate) use fmu::{fmu_document, standard_word};
pub(crate) use grid::{Grid, SHOWN, joined};
pub(crate) use koppel_session::number::{bytes, duration, significant};
pub(crate) use probing::Probing;
pub(crate) use report::{Sketch, write_report};
pub(crate) use settings::counted;
pub(crate) use summary::Summary;
pub(crate) use tune::Tuned;

/// Standard output as koppel was given it.
static OUT: OnceLock<File> = OnceLock::new();

/// Keeps standard output for koppel: what FMUs print in this process goes to standard error from now on.
#[cfg(unix)]
pub(crate) fn keep_standard_output() {
    use std::os::fd::AsFd;
    let kept = stdout().as_fd().try_clone_to_owned().map(File::from);
    if let Ok(out) = kept
        && rustix::stdio::dup2_stdout(std::io::stderr()).is_ok()
    {
        let _ = OUT.set(out);
    }
}

/// Elsewhere FMUs share it.
#[cfg(not(unix))]
pub(crate) fn keep_standard_output() {}

/// Writes to standard output; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    if let Some(printed) = supervision::print(text) {
        return printed.map_err(Failure::refused);
    }
    let written = match OUT.get() {
        Some(mut out) => out.write_all(text.as_bytes()),
        None => {
            let mut out = stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}

/// True if a file name means the standard output that koppel was given.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    cfg!(unix) && ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Writes a text to a file, or to standard output if that is what its name means.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    if is_standard_output(path) {
        return print(text);
    }
    std::fs::write(path, text).map_err(|error| Failure::Write(koppel_io::Error::io("write", path)(error)))
}

/// Refuses standard output for what is written as a file with several parts.
pub(crate) fn refuse_standard_output(path: &Path, what: &str) -> Result<()> {
    if !is_standard_output(path) {
        return Ok(());
    }
    let message = format!("{what} cannot be written to standard output (`{}`)", path.display());
    Err(Failure::words(message, "name a file with --out"))
}

/// Refuses to replace what users edit, hand on or couple (system files, FMUs, packages) unless they say so.
pub(crate) fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if path.is_dir() {
        return Err(Failure::Input(koppel_io::Error::io("write", path)(ErrorKind::IsADirectory.into())));
    }
    if path.exists() && !force { Err(exists_already(path)) } else { Ok(()) }
}

/// What is said of a file that is not replaced.
pub(crate) fn exists_already(path: &Path) -> Failure {
    Failure::words(
        format!("`{}` exists already", path.display()),
        "choose another name, or replace it with --force",
    )
}

/// A file name as it is written on a command line.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One JSON document.
pub(crate) fn print_json(document: &Value) -> Result<()> {
    print(&format!("{document:#}\n"))
}

/// What `--json` prints in place of results.
pub(crate) fn failure_document(failure: &Failure) -> Value {
    let status = if matches!(failure, Failure::Failed(_)) { "failed" } else { "invalid" };
    json!({ "status": status, "exit_code": failure.code().number(), "error": error_document(failure) })
}

/// Why something failed, as JSON.
pub(crate) fn error_document(failure: &Failure) -> Value {
    let all = failure.diagnoses();
    let mut document = json!(all[0]);
    // The first hint and the place are always there, if only to say that there are none.
    document["hint"] = json!(all[0].hints.first());
    document["place"] = json!((!all[0].place.is_nowhere()).then_some(&all[0].place));
    document["mistakes"] = json!(all);
    document
}

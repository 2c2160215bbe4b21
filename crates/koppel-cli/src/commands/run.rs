//! `koppel run`.

use std::path::{Path, PathBuf};

use koppel_io::system_file::{self, Setting, files_read};
use koppel_session::replay::Journals;
use koppel_session::{Confirm, RunOptions, Session};
use koppel_ssp::Tolerance;

use super::auto::{self, Detail};
use crate::arguments::{RunArguments, SettingArguments};
use crate::execution::{self, Cache, Execution, Log, Origin, Plan};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, DryRun};

/// Runs a system file.
pub(super) fn run(arguments: &RunArguments) -> Result<Exit> {
    let session = match &arguments.input {
        Some(inputs) => load_driven(&arguments.file, inputs, &arguments.settings)?,
        None => load(&arguments.file, &arguments.settings, arguments.tolerant)?,
    };
    session.spec.notices().iter().for_each(|(kind, text)| note(kind, text));
    session.spec.warnings().iter().for_each(|text| note("warning", text));
    if arguments.dry_run { dry_run(arguments, session) } else { start(arguments, session) }
}

/// Reads a system file or structure with the settings of the command line.
pub(super) fn load(file: &Path, given: &SettingArguments, is_tolerant: bool) -> Result<Session> {
    let settings = settings(given);
    let tolerance = if is_tolerant { Tolerance::Tolerant } else { Tolerance::Strict };
    if is_tolerant && !system_file::is_structure(file) {
        let message = format!("--tolerant is for system structures; `{}` is not one", file.display());
        return Err(Failure::words(message, "leave it out, or name an .ssp or .ssd file"));
    }
    Ok(Session::load_tolerant(file, &settings, tolerance)?)
}

/// Reads one FMU that a table drives.
fn load_driven(file: &Path, inputs: &Path, given: &SettingArguments) -> Result<Session> {
    if !system_file::is_fmu(file) {
        let message = format!("--input is for a single FMU; `{}` is not one", file.display());
        return Err(Failure::words(message, "name the table in the system file, below [[inputs]]"));
    }
    Ok(Session::load_fmu(file, inputs, &settings(given))?)
}

/// Options replace settings of the file.
fn settings(settings: &SettingArguments) -> Vec<Setting> {
    let mut all = Vec::new();
    let mut set = |name: &str, value: &str, origin: &str| {
        all.push(Setting { name: name.to_owned(), value: value.to_owned(), origin: origin.to_owned() });
    };
    let options = [
        ("step", &settings.step),
        ("stop", &settings.stop),
        ("coupling", &settings.coupling),
        ("schedule", &settings.schedule),
        ("reading", &settings.reading),
        ("hold", &settings.hold),
        ("record_every", &settings.record_every),
        ("threads", &settings.threads),
        ("step_timeout", &settings.step_timeout),
    ];
    for (name, value) in &settings.set {
        set(name, value, "--set");
    }
    for (key, value) in options {
        if let Some(value) = value {
            set(&format!("run.{key}"), value, &format!("--{}", key.replace('_', "-")));
        }
    }
    if settings.isolate {
        set("run.isolate", "true", "--isolate");
    }
    if settings.record_events {
        set("run.record_events", "true", "--record-events");
    }
    if let Some(condition) = &settings.stop_when {
        set("run.stop_when", &quoted(condition), "--stop-when");
    }
    if !settings.record.is_empty() {
        let patterns: Vec<String> = settings.record.iter().map(|pattern| quoted(pattern)).collect();
        set("run.record", &format!("[{}]", patterns.join(", ")), "--record");
    }
    all
}

/// As a TOML string.
fn quoted(text: &str) -> String {
    if text.contains(['\'', '\n']) { format!("{text:?}") } else { format!("'{text}'") }
}

fn dry_run(arguments: &RunArguments, mut session: Session) -> Result<Exit> {
    execution::check(&plan(arguments), &files_read(&session.spec), &arguments.session)?;
    Cache::new(&arguments.session.cache).serve(&mut session);
    auto::choose(&mut session, explains(arguments))?;
    let start = RunOptions {
        is_certified: false,
        accepts_unstable: arguments.session.accept_unstable,
        ..RunOptions::default()
    };
    let prepared = session.trial().start(start, &arguments.session.remark_printer())?;
    let plan = DryRun::new(&session, &prepared.run)?;
    if arguments.session.json {
        output::print_json(&serde_json::to_value(&plan).unwrap_or_default())?;
    } else {
        output::print(&plan.text())?;
    }
    Ok(Exit::Ok)
}

fn start(arguments: &RunArguments, mut session: Session) -> Result<Exit> {
    let plan = plan(arguments);
    let options = &arguments.session;
    execution::check(&plan, &files_read(&session.spec), options)?;
    if options.checkpoint.is_some() || options.checkpoint_every.is_some() {
        session.fmus.journals = Some(Journals::beside(&plan.checkpoint));
    } else if plan.out.is_some() {
        session.fmus.journals = Some(Journals::in_case_of(&plan.checkpoint));
    }
    let log = Log::new(options.log);
    session.fmus.log = Some(log.sink());
    Cache::new(&options.cache).serve(&mut session);
    auto::choose(&mut session, explains(arguments)).inspect_err(|_| log.end())?;
    let start = RunOptions {
        is_certified: !options.no_certificate,
        confirm: if arguments.second_run { Some(Confirm::Always) } else { options.confirm() },
        accepts_unstable: options.accept_unstable,
        ..RunOptions::default()
    };
    let run = session.start(start, &options.remark_printer()).inspect_err(|_| log.end())?;
    Execution::new(session, run, plan, options, log)?.run()
}

/// Says what of FMUs is done without.
pub(super) fn note_fmus(session: &Session) {
    session.fmus.warnings().iter().for_each(|text| note("warning", text));
}

fn explains(arguments: &RunArguments) -> Detail {
    if arguments.explain { Detail::All } else { Detail::Warnings }
}

fn plan(arguments: &RunArguments) -> Plan {
    Plan {
        system: arguments.file.clone(),
        out: arguments.out.clone(),
        report: arguments.session.report.clone(),
        models: arguments.session.save_models.clone(),
        checkpoint: checkpoint_path(arguments),
        origin: Origin::Start,
    }
    .anchored()
}

/// Beside the result file, or named after the system.
fn checkpoint_path(arguments: &RunArguments) -> PathBuf {
    let session = &arguments.session;
    session.checkpoint.clone().unwrap_or_else(|| {
        let mut name = match &arguments.out {
            Some(out) => out.clone().into_os_string(),
            None => arguments.file.file_stem().unwrap_or_default().to_owned(),
        };
        name.push(".checkpoint");
        PathBuf::from(name)
    })
}

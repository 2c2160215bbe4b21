//! `koppel run`.

use std::path::{Path, PathBuf};

use koppel::run::Simulation;
use koppel_io::replay::Journals;
use koppel_io::system_file::{self, Setting, SystemFile};
use koppel_ssp::Tolerance;

use super::auto::{self, Tell};
use crate::arguments::{RunArguments, SettingArguments};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, DryRun};
use crate::session::{self, Cache, Log, Origin, Plan, Session};

/// Runs a system file.
pub(super) fn run(arguments: &RunArguments) -> Result<Exit> {
    let file = load(&arguments.file, &arguments.settings, arguments.tolerant)?;
    file.notices().iter().for_each(|(kind, text)| note(kind, text));
    file.warnings().iter().for_each(|text| note("warning", text));
    if arguments.dry_run { dry_run(arguments, file) } else { start(arguments, file) }
}

/// Reads a system file or structure with the settings of the command line.
pub(super) fn load(file: &Path, given: &SettingArguments, is_tolerant: bool) -> Result<SystemFile> {
    let settings = settings(given);
    if system_file::is_structure(file) {
        let tolerance = if is_tolerant { Tolerance::Tolerant } else { Tolerance::Strict };
        return Ok(system_file::load_structure(file, &settings, tolerance)?);
    }
    if is_tolerant {
        let message = format!("--tolerant is for system structures; `{}` is none", file.display());
        return Err(Failure::words(message, "leave it out, or name an .ssp or .ssd file"));
    }
    Ok(system_file::load_with(file, &settings)?)
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

fn dry_run(arguments: &RunArguments, mut file: SystemFile) -> Result<Exit> {
    session::check(&plan(arguments), &file.reads(), &arguments.session)?;
    let cache = Cache::new(&arguments.session.cache);
    cache.serve(&mut file);
    auto::choose(&mut file, tell(arguments))?;
    let simulation = file.trial().simulation();
    cache.tell();
    tell_trials(&file);
    let plan = DryRun::new(&file, &simulation?)?;
    if arguments.session.json {
        output::print_json(&serde_json::to_value(&plan).unwrap_or_default())?;
    } else {
        output::print(&plan.text())?;
    }
    Ok(Exit::Ok)
}

fn start(arguments: &RunArguments, mut file: SystemFile) -> Result<Exit> {
    let plan = plan(arguments);
    session::check(&plan, &file.reads(), &arguments.session)?;
    if arguments.session.checkpoint.is_some() || arguments.session.checkpoint_every.is_some() {
        file.log_inputs(Journals::beside(&plan.checkpoint));
    }
    let log = Log::new(arguments.session.log);
    file.log_to(log.sink());
    let cache = Cache::new(&arguments.session.cache);
    cache.serve(&mut file);
    auto::choose(&mut file, tell(arguments)).inspect_err(|_| log.end())?;
    let filters = file.choose_filters().inspect_err(|_| log.end())?;
    let simulation = file.simulation();
    cache.tell();
    tell_trials(&file);
    let simulation = simulation.inspect_err(|_| log.end())?;
    simulation.remarks().iter().for_each(|text| note("warning", text));
    if file.run.iteration.is_some() && simulation.loop_works().next().is_none() {
        note("warning", "`iteration` does nothing: there is no loop of that kind (see `koppel check`)");
    }
    if !arguments.session.quiet {
        filters.iter().for_each(|choice| note("note", choice.words()));
    }
    let second =
        if arguments.second_run { Some(second(arguments, &file).inspect_err(|_| log.end())?) } else { None };
    Session::new(file, simulation, second, plan, &arguments.session, log)?.run()
}

/// Says what of FMUs is done without.
pub(super) fn tell_trials(file: &SystemFile) {
    file.trial_warnings().iter().for_each(|text| note("warning", text));
}

/// The same run at half the step.
fn second(arguments: &RunArguments, first: &SystemFile) -> Result<Simulation> {
    // With the filters that were chosen for the first.
    let place = format!("settings in {}", arguments.file.display());
    let mut file = system_file::parse_from(&place, &first.to_toml(), &arguments.file)?;
    file.set("run.step", &format!("{:?}", first.run.step / 2.0), "--second-run")?;
    Ok(file.simulation()?)
}

fn tell(arguments: &RunArguments) -> Tell {
    if arguments.explain { Tell::All } else { Tell::Warnings }
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

//! `koppel tune`.

use koppel::analysis::{Forecast, ForecastOptions, LinearSystem, Methods};
use koppel::coupling::{self, MethodInfo};
use koppel::plan::Candidate;
use koppel::plan::tune::{self, Objective, TuneOptions, Tuning};
use koppel_io::front_plot;
use koppel_io::system_file::{self, files_read};
use koppel_session::Session;

use super::auto::{self, Detail};
use super::progress::Progress;
use super::run::{load, note_fmus};
use super::verification::Verification;
use crate::arguments::{Kept, TuneArguments};
use crate::execution::{self, Cache};
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{self, Tuned};

/// States of a system with which methods that learn on the way are tried, too: each of them must be run.
const SMALL: usize = 24;
/// Connections that get methods of their own unless something else is said.
const MOST_CONNECTIONS: usize = 200;
/// Settings that are shown as long as the search goes on.
const MOST_SHOWN: usize = 8;

/// Searches the settings of a run.
pub(super) fn tune(arguments: &TuneArguments) -> Result<Exit> {
    check_numbers(arguments)?;
    if arguments.apply.is_some() && system_file::is_fmu(&arguments.file) {
        let message =
            format!("`{}` is one FMU: it has no file of settings to write to", arguments.file.display());
        return Err(Failure::words(
            message,
            "name it in a system file, fmu = \"FILE\" below [subsystems.NAME]",
        ));
    }
    let mut session = load(&arguments.file, &arguments.settings, arguments.tolerant)?;
    session.spec.notices().iter().for_each(|(kind, text)| note(kind, text));
    session.spec.warnings().iter().for_each(|text| note("warning", text));
    execution::check_drawings(&arguments.file, &files_read(&session.spec), &None, &arguments.plot, &None)?;
    let cache = Cache::new(&arguments.cache);
    cache.serve(&mut session);
    auto::choose(&mut session, Detail::Warnings)?;
    session.choose_filters()?;
    let session = session.trial();
    let run = session.build_run();
    note_fmus(&session);
    let mut run = run?;
    let progress = Progress::new("tuning");
    session.excite_unknown(&mut run, &|what| progress.report(what))?;
    note_fmus(&session);
    let system = LinearSystem::new(&mut run).map_err(|error| {
        Failure::words(format!("the settings cannot be tuned: {}", reason(&error)), NO_MODEL)
    })?;
    let options = ForecastOptions {
        methods: Some(Methods::Own),
        blame: Some(false),
        progress: &|what| progress.report(what),
        copy: Some(&|| session.copy_to_simulate()),
        ..ForecastOptions::default()
    };
    let forecast = Forecast::of(&mut run, &session.spec.run, &options);
    warn(&session, &forecast);
    let (methods, left_out) = methods(arguments, &session, &system)?;
    let connections = connections(arguments, &session, &system)?;
    let objectives = objectives(arguments, system.reference(&session.spec.run).is_ok());
    let options = TuneOptions {
        objectives: &objectives,
        methods: &methods,
        steps: if arguments.keep.contains(&Kept::Step) {
            Some((session.spec.run.step, session.spec.run.step))
        } else {
            arguments.steps
        },
        schedules: !arguments.keep.contains(&Kept::Schedule),
        connections: &connections,
        evaluations: arguments.evaluations,
        seed: arguments.seed,
        progress: &|judged, most| progress.report(&format!("{judged} of {most} settings evaluated")),
        front: &|best| progress.result(|| so_far(best, &objectives)),
    };
    let found = tune::tune(&system, &session.spec.run, &options)?;
    let verification = Verification::of(arguments, &session, &found, &progress)?;
    let chosen = verification.row;
    if let Some(path) = &arguments.plot {
        output::write_text(path, &front_plot::svg(&session.spec.title, &found, chosen))?;
    }
    let applied = match arguments.apply {
        None => None,
        Some(_) => {
            let row = verification.to_apply(&found, arguments.error)?;
            Some((row, apply(arguments, &session, &found, row)?))
        }
    };
    let shown = Tuned {
        session: &session,
        found: &found,
        verification: &verification,
        left_out: &left_out,
        wanted: arguments.error,
        forecast: &forecast,
        applied,
    };
    match arguments.json {
        true => output::print_json(&shown.document())?,
        false => output::print(&shown.text(arguments.plot.as_deref()))?,
    }
    Ok(Exit::Ok)
}

/// The best so far: one line for each.
fn so_far(best: &[(Candidate, Vec<f64>)], objectives: &[Objective]) -> String {
    let one = |(candidate, values): &(Candidate, Vec<f64>)| {
        let pairs = objectives.iter().zip(values);
        let values = pairs
            .map(|(objective, value)| format!("{} {}", objective.name(), output::significant(*value, 3)));
        format!("\n  {}: {}", candidate.words(), values.collect::<Vec<_>>().join(", "))
    };
    // Of many those that lie evenly along the front.
    let apart = best.len().div_ceil(MOST_SHOWN).max(1);
    let lines: String = best.iter().step_by(apart).map(one).collect();
    format!("best so far, {} settings{lines}", best.len())
}

const NO_MODEL: &str = "tuning needs linear models of all subsystems; `koppel check` lists those without one; `koppel study` tries settings by running them";

fn reason(error: &koppel::Error) -> String {
    match error {
        koppel::Error::Unsupported { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

fn check_numbers(arguments: &TuneArguments) -> Result<()> {
    if arguments.evaluations == Some(0) {
        return Err(Failure::words(
            "--evaluations 0 evaluates nothing",
            "give a number above zero, such as 2000",
        ));
    }
    if arguments.steps.is_some() && arguments.keep.contains(&Kept::Step) {
        return Err(Failure::words("--steps and --keep step contradict each other", "leave one of them out"));
    }
    if !arguments.methods.is_empty() && arguments.keep.contains(&Kept::Method) {
        return Err(Failure::words(
            "--methods and --keep method contradict each other",
            "leave one of them out",
        ));
    }
    if !arguments.connections.is_empty()
        && arguments.keep.iter().any(|kept| [Kept::Connections, Kept::Method].contains(kept))
    {
        return Err(Failure::words(
            "--connections and --keep contradict each other",
            "leave one of them out",
        ));
    }
    Ok(())
}

/// What the linear models do not see.
fn warn(session: &Session, forecast: &Forecast) {
    if !forecast.holds() {
        let reason = forecast.trust.doubt.as_ref().or(forecast.reason.as_ref());
        let reason = reason.map_or("no model is known", String::as_str);
        note(
            "warning",
            format!("the figures are valid at the start of the run, but not reliable beyond: {reason}"),
        );
    }
    if session
        .spec
        .run
        .at
        .iter()
        .any(|change| change.time > session.spec.run.start && change.time < session.spec.run.stop)
    {
        note("warning", "changes by [[at]] are ignored: the figures are valid for the system at the start");
    }
    if session.spec.run.iteration.is_some() {
        note("note", "`iteration` makes methods and schedules equivalent, so only the step is searched");
    }
}

/// A method and why it cannot be used.
type LeftOut = (String, String);

/// Methods to choose from, and those that cannot be used, with the reason.
fn methods(
    arguments: &TuneArguments,
    session: &Session,
    system: &LinearSystem,
) -> Result<(Vec<String>, Vec<LeftOut>)> {
    let (mut usable, mut left_out) = (Vec::new(), Vec::new());
    if arguments.keep.contains(&Kept::Method) || session.spec.run.iteration.is_some() {
        return Ok((usable, left_out));
    }
    let asked: Vec<String> = match arguments.methods.is_empty() {
        true => tune::methods().iter().map(ToString::to_string).collect(),
        false => arguments.methods.clone(),
    };
    for name in asked {
        let is_asked = !arguments.methods.is_empty();
        if let Some(reason) = against(&name, is_asked, session, system) {
            if is_asked {
                let message = format!("`{name}` cannot be used here: {reason}");
                return Err(Failure::words(message, "leave it out of --methods"));
            }
            left_out.push((name, reason.to_owned()));
            continue;
        }
        let Some(coupling) = tune::method(&name, &session.spec.run, system) else { continue };
        let mut trial = session.clone();
        trial.spec.run.coupling = coupling;
        match trial.build_run() {
            Ok(_) => usable.push(name),
            Err(error) if is_asked => {
                let mut diagnosis = Failure::from(error).diagnoses().swap_remove(0);
                diagnosis.what = format!("`{name}` cannot be used here: {}", diagnosis.what);
                diagnosis.place.excerpt = None;
                return Err(Failure::Words(Box::new(diagnosis)));
            }
            Err(error) => left_out.push((name, Failure::from(error).message())),
        }
    }
    Ok((usable, left_out))
}

/// Why a method that excites subsystems is not tried.
fn against(name: &str, is_asked: bool, session: &Session, system: &LinearSystem) -> Option<&'static str> {
    if !coupling::method(name).is_some_and(MethodInfo::excites) || session.spec.run.coupling.name() == name {
        return None;
    }
    let subsystems = session.spec.to_json()["subsystems"].clone();
    let is_spared = |one: &serde_json::Value| one["probe"] == false;
    if subsystems.as_object().is_some_and(|all| all.values().any(is_spared)) {
        return Some("a subsystem has probe = false and must not be probed");
    }
    let takes_long = system.states() > SMALL || !session.spec.fmus().is_empty();
    (takes_long && !is_asked).then_some("judging it requires runs, which take long; add it with --methods")
}

/// Inputs that may have methods of their own.
fn connections(arguments: &TuneArguments, session: &Session, system: &LinearSystem) -> Result<Vec<String>> {
    let known: Vec<String> = session.spec.connections().map(|connection| connection.to.clone()).collect();
    if !arguments.connections.is_empty() {
        for name in &arguments.connections {
            system.graph().find_inputs(name)?;
            if !known.contains(name) {
                let message = format!("--connections: no connection ends at `{name}`");
                return Err(Failure::words(message, format!("connections end at `{}`", known.join("`, `"))));
            }
        }
        return Ok(arguments.connections.clone());
    }
    let is_one = arguments.keep.contains(&Kept::Connections) || known.len() > MOST_CONNECTIONS;
    Ok(if is_one { Vec::new() } else { known })
}

/// What is asked for, or stability, accuracy and cost.
fn objectives(arguments: &TuneArguments, knows_errors: bool) -> Vec<Objective> {
    let mut asked: Vec<Objective> = Vec::new();
    for objective in arguments.objectives.iter().map(|one| Objective::from(*one)) {
        if !asked.contains(&objective) {
            asked.push(objective);
        }
    }
    if !asked.is_empty() {
        return asked;
    }
    let accuracy = if knows_errors { Objective::Error } else { Objective::Consistency };
    vec![Objective::Radius, accuracy, Objective::Cost]
}

/// Writes a row, which a copy was run with, into the file.
fn apply(
    arguments: &TuneArguments,
    session: &Session,
    found: &Tuning,
    row: usize,
) -> Result<std::path::PathBuf> {
    let chosen = &found.front[row].candidate;
    system_file::apply(&session.spec, &arguments.file, chosen).map_err(Failure::Write)
}

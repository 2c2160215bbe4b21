//! What can go wrong with an FMU, in words a user can act on.

use crate::archive::ArchiveError;
use crate::description::DescriptionError;
use crate::ffi::{CallError, LoadError, LogMessage, Status};
use crate::isolate::Ended;
use koppel::diagnostic::{Diagnostic, Place, Seconds};
use std::path::PathBuf;

/// The crate's result type.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// A fault of an FMU, or of the way it is used. Bugs of koppel itself are panics, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Error {
    #[error("`{}`: {source}", .path.display())]
    Archive { path: PathBuf, source: ArchiveError },

    #[error(transparent)]
    Description(#[from] DescriptionError),

    #[error("`{}` cannot be created: {source}", .path.display())]
    Folder { path: PathBuf, source: std::io::Error },

    #[error("`{}`: {source}", .path.display())]
    Load { path: PathBuf, source: LoadError },

    #[error("`{}` has no binary `{file}` for this platform ({wanted}); {}", .path.display(), platforms(.present))]
    NoBinary { path: PathBuf, file: String, wanted: String, present: Vec<String> },

    #[error("`{}` has a library for Windows, but none for Linux: {trouble}", .path.display())]
    NoWine { path: PathBuf, trouble: crate::wine::Trouble },

    #[error("`{}` is no co-simulation FMU", .path.display())]
    NotCoSimulation { path: PathBuf },

    #[error("`{}` offers scheduled execution only, which koppel does not drive", .path.display())]
    ScheduledExecution { path: PathBuf },

    #[error("`{}` is no model-exchange FMU", .path.display())]
    NotModelExchange { path: PathBuf },

    #[error("`{}` can be instantiated only once per process, and is in use", .path.display())]
    OnlyOnce { path: PathBuf },

    #[error("`{instance}`: {source}")]
    Call { instance: String, source: CallError },

    #[error("`{instance}` has no variable `{name}`{}", suggestion(.name, .known))]
    UnknownVariable { instance: String, name: String, known: Vec<String> },

    #[error("`{instance}`: `{name}` cannot be set: {reason}")]
    NotSettable { instance: String, name: String, reason: String },

    #[error("`{instance}`: `{name}` is a {expected}, {value} is not one")]
    WrongType { instance: String, name: String, expected: &'static str, value: String },

    #[error("`{instance}`: `{name}` is a {expected}, {value} is not one")]
    WrongArrival { instance: String, name: String, expected: &'static str, value: f64 },

    #[error("`{instance}`: {value} of `{name}` is too large to be exact as a floating-point number")]
    NotExact { instance: String, name: String, value: String },

    #[error("`{instance}` discarded the step from {time} s to {end} s{}{}", came_to(.reached), log(.source))]
    Discarded { instance: String, time: f64, end: f64, reached: Option<f64>, source: CallError },

    #[error("`{instance}` ended the step at {reached} s instead of {end} s{}", crate::ffi::tail(.messages))]
    EndedEarly { instance: String, reached: f64, end: f64, messages: Vec<LogMessage> },

    #[error("`{instance}` made no progress at {time} s in {attempts} steps")]
    Stuck { instance: String, time: f64, attempts: usize },

    #[error("`{instance}` does not come to rest at {time} s: its event is not over after {rounds} rounds")]
    EndlessEvent { instance: String, time: f64, rounds: usize },

    #[error(
        "`{instance}` has an event at {time} s, inside a communication step, but takes only steps of one size"
    )]
    CannotCut { instance: String, time: f64 },

    #[error("`{instance}` takes steps of one size only, {only} s, but would get one of {size} s at {time} s")]
    OtherStepSize { instance: String, time: f64, size: f64, only: f64 },

    #[error("`{name}` of `{instance}` cannot be {value}: {wanted}")]
    OutOfRange { instance: String, name: String, value: String, wanted: String },

    #[error("`{instance}` asks to end the simulation at {time} s{}", crate::ffi::tail(.messages))]
    Terminated { instance: String, time: f64, has_outputs: bool, messages: Vec<LogMessage> },

    #[error("`{instance}` does not offer {what}")]
    NotOffered { instance: String, what: String },

    #[error("`{instance}`: {source}")]
    Solver { instance: String, source: koppel::solver::SolverError },

    #[error("`{instance}`: more than {count} events within one step (t = {} s)", Seconds(*.time))]
    TooManyEvents { instance: String, time: f64, count: u64 },

    #[error("`{instance}` has no instance yet: it is made when the subsystem is initialised")]
    NotStarted { instance: String },

    #[error("`{instance}` cannot save its state: the FMU {reason}")]
    CannotSave { instance: String, reason: String },

    #[error(
        "`{instance}` cannot save its state: it has events or discrete variables, which only the FMU can save, and it {reason}"
    )]
    CannotSaveEvents { instance: String, reason: String },

    #[error("{source}")]
    Probe { source: Box<koppel::Error> },

    #[error("`{instance}` cannot restore this state: {reason}")]
    CannotRestore { instance: String, reason: &'static str },

    #[error("`{}` cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },

    #[error("isolation in a separate process is available on Linux only")]
    NoIsolation,

    #[error("no program is known that could host isolated FMUs")]
    NoWorker,

    #[error("no process for an isolated FMU can be started with `{}`: {source}", .program.display())]
    WorkerStart { program: PathBuf, source: std::io::Error },

    #[error("the sandbox of an isolated FMU cannot be made: {reason}")]
    Sandbox { reason: String },

    #[error("{0}")]
    Ended(Box<Ended>),

    #[error("`{instance}` has ended before")]
    Gone { instance: String },

    #[error("{text}")]
    Remote { text: String, hint: Option<String> },
}

fn platforms(present: &[String]) -> String {
    if present.is_empty() {
        "it has none at all".into()
    } else {
        format!("there are: {}", present.join(", "))
    }
}

/// Most names that are listed.
const SHOWN: usize = 10;

/// The known name most like it, or the first of all.
fn suggestion(name: &str, known: &[String]) -> String {
    if let Some(close) = koppel::error::closest(name, known) {
        return format!("; did you mean `{close}`?");
    }
    let list: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match known.len() {
        0 => "; it has none".into(),
        count if count > SHOWN => format!("; known: {} and {} more", list.join(", "), count - SHOWN),
        _ => format!("; known: {}", list.join(", ")),
    }
}

fn came_to(time: &Option<f64>) -> String {
    time.map_or_else(String::new, |time| format!("; it came to {time} s"))
}

fn log(source: &CallError) -> String {
    match source {
        CallError::Status { messages, .. } => crate::ffi::tail(messages),
        _ => String::new(),
    }
}

impl From<DescriptionError> for Box<Error> {
    fn from(source: DescriptionError) -> Self {
        Box::new(Error::Description(source))
    }
}

impl Error {
    /// What the user can do about it, when there is more to say than the message.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::Probe { source } => return source.hint(),
            Error::Archive { source, .. } => return of_archive(source).map(Into::into),
            Error::Load { source, .. } => of_library(source).into(),
            Error::Call { source, .. } => return of_call(source).map(Into::into),
            Error::WrongArrival { instance, name, .. } => format!(
                "check the connection to `{instance}.{name}`, its gain and offset; `map` converts between kinds of numbers"
            ),
            Error::NoBinary { .. } => "ask its author for an FMU with a binary for this platform".into(),
            Error::NoWine { trouble, .. } => trouble.hint()?.into(),
            Error::OnlyOnce { .. } => {
                "run all but one instance of it in separate processes: isolate = true".into()
            }
            Error::Discarded { .. } => "use a smaller communication step, or more sub-steps".into(),
            Error::OtherStepSize { .. } => {
                "give it equal steps: `substeps = 1`, nothing that changes inside a communication step, and no loop with otherwise = \"halve\""
                    .into()
            }
            Error::CannotCut { .. } => "use a communication step that ends where its clocks tick".into(),
            Error::ScheduledExecution { .. } => {
                "export it for co-simulation or model exchange".into()
            }
            Error::NotModelExchange { .. } => "use its co-simulation interface, if it has one".into(),
            Error::NotCoSimulation { .. } => {
                "`interface = \"model-exchange\"` runs it with a solver of koppel's".into()
            }
            Error::TooManyEvents { .. } => {
                "the model chatters, or its events accumulate; let it come to rest there".into()
            }
            Error::CannotSave { .. } | Error::CannotSaveEvents { .. } => {
                "use a method that needs no roll-back, or an FMU with canGetAndSetFMUState".into()
            }
            Error::NoIsolation => "leave out `isolate`: the FMU then runs inside koppel".into(),
            Error::NoWorker => "name one with koppel_fmi::isolate::set_worker".into(),
            Error::Sandbox { .. } => {
                "sandbox = true takes what this machine has; sandbox = false goes without one".into()
            }
            Error::Solver { source, .. } => return source.hint(),
            Error::Ended(ended) => ended.hint(),
            Error::Remote { hint, .. } => return hint.clone(),
            _ => return None,
        })
    }
}

impl Diagnostic for Error {
    fn place(&self) -> Place {
        match self {
            Error::Archive { path, .. }
            | Error::Folder { path, .. }
            | Error::Load { path, .. }
            | Error::NoBinary { path, .. }
            | Error::NoWine { path, .. }
            | Error::NotCoSimulation { path }
            | Error::ScheduledExecution { path }
            | Error::NotModelExchange { path }
            | Error::OnlyOnce { path }
            | Error::Unreadable { path, .. } => Place::file(path),
            Error::UnknownVariable { instance, name, .. }
            | Error::NotSettable { instance, name, .. }
            | Error::WrongType { instance, name, .. }
            | Error::WrongArrival { instance, name, .. }
            | Error::NotExact { instance, name, .. }
            | Error::OutOfRange { instance, name, .. } => Place::subsystem(instance).variable(name),
            Error::Call { instance, .. }
            | Error::Discarded { instance, .. }
            | Error::EndedEarly { instance, .. }
            | Error::Stuck { instance, .. }
            | Error::EndlessEvent { instance, .. }
            | Error::CannotCut { instance, .. }
            | Error::OtherStepSize { instance, .. }
            | Error::Terminated { instance, .. }
            | Error::NotOffered { instance, .. }
            | Error::Solver { instance, .. }
            | Error::TooManyEvents { instance, .. }
            | Error::NotStarted { instance }
            | Error::CannotSave { instance, .. }
            | Error::CannotSaveEvents { instance, .. }
            | Error::CannotRestore { instance, .. }
            | Error::Gone { instance } => Place::subsystem(instance),
            Error::Probe { source } => source.place(),
            Error::Description(_)
            | Error::NoIsolation
            | Error::NoWorker
            | Error::WorkerStart { .. }
            | Error::Sandbox { .. }
            | Error::Ended(_)
            | Error::Remote { .. } => Place::default(),
        }
    }

    fn time(&self) -> Option<f64> {
        match self {
            Error::Discarded { time, .. }
            | Error::EndedEarly { reached: time, .. }
            | Error::Stuck { time, .. }
            | Error::EndlessEvent { time, .. }
            | Error::CannotCut { time, .. }
            | Error::OtherStepSize { time, .. }
            | Error::Terminated { time, .. }
            | Error::TooManyEvents { time, .. } => Some(*time),
            Error::Solver { source, .. } => source.time(),
            Error::Probe { source } => source.time(),
            _ => None,
        }
    }

    fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }

    fn known(&self) -> Vec<String> {
        match self {
            Error::UnknownVariable { known, .. } => known.clone(),
            Error::NoBinary { present, .. } => present.clone(),
            _ => Vec::new(),
        }
    }
}

fn of_archive(error: &ArchiveError) -> Option<&'static str> {
    Some(match error {
        ArchiveError::NotAZip { .. } => "an FMU is a zip archive; check the name, or export it again",
        ArchiveError::Damaged { .. } | ArchiveError::DamagedEntry { .. } => {
            "copy, download or export it once more"
        }
        ArchiveError::Missing { .. } => {
            "it must lie at the top of the archive: zip the content of the folder, not the folder"
        }
        _ => return None,
    })
}

fn of_library(error: &LoadError) -> &'static str {
    match error {
        LoadError::Open { reason, .. } if reason.contains("failed to map segment") => {
            "no library can be loaded from the folders for temporary files (TMPDIR or /tmp, /var/tmp, the user's cache), which are mounted `noexec`: name another one, as in TMPDIR=$HOME/tmp"
        }
        LoadError::Open { .. } => {
            "the binary is damaged, or needs a library that is not here; ask its author"
        }
        LoadError::Symbol { .. } => "the binary does not follow the standard: ask its author for another",
    }
}

fn of_call(error: &CallError) -> Option<&'static str> {
    Some(match error {
        CallError::NoInstance { .. } => {
            "a GUID or token that differs means that description and binary are of different builds; else a licence or a file may be missing"
        }
        CallError::Status { status: Status::Pending, .. } => "FMUs that step asynchronously cannot be run",
        CallError::Status { call: "fmi2DoStep" | "fmi3DoStep", messages, .. } if messages.is_empty() => {
            "the FMU itself failed without a message: `--log debug` may show more; other parameters or a smaller communication step may help"
        }
        CallError::Status { call: "fmi2DoStep" | "fmi3DoStep", .. } => {
            "the FMU itself failed: other parameters or a smaller communication step may help; else ask its author"
        }
        CallError::Remote { .. } => {
            "if it does the same on Windows, the fault is in the FMU: tell its author the call above; if not, Wine lacks something that it needs"
        }
        _ => return None,
    })
}

impl From<Box<Error>> for Box<koppel::Error> {
    fn from(error: Box<Error>) -> Self {
        if let Error::Terminated { time, has_outputs, .. } = *error {
            let reached = has_outputs.then_some(time);
            return Box::new(koppel::Error::Terminated { reached, text: error.to_string() });
        }
        Box::new(koppel::Error::Foreign { hint: error.hint(), source: error })
    }
}

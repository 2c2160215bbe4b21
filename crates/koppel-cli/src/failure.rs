//! Why a command failed, shown so that the user can act; how it is drawn is the library's business ([`Diagnosis::draw`]).

use std::io::{IsTerminal, Write as _, stderr};

use koppel::Error as Engine;
use koppel::diagnostic::{Diagnosis, Diagnostic, Ink, Remark};
use koppel::solver::SolverError;
use koppel_io::Error as Io;
use koppel_session::Kind;

use crate::execution::nearby_names;
use crate::exit::Exit;
use crate::supervision::{self, Refusal};

const RECOVER: &str = "`koppel recover FILE.part` keeps the rows written before";

/// Result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Files, options or settings.
    Input(Box<Io>),
    /// The engine, during the run.
    Run(Box<Engine>),
    /// A loop that was stable when the run began.
    Unstable(Box<Engine>),
    /// A file, during or after the run.
    Write(Box<Io>),
    /// Standard output.
    Output(std::io::Error),
    /// What could not be done, in words: an FMU has ended its process, or the supervisor could not write a file.
    Failed(Box<Diagnosis>),
    /// Anything else, in words.
    Words(Box<Diagnosis>),
}

impl From<Box<Io>> for Failure {
    fn from(error: Box<Io>) -> Self {
        Failure::Input(error)
    }
}

impl From<Box<Engine>> for Failure {
    fn from(error: Box<Engine>) -> Self {
        Failure::Run(error)
    }
}

impl Failure {
    /// Bad input in words, with what to do about it.
    pub(crate) fn words(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::Words(Box::new(Diagnosis::words(message, Some(hint.into()))))
    }

    /// Bad input, as another library tells it.
    pub(crate) fn of(error: &dyn Diagnostic) -> Self {
        Failure::Words(Box::new(Diagnosis::of(error)))
    }

    /// Why a run ended that had begun.
    pub(crate) fn on_the_way(error: Box<Engine>) -> Self {
        if matches!(*error, Engine::NotZeroStable { .. }) {
            Failure::Unstable(error)
        } else {
            Failure::Run(error)
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Exit {
        match self {
            Failure::Input(error) => match error.as_ref() {
                Io::Engine(error) => engine_code(error),
                Io::File(mistakes) if mistakes.iter().any(|mistake| mistake.is_crash) => Exit::RunFailed,
                _ => Exit::BadInput,
            },
            Failure::Words(_) => Exit::BadInput,
            Failure::Write(_) | Failure::Output(_) | Failure::Failed(_) | Failure::Unstable(_) => {
                Exit::RunFailed
            }
            Failure::Run(error) => engine_code(error),
        }
    }

    /// What is wrong: all mistakes that were found.
    pub(crate) fn diagnoses(&self) -> Vec<Diagnosis> {
        let mut all = match self {
            Failure::Input(error) | Failure::Write(error) => Diagnosis::all(&**error),
            Failure::Run(error) | Failure::Unstable(error) => match recorder(error) {
                Some(error) => Diagnosis::all(error),
                None => Diagnosis::all(&**error),
            },
            Failure::Output(error) => {
                vec![Diagnosis::words(format!("cannot write to standard output: {error}"), None)]
            }
            Failure::Words(diagnosis) | Failure::Failed(diagnosis) => vec![(**diagnosis).clone()],
        };
        let hint = match self {
            Failure::Input(error) if is_missing(error) => {
                Some("check the name; `koppel new` writes a system file to start from")
            }
            Failure::Run(error) if matches!(**error, Engine::Recorder { .. }) => Some(RECOVER),
            _ => None,
        };
        if let Some(hint) = hint.filter(|_| all[0].hints.is_empty()) {
            all[0].hints.push(hint.to_owned());
        }
        for diagnosis in &mut all {
            diagnosis.what = nearby_names(&diagnosis.what);
            diagnosis.hints.iter_mut().for_each(|hint| *hint = nearby_names(hint));
        }
        all
    }

    /// What is wrong, in one sentence.
    pub(crate) fn message(&self) -> String {
        self.diagnoses().swap_remove(0).what
    }

    /// True if an isolated FMU ended its process.
    pub(crate) fn is_crash(&self) -> bool {
        let Failure::Run(error) = self else { return false };
        let source = match error.as_ref() {
            Engine::Subsystem { source, .. } => source,
            error => error,
        };
        let Engine::Foreign { source, .. } = source else { return false };
        matches!(source.downcast_ref(), Some(koppel_fmi::Error::Ended(_)))
    }

    /// Shows it on standard error.
    pub(crate) fn show(&self) {
        let text: String = self.diagnoses().iter().map(|diagnosis| diagnosis.draw(ink())).collect();
        say(&text);
    }

    /// What the supervisor could not do while the run was under way.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Failure::Failed(Box::new(refusal.into_diagnoses().swap_remove(0)))
    }
}

/// Why rows could not be written.
fn recorder(error: &Engine) -> Option<&dyn Diagnostic> {
    let Engine::Recorder { source } = error else { return None };
    let own = source.downcast_ref::<Io>().or_else(|| source.downcast_ref::<Box<Io>>().map(|error| &**error));
    let remote = || source.downcast_ref::<Refusal>().map(|refusal| refusal as &dyn Diagnostic);
    own.map(|error| error as &dyn Diagnostic).or_else(remote)
}

/// True if there is no such file to read.
fn is_missing(error: &Io) -> bool {
    matches!(error, Io::Io { action: "read", source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// A number that is not finite counts as bad input: the model or the step is at fault, not the machine.
fn engine_code(error: &Engine) -> Exit {
    match error {
        Engine::Solver(SolverError::NonFinite { .. }) => Exit::BadInput,
        Engine::Subsystem { source, .. } => engine_code(source),
        Engine::LoopNotSolved { .. } | Engine::Solver(_) | Engine::Recorder { .. } => Exit::RunFailed,
        Engine::Linalg { .. } | Engine::Foreign { .. } => Exit::RunFailed,
        _ => Exit::BadInput,
    }
}

/// Shows a remark on a run.
pub(crate) fn show_remark(kind: Kind, remark: &Remark) {
    let kind = match kind {
        Kind::Note => "note",
        Kind::Warning => "warning",
    };
    note(kind, remark);
}

/// A remark on standard error that the user can act on.
pub(crate) fn note(kind: &str, remark: impl Into<Remark>) {
    let text = nearby_names(&remark.into().to_string());
    say(&format!("{} {text}\n", ink().paint(&format!("{kind}:"), "1;36")));
}

/// Shows a text on standard error.
pub(crate) fn say(text: &str) {
    if !supervision::say(text) {
        // No one is left to report to if standard error is closed.
        let _ = stderr().write_all(text.as_bytes());
    }
}

fn ink() -> Ink {
    let is_coloured = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if is_coloured { Ink::Coloured } else { Ink::Plain }
}

//! What can go wrong when an FMU is exported or runs.

use std::path::PathBuf;

use koppel::diagnostic::{Diagnostic, Place};

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// A mistake of the user or the importer, or a failure inside the FMU.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Error {
    #[error("cannot {action} `{}`: {source}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("`{}` is no description of an FMU of koppel: {reason}", .path.display())]
    Plan { path: PathBuf, reason: String },

    #[error("the token does not match: this FMU has `{own}`, `{given}` was given")]
    Token { own: String, given: String },

    #[error("cannot write `{}`: {reason}", .path.display())]
    Write { path: PathBuf, reason: String },

    #[error("`{}` must end in `.fmu`", .path.display())]
    Name { path: PathBuf },

    #[error("there is no FMI {version}; 2 and 3 are known")]
    Version { version: String },

    #[error("the system has no outputs: none of them is recorded")]
    NoOutputs,

    #[error("`{name}` cannot be a start value of a model alone")]
    Start { name: String },

    #[error("the system has no subsystem `{name}`")]
    NoSubsystem { name: String, known: Vec<String> },

    #[error("nothing is left: an FMU is for co-simulation or for model exchange{}", if *.has_states { "" } else { "; this one has no states to be exchanged" })]
    Nothing { has_states: bool },

    #[error("two variables would be called `{name}`")]
    SameName { name: String },

    #[error("the library for FMUs (`{file}`) was not found; searched:{}", listed(.places))]
    NoLibrary { file: String, places: Vec<PathBuf> },

    #[error("this is not the library for FMUs: {source}")]
    NotALibrary { source: koppel_fmi::ffi::LoadError },

    #[error("{0}")]
    Use(String),

    #[error("{0}")]
    Engine(#[from] Box<koppel::Error>),

    #[error("{0}")]
    File(#[from] Box<koppel_io::Error>),

    #[error("{0}")]
    Fmu(#[from] Box<koppel_fmi::Error>),
}

fn listed(places: &[PathBuf]) -> String {
    places.iter().map(|place| format!("\n  {}", place.display())).collect()
}

impl Error {
    /// What to do about it, when there is more to say than the message.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::Name { path } => format!("name it `{}.fmu`", path.with_extension("").display()),
            Error::NoOutputs => "name outputs in `record` of [run], or leave it out to record all".into(),
            Error::Start { .. } => "only parameters can; a linear model has `x0`".into(),
            Error::NoSubsystem { name, known } => match koppel::error::closest(name, known) {
                Some(best) => format!("did you mean `{best}`? known: {}", known.join(", ")),
                None => format!("known: {}", known.join(", ")),
            },
            Error::Nothing { .. } => "omit one of them".into(),
            Error::SameName { .. } => "give one of them, or its subsystem, another name".into(),
            Error::NoLibrary { file, .. } => format!(
                "`cargo install` installs programs only; `cargo build --release -p koppel-fmu-binary` in koppel's sources makes target/release/{file}: put it beside `koppel`, or name it with --library"
            ),
            Error::NotALibrary { .. } => {
                "leave out --library, or name what `cargo build --release -p koppel-fmu-binary` makes".into()
            }
            Error::Engine(error) => return error.hint(),
            Error::Fmu(error) => return error.hint(),
            Error::File(error) => return error.hint(),
            _ => return None,
        })
    }

    /// A call that does not fit the state of the instance, or asks for what there is not.
    pub(crate) fn misuse(text: impl Into<String>) -> Box<Error> {
        Box::new(Error::Use(text.into()))
    }

    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Box<Error> {
        move |source| Box::new(Error::Io { action, path: path.to_path_buf(), source })
    }
}

impl Diagnostic for Error {
    fn inner(&self) -> Option<&dyn Diagnostic> {
        match self {
            Error::Engine(error) => Some(&**error),
            Error::File(error) => Some(&**error),
            Error::Fmu(error) => Some(&**error),
            _ => None,
        }
    }

    fn place(&self) -> Place {
        match self {
            Error::Io { path, .. }
            | Error::Plan { path, .. }
            | Error::Write { path, .. }
            | Error::Name { path } => Place::file(path),
            Error::SameName { name } => Place::default().variable(name),
            other => other.inner().map(Diagnostic::place).unwrap_or_default(),
        }
    }

    fn hints(&self) -> Vec<String> {
        self.inner().map_or_else(|| self.hint().into_iter().collect(), Diagnostic::hints)
    }
}

impl From<Box<koppel::Error>> for Box<Error> {
    fn from(error: Box<koppel::Error>) -> Self {
        Box::new(Error::Engine(error))
    }
}

impl From<Box<koppel_io::Error>> for Box<Error> {
    fn from(error: Box<koppel_io::Error>) -> Self {
        Box::new(Error::File(error))
    }
}

impl From<Box<koppel_fmi::Error>> for Box<Error> {
    fn from(error: Box<koppel_fmi::Error>) -> Self {
        Box::new(Error::Fmu(error))
    }
}

//! What can go wrong with a study.

use std::path::PathBuf;

use koppel::diagnostic::{Diagnostic, Place};

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a study ended; its text names what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, or something in it.
    #[error("{0}")]
    File(Box<koppel_io::Error>),

    /// More than anybody waits for.
    #[error(
        "the study is large: {runs} runs{}",
        hours.map_or(String::new(), |hours| format!(", about {hours:.0} h on this machine"))
    )]
    TooLarge {
        /// Runs of this part.
        runs: u64,
        /// Hours, as far as is known.
        hours: Option<f64>,
    },

    /// The plan has more runs than can be counted.
    #[error("the study has more than 1e12 runs")]
    Countless,

    /// The folder holds runs of another study.
    #[error(
        "`{}` holds runs of another study: {} changed since",
        folder.display(), what.join(", ")
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What is different.
        what: Vec<String>,
    },

    /// Nothing to look at.
    #[error("`{}` holds no study: there is no `runs.log` with a whole first line", folder.display())]
    NoStudy {
        /// The folder.
        folder: PathBuf,
    },

    /// Parts of different studies.
    #[error("`{}` and `{}` are not parts of one study: {} differ", first.display(), other.display(), what.join(", "))]
    Different {
        /// One folder.
        first: PathBuf,
        /// The other.
        other: PathBuf,
        /// What is different.
        what: Vec<String>,
    },

    /// The same run with different results.
    #[error("run {run} is in `{}` and in `{}`, with different results", first.display(), other.display())]
    Contradiction {
        /// The run.
        run: u64,
        /// One folder.
        first: PathBuf,
        /// The other.
        other: PathBuf,
    },
}

impl From<Box<koppel_io::Error>> for Error {
    fn from(error: Box<koppel_io::Error>) -> Self {
        Error::File(error)
    }
}

impl Diagnostic for Error {
    fn inner(&self) -> Option<&dyn Diagnostic> {
        match self {
            Error::File(error) => Some(&**error),
            _ => None,
        }
    }

    fn place(&self) -> Place {
        match self {
            Error::File(error) => error.place(),
            Error::Changed { folder, .. } | Error::NoStudy { folder } => Place::file(folder),
            Error::Different { other, .. } | Error::Contradiction { other, .. } => Place::file(other),
            Error::TooLarge { .. } | Error::Countless => Place::default(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::File(error) => return error.hints(),
            Error::TooLarge { .. } => {
                "fewer levels or runs, --shard k/n on several machines, or --accept-large; finished runs are kept"
            }
            Error::Countless => "give factors fewer values, or use kind = \"latin-hypercube\"",
            Error::Changed { .. } => {
                "choose another folder with --out, or delete this one to start again; its runs are untouched"
            }
            Error::NoStudy { .. } => "name the folder that `koppel study FILE --out FOLDER` wrote",
            Error::Different { .. } => "run all parts with the same files and the same koppel",
            Error::Contradiction { .. } => {
                "a model of this system is not repeatable, or a file changed; merge only one of them"
            }
        };
        vec![hint.to_owned()]
    }
}

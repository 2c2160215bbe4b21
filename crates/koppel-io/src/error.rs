//! What can go wrong when reading and writing files.

use std::io;
use std::path::{Path, PathBuf};

use koppel::diagnostic::{Diagnostic, Place};

use crate::system_file::Mistakes;

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// An error of reading or writing a file; its text names the file and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The answer of the operating system.
        source: io::Error,
    },

    /// A file of another kind is taken for a system file.
    #[error("`{}` is {what}, not a system file", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What can be done with it.
        hint: String,
    },

    /// The file name ends in nothing koppel knows.
    #[error("`{}` is not a known kind of result file", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },

    /// Parquet was left out of this build.
    #[error("cannot use `{}`: this koppel was built without Parquet", path.display())]
    ParquetMissing {
        /// The file.
        path: PathBuf,
    },

    /// Two columns have one name.
    #[error("column `{name}` of `{}` appears twice", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },

    /// Another process is writing the same result.
    #[error("`{}` is being written by another process", path.display())]
    InUse {
        /// The part file.
        path: PathBuf,
    },

    /// An earlier write failed, so rows are missing.
    #[error("`{}` is incomplete because an earlier write failed", path.display())]
    Incomplete {
        /// The part file.
        path: PathBuf,
    },

    /// A file to recover is not a part file.
    #[error("`{}` is not the part file of an interrupted run: {reason}", path.display())]
    NotAPart {
        /// The file.
        path: PathBuf,
        /// Why it is not.
        reason: &'static str,
    },

    /// A part file holds not even a header.
    #[error("nothing to recover in `{}`: it ends before its header is complete", path.display())]
    NothingToRecover {
        /// The part file.
        path: PathBuf,
    },

    /// Recovering would replace a file nobody named.
    #[error("`{}` already exists and would be replaced", path.display())]
    OutputExists {
        /// The existing file.
        path: PathBuf,
    },

    /// Neither a part file nor a result to continue.
    #[error("cannot continue `{}`: neither it nor `{}` exists", path.display(), part.display())]
    NothingToResume {
        /// The result file.
        path: PathBuf,
        /// Its part file.
        part: PathBuf,
    },

    /// The file to continue ends before the checkpoint.
    #[error("cannot continue `{}`: it holds {found} rows, the checkpoint needs {needed}", path.display())]
    ResumeTooShort {
        /// The file.
        path: PathBuf,
        /// Rows in the file.
        found: u64,
        /// Rows of the checkpoint.
        needed: u64,
    },

    /// The file to continue has other columns.
    #[error("cannot continue `{}`: its columns are {found:?}, the run records {expected:?}", path.display())]
    ResumeColumns {
        /// The file.
        path: PathBuf,
        /// Columns of the run.
        expected: Vec<String>,
        /// Columns of the file.
        found: Vec<String>,
    },

    /// A table has no header.
    #[error("`{}` has no header line", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },

    /// A line of a CSV file is too short or too long.
    #[error("`{}`, line {line}: {found} fields, but the header names {expected} columns", path.display())]
    FieldCount {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },

    /// A field of a CSV file is not a number.
    #[error("`{}`, line {line}, column `{column}`: `{text}` is not a number", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// What stands there.
        text: String,
    },

    /// The CSV text itself is broken.
    #[error("cannot read `{}` as CSV: {source}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What the CSV reader says.
        source: csv::Error,
    },

    /// Metadata is not the JSON it should be.
    #[error("cannot read the metadata in `{}`: {source}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What the JSON reader says.
        source: serde_json::Error,
    },

    /// Mistakes in a system file or an option that replaces a part of it.
    #[error("{0}")]
    File(Box<Mistakes>),

    /// A system structure (SSP) that is not as it should be, without a place in a text.
    #[error("{message}")]
    Structure {
        /// What is wrong.
        message: String,
        /// What to do.
        hints: Vec<String>,
    },

    /// Chosen settings that a file cannot take.
    #[error("the settings cannot be written into `{}`: {reason}", path.display())]
    NotApplied {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to do.
        hint: String,
    },

    /// The engine refused something that stands nowhere in the file.
    #[error("{0}")]
    Engine(Box<koppel::Error>),

    /// A Parquet file is broken or could not be written.
    #[cfg(feature = "parquet")]
    #[error("cannot {action} `{}`: {reason}", path.display())]
    Parquet {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the Parquet library says.
        reason: String,
    },

    /// A column of a Parquet file holds no numbers.
    #[cfg(feature = "parquet")]
    #[error("`{}`, column `{column}`: holds {found}, not Float64", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Its Arrow type.
        found: String,
    },
}

impl Error {
    /// Turns the answer of the operating system into an error: `.map_err(Error::io("write", path))`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Box<Self> {
        move |source| Box::new(Self::Io { action, path: path.to_path_buf(), source })
    }

    /// What to do about it, when there is more to say than the message.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Io { action, path, source } => return io_hint(action, source, path),
            Error::OtherKind { hint, .. } | Error::NotApplied { hint, .. } => return Some(hint.clone()),
            Error::Incomplete { path } => {
                return Some(format!("`koppel recover {}` keeps the rows written before", path.display()));
            }
            Error::File(mistakes) => return mistakes.first().hints.first().cloned(),
            Error::Structure { hints, .. } => return hints.first().cloned(),
            Error::Engine(error) => return error.hint(),
            Error::UnknownFormat { .. } => "end the name in `.csv` or `.parquet`",
            Error::ParquetMissing { .. } => "write a `.csv` file, or build with `--features parquet`",
            Error::DuplicateColumn { .. } => "every recorded signal needs its own name, and `time` is taken",
            Error::InUse { .. } => "wait for that run to end, or choose another output file",
            Error::NotAPart { .. } => "name the file that ends in `.part`",
            Error::OutputExists { .. } => "name another file with --out, or this one to replace it",
            Error::NothingToResume { .. } => "start the run again",
            Error::ResumeTooShort { .. } => {
                "it belongs to another run, or its end was lost; start the run again"
            }
            Error::ResumeColumns { .. } => "record the same signals as the interrupted run",
            Error::NoHeader { .. } => "the first line names the columns, the first column is the time",
            Error::NotANumber { .. } => {
                "numbers look like `-1.5e-3`, `NaN`, `inf`; fields are separated by commas"
            }
            Error::NothingToRecover { .. }
            | Error::FieldCount { .. }
            | Error::Csv { .. }
            | Error::Metadata { .. } => return None,
            #[cfg(feature = "parquet")]
            Error::Parquet { .. } | Error::ColumnType { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl Diagnostic for Error {
    fn inner(&self) -> Option<&dyn Diagnostic> {
        match self {
            Error::File(mistakes) => Some(&**mistakes),
            Error::Engine(error) => Some(&**error),
            _ => None,
        }
    }

    fn place(&self) -> Place {
        match self {
            Error::File(mistakes) => mistakes.place(),
            Error::Engine(error) => error.place(),
            Error::Structure { .. } => Place::default(),
            Error::FieldCount { path, line, .. } => Place { line: *line as usize, ..Place::file(path) },
            Error::NotANumber { path, line, column, .. } => {
                Place { line: *line as usize, ..Place::file(path) }.variable(column)
            }
            Error::DuplicateColumn { path, name } => Place::file(path).variable(name),
            Error::Io { path, .. }
            | Error::OtherKind { path, .. }
            | Error::UnknownFormat { path }
            | Error::ParquetMissing { path }
            | Error::InUse { path }
            | Error::Incomplete { path }
            | Error::NotAPart { path, .. }
            | Error::NothingToRecover { path }
            | Error::OutputExists { path }
            | Error::NothingToResume { path, .. }
            | Error::ResumeTooShort { path, .. }
            | Error::ResumeColumns { path, .. }
            | Error::NoHeader { path }
            | Error::Csv { path, .. }
            | Error::Metadata { path, .. }
            | Error::NotApplied { path, .. } => Place::file(path),
            #[cfg(feature = "parquet")]
            Error::Parquet { path, .. } => Place::file(path),
            #[cfg(feature = "parquet")]
            Error::ColumnType { path, column, .. } => Place::file(path).variable(column),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Error::File(mistakes) => mistakes.hints(),
            Error::Structure { hints, .. } => hints.clone(),
            Error::Engine(error) => error.hints(),
            other => other.hint().into_iter().collect(),
        }
    }
}

/// What to do about the usual refusals.
fn io_hint(action: &str, source: &io::Error, path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.display().to_string(),
        _ => ".".to_string(),
    };
    Some(match source.kind() {
        io::ErrorKind::NotFound if !Path::new(&folder).exists() => {
            format!("the folder `{folder}` does not exist; create it first")
        }
        io::ErrorKind::PermissionDenied if matches!(action, "read" | "open") => {
            format!("you may not read it; look at its permissions (`ls -l {}`)", path.display())
        }
        io::ErrorKind::InvalidData => "it must be text in UTF-8".to_string(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("`{folder}` may not be written; choose another output folder")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            if path.extension().is_some_and(|e| e == "part") =>
        {
            format!(
                "the disk of `{folder}` is full; free some space, then `koppel recover` keeps what was written"
            )
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("the disk of `{folder}` is full; free some space or choose another folder")
        }
        io::ErrorKind::NotADirectory => format!("`{folder}` is a file, not a folder"),
        io::ErrorKind::IsADirectory => "this is a folder; name a file in it".to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_what_to_do() {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let error = Error::io("write", Path::new("runs/a.csv.part"))(source);
        assert!(error.to_string().contains("cannot write `runs/a.csv.part`"), "{error}");
        assert!(error.hint().unwrap().contains("disk of `runs` is full"), "{:?}", error.hint());
    }
}

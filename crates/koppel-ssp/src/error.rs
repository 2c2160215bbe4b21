//! What can go wrong.

use crate::finding::{Documents, Finding, Severity};
use koppel::diagnostic::{Diagnostic, Place};
use std::path::PathBuf;

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// A user's mistake or a file that is not as it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },

    #[error("{archive}: {problem}")]
    Archive { archive: String, problem: String },

    #[error("{}", join(findings))]
    Invalid { findings: Vec<Finding>, documents: Documents },

    #[error("there is no `{path}` in {package}")]
    NoSuchFile { path: String, package: String },

    #[error("cannot write `{name}`: {problem}")]
    NotWritable { name: String, problem: String },
}

impl Error {
    /// The findings, if it is about the content of a file.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Error::Invalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

fn join(findings: &[Finding]) -> String {
    let errors: Vec<_> =
        findings.iter().filter(|f| f.severity == Severity::Error).map(ToString::to_string).collect();
    errors.join("\n")
}

impl Diagnostic for Error {
    fn place(&self) -> Place {
        match self {
            Error::Io { path, .. } => Place::file(path),
            Error::Archive { archive: file, .. }
            | Error::NoSuchFile { path: file, .. }
            | Error::NotWritable { name: file, .. } => Place { file: Some(file.clone()), ..Place::default() },
            Error::Invalid { findings, .. } => {
                let first = findings.iter().find(|finding| finding.severity == Severity::Error);
                first.map_or_else(Place::default, |found| Place {
                    file: Some(found.file.clone()),
                    line: found.line as usize,
                    column: found.column as usize,
                    ..Place::default()
                })
            }
        }
    }
}

//! Exceptions.

use std::fmt::Display;

use koppel_io::Error as Io;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(
    koppel,
    Error,
    PyException,
    "A file, a setting or an FMU is wrong; the text names the place and what to do."
);
create_exception!(koppel, RunError, Error, "A run failed on the way; `result` has everything up to then.");

/// An error whose text says it all.
pub(crate) fn plain(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// Text with place and hint.
pub(crate) fn io(error: Box<Io>) -> PyErr {
    let mistake = match &*error {
        Io::File(mistake) => mistake,
        Io::Engine(error) => return Error::new_err(words(error)),
        _ => return plain(error),
    };
    let (line, column) = mistake.line_column();
    let hint = mistake.hint.as_ref().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
    Error::new_err(format!("{}:{line}:{column}: {}{hint}", mistake.place, mistake.message))
}

/// An error of a study.
pub(crate) fn study(error: koppel_study::Error) -> PyErr {
    match error {
        koppel_study::Error::File(error) => io(error),
        other => plain(other),
    }
}

fn words(error: &koppel::Error) -> String {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
    format!("{error}{hint}")
}

/// The failure of a run that has rows already.
pub(crate) fn run(py: Python<'_>, error: &koppel::Error, result: Py<crate::result::Result>) -> PyErr {
    let raised = RunError::new_err(words(error));
    match raised.value(py).setattr("result", result) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

//! Exceptions.

use std::fmt::Display;

use koppel::diagnostic::{Diagnosis, Diagnostic, render};
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
create_exception!(koppel, RunError, Error, "A run failed; `result` has everything up to the failure.");

/// An error whose text says it all.
pub(crate) fn plain(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// What, where and what to do, as text and as attributes: `mistakes` is a list of them, with the keys `message`, `hints`, `place`,
/// `time` and `known` as far as they are known.
pub(crate) fn diagnostic(error: &dyn Diagnostic) -> PyErr {
    with_mistakes(Error::new_err(render(error)), error)
}

/// An error of a file.
#[expect(clippy::boxed_local, reason = "errors come in boxes, and go to `map_err`")]
pub(crate) fn io(error: Box<Io>) -> PyErr {
    diagnostic(&*error)
}

/// An error of a study.
pub(crate) fn study(error: koppel_study::Error) -> PyErr {
    diagnostic(&error)
}

fn with_mistakes(raised: PyErr, error: &dyn Diagnostic) -> PyErr {
    let put = |py: Python<'_>| {
        let mistakes = crate::python(py, &Diagnosis::all(error))?;
        raised.value(py).setattr("mistakes", mistakes)
    };
    Python::attach(put).err().unwrap_or(raised)
}

/// The failure of a run that has rows already.
pub(crate) fn run(py: Python<'_>, error: &koppel::Error, result: Py<crate::result::Result>) -> PyErr {
    let raised = with_mistakes(RunError::new_err(render(error)), error);
    match raised.value(py).setattr("result", result) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

//! What FMUs say, and what is known of them from earlier runs.

use std::path::PathBuf;
use std::sync::Arc;

use koppel_fmi::ffi::{LogMessage, Status};
use koppel_session::FmuLog;
use koppel_session::probe_cache::ProbeCache;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Name of the logger that gets the messages of FMUs.
const LOGGER: &str = "koppel.fmu";
/// Levels of Python's `logging`.
const DEBUG: u32 = 10;
const INFO: u32 = 20;
const WARNING: u32 = 30;
const ERROR: u32 = 40;
const CRITICAL: u32 = 50;

/// Sends messages to the logger; FMUs are asked for debug messages if it wants them.
pub(crate) fn log(py: Python<'_>) -> PyResult<FmuLog> {
    let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
    let is_debug = logger.call_method1("isEnabledFor", (DEBUG,))?.extract()?;
    let logger = logger.unbind();
    let hear = move |message: &LogMessage| {
        // Nobody listens any more while the interpreter ends.
        Python::try_attach(|py| {
            if let Err(error) = tell(logger.bind(py), message) {
                error.write_unraisable(py, Some(logger.bind(py)));
            }
        });
    };
    Ok(FmuLog::new(Arc::new(hear), is_debug))
}

fn tell(logger: &Bound<'_, PyAny>, message: &LogMessage) -> PyResult<()> {
    let level = match message.status {
        Status::Ok | Status::Pending => INFO,
        Status::Warning => WARNING,
        Status::Fatal => CRITICAL,
        _ => ERROR,
    };
    let LogMessage { instance, time, category, text, .. } = message;
    let more = PyDict::new(logger.py());
    more.set_item("subsystem", instance)?;
    more.set_item("time", time)?;
    more.set_item("category", category)?;
    let named = PyDict::new(logger.py());
    named.set_item("extra", more)?;
    let arguments = (level, "`%s` at t = %.12g s [%s]: %s", instance, time, category, text);
    logger.call_method("log", arguments, Some(&named)).map(|_| ())
}

/// The cache that `given` means: True for the usual one, False for none, or its folder.
pub(crate) fn cache(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<ProbeCache>>> {
    let folder = match given.map(|given| (given, given.extract::<bool>())) {
        None | Some((_, Ok(true))) => ProbeCache::usual_folder(),
        Some((_, Ok(false))) => None,
        Some((given, Err(_))) => {
            let what = "cache: give True, False or a folder";
            Some(given.extract::<PathBuf>().map_err(|_| PyTypeError::new_err(what))?)
        }
    };
    Ok(folder.map(|folder| Arc::new(ProbeCache::new(&folder))))
}

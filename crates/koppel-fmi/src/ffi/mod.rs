//! The only unsafe code: function tables of FMI 2.0 and 3.0, and instances that call them.
//!
//! A library is opened once with RTLD_NOW | RTLD_LOCAL, every symbol is resolved into a table of function pointers, and
//! the library is never unloaded, since it may have thread-local destructors. [`Instance`] wraps the calls: lengths are
//! checked, states are owned, a status becomes a `Result` with the name of the call, and after a fatal status nothing is
//! called any more. What the versions do alike is said once, over the functions they share ([`Functions`]); `fmi2.rs` and
//! `fmi3.rs` hold what only one of them has.
//!
//! What no wrapper can check: that the library is what its description says. Loading an FMU is trusting its code.
#![expect(unsafe_code, reason = "calls into C libraries")]

mod float_mode;
mod fmi2;
mod fmi3;
mod instance;
mod log;
mod plain;
#[cfg(unix)]
mod python;
#[cfg(target_os = "linux")]
mod stack;
mod stepping;
mod surroundings;
mod table;
mod trace;
mod values;

pub use crate::description::Kind;
pub use instance::Functions;
pub(crate) use instance::{Experiment, Instance};
pub(crate) use log::{Log, tail};
pub use log::{LogMessage, LogSink};
pub(crate) use plain::StepCall;
pub(crate) use stepping::{Moment, StepInfo};
pub use surroundings::{Surroundings, be_punctual, keep_signal_handlers};
pub(crate) use trace::announce;
#[cfg(target_os = "linux")]
pub(crate) use trace::{Calls, announce_instances_to, call_name, note_calls_in};
pub(crate) use values::{Buffers, IntervalQualifier, Memory, Number};

use libloading::Library;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// What an instance is made with.
pub(crate) struct Instantiation<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    pub(crate) token: &'a str,
    /// FMI 2.0: a `file:` URI; FMI 3.0: a path that ends with a separator.
    pub(crate) resources: &'a str,
    pub(crate) debug_logging: bool,
    pub(crate) log: Arc<Log>,
    /// FMI 3.0: variables set or read inside steps; `None` for an FMU without intermediate updates.
    pub(crate) intermediate: Option<&'a [u32]>,
    /// FMI 3.0: the importer handles events.
    pub(crate) event_mode: bool,
    /// FMI 3.0: steps may end early.
    pub(crate) early_return: bool,
    /// Longest time for one call, for a supervisor.
    pub(crate) limit: Option<Duration>,
}

impl Instantiation<'_> {
    /// Name, token and resources for C.
    fn texts(&self, call: &'static str) -> Result<[CString; 3], CallError> {
        Ok([
            c_string(call, "the instance name", self.name)?,
            c_string(call, "the instantiation token", self.token)?,
            c_string(call, "the resource path", self.resources)?,
        ])
    }
}

/// What an event iteration came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventInfo {
    /// Another iteration is needed.
    pub needs_update: bool,
    /// The FMU wants to end the simulation.
    pub terminate: bool,
    /// Nominal values of continuous states have changed.
    pub nominals_changed: bool,
    /// Continuous states have jumped.
    pub values_changed: bool,
    /// Time of the next time event, if there is one.
    pub next_event: Option<f64>,
}

/// What the end of a solver's step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompletedStep {
    /// The FMU has a step event.
    pub enter_event_mode: bool,
    /// The FMU wants to end the simulation.
    pub terminate: bool,
}

/// What a call reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// All well.
    Ok,
    /// Done, with a message in the log.
    Warning,
    /// Not done, but the instance is unharmed.
    Discard,
    /// Not done, and the instance cannot go on.
    Error,
    /// All instances of this FMU are lost.
    Fatal,
    /// Still running (FMI 2.0).
    Pending,
    /// A number the standard does not know.
    Unknown(c_int),
}

/// Codes of calls that have done what was asked: OK and warning.
const OK: std::ops::RangeInclusive<c_int> = 0..=1;

impl From<c_int> for Status {
    fn from(code: c_int) -> Status {
        match code {
            0 => Status::Ok,
            1 => Status::Warning,
            2 => Status::Discard,
            3 => Status::Error,
            4 => Status::Fatal,
            5 => Status::Pending,
            other => Status::Unknown(other),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Status::Ok => f.write_str("OK"),
            Status::Warning => f.write_str("warning"),
            Status::Discard => f.write_str("discard"),
            Status::Error => f.write_str("error"),
            Status::Fatal => f.write_str("fatal"),
            Status::Pending => f.write_str("pending"),
            Status::Unknown(code) => write!(f, "unknown status {code}"),
        }
    }
}

/// A call that did not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum CallError {
    #[error("{call} returned {status}{}", log::tail(.messages))]
    Status { call: &'static str, status: Status, messages: Vec<LogMessage> },
    #[error("{call} is not in its library")]
    Missing { call: &'static str },
    #[error("{call} cannot be called after a fatal status")]
    Dead { call: &'static str },
    #[error("{call} returned no instance{}", log::tail(.messages))]
    NoInstance { call: &'static str, messages: Vec<LogMessage> },
    #[error("{call}: {what} contains a zero byte")]
    ZeroByte { call: &'static str, what: &'static str },
    #[error("{call} returned no state")]
    NoState { call: &'static str },
    #[error("{call}, under Wine: {reason}")]
    Remote { call: &'static str, reason: String },
}

impl CallError {
    /// What happened, without what the FMU logged.
    pub fn headline(&self) -> String {
        match self {
            CallError::Status { call, status, .. } => format!("{call} returned {status}"),
            CallError::NoInstance { call, .. } => format!("{call} returned no instance"),
            other => other.to_string(),
        }
    }
}

/// Why a plain step did not get to its end. Boxed, since errors travel through every call that succeeds.
pub(crate) enum Interruption {
    Failed(CallError),
    Stopped(StepInfo),
}

impl Interruption {
    #[cold]
    fn of(error: CallError) -> Box<Interruption> {
        Box::new(Interruption::Failed(error))
    }
}

/// Why a library could not be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum LoadError {
    #[error("`{}` cannot be loaded: {reason}", .path.display())]
    Open { path: PathBuf, reason: String },
    #[error("`{}` has no function `{symbol}`", .path.display())]
    Symbol { path: PathBuf, symbol: &'static str },
}

impl LoadError {
    /// With paths as seen from this folder.
    pub(crate) fn within(self, folder: &Path) -> LoadError {
        let nearer = |path: PathBuf| path.strip_prefix(folder).map(Path::to_path_buf).unwrap_or(path);
        match self {
            LoadError::Open { path, reason } => {
                let reason = reason.replace(&format!("{}/", folder.display()), "");
                LoadError::Open { path: nearer(path), reason }
            }
            LoadError::Symbol { path, symbol } => LoadError::Symbol { path: nearer(path), symbol },
        }
    }
}

/// Opens a library for good.
fn open(path: &Path) -> Result<Library, LoadError> {
    let failed = |reason| LoadError::Open { path: path.into(), reason };
    let library = match open_once(path) {
        Ok(library) => Ok(library),
        #[cfg(unix)]
        Err(reason) if python::is_wanted(&reason) => {
            let python = |problem| failed(format!("it needs the Python library ({problem})\n  {reason}"));
            python::load().map_err(python)?;
            open_once(path).map_err(failed)
        }
        Err(reason) => Err(failed(reason)),
    };
    if !float_mode::is_standard() {
        float_mode::restore();
    }
    library
}

#[cfg(unix)]
fn open_once(path: &Path) -> Result<Library, String> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: running the library's initialisers is what loading an FMU means; the caller chose to trust it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library.map(Into::into).map_err(|error| reason(&error))
}

#[cfg(windows)]
fn open_once(path: &Path) -> Result<Library, String> {
    use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
    // SAFETY: running the library's initialisers is what loading an FMU means; the caller chose to trust it. The flag makes
    // the library's own folder the place to look for what it needs.
    let library = unsafe { Library::load_with_flags(path, LOAD_WITH_ALTERED_SEARCH_PATH) };
    library.map(Into::into).map_err(|error| reason(&error))
}

/// What the system said.
fn reason(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A pointer from or for C with one owner.
struct Owned<T>(NonNull<T>);

impl<T> Owned<T> {
    fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

// SAFETY: the rule of both standards: calls into one instance may come from any thread, but only from one at a time. The
// pointer has one owner, which is not `Sync`, so the borrow checker keeps the rule. (FMUs that break it by using
// thread-local storage must be isolated in a process of their own.)
unsafe impl<T> Send for Owned<T> {}

/// A saved state of an instance, to be given back to that instance.
pub(crate) struct State(Owned<c_void>);

impl State {
    /// Unless it is null.
    fn of(raw: *mut c_void) -> Option<State> {
        NonNull::new(raw).map(|raw| State(Owned(raw)))
    }
}

/// A text for C.
fn c_string(call: &'static str, what: &'static str, text: &str) -> Result<CString, CallError> {
    CString::new(text).map_err(|_| CallError::ZeroByte { call, what })
}

/// A text from C.
///
/// # Safety
///
/// `text` is null or points to a string that ends with a zero byte and lives during the call.
unsafe fn text_from(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

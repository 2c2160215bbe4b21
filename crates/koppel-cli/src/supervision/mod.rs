//! Commands that run FMUs work under a supervisor: this program started once more, which computes, while the first one keeps result files, signals,
//! messages and the exit code.
//!
//! | file          | what                                                                         |
//! | ------------- | ---------------------------------------------------------------------------- |
//! | `request.rs`  | what the working process asks of its supervisor, as plain data                 |
//! | `remote.rs`   | the working process: results, messages and signals that are the supervisor's |
//! | `oversee.rs`  | the supervisor: answers, writes rows, and says how the other has ended         |
//!
//! Whatever an FMU does in the working process (a crash, `exit`, a hang, closed files), the rows so far are completed, the message names the call, and
//! the exit code tells of it. Linux only; elsewhere, and with `--in-process`, everything happens in one process.

#[cfg(target_os = "linux")]
mod oversee;
mod remote;
mod request;

pub(crate) use remote::{
    Refusal, Remote, casualties, is_asked, listen, observe, print, promise_report, run_is_over, say,
};

use std::ffi::OsString;

/// The first argument of a process that works under a supervisor; the number of the supervisor comes next.
const SUPERVISED: &str = "supervised";

/// Arguments as the user gave them, and whether this process works under a supervisor.
pub(crate) struct Given {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) is_supervised: bool,
}

/// Finds out what this process is for.
///
/// # Errors
///
/// If it claims to have a supervisor and has none.
pub(crate) fn given() -> std::io::Result<Given> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let is_supervised = arguments.get(1).is_some_and(|first| first == SUPERVISED);
    if is_supervised {
        remote::begin(&arguments.get(2).map(|parent| parent.to_string_lossy()).unwrap_or_default())?;
        arguments.drain(1..3);
    }
    Ok(Given { arguments, is_supervised })
}

/// Has the command carried out by a process under this one; `None` if that is not possible here.
#[cfg(target_os = "linux")]
pub(crate) fn oversee(given: &Given, as_json: bool) -> Option<std::process::ExitCode> {
    oversee::oversee(given.arguments.get(1..).unwrap_or_default(), as_json)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn oversee(_: &Given, _: bool) -> Option<std::process::ExitCode> {
    None
}

/// Tells the supervisor that all is done.
pub(crate) fn leave(code: crate::exit::Exit) {
    remote::leave(code);
}

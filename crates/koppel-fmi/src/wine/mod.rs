//! Windows FMUs on Linux: the library runs in a process of its own under Wine, the rest of the FMU here.
//!
//! A third way to call an FMU, beside the library in this process and the isolated instance. It works at the level of FMI
//! functions: the table of a Windows library holds functions of this module (`stubs.rs`), which pass their arguments to a small
//! Windows program and come back with its answer. All that stands above the table (start values, events, model exchange,
//! trials) is the same as for any other FMU.
//!
//! ```text
//! Instance -> table of functions -> stubs.rs -> remote.rs -> shared memory -> worker.exe (windows/worker.c) -> FMU
//! ```
//!
//! | file         | what                                                                                     |
//! | ------------ | ---------------------------------------------------------------------------------------- |
//! | `library.rs` | what a Windows library exports and needs, read from its file                              |
//! | `setup.rs`   | where Wine, its folder and the worker program are                                         |
//! | `memory.rs`  | the file that both processes map; its layout is that of `windows/worker.c`                |
//! | `remote.rs`  | one process with one instance: calls, waiting, callbacks, its end                         |
//! | `stubs.rs`   | every function of FMI as one that calls the other process                                 |
//! | `plain.rs`   | a whole step (set, step, get) as one message                                              |
//!
//! A crash, `exit` or hang of the FMU ends its own process only.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "stands in for C functions and maps shared memory")
)]

#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod plain;
#[cfg(target_os = "linux")]
mod remote;
#[cfg(target_os = "linux")]
mod setup;
#[cfg(target_os = "linux")]
mod stubs;

#[cfg(target_os = "linux")]
pub(crate) use library::Library;
#[cfg(target_os = "linux")]
pub(crate) use plain::{PlainStep, Stopped};
#[cfg(target_os = "linux")]
pub(crate) use remote::{GONE, Remote};
#[cfg(target_os = "linux")]
pub use setup::Setup;
#[cfg(target_os = "linux")]
pub(crate) use stubs::{stub, with_remote};

use std::path::PathBuf;

/// Why no Windows FMU can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Trouble {
    #[error("Windows FMUs run on Linux with x86-64 only")]
    Platform,
    #[error("Wine was not found")]
    NoWine,
    #[error("koppel was built without its worker program for Windows, and there is none beside it")]
    NoWorker,
    #[error("there is no folder for Wine's files: HOME is not set")]
    NoFolder,
    #[error("Wine's files cannot be written to `{}`: {reason}", .folder.display())]
    Folder { folder: PathBuf, reason: String },
}

impl Trouble {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Trouble::Platform => None,
            Trouble::NoWine => Some(
                "install 64-bit Wine (Debian: `apt-get install wine64`), or name its program in KOPPEL_WINE",
            ),
            Trouble::NoWorker => Some(
                "install `gcc-mingw-w64-x86-64` and build koppel anew (`cargo clean -p koppel-fmi`), or name the program that `cargo xtask windows-worker` builds in KOPPEL_WINDOWS_WORKER",
            ),
            Trouble::NoFolder | Trouble::Folder { .. } => {
                Some("name a folder that can be written to in KOPPEL_WINEPREFIX")
            }
        }
    }
}

//! What an isolated FMU may reach outside of its process.
//!
//! | file       | what                                                                                        |
//! | ---------- | ------------------------------------------------------------------------------------------- |
//! | `files.rs` | Landlock: the folders it may write to, and read from                                         |
//! | `calls.rs` | seccomp: system calls that are refused                                                      |
//! | `entry.rs` | how a worker gets its memory and its sandbox before it has any other thread, and any FMU    |
//! | `door.rs`  | the parent's end of refused calls: who asked for what, and the key that allows it           |
//!
//! Nothing of it needs rights or programs beside the kernel. The worker restricts itself before it loads the FMU; what is
//! restricted once stays so for all threads and children.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(target_os = "linux")]
pub(super) mod calls;
#[cfg(target_os = "linux")]
pub(super) mod door;
#[cfg(target_os = "linux")]
pub(super) mod entry;
#[cfg(target_os = "linux")]
pub(super) mod files;

/// What an isolated FMU may reach outside of its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// How strict it is.
    pub confinement: Confinement,
    /// The FMU may use the network.
    pub network: bool,
    /// Folders and files it may write, beside its own.
    pub write: Vec<PathBuf>,
    /// Folders and files it may read where reading is limited, beside its own and those of the system.
    pub read: Vec<PathBuf>,
}

/// How strict a sandbox is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// Writes and system calls are limited as far as this kernel can do it.
    #[default]
    Usual,
    /// The same, and no FMU runs where the kernel cannot do all of it.
    Required,
    /// Required, and reading is limited, too.
    Strict,
    /// There is none.
    Off,
}

impl FromStr for Confinement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "on" => Confinement::Usual,
            "required" => Confinement::Required,
            "strict" => Confinement::Strict,
            "off" => Confinement::Off,
            _ => return Err("must be \"on\", \"required\", \"strict\" or \"off\"".into()),
        })
    }
}

impl Sandbox {
    /// None at all.
    #[must_use]
    pub fn off() -> Sandbox {
        Sandbox { confinement: Confinement::Off, ..Sandbox::default() }
    }
}

/// What this kernel offers, in words.
#[cfg(target_os = "linux")]
pub(super) fn abilities() -> String {
    match files::version() {
        Some(version) => format!("in a sandbox (Landlock {version})"),
        None => "this kernel has no Landlock: isolated FMUs can write files of the user".into(),
    }
}

/// Largest file an FMU may write, in bytes.
#[cfg(target_os = "linux")]
const LARGEST_FILE: u64 = 16 << 30;

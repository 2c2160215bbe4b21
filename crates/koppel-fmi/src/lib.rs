//! FMI 2.0 and 3.0 for koppel.
//!
//! * [`archive`]: opens and unpacks `.fmu` files without trusting them.
//! * [`description`]: `modelDescription.xml` and terminals of both versions as one plain data model.
//! * [`ffi`]: function tables of both versions, the only unsafe code.
//! * [`Fmu`]: an FMU unpacked and loaded.
//! * [`digest`]: what tells one file from another.
//! * [`import`]: its instances as subsystems of the engine.
//! * [`isolate`]: the same in processes of their own.
//! * [`probe`]: what of its declared capabilities holds.
//! * `supervise`: a process under a supervisor, which keeps what must outlive it.
//! * `wine`: Windows FMUs on Linux.
//! * [`xml`], [`percent`]: writing XML and addresses.

pub mod archive;
pub mod description;
pub mod digest;
mod error;
pub mod ffi;
mod fmu;
pub mod import;
pub mod isolate;
pub mod percent;
pub mod probe;
#[cfg(target_os = "linux")]
pub mod supervise;
pub mod wine;
pub mod xml;

pub use error::{Error, Result};
pub use ffi::{Surroundings, be_punctual, keep_signal_handlers};
pub use fmu::{Execution, Fmu, KeepOpen, platform};

/// True if this process works under a supervisor, which knows the call that is running.
#[must_use]
pub fn is_supervised() -> bool {
    #[cfg(target_os = "linux")]
    let is_supervised = supervise::supervised().is_some();
    #[cfg(not(target_os = "linux"))]
    let is_supervised = false;
    is_supervised
}

//! koppel's models and systems as FMUs.
//!
//! ```text
//! export -> X.fmu { modelDescription.xml, resources/, binaries/ = this crate as shared library }
//! importer -> c (fmi2*, fmi3*) -> instance -> body (a model, or a whole system with its coupling)
//! ```
//!
//! One library (the package `koppel-fmu-binary`) is the binary of every exported FMU; what an FMU is stands in its resources ([`plan`]). Exporter and
//! binary number the variables by the same function ([`interface`]), so that they cannot disagree.

mod body;
mod c;
mod error;
pub mod export;
mod instance;
mod interface;
mod plan;
mod polynomial;

pub use error::{Error, Result};

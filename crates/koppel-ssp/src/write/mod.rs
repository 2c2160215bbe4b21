//! Writes structures, parameter sets and archives.

mod package;
mod parameters;
mod structure;
mod xml;

pub use package::{ComponentDescription, PackageFile, Payload, SystemDescription, write_ssp};
pub use parameters::write_parameters;
pub use structure::write_structure;
pub(crate) use xml::escape_text;

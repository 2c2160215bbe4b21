//! Writes structures, parameter sets and archives.

mod package;
mod parameters;
mod structure;

pub use package::{ComponentDescription, PackageFile, Payload, SystemDescription, write_ssp};
pub use parameters::write_parameters;
pub use structure::write_structure;

use crate::error::{Error, Result};
use koppel_fmi::xml::Writer;

/// The document of this name as bytes.
fn finished(writer: Writer, name: &str) -> Result<Vec<u8>> {
    writer.finish().map(String::into_bytes).map_err(|text| {
        let problem = format!("`{}` has a character XML cannot hold", text.escape_debug());
        Error::NotWritable { name: name.to_owned(), problem }
    })
}

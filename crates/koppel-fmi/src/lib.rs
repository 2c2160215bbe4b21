//! FMI 2.0 and 3.0 for koppel.
//!
//! * [`archive`]: opens and unpacks `.fmu` files without trusting them.
//! * [`description`]: `modelDescription.xml` and terminals of both versions as one plain data model.

pub mod archive;
pub mod description;
mod error;

pub use error::{Error, Result};

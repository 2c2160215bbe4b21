//! FMI 2.0 and 3.0 for koppel.
//!
//! * [`archive`]: opens and unpacks `.fmu` files without trusting them.

pub mod archive;
mod error;

pub use error::{Error, Result};

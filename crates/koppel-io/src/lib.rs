//! System files, results and reports.

pub mod report;
pub mod results;

mod error;

pub use error::{Error, Result};

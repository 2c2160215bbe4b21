//! System files, results and reports.

mod canvas;
pub mod drawing;
pub mod front_plot;
pub mod heat_map;
pub mod levels;
pub mod model_file;
pub mod number;
pub mod plot;
pub mod report;
pub mod results;
pub mod stability_map;
pub mod system_file;

mod error;

pub use error::{Error, Result};

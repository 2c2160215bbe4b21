//! The experiments of the papers koppel's methods come from, reproduced.
//!
//! ```text
//! paper -> stages -> exhibits (a table or a figure: our numbers, the paper's, a verdict) -> CSV, SVG, pages, summary.json
//! ```
//!
//! | module       | what                                                          |
//! | ------------ | ------------------------------------------------------------- |
//! | `exhibit`    | one table or figure, and how its numbers compare              |
//! | `context`    | work on all cores, progress, and the wish to stop             |
//! | `course`     | runs of the engine, and their errors                          |
//! | `folder`     | what is written where                                         |
//! | `glumac`, .. | one module per paper                                          |
//!
//! Every figure is a run of the engine; the designs of experiments are study files of `koppel-study` (`studies/`).

#[path = "../../../crates/koppel/tests/common/cases/mod.rs"]
mod cases;
mod chen;
mod context;
mod course;
mod exhibit;
mod folder;
mod genser;
mod genser_benedikt;
mod glumac;
mod kuebler;
mod numerical_prestep;
mod paper;
// Shared with a test of the engine.
#[path = "../../../crates/koppel/tests/papers/watched.rs"]
mod watched;

pub use context::{Control, Progress};
pub use exhibit::{Comparison, Drawing, Exhibit, Verdict};
pub use folder::{Options, Outcome, reproduce};
pub use paper::Paper;

use std::path::PathBuf;

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why no exhibits were made; its text names what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine refused what a paper describes.
    #[error("{0}")]
    Engine(#[from] Box<koppel::Error>),
    /// A matrix without answer.
    #[error("{0}")]
    Linalg(#[from] koppel::linalg::LinalgError),
    /// A file.
    #[error("{0}")]
    File(#[from] Box<koppel_io::Error>),
    /// A study.
    #[error("{0}")]
    Study(#[from] koppel_study::Error),
    /// The folder belongs to somebody else.
    #[error(
        "`{}` is not empty and was not written by `cargo xtask papers`\n  hint: choose another folder with --out; nothing in it was touched",
        folder.display()
    )]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// The user wanted it to end.
    #[error("stopped")]
    Stopped,
}

//! What a working process asks of its supervisor, and what it is answered.

use std::path::PathBuf;

use koppel::diagnostic::Diagnosis;
use koppel_io::results::{Finished, Metadata};
use koppel_study::LostRuns;
use serde::{Deserialize, Serialize};

use crate::output::Sketch;

/// A request. All rows that were passed on before it are taken first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Ctrl-C ends the run in good order from now on.
    Listen,
    /// Starts a result file, or continues it after so many rows.
    Open { path: PathBuf, metadata: Box<Metadata>, rows: Option<u64> },
    /// Adds something to the metadata of the result file.
    Add { key: String, value: serde_json::Value },
    /// Brings all rows to the disk.
    Sync,
    /// Completes the result file.
    Finish,
    /// The page that the supervisor writes if the run ends its process.
    Promise(Box<Sketch>),
    /// What earlier processes of a study came to.
    LostRuns,
    /// Nothing is left that Ctrl-C could end in good order.
    RunIsOver,
    /// Text for standard output.
    Print(String),
    /// All is done; the exit code.
    Leave(u8),
}

/// The number of notes that are text for standard error: nobody waits for it to be written. Other numbers are runs of a study.
pub(super) const TEXT: u64 = u64::MAX;

/// What a request came to.
pub(super) type Answer = Result<Done, Vec<Diagnosis>>;

/// What is known of the result file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) notes: Vec<String>,
    pub(super) finished: Option<Finished>,
    pub(super) casualties: LostRuns,
}

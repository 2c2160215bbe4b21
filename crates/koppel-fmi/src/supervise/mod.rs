//! A process under a supervisor: one process computes, the other keeps what must outlive it.
//!
//! Whatever an FMU does to the process it runs in (a crash, `exit`, a hang, wild pointers, closed files), its supervisor has every row that was
//! passed on, and knows which call of which instance was running.
//!
//! ```text
//! supervisor                      shared memory                         supervised process
//! files, signals, exit code  <--  rows, requests        (stream.rs) <-- engine, FMUs in process
//!                            -->  replies               (stream.rs) -->
//!                                 calls that are running (ffi/trace.rs)
//! ```
//!
//! | file            | what                                                                    |
//! | --------------- | ----------------------------------------------------------------------- |
//! | `memory.rs`     | what the two processes share                                            |
//! | `stream.rs`     | frames of words in one direction                                        |
//! | `supervisor.rs` | the process that watches: starts the other, reads frames, sees it end   |
//! | `supervised.rs` | the process that works: writes frames, waits for replies                |
//! | `lifeline.rs`   | what it does when its supervisor is no more                             |
//!
//! Rows cost the supervised process no system call. The supervisor looks for them every few milliseconds; a request wakes it. Linux only.

mod lifeline;
mod memory;
mod stream;
mod supervised;
mod supervisor;

pub use supervised::{Supervised, begin, supervised};
pub use supervisor::{Event, Supervisor, Whereabouts};

use serde::{Deserialize, Serialize};

/// Set in the environment of the supervised process, and so of all it starts.
const MARK: &str = "KOPPEL_SUPERVISOR";

/// An instance of an FMU, as its supervisor knows it.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    name: String,
    /// Longest time for one call, in s.
    limit: Option<f64>,
}

/// What a frame is. The rest of its meaning is the business of those who send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Time and values.
    Row = 1,
    /// Bytes that belong to the next row.
    Aside = 2,
    /// Bytes that are to be answered.
    Request = 3,
    /// Bytes of an answer.
    Reply = 4,
    /// An instance: a number, then what is known of it.
    Name = 5,
    /// A number and bytes that need no answer.
    Note = 6,
}

impl Kind {
    fn of(number: u64) -> Option<Kind> {
        [Kind::Row, Kind::Aside, Kind::Request, Kind::Reply, Kind::Name, Kind::Note]
            .into_iter()
            .find(|kind| *kind as u64 == number)
    }
}

//! Work that takes long says what it is at.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::failure::note;

/// Says what is under way, if it takes long and somebody watches.
pub(super) struct Progress {
    /// What the command does.
    doing: &'static str,
    is_watched: bool,
    begin: Instant,
    last: Mutex<Duration>,
    last_result: Mutex<Duration>,
}

/// Time before the first note, and between two.
const FIRST: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two intermediate results.
const RESULTS: Duration = Duration::from_secs(10);

impl Progress {
    pub(super) fn new(doing: &'static str) -> Self {
        Progress {
            doing,
            is_watched: stderr().is_terminal(),
            begin: Instant::now(),
            last: Mutex::new(Duration::ZERO),
            last_result: Mutex::new(Duration::ZERO),
        }
    }

    /// Writes an intermediate result every now and then, also where nobody watches: it is all that is left of work that is ended.
    pub(super) fn result(&self, what: impl FnOnce() -> String) {
        let now = self.begin.elapsed();
        let Ok(mut last) = self.last_result.lock() else { return };
        if now >= *last + RESULTS {
            *last = now;
            note(self.doing, what());
        }
    }

    pub(super) fn report(&self, what: &str) {
        let now = self.begin.elapsed();
        let Ok(mut last) = self.last.lock() else { return };
        let wait = if *last == Duration::ZERO { FIRST } else { PATIENCE };
        if self.is_watched && now >= *last + wait {
            *last = now;
            note(self.doing, what);
        }
    }
}

//! Work that takes long says what it is at.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::failure::note;

/// Says what is under way, if it takes long and somebody watches.
pub(super) struct Told {
    /// What the command does.
    doing: &'static str,
    is_watched: bool,
    patience: Duration,
    begin: Instant,
    last: Mutex<Duration>,
}

/// Time between two notes.
const PATIENCE: Duration = Duration::from_secs(3);

impl Told {
    pub(super) fn new(doing: &'static str) -> Self {
        Told {
            doing,
            patience: PATIENCE,
            is_watched: stderr().is_terminal(),
            begin: Instant::now(),
            last: Mutex::new(Duration::ZERO),
        }
    }

    /// The same after so long.
    pub(super) fn after(self, patience: Duration) -> Self {
        Told { patience, ..self }
    }

    pub(super) fn about(&self, what: &str) {
        let now = self.begin.elapsed();
        let Ok(mut last) = self.last.lock() else { return };
        if self.is_watched && now >= *last + self.patience {
            *last = now;
            note(self.doing, what);
        }
    }
}

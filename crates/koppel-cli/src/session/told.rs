//! What is under way, told if it takes long and somebody watches.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::failure::note;

/// Tells now and then.
pub(crate) struct Told {
    kind: &'static str,
    is_watched: bool,
    begin: Instant,
    last: Mutex<Duration>,
}

/// Time between two notes.
const PATIENCE: Duration = Duration::from_secs(3);

impl Told {
    /// Notes begin with `kind`.
    pub(crate) fn new(kind: &'static str) -> Self {
        // For tests, and for those who keep a log.
        let is_watched = stderr().is_terminal() || std::env::var_os("KOPPEL_PROGRESS").is_some();
        Told { kind, is_watched, begin: Instant::now(), last: Mutex::new(Duration::ZERO) }
    }

    /// This is under way.
    pub(crate) fn about(&self, what: &str) {
        let now = self.begin.elapsed();
        let Ok(mut last) = self.last.lock() else { return };
        if self.is_watched && now >= *last + PATIENCE {
            *last = now;
            note(self.kind, what);
        }
    }
}

//! What FMUs say: shown on standard error with subsystem and time, as far as it is wanted and no more than can be read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use koppel_fmi::ffi::{LogMessage, Status};
use koppel_session::FmuLog;

use crate::failure::note;
use crate::output::significant;
use koppel::diagnostic::visible;

/// Which messages are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    /// None.
    Off,
    /// Errors.
    Error,
    /// Errors and warnings.
    #[default]
    Warning,
    /// Everything the FMUs say.
    Info,
    /// Everything, and FMUs are asked for their debug messages.
    Debug,
}

/// The messages of a run.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    level: LogLevel,
    has_new: AtomicBool,
    state: Mutex<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    waiting: Vec<String>,
    /// Per subsystem, how many messages there were.
    counts: BTreeMap<String, u64>,
}

impl Log {
    pub(crate) fn new(level: LogLevel) -> Self {
        Log(Arc::new(Inner { level, has_new: AtomicBool::new(false), state: Mutex::default() }))
    }

    /// Where FMUs are to say it.
    pub(crate) fn sink(&self) -> FmuLog {
        let inner = self.0.clone();
        let is_debug = inner.level == LogLevel::Debug;
        FmuLog::new(Arc::new(move |message: &LogMessage| inner.hear(message)), is_debug)
    }

    /// Shows what has been said since the last time.
    #[inline]
    pub(super) fn show(&self, aside: impl FnOnce(&dyn Fn())) {
        if self.0.has_new.load(Ordering::Relaxed) {
            self.show_new(aside);
        }
    }

    #[cold]
    fn show_new(&self, aside: impl FnOnce(&dyn Fn())) {
        self.0.has_new.store(false, Ordering::Relaxed);
        let lines = std::mem::take(&mut self.0.lock().waiting);
        aside(&|| lines.iter().for_each(|line| note("log", line)));
    }

    /// Shows what is left, and how much was kept back.
    pub(crate) fn end(&self) {
        self.show(|show| show());
        for (subsystem, count) in &self.0.lock().counts {
            let most = self.0.limit();
            if *count > most {
                let kept_back = count - most;
                note("log", format!("{kept_back} more messages of `{subsystem}` were not shown"));
            }
        }
    }
}

impl Inner {
    fn lock(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most messages shown of one subsystem.
    fn limit(&self) -> u64 {
        if self.level >= LogLevel::Info { 1000 } else { 20 }
    }

    fn hear(&self, message: &LogMessage) {
        let (level, word) = match message.status {
            Status::Ok | Status::Pending => (LogLevel::Info, "info"),
            Status::Warning => (LogLevel::Warning, "warning"),
            _ => (LogLevel::Error, "error"),
        };
        if level > self.level {
            return;
        }
        let mut state = self.lock();
        let count = state.counts.entry(message.instance.clone()).or_default();
        *count += 1;
        if *count > self.limit() {
            return;
        }
        let LogMessage { instance, category, text, .. } = message;
        let time = significant(message.time, 12);
        state.waiting.push(visible(&format!("`{instance}` at t = {time} s, {word} [{category}]: {text}")));
        self.has_new.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(status: Status, text: &str) -> LogMessage {
        LogMessage { instance: "a".into(), time: 0.5, status, category: "c".into(), text: text.into() }
    }

    #[test]
    fn levels_choose_and_floods_are_kept_back() {
        for (level, shown) in
            [(LogLevel::Off, 0), (LogLevel::Error, 1), (LogLevel::Warning, 2), (LogLevel::Info, 3)]
        {
            let log = Log::new(level);
            for status in [Status::Ok, Status::Warning, Status::Fatal] {
                log.0.hear(&message(status, "text"));
            }
            assert_eq!(log.0.lock().waiting.len(), shown, "{level:?}");
        }
        let log = Log::new(LogLevel::Warning);
        (0..50).for_each(|_| log.0.hear(&message(Status::Warning, "tired\u{1b}")));
        assert_eq!(log.0.lock().waiting.len(), 20);
        assert_eq!(log.0.lock().waiting[0], "`a` at t = 0.5 s, warning [c]: tired\\u{1b}");
        assert_eq!(log.0.lock().counts["a"], 50);
    }
}

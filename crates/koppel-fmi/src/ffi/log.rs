//! Messages of an instance, tied to its name and to simulated time.

use super::{Status, text_from, trace};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What an FMU says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogMessage {
    /// Name of the instance.
    pub instance: String,
    /// Simulated time of the call during which it was said.
    pub time: f64,
    /// How bad it is.
    pub status: Status,
    /// Category, one of the description's or anything else.
    pub category: String,
    /// The message.
    pub text: String,
}

impl LogMessage {
    /// What koppel itself says of an instance.
    pub(crate) fn of_koppel(instance: &str, time: f64, status: Status, text: String) -> LogMessage {
        LogMessage { instance: instance.into(), time, status, category: "koppel".into(), text }
    }
}

/// Receives messages, from any thread.
pub type LogSink = Arc<dyn Fn(&LogMessage) + Send + Sync>;

/// Messages kept for error reports.
const KEPT: usize = 20;

/// The log of one instance.
pub(crate) struct Log {
    instance: String,
    time: AtomicU64,
    sink: Option<LogSink>,
    has_warned: AtomicBool,
    recent: Mutex<VecDeque<LogMessage>>,
}

impl Log {
    pub(crate) fn new(instance: &str, sink: Option<LogSink>) -> Log {
        Log {
            instance: instance.into(),
            time: AtomicU64::new(0),
            sink,
            has_warned: AtomicBool::new(false),
            recent: Mutex::default(),
        }
    }

    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    pub(crate) fn set_time(&self, time: f64) {
        self.time.store(time.to_bits(), Ordering::Relaxed);
        trace::at(time);
    }

    pub(crate) fn time(&self) -> f64 {
        f64::from_bits(self.time.load(Ordering::Relaxed))
    }

    /// Takes what was said since the last time: warnings and errors, and of the rest what belongs to the present call.
    pub(crate) fn take(&self) -> Vec<LogMessage> {
        let now = self.time();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.drain(..).filter(|message| message.status != Status::Ok || message.time == now).collect()
    }

    /// Says once that a call has changed how this thread computes.
    #[cold]
    pub(super) fn warn_of_float_mode(&self, call: &str) {
        if let (false, Some(sink)) = (self.has_warned.swap(true, Ordering::Relaxed), &self.sink) {
            let text = format!(
                "{call} has changed the floating-point mode (rounding, flush to zero, traps or precision); koppel restores it"
            );
            sink(&LogMessage::of_koppel(&self.instance, self.time(), Status::Warning, text));
        }
    }

    pub(crate) fn add(&self, status: Status, category: String, text: String) {
        let time = self.time();
        let text = text.trim_end().to_owned();
        let message = LogMessage { instance: self.instance.clone(), time, status, category, text };
        if let Some(sink) = &self.sink {
            sink(&message);
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == KEPT {
            // What is only news goes first.
            let oldest = recent.iter().position(|message| message.status == Status::Ok).unwrap_or(0);
            recent.remove(oldest);
        }
        recent.push_back(message);
    }
}

/// The messages of an error, one per line.
pub(crate) fn tail(messages: &[LogMessage]) -> String {
    messages.iter().map(|message| format!("\n  log: [{}] {}", message.category, message.text)).collect()
}

/// What instances get as their environment. C reads the first field.
#[repr(C)]
pub(super) struct Environment {
    log: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char),
    pub(super) messages: Arc<Log>,
}

impl Environment {
    pub(super) fn new(messages: Arc<Log>) -> Environment {
        Environment { log: receive, messages }
    }
}

/// Called by the logger of FMI 2.0 with the formatted text.
///
/// # Safety
///
/// `environment` points to an [`Environment`] that is alive; the texts are null or end with a zero byte.
unsafe extern "C" fn receive(
    environment: *mut c_void,
    _instance: *const c_char,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: promised by the caller; the log itself may be used from any thread.
    unsafe { record(environment, status, category, text) }
}

/// Adds a message to the log of an environment.
///
/// # Safety
///
/// As for [`receive`].
pub(super) unsafe fn record(
    environment: *mut c_void,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: promised by the caller.
    let (environment, category, text) =
        unsafe { (environment.cast::<Environment>().as_ref(), text_from(category), text_from(text)) };
    if let Some(environment) = environment {
        environment.messages.add(status.into(), category, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_outlive_news_and_news_belong_to_the_present_call() {
        let log = Log::new("a", None);
        log.add(Status::Warning, "w".into(), "careful".into());
        (0..100).for_each(|k| log.add(Status::Ok, "i".into(), format!("news {k}")));
        log.set_time(0.5);
        log.add(Status::Ok, "i".into(), "now".into());
        log.add(Status::Error, "e".into(), "no".into());
        let texts: Vec<String> = log.take().into_iter().map(|message| message.text).collect();
        assert_eq!(texts, ["careful", "now", "no"]);
        assert_eq!(log.take(), []);
    }
}

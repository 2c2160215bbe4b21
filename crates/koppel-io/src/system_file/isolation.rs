//! `isolate`, `step_timeout` and `memory_limit`: of one FMU, or below `[run]` for all of them.

use std::time::Duration;

use koppel_fmi::isolate::{Isolation, MemoryLimit};

use super::mistake::{Mark, Marks};
use super::tree::{Node, Value};

/// The keys.
pub(super) const KEYS: [&str; 3] = ["isolate", "step_timeout", "memory_limit"];

/// Longest time for one call in a trial, if nothing is said.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is said about the isolation of an FMU, or of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Isolating {
    isolate: Option<bool>,
    step_timeout: Option<Duration>,
    memory_limit: Option<MemoryLimit>,
}

/// Reads the keys of a table that may have others.
pub(super) fn read(node: &Node) -> Result<Isolating, Marks> {
    let isolate = node.get("isolate").map(|node| node.flag("isolate"));
    let step_timeout = node.get("step_timeout").map(|node| {
        let seconds = node.number("step_timeout")?;
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        time.ok_or_else(|| Mark::new(node.span.clone(), "`step_timeout` must be a time above zero, in s"))
    });
    let memory_limit = node.get("memory_limit").map(|node| match &node.value {
        Value::Integer(bytes @ 1..) => Ok(MemoryLimit::Bytes(*bytes as u64)),
        Value::Text(text) => {
            let wrong = |problem| Mark::new(node.span.clone(), format!("`memory_limit` {problem}"));
            text.parse().map_err(wrong)
        }
        _ => Err(node.wanted("memory_limit", "an amount such as \"2 GiB\", or \"none\"")),
    });
    let mut marks = Marks::default();
    let isolating = Isolating {
        isolate: marks.note(isolate.transpose()).flatten(),
        step_timeout: marks.note(step_timeout.transpose()).flatten(),
        memory_limit: marks.note(memory_limit.transpose()).flatten(),
    };
    marks.or(isolating)
}

impl Isolating {
    /// These settings, and `others` for what they leave open.
    #[must_use]
    pub fn or(self, others: Isolating) -> Isolating {
        Isolating {
            isolate: self.isolate.or(others.isolate),
            step_timeout: self.step_timeout.or(others.step_timeout),
            memory_limit: self.memory_limit.or(others.memory_limit),
        }
    }

    /// How the FMU is isolated, if it is.
    #[must_use]
    pub fn isolation(self) -> Option<Isolation> {
        self.isolate.unwrap_or(false).then(|| self.limits())
    }

    /// How it is isolated where it must be.
    #[must_use]
    pub fn limits(self) -> Isolation {
        let memory_limit = self.memory_limit.unwrap_or_default();
        Isolation { step_timeout: self.step_timeout, memory_limit, ..Isolation::default() }
    }

    /// How copies are isolated on which something is tried.
    #[must_use]
    pub fn of_trials(self) -> Isolation {
        let step_timeout = Some(self.step_timeout.unwrap_or(PATIENCE));
        Isolation { step_timeout, is_quiet: true, ..self.limits() }
    }

    /// A limit that nothing enforces. A supervisor ends calls that take too long.
    pub(super) fn idle_limit(self) -> Option<&'static str> {
        match self {
            Isolating { isolate: Some(true), .. } => None,
            Isolating { step_timeout: Some(_), .. } if !koppel_fmi::is_supervised() => Some("step_timeout"),
            Isolating { memory_limit: Some(_), .. } => Some("memory_limit"),
            _ => None,
        }
    }
}

//! `isolate`, and what goes with it: of one FMU, or below `[run]` for all of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use koppel_fmi::isolate::{Confinement, Isolation, MemoryLimit, Sandbox};

use super::mistake::{Mark, Marks};
use super::tree::{Node, Value};

/// The keys.
pub const KEYS: [&str; 7] =
    ["isolate", "step_timeout", "memory_limit", "sandbox", "network", "write", "read"];

/// Longest time for one call in a trial, if nothing is said.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is said about the isolation of an FMU, or of all.
#[derive(Clone, Debug, Default)]
pub struct Isolating {
    isolate: Option<bool>,
    step_timeout: Option<Duration>,
    memory_limit: Option<MemoryLimit>,
    confinement: Option<Confinement>,
    network: Option<bool>,
    write: Option<Vec<PathBuf>>,
    read: Option<Vec<PathBuf>>,
}

/// Reads the keys of a table that may have others; paths begin at `folder`.
pub(super) fn read(node: &Node, folder: &Path) -> Result<Isolating, Marks> {
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
    let confinement = node.get("sandbox").map(|node| match &node.value {
        Value::Bool(true) => Ok(Confinement::Usual),
        Value::Bool(false) => Ok(Confinement::Off),
        Value::Text(text) => {
            let wrong = |problem| Mark::new(node.span.clone(), format!("`sandbox` {problem}"));
            text.parse().map_err(wrong)
        }
        _ => Err(node.wanted("sandbox", "true, false, \"required\" or \"strict\"")),
    });
    let network = node.get("network").map(|node| node.flag("network"));
    let write = node.get("write").map(|node| paths(node, "write", folder));
    let reading = node.get("read").map(|node| paths(node, "read", folder));
    let mut marks = Marks::default();
    let isolating = Isolating {
        isolate: marks.note(isolate.transpose()).flatten(),
        step_timeout: marks.note(step_timeout.transpose()).flatten(),
        memory_limit: marks.note(memory_limit.transpose()).flatten(),
        confinement: marks.note(confinement.transpose()).flatten(),
        network: marks.note(network.transpose()).flatten(),
        write: marks.note(write.transpose()).flatten(),
        read: marks.note(reading.transpose()).flatten(),
    };
    marks.or(isolating)
}

/// Folders and files, those of the system file beside it.
fn paths(node: &Node, key: &str, folder: &Path) -> Result<Vec<PathBuf>, Mark> {
    let one = |node: &Node| {
        let path = folder.join(node.text(key)?);
        std::fs::canonicalize(&path).map_err(|error| {
            let problem = format!("`{key}` names `{}`, which cannot be found: {error}", path.display());
            Mark::new(node.span.clone(), problem)
        })
    };
    node.list(key)?.iter().map(one).collect()
}

impl Isolating {
    /// These settings, and `others` for what they leave open.
    #[must_use]
    pub fn or(self, others: Isolating) -> Isolating {
        Isolating {
            isolate: self.isolate.or(others.isolate),
            step_timeout: self.step_timeout.or(others.step_timeout),
            memory_limit: self.memory_limit.or(others.memory_limit),
            confinement: self.confinement.or(others.confinement),
            network: self.network.or(others.network),
            write: self.write.or(others.write),
            read: self.read.or(others.read),
        }
    }

    /// How the FMU is isolated, if it is.
    #[must_use]
    pub fn isolation(self) -> Option<Isolation> {
        self.isolate.unwrap_or(false).then(|| self.limits())
    }

    /// How it is isolated where it must be. An FMU that may do everything in its run may do so in trials.
    #[must_use]
    pub fn limits(self) -> Isolation {
        let memory_limit = self.memory_limit.unwrap_or_default();
        let unsaid = if self.isolate == Some(true) { Confinement::Usual } else { Confinement::Off };
        let sandbox = Sandbox {
            confinement: self.confinement.unwrap_or(unsaid),
            network: self.network.unwrap_or(false),
            write: self.write.unwrap_or_default(),
            read: self.read.unwrap_or_default(),
        };
        Isolation { step_timeout: self.step_timeout, memory_limit, sandbox, ..Isolation::default() }
    }

    /// How copies are isolated on which something is tried.
    #[must_use]
    pub fn of_trials(self) -> Isolation {
        let limits = self.limits();
        Isolation { step_timeout: limits.step_timeout.or(Some(PATIENCE)), is_quiet: true, ..limits }
    }

    /// A limit that nothing enforces. A supervisor ends calls that take too long.
    pub(super) fn idle_limit(&self) -> Option<&'static str> {
        match self {
            Isolating { isolate: Some(true), .. } => None,
            Isolating { step_timeout: Some(_), .. } if !koppel_fmi::is_supervised() => Some("step_timeout"),
            Isolating { memory_limit: Some(_), .. } => Some("memory_limit"),
            Isolating { confinement: Some(how), .. } if *how != Confinement::Off => Some("sandbox"),
            Isolating { network: Some(_), .. } => Some("network"),
            Isolating { write: Some(_), .. } => Some("write"),
            Isolating { read: Some(_), .. } => Some("read"),
            _ => None,
        }
    }
}

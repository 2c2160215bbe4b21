//! A command with a time limit, and how it ended.

use crate::command::Result;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exit(i32),
    Signal(i32),
    TooLong,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) end: End,
    /// What it printed, and what it complained of.
    pub(super) output: String,
    pub(super) complaints: String,
}

impl Trial {
    pub(super) fn is_ok(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// A signal or a hang.
    pub(super) fn is_crash(&self) -> bool {
        // Rust's panics end with 101.
        !matches!(self.end, End::Exit(code) if code != 101)
    }

    /// A cell of the table.
    pub(super) fn cell(&self) -> String {
        match self.end {
            End::Exit(0) => "ok".into(),
            End::Exit(101) => "panic".into(),
            End::Exit(code) => format!("exit {code}"),
            End::Signal(11) => "SIGSEGV".into(),
            End::Signal(6) => "SIGABRT".into(),
            End::Signal(signal) => format!("signal {signal}"),
            End::TooLong => "hangs".into(),
        }
    }

    /// The line that says most: an error of koppel, or the last line of a traceback.
    pub(super) fn message(&self) -> String {
        let lines: Vec<&str> = self.complaints.lines().filter(|line| !line.trim().is_empty()).collect();
        // What a process said before it died need not be the reason.
        let last = lines.last().filter(|_| matches!(self.end, End::Exit(_)));
        let error = lines.iter().find(|line| line.starts_with("error")).or(last);
        let error = error.map_or("", |line| line.trim());
        without_paths(error).chars().take(240).collect::<String>().replace('|', "\\|")
    }
}

/// Names of files without the folders before them, which belong to this machine.
fn without_paths(line: &str) -> String {
    let short = |word: &str| match word.find('/') {
        Some(at) if word[..at].chars().all(|c| "`(\"".contains(c)) => {
            let name = word.rsplit('/').next().unwrap_or_default();
            format!("{}{name}", &word[..at])
        }
        _ => word.to_owned(),
    };
    line.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// Runs a command in a folder; what it prints is kept there under a name.
pub(super) fn run(mut command: Command, folder: &Path, name: &str, limit: Duration) -> Result<Trial> {
    let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
    let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    command.current_dir(folder).stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
    let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
    let begin = Instant::now();
    let end = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status.code().map_or(End::Signal(status.signal().unwrap_or(0)), End::Exit);
        }
        if begin.elapsed() > limit {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            break End::TooLong;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (output, complaints) = (read(&out).unwrap_or_default(), read(&err).unwrap_or_default());
    Ok(Trial { end, output, complaints })
}

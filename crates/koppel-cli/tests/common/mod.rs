//! Running the real binary on files in a folder of its own.

#![allow(dead_code, reason = "every test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

pub(crate) mod masses;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two masses: matrices and a built-in model, no feed-through on the way back.
pub(crate) const SYSTEM: &str = r#"
title = "Two masses"

[run]
stop = 0.2
step = 1e-3
schedule = "parallel"
coupling = "zoh"

[subsystems.left]
model = "linear"
A = [[0, 1], [-1e5, -0.1]]
B = [[0], [0.1]]
C = [[1, 0], [0, 1]]
inputs = ["F"]
outputs = ["x", "v"]
x0 = [0.1, 0]
solver = { method = "euler", step = 1e-5 }

[subsystems.right]
model = "mass"
parameters = { m = 10.0 }

[[connections]]
from = "left.x"
to = "right.F"
gain = 100

[[connections]]
from = "right.x"
to = "left.F"
"#;

/// A folder, and the binary run in it.
pub(crate) struct Folder(tempfile::TempDir);

/// What the binary said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// With `system.toml` in it.
    pub(crate) fn with(system: &str) -> Self {
        let folder = Folder::new();
        folder.write("system.toml", system);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_koppel"));
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1");
        command.env("KOPPEL_CACHE", self.path("cache"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::new(self.command(arguments).output().unwrap())
    }

    /// Runs, and fails the test unless the exit code is 0.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}\n{}\n{}", said.out, said.err);
        said
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Waits for a file; a test that waits for ever is a failed test.
    pub(crate) fn wait_for(&self, name: &str) {
        let begin = Instant::now();
        while !self.has(name) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{name} did not appear");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Header and rows of a CSV file.
    pub(crate) fn csv(&self, name: &str) -> (Vec<String>, Vec<Vec<f64>>) {
        let text = self.read(name);
        let mut lines = text.lines();
        let header = lines.next().unwrap().split(',').map(str::to_owned).collect();
        let row = |line: &str| line.split(',').map(|field| field.parse().unwrap()).collect();
        (header, lines.map(row).collect())
    }

    /// One column of a CSV file.
    pub(crate) fn column(&self, name: &str, column: &str) -> Vec<f64> {
        let (header, rows) = self.csv(name);
        let at = header.iter().position(|h| h == column).unwrap_or_else(|| panic!("{column} in {header:?}"));
        rows.iter().map(|row| row[at]).collect()
    }
}

impl Said {
    pub(crate) fn new(output: std::process::Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    pub(crate) fn errs_with(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is missing in:\n{}", self.err);
        }
    }

    pub(crate) fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "`{part}` is missing in:\n{}", self.out);
        }
    }
}

/// Sends a signal by name, with the shell's own `kill`.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
    assert!(status.success());
}

/// Where the examples are.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

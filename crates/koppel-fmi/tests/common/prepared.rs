//! What `make_fmus.py` prepares for the tests of several crates: FMUs of other exporters, and a Python environment.

#![allow(dead_code, reason = "every test uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it is: `target/test-fmus`, or where `KOPPEL_TEST_FMUS` says.
pub(crate) fn folder() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-fmus");
    std::env::var_os("KOPPEL_TEST_FMUS").map_or_else(default, PathBuf::from)
}

/// A file of it, or nothing if there was no preparation, which is said.
pub(crate) fn prepared(name: &str) -> Option<PathBuf> {
    let path = folder().join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&path.display().to_string());
    None
}

/// The Python of the environment, if it has these modules.
pub(crate) fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = prepared("venv/bin/python")?;
    let import = format!("import {}", modules.join(", "));
    let has = Command::new(&python).arg("-c").arg(import).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(&format!("{} with {}", python.display(), modules.join(", ")));
    None
}

/// Says that a test is skipped for want of something. Under `cargo xtask test`, which sets `KOPPEL_TEST_ALL`, and where
/// `KOPPEL_TEST_FMUS` names a folder, nothing is skipped: the test fails.
fn skip(missing: &str) {
    let must = ["KOPPEL_TEST_ALL", "KOPPEL_TEST_FMUS"].iter().any(|name| std::env::var_os(name).is_some());
    assert!(!must, "{missing} is missing");
    eprintln!("skipped: needs {missing}; `python3 crates/koppel-fmi/tests/make_fmus.py` makes it");
}

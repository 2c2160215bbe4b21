//! `cargo xtask test`: everything that must hold, from a fresh checkout.

use crate::command::{Result, cargo, is_installed, must, program, root};
use std::path::PathBuf;

pub(crate) fn run() -> Result<()> {
    install_chromium()?;
    // The toolchain's extra components are not on every machine; the tests themselves are.
    if is_installed("cargo-fmt") {
        must(&mut cargo(&["fmt", "--all", "--check"]))?;
    }
    if is_installed("cargo-clippy") {
        must(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    }
    let fmus = foreign_fmus()?;
    must(cargo(&["test", "--workspace", "--no-fail-fast"]).env("KOPPEL_TEST_FMUS", fmus))
}

/// FMUs of exporters koppel did not write, built in a Python environment of their own.
pub(crate) fn foreign_fmus() -> Result<PathBuf> {
    let folder = root().join("target/test-fmus");
    must(program("python3", &["crates/koppel-fmi/tests/make_fmus.py"]).arg(&folder))?;
    Ok(folder)
}

/// The report page is opened in a real browser.
fn install_chromium() -> Result<()> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    if std::env::var_os("KOPPEL_CHROMIUM").is_some() || known.iter().any(|name| is_installed(name)) {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        let is_root = crate::command::output(&mut program("id", &["-u"])).is_ok_and(|id| id.trim() == "0");
        let mut command = if is_root { program("apt-get", arguments) } else { program("sudo", &["apt-get"]) };
        if !is_root {
            command.args(arguments);
        }
        command.env("DEBIAN_FRONTEND", "noninteractive");
        must(&mut command)
    };
    apt(&["update", "--quiet"])?;
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", "chromium"])
}

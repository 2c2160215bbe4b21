//! `cargo xtask test`: everything that must hold, from a fresh checkout.

use crate::command::{Result, cargo, is_installed, must, program, root};
use crate::stages::Stages;
use std::path::{Path, PathBuf};

pub(crate) fn run() -> Result<()> {
    let mut stages = Stages::default();
    let done = all(&mut stages);
    eprintln!("{}", stages.text());
    done
}

fn all(stages: &mut Stages) -> Result<()> {
    stages.run("packages", |_| install_packages())?;
    // The toolchain's extra components are not on every machine; the tests themselves are.
    if is_installed("cargo-fmt") {
        stages.run("format", |_| must(&mut cargo(&["fmt", "--all", "--check"])))?;
    } else {
        stages.leave_out("format", "cargo-fmt");
    }
    if is_installed("cargo-clippy") {
        let lints = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        stages.run("lints", |_| must(&mut cargo(&lints)))?;
    } else {
        stages.leave_out("lints", "cargo-clippy");
    }
    let fmus = stages.run("FMUs of other tools", |_| foreign_fmus())?;
    let kinds = ["--workspace", "--lib", "--bins", "--tests", "--examples"];
    let build = [&["test", "--no-run"], &kinds[..]].concat();
    stages.run("build of the tests", |_| must(&mut cargo(&build)))?;
    let test = [&["test", "--no-fail-fast"], &kinds[..]].concat();
    // What a test needs is there by now: with KOPPEL_TEST_ALL none is skipped.
    let mut test = cargo(&test);
    test.env("KOPPEL_TEST_FMUS", &fmus).env("KOPPEL_TEST_ALL", "1");
    test.env("KOPPEL_WINEPREFIX", root().join("target/wine"));
    let tests = stages.run("tests", |stages| stages.tests(&mut test));
    let documents = ["test", "--workspace", "--no-fail-fast", "--doc"];
    let documents = stages.run("examples in documents", |_| must(&mut cargo(&documents)));
    tests.and(documents)
}

/// FMUs of exporters koppel did not write, built in a Python environment of their own.
pub(crate) fn foreign_fmus() -> Result<PathBuf> {
    let folder = root().join("target/test-fmus");
    must(program("python3", &["crates/koppel-fmi/tests/make_fmus.py"]).arg(&folder))?;
    Ok(folder)
}

/// A browser opens the report page; Wine and a compiler for Windows make and run Windows FMUs.
fn install_packages() -> Result<()> {
    let has = |known: &[&str]| known.iter().any(|name| is_installed(name));
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let mut missing = Vec::new();
    if !is_set("KOPPEL_CHROMIUM") && !has(&["chromium", "chromium-browser", "google-chrome"]) {
        missing.push("chromium");
    }
    if !is_set("KOPPEL_WINE") && !has(&["wine64", "wine"]) && !Path::new("/usr/lib/wine/wine64").exists() {
        missing.push("wine64");
    }
    if !has(&["x86_64-w64-mingw32-gcc"]) {
        missing.push("gcc-mingw-w64-x86-64");
    }
    if missing.is_empty() {
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
    apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], &missing[..]].concat())
}

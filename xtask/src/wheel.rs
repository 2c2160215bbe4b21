//! `cargo xtask proof wheel`: the Python package as its users get it, built by pip, installed elsewhere without Rust.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::{Result, must, output, root};

/// Checks the annotations against what is installed.
const MYPY: &str = "mypy==2.4.1";

/// Builds, installs and tries it; what came of it, in a line.
pub(crate) fn run(folder: &Path) -> Result<String> {
    let folder = folder.join("wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let builder = environment(&folder.join("builder"))?;
    let package = root().join("crates/koppel-python");
    must(pip(&builder, &["wheel", "--no-deps", "--wheel-dir"]).arg(&folder).arg(package))?;
    let seconds = begin.elapsed().as_secs();
    let wheel = wheel(&folder)?;
    let megabytes = std::fs::metadata(&wheel).map_err(|error| error.to_string())?.len() as f64 / 1e6;
    let user = environment(&folder.join("user"))?;
    must(pip(&user, &["install"]).arg(&wheel).env("PATH", "/usr/bin:/bin"))?;
    // Without the variables of cargo, in a folder that knows nothing of the sources.
    let script = folder.join("try.py");
    std::fs::copy(root().join("crates/koppel-python/tests/wheel.py"), &script)
        .map_err(|error| error.to_string())?;
    must(Command::new(&user).arg(&script).current_dir(&empty))?;
    must(&mut pip(&user, &["install", MYPY]))?;
    must(Command::new(&user).args(["-m", "mypy.stubtest", "koppel._koppel"]).current_dir(&empty))?;
    must(Command::new(&user).args(["-m", "mypy", "--strict", "--package", "koppel"]).current_dir(&empty))?;
    let version = output(Command::new(&user).arg("--version"))?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(format!(
        "wheel: `{name}`, {megabytes:.1} MB, made by pip in {seconds} s; installed into a fresh environment of {} without Rust it loads, runs, makes a study in two processes, \
         gives NumPy arrays and names a mistake; mypy finds its annotations right",
        version.trim()
    ))
}

/// A fresh environment's interpreter.
fn environment(folder: &Path) -> Result<PathBuf> {
    must(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    Ok(folder.join("bin/python"))
}

fn pip(python: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
    command
}

fn wheel(folder: &Path) -> Result<PathBuf> {
    let list = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut paths = list.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|e| e == "whl")).ok_or_else(|| "pip made no wheel".into())
}

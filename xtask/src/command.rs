//! Running other programs from the project's root.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What went wrong, in one line.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| ".".into(), Path::to_path_buf)
}

/// A program started in the project's root.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that started us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), arguments)
}

/// Runs it with its output shown; fails if it does.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let line = describe(command);
    eprintln!("xtask: {line}");
    let status = command.status().map_err(|error| format!("{line}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// Runs it and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = describe(command);
    eprintln!("xtask: {line}");
    let output = command.output().map_err(|error| format!("{line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{line}: {error}"))
}

pub(crate) fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// True if a program of this name is on the path.
pub(crate) fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Refuses names that are not among those known.
pub(crate) fn check_names(names: &[&str], known: &[&str]) -> Result<()> {
    match names.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("there is no `{name}`; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

/// Replaces the line of a file that begins with `begin`.
pub(crate) fn replace_line(file: &str, begin: &str, line: &str) -> Result<()> {
    let path = root().join(file);
    let old = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    let at = old.lines().position(|old| old.starts_with(begin));
    let at = at.ok_or_else(|| format!("{file} has no line `{begin}`"))?;
    let lines = old.lines().enumerate().map(|(k, old)| if k == at { line } else { old });
    let new = lines.flat_map(|line| [line, "\n"]).collect::<String>();
    std::fs::write(&path, new).map_err(|error| format!("{file}: {error}"))
}

/// Writes `text` between the lines `<!-- begin NAME -->` and `<!-- end NAME -->` of a file.
pub(crate) fn replace_block(file: &str, name: &str, text: &str) -> Result<()> {
    let path = root().join(file);
    let old = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (Some(from), Some(to)) = (old.find(&begin), old.find(&end)) else {
        return Err(format!("{file} has no block `{name}`"));
    };
    let new = format!("{}{begin}{}\n{}", &old[..from], text.trim_end(), &old[to..]);
    std::fs::write(&path, new).map_err(|error| format!("{file}: {error}"))
}

/// The same; a block that is not there yet is added at the end.
pub(crate) fn put_block(file: &str, name: &str, text: &str) -> Result<()> {
    let path = root().join(file);
    let old = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    if !old.contains(&format!("<!-- begin {name} -->\n")) {
        let new = format!("{}\n\n<!-- begin {name} -->\n<!-- end {name} -->\n", old.trim_end());
        std::fs::write(&path, new).map_err(|error| format!("{file}: {error}"))?;
    }
    replace_block(file, name, text)
}

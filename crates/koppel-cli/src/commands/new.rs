//! `koppel new`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use koppel_io::Error as Io;

use super::examples;
use crate::arguments::NewArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{exists_already, is_standard_output, print, quoted, refuse_existing};

/// The system file with the main settings explained; it has a subsystem given by matrices.
pub(super) const STARTER: &str = include_str!("../../templates/starter.toml");

/// Writes a system file to start from.
pub(super) fn new(arguments: &NewArguments) -> Result<Exit> {
    if arguments.list {
        print(&examples::list())?;
        return Ok(Exit::Ok);
    }
    let text = match &arguments.from {
        Some(name) => examples::find(name)?.text,
        None => STARTER,
    };
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => named(&arguments.name)?,
    };
    if is_standard_output(&path) {
        print(text)?;
        return Ok(Exit::Ok);
    }
    let name = arguments.from.as_deref().unwrap_or("system");
    write(&path, &addressed(text, name, &path), arguments.force)?;
    print(&format!(
        "wrote {}\nrun it with: koppel run {} --out {}\n",
        path.display(),
        quoted(&path),
        quoted(&path.with_extension("csv"))
    ))?;
    Ok(Exit::Ok)
}

/// The text with commands in its comments that name the file it is written to, and not the one it was copied from.
fn addressed(text: &str, from: &str, path: &Path) -> String {
    let name = |extension: &str| {
        let file = path.with_extension(extension);
        file.file_name().map(|name| quoted(Path::new(name))).filter(|name| !name.contains('\n'))
    };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in lines.iter_mut().filter(|line| line.starts_with('#') && line.contains("koppel ")) {
        for extension in ["toml", "csv", "html"] {
            let Some(new) = name(extension) else { continue };
            *line = line.replace(&format!(" {from}.{extension}"), &format!(" {new}"));
        }
    }
    lines.join("\n") + "\n"
}

fn named(name: &str) -> Result<PathBuf> {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let last = stem.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or_default();
    if last.trim().is_empty() || last == "." || last == ".." {
        let message = format!("`{name}` is not a valid system name");
        return Err(Failure::words(message, "use a name as in `koppel new car`, which writes car.toml"));
    }
    Ok(PathBuf::from(format!("{stem}.toml")))
}

fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    refuse_existing(path, force)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists_already(path),
        _ => Failure::Input(Io::io("write", path)(error)),
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        if !force {
            // Nothing of use is in it, and it would be in the way of the next try.
            let _ = std::fs::remove_file(path);
        }
        Failure::Write(Io::io("write", path)(error))
    })
}

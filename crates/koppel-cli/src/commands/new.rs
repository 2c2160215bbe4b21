//! `koppel new`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use koppel_io::Error as Io;

use super::examples;
use crate::arguments::NewArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print;

const STARTER: &str = include_str!("../../templates/starter.toml");

/// Writes a system file to start from.
pub(super) fn new(arguments: &NewArguments) -> Result<Exit> {
    if arguments.list {
        print(&examples::list());
        return Ok(Exit::Ok);
    }
    let text = match &arguments.from {
        Some(name) => examples::find(name)?.text,
        None => STARTER,
    };
    let path = arguments.out.clone().unwrap_or_else(|| named(&arguments.name));
    write(&path, text, arguments.force)?;
    print(&format!(
        "wrote {0}\nrun it with: koppel run {0} --out {1}\n",
        path.display(),
        path.with_extension("csv").display()
    ));
    Ok(Exit::Ok)
}

fn named(name: &str) -> PathBuf {
    if name.ends_with(".toml") { PathBuf::from(name) } else { PathBuf::from(format!("{name}.toml")) }
}

fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::words(
            format!("`{}` exists already", path.display()),
            "choose another name, or replace it with --force",
        ),
        _ => Failure::Input(Io::io("write", path)(error)),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::Input(Io::io("write", path)(error)))
}

//! Models of koppel itself as FMUs, so that a system that has some can become a package.

use koppel::diagnostic::Diagnosis;
use std::path::Path;

use koppel_fmu::export::{Export, FmiVersion, Options, library};
use koppel_io::system_file::SystemSpec;
use koppel_session::Session;
use tempfile::TempDir;
use toml::{Table, Value};

use crate::failure::{Failure, Result};

/// The system with FMUs in place of its built-in models, and the folder where these FMUs lie.
pub(super) fn as_fmus(file: SystemSpec, path: &Path) -> Result<(SystemSpec, Option<TempDir>)> {
    let mut table: Table = toml::from_str(&file.to_open_toml()).map_err(unreadable)?;
    let Some(Value::Table(subsystems)) = table.get_mut("subsystems") else { return Ok((file, None)) };
    if subsystems.iter().all(|(_, keys)| keys.get("model").is_none()) {
        return Ok((file, None));
    }
    let failed = |error| Failure::words(format!("no folder for FMUs: {error}"), "is the disk full?");
    let folder = TempDir::with_prefix("koppel-").map_err(failed)?;
    let options = Options { version: FmiVersion::Fmi2, without: vec![], library: library::find(None)? };
    for (name, keys) in subsystems.iter_mut() {
        if keys.get("model").is_none() {
            continue;
        }
        let fmu = folder.path().join(format!("{}.fmu", file_name(name)));
        Export::subsystem(&file, name, None)?.write(&options, &fmu)?;
        *keys = Value::Table(Table::from_iter([("fmu".into(), fmu.to_string_lossy().into_owned().into())]));
    }
    let text = toml::to_string(&table).map_err(unreadable)?;
    Ok((Session::parse(&text, path)?.spec, Some(folder)))
}

/// A name that any file system takes.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::Words(Box::new(Diagnosis::words(format!("the settings cannot be written: {error}"), None)))
}

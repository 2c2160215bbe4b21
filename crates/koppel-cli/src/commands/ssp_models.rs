//! Models of koppel itself as FMUs, so that a system that has some can become a package.

use koppel::diagnostic::Diagnosis;
use std::collections::BTreeMap;
use std::path::Path;

use koppel::solver::SolverConfig;
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
    let options = Options { version: FmiVersion::Fmi2, is_plain: false, library: library::find(None)? };
    for (name, keys) in subsystems.iter_mut() {
        let Some(model) = keys.get("model").and_then(Value::as_str) else { continue };
        let fmu = folder.path().join(format!("{}.fmu", file_name(name)));
        model_of(name, model, keys)?.write(&options, &fmu)?;
        *keys = Value::Table(Table::from_iter([("fmu".into(), fmu.to_string_lossy().into_owned().into())]));
    }
    let text = toml::to_string(&table).map_err(unreadable)?;
    Ok((Session::parse(&text, path)?.spec, Some(folder)))
}

/// The model behind a subsystem, with its parameters and solver.
fn model_of(name: &str, model: &str, keys: &Value) -> Result<Export> {
    if model == "linear" || keys.get("start").is_some() {
        let what = if model == "linear" { "matrices" } else { "start values" };
        return Err(Failure::words(
            format!("`{name}` has its own {what} and cannot be exported as an FMU alone"),
            "put it into a separate system file and export that with `koppel fmu export`",
        ));
    }
    let parameters = keys.get("parameters").and_then(Value::as_table);
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    let parameters: BTreeMap<String, f64> = parameters
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), number(value)?)))
        .collect();
    let solver =
        keys.get("solver").cloned().map(Value::try_into::<SolverConfig>).transpose().map_err(unreadable)?;
    Ok(Export::model(model, &parameters, solver)?)
}

/// A name that any file system takes.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::Words(Box::new(Diagnosis::words(format!("the settings cannot be written: {error}"), None)))
}

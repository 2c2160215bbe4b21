//! Models of a run, written so that another run can start from them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use koppel::run::Run;
use serde::Serialize;

use crate::{Error, Result};

/// True if the run has models that can be written.
#[must_use]
pub fn has_models(run: &Run) -> bool {
    !run.learned().is_empty() || !run.models().is_empty()
}

/// What the run has learned of its subsystems, or else the models it has used, as the text of a file.
///
/// # Errors
///
/// If a model cannot be written as text.
pub fn models(run: &Run, title: &str) -> std::result::Result<String, toml::ser::Error> {
    let mut text = format!(
        "# Models of {}, t = {} s. Use: coupling = {{ method = \"prestep\", model = {{ file = \"...\" }} }}\n",
        title.replace('\n', " "),
        run.time()
    );
    let learned = run.learned();
    if learned.is_empty() { add_all(&mut text, &run.models()) } else { add_all(&mut text, &learned) }?;
    Ok(text)
}

/// Writes [`models`] to a file; one that exists is replaced when the new one is complete.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_models(path: &Path, run: &Run, title: &str) -> Result<()> {
    let text = models(run, title).map_err(|error| Error::io("write", path)(std::io::Error::other(error)))?;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .inspect_err(|_| {
            // What is half written is of no use.
            let _ = fs::remove_file(&temporary);
        })
        .map_err(Error::io("write", path))
}

/// One table for each subsystem.
fn add_all<T: Serialize>(
    text: &mut String,
    models: &std::collections::BTreeMap<String, T>,
) -> std::result::Result<(), toml::ser::Error> {
    for (name, model) in models {
        let one = std::collections::BTreeMap::from([(name, model)]);
        let _ = write!(text, "\n{}", toml::to_string(&one)?);
    }
    Ok(())
}

//! System structures (SSP) as system files, and system files as system structures.
//!
//! ```text
//! .ssp -> flat components and connections -> the tree of a system file <- koppel's settings <- options
//! ```
//!
//! Every node of the tree keeps its place in the structure, so that mistakes show the XML that caused them. koppel's own
//! settings are a system file without subsystems of its own: in the annotation, or beside the structure in
//! `NAME.koppel.toml`, which comes after.

mod export;
mod import;
mod settings;
mod types;

pub use export::{Exported, export};

use std::path::{Path, PathBuf};

use koppel_ssp::{Options, Ssp, Tolerance};

use super::document::tag_span;
use super::{Mistake, Setting, SystemSpec, other_kinds, overrides};
use crate::{Error, Result};

/// True if a file is to be read as a system structure, by its name.
#[must_use]
pub fn is_structure(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(extension.as_str(), "ssp" | "ssd")
}

/// Reads a system structure and the descriptions of its FMUs.
///
/// # Errors
///
/// If the structure, an FMU, or koppel's settings hold a mistake; the error tells file, element and line.
pub fn load_structure(path: &Path, settings: &[Setting], tolerance: Tolerance) -> Result<SystemSpec> {
    let refused = |error| refused(path, error, tolerance);
    other_kinds::check_structure(path)?;
    let ssp = Ssp::open(path, &Options { tolerance, ..Options::default() }).map_err(refused)?;
    let components = ssp.components().map_err(refused)?;
    if components.flat.components.is_empty() {
        let message =
            format!("the system structure `{}` has no components: there is nothing to run", path.display());
        let hint = "a component is an FMU, <ssd:Component name=\"...\" source=\"resources/FILE.fmu\"> below <ssd:Elements>";
        return Err(Box::new(Error::Structure { message, hints: vec![hint.to_owned()] }));
    }
    let mut document = import::document(path, &ssp, &components)?;
    settings::add(&mut document, path, &ssp)?;
    overrides::apply_all(&mut document, settings)?;
    document.choices.retain(|(key, _)| !settings.iter().any(|setting| setting.name == format!("run.{key}")));
    settings::complete(&mut document, path, &components).map_err(|mark| document.mistake(mark))?;
    SystemSpec::read(document)
}

/// Where koppel's settings lie beside a structure.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_extension("koppel.toml")
}

/// The first of the findings with its place; the others are counted.
fn refused(path: &Path, error: koppel_ssp::Error, tolerance: Tolerance) -> Box<Error> {
    let (findings, documents) = match error {
        koppel_ssp::Error::Invalid { findings, documents } => (findings, documents),
        koppel_ssp::Error::Io { path, source } => return Error::io("read", &path)(source),
        other => return plain(other.to_string()),
    };
    let errors: Vec<_> = findings.iter().filter(|f| f.severity == koppel_ssp::Severity::Error).collect();
    let Some(first) = errors.first() else {
        return plain(format!("`{}` cannot be read", path.display()));
    };
    let subject = if first.element.is_empty() { String::new() } else { format!("{}: ", first.element) };
    let message = format!("{subject}{}", first.message);
    let mut hint = format!("rule: {}", first.rule);
    if errors.len() > 1 {
        hint += &format!("; `koppel ssp check` lists {} more", errors.len() - 1);
    }
    let mut hints = vec![hint];
    if tolerance == Tolerance::Strict && errors.iter().all(|finding| finding.is_forgivable) {
        hints.push("--tolerant forgives this, and lists it".to_owned());
    }
    match documents.get(&first.file).filter(|_| first.line > 0) {
        None => Box::new(Error::Structure { message: format!("{}: {message}", first.file), hints }),
        Some(text) => {
            let mistake = Mistake {
                place: first.file.clone(),
                text: text.clone(),
                span: tag_span(text, first.line, first.column),
                message,
                hints,
                known: Vec::new(),
                is_crash: false,
            };
            Box::new(Error::File(Box::new(mistake.into())))
        }
    }
}

fn plain(message: String) -> Box<Error> {
    Box::new(Error::Structure { message, hints: Vec::new() })
}

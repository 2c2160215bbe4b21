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
use super::{Mistake, Mistakes, Setting, SystemSpec, other_kinds, overrides};
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
    let marks = overrides::apply_all(&mut document, settings)?;
    document.choices.retain(|(key, _)| !settings.iter().any(|setting| setting.name == format!("run.{key}")));
    settings::complete(&mut document, path, &components).map_err(|mark| document.mistake(mark))?;
    SystemSpec::read_with(document, marks)
}

/// Where koppel's settings lie beside a structure.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_extension("koppel.toml")
}

/// All findings with their places; of those without a place, only the first.
fn refused(path: &Path, error: koppel_ssp::Error, tolerance: Tolerance) -> Box<Error> {
    let (findings, documents) = match error {
        koppel_ssp::Error::Invalid { findings, documents } => (findings, documents),
        koppel_ssp::Error::Io { path, source } => return Error::io("read", &path)(source),
        other => return plain(other.to_string()),
    };
    let errors: Vec<_> = findings.iter().filter(|f| f.severity == koppel_ssp::Severity::Error).collect();
    let is_forgivable = tolerance == Tolerance::Strict && errors.iter().all(|finding| finding.is_forgivable);
    let mistakes = errors.iter().map(|finding| {
        let subject =
            if finding.element.is_empty() { String::new() } else { format!("{}: ", finding.element) };
        let text = documents.get(&finding.file).filter(|_| finding.line > 0).cloned();
        let mut hints = vec![format!("rule: {}", finding.rule)];
        hints.extend(is_forgivable.then(|| "--tolerant forgives this, and lists it".to_owned()));
        Mistake {
            place: finding.file.clone(),
            span: text.as_ref().map_or(0..0, |text| tag_span(text, finding.line, finding.column)),
            text: text.unwrap_or_default().into(),
            message: format!("{subject}{}", finding.message),
            hints,
            known: Vec::new(),
            is_crash: false,
        }
    });
    let (placed, others): (Vec<Mistake>, Vec<Mistake>) =
        mistakes.partition(|mistake| !mistake.text.is_empty());
    let mut placed = placed.into_iter();
    match (placed.next(), others.into_iter().next()) {
        (Some(first), _) => Box::new(Error::File(Box::new(Mistakes::new(first, placed.collect())))),
        (None, Some(Mistake { place, message, hints, .. })) => {
            Box::new(Error::Structure { message: format!("{place}: {message}"), hints })
        }
        (None, None) => plain(format!("`{}` cannot be read", path.display())),
    }
}

fn plain(message: String) -> Box<Error> {
    Box::new(Error::Structure { message, hints: Vec::new() })
}

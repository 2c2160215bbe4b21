//! The HTML report of a run.

use std::path::{Path, PathBuf};

use koppel::diagnostic::Diagnosis;
use koppel_io::report::{Report, Section, plot_groups};
use koppel_io::results::Table;
use koppel_io::system_file::SystemSpec;

use serde::{Deserialize, Serialize};

use super::summary::Titled;
use super::{Summary, is_standard_output, print};
use crate::execution::timestamp;
use crate::failure::{Failure, Result};

/// What the page of a run says before it begins: also what is needed to write it where the run ended its process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sketch {
    path: PathBuf,
    title: String,
    description: String,
    settings: String,
}

impl Sketch {
    /// Of a system.
    pub(crate) fn new(path: &Path, spec: &SystemSpec) -> Sketch {
        let title = if spec.title.is_empty() { "koppel run".to_owned() } else { spec.title.clone() };
        let (description, settings) = (spec.description.clone(), spec.to_toml());
        Sketch { path: path.to_owned(), title, description, settings }
    }

    /// Where the page goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the page of a run that was ended from outside.
    pub(crate) fn write_failed(&self, failure: &Diagnosis, signals: &Table) -> Result<()> {
        let hints = failure.hints.iter().map(|hint| ("hint".to_owned(), hint.clone()));
        let facts = std::iter::once(("failed".to_owned(), failure.what.clone())).chain(hints);
        self.write(facts.collect(), signals, Vec::new())
    }

    fn write(&self, summary: Vec<(String, String)>, signals: &Table, tables: Vec<Section>) -> Result<()> {
        let mut sections = Vec::new();
        if !self.description.is_empty() {
            sections.push(Section::Text { title: "Description".into(), text: self.description.clone() });
        }
        if !signals.columns.is_empty() {
            sections.push(Section::Plots { title: "Signals".into(), groups: plot_groups(signals) });
        }
        sections.extend(tables);
        sections.push(Section::Code { title: "Settings".into(), text: self.settings.clone() });
        let generated_by = format!("koppel {}, {}", env!("CARGO_PKG_VERSION"), timestamp());
        let report = Report { title: self.title.clone(), generated_by, summary, sections };
        if is_standard_output(&self.path) {
            return print(&koppel_io::report::page(&report));
        }
        koppel_io::report::write_report(&self.path, &report).map_err(Failure::Write)
    }
}

/// Writes the page.
pub(crate) fn write_report(path: &Path, spec: &SystemSpec, summary: &Summary, signals: &Table) -> Result<()> {
    let table = |Titled { title, grid, note }: Titled| {
        let (header, rows) = grid.into_parts();
        Section::Table { title: title.into(), header, rows, note: note.map(str::to_owned) }
    };
    let tables = summary.tables().into_iter().map(table).collect();
    Sketch::new(path, spec).write(summary.facts(), signals, tables)
}

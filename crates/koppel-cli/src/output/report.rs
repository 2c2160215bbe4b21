//! The HTML report of a run.

use std::path::Path;

use koppel_io::report::{Report, Section, plot_groups};
use koppel_io::results::Table;
use koppel_io::system_file::SystemSpec;

use super::summary::Titled;
use super::{Summary, is_standard_output, print};
use crate::execution::timestamp;
use crate::failure::{Failure, Result};

/// Writes the page.
pub(crate) fn write_report(path: &Path, spec: &SystemSpec, summary: &Summary, signals: Table) -> Result<()> {
    let mut sections = Vec::new();
    if !spec.description.is_empty() {
        sections.push(Section::Text { title: "Description".into(), text: spec.description.clone() });
    }
    if !signals.columns.is_empty() {
        sections.push(Section::Plots { title: "Signals".into(), groups: plot_groups(&signals) });
    }
    for Titled { title, grid, note } in summary.tables() {
        let (header, rows) = grid.into_parts();
        let note = note.map(str::to_owned);
        sections.push(Section::Table { title: title.into(), header, rows, note });
    }
    sections.push(Section::Code { title: "Settings".into(), text: spec.to_toml() });
    let title = if spec.title.is_empty() { "koppel run".to_owned() } else { spec.title.clone() };
    let report = Report {
        title,
        generated_by: format!("koppel {}, {}", env!("CARGO_PKG_VERSION"), timestamp()),
        summary: summary.facts(),
        sections,
    };
    if is_standard_output(path) {
        return print(&koppel_io::report::page(&report));
    }
    koppel_io::report::write_report(path, &report).map_err(Failure::Write)
}

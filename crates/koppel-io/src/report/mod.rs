//! One self-contained HTML page about a run: no network, no second file.
//!
//! The page holds its style, its script and uPlot (MIT, `assets/uplot`); plotted numbers are stored as base64 of
//! little-endian `f64`. A content security policy forbids it to load anything. To add a kind of section: one variant
//! of [`Section`], one arm in `write_section`.

mod decimate;
mod groups;
mod html;
mod page;

use std::path::Path;
use std::sync::Arc;

pub use decimate::POINTS_PER_SERIES;
pub use groups::{SERIES_PER_PLOT, plot_groups};
pub(crate) use html::escape;

use crate::{Error, Result};

/// What stands on the page, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Title of the page.
    pub title: String,
    /// Who made it and when, such as `koppel 0.1.0, 2026-01-02T03:04:05Z`.
    pub generated_by: String,
    /// The most important facts: name and value.
    pub summary: Vec<(String, String)>,
    /// Everything else.
    pub sections: Vec<Section>,
}

/// One section of a report.
#[derive(Clone, Debug)]
pub enum Section {
    /// A table; cells that are numbers are set flush right.
    Table {
        /// Heading.
        title: String,
        /// Names of the columns.
        header: Vec<String>,
        /// Cells, row by row.
        rows: Vec<Vec<String>>,
        /// A remark below the table.
        note: Option<String>,
    },
    /// Text; an empty line starts a new paragraph.
    Text {
        /// Heading.
        title: String,
        /// The text.
        text: String,
    },
    /// Text with fixed-width letters, such as the settings as TOML.
    Code {
        /// Heading.
        title: String,
        /// The text.
        text: String,
    },
    /// Other pages beside this one.
    Links {
        /// Heading.
        title: String,
        /// What they are called, and where they are, relative to this page.
        links: Vec<(String, String)>,
    },
    /// Pictures that are complete SVG documents, side by side where there is room.
    Pictures {
        /// Heading.
        title: String,
        /// The documents.
        pictures: Vec<String>,
        /// A remark below them.
        note: Option<String>,
    },
    /// Plots over time; all plots of the page share zoom and cursor.
    Plots {
        /// Heading.
        title: String,
        /// The plots.
        groups: Vec<PlotGroup>,
    },
}

/// One plot: signals that share time and unit.
#[derive(Clone, Debug)]
pub struct PlotGroup {
    /// Title of the plot, usually the subsystem.
    pub title: String,
    /// Unit of all its signals.
    pub unit: Option<String>,
    /// Time of each value, in seconds; ascending.
    pub time: Arc<[f64]>,
    /// The signals.
    pub series: Vec<Series>,
}

/// One signal of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// One value per time; NaN and infinity are gaps.
    pub values: Vec<f64>,
}

/// A report as one HTML page.
///
/// # Panics
///
/// If a series has not one value per time.
#[must_use]
pub fn page(report: &Report) -> String {
    page::render(report)
}

/// Writes a report as one HTML file, whole or not at all.
///
/// # Errors
///
/// If the file cannot be written.
///
/// # Panics
///
/// If a series has not one value per time.
pub fn write_report(path: &Path, report: &Report) -> Result<()> {
    let text = page::render(report);
    // A pipe or a device cannot be replaced, only written to.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text).map_err(Error::io("write", path));
    }
    crate::results::write_whole(path, &text)
}

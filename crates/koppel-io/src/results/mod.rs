//! Run results as CSV or Parquet, safe against being killed.
//!
//! | file                          | when              | what                                              |
//! | ----------------------------- | ----------------- | ------------------------------------------------- |
//! | `out.csv.part`                | while running     | the CSV text so far                               |
//! | `out.csv.part-metadata.json`  | while running     | its metadata, so that a killed run keeps it       |
//! | `out.csv`                     | after `finish`    | one header line, then one line per row            |
//! | `out.csv-metadata.json`       | after `finish`    | metadata, W3C "CSV on the Web"                    |
//! | `out.parquet.part`            | while running     | blocks of rows, the metadata in the first         |
//! | `out.parquet`                 | after `finish`    | Parquet, metadata under the key `koppel`          |
//!
//! Rules:
//!
//! * A finished file is replaced only at the moment the new one is complete.
//! * A killed process loses at most the rows after the last flush; the writer flushes about once a second on its own.
//!   [`recover`] makes a finished file of what is left.
//! * A part file of an earlier killed run is never lost: a new run renames it to `.part.1` (`.part.2`, …) and says so in
//!   [`ResultWriter::notes`]. A part file that a living process is writing is refused.
//! * The first column is `time`; `columns` of the [`Metadata`] are the others. Numbers are `f64` and read back bit for
//!   bit (in CSV every NaN becomes the one written `NaN`). Columns of texts and bytes come last; in CSV their cells stand in
//!   quotes, bytes as Base64.

#[cfg(feature = "parquet")]
mod blocks;
mod cells;
mod csv_text;
mod csvw;
mod files;
mod metadata;
#[cfg(feature = "parquet")]
mod parquet_file;
mod recover;
mod resume;
mod table;
mod whole;
mod writer;

pub use cells::{Cells, write_cells};
pub(crate) use csv_text::{first_name, row_line};
pub use files::{claim, write_whole};
pub use metadata::{Column, Kind, Metadata};
pub use recover::recover;
pub use table::{Table, read_table};
pub use writer::{Finished, ResultWriter};

/// Fails if the name of a result file does not tell a format that can be written.
///
/// # Errors
///
/// If it ends neither in `.csv` nor in `.parquet`.
pub fn check_name(path: &std::path::Path) -> crate::Result<()> {
    files::Format::of(path).map(|_| ())
}

/// All files that a run with this result file writes, with what they are.
#[must_use]
pub fn files_of(path: &std::path::Path) -> Vec<(&'static str, std::path::PathBuf)> {
    let part = files::part_of(path);
    let mut all = vec![("the results", path.to_path_buf()), ("the part file of the results", part.clone())];
    if matches!(files::Format::of(path), Ok(files::Format::Csv)) {
        all.push(("the metadata of the results", files::sidecar_of(path)));
        all.push(("the metadata of the part file", files::sidecar_of(&part)));
    }
    all
}

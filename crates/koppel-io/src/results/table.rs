//! A result file, or any table over time, in memory.

use std::path::Path;

use koppel::system::Message;

use super::files::Format;
use super::{Metadata, csv_text, csvw};
use crate::Result;

/// A table over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the file says about itself; `None` if koppel did not write it.
    pub metadata: Option<Metadata>,
    /// The first column.
    pub time: Vec<f64>,
    /// The other columns with their names.
    pub columns: Vec<(String, Vec<f64>)>,
    /// Columns of texts and bytes with their names.
    pub messages: Vec<(String, Vec<Message>)>,
}

impl Table {
    /// The values of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        found.map(|(_, values)| values.as_slice())
    }

    /// The unit of a column, if the file tells it.
    #[must_use]
    pub fn unit(&self, name: &str) -> Option<&str> {
        let columns = &self.metadata.as_ref()?.columns;
        columns.iter().find(|column| column.name == name)?.unit.as_deref()
    }
}

/// Reads a CSV or Parquet file. The first column is the time, whatever its name.
///
/// # Errors
///
/// If the file cannot be read or a field is not a number; the text names line, column and field.
pub fn read_table(path: &Path) -> Result<Table> {
    match Format::of(path)? {
        Format::Csv => csv_text::read(path, csvw::read(path)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet_file::read(path),
    }
}

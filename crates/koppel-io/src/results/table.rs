//! A result file, or any table of numbers over time, in memory.

use std::path::Path;

use super::files::Format;
use super::{Metadata, csv_text, csvw};
use crate::Result;

/// A table of numbers over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the file says about itself; `None` if koppel did not write it.
    pub metadata: Option<Metadata>,
    /// The first column.
    pub time: Vec<f64>,
    /// The other columns with their names.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl Table {
    /// Of at least one column; the first is the time.
    pub(super) fn new(metadata: Option<Metadata>, names: Vec<String>, mut columns: Vec<Vec<f64>>) -> Self {
        let time = columns.remove(0);
        let columns = names.into_iter().skip(1).zip(columns).collect();
        Self { metadata, time, columns }
    }

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
        Format::Csv => {
            let (names, columns) = csv_text::read(path)?;
            Ok(Table::new(csvw::read(path)?, names, columns))
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet_file::read(path),
    }
}

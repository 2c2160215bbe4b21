//! Tables that are not over time: one row per run of a study, with numbers and texts.

use std::path::Path;

use super::files::{self, Format};
use crate::{Error, Result};

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Whole(Vec<u64>),
    /// Numbers; what has no value is NaN.
    Numbers(Vec<f64>),
    /// Texts; what has none is empty in CSV and null in Parquet.
    Texts(Vec<Option<String>>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Whole(cells) => cells.len(),
            Cells::Numbers(cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
        }
    }
}

/// Writes columns of equal length as CSV or Parquet, whole or not at all.
///
/// # Errors
///
/// If the file cannot be written, or its name tells no format.
///
/// # Panics
///
/// If the columns differ in length.
pub fn write_cells(path: &Path, columns: &[(String, Cells)]) -> Result<()> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    assert!(columns.iter().all(|(_, cells)| cells.len() == rows), "all columns have one cell per row");
    match Format::of(path)? {
        Format::Csv => files::write_whole(path, &csv_text(path, columns, rows)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(path, columns),
    }
}

fn csv_text(path: &Path, columns: &[(String, Cells)], rows: usize) -> Result<String> {
    let broken = |source| Box::new(Error::Csv { path: path.into(), source });
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|(name, _)| name)).map_err(broken)?;
    let mut number = zmij::Buffer::new();
    for row in 0..rows {
        for (_, cells) in columns {
            let written = match cells {
                Cells::Whole(cells) => writer.write_field(cells[row].to_string()),
                Cells::Numbers(cells) => writer.write_field(number.format(cells[row])),
                Cells::Texts(cells) => writer.write_field(cells[row].as_deref().unwrap_or_default()),
            };
            written.map_err(broken)?;
        }
        writer.write_record(None::<&[u8]>).map_err(broken)?;
    }
    let bytes = writer.into_inner().map_err(|error| Error::io("write", path)(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::super::files;
    use super::super::parquet_file::{Cell, Chunk, ParquetWriter};
    use super::Cells;
    use crate::Result;
    use std::path::Path;

    pub(super) fn write(path: &Path, columns: &[(String, Cells)]) -> Result<()> {
        let temporary = files::with_suffix(path, ".tmp");
        match write_to(&temporary, columns) {
            Ok(()) => files::rename(&temporary, path),
            Err(error) => {
                files::remove(&temporary)?;
                Err(error)
            }
        }
    }

    fn write_to(path: &Path, columns: &[(String, Cells)]) -> Result<()> {
        let cell = |cells: &Cells| match cells {
            Cells::Whole(_) => Cell::Whole,
            Cells::Numbers(_) => Cell::Number,
            Cells::Texts(_) => Cell::Text { is_optional: true },
        };
        let named: Vec<_> = columns.iter().map(|(name, cells)| (name.clone(), cell(cells))).collect();
        let mut writer = ParquetWriter::create(path, &named, env!("CARGO_PKG_VERSION"), None)?;
        writer.group(columns.iter().map(|(_, cells)| match cells {
            Cells::Whole(cells) => Chunk::Whole(cells),
            Cells::Numbers(cells) => Chunk::Numbers(cells),
            Cells::Texts(cells) => {
                Chunk::Texts(cells.iter().map(|cell| cell.as_deref().map(Into::into)).collect())
            }
        }))?;
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<(String, Cells)> {
        vec![
            ("run".into(), Cells::Whole(vec![0, 18_446_744_073_709_551_615])),
            ("x, in m".into(), Cells::Numbers(vec![0.1, f64::NAN])),
            ("failure".into(), Cells::Texts(vec![None, Some("a \"b\",\nc".into())])),
        ]
    }

    #[test]
    fn texts_are_quoted_and_numbers_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.csv");
        write_cells(&path, &columns()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let expected = "run,\"x, in m\",failure\n0,0.1,\n18446744073709551615,NaN,\"a \"\"b\"\",\nc\"\n";
        assert_eq!(text, expected);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_keeps_types_and_nulls() {
        use ::parquet::file::reader::{FileReader, SerializedFileReader};
        use ::parquet::record::RowAccessor;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.parquet");
        write_cells(&path, &columns()).unwrap();
        let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(rows[1].get_ulong(0).unwrap(), u64::MAX);
        assert!(rows[0].get_double(1).unwrap() == 0.1 && rows[1].get_double(1).unwrap().is_nan());
        assert!(rows[0].get_string(2).is_err(), "null");
        assert_eq!(rows[1].get_string(2).unwrap(), "a \"b\",\nc");
        assert!(!folder.path().join("r.parquet.tmp").exists());
    }
}

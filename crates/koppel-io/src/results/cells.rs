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
    use super::super::batch::failure;
    use super::super::files;
    use super::Cells;
    use crate::{Error, Result};
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::basic::Compression;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

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
        let field = |(name, cells): &(String, Cells)| match cells {
            Cells::Whole(_) => Field::new(name, DataType::UInt64, false),
            Cells::Numbers(_) => Field::new(name, DataType::Float64, false),
            Cells::Texts(_) => Field::new(name, DataType::Utf8, true),
        };
        let array = |(_, cells): &(String, Cells)| -> ArrayRef {
            match cells {
                Cells::Whole(cells) => Arc::new(UInt64Array::from(cells.clone())),
                Cells::Numbers(cells) => Arc::new(Float64Array::from(cells.clone())),
                Cells::Texts(cells) => Arc::new(StringArray::from(cells.clone())),
            }
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema.clone(), columns.iter().map(array).collect());
        let batch = batch.map_err(failure("write", path))?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("koppel {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::SNAPPY)
            .build();
        let file = File::create(path).map_err(Error::io("create", path))?;
        let mut writer =
            ArrowWriter::try_new(file, schema, Some(properties)).map_err(failure("write", path))?;
        writer.write(&batch).map_err(failure("write", path))?;
        let file = writer.into_inner().map_err(failure("write", path))?;
        file.sync_all().map_err(Error::io("write", path))
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
        use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
        use arrow_array::Array;
        use arrow_array::cast::AsArray;
        use arrow_array::types::{Float64Type, UInt64Type};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.parquet");
        write_cells(&path, &columns()).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let batch =
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
        assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(1), u64::MAX);
        let numbers = batch.column(1).as_primitive::<Float64Type>();
        assert!(numbers.value(0) == 0.1 && numbers.value(1).is_nan());
        let texts = batch.column(2).as_string::<i32>();
        assert!(texts.is_null(0) && texts.value(1) == "a \"b\",\nc");
        assert!(!folder.path().join("r.parquet.tmp").exists());
    }
}

//! Results as Parquet, by way of an Arrow IPC stream.
//!
//! A Parquet file has its index at the end and cannot be read before it is complete; an IPC stream can, up to its last
//! whole batch. So rows are streamed as IPC to the part file and turned into Parquet batch by batch at the end.
//! Columns are Float64 without nulls, byte-stream-split and Snappy-compressed: pure Rust, and read by every Parquet reader.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::batch::{KEY, append_batch, check_columns, failure, parse_metadata, schema_of, to_json};
use super::ipc_stream::{IpcSink, copy_batch, scan_stream};
use super::metadata::Metadata;
use super::table::Table;
use super::whole::Whole;
use crate::{Error, Result};

/// Most numbers of one row group, 128 MiB: bounds the memory needed to finish.
const GROUP_VALUES: usize = 1 << 24;

/// Turns the whole batches of an IPC stream into a Parquet file, which is complete on the disk afterwards.
pub(super) fn convert(stream: &Path, metadata: &Metadata, parquet: &Path) -> Result<Whole> {
    let file = File::create(parquet).map_err(Error::io("create", parquet))?;
    let schema = schema_of(metadata);
    let group_rows = (GROUP_VALUES / schema.fields().len()).max(1 << 10);
    let properties = WriterProperties::builder()
        .set_created_by(format!("koppel {}", metadata.koppel_version))
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::BYTE_STREAM_SPLIT)
        .set_max_row_group_row_count(Some(group_rows))
        .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_string(), to_json(metadata))]))
        .build();
    let output = BufWriter::new(file);
    let mut writer =
        ArrowWriter::try_new(output, schema.clone(), Some(properties)).map_err(write_failure(parquet))?;
    let whole = scan_stream(stream, |batch| {
        // The columns are the same; the metadata may know more by now.
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(failure("write", parquet))?;
        writer.write(&batch).map_err(write_failure(parquet))
    })?;
    let output = writer.into_inner().map_err(write_failure(parquet))?;
    let file = output.into_inner().map_err(|error| Error::io("write", parquet)(error.into_error()))?;
    file.sync_all().map_err(Error::io("write", parquet))?;
    Ok(whole)
}

/// Copies the first `rows` rows of a Parquet file into `sink`; what was copied.
pub(super) fn copy_parquet(path: &Path, rows: u64, sink: &mut IpcSink) -> Result<Whole> {
    let builder = open_parquet(path)?;
    check_columns(path, builder.schema(), &sink.schema)?;
    let mut copied = Whole::default();
    let batches = builder.with_batch_size(sink.capacity).build();
    for batch in batches.map_err(failure("read", path))? {
        let batch = batch.map_err(failure("read", path))?;
        copy_batch(path, &batch, rows, sink, &mut copied)?;
    }
    Ok(copied)
}

/// Any Parquet file whose columns are all Float64; the first is the time.
pub(super) fn read(path: &Path) -> Result<Table> {
    let builder = open_parquet(path)?;
    let entries = builder.metadata().file_metadata().key_value_metadata();
    let json = entries.and_then(|all| all.iter().find(|entry| entry.key == KEY)?.value.clone());
    let metadata = json.map(|json| parse_metadata(path, &json)).transpose()?;
    let names: Vec<String> = builder.schema().fields().iter().map(|f| f.name().clone()).collect();
    for field in builder.schema().fields() {
        if field.data_type() != &DataType::Float64 {
            return Err(Box::new(Error::ColumnType {
                path: path.into(),
                column: field.name().clone(),
                found: field.data_type().to_string(),
            }));
        }
    }
    if names.is_empty() {
        return Err(Box::new(Error::NoHeader { path: path.into() }));
    }
    let mut columns = vec![Vec::new(); names.len()];
    for batch in builder.build().map_err(failure("read", path))? {
        append_batch(&batch.map_err(failure("read", path))?, &mut columns);
    }
    Ok(Table::new(metadata, names, columns))
}

fn open_parquet(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(failure("read", path))
}

/// A refusal of the operating system stays one, with its advice.
fn write_failure(path: &Path) -> impl FnOnce(ParquetError) -> Box<Error> {
    move |error| match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => Error::io("write", path)(*source),
            Err(other) => failure("write", path)(other),
        },
        other => failure("write", path)(other),
    }
}

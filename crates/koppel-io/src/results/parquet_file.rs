//! Results as Parquet, by way of an Arrow IPC stream.
//!
//! A Parquet file has its index at the end and cannot be read before it is complete; an IPC stream can, up to its last
//! whole batch. So rows are streamed as IPC to the part file and turned into Parquet batch by batch at the end.
//! Columns are Float64 without nulls, byte-stream-split and Snappy-compressed: pure Rust, and read by every Parquet reader.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::Table;
use super::metadata::{Metadata, TIME};
use crate::{Error, Result};

/// Key of our metadata in the schema and in the Parquet file.
const KEY: &str = "koppel";

/// Length of the mark that ends a stream, in bytes.
const END_OF_STREAM: u64 = 8;

/// Most rows of one batch; fewer if there are many columns.
const BATCH_ROWS: usize = 8192;
/// Most numbers of one batch, 8 MiB.
const BATCH_VALUES: usize = 1 << 20;
/// Most numbers of one row group, 128 MiB: bounds the memory needed to finish.
const GROUP_VALUES: usize = 1 << 24;

/// Appends rows to an IPC stream.
pub(super) struct IpcSink {
    stream: StreamWriter<BufWriter<File>>,
    schema: SchemaRef,
    columns: Vec<Vec<f64>>,
    capacity: usize,
}

impl IpcSink {
    /// Starts a stream; the schema with the metadata is written at once.
    pub(super) fn new(file: File, metadata: &Metadata) -> io::Result<Self> {
        let schema = schema_of(metadata);
        let mut stream = StreamWriter::try_new(BufWriter::new(file), &schema).map_err(as_io)?;
        stream.flush().map_err(as_io)?;
        let width = schema.fields().len();
        let capacity = (BATCH_VALUES / width).clamp(64, BATCH_ROWS);
        Ok(Self {
            stream,
            schema,
            columns: vec![Vec::with_capacity(capacity); width],
            capacity,
        })
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64]) -> io::Result<()> {
        self.columns[0].push(time);
        for (column, &value) in self.columns[1..].iter_mut().zip(values) {
            column.push(value);
        }
        if self.columns[0].len() >= self.capacity {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Hands all rows to the operating system as one batch.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.columns[0].is_empty() {
            return Ok(());
        }
        let capacity = self.capacity;
        let arrays = self.columns.iter_mut().map(|column| {
            let full = std::mem::replace(column, Vec::with_capacity(capacity));
            Arc::new(Float64Array::from(full)) as ArrayRef
        });
        let batch = RecordBatch::try_new(self.schema.clone(), arrays.collect()).map_err(as_io)?;
        self.write(&batch)
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.stream
            .write(batch)
            .and_then(|()| self.stream.flush())
            .map_err(as_io)
    }

    /// Waits until all rows are on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.stream.get_ref().get_ref().sync_data()
    }

    /// Ends the stream.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.flush()?;
        self.stream.finish().map_err(as_io)
    }
}

/// What is whole in an IPC stream that may end anywhere.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// Complete rows.
    pub(super) rows: u64,
    /// Time of the last complete row.
    pub(super) last_time: Option<f64>,
    /// Bytes up to the end of the last complete batch.
    pub(super) bytes: u64,
    /// More than an unfinished last batch follows.
    pub(super) damaged: bool,
}

/// The metadata of an IPC stream.
pub(super) fn stream_metadata(path: &Path) -> Result<Metadata> {
    let stream = open_stream(path)?;
    let schema = stream.schema();
    let json = schema.metadata().get(KEY).ok_or_else(|| Error::NotAPart {
        path: path.into(),
        reason: "this Arrow stream was not written by koppel",
    })?;
    parse_metadata(path, json)
}

/// Visits the complete batches of a stream and stops at the first that is not whole.
pub(super) fn scan_stream(
    path: &Path,
    mut visit: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<Whole> {
    let mut stream = open_stream(path)?;
    let mut whole = Whole {
        bytes: stream.get_ref().position,
        ..Whole::default()
    };
    while let Some(next) = stream.next() {
        let batch = match next {
            Ok(batch) => batch,
            Err(error) => {
                whole.damaged = !is_cut_off(&error);
                break;
            }
        };
        visit(&batch)?;
        whole.rows += batch.num_rows() as u64;
        whole.last_time = last_time(&batch).or(whole.last_time);
        whole.bytes = stream.get_ref().position;
    }
    if stream.is_finished() {
        let input = stream.get_ref();
        whole.damaged = input.position < input.length;
        if input.position == whole.bytes + END_OF_STREAM {
            whole.bytes = input.position;
        }
    }
    Ok(whole)
}

/// Turns the whole batches of an IPC stream into a Parquet file, which is complete on the disk afterwards.
pub(super) fn convert(stream: &Path, metadata: &Metadata, parquet: &Path) -> Result<Whole> {
    let file = File::create(parquet).map_err(Error::io("create", parquet))?;
    let schema = schema_of(metadata);
    let group_rows = (GROUP_VALUES / schema.fields().len()).max(BATCH_ROWS);
    let properties = WriterProperties::builder()
        .set_created_by(format!("koppel {}", metadata.koppel_version))
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::BYTE_STREAM_SPLIT)
        .set_max_row_group_row_count(Some(group_rows))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            KEY.to_string(),
            to_json(metadata),
        )]))
        .build();
    let output = BufWriter::new(file);
    let mut writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))
        .map_err(failure("write", parquet))?;
    let whole = scan_stream(stream, |batch| {
        let batch = batch
            .clone()
            .with_schema(schema.clone())
            .map_err(failure("write", parquet))?;
        writer.write(&batch).map_err(failure("write", parquet))
    })?;
    let output = writer.into_inner().map_err(failure("write", parquet))?;
    let file = output
        .into_inner()
        .map_err(|error| Error::io("write", parquet)(error.into_error()))?;
    file.sync_all().map_err(Error::io("write", parquet))?;
    Ok(whole)
}

/// Copies the first `rows` rows of an IPC stream into `sink`; what was copied.
pub(super) fn copy_stream(path: &Path, rows: u64, sink: &mut IpcSink) -> Result<Whole> {
    check_columns(path, &open_stream(path)?.schema(), &sink.schema)?;
    let mut copied = Whole::default();
    scan_stream(path, |batch| {
        copy_batch(path, batch, rows, sink, &mut copied)
    })?;
    Ok(copied)
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

fn copy_batch(
    path: &Path,
    batch: &RecordBatch,
    rows: u64,
    sink: &mut IpcSink,
    copied: &mut Whole,
) -> Result<()> {
    let missing = usize::try_from(rows - copied.rows).unwrap_or(usize::MAX);
    let kept = batch.slice(0, batch.num_rows().min(missing));
    if kept.num_rows() == 0 {
        return Ok(());
    }
    let kept = kept
        .with_schema(sink.schema.clone())
        .map_err(failure("read", path))?;
    sink.write(&kept)
        .map_err(Error::io("write the part file of", path))?;
    copied.rows += kept.num_rows() as u64;
    copied.last_time = last_time(&kept);
    Ok(())
}

/// Any Parquet file whose columns are all Float64; the first is the time.
pub(super) fn read(path: &Path) -> Result<Table> {
    let builder = open_parquet(path)?;
    let entries = builder.metadata().file_metadata().key_value_metadata();
    let json = entries.and_then(|all| all.iter().find(|entry| entry.key == KEY)?.value.clone());
    let metadata = json.map(|json| parse_metadata(path, &json)).transpose()?;
    let names: Vec<String> = builder
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
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

/// Visits the rows of a batch.
pub(super) fn for_each_row(
    batch: &RecordBatch,
    mut visit: impl FnMut(f64, &[f64]) -> Result<()>,
) -> Result<()> {
    let mut columns = vec![Vec::new(); batch.num_columns()];
    append_batch(batch, &mut columns);
    let mut values = vec![0.0; columns.len() - 1];
    for row in 0..batch.num_rows() {
        for (value, column) in values.iter_mut().zip(&columns[1..]) {
            *value = column[row];
        }
        visit(columns[0][row], &values)?;
    }
    Ok(())
}

/// Appends a batch column by column; a null of a foreign file becomes NaN.
fn append_batch(batch: &RecordBatch, columns: &mut [Vec<f64>]) {
    for (array, column) in batch.columns().iter().zip(columns) {
        let array = array.as_primitive::<Float64Type>();
        if array.null_count() == 0 {
            column.extend_from_slice(array.values());
        } else {
            column.extend(array.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
    }
}

fn last_time(batch: &RecordBatch) -> Option<f64> {
    batch
        .column(0)
        .as_primitive::<Float64Type>()
        .values()
        .last()
        .copied()
}

fn check_columns(path: &Path, found: &Schema, expected: &Schema) -> Result<()> {
    let names = |schema: &Schema| -> Vec<String> {
        schema.fields().iter().map(|f| f.name().clone()).collect()
    };
    let (found, expected) = (names(found), names(expected));
    if found == expected {
        return Ok(());
    }
    Err(Box::new(Error::ResumeColumns {
        path: path.into(),
        expected,
        found,
    }))
}

/// Float64 columns with units, and all metadata.
fn schema_of(metadata: &Metadata) -> SchemaRef {
    let mut fields = vec![field(TIME, Some("s"), None)];
    for column in &metadata.columns {
        fields.push(field(
            &column.name,
            column.unit.as_deref(),
            column.description.as_deref(),
        ));
    }
    let entries = HashMap::from([(KEY.to_string(), to_json(metadata))]);
    Arc::new(Schema::new_with_metadata(fields, entries))
}

fn field(name: &str, unit: Option<&str>, description: Option<&str>) -> Field {
    let entries = [("unit", unit), ("description", description)];
    let entries = entries
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_string(), value?.to_string())));
    Field::new(name, DataType::Float64, false).with_metadata(entries.collect::<HashMap<_, _>>())
}

fn to_json(metadata: &Metadata) -> String {
    serde_json::json!(metadata).to_string()
}

fn parse_metadata(path: &Path, json: &str) -> Result<Metadata> {
    serde_json::from_str(json).map_err(|source| {
        Box::new(Error::Metadata {
            path: path.into(),
            source,
        })
    })
}

fn open_parquet(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(failure("read", path))
}

fn open_stream(path: &Path) -> Result<StreamReader<Counted>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(Error::io("read", path))?.len();
    let counted = Counted {
        input: BufReader::new(file),
        position: 0,
        length,
    };
    match StreamReader::try_new(counted, None) {
        Ok(stream) => Ok(stream),
        Err(_) => Err(Box::new(Error::NothingToRecover { path: path.into() })),
    }
}

/// Counts what was read, to know where the last whole batch ended.
struct Counted {
    input: BufReader<File>,
    position: u64,
    length: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// The stream ends in the middle of a message, as after a kill.
fn is_cut_off(error: &ArrowError) -> bool {
    match error {
        ArrowError::IoError(_, source) => source.kind() == io::ErrorKind::UnexpectedEof,
        ArrowError::ParseError(text) => text.starts_with("Unexpected end of stream"),
        _ => false,
    }
}

fn as_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}

fn failure<E: Display>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Box<Error> {
    move |reason| {
        Box::new(Error::Parquet {
            action,
            path: path.into(),
            reason: reason.to_string(),
        })
    }
}

//! Rows as an Arrow IPC stream, which can be read up to its last whole batch wherever it ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};

use super::batch::{KEY, check_columns, failure, last_time, parse_metadata, schema_of};
use super::metadata::Metadata;
use super::whole::Whole;
use crate::{Error, Result};

/// Length of the mark that ends a stream, in bytes.
const END_OF_STREAM: u64 = 8;
/// Most rows of one batch; fewer if there are many columns.
const BATCH_ROWS: usize = 8192;
/// Most numbers of one batch, 8 MiB.
const BATCH_VALUES: usize = 1 << 20;

/// Appends rows to an IPC stream.
pub(super) struct IpcSink {
    stream: StreamWriter<BufWriter<File>>,
    pub(super) schema: SchemaRef,
    columns: Vec<Vec<f64>>,
    pub(super) capacity: usize,
}

impl IpcSink {
    /// Starts a stream; the schema with the metadata is written at once.
    pub(super) fn new(file: File, metadata: &Metadata) -> io::Result<Self> {
        let schema = schema_of(metadata);
        let mut stream = StreamWriter::try_new(BufWriter::new(file), &schema).map_err(as_io)?;
        stream.flush().map_err(as_io)?;
        let width = schema.fields().len();
        let capacity = (BATCH_VALUES / width).clamp(64, BATCH_ROWS);
        Ok(Self { stream, schema, columns: vec![Vec::with_capacity(capacity); width], capacity })
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64]) -> io::Result<()> {
        self.columns[0].push(time);
        for (column, &value) in self.columns[1..].iter_mut().zip(values) {
            column.push(value);
        }
        if self.columns[0].len() >= self.capacity { self.flush() } else { Ok(()) }
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
        self.stream.write(batch).and_then(|()| self.stream.flush()).map_err(as_io)
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
pub(super) fn scan_stream(path: &Path, mut visit: impl FnMut(&RecordBatch) -> Result<()>) -> Result<Whole> {
    let mut stream = open_stream(path)?;
    let mut whole = Whole { bytes: stream.get_ref().position, ..Whole::default() };
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

/// Copies the first `rows` rows of an IPC stream into `sink`; what was copied.
pub(super) fn copy_stream(path: &Path, rows: u64, sink: &mut IpcSink) -> Result<Whole> {
    check_columns(path, &open_stream(path)?.schema(), &sink.schema)?;
    let mut copied = Whole::default();
    scan_stream(path, |batch| copy_batch(path, batch, rows, sink, &mut copied))?;
    Ok(copied)
}

/// Copies a batch into `sink` as far as rows are missing in `copied`.
pub(super) fn copy_batch(
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
    let kept = kept.with_schema(sink.schema.clone()).map_err(failure("read", path))?;
    sink.write(&kept).map_err(Error::io("write the part file of", path))?;
    copied.rows += kept.num_rows() as u64;
    copied.last_time = last_time(&kept);
    Ok(())
}

fn open_stream(path: &Path) -> Result<StreamReader<Counted>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(Error::io("read", path))?.len();
    let counted = Counted { input: BufReader::new(file), position: 0, length };
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

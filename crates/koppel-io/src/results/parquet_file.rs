//! Results as Parquet, by way of a file of blocks.
//!
//! Columns of numbers are DOUBLE without nulls, byte-stream-split; those of texts and bytes are BYTE_ARRAY. All are
//! Snappy-compressed: pure Rust, and read by every Parquet reader.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::blocks::{self, Batch, BlockSink, message};
use super::metadata::{Kind, Metadata};
use super::table::Table;
use super::whole::CompleteRows;
use crate::{Error, Result};

/// Key of our metadata in a Parquet file.
const KEY: &str = "koppel";
/// Most numbers of one row group, 128 MiB: bounds the memory needed to finish.
const GROUP_VALUES: usize = 1 << 24;
/// Most bytes of texts in one row group.
const GROUP_BYTES: usize = 1 << 26;
/// Rows that are read in one go.
const CHUNK: usize = 1 << 16;

/// The cells of one column of a row group.
pub(super) enum Chunk<'a> {
    Numbers(&'a [f64]),
    Whole(&'a [u64]),
    Texts(Vec<Option<ByteArray>>),
    Bytes(Vec<ByteArray>),
}

/// What a column of a Parquet file holds.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Number,
    Whole,
    Text { is_optional: bool },
    Bytes,
}

/// Writes a Parquet file group by group.
pub(super) struct ParquetWriter<'a> {
    path: &'a Path,
    writer: SerializedFileWriter<BufWriter<File>>,
}

impl<'a> ParquetWriter<'a> {
    /// Starts a file with these columns; koppel's own metadata if there are any.
    pub(super) fn create(
        path: &'a Path,
        columns: &[(String, Cell)],
        version: &str,
        metadata: Option<String>,
    ) -> Result<Self> {
        let fields = columns.iter().map(|(name, cell)| field(name, *cell));
        let fields = fields.collect::<std::result::Result<Vec<_>, _>>().map_err(failure("write", path))?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build();
        let schema: TypePtr = Arc::new(schema.map_err(failure("write", path))?);
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("koppel {version}"))
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(metadata.map(|json| vec![KeyValue::new(KEY.to_string(), json)]));
        for (name, cell) in columns {
            properties = encoded(properties, name, *cell);
        }
        let file = File::create(path).map_err(Error::io("create", path))?;
        let writer = SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties.build()));
        Ok(ParquetWriter { path, writer: writer.map_err(write_failure(path))? })
    }

    /// Adds rows as one group, one chunk per column.
    pub(super) fn group<'c>(&mut self, chunks: impl Iterator<Item = Chunk<'c>>) -> Result<()> {
        let path = self.path;
        write_group(&mut self.writer, chunks).map_err(write_failure(path))
    }

    /// Completes the file on the disk.
    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        let output = self.writer.into_inner().map_err(write_failure(path))?;
        let file = output.into_inner().map_err(|error| Error::io("write", path)(error.into_error()))?;
        file.sync_all().map_err(Error::io("write", path))
    }
}

fn field(name: &str, cell: Cell) -> std::result::Result<TypePtr, ParquetError> {
    let physical = match cell {
        Cell::Number => Physical::DOUBLE,
        Cell::Whole => Physical::INT64,
        Cell::Text { .. } | Cell::Bytes => Physical::BYTE_ARRAY,
    };
    let logical = match cell {
        Cell::Number | Cell::Bytes => None,
        Cell::Whole => Some(LogicalType::integer(64, false)),
        Cell::Text { .. } => Some(LogicalType::String),
    };
    let is_optional = matches!(cell, Cell::Text { is_optional: true });
    let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn encoded(properties: WriterPropertiesBuilder, name: &str, cell: Cell) -> WriterPropertiesBuilder {
    if !matches!(cell, Cell::Number) {
        return properties;
    }
    let path = ColumnPath::from(vec![name.to_owned()]);
    properties
        .set_column_dictionary_enabled(path.clone(), false)
        .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT)
}

fn write_group<'c>(
    writer: &mut SerializedFileWriter<BufWriter<File>>,
    chunks: impl Iterator<Item = Chunk<'c>>,
) -> std::result::Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for chunk in chunks {
        let Some(mut column) = group.next_column()? else { break };
        match chunk {
            Chunk::Numbers(values) => column.typed::<DoubleType>().write_batch(values, None, None)?,
            Chunk::Whole(values) => {
                let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?
            }
            Chunk::Bytes(cells) => column.typed::<ByteArrayType>().write_batch(&cells, None, None)?,
            Chunk::Texts(cells) => {
                let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                let cells: Vec<ByteArray> = cells.into_iter().flatten().collect();
                column.typed::<ByteArrayType>().write_batch(&cells, Some(&levels), None)?
            }
        };
        column.close()?;
    }
    group.close().map(drop)
}

/// Turns the whole blocks of a part file into a Parquet file, which is complete on the disk afterwards.
pub(super) fn convert(part: &Path, metadata: &Metadata, parquet: &Path) -> Result<CompleteRows> {
    let cell = |kind: Kind| match kind {
        Kind::Number => Cell::Number,
        Kind::Text => Cell::Text { is_optional: false },
        Kind::Bytes => Cell::Bytes,
    };
    let kinds = std::iter::once(Kind::Number).chain(metadata.columns.iter().map(|column| column.kind));
    let columns: Vec<(String, Cell)> = metadata.names().into_iter().zip(kinds.map(cell)).collect();
    let group_rows = (GROUP_VALUES / columns.len()).max(1 << 10);
    let json = serde_json::json!(metadata).to_string();
    let mut writer = ParquetWriter::create(parquet, &columns, &metadata.koppel_version, Some(json))?;
    let mut group = Batch::new(metadata);
    let whole = blocks::scan(part, |batch| {
        group.append(batch);
        if group.rows() >= group_rows || group.text_bytes() >= GROUP_BYTES {
            writer.group(chunks(&group))?;
            group.clear();
        }
        Ok(())
    })?;
    if group.rows() > 0 {
        writer.group(chunks(&group))?;
    }
    writer.finish()?;
    Ok(whole)
}

fn chunks(batch: &Batch) -> impl Iterator<Item = Chunk<'_>> {
    let numbers = batch.numbers.iter().map(|column| Chunk::Numbers(column));
    let cells = |cells: &blocks::Cells| cells.iter().map(|cell| ByteArray::from(cell.to_vec())).collect();
    numbers.chain(batch.messages.iter().map(move |column| Chunk::Bytes(cells(column))))
}

/// Copies the first `rows` rows of a Parquet file of ours into `sink`; what was copied.
pub(super) fn copy_parquet(
    path: &Path,
    rows: u64,
    metadata: &Metadata,
    sink: &mut BlockSink,
) -> Result<CompleteRows> {
    let file = open(path)?;
    let found: Vec<String> = fields(&file).iter().map(|field| field.name().to_owned()).collect();
    let kinds: Vec<Option<Kind>> = fields(&file).iter().map(|field| kind_of(field)).collect();
    let wanted = std::iter::once(Kind::Number).chain(metadata.columns.iter().map(|column| column.kind));
    if found != metadata.names() || !kinds.into_iter().eq(wanted.map(Some)) {
        let expected = metadata.names();
        return Err(Box::new(Error::ResumeColumns { path: path.into(), expected, found }));
    }
    let mut copied = CompleteRows::default();
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index).map_err(failure("read", path))?;
        let mut batch = read_group(path, &file, &*group)?;
        sink.copy(&mut batch, rows, &mut copied).map_err(Error::io("write the part file of", path))?;
        if copied.rows >= rows {
            break;
        }
    }
    Ok(copied)
}

/// Any Parquet file whose first column is the time. Columns of numbers, Booleans, texts and bytes are understood.
pub(super) fn read(path: &Path) -> Result<Table> {
    let file = open(path)?;
    let entries = file.metadata().file_metadata().key_value_metadata();
    let json = entries.and_then(|all| all.iter().find(|entry| entry.key == KEY)?.value.clone());
    let parse = |json: String| {
        let source = |source| Box::new(Error::Metadata { path: path.into(), source });
        serde_json::from_str(&json).map_err(source)
    };
    let metadata: Option<Metadata> = json.map(parse).transpose()?;
    let mut table = Table { metadata, ..Table::default() };
    let mut names = Vec::new();
    for (at, field) in fields(&file).iter().enumerate() {
        let kind = kind_of(field).filter(|kind| at > 0 || kind.is_number()).ok_or_else(|| {
            Error::ColumnType { path: path.into(), column: field.name().to_owned(), found: type_name(field) }
        })?;
        names.push((field.name().to_owned(), kind));
    }
    if names.is_empty() {
        return Err(Box::new(Error::NoHeader { path: path.into() }));
    }
    let of = |wanted: bool| names.iter().filter(move |(_, kind)| kind.is_number() == wanted);
    table.columns = of(true).skip(1).map(|(name, _)| (name.clone(), Vec::new())).collect();
    table.messages = of(false).map(|(name, _)| (name.clone(), Vec::new())).collect();
    let kinds: Vec<Kind> = of(false).map(|(_, kind)| *kind).collect();
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index).map_err(failure("read", path))?;
        let batch = read_group(path, &file, &*group)?;
        let mut numbers = batch.numbers.into_iter();
        table.time.extend(numbers.next().unwrap_or_default());
        table.columns.iter_mut().zip(numbers).for_each(|((_, all), more)| all.extend(more));
        for (((_, all), more), kind) in table.messages.iter_mut().zip(&batch.messages).zip(&kinds) {
            all.extend(more.iter().map(|cell| message(*kind, cell)));
        }
    }
    Ok(table)
}

fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    SerializedFileReader::new(file).map_err(failure("read", path))
}

fn fields(file: &SerializedFileReader<File>) -> &[TypePtr] {
    file.metadata().file_metadata().schema().get_fields()
}

/// What a column holds, if it is understood.
fn kind_of(field: &Type) -> Option<Kind> {
    if !field.is_primitive() || field.get_basic_info().repetition() == Repetition::REPEATED {
        return None;
    }
    let info = field.get_basic_info();
    let is_text = matches!(info.logical_type_ref(), Some(LogicalType::String))
        || info.converted_type() == ConvertedType::UTF8;
    let is_plain = match info.logical_type_ref() {
        None => info.converted_type() == ConvertedType::NONE || is_integer(info.converted_type()),
        Some(LogicalType::Integer(_)) => true,
        Some(_) => false,
    };
    match field.get_physical_type() {
        Physical::BYTE_ARRAY if is_text => Some(Kind::Text),
        Physical::BYTE_ARRAY if is_plain => Some(Kind::Bytes),
        Physical::DOUBLE | Physical::FLOAT | Physical::INT32 | Physical::INT64 | Physical::BOOLEAN
            if is_plain =>
        {
            Some(Kind::Number)
        }
        _ => None,
    }
}

fn is_integer(converted: ConvertedType) -> bool {
    use ConvertedType::{INT_8, INT_16, INT_32, INT_64, UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(converted, INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

fn type_name(field: &Type) -> String {
    if !field.is_primitive() {
        return "a group".into();
    }
    match field.get_basic_info().logical_type_ref() {
        Some(logical) => format!("{logical:?}"),
        None => field.get_physical_type().to_string(),
    }
}

/// All rows of a group; a null becomes NaN, or an empty text.
fn read_group(path: &Path, file: &SerializedFileReader<File>, group: &dyn RowGroupReader) -> Result<Batch> {
    let mut batch = Batch::default();
    for (index, field) in fields(file).iter().enumerate() {
        let reader = group.get_column_reader(index).map_err(failure("read", path))?;
        let logical = field.get_basic_info().logical_type_ref();
        let is_unsigned = matches!(logical, Some(LogicalType::Integer(integer)) if !integer.is_signed);
        read_column(reader, is_unsigned, &mut batch).map_err(failure("read", path))?;
    }
    Ok(batch)
}

fn read_column(
    reader: ColumnReader,
    is_unsigned: bool,
    batch: &mut Batch,
) -> std::result::Result<(), ParquetError> {
    let numbers = match reader {
        ColumnReader::DoubleColumnReader(reader) => cells(reader, f64::NAN, |value| value)?,
        ColumnReader::FloatColumnReader(reader) => cells(reader, f64::NAN, f64::from)?,
        ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
            cells(reader, f64::NAN, |value| f64::from(value.cast_unsigned()))?
        }
        ColumnReader::Int32ColumnReader(reader) => cells(reader, f64::NAN, f64::from)?,
        ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
            cells(reader, f64::NAN, |value| value.cast_unsigned() as f64)?
        }
        ColumnReader::Int64ColumnReader(reader) => cells(reader, f64::NAN, |value| value as f64)?,
        ColumnReader::BoolColumnReader(reader) => {
            cells(reader, f64::NAN, |value| f64::from(u8::from(value)))?
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let mut column = blocks::Cells::default();
            for cell in cells(reader, ByteArray::from(Vec::new()), |value| value)? {
                column.push(cell.data()).map_err(|error| ParquetError::External(Box::new(error)))?;
            }
            batch.messages.push(column);
            return Ok(());
        }
        _ => return Err(ParquetError::General("a column of a type that is not understood".into())),
    };
    batch.numbers.push(numbers);
    Ok(())
}

/// All cells of a column; `null` where it has none.
fn cells<T: DataType, V: Clone>(
    mut reader: ColumnReaderImpl<T>,
    null: V,
    convert: impl Fn(T::T) -> V,
) -> std::result::Result<Vec<V>, ParquetError> {
    let (mut all, mut levels, mut values) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        levels.clear();
        values.clear();
        let (records, _, _) = reader.read_records(CHUNK, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Ok(all);
        }
        let mut present = values.drain(..).map(&convert);
        if levels.is_empty() {
            all.extend(present);
        } else {
            let cell = |level: &i16| if *level == 0 { None } else { present.next() };
            all.extend(levels.iter().map(cell).map(|cell| cell.unwrap_or_else(|| null.clone())));
        }
    }
}

/// Turns what a Parquet function says into an error.
pub(super) fn failure<E: Display>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Box<Error> {
    move |reason| Box::new(Error::Parquet { action, path: path.into(), reason: reason.to_string() })
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

//! Rows on their way to Parquet: blocks, each with its length and checksum.
//!
//! A Parquet file has its index at the end and cannot be read before it is complete. A file of blocks can, up to its last whole block.
//!
//! | bytes | what |
//! | --- | --- |
//! | 14 | `koppel rows 1\n` |
//! | 1 + 8 + 4 + 4 | kind of a block (`M` metadata as JSON, `R` rows), length of its content, CRC-32 of it, CRC-32 of these; integers are little-endian |
//! | ... | content |
//!
//! The content of rows: their number (8 bytes), the columns of numbers in sequence, the time first; then for each
//! column of texts or bytes the lengths (4 bytes each) and the cells.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use koppel::system::Message;

use super::files::Owner;
use super::metadata::{Kind, Metadata};
use super::whole::CompleteRows;
use crate::{Error, Result};

/// How a part file begins.
pub(super) const MARK: &[u8; 14] = b"koppel rows 1\n";
/// Bytes before the content of a block.
const HEAD: usize = 17;
/// Most rows of one block; fewer if there are many columns.
const BLOCK_ROWS: usize = 8192;
/// Most numbers of one block, 8 MiB.
const BLOCK_VALUES: usize = 1 << 20;
/// Most bytes of texts in one block.
const BLOCK_BYTES: usize = 1 << 23;

/// Rows by column.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Columns of numbers, the time first.
    pub(super) numbers: Vec<Vec<f64>>,
    /// Columns of texts and bytes.
    pub(super) messages: Vec<Cells>,
}

/// Texts or bytes, in sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    lengths: Vec<u32>,
    bytes: Vec<u8>,
}

impl Cells {
    /// Appends one.
    pub(super) fn push(&mut self, cell: &[u8]) -> io::Result<()> {
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a text or bytes of more than 4 GB");
        self.lengths.push(u32::try_from(cell.len()).map_err(too_long)?);
        self.bytes.extend_from_slice(cell);
        Ok(())
    }

    /// The cells in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |length| {
            let (cell, after) = rest.split_at(*length as usize);
            rest = after;
            cell
        })
    }

    fn clear(&mut self) {
        self.lengths.clear();
        self.bytes.clear();
    }
}

/// The bytes of a text or of bytes.
pub(super) fn content(message: &Message) -> &[u8] {
    match message {
        Message::Text(text) => text.as_bytes(),
        Message::Bytes(bytes) => bytes,
        Message::Tick(_) => &[],
    }
}

/// A cell as a message.
pub(super) fn message(kind: Kind, cell: &[u8]) -> Message {
    match kind {
        Kind::Bytes => Message::Bytes(cell.to_vec()),
        Kind::Text | Kind::Number => Message::Text(String::from_utf8_lossy(cell).into_owned()),
    }
}

impl Batch {
    /// An empty one with the columns that the metadata tell.
    pub(super) fn new(metadata: &Metadata) -> Self {
        let messages = vec![Cells::default(); metadata.message_kinds().len()];
        Batch { numbers: vec![Vec::new(); 1 + metadata.numbers()], messages }
    }

    /// Rows in it.
    pub(super) fn rows(&self) -> usize {
        self.numbers[0].len()
    }

    /// Bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.messages.iter().map(|cells| cells.bytes.len()).sum()
    }

    /// Time of the last row.
    pub(super) fn last_time(&self) -> Option<f64> {
        self.numbers[0].last().copied()
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64], messages: &[Message]) -> io::Result<()> {
        self.numbers[0].push(time);
        for (column, &value) in self.numbers[1..].iter_mut().zip(values) {
            column.push(value);
        }
        self.messages.iter_mut().zip(messages).try_for_each(|(cells, message)| cells.push(content(message)))
    }

    /// Adds the rows of another.
    pub(super) fn append(&mut self, other: &Batch) {
        for (column, values) in self.numbers.iter_mut().zip(&other.numbers) {
            column.extend_from_slice(values);
        }
        for (cells, others) in self.messages.iter_mut().zip(&other.messages) {
            cells.lengths.extend_from_slice(&others.lengths);
            cells.bytes.extend_from_slice(&others.bytes);
        }
    }

    /// Keeps the first rows.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.numbers.iter_mut().for_each(|column| column.truncate(rows));
        for cells in &mut self.messages {
            cells.lengths.truncate(rows);
            let length = cells.lengths.iter().map(|length| *length as usize).sum();
            cells.bytes.truncate(length);
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.iter_mut().for_each(Vec::clear);
        self.messages.iter_mut().for_each(Cells::clear);
    }

    /// Visits the rows; `kinds` are those of the texts and bytes.
    pub(super) fn for_each_row(
        &self,
        kinds: &[Kind],
        mut visit: impl FnMut(f64, &[f64], &[Message]) -> Result<()>,
    ) -> Result<()> {
        let mut cells: Vec<_> = self.messages.iter().map(Cells::iter).collect();
        let mut values = vec![0.0; self.numbers.len() - 1];
        let mut messages = Vec::with_capacity(kinds.len());
        for row in 0..self.rows() {
            for (value, column) in values.iter_mut().zip(&self.numbers[1..]) {
                *value = column[row];
            }
            messages.clear();
            let next = cells.iter_mut().zip(kinds);
            messages.extend(next.map(|(cells, kind)| message(*kind, cells.next().unwrap_or_default())));
            visit(self.numbers[0][row], &values, &messages)?;
        }
        Ok(())
    }

    fn write(&self, content: &mut Vec<u8>) {
        content.extend_from_slice(&(self.rows() as u64).to_le_bytes());
        for column in &self.numbers {
            column.iter().for_each(|value| content.extend_from_slice(&value.to_le_bytes()));
        }
        for cells in &self.messages {
            content.extend(cells.lengths.iter().flat_map(|length| length.to_le_bytes()));
            content.extend_from_slice(&cells.bytes);
        }
    }

    /// Takes what `write` wrote; `None` if it does not fit the columns.
    fn read(&mut self, content: &[u8]) -> Option<()> {
        self.clear();
        let mut rest = content;
        let rows = usize::try_from(u64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?)).ok()?;
        for column in &mut self.numbers {
            let bytes = take(&mut rest, rows.checked_mul(8)?)?.as_chunks().0;
            column.extend(bytes.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        }
        for cells in &mut self.messages {
            let bytes = take(&mut rest, rows.checked_mul(4)?)?.as_chunks().0;
            cells.lengths.extend(bytes.iter().map(|bytes| u32::from_le_bytes(*bytes)));
            let length = cells.lengths.iter().map(|length| *length as usize).sum();
            cells.bytes.extend_from_slice(take(&mut rest, length)?);
        }
        rest.is_empty().then_some(())
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (start, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(start)
}

/// Appends rows to a file of blocks.
pub(super) struct BlockSink {
    file: BufWriter<File>,
    owner: Owner,
    batch: Batch,
    content: Vec<u8>,
    capacity: usize,
}

impl BlockSink {
    /// Starts a file; the metadata are written at once.
    pub(super) fn new(file: File, metadata: &Metadata) -> io::Result<Self> {
        let batch = Batch::new(metadata);
        let capacity = (BLOCK_VALUES / batch.numbers.len()).clamp(64, BLOCK_ROWS);
        let mut sink =
            Self { file: BufWriter::new(file), owner: Owner::new(), batch, content: Vec::new(), capacity };
        sink.batch.numbers.iter_mut().for_each(|column| column.reserve_exact(capacity));
        sink.file.write_all(MARK)?;
        sink.block(b'M', serde_json::json!(metadata).to_string().as_bytes())?;
        Ok(sink)
    }

    fn block(&mut self, kind: u8, content: &[u8]) -> io::Result<()> {
        self.owner.check()?;
        let mut head = [kind; HEAD];
        head[1..9].copy_from_slice(&(content.len() as u64).to_le_bytes());
        head[9..13].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
        let own = crc32fast::hash(&head[..13]);
        head[13..].copy_from_slice(&own.to_le_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(content)?;
        self.file.flush()
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64], messages: &[Message]) -> io::Result<()> {
        self.batch.push(time, values, messages)?;
        let is_full = self.batch.rows() >= self.capacity || self.batch.text_bytes() >= BLOCK_BYTES;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Adds the first rows of a batch, at most as many as are missing in `copied`, where they are counted.
    pub(super) fn copy(&mut self, batch: &mut Batch, rows: u64, copied: &mut CompleteRows) -> io::Result<()> {
        batch.truncate(usize::try_from(rows - copied.rows).unwrap_or(usize::MAX).min(batch.rows()));
        copied.rows += batch.rows() as u64;
        copied.last_time = batch.last_time().or(copied.last_time);
        self.batch.append(batch);
        self.flush()
    }

    /// Hands all rows to the operating system as one block.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.batch.rows() == 0 {
            return Ok(());
        }
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        self.batch.write(&mut content);
        self.batch.clear();
        let written = self.block(b'R', &content);
        self.content = content;
        written
    }

    /// Waits until all rows are on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.get_ref().sync_data()
    }
}

/// The metadata of a file of blocks.
pub(super) fn metadata(path: &Path) -> Result<Metadata> {
    open(path).map(|(_, metadata)| metadata)
}

/// Visits the complete blocks of rows and stops at the first that is not whole.
pub(super) fn scan(path: &Path, mut visit: impl FnMut(&mut Batch) -> Result<()>) -> Result<CompleteRows> {
    let (mut input, metadata) = open(path)?;
    let mut batch = Batch::new(&metadata);
    let mut whole = CompleteRows { bytes: input.position, ..CompleteRows::default() };
    loop {
        match input.block().map_err(Error::io("read", path))? {
            Block::Whole(b'R', content) if batch.read(content).is_some() => {}
            Block::End | Block::CutOff => break,
            Block::Whole(..) | Block::Broken => {
                whole.damaged = true;
                break;
            }
        }
        whole.rows += batch.rows() as u64;
        whole.last_time = batch.last_time().or(whole.last_time);
        whole.bytes = input.position;
        visit(&mut batch)?;
    }
    Ok(whole)
}

fn open(path: &Path) -> Result<(Input, Metadata)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(Error::io("read", path))?.len();
    let mut input = Input { file: BufReader::new(file), position: 0, length, content: Vec::new() };
    let nothing = || Box::new(Error::NothingToRecover { path: path.into() });
    let mut mark = [0; MARK.len()];
    if input.file.read_exact(&mut mark).is_err() || mark != *MARK {
        return Err(nothing());
    }
    input.position = MARK.len() as u64;
    let Block::Whole(b'M', content) = input.block().map_err(Error::io("read", path))? else {
        return Err(nothing());
    };
    let metadata = serde_json::from_slice(content);
    let metadata = metadata.map_err(|source| Error::Metadata { path: path.into(), source })?;
    Ok((input, metadata))
}

/// Reads blocks.
struct Input {
    file: BufReader<File>,
    /// Where the last whole block ended.
    position: u64,
    length: u64,
    content: Vec<u8>,
}

/// What stands at a place of the file.
enum Block<'a> {
    Whole(u8, &'a [u8]),
    /// The end of the file.
    End,
    /// The file ends inside a block, as after a kill.
    CutOff,
    /// Its content is not what was written.
    Broken,
}

impl Input {
    fn block(&mut self) -> io::Result<Block<'_>> {
        let left = self.length.saturating_sub(self.position);
        if left == 0 {
            return Ok(Block::End);
        }
        if left < HEAD as u64 {
            return Ok(Block::CutOff);
        }
        let mut head = [0; HEAD];
        self.file.read_exact(&mut head)?;
        if crc32fast::hash(&head[..13]).to_le_bytes() != head[13..] {
            return Ok(Block::Broken);
        }
        let mut length = [0; 8];
        length.copy_from_slice(&head[1..9]);
        let length = u64::from_le_bytes(length);
        if length > left - HEAD as u64 {
            return Ok(Block::CutOff);
        }
        self.content.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        self.file.read_exact(&mut self.content)?;
        if crc32fast::hash(&self.content).to_le_bytes() != head[9..13] {
            return Ok(Block::Broken);
        }
        self.position += HEAD as u64 + length;
        Ok(Block::Whole(head[0], &self.content))
    }
}

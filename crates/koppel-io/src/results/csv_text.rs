//! Results as CSV text: one header line, then `time,value,…` in the shortest form that reads back exactly.
//!
//! Numbers stand as they are; texts and bytes stand in quotes (RFC 4180), bytes as Base64. So a row is complete exactly if it
//! ends in a newline outside of quotes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use koppel::system::Message;

use super::files::Owner;
use super::metadata::{Kind, Metadata};
use super::table::Table;
use super::whole::CompleteRows;
use crate::{Error, Result};

/// Text gathered before it is handed to the operating system, in bytes.
const BUFFER: usize = 1 << 16;

/// Appends rows to a CSV file.
pub(super) struct CsvSink {
    file: File,
    owner: Owner,
    buffer: Vec<u8>,
}

impl CsvSink {
    /// Starts a new file with its header line.
    pub(super) fn new(file: File, metadata: &Metadata) -> io::Result<Self> {
        let mut sink = Self::append(file);
        sink.buffer.extend_from_slice(header(&metadata.names()).as_bytes());
        sink.flush()?;
        Ok(sink)
    }

    /// Continues a file whose cursor stands at its end.
    pub(super) fn append(file: File) -> Self {
        Self { file, owner: Owner::new(), buffer: Vec::with_capacity(BUFFER + BUFFER / 4) }
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64], messages: &[Message]) -> io::Result<()> {
        let mut number = zmij::Buffer::new();
        self.buffer.extend_from_slice(number.format(time).as_bytes());
        for &value in values {
            self.buffer.push(b',');
            self.buffer.extend_from_slice(number.format(value).as_bytes());
        }
        messages.iter().for_each(|message| push_message(&mut self.buffer, message));
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Hands all rows to the operating system.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.owner.check()?;
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Waits until all rows are on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }
}

fn push_message(buffer: &mut Vec<u8>, message: &Message) {
    buffer.extend_from_slice(b",\"");
    match message {
        Message::Text(text) => {
            let mut parts = text.split('"');
            buffer.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
            for part in parts {
                buffer.extend_from_slice(b"\"\"");
                buffer.extend_from_slice(part.as_bytes());
            }
        }
        Message::Bytes(bytes) => buffer.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes()),
        Message::Tick(_) => {}
    }
    buffer.push(b'"');
}

/// The header line, quoted where needed.
fn header(names: &[String]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| {
            let plain = !name.contains([',', '"', '\n', '\r']) && name.trim() == name && !name.is_empty();
            if plain { name.clone() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
        })
        .collect();
    quoted.join(",") + "\n"
}

/// Visits the complete rows of a CSV file of ours, `limit` at most, and stops at the first that is not whole;
/// the names in the header, and what is whole. `kinds` are those of the texts and bytes; where they are not known, quotes tell.
pub(super) fn scan(
    path: &Path,
    limit: u64,
    kinds: &[Kind],
    mut visit: impl FnMut(f64, &[f64], &[Message]) -> Result<()>,
) -> Result<(Vec<String>, CompleteRows)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let mut input = BufReader::with_capacity(BUFFER, file);
    let (header, bytes) = scan_row(&mut input, path)?;
    if !is_whole(&header) {
        return Err(Box::new(Error::NothingToRecover { path: path.into() }));
    }
    let names = header_names(&header, path)?;
    let mut whole = CompleteRows { bytes, ..CompleteRows::default() };
    let mut row = Vec::with_capacity(names.len());
    let mut messages = Vec::new();
    while whole.rows < limit {
        let (line, read) = scan_row(&mut input, path)?;
        if !parse_row(&line, names.len(), kinds, &mut row, &mut messages) {
            let mut rows = line.split_inclusive(|byte| *byte == b'\n').skip(1);
            whole.damaged = is_whole(&line)
                || rows.any(|line| parse_row(line, names.len(), kinds, &mut row, &mut messages));
            break;
        }
        visit(row[0], &row[1..], &messages)?;
        whole.rows += 1;
        whole.last_time = Some(row[0]);
        whole.bytes += read;
    }
    Ok((names, whole))
}

/// The text of one row, which may hold newlines in quotes, and its length in bytes.
fn scan_row(input: &mut impl BufRead, path: &Path) -> Result<(Vec<u8>, u64)> {
    let (mut text, mut is_quoted) = (Vec::new(), false);
    loop {
        let from = text.len();
        let read = input.read_until(b'\n', &mut text).map_err(Error::io("read", path))?;
        is_quoted ^= quotes(&text[from..]) % 2 == 1;
        if read == 0 || !is_quoted {
            let length = text.len() as u64;
            return Ok((text, length));
        }
    }
}

/// True if the text ends in a newline outside of quotes.
fn is_whole(text: &[u8]) -> bool {
    text.ends_with(b"\n") && quotes(text).is_multiple_of(2)
}

fn quotes(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'"').count()
}

fn header_names(text: &[u8], path: &Path) -> Result<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text);
    let names = reader.headers().map_err(broken(path))?;
    Ok(names.iter().map(String::from).collect())
}

/// Reads one complete row; `false` if it is not whole.
fn parse_row(
    line: &[u8],
    columns: usize,
    kinds: &[Kind],
    row: &mut Vec<f64>,
    messages: &mut Vec<Message>,
) -> bool {
    row.clear();
    messages.clear();
    if !is_whole(line) {
        return false;
    }
    let Ok(line) = std::str::from_utf8(&line[..line.len() - 1]) else { return false };
    let (numbers, texts) = match line.find(",\"") {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, ""),
    };
    for field in numbers.split(',') {
        match field.parse() {
            Ok(value) => row.push(value),
            Err(_) => return false,
        }
    }
    let mut rest = texts;
    while !rest.is_empty() {
        let Some((text, after)) = quoted(rest) else { return false };
        let kind = kinds.get(messages.len()).copied().unwrap_or(Kind::Text);
        let Some(message) = message(kind, text) else { return false };
        messages.push(message);
        rest = after;
    }
    row.len() + messages.len() == columns
}

/// The text of a field in quotes, and what comes after it and its comma.
fn quoted(field: &str) -> Option<(String, &str)> {
    let mut rest = field.strip_prefix('"')?;
    let mut text = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        text.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                text.push('"');
                rest = more;
            }
            None if after.is_empty() => return Some((text, after)),
            None => return after.strip_prefix(',').filter(|more| !more.is_empty()).map(|more| (text, more)),
        }
    }
}

/// A cell as a message; `None` if it is no Base64 where bytes are wanted.
fn message(kind: Kind, text: String) -> Option<Message> {
    match kind {
        Kind::Bytes => BASE64_STANDARD.decode(text).ok().map(Message::Bytes),
        Kind::Text | Kind::Number => Some(Message::Text(text)),
    }
}

/// Signs between the fields of other people's files.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The sign between the names of the first line: the one that stands there most often outside quotes.
fn separator(header: &[u8]) -> u8 {
    let mut counts = [0_usize; SEPARATORS.len()];
    let mut is_quoted = false;
    for byte in header {
        is_quoted ^= *byte == b'"';
        if let Some(at) = SEPARATORS.iter().position(|sign| sign == byte).filter(|_| !is_quoted) {
            counts[at] += 1;
        }
    }
    let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]).unwrap_or(0);
    SEPARATORS[most]
}

/// A reader of any CSV file whose first line names the columns, set to the file's own separator.
fn reader(path: &Path, trim: csv::Trim) -> Result<(csv::Reader<BufReader<File>>, u8)> {
    let mut file = BufReader::with_capacity(BUFFER, File::open(path).map_err(Error::io("open", path))?);
    let start = file.fill_buf().map_err(Error::io("read", path))?;
    let mark = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let line = start.iter().position(|byte| *byte == b'\n').unwrap_or(start.len());
    let separator = separator(&start[mark.min(line)..line]);
    file.consume(mark);
    let mut builder = csv::ReaderBuilder::new();
    let reader = builder.flexible(true).trim(trim).delimiter(separator).from_reader(file);
    Ok((reader, separator))
}

/// What some editors begin a file of UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The name of the first column.
pub(crate) fn first_name(path: &Path) -> Option<String> {
    Some(reader(path, csv::Trim::Fields).ok()?.0.headers().ok()?.get(0)?.trim().to_owned())
}

/// A number, or a Boolean in words.
fn number(field: &str, separator: u8) -> Option<f64> {
    let text = field.trim();
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        // With `;` between the fields, a comma may stand in a number.
        decimal if separator != b',' => decimal.replacen(',', ".", 1).parse().ok(),
        _ => None,
    }
}

/// Any CSV file whose first line names the columns; also one we did not write. The metadata tell which columns hold no numbers.
pub(super) fn read(path: &Path, metadata: Option<Metadata>) -> Result<Table> {
    let (mut reader, separator) = reader(path, csv::Trim::Fields)?;
    let mut names: Vec<String> = reader.headers().map_err(broken(path))?.iter().map(String::from).collect();
    if names.len() > 1 {
        names.pop_if(|name| name.trim().is_empty());
    }
    let is_number = |name: &String| name.trim().parse::<f64>().is_ok();
    if names.iter().all(is_number) {
        return Err(Box::new(Error::NoHeader { path: path.into() }));
    }
    let known = metadata.iter().flat_map(|metadata| &metadata.columns);
    let known: HashMap<&str, Kind> = known.map(|column| (column.name.as_str(), column.kind)).collect();
    let kinds: Vec<Kind> =
        names.iter().map(|name| known.get(name.as_str()).copied().unwrap_or_default()).collect();
    if !kinds.iter().all(Kind::is_number) {
        // A text keeps the blanks around it.
        reader = self::reader(path, csv::Trim::None)?.0;
        reader.headers().map_err(broken(path))?;
    }
    let mut columns = vec![Vec::new(); names.len()];
    let mut messages = vec![Vec::new(); names.len()];
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(broken(path))? {
        let line = record.position().map_or(0, csv::Position::line);
        // A separator at the end of each line opens no column.
        let has_tail = record.len() == names.len() + 1 && record.get(names.len()) == Some("");
        if record.len() != names.len() && !has_tail {
            return Err(Box::new(Error::FieldCount {
                path: path.into(),
                line,
                expected: names.len(),
                found: record.len(),
            }));
        }
        for (at, (field, name)) in record.iter().zip(&names).enumerate() {
            let broken = || Error::NotANumber {
                path: path.into(),
                line,
                column: name.clone(),
                text: field.to_string(),
            };
            match kinds[at] {
                Kind::Number => columns[at].push(number(field, separator).ok_or_else(broken)?),
                kind => messages[at].push(message(kind, field.to_owned()).ok_or_else(broken)?),
            }
        }
    }
    let mut table = Table { metadata, time: std::mem::take(&mut columns[0]), ..Table::default() };
    for (((name, kind), numbers), messages) in names.into_iter().zip(kinds).zip(columns).zip(messages).skip(1)
    {
        match kind {
            Kind::Number => table.columns.push((name, numbers)),
            Kind::Text | Kind::Bytes => table.messages.push((name, messages)),
        }
    }
    Ok(table)
}

/// The line, counted from 1, of a row of a CSV file.
pub(crate) fn row_line(path: &Path, row: usize) -> Option<u64> {
    let record = reader(path, csv::Trim::Fields).ok()?.0.records().nth(row)?.ok()?;
    record.position().map(csv::Position::line)
}

fn broken(path: &Path) -> impl FnOnce(csv::Error) -> Box<Error> {
    move |source| Box::new(Error::Csv { path: path.into(), source })
}

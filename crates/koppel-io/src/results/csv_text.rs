//! Results as CSV text: one header line, then `time,value,…` in the shortest form that reads back exactly.
//!
//! Data lines hold numbers and commas only, so a line is complete exactly if it ends in a newline. Only the header may
//! quote (RFC 4180).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use super::metadata::Metadata;
use super::whole::Whole;
use crate::{Error, Result};

/// Text gathered before it is handed to the operating system, in bytes.
const BUFFER: usize = 1 << 16;

/// Appends rows to a CSV file.
pub(super) struct CsvSink {
    file: File,
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
        Self { file, buffer: Vec::with_capacity(BUFFER + BUFFER / 4) }
    }

    /// Adds one row.
    pub(super) fn push(&mut self, time: f64, values: &[f64]) -> io::Result<()> {
        let mut number = zmij::Buffer::new();
        self.buffer.extend_from_slice(number.format(time).as_bytes());
        for &value in values {
            self.buffer.push(b',');
            self.buffer.extend_from_slice(number.format(value).as_bytes());
        }
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Hands all rows to the operating system.
    pub(super) fn flush(&mut self) -> io::Result<()> {
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
/// the names in the header, and what is whole.
pub(super) fn scan(
    path: &Path,
    limit: u64,
    mut visit: impl FnMut(f64, &[f64]) -> Result<()>,
) -> Result<(Vec<String>, Whole)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let mut input = BufReader::with_capacity(BUFFER, file);
    let (names, bytes) = scan_header(&mut input, path)?;
    let mut whole = Whole { bytes, ..Whole::default() };
    let mut line = Vec::new();
    let mut row = Vec::with_capacity(names.len());
    while whole.rows < limit {
        line.clear();
        let read = input.read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
        if !parse_row(&line, names.len(), &mut row) {
            whole.damaged = line.ends_with(b"\n");
            break;
        }
        visit(row[0], &row[1..])?;
        whole.rows += 1;
        whole.last_time = Some(row[0]);
        whole.bytes += read as u64;
    }
    Ok((names, whole))
}

/// Reads the header line, which may hold newlines in quotes; its names and length in bytes.
fn scan_header(input: &mut impl BufRead, path: &Path) -> Result<(Vec<String>, u64)> {
    let mut text = Vec::new();
    loop {
        let read = input.read_until(b'\n', &mut text).map_err(Error::io("read", path))?;
        if read == 0 || !text.ends_with(b"\n") {
            return Err(Box::new(Error::NothingToRecover { path: path.into() }));
        }
        if text.iter().filter(|&&byte| byte == b'"').count() % 2 == 0 {
            break;
        }
    }
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_slice());
    let names = reader.headers().map_err(broken(path))?;
    Ok((names.iter().map(String::from).collect(), text.len() as u64))
}

/// Reads one complete line into `row`; `false` if it is not whole.
fn parse_row(line: &[u8], columns: usize, row: &mut Vec<f64>) -> bool {
    row.clear();
    let Some(line) = line.strip_suffix(b"\n") else {
        return false;
    };
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    for field in line.split(',') {
        match field.parse() {
            Ok(value) => row.push(value),
            Err(_) => return false,
        }
    }
    row.len() == columns
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
fn reader(path: &Path) -> Result<(csv::Reader<BufReader<File>>, u8)> {
    let mut file = BufReader::with_capacity(BUFFER, File::open(path).map_err(Error::io("open", path))?);
    let start = file.fill_buf().map_err(Error::io("read", path))?;
    let mark = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let line = start.iter().position(|byte| *byte == b'\n').unwrap_or(start.len());
    let separator = separator(&start[mark.min(line)..line]);
    file.consume(mark);
    let mut builder = csv::ReaderBuilder::new();
    let reader = builder.flexible(true).trim(csv::Trim::Fields).delimiter(separator).from_reader(file);
    Ok((reader, separator))
}

/// What some editors begin a file of UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The name of the first column.
pub(crate) fn first_name(path: &Path) -> Option<String> {
    Some(reader(path).ok()?.0.headers().ok()?.get(0)?.trim().to_owned())
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

/// Names and columns of any CSV file whose first line names the columns; also of one we did not write.
pub(super) fn read(path: &Path) -> Result<(Vec<String>, Vec<Vec<f64>>)> {
    let (mut reader, separator) = reader(path)?;
    let mut names: Vec<String> = reader.headers().map_err(broken(path))?.iter().map(String::from).collect();
    if names.len() > 1 {
        names.pop_if(|name| name.trim().is_empty());
    }
    let is_number = |name: &String| name.trim().parse::<f64>().is_ok();
    if names.iter().all(is_number) {
        return Err(Box::new(Error::NoHeader { path: path.into() }));
    }
    let mut columns = vec![Vec::new(); names.len()];
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
        for ((field, name), column) in record.iter().zip(&names).zip(&mut columns) {
            column.push(number(field, separator).ok_or_else(|| Error::NotANumber {
                path: path.into(),
                line,
                column: name.clone(),
                text: field.to_string(),
            })?);
        }
    }
    Ok((names, columns))
}

/// The line, counted from 1, of a row of a CSV file.
pub(crate) fn row_line(path: &Path, row: usize) -> Option<u64> {
    let record = reader(path).ok()?.0.records().nth(row)?.ok()?;
    record.position().map(csv::Position::line)
}

fn broken(path: &Path) -> impl FnOnce(csv::Error) -> Box<Error> {
    move |source| Box::new(Error::Csv { path: path.into(), source })
}

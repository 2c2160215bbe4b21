//! Writing a result row by row.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use koppel::system::Message;
use serde::{Deserialize, Serialize};

use super::csv_text::CsvSink;
use super::csvw;
use super::files::{self, Format, part_of, sidecar_of};
use super::metadata::Metadata;
use super::resume::resume_csv;
#[cfg(feature = "parquet")]
use super::{blocks::BlockSink, parquet_file, resume::resume_parquet, whole::CompleteRows};
use crate::{Error, Result};

/// Rows wait in memory no longer than this, as long as rows keep coming.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Writes one result file row by row; see the [module](super) for the files it makes.
///
/// Dropping it without [`finish`](Self::finish) leaves the part file with all rows written so far.
///
/// ```no_run
/// use koppel_io::results::{Column, Metadata, ResultWriter};
/// let columns = vec![Column { name: "mass.x".into(), unit: Some("m".into()), ..Column::default() }];
/// let metadata = Metadata { system: "mass".into(), columns, ..Metadata::default() };
/// let mut writer = ResultWriter::create("out.csv".as_ref(), metadata)?;
/// writer.row(0.0, &[1.0])?;
/// let finished = writer.finish()?;
/// assert_eq!(finished.rows, 1);
/// # Ok::<(), Box<koppel_io::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResultWriter {
    path: PathBuf,
    part: PathBuf,
    metadata: Metadata,
    /// Columns of numbers.
    numbers: usize,
    /// `None` after a failed write.
    sink: Option<Sink>,
    rows: u64,
    last_time: Option<f64>,
    last_flush: Instant,
    notes: Vec<String>,
}

/// A result that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The result file.
    pub path: PathBuf,
    /// The metadata beside it, of a CSV file.
    pub sidecar: Option<PathBuf>,
    /// Rows in it.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes at the end of a part file that [`recover`](super::recover) could not use; otherwise 0.
    pub dropped_bytes: u64,
    /// True if [`recover`](super::recover) left the part file in place because more than its end was unusable.
    pub part_kept: bool,
}

/// Where the rows go.
pub(super) enum Sink {
    Csv(CsvSink),
    #[cfg(feature = "parquet")]
    Blocks(Box<BlockSink>),
}

impl ResultWriter {
    /// Starts a result file; its name ends in `.csv` or `.parquet`.
    ///
    /// # Errors
    ///
    /// If the name has another ending, the file cannot be written, or another process is writing it.
    pub fn create(path: &Path, metadata: Metadata) -> Result<Self> {
        let format = Format::of(path)?;
        metadata.check_names(path)?;
        let part = part_of(path);
        let note = files::set_aside(&part)?;
        // Left by a process that was killed while it completed the file.
        let _ = files::remove(&files::with_suffix(path, ".tmp"));
        let file = files::lock(&part, OpenOptions::new().write(true).create_new(true))?;
        let sink = match format {
            Format::Csv => {
                files::write_whole(&sidecar_of(&part), &csvw::describe(&metadata, path)).and_then(|()| {
                    CsvSink::new(file, &metadata).map(Sink::Csv).map_err(Error::io("write", &part))
                })
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                let sink = BlockSink::new(file, &metadata).map_err(Error::io("write", &part));
                sink.map(|sink| Sink::Blocks(Box::new(sink)))
            }
        };
        let sink = sink.inspect_err(|_| {
            // It holds no row, and the next run would keep it as the work of an interrupted one.
            let _ = files::remove(&part).and(files::remove(&sidecar_of(&part)));
        })?;
        let mut writer = Self::new(path, metadata, sink);
        writer.notes.extend(note);
        Ok(writer)
    }

    /// Continues an interrupted run after its first `rows` rows; later rows are dropped.
    ///
    /// Continues the part file if there is one (the run was killed), else the finished file (the run was stopped in
    /// good order), which stays in place until [`finish`](Self::finish). Compare [`last_time`](Self::last_time) with
    /// the checkpoint to be sure that both belong to the same run.
    ///
    /// # Errors
    ///
    /// If there is no such file, it has fewer rows or other columns, or another process is writing it.
    pub fn resume(path: &Path, metadata: Metadata, rows: u64) -> Result<Self> {
        let format = Format::of(path)?;
        metadata.check_names(path)?;
        let part = part_of(path);
        if !part.exists() && !path.exists() {
            return Err(Box::new(Error::NothingToResume { path: path.into(), part }));
        }
        let (sink, last_time) = match format {
            Format::Csv => resume_csv(path, &metadata, rows)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => resume_parquet(path, &metadata, rows)?,
        };
        let mut writer = Self::new(path, metadata, sink);
        writer.rows = rows;
        writer.last_time = last_time;
        Ok(writer)
    }

    fn new(path: &Path, metadata: Metadata, sink: Sink) -> Self {
        Self {
            path: path.to_path_buf(),
            part: part_of(path),
            numbers: metadata.numbers(),
            metadata,
            sink: Some(sink),
            rows: 0,
            last_time: None,
            last_flush: Instant::now(),
            notes: Vec::new(),
        }
    }

    /// Adds one row of numbers; see [`row_with`](Self::row_with).
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or an earlier write failed.
    ///
    /// # Panics
    ///
    /// If there is not one value per column.
    pub fn row(&mut self, time: f64, values: &[f64]) -> Result<()> {
        self.row_with(time, values, &[])
    }

    /// Adds one row; `values` and `messages` in the order of the columns. Numbers allocate nothing.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or an earlier write failed.
    ///
    /// # Panics
    ///
    /// If there is not one value per column.
    pub fn row_with(&mut self, time: f64, values: &[f64], messages: &[Message]) -> Result<()> {
        assert_eq!(values.len(), self.numbers, "a row has one value per column of numbers");
        assert_eq!(
            values.len() + messages.len(),
            self.metadata.columns.len(),
            "a row has one value per column"
        );
        self.write(|sink| sink.push(time, values, messages))?;
        self.rows += 1;
        self.last_time = Some(time);
        if self.last_flush.elapsed() >= FLUSH_INTERVAL { self.flush() } else { Ok(()) }
    }

    /// True if rows have so many numbers and so many messages.
    #[must_use]
    pub fn fits(&self, numbers: usize, messages: usize) -> bool {
        numbers == self.numbers && numbers + messages == self.metadata.columns.len()
    }

    /// Adds what is only known at the end of the run to the metadata of the finished file.
    pub fn add_metadata(&mut self, key: &str, value: serde_json::Value) {
        self.metadata.extra.insert(key.into(), value);
    }

    /// Hands all rows to the operating system: they survive a kill of this process.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or an earlier write failed.
    pub fn flush(&mut self) -> Result<()> {
        self.last_flush = Instant::now();
        self.write(Sink::flush)
    }

    /// Waits until all rows are on the disk: they survive a power cut. Meant for checkpoints.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or an earlier write failed.
    pub fn sync(&mut self) -> Result<()> {
        self.last_flush = Instant::now();
        self.write(Sink::sync)
    }

    /// Completes the result: now, and not before, the file has its final name.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or an earlier write failed. The part file is left in place then.
    pub fn finish(mut self) -> Result<Finished> {
        self.sync()?;
        match self.sink.take() {
            None => {}
            Some(Sink::Csv(sink)) => {
                drop(sink);
                finish_csv(&self.part, &self.path, &self.metadata)?;
            }
            #[cfg(feature = "parquet")]
            Some(Sink::Blocks(sink)) => {
                drop(sink);
                let whole = finish_parquet(&self.part, &self.path, &self.metadata)?;
                assert_eq!(whole.rows, self.rows, "the part file holds every row written");
                files::remove(&self.part)?;
            }
        }
        Ok(Finished {
            bytes: files::size(&self.path)?,
            sidecar: files::sidecar_written(&self.path),
            path: self.path.clone(),
            rows: self.rows,
            dropped_bytes: 0,
            part_kept: false,
        })
    }

    /// Rows so far, those of a continued run included.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Time of the last row.
    #[must_use]
    pub fn last_time(&self) -> Option<f64> {
        self.last_time
    }

    /// Warnings for the user, such as a part file of an earlier run that was renamed.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn write(&mut self, action: impl FnOnce(&mut Sink) -> io::Result<()>) -> Result<()> {
        let Some(sink) = &mut self.sink else {
            return Err(Box::new(Error::Incomplete { path: self.part.clone() }));
        };
        action(sink).map_err(|error| {
            self.sink = None;
            Error::io("write", &self.part)(error)
        })
    }
}

impl Drop for ResultWriter {
    fn drop(&mut self) {
        if let Some(sink) = &mut self.sink {
            // No one is left to report to; the rows flushed before are safe.
            let _ = sink.flush();
        }
    }
}

impl Sink {
    fn push(&mut self, time: f64, values: &[f64], messages: &[Message]) -> io::Result<()> {
        match self {
            Self::Csv(sink) => sink.push(time, values, messages),
            #[cfg(feature = "parquet")]
            Self::Blocks(sink) => sink.push(time, values, messages),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Csv(sink) => sink.flush(),
            #[cfg(feature = "parquet")]
            Self::Blocks(sink) => sink.flush(),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::Csv(sink) => sink.sync(),
            #[cfg(feature = "parquet")]
            Self::Blocks(sink) => sink.sync(),
        }
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Csv(_) => "Csv",
            #[cfg(feature = "parquet")]
            Self::Blocks(_) => "Blocks",
        })
    }
}

/// Gives a complete CSV part file its final name, and its metadata too.
pub(super) fn finish_csv(part: &Path, path: &Path, metadata: &Metadata) -> Result<()> {
    files::rename(part, path)?;
    files::write_whole(&sidecar_of(path), &csvw::describe(metadata, path))?;
    files::remove(&sidecar_of(part))
}

/// Makes a Parquet file of the whole blocks of a part file, which stays in place.
#[cfg(feature = "parquet")]
pub(super) fn finish_parquet(part: &Path, path: &Path, metadata: &Metadata) -> Result<CompleteRows> {
    let temporary = files::with_suffix(path, ".tmp");
    let whole = match parquet_file::convert(part, metadata, &temporary) {
        Ok(whole) => whole,
        Err(error) => {
            files::remove(&temporary)?;
            return Err(error);
        }
    };
    files::rename(&temporary, path)?;
    Ok(whole)
}

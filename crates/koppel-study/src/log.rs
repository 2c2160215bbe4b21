//! The log of a study: what has been run, one line per run, only ever appended to.
//!
//! ```text
//! {"version":1, ...}                        the header: what the study is
//! 17<TAB>0.25<TAB>NaN<TAB>"..."<TAB>9f0c2a11 number, measures, why it failed (JSON or nothing), sum over the line
//! ```
//!
//! Where a subsystem ended a run, its name follows the failure (JSON).
//!
//! A process may be killed at any byte: a last line without its end is cut off, a line whose sum is wrong is left out, and its
//! run is made again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use koppel::fnv;
use koppel_io::Error as Io;
use koppel_io::results::write_whole;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::execute::Prepared;
use crate::settings::{Analysis, Plan, Scale, Source, Study};

/// What a run has given.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number.
    pub run: u64,
    /// Its measures; NaN where there is none.
    pub values: Vec<f64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// The subsystem that asked to end it before its stop time.
    pub ended_by: Option<String>,
}

/// What a study is: everything that is needed to look at its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// Version of koppel.
    pub koppel: String,
    /// Title.
    pub title: String,
    /// What is varied.
    pub factors: Vec<FactorEntry>,
    /// Which values are tried together.
    pub plan: Plan,
    /// How many runs.
    pub runs: u64,
    /// The measures of each run.
    pub measures: Vec<MeasureEntry>,
    /// How results are looked at.
    pub analysis: Analysis,
    /// Files the results depend on, and sums over them.
    files: Vec<(String, String)>,
}

/// A factor as the log tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorEntry {
    /// Name of its column.
    pub name: String,
    /// The settings that get its value.
    pub paths: Vec<String>,
    /// Its values.
    pub source: Source,
    /// How they are spaced.
    pub scale: Scale,
}

/// A measure as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureEntry {
    /// Name of its column.
    pub name: String,
    /// True if it is 1 or 0.
    pub is_stability: bool,
    /// Whether two runs of the same settings give the same number.
    pub is_repeatable: bool,
}

const VERSION: u32 = 1;

/// Name of the log in the folder of a study.
pub const LOG: &str = "runs.log";

impl Header {
    /// Describes a study.
    ///
    /// # Errors
    ///
    /// If a file it depends on cannot be read.
    pub fn new(prepared: &Prepared) -> Result<Self> {
        let study = &prepared.study;
        let factors = study.factors.iter().map(|factor| FactorEntry {
            name: factor.name.clone(),
            paths: factor.places.iter().map(|place| place.name().to_owned()).collect(),
            source: factor.source.clone(),
            scale: factor.source.scale(),
        });
        let measures = study.measures.iter().map(|measure| MeasureEntry {
            name: measure.name.clone(),
            is_stability: measure.is_stability(),
            is_repeatable: measure.is_repeatable,
        });
        Ok(Header {
            version: VERSION,
            koppel: env!("CARGO_PKG_VERSION").into(),
            title: study.title.clone(),
            factors: factors.collect(),
            plan: study.plan.clone(),
            runs: prepared.design.runs(),
            measures: measures.collect(),
            analysis: study.analysis.clone(),
            files: files(study)?,
        })
    }

    /// What makes results of the two differ; nothing if they are the same study.
    #[must_use]
    pub fn differences(&self, other: &Header) -> Vec<String> {
        let mut what = Vec::new();
        let mut compare = |is_same: bool, name: &str| {
            if !is_same {
                what.push(name.to_owned());
            }
        };
        compare(self.version == other.version && self.koppel == other.koppel, "the version of koppel");
        compare(self.factors == other.factors, "the factors");
        compare(self.plan == other.plan && self.runs == other.runs, "the plan");
        compare(self.measures == other.measures, "the measures");
        let names = |header: &Header| header.files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        compare(names(self) == names(other), "the list of files");
        for ((name, sum), (_, other)) in self.files.iter().zip(&other.files) {
            compare(sum == other, &format!("`{name}`"));
        }
        what
    }
}

/// The study file without what changes no result, then all others; by name without folder, as parts may run elsewhere.
fn files(study: &Study) -> Result<Vec<(String, String)>> {
    let mut all = vec![("the study file".to_owned(), sum_text(study.relevant().as_bytes()))];
    for path in study.reads() {
        let bytes = fs::read(&path).map_err(|error| Error::File(Io::io("read", &path)(error)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push((name, sum_text(&bytes)));
    }
    Ok(all)
}

fn sum_text(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(&[bytes]))
}

impl Row {
    /// As a line of the log, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = self.run.to_string();
        for value in &self.values {
            line.push('\t');
            line.push_str(&format!("{value:?}"));
        }
        line.push('\t');
        if let Some(failure) = &self.failure {
            line.push_str(&serde_json::Value::String(failure.clone()).to_string());
        }
        if let Some(subsystem) = &self.ended_by {
            line.push('\t');
            line.push_str(&serde_json::Value::String(subsystem.clone()).to_string());
        }
        let sum = fnv(&[line.as_bytes()]) as u32;
        line.push_str(&format!("\t{sum:08x}\n"));
        line
    }

    /// Reads a line without its end; none if it is damaged or has not so many measures.
    #[must_use]
    pub fn parse(line: &str, measures: usize) -> Option<Row> {
        let (text, check) = line.rsplit_once('\t')?;
        if u32::from_str_radix(check, 16).ok()? != fnv(&[text.as_bytes()]) as u32 {
            return None;
        }
        let mut fields = text.split('\t');
        let run = fields.next()?.parse().ok()?;
        let values = (0..measures).map(|_| fields.next()?.parse().ok()).collect::<Option<Vec<f64>>>()?;
        let failure = match fields.next()? {
            "" => None,
            json => Some(serde_json::from_str(json).ok()?),
        };
        let ended_by = fields.next().map(serde_json::from_str).transpose().ok()?;
        fields.next().is_none().then_some(Row { run, values, failure, ended_by })
    }
}

/// What stands in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What the study is.
    pub header: Header,
    /// Finished runs in the order in which they ended, each once.
    pub rows: Vec<Row>,
    /// Lines that were damaged.
    pub damaged: u64,
    /// Bytes up to the end of the last whole line.
    whole: u64,
}

/// Reads the log in a folder; none if there is no whole header.
///
/// # Errors
///
/// If it cannot be read.
pub fn read(folder: &Path) -> Result<Option<Contents>> {
    let path = folder.join(LOG);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::File(Io::io("read", &path)(error))),
    };
    let text = String::from_utf8_lossy(&bytes);
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(None) };
    let mut lines = text.lines();
    let Some(header) = lines.next().and_then(|line| serde_json::from_str::<Header>(line).ok()) else {
        return Ok(None);
    };
    let mut contents = Contents { rows: Vec::new(), damaged: 0, whole: end as u64 + 1, header };
    let mut seen = std::collections::HashSet::new();
    let is_whole = bytes.ends_with(b"\n");
    let count = text.lines().count();
    for (index, line) in lines.enumerate() {
        // Numbers of lines count from the header.
        if !is_whole && index + 2 == count {
            break;
        }
        match Row::parse(line, contents.header.measures.len()) {
            Some(row) if row.run < contents.header.runs => {
                if seen.insert(row.run) {
                    contents.rows.push(row);
                }
            }
            _ => contents.damaged += 1,
        }
    }
    Ok(Some(contents))
}

/// The log of a running study.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    buffer: String,
    /// Runs that were finished before.
    pub(crate) rows: Vec<Row>,
}

impl Log {
    /// Continues the log of a study, or begins one.
    pub(crate) fn open(folder: &Path, header: &Header) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|error| Error::File(Io::io("create", folder)(error)))?;
        let path = folder.join(LOG);
        let refused = |action| {
            let path = path.clone();
            move |error| Error::File(Io::io(action, &path)(error))
        };
        let file =
            OpenOptions::new().create(true).append(true).read(true).open(&path).map_err(refused("open"))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::File(Box::new(Io::InUse { path })));
        }
        remove_left_behind(folder);
        let mut log = Log { file, path: path.clone(), buffer: String::new(), rows: Vec::new() };
        match read(folder)? {
            None => {
                // Nothing but a torn header, if anything.
                log.file.set_len(0).map_err(refused("write"))?;
                log.buffer = first_line(header);
                log.sync()?;
            }
            Some(contents) => {
                let what = contents.header.differences(header);
                if !what.is_empty() {
                    return Err(Error::Changed { folder: folder.into(), what });
                }
                log.file.set_len(contents.whole).map_err(refused("write"))?;
                log.rows = contents.rows;
                if contents.header != *header {
                    // Titles and settings of the analysis may change.
                    return log.rewritten(folder, header);
                }
            }
        }
        log.file.seek(SeekFrom::End(0)).map_err(refused("write"))?;
        Ok(log)
    }

    fn rewritten(mut self, folder: &Path, header: &Header) -> Result<Self> {
        let rows = std::mem::take(&mut self.rows);
        drop(self);
        write(folder, header, &rows)?;
        Log::open(folder, header)
    }

    /// Adds a run; it is on the disk after the next [`Log::sync`].
    pub(crate) fn push(&mut self, row: &Row) {
        self.buffer.push_str(&row.line());
    }

    /// Hands all runs to the operating system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(self.buffer.as_bytes());
        // Not tried again: a second try would repeat what the first has written.
        self.buffer.clear();
        written.map_err(|error| Error::File(Io::io("write", &self.path)(error)))
    }

    /// Waits until all runs are on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync_data().map_err(|error| Error::File(Io::io("write", &self.path)(error)))
    }
}

impl Drop for Log {
    /// Processes that were forked meanwhile have the file open too; closing it here would leave it locked.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Removes what a process was writing when it was killed. Whoever calls this holds the log.
fn remove_left_behind(folder: &Path) {
    let below =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let own = [LOG, "runs.csv", "runs.parquet", "index.html"].map(|name| folder.join(format!("{name}.tmp")));
    let analyses = below(&folder.join("analysis")).flat_map(|analysis| below(&analysis).collect::<Vec<_>>());
    let is_temporary = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tmp");
    own.into_iter().chain(analyses.filter(is_temporary)).for_each(|path| _ = fs::remove_file(path));
}

fn first_line(header: &Header) -> String {
    format!("{}\n", serde_json::to_string(header).unwrap_or_default())
}

/// Writes a whole log.
pub(crate) fn write(folder: &Path, header: &Header, rows: &[Row]) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::File(Io::io("create", folder)(error)))?;
    let text: String = std::iter::once(first_line(header)).chain(rows.iter().map(Row::line)).collect();
    Ok(write_whole(&folder.join(LOG), &text)?)
}

#[cfg(test)]
mod tests;

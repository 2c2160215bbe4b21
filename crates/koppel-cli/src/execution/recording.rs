//! Where the rows go: a result file, memory (for a report, as far as they fit), or nowhere.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use koppel::record::Recorder;
use koppel::system::Message;
use koppel_io::results::{Finished, Metadata, ResultWriter, Table, read_table};

use crate::failure::{Failure, Result, note};
use crate::supervision::{Refusal, Remote};

/// Numbers that are kept in memory for a report beside a result file: 128 MB. A longer run is read back from its file.
const KEPT: usize = 16_000_000;

/// One row in this many is timed; a prime, so that it does not keep step with the batches of a file.
const TIMED: u64 = 7;

const ENDED: &str = "the run has ended; its result file is closed";

type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Takes the rows of a run and measures what that costs.
#[derive(Debug)]
pub(super) struct Recording {
    place: Shared,
    rows: u64,
    timed: Duration,
    timed_rows: u64,
    /// All rows so far, for the report.
    kept: Option<Rows>,
    has_file: bool,
    notes: Vec<String>,
}

/// Rows in memory, in sequence.
#[derive(Debug, Default)]
struct Rows {
    times: Vec<f64>,
    values: Vec<f64>,
}

/// The rows so far, shared with whoever writes checkpoints.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<Destination>>);

#[derive(Debug)]
enum Destination {
    File(Box<ResultWriter>),
    /// A file that the supervisor writes.
    Remote(Remote),
    Nowhere,
    /// The result file is complete: it takes no more rows, and no checkpoint may count those it has.
    Ended,
}

impl Recording {
    /// Starts a result file, or continues it after `rows` rows.
    pub(super) fn open(
        out: Option<&Path>,
        metadata: &Metadata,
        rows: Option<u64>,
        keep: bool,
    ) -> Result<Self> {
        let place = out.map_or(Ok(Destination::Nowhere), |path| Destination::open(path, metadata, rows))?;
        let notes = match &place {
            Destination::File(writer) => writer.notes().to_vec(),
            Destination::Remote(remote) => remote.notes().to_vec(),
            Destination::Nowhere | Destination::Ended => Vec::new(),
        };
        // Of a run that goes on, the earlier rows are in the file.
        let kept = (keep && !(out.is_some() && rows.is_some())).then(Rows::default);
        let place = Shared(Arc::new(Mutex::new(place)));
        Ok(Recording {
            place,
            rows: 0,
            timed: Duration::ZERO,
            timed_rows: 0,
            kept,
            has_file: out.is_some(),
            notes,
        })
    }

    /// Warnings for the user.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn share(&self) -> Shared {
        self.place.clone()
    }

    /// Time spent on all rows, from those that were measured.
    pub(super) fn time(&self) -> Duration {
        if self.timed_rows == 0 {
            Duration::ZERO
        } else {
            self.timed.mul_f64(self.rows as f64 / self.timed_rows as f64)
        }
    }

    /// Adds something to the metadata of the result file.
    pub(super) fn add(&mut self, key: &str, value: serde_json::Value) {
        match &mut *self.place.lock() {
            Destination::File(writer) => writer.add_metadata(key, value),
            Destination::Remote(remote) => remote.add_metadata(key, value),
            Destination::Nowhere | Destination::Ended => {}
        }
    }

    /// Completes the result file.
    pub(super) fn finish(&mut self) -> Result<Option<Finished>> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Destination::Ended) {
            Destination::File(writer) => writer.finish().map(Some).map_err(Failure::Write),
            Destination::Remote(remote) => remote.finish().map_err(Failure::refused),
            other => {
                *place = other;
                Ok(None)
            }
        }
    }

    /// Keeps a row for the report, or gives up keeping: what does not fit is read back from the file.
    #[inline]
    fn keep(&mut self, time: f64, values: &[f64]) {
        let Some(kept) = &mut self.kept else { return };
        if self.has_file && kept.times.len() + kept.values.len() > KEPT {
            self.kept = None;
            return;
        }
        kept.times.push(time);
        kept.values.extend_from_slice(values);
    }

    /// All rows, for the report.
    pub(super) fn table(&self, metadata: &Metadata, finished: Option<&Finished>) -> Result<Table> {
        let Some(kept) = &self.kept else {
            return finished.map_or(Ok(Table::default()), |finished| Ok(read_table(&finished.path)?));
        };
        // Texts and bytes are not kept: pages show numbers.
        let names = metadata.columns.iter().filter(|column| column.kind.is_number());
        let width = names.clone().count().max(1);
        let column = |index: usize| kept.values.iter().skip(index).step_by(width).copied().collect();
        let columns = names.enumerate().map(|(index, one)| (one.name.clone(), column(index))).collect();
        let (metadata, time) = (Some(metadata.clone()), kept.times.clone());
        Ok(Table { metadata, time, columns, ..Table::default() })
    }
}

impl Destination {
    /// Starts a result file, or continues it after `rows` rows: by the supervisor if there is one.
    fn open(path: &Path, metadata: &Metadata, rows: Option<u64>) -> Result<Self> {
        if let Some(opened) = Remote::open(path, metadata, rows) {
            let refused =
                |refusal: Refusal| Failure::Words(Box::new(refusal.into_diagnoses().swap_remove(0)));
            return opened.map(Destination::Remote).map_err(refused);
        }
        let writer = match rows {
            Some(rows) => ResultWriter::resume(path, metadata.clone(), rows),
            None => ResultWriter::create(path, metadata.clone()),
        };
        Ok(Destination::File(Box::new(writer?)))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Destination> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings all rows to the disk; how many there are.
    pub(super) fn sync(&self) -> std::result::Result<u64, Trouble> {
        match &mut *self.lock() {
            Destination::File(writer) => {
                writer.sync()?;
                Ok(writer.rows())
            }
            Destination::Remote(remote) => Ok(remote.sync()?),
            Destination::Nowhere => Ok(0),
            Destination::Ended => Err(ENDED.into()),
        }
    }

    /// Completes the result file while a step goes on that may never end; the run gets no more rows.
    pub(super) fn end_at_once(&self) {
        // Held to the end: who else wants the rows finds a file that is complete.
        let mut place = self.lock();
        let Destination::File(writer) = std::mem::replace(&mut *place, Destination::Ended) else { return };
        match writer.finish() {
            Ok(finished) => {
                let text =
                    format!("aborted inside a step; `{}` has the rows so far", finished.path.display());
                note("note", &text);
            }
            Err(error) => Failure::Write(error).show(),
        }
    }

    fn row(&self, time: f64, values: &[f64], messages: &[Message]) -> koppel::Result<()> {
        match &mut *self.lock() {
            Destination::File(writer) => writer
                .row_with(time, values, messages)
                .map_err(|error| Box::new(koppel::Error::Recorder { source: error.into() })),
            Destination::Remote(remote) => remote
                .row(time, values, messages)
                .map_err(|refusal| Box::new(koppel::Error::Recorder { source: refusal.into() })),
            Destination::Nowhere => Ok(()),
            Destination::Ended => Err(Box::new(koppel::Error::Recorder { source: ENDED.into() })),
        }
    }
}

impl Recorder for Recording {
    fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
        self.row_with(time, values, &[])
    }

    fn row_with(&mut self, time: f64, values: &[f64], messages: &[Message]) -> koppel::Result<()> {
        self.rows += 1;
        if !self.rows.is_multiple_of(TIMED) {
            self.keep(time, values);
            return self.place.row(time, values, messages);
        }
        let begin = Instant::now();
        self.keep(time, values);
        let result = self.place.row(time, values, messages);
        self.timed += begin.elapsed();
        self.timed_rows += 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkpoint written afterwards would promise rows that nobody counted.
    #[test]
    fn an_ended_file_takes_no_rows_and_no_checkpoint() {
        let name = format!("koppel-ended-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        let metadata = Metadata {
            koppel_version: "0".into(),
            created: "now".into(),
            system: "s".into(),
            settings: serde_json::Value::Null,
            columns: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let mut recording = Recording::open(Some(&path), &metadata, None, false).unwrap();
        recording.row(0.0, &[]).unwrap();
        let shared = recording.share();
        assert_eq!(shared.sync().unwrap(), 1);
        shared.end_at_once();
        assert!(path.exists());
        assert!(shared.sync().is_err());
        assert!(recording.row(1.0, &[]).is_err());
        assert!(recording.finish().unwrap().is_none());
        std::fs::remove_file(path).unwrap();
    }
}

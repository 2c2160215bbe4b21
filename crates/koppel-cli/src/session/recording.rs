//! Where the rows go: a result file, memory (for a report alone), or nowhere.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use koppel::record::Recorder;
use koppel_io::Result as IoResult;
use koppel_io::results::{Finished, Metadata, ResultWriter, Table, read_table};

use crate::failure::{Failure, Result, note};

/// One row in this many is timed; a prime, so that it does not keep step with the batches of a file.
const TIMED: u64 = 7;

/// Takes the rows of a run and measures what that costs.
#[derive(Debug)]
pub(super) struct Recording {
    place: Shared,
    rows: u64,
    timed: Duration,
    timed_rows: u64,
    notes: Vec<String>,
}

/// The rows so far, shared with whoever writes checkpoints.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<Place>>);

#[derive(Debug)]
enum Place {
    File(Box<ResultWriter>),
    Memory(Box<koppel::record::Table>),
    Nowhere,
}

impl Recording {
    /// Starts a result file, or continues it after `rows` rows.
    pub(super) fn open(
        out: Option<&Path>,
        metadata: &Metadata,
        rows: Option<u64>,
        keep: bool,
    ) -> Result<Self> {
        let place = match (out, rows) {
            (Some(path), Some(rows)) => {
                Place::File(Box::new(ResultWriter::resume(path, metadata.clone(), rows)?))
            }
            (Some(path), None) => Place::File(Box::new(ResultWriter::create(path, metadata.clone())?)),
            (None, _) if keep => Place::Memory(Box::default()),
            (None, _) => Place::Nowhere,
        };
        let notes = match &place {
            Place::File(writer) => writer.notes().to_vec(),
            _ => Vec::new(),
        };
        let place = Shared(Arc::new(Mutex::new(place)));
        Ok(Recording { place, rows: 0, timed: Duration::ZERO, timed_rows: 0, notes })
    }

    /// What the user should be told.
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

    /// Completes the result file.
    pub(super) fn finish(&mut self) -> Result<Option<Finished>> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Nowhere) {
            Place::File(writer) => writer.finish().map(Some).map_err(Failure::Write),
            other => {
                *place = other;
                Ok(None)
            }
        }
    }

    /// All rows, for the report.
    pub(super) fn table(&self, metadata: &Metadata, finished: Option<&Finished>) -> Result<Table> {
        if let Some(finished) = finished {
            return Ok(read_table(&finished.path)?);
        }
        let place = self.place.lock();
        let Place::Memory(table) = &*place else { return Ok(Table::default()) };
        let names = metadata.columns.iter().enumerate();
        let columns =
            names.map(|(index, column)| (column.name.clone(), table.column(index).collect())).collect();
        Ok(Table { metadata: Some(metadata.clone()), time: table.times.clone(), columns })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings all rows to the disk; how many there are.
    pub(super) fn sync(&self) -> IoResult<u64> {
        match &mut *self.lock() {
            Place::File(writer) => {
                writer.sync()?;
                Ok(writer.rows())
            }
            _ => Ok(0),
        }
    }

    /// Completes the result file while a step goes on that may never end; the run gets no more rows.
    pub(super) fn end_at_once(&self) {
        let Place::File(writer) = std::mem::replace(&mut *self.lock(), Place::Nowhere) else { return };
        match writer.finish() {
            Ok(finished) => {
                let text =
                    format!("ended inside a step; `{}` has the rows up to then", finished.path.display());
                note("note", &text);
            }
            Err(error) => Failure::Write(error).show(),
        }
    }

    fn row(&self, time: f64, values: &[f64]) -> koppel::Result<()> {
        match &mut *self.lock() {
            Place::File(writer) => writer
                .row(time, values)
                .map_err(|error| Box::new(koppel::Error::Recorder { source: error.into() })),
            Place::Memory(table) => table.row(time, values),
            Place::Nowhere => Ok(()),
        }
    }
}

impl Recorder for Recording {
    fn row(&mut self, time: f64, values: &[f64]) -> koppel::Result<()> {
        self.rows += 1;
        if !self.rows.is_multiple_of(TIMED) {
            return self.place.row(time, values);
        }
        let begin = Instant::now();
        let result = self.place.row(time, values);
        self.timed += begin.elapsed();
        self.timed_rows += 1;
        result
    }
}

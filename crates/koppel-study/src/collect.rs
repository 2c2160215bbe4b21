//! A study whose runs are made elsewhere: on a cluster, by any scheduler that hands tasks to workers.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use crate::error::Result;
use crate::execute::{Prepared, SYNC};
use crate::log::{Header, Log, Row};

/// Takes finished runs in whatever order they come, and keeps each once.
pub struct Collection {
    header: Header,
    log: Log,
    rows: Vec<Row>,
    done: HashSet<u64>,
    synced: Instant,
}

impl Collection {
    /// Continues the study in a folder, or begins it there.
    ///
    /// # Errors
    ///
    /// If the folder holds another study, or cannot be written.
    pub fn open(prepared: &Prepared, folder: &Path) -> Result<Self> {
        let header = Header::new(prepared)?;
        let mut log = Log::open(folder, &header)?;
        let rows = std::mem::take(&mut log.rows);
        let done = rows.iter().map(|row| row.run).collect();
        Ok(Collection { header, log, rows, done, synced: Instant::now() })
    }

    /// What the study is; whoever makes runs compares it with what is found there.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Runs that are not finished.
    #[must_use]
    pub fn missing(&self) -> Vec<u64> {
        (0..self.header.runs).filter(|run| !self.done.contains(run)).collect()
    }

    /// Runs that are finished.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Keeps finished runs; how many of them were new.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn take(&mut self, rows: impl IntoIterator<Item = Row>) -> Result<u64> {
        let before = self.rows.len();
        for row in rows {
            if row.run < self.header.runs && self.done.insert(row.run) {
                self.log.push(&row);
                self.rows.push(row);
            }
        }
        if self.synced.elapsed() < SYNC {
            self.log.flush()?;
        } else {
            self.log.sync()?;
            self.synced = Instant::now();
        }
        Ok((self.rows.len() - before) as u64)
    }

    /// Brings all runs to the disk; they are sorted then.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        koppel::sort::sort_by_key(&mut self.rows, |row| row.run);
        self.log.sync()
    }
}

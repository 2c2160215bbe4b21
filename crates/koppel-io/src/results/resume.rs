//! Continuing the file of an interrupted run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::csv_text::{self, CsvSink};
use super::csvw;
use super::files::{self, part_of, sidecar_of, with_suffix};
use super::metadata::Metadata;
use super::writer::Sink;
#[cfg(feature = "parquet")]
use super::{
    blocks::{self, BlockSink},
    parquet_file,
    whole::CompleteRows,
};
use crate::{Error, Result};

/// A sink after the first `rows` rows of the CSV part file, or of the finished file.
pub(super) fn resume_csv(path: &Path, metadata: &Metadata, rows: u64) -> Result<(Sink, Option<f64>)> {
    let part = part_of(path);
    let source = if part.exists() { &part } else { path };
    let mut old = files::lock(source, OpenOptions::new().read(true).write(true))?;
    let (names, whole) = csv_text::scan(source, rows, &metadata.message_kinds(), |_, _, _| Ok(()))?;
    if names != metadata.names() {
        return Err(Box::new(Error::ResumeColumns {
            path: source.into(),
            expected: metadata.names(),
            found: names,
        }));
    }
    check_length(source, whole.rows, rows)?;
    files::write_whole(&sidecar_of(&part), &csvw::describe(metadata, path))?;
    let file = if source == part {
        old.set_len(whole.bytes)
            .and_then(|()| old.seek(SeekFrom::End(0)))
            .map_err(Error::io("shorten", &part))?;
        old
    } else {
        let temporary = with_suffix(&part, ".tmp");
        let new = copy_start(&mut old, whole.bytes, &temporary).map_err(Error::io("write", &temporary))?;
        files::rename(&temporary, &part)?;
        new
    };
    Ok((Sink::Csv(CsvSink::append(file)), whole.last_time))
}

/// A sink after the first `rows` rows of the part file, or of the finished Parquet file.
#[cfg(feature = "parquet")]
pub(super) fn resume_parquet(path: &Path, metadata: &Metadata, rows: u64) -> Result<(Sink, Option<f64>)> {
    let part = part_of(path);
    let source = if part.exists() { &part } else { path };
    let old = files::lock(source, OpenOptions::new().read(true))?;
    let temporary = with_suffix(&part, ".tmp");
    let file = create_locked(&temporary).map_err(Error::io("create", &temporary))?;
    let mut sink = BlockSink::new(file, metadata).map_err(Error::io("write", &temporary))?;
    let copied = if source == part {
        copy_blocks(source, rows, metadata, &mut sink)
    } else {
        parquet_file::copy_parquet(source, rows, metadata, &mut sink)
    };
    let kept = copied.and_then(|copied| check_length(source, copied.rows, rows).map(|()| copied));
    let kept = match kept {
        Ok(kept) => kept,
        Err(error) => {
            files::remove(&temporary)?;
            return Err(error);
        }
    };
    sink.sync().map_err(Error::io("write", &temporary))?;
    drop(old);
    files::rename(&temporary, &part)?;
    Ok((Sink::Blocks(Box::new(sink)), kept.last_time))
}

/// Copies the first `rows` rows of a file of blocks into `sink`; what was copied.
#[cfg(feature = "parquet")]
fn copy_blocks(path: &Path, rows: u64, metadata: &Metadata, sink: &mut BlockSink) -> Result<CompleteRows> {
    let old = blocks::metadata(path)?;
    let (expected, found) = (metadata.names(), old.names());
    if found != expected || old.message_kinds() != metadata.message_kinds() {
        return Err(Box::new(Error::ResumeColumns { path: path.into(), expected, found }));
    }
    let mut copied = CompleteRows::default();
    blocks::scan(path, |batch| {
        sink.copy(batch, rows, &mut copied).map_err(Error::io("write the part file of", path))
    })?;
    Ok(copied)
}

fn check_length(path: &Path, found: u64, needed: u64) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(Box::new(Error::ResumeTooShort { path: path.into(), found, needed }))
}

/// Copies the first `bytes` bytes of `from` to a new file, complete on the disk.
pub(super) fn copy_start(from: &mut File, bytes: u64, to: &Path) -> io::Result<File> {
    let mut new = create_locked(to)?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from.take(bytes), &mut new)?;
    new.sync_all()?;
    Ok(new)
}

/// A new file, locked where the system allows it.
fn create_locked(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    let _ = file.try_lock();
    Ok(file)
}

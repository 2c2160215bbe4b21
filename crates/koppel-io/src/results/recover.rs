//! Making a finished file of what a killed run left.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::files::{self, Format, result_of, sidecar_of, with_suffix};
use super::resume::copy_start;
use super::whole::CompleteRows;
use super::writer::{Finished, ResultWriter, finish_csv};
use super::{Column, Kind, Metadata, csv_text, csvw};
#[cfg(feature = "parquet")]
use super::{blocks, writer::finish_parquet};
use crate::{Error, Result};

/// Turns the part file of a killed run, also one that is cut off anywhere, into a finished file.
///
/// Keeps all complete rows. Without `out` the result gets the name that the run was asked for, if that name is free;
/// with `out`, an existing file is replaced, and another format is converted to. The part file is removed once the
/// result is complete, unless more than its unfinished end was unusable.
///
/// # Errors
///
/// If `part` is not a part file, holds not even a header, is still being written, or `out` cannot be written.
pub fn recover(part: &Path, out: Option<&Path>) -> Result<Finished> {
    let named = result_of(part).ok_or_else(|| not_a_part(part, "its name does not end in `.part`"))?;
    let lock = files::lock(part, OpenOptions::new().read(true))?;
    let format = detect(part)?;
    let out = match out {
        Some(out) => out.to_path_buf(),
        None => default_output(&named, format)?,
    };
    let size = files::size(part)?;
    let kept = if Format::of(&out)? == format {
        recover_as(format, part, &out)?
    } else {
        convert(format, part, &out)?
    };
    drop(lock);
    if !kept.damaged {
        files::remove(part)?;
        files::remove(&sidecar_of(part))?;
    }
    Ok(Finished {
        bytes: files::size(&out)?,
        sidecar: files::sidecar_written(&out),
        path: out,
        rows: kept.rows,
        dropped_bytes: size - kept.bytes,
        part_kept: kept.damaged,
    })
}

/// How the blocks of a Parquet file begin.
const BLOCKS: &[u8] = b"koppe";

/// What the first bytes say.
fn detect(part: &Path) -> Result<Format> {
    let mut start = Vec::new();
    let file = std::fs::File::open(part).map_err(Error::io("open", part))?;
    file.take(5).read_to_end(&mut start).map_err(Error::io("read", part))?;
    if start.len() < 5 {
        return Err(Box::new(Error::NothingToRecover { path: part.into() }));
    }
    if start == BLOCKS {
        #[cfg(feature = "parquet")]
        return Ok(Format::Parquet);
        #[cfg(not(feature = "parquet"))]
        return Err(Box::new(Error::ParquetMissing { path: part.into() }));
    }
    if start == b"time," || start == b"time\n" {
        return Ok(Format::Csv);
    }
    Err(not_a_part(part, "it holds neither CSV with a `time` column nor the blocks of a Parquet file"))
}

/// The name the run was asked for, unless that would replace a file.
fn default_output(named: &Path, format: Format) -> Result<PathBuf> {
    let out = match Format::of(named) {
        Ok(asked) if asked == format => named.to_path_buf(),
        _ => with_suffix(named, &format!(".{}", format.extension())),
    };
    if out.exists() {
        return Err(Box::new(Error::OutputExists { path: out }));
    }
    Ok(out)
}

/// Recovers to the format of the part file.
fn recover_as(format: Format, part: &Path, out: &Path) -> Result<CompleteRows> {
    match format {
        Format::Csv => {
            let metadata = csv_metadata(part)?;
            let kinds = metadata.message_kinds();
            let (_, whole) = csv_text::scan(part, u64::MAX, &kinds, |_, _, _| Ok(()))?;
            let temporary = with_suffix(out, ".tmp");
            let mut old = std::fs::File::open(part).map_err(Error::io("open", part))?;
            drop(copy_start(&mut old, whole.bytes, &temporary).map_err(Error::io("write", &temporary))?);
            finish_csv(&temporary, out, &metadata)?;
            Ok(whole)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let metadata = blocks::metadata(part)?;
            finish_parquet(part, out, &metadata)
        }
    }
}

/// Recovers to the other format, row by row.
fn convert(format: Format, part: &Path, out: &Path) -> Result<CompleteRows> {
    match format {
        Format::Csv => {
            let metadata = csv_metadata(part)?;
            let kinds = metadata.message_kinds();
            let mut writer = ResultWriter::create(out, metadata)?;
            let (_, whole) = csv_text::scan(part, u64::MAX, &kinds, |time, values, messages| {
                writer.row_with(time, values, messages)
            })?;
            writer.finish()?;
            Ok(whole)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let metadata = blocks::metadata(part)?;
            let kinds = metadata.message_kinds();
            let mut writer = ResultWriter::create(out, metadata)?;
            let whole = blocks::scan(part, |batch| {
                batch.for_each_row(&kinds, |time, values, messages| writer.row_with(time, values, messages))
            })?;
            writer.finish()?;
            Ok(whole)
        }
    }
}

/// The metadata beside the part file; if it is lost, the names in the header and the quotes of the first row are all that is known.
fn csv_metadata(part: &Path) -> Result<Metadata> {
    let mut texts = 0;
    let (names, _) = csv_text::scan(part, 1, &[], |_, _, messages| {
        texts = messages.len();
        Ok(())
    })?;
    if let Some(metadata) = csvw::read(part)?.filter(|metadata| metadata.names() == names) {
        return Ok(metadata);
    }
    let kind = |at: usize| if at + texts < names.len() { Kind::Number } else { Kind::Text };
    let columns = names.iter().enumerate().skip(1);
    let columns =
        columns.map(|(at, name)| Column { name: name.clone(), kind: kind(at), ..Column::default() });
    Ok(Metadata { columns: columns.collect(), ..Metadata::default() })
}

fn not_a_part(path: &Path, reason: &'static str) -> Box<Error> {
    Box::new(Error::NotAPart { path: path.into(), reason })
}

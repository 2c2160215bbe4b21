//! Writing archives: the same files give the same bytes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// What an archive gets under a name.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file on disk.
    File(&'a Path),
}

/// Writes all files beside `path` first, then puts the archive in its place: nothing half done is left.
///
/// # Errors
///
/// If the archive cannot be written, or a file cannot be read, which is named then.
pub fn write<'a>(path: &Path, files: impl IntoIterator<Item = (&'a str, Content<'a>)>) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let done = pack(&part, files).and_then(|()| std::fs::rename(&part, path));
    if done.is_err() {
        // Whatever was the reason, the part is of no use.
        let _ = std::fs::remove_file(&part);
    }
    done
}

fn pack<'a>(path: &Path, files: impl IntoIterator<Item = (&'a str, Content<'a>)>) -> io::Result<()> {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
    for (name, content) in files {
        // FMUs are packed already.
        let is_packed = name.to_ascii_lowercase().ends_with(".fmu");
        let method = if is_packed { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .large_file(is_packed)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        archive.start_file(name, options)?;
        match content {
            Content::Bytes(bytes) => archive.write_all(bytes)?,
            Content::File(source) => {
                let named = |error: io::Error| {
                    io::Error::new(error.kind(), format!("`{}`: {error}", source.display()))
                };
                io::copy(&mut File::open(source).map_err(named)?, &mut archive).map_err(named)?;
            }
        }
    }
    let file = archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

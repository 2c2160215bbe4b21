//! The zip file: the same files give the same bytes.

use super::File;
use crate::error::{Error, Result};
use std::io::Write;
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Writes all files beside `path` first, then puts them in its place: nothing half done is left.
pub(super) fn write(files: &[File], path: &Path) -> Result<()> {
    let failed = |reason: String| Box::new(Error::Write { path: path.into(), reason });
    if path.is_dir() {
        return Err(failed("it is a folder".into()));
    }
    let part = path.with_extension("fmu.part");
    let done = pack(files, &part).and_then(|()| std::fs::rename(&part, path));
    done.map_err(|error| {
        // Whatever was the reason, the part is of no use.
        let _ = std::fs::remove_file(&part);
        failed(error.to_string())
    })
}

fn pack(files: &[File], path: &Path) -> std::io::Result<()> {
    let mut writer = ZipWriter::new(std::fs::File::create(path)?);
    for file in files {
        let is_packed = file.name.ends_with(".fmu");
        let method = if is_packed { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        writer.start_file(file.name.as_str(), options)?;
        writer.write_all(&file.content)?;
    }
    writer.finish()?.sync_all()
}

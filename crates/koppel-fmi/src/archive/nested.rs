//! Archives inside archives, such as an FMU in a system structure package: `vehicle.ssp!resources/engine.fmu`.

use super::{Archive, ArchiveError, at};
use crate::error::Result;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Most bytes of an archive that lies in another one: it is held in memory while it is read. 2 GiB.
pub const MAX_INNER_SIZE: u64 = 2 << 30;

/// Bytes of an archive, wherever they are.
pub trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

impl Archive {
    /// Opens and checks an archive: a file, or `file!entry`, an entry of another archive.
    pub fn open(path: &Path) -> Result<Archive> {
        let (file, entries) = split(path);
        let open = || {
            let opened = File::open(&file)?;
            let size = opened.metadata()?.len();
            if opened.metadata()?.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            Ok((opened, size))
        };
        let (opened, size) = open().map_err(|source| at(path, ArchiveError::Open { source }))?;
        let reader: Box<dyn Source> = Box::new(BufReader::new(opened));
        let mut archive = Archive::new(&file, reader, size)?;
        for entry in entries {
            let inner = PathBuf::from(format!("{}!{entry}", archive.path().display()));
            let bytes = archive.read(&entry, MAX_INNER_SIZE)?;
            let missing = || at(archive.path(), ArchiveError::NoEntry { name: entry.clone() });
            archive = Archive::from_bytes(&inner, bytes.ok_or_else(missing)?)?;
        }
        Ok(archive)
    }

    /// Checks an archive in memory; `path` is only for messages.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Archive> {
        let size = bytes.len() as u64;
        let reader: Box<dyn Source> = Box::new(Cursor::new(bytes));
        Archive::new(path, reader, size)
    }
}

/// The file of a path `file!entry!entry`, and the entries. A name with `!` of a file that exists is that file.
pub fn split(path: &Path) -> (PathBuf, Vec<String>) {
    if let (false, Some(text)) = (path.is_file(), path.to_str()) {
        for (mark, _) in text.match_indices('!') {
            if Path::new(&text[..mark]).is_file() {
                return (text[..mark].into(), text[mark + 1..].split('!').map(str::to_owned).collect());
            }
        }
    }
    (path.into(), Vec::new())
}

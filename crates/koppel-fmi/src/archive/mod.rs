//! FMU files and SSP packages are untrusted zip archives: opened and unpacked without trusting them.
//!
//! [`Archive::open`] reads the directory of the archive and refuses it as a whole, before a byte is written, for:
//!
//! * not being a zip, or a truncated one;
//! * names that leave the folder or mean different things on different systems (see [`ArchiveError`]);
//! * symbolic links and other special files;
//! * two entries that meet at the same path, also when they differ only in case;
//! * encryption, and compression other than deflate;
//! * more than [`MAX_ENTRIES`] entries, more than [`MAX_TOTAL_SIZE`] bytes, or a compression ratio above [`MAX_RATIO`]
//!   (looked at once there are more than [`RATIO_FREE_SIZE`] bytes), and entries that share compressed bytes.
//!
//! What an entry declares is only believed until it is read: an entry with more bytes than declared is an error, and so
//! is a wrong check sum.

mod directory;
mod folder;
mod name;
mod nested;
mod writing;

pub use folder::Unpacked;
#[cfg(target_os = "linux")]
pub(crate) use folder::{remove_dead, remove_left_behind, remove_own};
use name::Names;
pub use name::normalize;
pub use nested::{MAX_INNER_SIZE, Source, split};
pub use writing::{Content, write};

use crate::error::{Error, Result};
use std::collections::HashMap;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// Most entries an archive may have.
pub const MAX_ENTRIES: usize = 100_000;

/// Most bytes an archive may unpack to: 16 GiB.
pub const MAX_TOTAL_SIZE: u64 = 16 << 30;

/// An archive may unpack to at most this many times its own size.
pub const MAX_RATIO: u64 = 200;

/// Below this size the ratio does not matter: 64 MiB. Tables of zeros compress a thousandfold and are harmless.
pub const RATIO_FREE_SIZE: u64 = 64 << 20;

/// Why an archive was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum ArchiveError {
    #[error("cannot be opened: {source}")]
    Open { source: io::Error },
    #[error("is not a zip archive ({reason})")]
    NotAZip { reason: String },
    #[error("is a damaged zip archive, possibly truncated ({reason})")]
    Damaged { reason: String },
    #[error("entry `{name}` is damaged: {reason}")]
    DamagedEntry { name: String, reason: String },
    #[error("entry `{name}` is refused: {problem}")]
    Name { name: String, problem: NameProblem },
    #[error("entry `{name}` is refused: it is a {kind}, only files and folders are unpacked")]
    Special { name: String, kind: &'static str },
    #[error("the name `{name}` occurs twice in its directory")]
    Duplicate { name: String },
    #[error("entries `{first}` and `{second}` are refused: {problem}")]
    Clash { first: String, second: String, problem: &'static str },
    #[error("entry `{name}` is encrypted")]
    Encrypted { name: String },
    #[error("entry `{name}` uses the compression method {method}; only deflate and store are supported")]
    Compression { name: String, method: String },
    #[error("has {entries} entries, more than the limit of {MAX_ENTRIES}")]
    TooManyEntries { entries: usize },
    #[error("would unpack to {size} bytes, more than the limit of {MAX_TOTAL_SIZE}")]
    TooLarge { size: u64 },
    #[error("would unpack to {ratio} times its size, more than the limit of {MAX_RATIO}: a zip bomb")]
    Ratio { ratio: u64 },
    #[error("has entries that share compressed bytes: a zip bomb")]
    Overlap,
    #[error("entry `{name}` has {size} bytes, more than the {limit} accepted for it")]
    EntryTooLarge { name: String, size: u64, limit: u64 },
    #[error("has no `{name}`: not an FMU")]
    Missing { name: &'static str },
    #[error("has no entry `{name}`")]
    NoEntry { name: String },
    #[error("cannot be unpacked to `{}`: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// What is wrong with the name of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum NameProblem {
    #[error("an empty name")]
    Empty,
    #[error("an absolute path")]
    Absolute,
    #[error("`..` leaves the folder")]
    Parent,
    #[error("a colon, as in a drive letter")]
    Colon,
    #[error("a control character")]
    Control,
    #[error("the name is not readable text")]
    Encoding,
    #[error("the path is longer than {} bytes", name::MAX_LENGTH)]
    TooLong,
}

/// One file or folder of a checked archive.
#[derive(Clone, Debug)]
struct Entry {
    index: usize,
    /// Path with `/` between its parts, without empty or `.` parts.
    path: String,
    kind: Kind,
    size: u64,
}

/// What an entry unpacks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Executable,
    Folder,
}

/// An archive whose directory has been read and found harmless.
pub struct Archive<R = Box<dyn Source>> {
    path: PathBuf,
    zip: ZipArchive<R>,
    entries: Vec<Entry>,
    /// Places of files in `entries`.
    places: HashMap<String, usize>,
}

impl<R> std::fmt::Debug for Archive<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<R: Read + Seek> Archive<R> {
    /// Checks an archive of `size` bytes; `path` is only for messages.
    pub fn new(path: &Path, reader: R, size: u64) -> Result<Archive<R>> {
        let checked = open_zip(reader).and_then(|mut zip| {
            if zip.has_duplicate_names() {
                let start = zip.central_directory_start();
                let name = directory::repeated(zip.into_inner(), start).unwrap_or_default();
                return Err(ArchiveError::Duplicate { name });
            }
            let entries = check(&mut zip, size)?;
            Ok((zip, entries))
        });
        let (zip, entries) = checked.map_err(|error| at(path, error))?;
        let files = entries.iter().enumerate().filter(|(_, entry)| entry.kind != Kind::Folder);
        let places = files.map(|(place, entry)| (entry.path.clone(), place)).collect();
        Ok(Archive { path: path.into(), zip, entries, places })
    }

    /// Where it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Paths of all files, with `/` as separator.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| entry.kind != Kind::Folder).map(|entry| entry.path.as_str())
    }

    /// True if there is a file of this path.
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The contents of one file of at most `limit` bytes, without unpacking the others; `None` if there is no such file.
    pub fn read(&mut self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.places.get(name) else { return Ok(None) };
        let entry = self.entries[*place].clone();
        if entry.size > limit {
            let error = ArchiveError::EntryTooLarge { name: entry.path, size: entry.size, limit };
            return Err(at(&self.path, error));
        }
        let mut bytes = Vec::new();
        match copy(&mut self.zip, &entry, &mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) => Err(at(&self.path, damaged(&entry, error))),
        }
    }

    /// Like [`Archive::read`], for a file without which this is no FMU.
    pub fn require(&mut self, name: &'static str, limit: u64) -> Result<Vec<u8>> {
        self.read(name, limit)?.ok_or_else(|| at(&self.path, ArchiveError::Missing { name }))
    }

    /// Unpacks everything into a new private folder, which lives as long as the returned value.
    pub fn unpack(&mut self) -> Result<Unpacked> {
        let cannot_write = |path: &Path, source| ArchiveError::Write { path: path.into(), source };
        let parent = folder::parent();
        let folder =
            Unpacked::create(&parent).map_err(|source| at(&self.path, cannot_write(&parent, source)))?;
        for entry in &self.entries {
            let target = folder.path().join(&entry.path);
            let written = write_entry(&mut self.zip, entry, &folder, &target);
            written.map_err(|error| {
                let error = match error {
                    WriteError::Target(source) => cannot_write(&target, source),
                    WriteError::Entry(source) => damaged(entry, source),
                };
                at(&self.path, error)
            })?;
        }
        Ok(folder)
    }
}

fn at(path: &Path, source: ArchiveError) -> Box<Error> {
    Box::new(Error::Archive { path: path.into(), source })
}

fn damaged(entry: &Entry, error: io::Error) -> ArchiveError {
    ArchiveError::DamagedEntry { name: entry.path.clone(), reason: error.to_string() }
}

/// The first bytes of every zip with at least one entry.
const ZIP_START: &[u8; 4] = b"PK\x03\x04";

/// Reads the directory, telling apart what never was a zip and what was one once.
fn open_zip<R: Read + Seek>(mut reader: R) -> Result<ZipArchive<R>, ArchiveError> {
    let mut start = Vec::new();
    let read = reader.by_ref().take(4).read_to_end(&mut start).and_then(|_| reader.rewind());
    read.map_err(|source| ArchiveError::Open { source })?;
    ZipArchive::new(reader).map_err(|error| {
        let reason = error.to_string();
        if start == ZIP_START {
            ArchiveError::Damaged { reason }
        } else if start.is_empty() {
            ArchiveError::NotAZip { reason: "the file is empty".into() }
        } else {
            ArchiveError::NotAZip { reason }
        }
    })
}

/// Every rule about the directory as a whole and about each entry.
fn check<R: Read + Seek>(zip: &mut ZipArchive<R>, archive_size: u64) -> Result<Vec<Entry>, ArchiveError> {
    if zip.len() > MAX_ENTRIES {
        return Err(ArchiveError::TooManyEntries { entries: zip.len() });
    }
    let mut names = Names::default();
    let entries = (0..zip.len()).filter_map(|index| check_entry(zip, index, &mut names).transpose());
    let entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
    check_size(&entries, archive_size)?;
    let overlap = zip.has_overlapping_entries();
    if overlap.map_err(|error| ArchiveError::Damaged { reason: error.to_string() })? {
        return Err(ArchiveError::Overlap);
    }
    Ok(entries)
}

fn check_size(entries: &[Entry], archive_size: u64) -> Result<(), ArchiveError> {
    let size = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    if size > MAX_TOTAL_SIZE {
        return Err(ArchiveError::TooLarge { size });
    }
    let ratio = size / archive_size.max(1);
    if size > RATIO_FREE_SIZE && ratio > MAX_RATIO {
        return Err(ArchiveError::Ratio { ratio });
    }
    Ok(())
}

/// Bits of the Unix mode that give the kind of a file, and their values.
const FILE_TYPE: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// An entry that may be unpacked; none for the folder of the archive itself.
fn check_entry<R: Read + Seek>(
    zip: &ZipArchive<R>,
    index: usize,
    names: &mut Names,
) -> Result<Option<Entry>, ArchiveError> {
    let damaged = |error: ZipError| ArchiveError::Damaged { reason: error.to_string() };
    let data = zip.by_index_data(index).map_err(damaged)?;
    let Ok(name) = data.name().map(|name| name.into_owned()) else {
        let name = String::from_utf8_lossy(data.name_raw()).into_owned();
        return Err(ArchiveError::Name { name, problem: NameProblem::Encoding });
    };
    let path = match name::normalize(&name) {
        Ok(path) => path,
        Err(NameProblem::Empty) if name::is_root(&name) && data.size() == 0 => return Ok(None),
        Err(problem) => return Err(ArchiveError::Name { name, problem }),
    };
    let mode = data.unix_mode().unwrap_or(0);
    let kind = match mode & 0o111 {
        _ if name::is_folder(&name) => Kind::Folder,
        0 => Kind::File,
        _ => Kind::Executable,
    };
    match mode & FILE_TYPE {
        0 | REGULAR | FOLDER => {}
        SYMLINK => return Err(ArchiveError::Special { name, kind: "symbolic link" }),
        _ => return Err(ArchiveError::Special { name, kind: "special file" }),
    }
    if data.is_symlink() {
        return Err(ArchiveError::Special { name, kind: "symbolic link" });
    }
    if data.encrypted() {
        return Err(ArchiveError::Encrypted { name });
    }
    if !matches!(data.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        return Err(ArchiveError::Compression { name, method: data.compression().to_string() });
    }
    names.add(&name, &path, kind)?;
    Ok(Some(Entry { index, path, kind, size: data.size() }))
}

/// Reads one entry to its end, but not further than it declared.
fn copy<R: Read + Seek>(zip: &mut ZipArchive<R>, entry: &Entry, to: &mut impl Write) -> io::Result<()> {
    let file = zip.by_index(entry.index).map_err(io::Error::from)?;
    let copied = io::copy(&mut file.take(entry.size.saturating_add(1)), to)?;
    if copied == entry.size {
        Ok(())
    } else {
        let text = format!(
            "it declares {} bytes and has {}",
            entry.size,
            if copied < entry.size { "less" } else { "more" }
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

/// Which side of the copy failed.
enum WriteError {
    Target(io::Error),
    Entry(io::Error),
}

fn write_entry<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
    entry: &Entry,
    folder: &Unpacked,
    target: &Path,
) -> Result<(), WriteError> {
    if entry.kind == Kind::Folder {
        return folder.create_folder(target).map_err(WriteError::Target);
    }
    if let Some(parent) = target.parent() {
        folder.create_folder(parent).map_err(WriteError::Target)?;
    }
    let file = folder.create_file(target, entry.kind).map_err(WriteError::Target)?;
    let mut target = Tracked { inner: io::BufWriter::new(file), failed: false };
    let copied = copy(zip, entry, &mut target).and_then(|()| target.flush());
    copied.map_err(|error| if target.failed { WriteError::Target(error) } else { WriteError::Entry(error) })
}

/// A writer that remembers whether an error was its own.
struct Tracked<W> {
    inner: W,
    failed: bool,
}

impl<W: Write> Write for Tracked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes).inspect_err(|_| self.failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush().inspect_err(|_| self.failed = true)
    }
}

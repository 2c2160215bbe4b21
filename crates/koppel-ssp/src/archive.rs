//! A zip archive that is refused before anything is unpacked if it is not what it seems.
//!
//! Refused: paths that leave the archive (`..`, absolute, drive letters, backslashes), names that occur twice, symbolic links,
//! encrypted entries, too many entries, too large contents, contents that grow more than a plausible factor.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Mutex;
use zip::ZipArchive;

/// What an archive may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries.
    pub entries: usize,
    /// Bytes of all entries unpacked.
    pub total: u64,
    /// Bytes of one XML file unpacked.
    pub document: u64,
    /// Unpacked over packed size, for entries above one megabyte.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries: 20_000, total: 16 << 30, document: 64 << 20, ratio: 1_000 }
    }
}

pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// An archive whose table of contents has been found sound.
pub(crate) struct Archive {
    name: String,
    zip: Mutex<ZipArchive<Box<dyn ReadSeek>>>,
    /// Clean path to (number, unpacked size).
    entries: BTreeMap<String, (usize, u64)>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Archive {
    pub(crate) fn open(name: &str, reader: Box<dyn ReadSeek>, limits: &Limits) -> Result<Archive> {
        let refuse = |problem: String| Error::Archive { archive: name.to_owned(), problem };
        let open =
            |reader| ZipArchive::new(reader).map_err(|e| refuse(format!("not a readable zip archive: {e}")));
        let zip: ZipArchive<Box<dyn ReadSeek>> = open(reader)?;
        let start = zip.central_directory_start();
        let mut reader = zip.into_inner();
        check_directory(&mut *reader, start, &refuse)?;
        let mut zip = open(reader)?;
        if zip.len() > limits.entries {
            return Err(refuse(format!("{} entries, at most {} are allowed", zip.len(), limits.entries)));
        }
        let mut entries = BTreeMap::new();
        let mut total = 0_u64;
        for number in 0..zip.len() {
            let entry = zip.by_index_raw(number).map_err(|e| refuse(format!("entry {number}: {e}")))?;
            let name = entry.name().map_err(|e| refuse(format!("entry {number}: {e}")))?.into_owned();
            let path = clean(&name).map_err(|problem| refuse(format!("`{name}` {problem}")))?;
            if entry.encrypted() {
                return Err(refuse(format!("`{path}` is encrypted")));
            }
            if entry.is_symlink() {
                return Err(refuse(format!("`{path}` is a symbolic link")));
            }
            total = total.saturating_add(entry.size());
            let (size, packed) = (entry.size(), entry.compressed_size());
            if size > 1 << 20 && size / packed.max(1) > limits.ratio {
                return Err(refuse(format!("`{path}` grows from {packed} to {size} bytes; a zip bomb?")));
            }
            if total > limits.total {
                return Err(refuse(format!("unpacks to more than {} bytes", limits.total)));
            }
            if entry.is_dir() {
                continue;
            }
            if entries.insert(path.clone(), (number, size)).is_some() {
                return Err(refuse(format!("`{path}` occurs twice")));
            }
        }
        Ok(Archive { name: name.to_owned(), zip: Mutex::new(zip), entries })
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// Content of an entry, never more than `most` bytes and never more than it declares.
    pub(crate) fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let refuse = |problem: String| Error::Archive { archive: self.name.clone(), problem };
        let Some((number, size)) = self.entries.get(path) else {
            return Err(Error::NoSuchFile { path: path.to_owned(), package: self.name.clone() });
        };
        if *size > most {
            return Err(refuse(format!("`{path}` has {size} bytes, at most {most} are allowed")));
        }
        let mut zip = self.zip.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = zip.by_index(*number).map_err(|e| refuse(format!("`{path}`: {e}")))?;
        let mut bytes = Vec::new();
        entry.take(size + 1).read_to_end(&mut bytes).map_err(|e| refuse(format!("`{path}`: {e}")))?;
        if bytes.len() as u64 != *size {
            return Err(refuse(format!("`{path}` does not unpack to the {size} bytes it declares")));
        }
        Ok(bytes)
    }
}

/// The zip crate keeps the last of several entries with one name; the directory itself tells.
fn check_directory(reader: &mut dyn ReadSeek, start: u64, refuse: &dyn Fn(String) -> Error) -> Result<()> {
    const HEADER: [u8; 4] = *b"PK\x01\x02";
    let broken = |e: std::io::Error| refuse(format!("the table of contents cannot be read: {e}"));
    let mut seen = std::collections::HashSet::new();
    reader.seek(SeekFrom::Start(start)).map_err(broken)?;
    let mut reader = std::io::BufReader::new(reader);
    loop {
        let mut fixed = [0_u8; 46];
        if reader.read_exact(&mut fixed).is_err() || fixed[..4] != HEADER {
            return Ok(());
        }
        let length = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let mut name = vec![0; usize::from(length(28))];
        reader.read_exact(&mut name).map_err(broken)?;
        let rest = u64::from(length(30)) + u64::from(length(32));
        std::io::copy(&mut (&mut reader).take(rest), &mut std::io::sink()).map_err(broken)?;
        if let Some(twice) = seen.replace(name) {
            return Err(refuse(format!("`{}` occurs twice", String::from_utf8_lossy(&twice))));
        }
    }
}

/// A path inside the archive, or why it is refused.
pub(crate) fn clean(path: &str) -> std::result::Result<String, &'static str> {
    if path.contains('\\') {
        return Err("has a backslash in its name");
    }
    if path.contains('\0') {
        return Err("has a zero byte in its name");
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return Err("is an absolute path");
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("leaves the archive"),
            part => parts.push(part),
        }
    }
    if parts.is_empty() && !path.is_empty() {
        return Err("has no name");
    }
    Ok(parts.join("/"))
}

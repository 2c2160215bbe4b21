//! Where files come from: an `.ssp` archive, or a folder around an `.ssd`, with archives inside.

use crate::archive::{Archive, clean};
use crate::error::{Error, Result};
use crate::finding::Tolerance;
use crate::model::Location;
use koppel_fmi::archive::MAX_INNER_SIZE;
use koppel_fmi::percent::decode;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
enum Store {
    Archive(Arc<Archive>),
    Folder(PathBuf),
}

/// A package that was opened.
#[derive(Debug)]
pub(crate) struct Package {
    name: String,
    store: Store,
    inner: Mutex<BTreeMap<Vec<String>, Arc<Archive>>>,
}

/// The name of the main document in an archive.
const MAIN: &str = "SystemStructure.ssd";
/// Most bytes of an XML file: 64 MiB.
const MAX_DOCUMENT: u64 = 64 << 20;

impl Package {
    /// Opens an archive, or the folder of an `.ssd`; also gives the path of the main document.
    pub(crate) fn open(path: &Path) -> Result<(Package, String)> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let mut start = [0; 4];
        let read = file.read(&mut start).map_err(io)?;
        let name = path.display().to_string();
        let is_ssd = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ssd"));
        let zipped = read == 4 && start == *b"PK\x03\x04";
        let (store, main) = if is_ssd && !zipped {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let main = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (Store::Folder(folder), main)
        } else {
            (Store::Archive(Arc::new(Archive::open(path)?)), MAIN.to_owned())
        };
        Ok((Package { name, store, inner: Mutex::default() }, main))
    }

    /// A package in memory: an archive's bytes.
    pub(crate) fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Package> {
        let store = Store::Archive(Arc::new(Archive::from_bytes(name, bytes)?));
        Ok(Package { name: name.to_owned(), store, inner: Mutex::default() })
    }

    /// All `.ssd` files at the top of the archive; none for a folder.
    pub(crate) fn variants(&self) -> Vec<String> {
        match &self.store {
            Store::Archive(archive) => {
                let is_variant = |p: &String| !p.contains('/') && p.to_ascii_lowercase().ends_with(".ssd");
                let mut variants: Vec<String> = archive.paths().into_iter().filter(is_variant).collect();
                variants.sort();
                variants
            }
            Store::Folder(_) => Vec::new(),
        }
    }

    /// Files that may have been meant by a path that does not exist.
    pub(crate) fn neighbours(&self, location: &Location) -> Vec<String> {
        if !location.archives.is_empty() {
            return self.archive(&location.archives).map_or(Vec::new(), |a| a.paths());
        }
        match &self.store {
            Store::Archive(archive) => archive.paths(),
            Store::Folder(folder) => {
                let parent = location.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                let here = Path::new(".").join(folder).join(parent);
                let Ok(entries) = std::fs::read_dir(here) else { return Vec::new() };
                let names = entries.take(1000).filter_map(|e| e.ok()?.file_name().into_string().ok());
                names.map(|n| if parent.is_empty() { n } else { format!("{parent}/{n}") }).collect()
            }
        }
    }

    pub(crate) fn exists(&self, location: &Location) -> bool {
        if !location.archives.is_empty() {
            return self.archive(&location.archives).is_ok_and(|a| a.contains(&location.path));
        }
        match &self.store {
            Store::Archive(archive) => archive.contains(&location.path),
            Store::Folder(folder) => folder.join(&location.path).exists(),
        }
    }

    /// An XML file.
    pub(crate) fn document(&self, location: &Location) -> Result<Vec<u8>> {
        self.read(location, MAX_DOCUMENT)
    }

    /// Any file.
    pub(crate) fn resource(&self, location: &Location) -> Result<Vec<u8>> {
        self.read(location, MAX_INNER_SIZE)
    }

    /// Path on disk, if it is a file of its own.
    pub(crate) fn path(&self, location: &Location) -> Option<PathBuf> {
        match &self.store {
            Store::Folder(folder) if location.archives.is_empty() => Some(folder.join(&location.path)),
            _ => None,
        }
    }

    /// The file's name in messages.
    pub(crate) fn label(&self, location: &Location) -> String {
        let mut parts = location.archives.clone();
        parts.push(location.path.clone());
        match &self.store {
            Store::Folder(folder) => folder.join(parts.join("!")).display().to_string(),
            Store::Archive(_) => format!("{}!{}", self.name, parts.join("!")),
        }
    }

    /// Where the file is seen from the folder of the package: `vehicle.ssp!resources/engine.fmu`.
    pub(crate) fn address(&self, location: &Location) -> String {
        let mut parts = location.archives.clone();
        parts.push(location.path.clone());
        if let Store::Archive(_) = &self.store {
            let name = Path::new(&self.name).file_name().unwrap_or_default();
            parts.insert(0, name.to_string_lossy().into_owned());
        }
        parts.join("!")
    }

    fn read(&self, location: &Location, most: u64) -> Result<Vec<u8>> {
        if !location.archives.is_empty() {
            return self.archive(&location.archives)?.read(&location.path, most);
        }
        match &self.store {
            Store::Archive(archive) => archive.read(&location.path, most),
            Store::Folder(folder) => {
                let path = folder.join(&location.path);
                let io = |source| Error::Io { path: path.clone(), source };
                let file = File::open(&path).map_err(io)?;
                let mut bytes = Vec::new();
                file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
                if bytes.len() as u64 > most {
                    let problem = format!("has more than {most} bytes");
                    return Err(Error::Archive { archive: path.display().to_string(), problem });
                }
                Ok(bytes)
            }
        }
    }

    /// An archive inside the package, opened once.
    fn archive(&self, chain: &[String]) -> Result<Arc<Archive>> {
        if let Some(known) = self.inner.lock().unwrap_or_else(PoisonError::into_inner).get(chain) {
            return Ok(Arc::clone(known));
        }
        let Some((last, outer)) = chain.split_last() else {
            return Err(Error::NoSuchFile { path: String::new(), package: self.name.clone() });
        };
        let location = Location { archives: outer.to_vec(), path: last.clone() };
        let bytes = self.read(&location, MAX_INNER_SIZE)?;
        let archive = Arc::new(Archive::from_bytes(&self.label(&location), bytes)?);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.insert(chain.to_vec(), Arc::clone(&archive));
        Ok(archive)
    }

    /// Whether addresses may leave the folder: only beside an `.ssd` on disk, and only for a tolerant reader.
    fn may_leave(&self, base: &Location, tolerance: Tolerance) -> bool {
        tolerance == Tolerance::Tolerant && matches!(self.store, Store::Folder(_)) && base.archives.is_empty()
    }

    /// Resolves an address relative to a document: the place, its fragment, and what had to be forgiven.
    pub(crate) fn resolve(&self, base: &Location, address: &str, tolerance: Tolerance) -> Resolved {
        let (address, fragment) = match address.split_once('#') {
            Some((address, fragment)) => (address, Some(decode(fragment))),
            None => (address, None),
        };
        let mut lapse = None;
        let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
        if !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b)) {
            return Resolved::refused(format!("`{address}` is absolute; only relative addresses are read"));
        }
        let mut text = decode(address);
        if text.contains('\\') {
            lapse = Some(format!("`{text}` has backslashes; read as `/`"));
            text = text.replace('\\', "/");
        }
        if text.starts_with('/') {
            return Resolved::refused(format!("`{text}` is absolute; only relative addresses are read"));
        }
        let folder = base.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
        let mut above = 0;
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.pop().is_none() => above += 1,
                ".." => {}
                part => parts.push(part),
            }
        }
        if above > 0 {
            if !self.may_leave(base, tolerance) {
                return Resolved::refused(format!("`{text}` leaves the package"));
            }
            lapse = Some(format!("`{text}` leaves the folder of the file"));
        } else if let Err(problem) = clean(&parts.join("/")) {
            return Resolved::refused(format!("`{text}` {problem}"));
        }
        let path = "../".repeat(above) + &parts.join("/");
        let location = Location { archives: base.archives.clone(), path };
        Resolved { place: Ok((location, fragment)), lapse }
    }
}

/// An address that was looked at.
pub(crate) struct Resolved {
    pub(crate) place: std::result::Result<(Location, Option<String>), String>,
    pub(crate) lapse: Option<String>,
}

impl Resolved {
    fn refused(why: String) -> Self {
        Resolved { place: Err(why), lapse: None }
    }
}

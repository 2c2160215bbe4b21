//! Names of the files of one result, and moving them safely.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{Error, Result};

/// Kinds of finished result files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Text, one line per row.
    Csv,
    /// Apache Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// The format that the name of a file asks for.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Csv),
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Self::Parquet),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => Err(Box::new(Error::ParquetMissing { path: path.into() })),
            _ => Err(Box::new(Error::UnknownFormat { path: path.into() })),
        }
    }

    /// The usual ending of a file name.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }
}

/// The process that writes a file. A copy of it, which an FMU makes by `fork`, has the same rows in memory and must not write them once more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner(u32);

/// The process that has claimed all results.
static CLAIMED: OnceLock<u32> = OnceLock::new();

/// Results belong to this process: copies of it, which an FMU makes by `fork`, cannot even open a file for them.
pub fn claim() {
    CLAIMED.get_or_init(std::process::id);
}

impl Owner {
    /// The process that has claimed results, else this one.
    pub(super) fn new() -> Owner {
        Owner(CLAIMED.get().copied().unwrap_or_else(std::process::id))
    }

    /// Fails in a copy.
    pub(super) fn check(self) -> io::Result<()> {
        if self.0 == std::process::id() {
            return Ok(());
        }
        Err(io::Error::other(
            "this is a copy of the process, made by a subsystem (fork), and not the one that writes the file",
        ))
    }
}

/// `path` with `suffix` appended to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

/// Where rows go until the result is finished.
pub(super) fn part_of(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

/// Metadata beside a CSV file, named as "Metadata Vocabulary for Tabular Data" (W3C, 2015), 5.3 asks: `{+url}-metadata.json`.
pub(super) fn sidecar_of(csv: &Path) -> PathBuf {
    with_suffix(csv, "-metadata.json")
}

/// The metadata beside a result file, if it has any of its own.
pub(super) fn sidecar_written(path: &Path) -> Option<PathBuf> {
    matches!(Format::of(path), Ok(Format::Csv)).then(|| sidecar_of(path))
}

/// The finished file that a part file `out.csv.part` or `out.csv.part.2` stands for.
pub(super) fn result_of(part: &Path) -> Option<PathBuf> {
    let mut stem = part.to_path_buf();
    let numbered = |p: &Path| p.extension().is_some_and(|e| e.to_string_lossy().parse::<u32>().is_ok());
    if numbered(&stem) {
        stem.set_extension("");
    }
    let is_part = stem.extension().is_some_and(|e| e == "part");
    is_part.then(|| stem.with_extension(""))
}

/// Renames a part file left by a killed run, and its metadata; says so.
pub(super) fn set_aside(part: &Path) -> Result<Option<String>> {
    if !part.exists() {
        return Ok(None);
    }
    drop(lock(part, OpenOptions::new().read(true))?);
    let free = (1_u32..)
        .map(|n| with_suffix(part, &format!(".{n}")))
        .find(|candidate| !candidate.exists())
        .unwrap_or_else(|| with_suffix(part, ".old"));
    let sidecar = sidecar_of(part);
    if sidecar.exists() {
        rename(&sidecar, &sidecar_of(&free))?;
    }
    rename(part, &free)?;
    Ok(Some(format!(
        "an earlier run was interrupted; its rows are kept in `{0}` (`koppel recover {0}`)",
        free.display()
    )))
}

/// Opens a part file and locks it, so that no second run writes it. The lock ends with the process.
pub(super) fn lock(part: &Path, options: &OpenOptions) -> Result<File> {
    let file = Owner::new().check().and_then(|()| options.open(part)).map_err(Error::io("open", part))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Box::new(Error::InUse { path: part.into() })),
        // A file system without locks: go on unlocked.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Writes a file completely or not at all; a link stays a link.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let temporary = with_suffix(path, ".tmp");
    let mut file = File::create(&temporary).map_err(Error::io("write", path))?;
    if let Ok(old) = fs::metadata(path) {
        // Who may read and write it stays; where that cannot be kept, it is written all the same.
        let _ = file.set_permissions(old.permissions());
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    drop(file);
    if let Err(error) = written {
        remove(&temporary)?;
        return Err(Error::io("write", path)(error));
    }
    rename(&temporary, path)
}

/// Renames, replacing what was there.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io("rename a finished file to", to))?;
    sync_folder(to);
    Ok(())
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Size of a file in bytes.
pub(super) fn size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).map_err(Error::io("read", path))?.len())
}

/// Makes a rename survive a power cut where the system allows it; a refusal harms nothing.
fn sync_folder(path: &Path) {
    if cfg!(unix) {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_names_lead_back_to_the_result() {
        assert_eq!(result_of(Path::new("a/out.csv.part")), Some("a/out.csv".into()));
        assert_eq!(result_of(Path::new("out.csv.part.12")), Some("out.csv".into()));
        assert_eq!(result_of(Path::new("out.csv")), None);
        assert_eq!(result_of(Path::new("part")), None);
    }
}

//! Archives of koppel-fmi, shared between readers and with this crate's errors: an SSP is no more to be trusted than an FMU.

use crate::error::{Error, Result};
use koppel_fmi::archive;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// An archive whose table of contents has been found sound.
#[derive(Debug)]
pub(crate) struct Archive {
    name: String,
    inner: Mutex<archive::Archive>,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Archive> {
        Archive::new(path.display().to_string(), archive::Archive::open(path))
    }

    pub(crate) fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Archive> {
        Archive::new(name.to_owned(), archive::Archive::from_bytes(Path::new(name), bytes))
    }

    fn new(name: String, opened: koppel_fmi::Result<archive::Archive>) -> Result<Archive> {
        match opened {
            Ok(inner) => Ok(Archive { name, inner: Mutex::new(inner) }),
            Err(error) => Err(refused(&name, *error)),
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.lock().files().map(str::to_owned).collect()
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.lock().contains(path)
    }

    /// Content of an entry, never more than `most` bytes.
    pub(crate) fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        match self.lock().read(path, most) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Error::NoSuchFile { path: path.to_owned(), package: self.name.clone() }),
            Err(error) => Err(refused(&self.name, *error)),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, archive::Archive> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(name: &str, error: koppel_fmi::Error) -> Error {
    let problem = match error {
        koppel_fmi::Error::Archive { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    Error::Archive { archive: name.to_owned(), problem }
}

/// A path inside an archive, or why it is refused.
pub(crate) fn clean(path: &str) -> std::result::Result<String, String> {
    archive::normalize(path).map_err(|problem| format!("is refused: {problem}"))
}

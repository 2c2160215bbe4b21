//! The binary inside FMUs: this crate as a shared library, which the package `koppel-fmu-binary` makes of it.

use super::FmiVersion;
use crate::error::{Error, Result};
use koppel_fmi::ffi::Functions;
use std::env::consts::{DLL_EXTENSION, DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

/// Finds it: the file given; else beside the running program, in `deps` beside it, in `../lib` of its folder, or where cargo
/// built it. Of several, the newest: after a new build an older one may be left beside the program.
///
/// # Errors
///
/// If it is nowhere, which names the places; or if the file given is no library with the functions of FMI 2.0 and 3.0.
pub fn find(given: Option<&Path>) -> Result<PathBuf> {
    let file = format!("{DLL_PREFIX}koppel_fmu_binary{DLL_SUFFIX}");
    let places = match given {
        Some(path) => vec![path.to_path_buf()],
        None => folders().into_iter().map(|folder| folder.join(&file)).collect(),
    };
    if let Some(path) = given.filter(|path| path.is_file()) {
        check(path)?;
    }
    let age = |place: &&PathBuf| place.metadata().and_then(|meta| meta.modified()).ok();
    match places.iter().filter(|place| place.is_file()).max_by_key(age) {
        Some(place) => Ok(place.clone()),
        None => Err(Error::NoLibrary { file, places }.into()),
    }
}

/// Loads it, as an importer will.
fn check(path: &Path) -> Result<()> {
    // A name without a folder would be looked for among the libraries of the system.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let load = |version| Functions::load(&whole, version).map(|_| ());
    let loaded = load(FmiVersion::Fmi2).and_then(|()| load(FmiVersion::Fmi3));
    loaded.map_err(|source| Error::NotALibrary { source }.into())
}

fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(beside.into_iter().flat_map(|b| [b.to_path_buf(), b.join("deps")]));
    // As programs and libraries are installed: `bin` and `lib` beside each other.
    folders.extend(beside.and_then(Path::parent).map(|prefix| prefix.join("lib")));
    // Cargo gives this crate `PROFILE/build/koppel-fmu-HASH/out` and puts what it builds into `PROFILE/deps`.
    folders.extend(Path::new(env!("OUT_DIR")).ancestors().nth(3).map(|profile| profile.join("deps")));
    folders.dedup();
    folders
}

/// Where it lies in an FMU for this platform.
pub(super) fn place(version: FmiVersion, identifier: &str) -> String {
    format!("binaries/{}/{identifier}.{DLL_EXTENSION}", koppel_fmi::platform(version))
}

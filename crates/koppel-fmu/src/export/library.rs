//! The binary inside FMUs: this crate as a shared library, which the package `koppel-fmu-binary` makes of it.

use super::FmiVersion;
use crate::error::{Error, Result};
use std::env::consts::{ARCH, DLL_EXTENSION, DLL_PREFIX, DLL_SUFFIX, OS};
use std::path::{Path, PathBuf};

/// Finds it: the file given; else beside the running program, in `deps` beside it, or where cargo built it. Of several, the
/// newest: after a new build an older one may be left beside the program.
///
/// # Errors
///
/// If it is nowhere; the message names the places.
pub fn find(given: Option<&Path>) -> Result<PathBuf> {
    let file = format!("{DLL_PREFIX}koppel_fmu_binary{DLL_SUFFIX}");
    let places = match given {
        Some(path) => vec![path.to_path_buf()],
        None => folders().into_iter().map(|folder| folder.join(&file)).collect(),
    };
    let age = |place: &&PathBuf| place.metadata().and_then(|meta| meta.modified()).ok();
    match places.iter().filter(|place| place.is_file()).max_by_key(age) {
        Some(place) => Ok(place.clone()),
        None => Err(Error::NoLibrary { file, places }.into()),
    }
}

fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut folders: Vec<PathBuf> =
        beside.into_iter().flat_map(|b| [b.to_path_buf(), b.join("deps")]).collect();
    // Cargo gives this crate `PROFILE/build/koppel-fmu-HASH/out` and puts what it builds into `PROFILE/deps`.
    folders.extend(Path::new(env!("OUT_DIR")).ancestors().nth(3).map(|profile| profile.join("deps")));
    folders.dedup();
    folders
}

/// Where it lies in an FMU for this platform.
pub(super) fn place(version: FmiVersion, identifier: &str) -> String {
    let tuple = format!("{ARCH}-{}", if OS == "macos" { "darwin" } else { OS });
    let platform = match (version, OS, ARCH) {
        (FmiVersion::Two, "linux", "x86_64") => "linux64".into(),
        (FmiVersion::Two, "windows", "x86_64") => "win64".into(),
        (FmiVersion::Two, "macos", "x86_64") => "darwin64".into(),
        _ => tuple,
    };
    format!("binaries/{platform}/{identifier}.{DLL_EXTENSION}")
}

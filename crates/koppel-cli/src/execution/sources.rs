//! Files a run was made of: whether they are still the same when it goes on.
//!
//! A checkpoint has all settings of its run, tables included, so other settings in the system file change nothing. FMUs are
//! opened again, so that one that crashed can be mended. Both are reported, and the run goes on.

use koppel::diagnostic::Remark;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use koppel::fnv;
use koppel_fmi::archive;
use koppel_io::system_file::{SystemSpec, files_read};
use serde::{Deserialize, Serialize};

use super::anchored;
use crate::failure::note;

/// Bytes at either end of a file that are looked at; of an archive, the end has the checksums of all that is in it.
const LOOKED_AT: u64 = 1 << 21;

/// A file, and what it was like when the run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Source {
    path: PathBuf,
    checksum: Option<u64>,
    /// The subsystem, of an FMU.
    subsystem: Option<String>,
}

/// The system file, what it reads, and the FMUs.
pub(super) fn sources(system: &Path, spec: &SystemSpec) -> Vec<Source> {
    let one = |path: &Path, subsystem: Option<String>| {
        let path = anchored(path);
        Source { checksum: checksum(&path), path, subsystem }
    };
    let fmus = spec.fmus().into_iter().map(|(name, path)| one(&archive::split(&path).0, Some(name)));
    let mut all: Vec<Source> = Vec::new();
    for source in fmus.collect::<Vec<_>>() {
        if !all.iter().any(|known| known.path == source.path) {
            all.push(source);
        }
    }
    let settings = std::iter::once(system.to_path_buf()).chain(files_read(spec));
    for path in settings {
        if !all.iter().any(|known| known.path == anchored(&path)) {
            all.push(one(&path, None));
        }
    }
    all
}

/// Tells which files have changed since, and whether an FMU is among them. A file that is gone is missed where it is needed.
pub(crate) fn warn_of_changes(sources: &[Source]) -> bool {
    let has_changed = |source: &&Source| {
        let now = checksum(&source.path);
        now.is_some() && source.checksum.is_some() && now != source.checksum
    };
    let mut is_fmu = false;
    for source in sources.iter().filter(has_changed) {
        is_fmu |= source.subsystem.is_some();
        let path = source.path.display();
        let text = match &source.subsystem {
            Some(name) => Remark::new(
                format!(
                    "`{path}` has changed since the run began: the new one continues as `{name}` from the state of the old one"
                ),
                "this is fine for a repaired FMU; for another FMU, start the run again",
            ),
            None => Remark::new(
                format!(
                    "`{path}` has changed since the run began: the run continues with its original settings"
                ),
                "for other settings start the run again; --stop alone can be changed",
            ),
        };
        note("warning", text);
    }
    is_fmu
}

/// A checksum of a file: of all its bytes, or of its length and both ends if it is long.
fn checksum(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok().filter(|_| path.is_file())?;
    let length = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    file.by_ref().take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let rest = length.saturating_sub(LOOKED_AT).min(LOOKED_AT);
    file.seek(SeekFrom::Start(length - rest)).ok()?;
    file.take(rest).read_to_end(&mut bytes).ok()?;
    Some(fnv(&[&length.to_le_bytes(), &bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_of_a_short_file_and_the_ends_of_a_long_one_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            checksum(&path).unwrap()
        };
        for (length, places) in
            [(1, &[0][..]), (3 << 20, &[0, 1 << 20, (3 << 20) - 1]), (5 << 20, &[7, (5 << 20) - 1])]
        {
            let mut bytes = vec![1; length];
            let before = of(&bytes);
            assert_eq!(of(&bytes), before);
            for place in places {
                bytes[*place] = 2;
                assert_ne!(of(&bytes), before, "{place} of {length}");
                bytes[*place] = 1;
            }
            bytes.push(1);
            assert_ne!(of(&bytes), before, "its length");
        }
        assert_eq!(checksum(folder.path()), None, "a folder");
    }
}

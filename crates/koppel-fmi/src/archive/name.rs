//! Names of archive entries: which are safe, and which meet at the same path.

use super::{ArchiveError, Kind, NameProblem};
use std::collections::HashMap;

/// Longest path of an entry in bytes.
pub(super) const MAX_LENGTH: usize = 1024;

/// The path an entry unpacks to: parts separated by `/`, without empty and `.` parts. A backslash separates parts too: some
/// tools on Windows write it, against the rules of zip.
pub fn normalize(name: &str) -> Result<String, NameProblem> {
    if name.len() > MAX_LENGTH {
        return Err(NameProblem::TooLong);
    }
    if name.starts_with(SEPARATORS) {
        return Err(NameProblem::Absolute);
    }
    for c in name.chars() {
        match c {
            ':' => return Err(NameProblem::Colon),
            c if c.is_control() => return Err(NameProblem::Control),
            _ => {}
        }
    }
    let parts: Vec<&str> = name.split(SEPARATORS).filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(NameProblem::Parent);
    }
    if parts.is_empty() { Err(NameProblem::Empty) } else { Ok(parts.join("/")) }
}

/// True of the entry of the archive's own folder, such as `./`.
pub(super) fn is_root(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(SEPARATORS)
        && name.split(SEPARATORS).all(|part| matches!(part, "" | "."))
}

/// True of the entry of a folder.
pub(super) fn is_folder(name: &str) -> bool {
    name.ends_with(SEPARATORS)
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// What is known about one path, in lower case.
struct Taken {
    /// Name of the entry that made it.
    by: String,
    /// It has an entry of its own, and is not just on the way to one.
    is_entry: bool,
    is_folder: bool,
}

/// The paths taken so far.
#[derive(Default)]
pub(super) struct Names {
    taken: HashMap<String, Taken>,
}

impl Names {
    /// Takes `path` for the entry `name`.
    pub(super) fn add(&mut self, name: &str, path: &str, kind: Kind) -> Result<(), ArchiveError> {
        let key = path.to_lowercase();
        for (at, _) in key.match_indices('/') {
            self.take(&key[..at], name, Taken { by: name.into(), is_entry: false, is_folder: true })?;
        }
        self.take(&key, name, Taken { by: name.into(), is_entry: true, is_folder: kind == Kind::Folder })
    }

    fn take(&mut self, key: &str, name: &str, new: Taken) -> Result<(), ArchiveError> {
        let Some(old) = self.taken.get_mut(key) else {
            self.taken.insert(key.into(), new);
            return Ok(());
        };
        let clash = |problem| ArchiveError::Clash { first: old.by.clone(), second: name.into(), problem };
        if old.is_folder != new.is_folder {
            return Err(clash("one is a file where the other needs a folder"));
        }
        if old.is_entry && new.is_entry {
            return Err(clash("both unpack to the same path (upper and lower case count as equal)"));
        }
        old.is_entry |= new.is_entry;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_names_are_normalized() {
        for (name, path) in [
            ("modelDescription.xml", "modelDescription.xml"),
            ("./binaries//linux64/./a.so", "binaries/linux64/a.so"),
            ("resources/", "resources"),
            ("resources/...", "resources/..."),
            ("résumé/ü.txt", "résumé/ü.txt"),
            ("binaries\\win64\\a.dll", "binaries/win64/a.dll"),
            (".\\a\\", "a"),
        ] {
            assert_eq!(normalize(name).as_deref(), Ok(path));
        }
    }

    #[test]
    fn unsafe_names_are_refused() {
        use NameProblem::*;
        for (name, problem) in [
            ("", Empty),
            ("./", Empty),
            ("/etc/passwd", Absolute),
            ("//server/share", Absolute),
            ("../x", Parent),
            ("a/../b", Parent),
            ("a/..", Parent),
            ("..\\x", Parent),
            ("a\\..\\..\\x", Parent),
            ("a/..\\x", Parent),
            ("\\x", Absolute),
            ("\\\\server\\share", Absolute),
            (".\\", Empty),
            ("C:/x", Colon),
            ("c:x", Colon),
            ("a.txt:stream", Colon),
            ("a\0b", Control),
            ("a\nb", Control),
        ] {
            assert_eq!(normalize(name), Err(problem), "{name:?}");
        }
        assert_eq!(normalize(&"a/".repeat(600)), Err(TooLong));
    }

    #[test]
    fn names_that_meet_are_refused() {
        let add_all = |list: &[&str]| {
            let mut names = Names::default();
            list.iter().try_for_each(|name| {
                let kind = if name.ends_with('/') { Kind::Folder } else { Kind::File };
                names.add(name, &normalize(name).unwrap(), kind)
            })
        };
        assert!(add_all(&["a/", "a/b", "a/c/d", "a/c/"]).is_ok());
        assert!(add_all(&["a/b", "a//b"]).is_err());
        assert!(add_all(&["a/b", "./a/b"]).is_err());
        assert!(add_all(&["a/b", "a\\b"]).is_err());
        assert!(add_all(&["a/b", "A/B"]).is_err());
        assert!(add_all(&["a", "a/b"]).is_err());
        assert!(add_all(&["a/b", "a"]).is_err());
        assert!(add_all(&["ä", "Ä"]).is_err());
    }
}

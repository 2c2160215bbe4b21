//! The collection `modelica/fmi-cross-check`, as a checkout or a bare git directory.
//!
//! An FMU stands in `fmus/2.0/{cs,me}/PLATFORM/TOOL/VERSION/NAME/NAME.fmu`; beside it `NAME_ref.csv`, `NAME_ref.opt` and, if
//! it has inputs, `NAME_in.csv`. What a copy lacks (blobs that were not fetched, pointers of Git LFS) is absent.

use crate::command::{Result, output};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FOLDER: &str = "fmus/2.0";

/// One FMU of the collection.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) tool: String,
    pub(super) version: String,
    pub(super) name: String,
    /// `cs` or `me`.
    pub(super) kind: String,
    /// `linux64` or `win64`.
    platform: String,
}

impl Entry {
    /// Of `fmus/2.0/cs/PLATFORM/TOOL/VERSION/NAME/NAME_ref.opt`, which every entry has.
    fn of(path: &str) -> Option<Entry> {
        let parts: Vec<&str> = path.strip_prefix(FOLDER)?.split('/').collect();
        let ["", kind @ ("cs" | "me"), platform, tool, version, name, file] = parts[..] else { return None };
        let owned = str::to_owned;
        (file == format!("{name}_ref.opt")).then(|| Entry {
            tool: owned(tool),
            version: owned(version),
            name: owned(name),
            kind: owned(kind),
            platform: owned(platform),
        })
    }

    fn folder(&self) -> String {
        format!("{FOLDER}/{}/{}/{}/{}/{}", self.kind, self.platform, self.tool, self.version, self.name)
    }

    /// The path of one of its files, by what follows its name.
    fn file(&self, suffix: &str) -> String {
        format!("{}/{}{suffix}", self.folder(), self.name)
    }

    /// A name for a folder of its own.
    pub(super) fn slug(&self) -> String {
        format!("{}-{}-{}-{}", self.kind, self.tool, self.version, self.name)
    }
}

/// Where the files come from.
pub(super) enum Collection {
    Checkout(PathBuf),
    /// A git directory, and the object of each path.
    Bare(PathBuf, BTreeMap<String, String>),
}

impl Collection {
    pub(super) fn open(path: &Path) -> Result<Collection> {
        if path.join(FOLDER).is_dir() {
            return Ok(Collection::Checkout(path.to_owned()));
        }
        if !path.join("HEAD").is_file() {
            return Err(format!(
                "{}: neither a checkout nor a bare git directory of modelica/fmi-cross-check",
                path.display()
            ));
        }
        let listing = output(git(path).args(["ls-tree", "-r", "-z", "HEAD", FOLDER]))?;
        let object = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            Some((path.to_owned(), about.split(' ').nth(2)?.to_owned()))
        };
        Ok(Collection::Bare(path.to_owned(), listing.split('\0').filter_map(object).collect()))
    }

    /// All entries for a platform in order of their paths.
    pub(super) fn entries(&self, platform: &str) -> Result<Vec<Entry>> {
        let paths = match self {
            Collection::Checkout(root) => {
                let mut paths = Vec::new();
                walk(root, &root.join(FOLDER), &mut paths)?;
                paths.sort();
                paths
            }
            Collection::Bare(_, objects) => objects.keys().cloned().collect(),
        };
        let entries = paths.iter().filter_map(|path| Entry::of(path));
        Ok(entries.filter(|entry| entry.platform == platform).collect())
    }

    /// Copies the files of an entry; false if the FMU is absent.
    pub(super) fn copy(&self, entry: &Entry, folder: &Path) -> Result<bool> {
        for suffix in [".fmu", "_ref.csv", "_ref.opt", "_in.csv"] {
            let content = self.read(&entry.file(suffix))?;
            let is_pointer =
                content.as_ref().is_some_and(|bytes| bytes.starts_with(b"version https://git-lfs"));
            match content {
                Some(bytes) if !is_pointer => {
                    let to = folder.join(format!("{}{suffix}", entry.name));
                    std::fs::write(&to, bytes).map_err(|error| format!("{}: {error}", to.display()))?;
                }
                _ if suffix == ".fmu" => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Collection::Checkout(root) => Ok(std::fs::read(root.join(path)).ok()),
            Collection::Bare(folder, objects) => {
                let Some(object) = objects.get(path) else { return Ok(None) };
                let output = git(folder).args(["cat-file", "blob", object]).output();
                let output = output.map_err(|error| format!("git cat-file: {error}"))?;
                Ok(output.status.success().then_some(output.stdout))
            }
        }
    }

    /// The commit it stands at, if it is known.
    pub(super) fn commit(&self) -> Option<String> {
        let mut command = match self {
            Collection::Checkout(root) => {
                let mut command = Command::new("git");
                command.arg("-C").arg(root);
                command
            }
            Collection::Bare(folder, _) => git(folder),
        };
        let output = command.args(["rev-parse", "--short", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Git that fetches nothing.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(folder).env("GIT_NO_LAZY_FETCH", "1").stdin(Stdio::null());
    command
}

fn walk(root: &Path, folder: &Path, paths: &mut Vec<String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            walk(root, &path, paths)?;
        } else if let Ok(path) = path.strip_prefix(root) {
            paths.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

//! What was found by exciting subsystems before a run, kept on the disk for the next one.
//!
//! One file per answer, `DIGEST.probe`, named after what was asked: the FMU's content, how it is made, where it stands, the
//! step, the nodes, the ranges, and koppel's version and code. A file holds a first line, a digest of the rest, what was asked, and the
//! answer. It is written beside its place and moved there when it is complete. Files that are damaged, or somebody else's,
//! are left alone and told of once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use koppel::diagnostic::Remark;
use koppel::identify::{Answer, ProbeStore, Question};
use koppel_fmi::digest::sha256;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

const FIRST_LINE: &str = "koppel probe 1\n";
const ENDING: &str = "probe";
/// Most bytes of all files together; beyond that those that were not used for longest go.
const MOST: u64 = 64 << 20;
/// What is half written for longer than this is left behind by a process that has ended.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// A folder of answers.
#[derive(Debug)]
pub struct ProbeCache {
    folder: PathBuf,
    most: u64,
    warnings: Mutex<BTreeSet<Remark>>,
}

/// What a cache held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}

impl ProbeCache {
    /// In this folder, which is made when there is something to keep.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        ProbeCache { folder: folder.into(), most: MOST, warnings: Mutex::default() }
    }

    /// Where it is, if nobody says otherwise: `KOPPEL_CACHE`, or `koppel` in the user's folder of caches.
    #[must_use]
    pub fn usual_folder() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = set("KOPPEL_CACHE") {
            return Some(folder);
        }
        let caches = if cfg!(windows) { set("LOCALAPPDATA") } else { set("XDG_CACHE_HOME") };
        let caches = caches.filter(|folder| folder.is_absolute());
        Some(caches.or_else(|| Some(set("HOME")?.join(".cache")))?.join("koppel"))
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What went wrong, in words; each is reported once.
    #[must_use]
    pub fn warnings(&self) -> Vec<Remark> {
        std::mem::take(&mut *self.pending()).into_iter().collect()
    }

    fn pending(&self) -> MutexGuard<'_, BTreeSet<Remark>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all answers. Other files are left alone.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn clear(&self) -> Result<Contents> {
        let mut gone = Contents::default();
        for (path, bytes, _) in self.files() {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path)(error));
                }
                _ => gone = Contents { files: gone.files + 1, bytes: gone.bytes + bytes },
            }
        }
        Ok(gone)
    }

    /// What it holds.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let files = self.files();
        Contents { files: files.len() as u64, bytes: files.iter().map(|(_, bytes, _)| bytes).sum() }
    }

    /// Its files with their size and when they were used last.
    fn files(&self) -> Vec<(PathBuf, u64, SystemTime)> {
        let list = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let one = |entry: fs::DirEntry| {
            let path = entry.path();
            let is_name = |stem: &str| stem.len() == 64 && stem.bytes().all(|b| b.is_ascii_hexdigit());
            let is_ours = path.extension().is_some_and(|ending| ending == ENDING)
                && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_name);
            let meta = entry.metadata().ok().filter(|meta| is_ours && meta.is_file())?;
            Some((path, meta.len(), meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
        };
        list.filter_map(one).collect()
    }

    fn path(&self, asked: &[u8]) -> PathBuf {
        self.folder.join(sha256(asked)).with_extension(ENDING)
    }

    /// What was kept for a question, if it can be read.
    pub(crate) fn recall_value<T: DeserializeOwned>(&self, asked: &[u8]) -> Option<T> {
        let path = self.path(asked);
        self.read(&path, asked).unwrap_or_else(|problem| {
            let text = format!("`{}` in the cache {problem}: it is ignored", path.display());
            self.pending().insert(text.into());
            None
        })
    }

    /// Keeps the answer to a question.
    pub(crate) fn keep_value<T: Serialize>(&self, asked: &[u8], answer: &T) {
        match self.write(&self.path(asked), asked, answer) {
            Ok(()) => self.shrink(),
            Err(error) => {
                self.pending().insert(Remark::new(
                    format!(
                        "the cache `{}` cannot be written ({error}): probing results are not cached",
                        self.folder.display()
                    ),
                    "choose another folder with --cache, or turn the cache off with --no-cache",
                ));
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, path: &Path, asked: &[u8]) -> std::result::Result<Option<T>, String> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot be read ({error})")),
        };
        let rest = bytes.strip_prefix(FIRST_LINE.as_bytes()).ok_or("is not a file of koppel")?;
        let (digest, content) = rest.split_at_checked(64).ok_or("is damaged")?;
        if sha256(content).as_bytes() != digest {
            return Err("is damaged".into());
        }
        let (question, answer): (Vec<u8>, T) = postcard::from_bytes(content).map_err(|_| "is damaged")?;
        if question != asked {
            return Err("belongs to other settings".into());
        }
        // So that it is not taken for unused; where that is not allowed, it may go earlier.
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(answer))
    }

    fn write<T: Serialize>(&self, path: &Path, asked: &[u8], answer: &T) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let content = postcard::to_stdvec(&(asked, answer)).map_err(io::Error::other)?;
        let text = [FIRST_LINE.as_bytes(), sha256(&content).as_bytes(), &content].concat();
        fs::create_dir_all(&self.folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
        written.inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Makes room: those that were not used for longest go first.
    fn shrink(&self) {
        let mut files = self.files();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes > self.most {
            koppel::sort::sort_by_key(&mut files, |(_, _, used)| *used);
            for (path, size, _) in files {
                if bytes <= self.most / 5 * 4 {
                    break;
                }
                // Another process may have done so already.
                let _ = fs::remove_file(&path);
                bytes -= size;
            }
        }
        self.remove_left_behind();
    }

    fn remove_left_behind(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_temporary = name.to_str().is_some_and(|name| name.len() > 64 && name.ends_with(".tmp"));
            let age = entry.metadata().and_then(|meta| meta.modified()).map(|time| time.elapsed());
            if is_temporary && age.is_ok_and(|age| age.is_ok_and(|age| age > LEFT_BEHIND)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A question as it is written: koppel's version belongs to it.
fn bytes_of(question: &Question) -> Option<Vec<u8>> {
    postcard::to_stdvec(&(env!("CARGO_PKG_VERSION"), question)).ok()
}

impl ProbeStore for ProbeCache {
    fn recall(&self, question: &Question) -> Option<Answer> {
        self.recall_value(&bytes_of(question)?)
    }

    fn keep(&self, question: &Question, answer: &Answer) {
        if let Some(asked) = bytes_of(question) {
            self.keep_value(&asked, answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use koppel::identify::QuestionKind;

    fn question(size: f64) -> Question {
        Question {
            identity: "fmu".into(),
            revision: 1,
            settings: vec![("m".into(), 2.0)],
            start: 0.0,
            size,
            nodes: 10,
            rest: vec![0.1, -0.0],
            outputs: vec![f64::NAN],
            inputs: vec![0],
            asked: QuestionKind::Moves(vec![1.0]),
        }
    }

    #[test]
    fn answers_come_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ProbeCache::new(&folder.path().join("new"));
        let answer = Answer::Moves(vec![0.1, f64::INFINITY, -0.0, 5e-324]);
        assert_eq!(cache.recall(&question(0.1)), None);
        cache.keep(&question(0.1), &answer);
        let Some(Answer::Moves(found)) = cache.recall(&question(0.1)) else { panic!("nothing was kept") };
        let bits = |list: &[f64]| list.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&[0.1, f64::INFINITY, -0.0, 5e-324]));
        for other in [
            question(0.1 + 1e-17 + f64::EPSILON),
            Question { identity: "other".into(), ..question(0.1) },
            Question { settings: Vec::new(), ..question(0.1) },
            Question { nodes: 11, ..question(0.1) },
            Question { rest: vec![0.1, 0.0], ..question(0.1) },
            Question { revision: 2, ..question(0.1) },
            Question { asked: QuestionKind::AtRest, ..question(0.1) },
        ] {
            assert_eq!(cache.recall(&other), None, "{other:?}");
        }
        assert!(cache.warnings().is_empty());
        assert_eq!(cache.contents().files, 1);
        assert_eq!(cache.clear().unwrap().files, 1);
        assert_eq!(cache.recall(&question(0.1)), None);
    }

    #[test]
    fn what_is_damaged_or_foreign_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ProbeCache::new(folder.path());
        cache.keep(&question(0.1), &Answer::Moves(vec![1.0]));
        let path = cache.files()[0].0.clone();
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(cache.recall(&question(0.1)), None, "cut at {end}");
            assert_eq!(cache.warnings().len(), 1);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 4;
            fs::write(&path, &changed).unwrap();
            assert_eq!(cache.recall(&question(0.1)), None, "changed at {at}");
            assert_eq!(cache.warnings().len(), 1);
        }
        // The answer to something else under this name.
        cache.keep(&question(0.2), &Answer::Moves(vec![2.0]));
        let other = cache.files().into_iter().find(|(other, ..)| *other != path).unwrap().0;
        fs::copy(other, &path).unwrap();
        assert_eq!(cache.recall(&question(0.1)), None);
        assert!(cache.warnings()[0].text.contains("belongs to other settings"));
        // Files of others are neither read nor removed.
        fs::write(folder.path().join("mine.probe"), "x").unwrap();
        cache.clear().unwrap();
        assert!(folder.path().join("mine.probe").exists() && cache.contents() == Contents::default());
    }

    #[test]
    fn what_cannot_be_written_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let cache = ProbeCache::new(&file.join("below"));
        cache.keep(&question(0.1), &Answer::Moves(vec![1.0]));
        cache.keep(&question(0.2), &Answer::Moves(vec![1.0]));
        let warnings = cache.warnings();
        assert!(
            warnings.len() == 1
                && warnings[0].text.contains("cannot be written")
                && warnings[0].to_string().contains("--no-cache")
        );
    }

    #[test]
    fn the_oldest_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ProbeCache { most: 20_000, ..ProbeCache::new(folder.path()) };
        let day = |k: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * k);
        for k in 0..30 {
            cache.keep(&question(k as f64), &Answer::AtRest(vec![k as f64; 200]));
            let path = cache.path(&bytes_of(&question(k as f64)).unwrap());
            File::options().append(true).open(path).unwrap().set_modified(day(k)).unwrap();
        }
        assert!(cache.contents().bytes <= 20_000 && cache.contents().files > 5, "{:?}", cache.contents());
        assert!(cache.recall(&question(29.0)).is_some() && cache.recall(&question(0.0)).is_none());
    }
}

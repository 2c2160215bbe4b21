//! Private temporary folders that leave nothing behind.
//!
//! A folder is called `koppel-fmu-PID-RANDOM` and readable by its owner only. Inside lies a file `.lock` that its process
//! keeps locked for as long as it lives; the operating system drops the lock however the process ends. That is how the
//! next process tells folders of the living from those of the dead: a process id alone would mislead after the id was
//! used again, and between containers that share a temporary folder.

use super::Kind;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, SystemTime};

const PREFIX: &str = "koppel-fmu-";
const LOCK: &str = ".lock";

/// A folder without a lock file is one being made, unless it has been so for this long.
const BEING_MADE: Duration = Duration::from_secs(3600);

/// The folders of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Where FMUs are unpacked: the folder for temporary files, unless no library can be loaded from there (mounted `noexec`) but from another one.
pub(super) fn parent() -> PathBuf {
    let mut all = places();
    let place = all.iter().position(|folder| allows_libraries(folder)).unwrap_or(0);
    all.swap_remove(place)
}

/// Folders to unpack to, the usual one first.
fn places() -> Vec<PathBuf> {
    let mut all = vec![std::env::temp_dir()];
    if cfg!(target_os = "linux") {
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        all.push("/var/tmp".into());
        all.extend(cache.filter(|folder| folder.is_absolute()));
    }
    all
}

/// False for a folder from which libraries cannot be loaded, and for one that is not there, unless it is the usual one.
#[cfg(target_os = "linux")]
fn allows_libraries(folder: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let is_usual = folder == std::env::temp_dir();
    let may_write = || access(folder, Access::WRITE_OK).is_ok();
    statvfs(folder).map_or(is_usual, |file_system| {
        !file_system.f_flag.contains(StatVfsMountFlags::NOEXEC) && (is_usual || may_write())
    })
}

#[cfg(not(target_os = "linux"))]
fn allows_libraries(_: &Path) -> bool {
    true
}

/// An unpacked FMU. The folder is removed when this is dropped, also by a panic.
#[derive(Debug)]
pub struct Unpacked {
    /// Where the FMU's files are.
    files: PathBuf,
    folder: PathBuf,
    /// Holds the lock; `None` once it was given back.
    lock: Option<File>,
}

impl Unpacked {
    /// A new private folder in `parent`, after removing what crashed processes have left there.
    pub(super) fn create(parent: &Path) -> io::Result<Unpacked> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| remove_stale(parent));
        Unpacked::create_in(parent)
    }

    fn create_in(parent: &Path) -> io::Result<Unpacked> {
        let folder = create_unique(parent)?;
        let made = lock_folder(&folder).and_then(|lock| {
            let files = folder.join("fmu");
            create_private(&files)?;
            Ok((files, lock))
        });
        match made {
            Ok((files, lock)) => {
                OWN.lock().unwrap_or_else(PoisonError::into_inner).push(folder.clone());
                Ok(Unpacked { files, folder, lock: Some(lock) })
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    /// Where the FMU's files are.
    pub fn path(&self) -> &Path {
        &self.files
    }

    /// Creates a folder inside, with all folders on the way.
    pub(super) fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() { Ok(()) } else { private().recursive(true).create(path) }
    }

    /// Creates a file inside, which must not exist.
    pub(super) fn create_file(&self, path: &Path, kind: Kind) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if kind == Kind::Executable { 0o700 } else { 0o600 },
        );
        #[cfg(not(unix))]
        let _ = kind;
        options.open(path)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // The lock goes last: a process killed in between leaves a folder that the next one knows to be dead. The same holds
        // where loaded libraries cannot be removed.
        if fs::remove_dir_all(&self.files).is_ok() {
            drop(self.lock.take());
            let _ = fs::remove_dir_all(&self.folder);
        }
        OWN.lock().unwrap_or_else(PoisonError::into_inner).retain(|folder| *folder != self.folder);
    }
}

fn private() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "folders have a mode on Unix only"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn create_private(path: &Path) -> io::Result<()> {
    private().create(path)
}

/// A folder nobody can have foreseen the name of.
fn create_unique(parent: &Path) -> io::Result<PathBuf> {
    for _ in 0..100 {
        let random = RandomState::new().build_hasher().finish();
        let folder = parent.join(format!("{PREFIX}{}-{random:016x}", std::process::id()));
        match create_private(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary folder"))
}

/// Locks first and names the file after, so that nobody ever sees a living folder with an open lock.
fn lock_folder(folder: &Path) -> io::Result<File> {
    let new = folder.join(".lock-new");
    let lock = File::create_new(&new)?;
    lock.lock()?;
    fs::rename(new, folder.join(LOCK))?;
    Ok(lock)
}

/// Removes the folders of processes that are no more. Best effort: what cannot be removed is left alone.
fn remove_stale(parent: &Path) {
    let Ok(list) = fs::read_dir(parent) else { return };
    for entry in list.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let path = entry.path();
        if ours && fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) && is_dead(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Removes what crashed processes have left.
#[cfg(target_os = "linux")]
pub(crate) fn remove_left_behind() {
    places().iter().for_each(|folder| remove_stale(folder));
}

/// Removes the folders of this process, which is about to end.
#[cfg(target_os = "linux")]
pub(crate) fn remove_own() {
    let own = std::mem::take(&mut *OWN.lock().unwrap_or_else(PoisonError::into_inner));
    for folder in own {
        // Another thread may be removing it, too.
        for _ in 0..10 {
            if fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
                break;
            }
        }
    }
}

/// Removes the folder an FMU was unpacked to if the process that made it is gone; for those who outlive it.
#[cfg(target_os = "linux")]
pub(crate) fn remove_dead(files: &Path) {
    let Some(folder) = files.parent() else { return };
    let ours = folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    if ours && is_dead(folder) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// True if the process that made this folder is gone.
fn is_dead(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = |time: SystemTime| time.elapsed().unwrap_or_default();
            fs::metadata(folder).and_then(|meta| meta.modified()).is_ok_and(|time| age(time) > BEING_MADE)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(parent: &Path) -> usize {
        fs::read_dir(parent).unwrap().count()
    }

    #[test]
    fn the_folder_is_private_and_goes_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let unpacked = Unpacked::create_in(parent.path()).unwrap();
        #[cfg(unix)]
        for folder in [unpacked.path(), unpacked.path().parent().unwrap()] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::write(unpacked.path().join("file"), "text").unwrap();
        drop(unpacked);
        assert_eq!(folders(parent.path()), 0);
    }

    /// File systems without programs, by the system's own list.
    #[test]
    #[cfg(target_os = "linux")]
    fn no_library_is_loaded_from_where_none_can_be() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let is_closed = |fields: &Vec<&str>| fields[3].split(',').any(|option| option == "noexec");
        let closed: Vec<_> = fields.filter(is_closed).map(|fields| fields[1].to_owned()).collect();
        let last = |place: &&String| fs::metadata(place).is_ok() && place.starts_with("/proc");
        for place in closed.iter().filter(last) {
            assert!(!allows_libraries(Path::new(place)), "{place}");
        }
        assert!(allows_libraries(
            &std::env::current_exe().unwrap().parent().unwrap().canonicalize().unwrap()
        ));
        assert!(!allows_libraries(Path::new("/nowhere")));
    }

    #[test]
    fn a_panic_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().to_owned();
        let thread = std::thread::spawn(move || {
            let _unpacked = Unpacked::create_in(&place).unwrap();
            assert_eq!(folders(&place), 1);
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(thread.join().is_err());
        assert_eq!(folders(parent.path()), 0);
    }

    #[test]
    fn only_folders_of_the_dead_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = Unpacked::create_in(parent.path()).unwrap();
        let mut dead = Unpacked::create_in(parent.path()).unwrap();
        drop(dead.lock.take());
        let being_made = create_unique(parent.path()).unwrap();
        let foreign = parent.path().join("something-else");
        fs::create_dir(&foreign).unwrap();
        remove_stale(parent.path());
        assert!(living.path().exists() && being_made.exists() && foreign.exists());
        assert!(!dead.path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(victim.path(), parent.path().join("koppel-fmu-1-0")).unwrap();
        remove_stale(parent.path());
        assert!(victim.path().join(LOCK).exists());
    }
}

//! Where Wine, its folder and the worker program are.

use super::Trouble;
use super::library::Library;
use crate::digest::sha256;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The worker program, if it could be built with koppel.
static WORKER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker.exe"));

/// All that it takes to run a Windows FMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Wine's program.
    pub wine: PathBuf,
    /// The folder with Wine's own files, which koppel keeps apart from the user's.
    pub prefix: PathBuf,
    /// The worker program, if it is a file already.
    worker: Option<PathBuf>,
}

impl Setup {
    /// What this machine has. The folder need not exist yet.
    pub fn find() -> Result<Setup, Trouble> {
        static FOUND: OnceLock<Result<Setup, Trouble>> = OnceLock::new();
        FOUND.get_or_init(Setup::look).clone()
    }

    fn look() -> Result<Setup, Trouble> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Trouble::Platform);
        }
        let wine = wine().ok_or(Trouble::NoWine)?;
        let worker = worker();
        if worker.is_none() && WORKER.is_empty() {
            return Err(Trouble::NoWorker);
        }
        Ok(Setup { wine, prefix: prefix().ok_or(Trouble::NoFolder)?, worker })
    }

    /// True if Wine's folder was made before; otherwise the first FMU waits some ten seconds for it.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.mark().is_file()
    }

    fn mark(&self) -> PathBuf {
        self.prefix.join("koppel-ready")
    }

    /// Folders in which Wine has the libraries of Windows.
    pub(super) fn systems(&self) -> Vec<PathBuf> {
        vec![self.prefix.join("drive_c/windows/system32")]
    }

    /// A command that runs a program under Wine, with nothing of the user's own Wine.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.wine);
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all").env("WINEARCH", "win64");
        // Neither .NET nor a browser is installed, nor are menus made.
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=");
        // What Wine starts for all programs of its folder outlives this run, and its supervisor leaves it alone.
        ["DISPLAY", "WAYLAND_DISPLAY", "WINESERVER", "KOPPEL_SUPERVISOR"]
            .into_iter()
            .for_each(|name| _ = command.env_remove(name));
        command
    }

    /// Makes Wine's folder if there is none; `say` hears that it takes a moment.
    pub(super) fn make_ready(&self, say: impl FnOnce(String)) -> Result<(), Trouble> {
        if self.is_ready() {
            return Ok(());
        }
        let failed = |reason: &dyn ToString| Trouble::Folder {
            folder: self.prefix.clone(),
            reason: reason.to_string(),
        };
        let make = || -> io::Result<()> {
            fs::create_dir_all(&self.prefix)?;
            let lock = File::create(self.prefix.join("koppel-lock"))?;
            lock.lock()?;
            if self.is_ready() {
                return Ok(());
            }
            say(format!(
                "Windows FMUs need a folder of Wine's own: it is made once in `{}`, which takes some 10 s",
                self.prefix.display()
            ));
            let done = self
                .command()
                .args(["wineboot", "-i"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            if !done.success() {
                return Err(io::Error::other(format!("`wineboot -i` failed ({done})")));
            }
            fs::write(self.mark(), "")
        };
        make().map_err(|error| failed(&error))
    }

    /// The worker program as a file.
    pub(super) fn worker(&self) -> Result<PathBuf, Trouble> {
        if let Some(worker) = &self.worker {
            return Ok(worker.clone());
        }
        let failed =
            |error: io::Error| Trouble::Folder { folder: self.prefix.clone(), reason: error.to_string() };
        let path = self.prefix.join(format!("koppel-worker-{}.exe", &sha256(WORKER)[..16]));
        if fs::metadata(&path).is_ok_and(|file| file.len() == WORKER.len() as u64) {
            return Ok(path);
        }
        let new = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&new, WORKER).and_then(|()| fs::rename(&new, &path)).map_err(failed)?;
        Ok(path)
    }

    /// Why the library does not load, if libraries that it needs are not there.
    pub(super) fn lacks(&self, library: &Library) -> Option<String> {
        let missing = library.missing(&self.systems());
        let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        (!missing.is_empty()).then(|| {
            format!("it needs {list}, which neither the FMU nor Wine has: put them into its folder `binaries/win64`")
        })
    }
}

fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Wine's program: the one that is named, on the path, or where packages put it.
fn wine() -> Option<PathBuf> {
    if let Some(named) = set("KOPPEL_WINE") {
        return named.is_file().then_some(named);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path =
        std::env::split_paths(&path).flat_map(|folder| ["wine64", "wine"].map(|name| folder.join(name)));
    let usual = ["/usr/lib/wine/wine64", "/opt/wine-stable/bin/wine64", "/opt/wine-stable/bin/wine"];
    on_path.chain(usual.map(PathBuf::from)).find(|program| program.is_file())
}

/// The folder for Wine's files: the one that is named, or one among the user's caches.
fn prefix() -> Option<PathBuf> {
    if let Some(named) = set("KOPPEL_WINEPREFIX") {
        return std::path::absolute(named).ok();
    }
    let caches = set("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let caches = caches.or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(caches.join("koppel").join("wine"))
}

/// A worker program that somebody has put somewhere.
fn worker() -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("koppel-windows-worker.exe"));
    set("KOPPEL_WINDOWS_WORKER").or_else(beside).filter(|file| file.is_file())
}

/// A path as Windows programs under Wine know it.
pub(super) fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.to_string_lossy().replace('/', "\\"))
}

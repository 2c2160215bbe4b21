//! An FMU ready for use: checked, unpacked, its library loaded once.
//!
//! Opening the same file twice gives the same [`Fmu`] while the first is in use, so there is one library per FMU however
//! many instances there are.

use crate::archive::{self, Archive, Unpacked};
use crate::description::{Description, FmiVersion, Interface};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::ffi::{Functions, Kind};
use crate::import::{Options, Solving};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

/// An unpacked FMU.
pub struct Fmu {
    path: PathBuf,
    description: Description,
    files: Files,
    /// By model identifier: interfaces may have libraries of their own.
    libraries: Mutex<HashMap<String, Arc<Functions>>>,
    is_taken: AtomicBool,
    digest: OnceLock<Option<String>>,
}

/// Where its files are, and who removes them.
enum Files {
    Own(Unpacked),
    /// Unpacked by another process.
    #[cfg(target_os = "linux")]
    Shared(PathBuf),
}

/// How an FMU runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// By its library for this platform.
    Native,
    /// By its library for Windows, under Wine.
    Wine,
}

/// A library of an FMU.
enum Binary {
    Native(PathBuf),
    /// For Windows, under Wine.
    #[cfg(target_os = "linux")]
    Windows(PathBuf),
}

/// What makes two openings the same file.
type Key = (PathBuf, u64, Option<SystemTime>);

/// The FMUs of this process.
#[derive(Default)]
struct Open {
    known: HashMap<Key, Weak<Fmu>>,
    kept: Vec<Arc<Fmu>>,
    keepers: usize,
}

impl Open {
    fn lock() -> MutexGuard<'static, Open> {
        static OPEN: OnceLock<Mutex<Open>> = OnceLock::new();
        OPEN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While one of these lives, FMUs that are opened stay open: for many runs in sequence. Unpacking is spared, and
/// memory, since a library that was loaded stays so for good.
#[derive(Debug)]
pub struct KeepOpen(());

impl KeepOpen {
    /// From now on.
    #[expect(clippy::new_without_default, reason = "it has an effect")]
    pub fn new() -> KeepOpen {
        Open::lock().keepers += 1;
        KeepOpen(())
    }
}

impl Drop for KeepOpen {
    fn drop(&mut self) {
        let mut open = Open::lock();
        open.keepers -= 1;
        let kept = if open.keepers == 0 { std::mem::take(&mut open.kept) } else { Vec::new() };
        // Folders are removed without keeping others waiting.
        drop(open);
        drop(kept);
    }
}

impl Fmu {
    /// Opens, checks and unpacks an FMU, also one inside a package (`vehicle.ssp!resources/engine.fmu`); the library is
    /// loaded by the first instance.
    pub fn open(path: &Path) -> Result<Arc<Fmu>> {
        let (file, entries) = archive::split(path);
        let key = std::fs::canonicalize(file).and_then(|full| {
            let meta = std::fs::metadata(&full)?;
            let inside: String = entries.iter().map(|entry| format!("!{entry}")).collect();
            let mut full = full.into_os_string();
            full.push(inside);
            Ok((full.into(), meta.len(), meta.modified().ok()))
        });
        let Ok(key) = key else { return Fmu::read(path).map(Arc::new) };
        let mut open = Open::lock();
        if let Some(fmu) = open.known.get(&key).and_then(Weak::upgrade) {
            return Ok(fmu);
        }
        let fmu = Arc::new(Fmu::read(path)?);
        open.known.retain(|_, other| other.strong_count() > 0);
        open.known.insert(key, Arc::downgrade(&fmu));
        if open.keepers > 0 {
            open.kept.push(fmu.clone());
        }
        Ok(fmu)
    }

    /// Why it has no such interface.
    pub(crate) fn lacks(&self, kind: Kind) -> Error {
        let (description, path) = (self.description(), self.path().into());
        let has_other = description.co_simulation.is_some() || description.model_exchange.is_some();
        match kind {
            _ if description.scheduled_execution.is_some() && !has_other => {
                Error::ScheduledExecution { path }
            }
            Kind::CoSimulation => Error::NotCoSimulation { path },
            Kind::ModelExchange => Error::NotModelExchange { path },
        }
    }

    fn read(path: &Path) -> Result<Fmu> {
        let mut archive = Archive::open(path)?;
        let description = Description::read(&mut archive)?;
        let unpacked = archive.unpack()?;
        let resources = unpacked.path().join("resources");
        std::fs::create_dir_all(&resources).map_err(|source| Error::Folder { path: resources, source })?;
        Ok(Fmu::with(path, description, Files::Own(unpacked)))
    }

    /// An FMU that another process has checked and unpacked, and will remove.
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(path: &Path, folder: &Path) -> Result<Arc<Fmu>> {
        let description = Description::read_folder(folder)?;
        Ok(Arc::new(Fmu::with(path, description, Files::Shared(folder.into()))))
    }

    fn with(path: &Path, description: Description, files: Files) -> Fmu {
        Fmu {
            path: path.into(),
            description,
            files,
            libraries: Mutex::default(),
            is_taken: AtomicBool::new(false),
            digest: OnceLock::new(),
        }
    }

    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A digest of its content; of an FMU in a package, of the package and its place there. Nothing if the file can no longer
    /// be read.
    pub fn fingerprint(&self) -> Option<&str> {
        let digest = self.digest.get_or_init(|| {
            let (file, entries) = archive::split(&self.path);
            let content = sha256(&std::fs::read(file).ok()?);
            Some(entries.iter().fold(content, |digest, entry| format!("{digest}!{entry}")))
        });
        digest.as_deref()
    }

    /// What it says about itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        match &self.files {
            Files::Own(unpacked) => unpacked.path(),
            #[cfg(target_os = "linux")]
            Files::Shared(folder) => folder,
        }
    }

    /// Platforms it has binaries for, as its folders are called.
    pub fn platforms(&self) -> Vec<String> {
        let list = std::fs::read_dir(self.folder().join("binaries")).into_iter().flatten().flatten();
        let mut names: Vec<String> = list
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// True if an instance made so can save its state, as far as it declares.
    pub fn saves_states(&self, options: &Options) -> bool {
        let declares = self.interface(options.solving).is_some_and(|i| i.can_get_and_set_fmu_state);
        declares && options.without.states.is_none()
    }

    /// True if an instance made so can save its state as bytes, which are good in another process, too.
    pub fn saves_as_bytes(&self, options: &Options) -> bool {
        let declares = self.interface(options.solving).is_some_and(|i| i.can_serialize_fmu_state);
        declares && self.saves_states(options) && options.without.serialization.is_none()
    }

    /// What it declares of an interface.
    pub fn interface(&self, solving: Solving) -> Option<&Interface> {
        self.description.interface(solving.kind())
    }

    /// The library of an interface.
    pub(crate) fn library(&self, interface: &Interface) -> Result<Arc<Functions>> {
        let mut libraries = self.libraries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = libraries.get(&interface.model_identifier) {
            return Ok(library.clone());
        }
        let version = self.description.fmi_version;
        let loaded = match self.binary(interface)? {
            Binary::Native(path) => Functions::load(&path, version),
            #[cfg(target_os = "linux")]
            Binary::Windows(path) => Functions::load_for_wine(&path, version),
        };
        let library = loaded.map_err(|source| {
            let source = source.within(self.folder());
            Error::Load { path: self.path.clone(), source }
        })?;
        let library = Arc::new(library);
        libraries.insert(interface.model_identifier.clone(), library.clone());
        Ok(library)
    }

    /// The library to load: the one for this platform, or one for Windows where Wine runs it.
    fn binary(&self, interface: &Interface) -> Result<Binary> {
        let wanted = platform_names(self.description.fmi_version);
        let file = format!("{}.{}", interface.model_identifier, std::env::consts::DLL_EXTENSION);
        if let Some(found) = self.library_for(&wanted, &file) {
            return Ok(Binary::Native(found));
        }
        #[cfg(target_os = "linux")]
        if let Some(found) = self.windows_library(interface) {
            return match crate::wine::Setup::find() {
                Ok(_) => Ok(Binary::Windows(found)),
                Err(trouble) => Err(Error::NoWine { path: self.path.clone(), trouble }.into()),
            };
        }
        let present = self.platforms();
        Err(Error::NoBinary { path: self.path.clone(), file, wanted: wanted[0].clone(), present }.into())
    }

    fn library_for(&self, platforms: &[String], file: &str) -> Option<PathBuf> {
        let folder = self.folder().join("binaries");
        platforms.iter().map(|platform| folder.join(platform).join(file)).find(|place| place.is_file())
    }

    /// Its library for 64-bit Windows, if it has one.
    #[cfg(target_os = "linux")]
    fn windows_library(&self, interface: &Interface) -> Option<PathBuf> {
        let platforms = ["win64", "x86_64-windows"].map(str::to_owned);
        self.library_for(&platforms, &format!("{}.dll", interface.model_identifier))
    }

    /// How an interface would run on this machine, or why it would not. Nothing is loaded.
    pub fn execution(&self, interface: &Interface) -> Result<Execution> {
        Ok(match self.binary(interface)? {
            Binary::Native(_) => Execution::Native,
            #[cfg(target_os = "linux")]
            Binary::Windows(_) => Execution::Wine,
        })
    }

    /// True if an instance made so runs under Wine, in a process of its own.
    pub fn runs_under_wine(&self, solving: Solving) -> bool {
        let execution = self.interface(solving).map(|interface| self.execution(interface));
        matches!(execution, Some(Ok(Execution::Wine)))
    }

    /// Takes the right to the only instance, for FMUs that can have no more.
    pub(crate) fn take(self: &Arc<Fmu>, interface: &Interface) -> Result<Option<OnlyInstance>> {
        if !interface.can_be_instantiated_only_once_per_process {
            return Ok(None);
        }
        if self.is_taken.swap(true, Ordering::AcqRel) {
            return Err(Error::OnlyOnce { path: self.path.clone() }.into());
        }
        Ok(Some(OnlyInstance(self.clone())))
    }
}

/// The right to the only instance of an FMU, given back on drop.
pub(crate) struct OnlyInstance(Arc<Fmu>);

impl Drop for OnlyInstance {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// The folder of this platform's binaries.
pub fn platform(version: FmiVersion) -> String {
    platform_names(version).swap_remove(0)
}

/// Names this platform's folder may have, the right one first.
fn platform_names(version: FmiVersion) -> Vec<String> {
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let tuple = format!("{arch}-{}", if os == "macos" { "darwin" } else { os });
    let old = match (os, arch) {
        ("linux", "x86_64") => "linux64",
        ("linux", "x86") => "linux32",
        ("windows", "x86_64") => "win64",
        ("windows", "x86") => "win32",
        ("macos", "x86_64") => "darwin64",
        _ => return vec![tuple],
    };
    match version {
        FmiVersion::Fmi2 => vec![old.into(), tuple],
        FmiVersion::Fmi3 => vec![tuple],
    }
}

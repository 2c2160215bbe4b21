//! FMUs written in Python.
//!
//! Exporters such as pythonfmu leave the Python library out of their binaries: it must be in the process before, with its
//! symbols visible to all. A simulator that is a Python program has it; koppel fetches it when a library turns out to need
//! it: the one named by `KOPPEL_PYTHON_LIBRARY`, else that of the `python3` on the path.
//!
//! koppel also starts the interpreter itself, for good and without signal handlers. Left alone, every FMU type would start
//! it if nobody has, and end it when it is done, while FMUs of other types still use it.

use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Names the Python library to be used.
pub(super) const VARIABLE: &str = "KOPPEL_PYTHON_LIBRARY";

/// True if a library could not be opened because it expects Python to be there.
pub(super) fn is_wanted(reason: &str) -> bool {
    reason.contains("undefined symbol: Py") || reason.contains("undefined symbol: _Py")
}

/// Loads Python for the whole process, once.
pub(super) fn load() -> Result<(), String> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    LOADED.get_or_init(load_now).clone()
}

fn load_now() -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    let path = find()?;
    // SAFETY: the Python library's initialisers only set up its own tables.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
    let failed = |error: libloading::Error| format!("{}: {}", path.display(), super::reason(&error));
    let library = library.map_err(failed)?;
    // SAFETY: the types are those of the Python C API. The interpreter is started at most once, by the one thread that
    // gets here, which then lets go of its lock; nobody ever ends it.
    unsafe {
        let is_initialized =
            library.get::<unsafe extern "C" fn() -> c_int>(b"Py_IsInitialized\0").map_err(failed)?;
        let initialize = library.get::<unsafe extern "C" fn(c_int)>(b"Py_InitializeEx\0").map_err(failed)?;
        let let_go =
            library.get::<unsafe extern "C" fn() -> *mut c_void>(b"PyEval_SaveThread\0").map_err(failed)?;
        if is_initialized() == 0 {
            initialize(0);
            let_go();
        }
    }
    std::mem::forget(library);
    Ok(())
}

fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(path.into());
    }
    let program = "import os, sysconfig as s; \
        print(os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('INSTSONAME') or ''))";
    let output = Command::new("python3").args(["-c", program]).output();
    let output = output.map_err(|error| format!("python3 cannot be asked for its library: {error}"))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let is_library = path.extension().is_some_and(|ending| ending != "a") && path.is_file();
    if is_library {
        Ok(path)
    } else {
        Err(format!("the python3 on the path has no shared library; set {VARIABLE}"))
    }
}

//! What `make_fmus.py` prepares for the tests of several crates: FMUs of other exporters, and a Python environment.

use std::path::{Path, PathBuf};

/// Where it is: `target/test-fmus`, or where `KOPPEL_TEST_FMUS` says.
pub(crate) fn folder() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-fmus");
    std::env::var_os("KOPPEL_TEST_FMUS").map_or_else(default, PathBuf::from)
}

/// A file of it, or nothing if there was no preparation, which is said. Where `KOPPEL_TEST_FMUS` is set, it must be there.
#[allow(dead_code, reason = "an experiment needs the folder alone")]
pub(crate) fn prepared(name: &str) -> Option<PathBuf> {
    let path = folder().join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("KOPPEL_TEST_FMUS").is_none(), "{} is missing", path.display());
    eprintln!("skipped: run `python3 crates/koppel-fmi/tests/make_fmus.py` to make {name}");
    None
}

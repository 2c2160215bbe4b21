//! The package in Python, by pytest: signals, studies, a Dask cluster.
//!
//! The environment is the one of `crates/koppel-fmi/tests/make_fmus.py`, in `target/test-fmus` or where `KOPPEL_TEST_FMUS`
//! says. Without it the test is skipped, and says so; with `KOPPEL_TEST_FMUS` set and under `cargo xtask test` it must be there.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use prepared::python;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

/// Puts the package together as an installer would: the Python files and the compiled module.
fn install(package: &Path, folder: &Path) {
    let to = folder.join("koppel");
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(package.join("python/koppel")).unwrap() {
        let from = entry.unwrap().path();
        if from.is_file() {
            std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
    let name = format!("{DLL_PREFIX}_koppel{DLL_SUFFIX}");
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let places = [deps.join(&name), deps.join("..").join(&name)];
    let built = places.iter().filter(|place| place.is_file());
    let newest = built.max_by_key(|place| place.metadata().and_then(|meta| meta.modified()).ok());
    std::fs::copy(newest.expect("cargo builds the module first"), to.join("_koppel.abi3.so")).unwrap();
}

#[test]
fn the_package_passes_its_tests() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(python) = python(&["distributed", "numpy", "pytest"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    install(package, folder.path());
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(package.join("tests"));
    pytest.env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = pytest.output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.contains(" passed") && !report.contains("skipped"), "{report}");
}

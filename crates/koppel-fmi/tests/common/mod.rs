//! FMUs made by the tests themselves: C sources compiled with the C compiler, descriptions from the fixtures.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub(crate) const MASS2: &str = include_str!("../fixtures/mass2.xml");
pub(crate) const MASS3: &str = include_str!("../fixtures/mass3.xml");

/// An FMU file that goes with its folder.
pub(crate) struct TestFmu {
    folder: TempDir,
}

impl TestFmu {
    /// Compiles `source` and packs it with `description`. With `KOPPEL_TEST_WINDOWS` the library is one for Windows, which
    /// Wine runs: any test of FMUs is then a test of these.
    pub(crate) fn new(source: &str, description: &str, flags: &[&str]) -> TestFmu {
        let for_windows = std::env::var_os("KOPPEL_TEST_WINDOWS").is_some();
        TestFmu::of(source, description, flags, for_windows)
    }

    /// The same for Windows, or not.
    pub(crate) fn of(source: &str, description: &str, flags: &[&str], for_windows: bool) -> TestFmu {
        let binary = match (for_windows, description.contains("fmiVersion=\"2")) {
            (false, true) => "binaries/linux64/mass.so",
            (false, false) => "binaries/x86_64-linux/mass.so",
            (true, true) => "binaries/win64/mass.dll",
            (true, false) => "binaries/x86_64-windows/mass.dll",
        };
        let fmu = TestFmu { folder: tempfile::tempdir().unwrap() };
        let library = compiled(source, flags, for_windows);
        pack(&fmu.path(), &[("modelDescription.xml", description.as_bytes()), (binary, &library)]);
        fmu
    }

    pub(crate) fn two(description: &str) -> TestFmu {
        TestFmu::new("mass2.c", description, &[])
    }

    pub(crate) fn three(description: &str) -> TestFmu {
        TestFmu::new("mass3.c", description, &[])
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mass.fmu")
    }
}

/// The library made of a source; each is compiled once.
fn compiled(source: &str, flags: &[&str], for_windows: bool) -> Arc<Vec<u8>> {
    static KNOWN: OnceLock<Mutex<HashMap<String, Arc<Vec<u8>>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap();
    let key = format!("{source} {} {for_windows}", flags.join(" "));
    let compile = || {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("mass.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmus").join(source);
        let native = || std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compiler = if for_windows { "x86_64-w64-mingw32-gcc".into() } else { native() };
        let mut command = Command::new(compiler);
        command
            .args(["-O2", "-fPIC", "-shared", "-Wall", "-ffp-contract=off", "-o"])
            .arg(&library)
            .arg(source)
            .args(flags);
        command.arg(if for_windows { "-static-libgcc" } else { "-lm" });
        assert!(command.status().unwrap().success());
        Arc::new(std::fs::read(library).unwrap())
    };
    known.entry(key).or_insert_with(compile).clone()
}

/// Writes an FMU file.
pub(crate) fn pack(path: &Path, files: &[(&str, &[u8])]) {
    let mut writer = ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
}

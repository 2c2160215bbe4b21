//! FMUs made by the tests themselves: a mass on a spring, compiled with the C compiler.

use super::Folder;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub(crate) const MASS2: &str = include_str!("../../../koppel-fmi/tests/fixtures/mass2.xml");
pub(crate) const MASS3: &str = include_str!("../../../koppel-fmi/tests/fixtures/mass3.xml");

/// Packs a mass on a spring with this description, FMI 2.0 or 3.0 as that says.
pub(crate) fn mass(path: &Path, description: &str) {
    let is_two = description.contains("fmiVersion=\"2");
    build(path, if is_two { "mass2.c" } else { "mass3.c" }, description, &[]);
}

/// A mass on a spring that changes the current folder in every step.
pub(crate) fn wandering(path: &Path) {
    build(path, "mass2.c", MASS2, &["-DWANDER"]);
}

/// An FMU of FMI 3.0 with arrays, texts, bytes, numbers of all sizes, clocks.
pub(crate) fn events(path: &Path) {
    build(path, "events3.c", include_str!("../../../koppel-fmi/tests/fixtures/events3.xml"), &[]);
}

/// Compiles a source of koppel-fmi's tests and packs it.
fn build(path: &Path, source: &str, description: &str, flags: &[&str]) {
    let platform = if description.contains("fmiVersion=\"2") { "linux64" } else { "x86_64-linux" };
    let binary = format!("binaries/{platform}/mass.so");
    pack(path, &[("modelDescription.xml", description.as_bytes()), (&binary, &compile(source, flags))]);
}

/// The library made of a source.
pub(crate) fn compile(source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let library = folder.path("mass.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../koppel-fmi/tests/fmus").join(source);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-fPIC", "-shared"]).args(flags).arg("-o").arg(&library).arg(source).arg("-lm");
    assert!(command.status().unwrap().success());
    std::fs::read(&library).unwrap()
}

/// Writes an archive.
pub(crate) fn pack(path: &Path, files: &[(&str, &[u8])]) {
    let mut writer = ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// `left.fmu` (FMI 2.0) and `right.fmu` (FMI 3.0).
pub(crate) fn masses() -> Folder {
    let folder = Folder::new();
    mass(&folder.path("left.fmu"), MASS2);
    mass(&folder.path("right.fmu"), MASS3);
    folder
}

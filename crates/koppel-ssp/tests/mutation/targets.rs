//! What is fed: the readers of everything a stranger may send.

use koppel_fmi::archive::Archive;
use koppel_fmi::description::Description;
use koppel_ssp::{Options, Ssp, Tolerance};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A reader, and files it accepts.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) seeds: Vec<Vec<u8>>,
    /// Reads; true if the input was accepted.
    pub(crate) read: fn(&[u8]) -> bool,
}

/// All targets with their seeds.
pub(crate) fn targets() -> std::io::Result<Vec<Target>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/koppel-ssp");
    let files = |folders: &[&str], ends: &[&str]| -> std::io::Result<Vec<Vec<u8>>> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let list = std::fs::read_dir(root.join(folder))?;
            paths.extend(list.flatten().map(|entry| entry.path()));
        }
        paths.sort();
        let is_wanted = |path: &&PathBuf| ends.iter().any(|end| path.extension().is_some_and(|e| e == *end));
        paths.iter().filter(is_wanted).map(std::fs::read).collect()
    };
    let documents = ["tests/fixtures/vehicle", "tests/fixtures/vehicle/resources", "tests/fixtures/arrays"];
    let descriptions = files(&["../koppel-fmi/tests/fixtures"], &["xml"])?;
    let fmus = files(&["../koppel-fmi/fuzz/seeds/archive"], &["fmu"])?;
    let structures = files(&documents, &["ssd", "ssv", "ssm", "ssb"])?;
    let packages = vec![package_around(std::fs::read(root.join("tests/fixtures/vehicle/vehicle.ssd"))?)?];
    Ok(vec![
        Target { name: "archive", seeds: [fmus, descriptions.clone()].concat(), read: archive },
        Target { name: "description", seeds: descriptions, read: description },
        Target { name: "structure", seeds: structures.clone(), read: structure },
        Target { name: "package", seeds: [packages, structures].concat(), read: package },
    ])
}

/// What is no archive is put into one: a wrong check sum is not all there is to find.
fn packed(bytes: &[u8], pack: fn(Vec<u8>) -> std::io::Result<Vec<u8>>) -> Vec<u8> {
    if bytes.starts_with(b"PK") { bytes.to_vec() } else { pack(bytes.to_vec()).unwrap_or_default() }
}

/// An FMU file: opened, described, every entry read.
fn archive(bytes: &[u8]) -> bool {
    let whole = packed(bytes, |description| zip(&[("modelDescription.xml".into(), description)]));
    let Ok(mut archive) = Archive::from_bytes(Path::new("fuzz.fmu"), whole) else { return false };
    let described = Description::read(&mut archive).is_ok();
    let names: Vec<String> = archive.files().map(str::to_owned).collect();
    for name in names {
        let _ = archive.read(&name, 1 << 22);
    }
    // The disk is slow: one in some dozens is unpacked to the end.
    if bytes.len().is_multiple_of(31) {
        let _ = archive.unpack();
    }
    described
}

const FMI3: &[u8] = include_bytes!("../../../koppel-fmi/tests/fixtures/fmi3.xml");

/// A model description, and the same bytes as the other XML files of an FMU.
fn description(bytes: &[u8]) -> bool {
    if let Ok(mut description) = Description::parse(FMI3, "modelDescription.xml") {
        let _ = description.add_terminals(bytes, "terminalsAndIcons.xml");
        let _ = description.add_sources(bytes, "buildDescription.xml");
    }
    match Description::parse(bytes, "modelDescription.xml") {
        Ok(description) => {
            koppel_fmi::import::ports(&description);
            true
        }
        Err(_) => false,
    }
}

/// A structure, parameter set, mapping or dictionary.
fn structure(bytes: &[u8]) -> bool {
    koppel_ssp::read_parameters(bytes, "x", Tolerance::Tolerant);
    koppel_ssp::read_mapping(bytes, "x", Tolerance::Tolerant);
    koppel_ssp::read_dictionary(bytes, "x", Tolerance::Tolerant);
    let read = koppel_ssp::read_structure(bytes, "x", Tolerance::Strict);
    assert!(read.content.is_some() || !read.findings.is_empty(), "nothing read and nothing said");
    let Some(structure) = read.content else { return false };
    koppel_ssp::flatten_structure(&structure, Tolerance::Tolerant);
    let _ = koppel_ssp::write_structure(&structure);
    true
}

/// A whole package with its FMUs.
fn package(bytes: &[u8]) -> bool {
    let options = Options { tolerance: Tolerance::Tolerant, ..Options::default() };
    let Ok(ssp) = Ssp::from_bytes("x.ssp", packed(bytes, package_around), &options) else { return false };
    let _ = ssp.flatten();
    let _ = ssp.components();
    true
}

/// A structure with the files of the fixture `vehicle`, and FMUs that have at least a description.
fn package_around(structure: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let fmu = zip(&[("modelDescription.xml".into(), FMI3.to_vec())])?;
    let mut files = vec![("SystemStructure.ssd".to_owned(), structure)];
    files.extend(["body", "engine", "gear box"].map(|name| (format!("resources/{name}.fmu"), fmu.clone())));
    files.extend(VEHICLE.map(|(name, bytes)| (format!("resources/{name}"), bytes.to_vec())));
    zip(&files)
}

const VEHICLE: [(&str, &[u8]); 4] = [
    ("vehicle.ssv", include_bytes!("../../tests/fixtures/vehicle/resources/vehicle.ssv")),
    ("vehicle.ssm", include_bytes!("../../tests/fixtures/vehicle/resources/vehicle.ssm")),
    ("engine.ssv", include_bytes!("../../tests/fixtures/vehicle/resources/engine.ssv")),
    ("signals.ssb", include_bytes!("../../tests/fixtures/vehicle/resources/signals.ssb")),
];

fn zip(files: &[(String, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        // Stored: what is changed inside is still found.
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file(name.as_str(), options)?;
        writer.write_all(bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

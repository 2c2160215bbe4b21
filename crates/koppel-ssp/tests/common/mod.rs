//! What the tests share.
#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A file among the fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A folder of the data beside the project, or in `KOPPEL_SHARED`.
pub(crate) fn shared(name: &str) -> PathBuf {
    let root = std::env::var_os("KOPPEL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join("data").join(name);
    assert!(folder.exists(), "{} is not there", folder.display());
    folder
}

/// An archive in memory.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const DECLARATIONS: &str = "xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" \
xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" \
xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" \
xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\" \
xmlns:ssb=\"http://ssp-standard.org/SSP1/SystemStructureSignalDictionary\"";

/// An SSD around the content of its root.
pub(crate) fn ssd(version: &str, content: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<ssd:SystemStructureDescription {DECLARATIONS} version=\"{version}\" name=\"test\">\n{content}\n</ssd:SystemStructureDescription>"
    )
}

/// An SSV around its parameters.
pub(crate) fn ssv(content: &str) -> String {
    format!(
        "<ssv:ParameterSet {DECLARATIONS} version=\"1.0\" name=\"p\"><ssv:Parameters>{content}</ssv:Parameters></ssv:ParameterSet>"
    )
}

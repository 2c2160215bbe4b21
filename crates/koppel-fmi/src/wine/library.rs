//! What a Windows library exports and needs, read from its file.

use object::LittleEndian as LE;
use object::pe::{IMAGE_FILE_MACHINE_AMD64, ImageNtHeaders64};
use object::read::pe::{ImageNtHeaders, PeFile};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A library for Windows.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    exports: HashSet<String>,
    /// Names of the libraries it needs.
    imports: Vec<String>,
}

impl Library {
    /// Reads the tables of the file.
    pub(crate) fn read(path: &Path) -> Result<Library, String> {
        let data = std::fs::read(path).map_err(|error| error.to_string())?;
        let strange = |error: object::Error| format!("it is no library for 64-bit Windows ({error})");
        let file = PeFile::<ImageNtHeaders64, _>::parse(data.as_slice()).map_err(strange)?;
        if file.nt_headers().file_header().machine.get(LE) != IMAGE_FILE_MACHINE_AMD64 {
            return Err("it is a library for another processor than x86-64".into());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut library = Library { path: path.into(), exports: HashSet::new(), imports: Vec::new() };
        if let Some(table) = file.export_table().map_err(strange)? {
            let exports = table.exports().map_err(strange)?;
            library.exports.extend(exports.iter().filter_map(|export| export.name).map(text));
        }
        if let Some(table) = file.import_table().map_err(strange)? {
            let mut entries = table.descriptors().map_err(strange)?;
            while let Some(entry) = entries.next().map_err(strange)? {
                library.imports.push(text(table.name(entry.name.get(LE)).map_err(strange)?));
            }
        }
        Ok(library)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True if it has a function of this name.
    pub(crate) fn exports(&self, symbol: &str) -> bool {
        self.exports.contains(symbol)
    }

    /// Libraries that it needs, directly or through others beside it, and that are neither beside it nor in `systems`.
    pub(crate) fn missing(&self, systems: &[PathBuf]) -> Vec<String> {
        let names = |folder: &Path| -> HashSet<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().to_lowercase()).collect()
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let beside = names(folder);
        let system: HashSet<String> = systems.iter().flat_map(|folder| names(folder)).collect();
        let mut missing = Vec::new();
        let (mut seen, mut next) = (HashSet::new(), self.imports.clone());
        while let Some(name) = next.pop() {
            let lower = name.to_lowercase();
            if !seen.insert(lower.clone()) || system.contains(&lower) || lower.starts_with("api-ms-") {
                continue;
            }
            if !beside.contains(&lower) {
                missing.push(name);
            } else if let Ok(other) = Library::read(&folder.join(&name)) {
                next.extend(other.imports);
            }
        }
        missing.sort();
        missing
    }
}

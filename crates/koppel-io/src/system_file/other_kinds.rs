//! Files that are taken for system files and are something else.

use std::io;
use std::path::{Path, PathBuf};

use koppel::error::closest;

use crate::{Error, Result};

/// Reads the text of a system file. What is plainly of another kind is told as such.
pub(super) fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    if let Some((what, hint)) = other_kind(path, &bytes) {
        return Err(Box::new(Error::OtherKind { path: path.into(), what, hint }));
    }
    String::from_utf8(bytes).map_err(|_| {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
        Error::io("read", path)(source)
    })
}

/// Refuses a file that is called a system structure and is plainly something else.
pub(super) fn check_structure(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("ssd")) {
        return Ok(());
    }
    // One that cannot be read is told by its reader.
    let bytes = std::fs::read(path).unwrap_or_else(|_| b"<".to_vec());
    if bytes.trim_ascii().is_empty() {
        let message = format!("the system structure `{}` is empty", path.display());
        return Err(Box::new(Error::Structure { message, hints: Vec::new() }));
    }
    match xml_root(&bytes) {
        Some(root) if root.starts_with("Osp") || root == "fmiModelDescription" => {
            let (what, hint) = xml_kind(&root);
            Err(Box::new(Error::OtherKind { path: path.into(), what, hint }))
        }
        _ => Ok(()),
    }
}

/// What a file is, and what can be done with it.
fn other_kind(path: &Path, bytes: &[u8]) -> Option<(&'static str, String)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends_in = |ending: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(if ends_in("fmu") {
            let hint = format!(
                "name it in a system file, fmu = \"{name}\" below [subsystems.NAME]; `koppel fmu info` shows what it has"
            );
            ("an FMU", hint)
        } else {
            ("a zip archive", "the name of a system structure ends in `.ssp`".into())
        });
    }
    if let Some(root) = xml_root(bytes) {
        return Some(xml_kind(&root));
    }
    if bytes.starts_with(b"koppel checkpoint ") {
        return Some(("a checkpoint", "go on from it with `koppel resume`".into()));
    }
    if bytes.starts_with(b"PAR1") || ends_in("csv") && bytes.starts_with(b"time") {
        return Some(("a result file", "name the system file it was made with".into()));
    }
    None
}

/// What an XML file is, by its outermost element.
fn xml_kind(root: &str) -> (&'static str, String) {
    match root {
        "OspSystemStructure" => (
            "an OSP system structure, which koppel does not read yet",
            "write a system file: its simulators as [subsystems.NAME] with fmu = \"FILE.fmu\", its connections as [[connections]]".into(),
        ),
        "OspModelDescription" => {
            ("an OSP model description", "it belongs to an FMU; name that FMU in a system file".into())
        }
        "SystemStructureDescription" => {
            ("a system structure", "the name of one that is not packed ends in `.ssd`".into())
        }
        "fmiModelDescription" => {
            ("the description of an FMU", "name the whole FMU in a system file, fmu = \"FILE.fmu\"".into())
        }
        _ => ("an XML file", "a system file is TOML; `koppel new` writes one to start from".into()),
    }
}

/// The local name of the outermost element, if the file is XML.
fn xml_root(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(inner) = rest.strip_prefix('<') {
        if inner.starts_with(['?', '!']) {
            let end = if inner.starts_with("!--") { "-->" } else { ">" };
            rest = inner.split_once(end)?.1.trim_start();
            continue;
        }
        let name = inner.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next()?;
        return Some(name.rsplit(':').next().unwrap_or(name).to_owned());
    }
    None
}

/// What to do about a file that a system file names and that is not there.
pub(super) fn missing(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(list) = std::fs::read_dir(folder) else {
        return Some(format!(
            "files are looked for from the folder of the system file; there is no `{}`",
            folder.display()
        ));
    };
    let kind = path.extension();
    let others: Vec<PathBuf> =
        list.flatten().map(|entry| entry.path()).filter(|other| other.extension() == kind).collect();
    let names = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known: Vec<String> = others.iter().map(|other| names(other)).collect();
    Some(match closest(&names(path), &known) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!(
            "files are looked for from the folder of the system file; it is not in `{}`",
            folder.display()
        ),
    })
}

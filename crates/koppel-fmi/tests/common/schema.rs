//! Documents against the schemas of FMI and SSP, by `validate.py`.

use super::prepared::prepared;
use std::path::Path;
use std::process::Command;

/// Fails unless a document follows its schema: `modelDescription.xml`, `terminalsAndIcons.xml`, `.ssd` or `.ssv` as its content says.
pub(crate) fn validate(document: &Path) {
    let Some(python) = prepared("venv/bin/python") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../koppel-fmi/tests/validate.py");
    let output = Command::new(python).arg(script).arg(document).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

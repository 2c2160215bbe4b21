//! Errors are values: hints are drawn in one place, and nobody takes the text of a message apart.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

/// The one drawer of messages.
const DRAWER: &str = "koppel/src/diagnostic/draw.rs";

/// What takes texts of errors apart.
const FORBIDDEN: [&str; 10] = [
    "hint: \"",
    "\\n  hint",
    "to_string().lines()",
    "to_string().split",
    "to_string().strip_",
    "to_string().replace",
    "message.split",
    "message.strip_",
    "message.starts_with",
    "message.contains",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file before its tests, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(index, line)| (index + 1, line))
}

#[test]
fn no_text_is_taken_apart() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.exists() {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 300, "only {} files were found", files.len());
    let is_test =
        |path: &Path| path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
    let mut found = Vec::new();
    for path in files.iter().filter(|path| !path.ends_with(DRAWER) && !is_test(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        for (number, line) in code(&text) {
            let words = FORBIDDEN.iter().filter(|words| line.contains(**words));
            found.extend(words.map(|words| format!("{}:{number}: `{words}`", path.display())));
        }
    }
    assert!(
        found.is_empty(),
        "use the parts of the error (koppel::diagnostic::Diagnostic) instead:\n{}",
        found.join("\n")
    );
}

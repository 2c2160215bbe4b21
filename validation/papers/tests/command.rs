//! The command: the quick form of one paper, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Output};

fn papers(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_koppel-papers")).args(arguments).current_dir(folder).output().unwrap()
}

fn assert_contains(text: &[u8], parts: &[&str]) {
    let text = String::from_utf8_lossy(text);
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn one_paper_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let output = papers(folder.path(), &["glumac", "--quick", "--out", "again"]);
    assert!(output.status.success());
    assert_contains(
        &output.stdout,
        &["Glumac & Kovacic 2018", "exhibits 9", "reduced  Figure 3", "again: index.html"],
    );
    for file in
        ["index.html", "summary.json", "summary.md", "glumac/index.html", "glumac/figure-6-frontier.csv"]
    {
        assert!(folder.path().join("again").join(file).is_file(), "{file}");
    }
    // The same folder may be used again.
    let output = papers(folder.path(), &["glumac", "--quick", "--out", "again", "--json"]);
    assert!(output.status.success());
    assert_contains(&output.stdout, &["\"made_by\": \"koppel-papers\"", "\"paper\": \"glumac\""]);
}

#[test]
fn unknown_papers_and_folders_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let output = papers(folder.path(), &["glumak"]);
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&output.stderr, &["glumak", "glumac", "kuebler"]);
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/notes.txt"), "mine").unwrap();
    let output = papers(folder.path(), &["glumac", "--quick", "--out", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&output.stderr, &["mine", "was not written by", "--out"]);
    std::fs::write(folder.path().join("file"), "a file").unwrap();
    let output = papers(folder.path(), &["glumac", "--quick", "--out", "file/below"]);
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&output.stderr, &["cannot create", "file"]);
}

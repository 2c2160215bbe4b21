//! Every command has what `CONTRIBUTING.md` asks for.

use super::*;
use clap::CommandFactory as _;
use std::path::Path;

/// Visible commands by their words, such as `fmu info`, with the text after their help.
fn visible(command: &clap::Command, above: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let words = format!("{above}{}", inner.get_name());
        let deeper = visible(inner, &format!("{words} "));
        let after = inner.get_after_help().map(ToString::to_string).unwrap_or_default();
        found.push((words, after));
        found.extend(deeper);
    }
    found
}

#[test]
fn every_command_has_examples_a_snapshot_of_its_help_and_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/command-line.md")).expect("the page exists");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `koppel ")).collect();
    let commands = visible(&Arguments::command(), "");
    let examples: Vec<&str> = commands.iter().map(|(_, after)| after.as_str()).collect();
    let examples = examples.join("\n");
    for (words, _) in &commands {
        let snapshot = format!("tests/snapshots/help-{}.txt", words.replace(' ', "-"));
        assert!(root.join(&snapshot).exists(), "`koppel {words} --help` is not in tests/snapshots.rs");
        let (first, last) = words.split_once(' ').unwrap_or((words, ""));
        let is_row = |row: &&str| row.starts_with(&format!("| `koppel {first}")) && row.contains(last);
        assert!(rows.iter().any(is_row), "docs/command-line.md has no row for `koppel {words}`");
        let is_shown = words == "exit-codes" || examples.contains(&format!("  koppel {words}"));
        assert!(is_shown, "no help has an example of `koppel {words}`");
    }
}

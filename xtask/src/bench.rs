//! `cargo xtask bench`: the engine's cost, as a ratio within one run.

use crate::command::{Result, cargo, output, replace_block};

pub(crate) fn run() -> Result<()> {
    let table = output(&mut cargo(&["bench", "--package", "koppel", "--bench", "engine"]))?;
    eprintln!("{table}");
    replace_block("bench/README.md", "engine", &format!("\n{}", table.trim()))
}

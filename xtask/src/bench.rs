//! `cargo xtask bench`: what koppel costs, as ratios within one run.

use crate::command::{Result, cargo, output, replace_block};

/// Package and benchmark, whose block in the file has the same name.
const BENCHES: [(&str, &str); 5] = [
    ("koppel", "engine"),
    ("koppel", "prestep"),
    ("koppel", "vfps"),
    ("koppel-fmi", "overhead"),
    ("koppel-fmi", "isolation"),
];

pub(crate) fn run() -> Result<()> {
    for (package, bench) in BENCHES {
        let table = output(&mut cargo(&["bench", "--package", package, "--bench", bench]))?;
        eprintln!("{table}");
        replace_block("bench/README.md", bench, &format!("\n{}", table.trim()))?;
    }
    Ok(())
}

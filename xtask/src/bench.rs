//! `cargo xtask bench`: what koppel costs, as ratios within one run.

use crate::command::{Result, cargo, check_names, output, replace_block};

/// Package and benchmark, whose block in the file has the same name.
const BENCHES: [(&str, &str); 8] = [
    ("koppel", "engine"),
    ("koppel", "equations"),
    ("koppel", "certificate"),
    ("koppel", "prestep"),
    ("koppel", "vfps"),
    ("koppel-fmi", "certified"),
    ("koppel-fmi", "overhead"),
    ("koppel-fmi", "isolation"),
];

/// Runs those that are named, or all.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    check_names(names, &BENCHES.map(|(_, bench)| bench))?;
    for (package, bench) in BENCHES.iter().filter(|(_, bench)| names.is_empty() || names.contains(bench)) {
        let table = output(&mut cargo(&["bench", "--package", package, "--bench", bench]))?;
        eprintln!("{table}");
        replace_block("bench/README.md", bench, &format!("\n{}", table.trim()))?;
    }
    Ok(())
}

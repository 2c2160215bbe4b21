//! `koppel ssp`.

use std::path::Path;

use koppel_ssp::{Options, Severity, Tolerance, check_with};

use crate::arguments::SspCommand;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print;

/// Does what was asked of a system structure.
pub(super) fn ssp(command: &SspCommand) -> Result<Exit> {
    match command {
        SspCommand::Check { file, tolerant } => check(file, *tolerant),
    }
}

/// Lists everything the standard has against a file.
fn check(file: &Path, tolerant: bool) -> Result<Exit> {
    let tolerance = if tolerant { Tolerance::Tolerant } else { Tolerance::Strict };
    let findings = check_with(file, &Options { tolerance, ..Options::default() });
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    for finding in &findings {
        print(&format!("{finding}\n"))?;
    }
    if errors > 0 {
        let what = if errors == 1 { "finding is an error" } else { "findings are errors" };
        return Err(Failure::words(
            format!("`{}` is not as the standard wants it: {errors} {what}", file.display()),
            "`--tolerant` forgives what can be forgiven",
        ));
    }
    print(&format!("`{}` is as the standard wants it\n", file.display()))?;
    Ok(Exit::Ok)
}

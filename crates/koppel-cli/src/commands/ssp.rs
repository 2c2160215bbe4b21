//! `koppel ssp`.

use koppel::diagnostic::Diagnosis;
use std::path::Path;

use koppel_io::system_file;
use koppel_session::Session;
use koppel_ssp::model::Version;
use koppel_ssp::{Finding, Options, Rule, Severity, Ssp, Tolerance, check_with};

use super::ssp_models::as_fmus;
use crate::arguments::SspCommand;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note};
use crate::output::{print, quoted, refuse_existing};

/// Does what was asked of a system structure.
pub(super) fn ssp(command: &SspCommand) -> Result<Exit> {
    match command {
        SspCommand::Check { file, tolerant } => check(file, *tolerant),
        SspCommand::Export { file, out, ssp, force } => {
            let version = if ssp == "1" { Version::One } else { Version::Two };
            export(file, out, version, *force)
        }
    }
}

/// Lists everything the standard has against a file.
fn check(file: &Path, tolerant: bool) -> Result<Exit> {
    let tolerance = if tolerant { Tolerance::Tolerant } else { Tolerance::Strict };
    let options = Options { tolerance, ..Options::default() };
    let mut findings = check_with(file, &options);
    // Where something is missing there is nothing to compare with.
    if !findings.iter().any(|f| f.severity == Severity::Error || f.rule == Rule::Runnable) {
        findings.extend(fmu_findings(file, &options));
    }
    let (mut errors, mut forgivable) = (0, 0);
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
        errors += 1;
        forgivable += usize::from(finding.is_forgivable);
    }
    for finding in &findings {
        print(&format!("{finding}\n"))?;
    }
    if errors > 0 {
        let what = if errors == 1 { "finding is an error" } else { "findings are errors" };
        let message = format!("`{}` violates the standard: {errors} {what}", file.display());
        let hint = (forgivable > 0).then(|| match forgivable {
            1 if errors == 1 => "`--tolerant` accepts it".to_owned(),
            all if all == errors => "`--tolerant` accepts them".to_owned(),
            some => format!("`--tolerant` accepts {some} of them"),
        });
        return Err(Failure::Words(Box::new(Diagnosis::words(message, hint))));
    }
    let forgiven = findings.iter().filter(|finding| finding.severity == Severity::Forgiven).count();
    let except = match forgiven {
        0 => String::new(),
        count => format!(", except for tolerated violations ({count})"),
    };
    print(&format!("`{}` conforms to the standard{except}\n", file.display()))?;
    Ok(Exit::Ok)
}

/// What the FMUs have against the structure.
fn fmu_findings(file: &Path, options: &Options) -> Vec<Finding> {
    let Ok(ssp) = Ssp::open(file, options) else { return Vec::new() };
    match ssp.components() {
        Ok(components) => components.findings,
        Err(error) => {
            let known = ssp.findings();
            error.findings().iter().filter(|finding| !known.contains(finding)).cloned().collect()
        }
    }
}

/// Writes a system file as a package; models of koppel itself become FMUs.
fn export(file: &Path, out: &Path, version: Version, force: bool) -> Result<Exit> {
    if !out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ssp")) {
        let message = format!("`{}` is not a package name", out.display());
        return Err(Failure::words(message, "end it in `.ssp`"));
    }
    refuse_existing(out, force)?;
    let system = Session::load(file, &[])?.spec;
    let (system, folder) = as_fmus(system, file)?;
    let exported = system_file::export(&system, out, version)?;
    drop(folder);
    exported.notes.iter().for_each(|text| note("note", text));
    print(&format!(
        "wrote {}: SSP {}, {} components, {} FMUs\nrun it with: koppel run {}\n",
        out.display(),
        version.text(),
        exported.components,
        exported.fmus,
        quoted(out)
    ))?;
    Ok(Exit::Ok)
}

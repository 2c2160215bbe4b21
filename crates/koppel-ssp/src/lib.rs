//! System Structure and Parameterization (SSP) 1.0 and 2.0: read, check, flatten, write.
//!
//! ```no_run
//! let ssp = koppel_ssp::Ssp::open("car.ssp".as_ref(), &koppel_ssp::Options::default())?;
//! let flat = ssp.flatten()?;
//! for component in &flat.components {
//!     println!("{}", component.name);
//! }
//! # Ok::<(), koppel_ssp::Error>(())
//! ```
//!
//! No FMU is loaded here: a component's source is a place in the package ([`ResourceRef`]).

mod archive;
mod components;
mod error;
mod finding;
mod flatten;
mod load;
pub mod model;
mod package;
mod parse;
mod settings;
mod write;

pub use components::Components;
pub use error::{Error, Result};
pub use finding::{Documents, Finding, Origin, Position, Rule, Severity, Tolerance};
pub use flatten::{
    Carries, FlatComponent, FlatConnection, FlatConnector, FlatParameter, FlatSystem, Mapping, Port,
    ResourceRef, UnitLookup,
};
pub use settings::{ANNOTATION as SETTINGS_ANNOTATION, NAMESPACE as SETTINGS_NAMESPACE};
pub use write::{
    ComponentDescription, PackageFile, Payload, SystemDescription, write_parameters, write_ssp,
    write_structure,
};

use finding::Report;
use koppel::unit::Unit;
use load::Loader;
use model::{Location, ParameterMapping, ParameterSet, SignalDictionary, SystemStructure};
use package::Package;
use std::path::{Path, PathBuf};

/// How a package is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Strict unless told otherwise.
    pub tolerance: Tolerance,
    /// Another `.ssd` of the archive than SystemStructure.ssd.
    pub variant: Option<String>,
}

/// A package that was read and found sound, or tolerable.
#[derive(Debug)]
pub struct Ssp {
    package: Package,
    structure: SystemStructure,
    findings: Vec<Finding>,
    documents: Documents,
    tolerance: Tolerance,
}

impl Ssp {
    /// Reads an `.ssp` archive, or an `.ssd` with its files around it.
    pub fn open(path: &Path, options: &Options) -> Result<Ssp> {
        let (package, main) = Package::open(path)?;
        Ssp::load(package, &main, options)
    }

    /// Reads an archive in memory; `name` is for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, options: &Options) -> Result<Ssp> {
        let package = Package::from_bytes(name, bytes)?;
        Ssp::load(package, "SystemStructure.ssd", options)
    }

    fn load(package: Package, main: &str, options: &Options) -> Result<Ssp> {
        let main = options.variant.as_deref().unwrap_or(main);
        let (structure, Report { findings, documents, .. }) = inspect(&package, main, options.tolerance);
        let failed = findings.iter().any(|f| f.severity == Severity::Error);
        match structure {
            Some(structure) if !failed => {
                Ok(Ssp { package, structure, findings, documents, tolerance: options.tolerance })
            }
            _ => Err(Error::Invalid { findings, documents }),
        }
    }

    /// The structure with everything it refers to in its place.
    pub fn structure(&self) -> &SystemStructure {
        &self.structure
    }

    /// What was forgiven, and warnings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The texts of the structure and of everything it refers to.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The `.ssd` files at the top of an archive.
    pub fn variants(&self) -> Vec<String> {
        self.package.variants()
    }

    /// koppel's own settings, a TOML text, if the structure carries them.
    pub fn settings(&self) -> Option<String> {
        settings::find(&self.structure)
    }

    /// Components and what connects them.
    pub fn flatten(&self) -> Result<FlatSystem> {
        self.flatten_with(&|_, _| None)
    }

    /// The same; `units` gives the unit of a component's variable (from its FMU) where the structure gives none.
    pub fn flatten_with(&self, units: &dyn Fn(&str, &str) -> Option<Unit>) -> Result<FlatSystem> {
        let mut report = Report::new(self.tolerance);
        let flat = flatten::flatten(&self.structure, units, &mut report);
        self.sound(report).map(|_| flat)
    }

    /// The findings that are news, if none of them is an error.
    fn sound(&self, report: Report) -> Result<Vec<Finding>> {
        if report.has_errors() {
            return Err(Error::Invalid { findings: report.findings, documents: self.documents.clone() });
        }
        Ok(report.findings.into_iter().filter(|finding| !self.findings.contains(finding)).collect())
    }

    /// Bytes of a file in the package, such as an FMU.
    pub fn read(&self, location: &Location) -> Result<Vec<u8>> {
        self.package.resource(location)
    }

    /// Where a file is seen from the folder of the package: `vehicle.ssp!resources/engine.fmu`.
    pub fn address(&self, location: &Location) -> String {
        self.package.address(location)
    }

    /// Path of a file on disk; none if it is inside an archive.
    pub fn path(&self, location: &Location) -> Option<PathBuf> {
        self.package.path(location)
    }
}

/// Checks a package with all its variants, or an `.ssd` with its files; strictly, all findings.
pub fn check(path: &Path) -> Vec<Finding> {
    check_with(path, &Options::default())
}

/// Checks as [`check`] does, with other limits or tolerance.
pub fn check_with(path: &Path, options: &Options) -> Vec<Finding> {
    let (package, main) = match Package::open(path) {
        Ok(opened) => opened,
        Err(error) => return vec![whole_file(path, &error)],
    };
    let mut documents = vec![options.variant.clone().unwrap_or(main)];
    if options.variant.is_none() {
        documents.extend(package.variants().into_iter().filter(|v| *v != documents[0]).collect::<Vec<_>>());
    }
    let mut findings = Vec::new();
    for document in documents {
        for finding in inspect(&package, &document, options.tolerance).1.findings {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

fn whole_file(path: &Path, error: &Error) -> Finding {
    let (rule, message) = match error {
        Error::Archive { problem, .. } => (Rule::Archive, problem.clone()),
        Error::Io { source, .. } => (Rule::File, source.to_string()),
        other => (Rule::File, other.to_string()),
    };
    let file = path.display().to_string();
    Finding {
        file,
        line: 0,
        column: 0,
        element: String::new(),
        rule,
        message,
        severity: Severity::Error,
        is_forgivable: false,
    }
}

fn inspect(package: &Package, main: &str, tolerance: Tolerance) -> (Option<SystemStructure>, Report) {
    let mut report = Report::new(tolerance);
    let location = Location { archives: Vec::new(), path: main.to_owned() };
    let structure = Loader::new(package, &mut report).structure(&location);
    if let Some(structure) = &structure {
        flatten::flatten(structure, &|_, _| None, &mut report);
    }
    koppel::sort::sort_by(&mut report.findings, |a, b| {
        (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column))
    });
    (structure, report)
}

/// A document read on its own, with all findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    /// The content, as far as it could be read.
    pub content: Option<T>,
    /// What was found.
    pub findings: Vec<Finding>,
}

fn read<T>(tolerance: Tolerance, parse: impl FnOnce(&mut Report) -> Option<T>) -> Read<T> {
    let mut report = Report::new(tolerance);
    let content = parse(&mut report);
    Read { content, findings: report.findings }
}

/// Reads a structure (SSD) alone, without the files it refers to. `file` is for messages.
pub fn read_structure(bytes: &[u8], file: &str, tolerance: Tolerance) -> Read<SystemStructure> {
    read(tolerance, |report| parse::parse_structure(bytes, file, report))
}

/// Reads a parameter set (SSV).
pub fn read_parameters(bytes: &[u8], file: &str, tolerance: Tolerance) -> Read<ParameterSet> {
    read(tolerance, |report| parse::parse_parameters(bytes, file, report))
}

/// Reads a parameter mapping (SSM).
pub fn read_mapping(bytes: &[u8], file: &str, tolerance: Tolerance) -> Read<ParameterMapping> {
    read(tolerance, |report| parse::parse_mapping(bytes, file, report))
}

/// Reads a signal dictionary (SSB).
pub fn read_dictionary(bytes: &[u8], file: &str, tolerance: Tolerance) -> Read<SignalDictionary> {
    read(tolerance, |report| parse::parse_dictionary(bytes, file, report))
}

/// Flattens a structure that was read alone, with all findings.
pub fn flatten_structure(structure: &SystemStructure, tolerance: Tolerance) -> Read<FlatSystem> {
    read(tolerance, |report| Some(flatten::flatten(structure, &|_, _| None, report)))
}

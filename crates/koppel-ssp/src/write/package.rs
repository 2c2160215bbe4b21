//! A flat system as an `.ssp` archive: SystemStructure.ssd, resources/parameters.ssv, and the files given.

use super::{write_parameters, write_structure};
use crate::archive::clean;
use crate::error::{Error, Result};
use crate::finding::{Report, Tolerance};
use crate::model::{
    Component, Connection, Connector, DefaultExperiment, Element, Enumeration, Implementation, Parameter,
    ParameterBinding, ParameterSet, System, SystemStructure, UnitDefinition, Version,
};
use crate::settings;
use koppel::unit::Unit;
use koppel_fmi::archive::{self, Content};
use koppel_fmi::percent;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const MAIN: &str = "SystemStructure.ssd";
/// What stands for itself in a relative address.
const PLAIN: &[u8] = b"/!$&'()*+,;=@";
const PARAMETERS: &str = "resources/parameters.ssv";

/// A system to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemDescription {
    /// Its name.
    pub name: String,
    /// In words.
    pub description: Option<String>,
    /// Version of the files.
    pub version: Version,
    /// Its components.
    pub components: Vec<ComponentDescription>,
    /// Its own connectors.
    pub connectors: Vec<Connector>,
    /// What connects them.
    pub connections: Vec<Connection>,
    /// Units that connectors and parameters refer to.
    pub units: Vec<Unit>,
    /// Enumerations that connectors and parameters refer to.
    pub enumerations: Vec<Enumeration>,
    /// Suggested start time in s.
    pub start: Option<f64>,
    /// Suggested stop time in s.
    pub stop: Option<f64>,
    /// koppel's own settings, a TOML text.
    pub settings: Option<String>,
}

/// A component to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComponentDescription {
    /// Its name.
    pub name: String,
    /// In words.
    pub description: Option<String>,
    /// Path of its FMU in the archive, such as `resources/engine.fmu`.
    pub source: Option<String>,
    /// Which part of the FMU.
    pub implementation: Implementation,
    /// Its connectors.
    pub connectors: Vec<Connector>,
    /// Its start values; they are written into a parameter set of the system.
    pub parameters: Vec<Parameter>,
}

/// A file for the archive.
#[derive(Clone, Debug)]
pub struct PackageFile {
    /// Path in the archive.
    pub path: String,
    /// Its content.
    pub payload: Payload,
}

/// Content of a file.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A file on disk.
    File(PathBuf),
}

impl SystemDescription {
    /// The structure and, if there are parameters, the parameter set it refers to.
    pub fn structure(&self) -> (SystemStructure, Option<ParameterSet>) {
        let set = self.parameter_set();
        let binding = ParameterBinding { source: Some(PARAMETERS.into()), ..ParameterBinding::default() };
        let system = System {
            name: self.name.clone(),
            description: self.description.clone(),
            connectors: self.connectors.clone(),
            bindings: set.iter().map(|_| binding.clone()).collect(),
            elements: self.components.iter().map(|c| Element::Component(c.component())).collect(),
            connections: self.connections.clone(),
            ..System::default()
        };
        let has_experiment = self.start.is_some() || self.stop.is_some();
        let experiment =
            DefaultExperiment { start: self.start, stop: self.stop, ..DefaultExperiment::default() };
        let structure = SystemStructure {
            name: self.name.clone(),
            version: self.version,
            system,
            enumerations: self.enumerations.clone(),
            units: self.units.iter().map(UnitDefinition::from).collect(),
            experiment: has_experiment.then_some(experiment),
            annotations: self.settings.iter().map(|toml| settings::annotation(toml)).collect(),
            ..SystemStructure::default()
        };
        (structure, set)
    }

    fn parameter_set(&self) -> Option<ParameterSet> {
        let named = |component: &ComponentDescription, parameter: &Parameter| Parameter {
            name: format!("{}.{}", component.name, parameter.name),
            ..parameter.clone()
        };
        let parameters: Vec<_> =
            self.components.iter().flat_map(|c| c.parameters.iter().map(|p| named(c, p))).collect();
        if parameters.is_empty() {
            return None;
        }
        let is_used = |unit: &&Unit| parameters.iter().any(|p| p.unit.as_deref() == Some(&unit.name));
        let units = self.units.iter().filter(is_used).map(UnitDefinition::from).collect();
        let names = |e: &&Enumeration| parameters.iter().any(|p| p.enumeration.as_deref() == Some(&e.name));
        let enumerations = self.enumerations.iter().filter(names).cloned().collect();
        let (name, version) = ("parameters".into(), self.version);
        Some(ParameterSet { file: PARAMETERS.into(), name, version, parameters, enumerations, units })
    }
}

impl ComponentDescription {
    fn component(&self) -> Component {
        Component {
            name: self.name.clone(),
            description: self.description.clone(),
            source: self.source.as_deref().map(|path| percent::encode(path, PLAIN)),
            implementation: self.implementation,
            connectors: self.connectors.clone(),
            ..Component::default()
        }
    }
}

/// Writes a system as an archive. What is written is checked strictly first; an old file stays until the new one is complete.
pub fn write_ssp(path: &Path, system: &SystemDescription, files: &[PackageFile]) -> Result<()> {
    let (structure, set) = system.structure();
    let mut documents = vec![(MAIN.to_owned(), write_structure(&structure)?)];
    if let Some(set) = &set {
        documents.push((PARAMETERS.to_owned(), write_parameters(set)?));
    }
    check(set, &documents)?;
    check_files(system, files, &documents)?;
    let documents = documents.iter().map(|(name, bytes)| (name.as_str(), Content::Bytes(bytes)));
    let files = files.iter().map(|file| {
        let content = match &file.payload {
            Payload::Bytes(bytes) => Content::Bytes(bytes),
            Payload::File(source) => Content::File(source),
        };
        (file.path.as_str(), content)
    });
    let written = archive::write(path, documents.chain(files));
    written.map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Reads back what is about to be written.
fn check(set: Option<ParameterSet>, documents: &[(String, Vec<u8>)]) -> Result<()> {
    let mut report = Report::new(Tolerance::Strict);
    let read = crate::parse::parse_structure(&documents[0].1, MAIN, &mut report);
    if let Some((name, bytes)) = documents.get(1) {
        crate::parse::parse_parameters(bytes, name, &mut report);
    }
    if let Some(mut read) = read {
        for binding in &mut read.system.bindings {
            binding.set.clone_from(&set);
        }
        crate::flatten::flatten(&read, &|_, _| None, &mut report);
    }
    if report.has_errors() {
        return Err(Error::Invalid { findings: report.findings, documents: report.documents });
    }
    Ok(())
}

fn check_files(
    system: &SystemDescription,
    files: &[PackageFile],
    documents: &[(String, Vec<u8>)],
) -> Result<()> {
    let mut names: HashSet<String> = documents.iter().map(|(name, _)| name.clone()).collect();
    for file in files {
        let refuse = |problem: String| Error::NotWritable { name: file.path.clone(), problem };
        let path = clean(&file.path).map_err(refuse)?;
        if path != file.path {
            return Err(refuse("is not a plain path".into()));
        }
        if !names.insert(path) {
            return Err(refuse("is in the archive already".into()));
        }
    }
    for component in &system.components {
        if let Some(source) = &component.source
            && !names.contains(source)
        {
            let problem = format!("its source `{source}` is not among the files");
            return Err(Error::NotWritable { name: component.name.clone(), problem });
        }
    }
    Ok(())
}

//! `modelDescription.xml` of FMI 2.0 and FMI 3.0, and the terminals, as one plain data model.
//!
//! Start with [`Description::read`] (from an archive) or [`Description::parse`] (from text). Errors name file, line,
//! column, element and rule. What real exporters do wrong without harm is kept as [`Description::warnings`].

mod header;
mod model;
mod problem;
mod rules;
mod structure;
mod terminals;
mod types;
mod variable;
mod variables;
mod xml;

pub use crate::xml::{MAX_XML_ATTRIBUTES, MAX_XML_NODES, MAX_XML_SIZE};
pub use model::{
    Alias, Attributes, BaseUnit, Causality, ClockAttributes, CoSimulation, DefaultExperiment, Dependency,
    DependencyKind, Description, Dimension, DisplayUnit, EnumerationItem, FmiVersion, Initial, Interface,
    IntervalVariability, Kind, LogCategory, MemberKind, ModelExchange, ModelStructure, NamingConvention,
    PowerBond, Start, Terminal, TerminalMember, TerminalStream, TypeDefinition, UnitDefinition, Unknown,
    ValueType, Variability, Variable,
};
pub use problem::{DescriptionError, Place, Problem, Warning};
pub use variables::MAX_ARRAY_ELEMENTS;
pub use xml::{MAX_WARNINGS, MAX_XML_DEPTH};

use crate::archive::Archive;
use std::io::{Read, Seek};
use xml::{Element, Warnings};

/// The file every FMU has.
pub const MODEL_DESCRIPTION: &str = "modelDescription.xml";
/// Where terminals are described: FMI 3.0, and the place some FMI 2.0 exporters use.
pub const TERMINALS: [&str; 2] = ["terminalsAndIcons/terminalsAndIcons.xml", "icons/terminalsAndIcons.xml"];
/// Where FMI 3.0 lists source files.
pub const BUILD_DESCRIPTION: &str = "sources/buildDescription.xml";

impl Description {
    /// Reads the description of an FMU without unpacking it; paths as in [`Archive::open`].
    pub fn open(path: &std::path::Path) -> crate::Result<Description> {
        Description::read(&mut Archive::open(path)?)
    }

    /// Reads the description, the terminals and the list of sources of an FMU.
    pub fn read<R: Read + Seek>(archive: &mut Archive<R>) -> crate::Result<Description> {
        let limit = MAX_XML_SIZE as u64;
        let bytes = archive.require(MODEL_DESCRIPTION, limit)?;
        let path = archive.path().to_path_buf();
        Description::from_files(&bytes, |file| archive.read(file, limit)).map_err(|error| match *error {
            crate::Error::Description(error) => error.inside(&path).into(),
            other => Box::new(other),
        })
    }

    /// The same from a folder with the files of an FMU.
    #[cfg(target_os = "linux")]
    pub(crate) fn read_folder(folder: &std::path::Path) -> crate::Result<Description> {
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read(&path).map_err(|source| Box::new(crate::Error::Unreadable { path, source }))
        };
        let optional = |file: &str| if folder.join(file).exists() { read(file).map(Some) } else { Ok(None) };
        Description::from_files(&read(MODEL_DESCRIPTION)?, optional)
    }

    fn from_files(
        bytes: &[u8],
        mut read: impl FnMut(&str) -> crate::Result<Option<Vec<u8>>>,
    ) -> crate::Result<Description> {
        let mut description = Description::parse(bytes, MODEL_DESCRIPTION)?;
        for file in TERMINALS {
            if let Some(bytes) = read(file)? {
                description.add_terminals(&bytes, file)?;
                break;
            }
        }
        if description.fmi_version == FmiVersion::Fmi3
            && let Some(bytes) = read(BUILD_DESCRIPTION)?
        {
            description.add_sources(&bytes, BUILD_DESCRIPTION)?;
        }
        Ok(description)
    }

    /// Reads the text of a `modelDescription.xml`; `file` is only for messages.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Description, DescriptionError> {
        let warnings = Warnings::default();
        let text = xml::decode(bytes, file, &warnings)?;
        let document = xml::parse(&text, file)?;
        let root = Element::root(&document, file, &warnings, "fmiModelDescription")?;
        let mut description = header::read(root)?;
        variables::read(root, &mut description)?;
        structure::read(root, &mut description)?;
        rules::check(root, &description)?;
        description.keep(warnings);
        Ok(description)
    }

    /// Reads `terminalsAndIcons.xml` of the same FMU.
    pub fn add_terminals(&mut self, bytes: &[u8], file: &str) -> Result<(), DescriptionError> {
        let warnings = Warnings::default();
        let text = xml::decode(bytes, file, &warnings)?;
        let document = xml::parse(&text, file)?;
        let root = Element::root(&document, file, &warnings, "fmiTerminalsAndIcons")?;
        self.terminals = terminals::read(root, self)?;
        self.keep(warnings);
        Ok(())
    }

    /// Reads `buildDescription.xml` of the same FMU.
    pub fn add_sources(&mut self, bytes: &[u8], file: &str) -> Result<(), DescriptionError> {
        let warnings = Warnings::default();
        let text = xml::decode(bytes, file, &warnings)?;
        let document = xml::parse(&text, file)?;
        let root = Element::root(&document, file, &warnings, "fmiBuildDescription")?;
        header::read_sources(root, self)?;
        self.keep(warnings);
        Ok(())
    }

    fn keep(&mut self, warnings: Warnings) {
        self.more_warnings += warnings.more.get();
        self.warnings.extend(warnings.list.into_inner());
    }

    /// What it declares of an interface, if it has it.
    pub fn interface(&self, kind: Kind) -> Option<&Interface> {
        match kind {
            Kind::CoSimulation => self.co_simulation.as_ref().map(|section| &section.interface),
            Kind::ModelExchange => self.model_exchange.as_ref().map(|section| &section.interface),
        }
    }

    /// Place of the variable with this name, aliases included.
    pub fn find(&self, name: &str) -> Option<usize> {
        let is_it = |v: &Variable| v.name == name || v.aliases.iter().any(|alias| alias.name == name);
        self.variables.iter().position(is_it)
    }

    /// The named type of a variable.
    pub fn type_of(&self, variable: &Variable) -> Option<&TypeDefinition> {
        let name = variable.declared_type.as_ref()?;
        self.types.iter().find(|definition| definition.name == *name)
    }

    /// How many elements a variable has with the start values of its structural parameters; 1 for a scalar.
    pub fn elements(&self, variable: &Variable) -> u64 {
        let size = |dimension: &Dimension| match dimension {
            Dimension::Fixed(size) => *size,
            Dimension::Parameter(index) => match &self.variables[*index].start {
                Some(Start::Integers(list)) => list.first().and_then(|v| u64::try_from(*v).ok()).unwrap_or(0),
                _ => 0,
            },
        };
        variable.dimensions.iter().map(size).fold(1, u64::saturating_mul)
    }
}

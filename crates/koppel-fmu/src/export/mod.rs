//! Writing FMUs.
//!
//! ```no_run
//! use koppel_fmu::export::{Export, FmiVersion, Options, library};
//! # fn main() -> koppel_fmu::Result<()> {
//! let export = Export::model("mass", &[("m".into(), 2.0)].into(), None)?;
//! let options = Options { version: FmiVersion::Fmi3, without: vec![], library: library::find(None)? };
//! export.write(&options, "mass.fmu".as_ref())
//! # }
//! ```

mod abilities;
mod description;
mod documentation;
pub mod library;
mod token;

pub use koppel_fmi::description::FmiVersion;

use crate::body::{Body, Container};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::plan::{self, Abilities, Content, ModelPlan, Plan};
use abilities::Kept;
use koppel::models;
use koppel::solver::SolverConfig;
use koppel::system::{Ode, OdeModel};
use koppel_fmi::archive as archives;
use koppel_fmi::import::Without;
use koppel_io::system_file::{self, ISOLATION_KEYS, SystemSpec};
use koppel_session::{Kind, Remark, RunOptions, Session};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the standard that a user means.
///
/// # Errors
///
/// If there is none.
pub fn version(text: &str) -> Result<FmiVersion> {
    match text {
        "2" | "2.0" => Ok(FmiVersion::Fmi2),
        "3" | "3.0" => Ok(FmiVersion::Fmi3),
        _ => Err(Error::Version { version: text.into() }.into()),
    }
}

/// What an FMU of koppel offers and can do without, as FMUs of other tools do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The FMU's state can be saved and restored.
    StateSaving,
    /// A saved state can be written as bytes.
    Serialization,
    /// Directional (and, in FMI 3.0, adjoint) derivatives.
    DirectionalDerivatives,
    /// Inputs that vary inside a step: intermediate update (FMI 3.0), input derivatives (FMI 2.0).
    IntermediateUpdate,
    /// Co-simulation.
    CoSimulation,
    /// Model exchange.
    ModelExchange,
}

impl Feature {
    /// What FMUs of most exporters do without.
    pub const OPTIONAL: [Feature; 4] = [
        Feature::StateSaving,
        Feature::Serialization,
        Feature::DirectionalDerivatives,
        Feature::IntermediateUpdate,
    ];
}

/// How an FMU is written.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of FMI.
    pub version: FmiVersion,
    /// What is left out.
    pub without: Vec<Feature>,
    /// The binary, see [`library::find`].
    pub library: PathBuf,
}

/// When an importer runs it, unless told otherwise.
#[derive(Clone, Copy, Debug)]
struct Experiment {
    start: f64,
    stop: f64,
    step: Option<f64>,
    /// Steps may have any length; not where parts of a system have rates of their own, or an FMU inside takes one length only.
    is_free: bool,
}

/// A file of the FMU.
struct File {
    name: String,
    content: Vec<u8>,
}

/// Something to be written as FMU.
pub struct Export {
    name: String,
    description: String,
    content: Content,
    interface: Interface,
    abilities: Abilities,
    experiment: Experiment,
    /// An FMU inside allows one instance per process only.
    is_single: bool,
    /// What FMUs inside declare but failed at.
    lacks: BTreeMap<String, Without>,
    /// Its system file and the FMUs in it, by their names within the resources.
    resources: Vec<File>,
    notes: Vec<String>,
}

impl Export {
    /// One built-in model; without a solver, the one it has in system files.
    ///
    /// # Errors
    ///
    /// If there is no such model or parameter, or the solver does not fit.
    pub fn model(
        name: &str,
        parameters: &BTreeMap<String, f64>,
        solver: Option<SolverConfig>,
    ) -> Result<Export> {
        let ode = models::build(name, parameters)?;
        let default = if ode.linear().is_some() { SolverConfig::Exact {} } else { SolverConfig::default() };
        let solver = solver.unwrap_or(default);
        let content = Content::Model(ModelPlan { name: name.into(), solver, parameters: parameters.clone() });
        Export::equations(name, models::description(name)?, ode, solver, content)
    }

    /// One subsystem of a system that koppel has the equations of; without a solver, its own.
    ///
    /// # Errors
    ///
    /// If there is no such subsystem, it is an FMU or has a mistake, or the solver does not fit.
    pub fn subsystem(spec: &SystemSpec, name: &str, solver: Option<SolverConfig>) -> Result<Export> {
        let known = || spec.subsystems().iter().map(|one| one.name.clone()).collect();
        if !spec.subsystems().iter().any(|one| one.name == name) {
            return Err(Error::NoSubsystem { name: name.into(), known: known() }.into());
        }
        let text = alone(spec, name, solver)?;
        let alone = system_file::parse(&text, plan::SYSTEM.as_ref())?;
        let (ode, solver) = plan::subsystem(&alone)?;
        let mut export = Export::equations(name, &spec.title, ode, solver, Content::Subsystem {})?;
        export.experiment.stop = spec.run.stop - spec.run.start;
        export.resources = vec![File { name: plan::SYSTEM.into(), content: text.into_bytes() }];
        Ok(export)
    }

    fn equations(
        name: &str,
        description: &str,
        ode: Box<dyn Ode>,
        solver: SolverConfig,
        content: Content,
    ) -> Result<Export> {
        let interface = Interface::of_model(ode.as_ref());
        // Whether the solver fits is seen here, where somebody reads it.
        OdeModel::new(ode, &solver)?;
        Ok(Export {
            name: name.into(),
            description: description.into(),
            interface,
            content,
            abilities: Abilities::ALL,
            experiment: Experiment { start: 0.0, stop: 1.0, step: None, is_free: true },
            is_single: false,
            lacks: BTreeMap::new(),
            resources: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// A whole system, with its coupling inside; `name` is that of its file.
    ///
    /// # Errors
    ///
    /// If it does not start, a loop is not zero-stable (unless that is accepted), it gives nothing, or a file it needs cannot be read.
    pub fn system(session: &Session, name: &str, accepts_unstable: bool) -> Result<Export> {
        let mut chosen = session.clone();
        let remarks = RefCell::new(Vec::new());
        let tell = |_: Kind, remark: &Remark| remarks.borrow_mut().push(remark.to_string());
        // What runs inside the FMU cannot be chosen again in every tool.
        chosen.choose(&|_| {}, &tell)?;
        let start = RunOptions { is_certified: false, accepts_unstable, ..RunOptions::default() };
        // What runs inside is judged here, where somebody reads it: as a run of the file would be.
        chosen.trial().start(start, &tell)?;
        let spec = &chosen.spec;
        let mut container = Container::apart(chosen.clone())?;
        let inputs = vec![crate::polynomial::Polynomial::default(); container.interface().input_count()];
        container.initialize(spec.run.start, &inputs)?;
        let Kept { abilities, is_free, is_single, lacks, mut notes } = Kept::of(&mut container, &chosen)?;
        notes.extend(remarks.into_inner());
        if spec.run.stop_when.is_some() {
            notes.push("`stop_when` is left out: an FMU runs as long as its importer wants".into());
        }
        if spec.run.record.patterns().iter().any(|pattern| pattern.starts_with("loops")) {
            notes.push("recorded columns of loops are not exported".into());
        }
        let title = if spec.title.is_empty() { name } else { &spec.title };
        Ok(Export {
            name: name.into(),
            description: title.into(),
            interface: container.interface().clone(),
            content: Content::System {},
            abilities,
            experiment: Experiment {
                start: spec.run.start,
                stop: spec.run.stop,
                step: Some(spec.run.step),
                is_free,
            },
            is_single,
            lacks,
            resources: resources(spec)?,
            notes,
        })
    }

    /// What the user should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// True if importers may solve the equations themselves: not those of a system, nor of a model in which a program samples.
    pub fn has_model_exchange(&self) -> bool {
        !matches!(self.content, Content::System {}) && !self.interface.states.is_empty()
    }

    /// Which kinds of FMU it is: co-simulation and model exchange.
    ///
    /// # Errors
    ///
    /// If nothing is left.
    pub fn kinds(&self, options: &Options) -> Result<[bool; 2]> {
        let has = |feature| !options.without.contains(&feature);
        let kinds = [has(Feature::CoSimulation), self.has_model_exchange() && has(Feature::ModelExchange)];
        let has_states = self.has_model_exchange();
        if kinds == [false, false] { Err(Error::Nothing { has_states }.into()) } else { Ok(kinds) }
    }

    /// What it offers beyond the bare minimum.
    fn offered(&self, without: &[Feature]) -> Abilities {
        let has = |feature| !without.contains(&feature);
        let Abilities { state, serialize, derivatives, moving_inputs } = self.abilities;
        let state = state && has(Feature::StateSaving);
        Abilities {
            state,
            serialize: serialize && state && has(Feature::Serialization),
            derivatives: derivatives && has(Feature::DirectionalDerivatives),
            moving_inputs: moving_inputs && has(Feature::IntermediateUpdate),
        }
    }

    /// How many inputs, outputs and parameters it has.
    pub fn counts(&self) -> [usize; 3] {
        use crate::interface::Role;
        let count = |is_wanted: fn(Role) -> bool| self.interface.places(is_wanted).len();
        [
            count(|role| matches!(role, Role::Input(_))),
            count(|role| matches!(role, Role::Output(_))),
            count(|role| matches!(role, Role::Parameter(_))),
        ]
    }

    /// Writes the FMU; the same export gives the same bytes.
    ///
    /// # Errors
    ///
    /// If the name does not end in `.fmu`, the binary cannot be read or the file cannot be written.
    pub fn write(&self, options: &Options, path: &Path) -> Result<()> {
        if path.extension().is_none_or(|extension| extension != "fmu") {
            return Err(Error::Name { path: path.into() }.into());
        }
        let library = std::fs::read(&options.library).map_err(Error::io("read", &options.library))?;
        let abilities = self.offered(&options.without);
        let identifier = identifier(&self.name);
        let shape = Shape { version: options.version, kinds: self.kinds(options)?, abilities };
        let describe = |token: &str| description::text(self, &shape, &identifier, token);
        let mut plan = Plan {
            token: String::new(),
            abilities,
            content: self.content.clone(),
            lacks: self.lacks.clone(),
        };
        let parts = [describe(""), plan_text(&plan)];
        let parts = parts.iter().map(String::as_bytes).chain(self.resources.iter().map(|f| &f.content[..]));
        plan.token = token::of(parts);
        let mut files = vec![
            File { name: "modelDescription.xml".into(), content: describe(&plan.token).into_bytes() },
            File { name: library::place(options.version, &identifier), content: library },
            File { name: "documentation/index.html".into(), content: documentation::page(self).into_bytes() },
            File {
                name: "documentation/licenses/license.txt".into(),
                content: documentation::LICENSE.into(),
            },
            File { name: format!("resources/{}", plan::FILE), content: plan_text(&plan).into_bytes() },
        ];
        for file in &self.resources {
            files.push(File { name: format!("resources/{}", file.name), content: file.content.clone() });
        }
        let failed = |reason: String| Box::new(Error::Write { path: path.into(), reason });
        if path.is_dir() {
            return Err(failed("it is a folder".into()));
        }
        let files = files.iter().map(|file| (file.name.as_str(), archives::Content::Bytes(&file.content)));
        archives::write(path, files).map_err(|error| failed(error.to_string()))
    }
}

/// What kind of FMU is written.
struct Shape {
    version: FmiVersion,
    /// Co-simulation and model exchange.
    kinds: [bool; 2],
    abilities: Abilities,
}

/// A system file with one subsystem of another and nothing else.
fn alone(spec: &SystemSpec, name: &str, solver: Option<SolverConfig>) -> Result<String> {
    let failed = |reason: String| Error::Plan { path: plan::SYSTEM.into(), reason };
    let mut table: toml::Table =
        toml::from_str(&spec.to_toml()).map_err(|error| failed(error.to_string()))?;
    let own = table.get_mut("subsystems").and_then(|all| all.as_table_mut()?.remove(name));
    let mut own = own.ok_or_else(|| failed(format!("there is no `{name}`")))?;
    if let (Some(solver), Some(own)) = (solver, own.as_table_mut()) {
        own.insert(
            "solver".into(),
            toml::Value::try_from(solver).map_err(|error| failed(error.to_string()))?,
        );
    }
    let run = toml::Table::from_iter([("stop".to_owned(), 1.0.into()), ("step".to_owned(), 1.0.into())]);
    let subsystems = toml::Table::from_iter([(name.to_owned(), own)]);
    let whole =
        toml::Table::from_iter([("run".to_owned(), run.into()), ("subsystems".into(), subsystems.into())]);
    Ok(toml::to_string(&whole).map_err(|error| failed(error.to_string()))?)
}

/// A text with blanks for line breaks and all that XML cannot hold.
fn plain(text: &str) -> String {
    let is_odd = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_odd, " ")
}

fn plan_text(plan: &Plan) -> String {
    toml::to_string(plan).unwrap_or_default()
}

/// A name that C accepts.
fn identifier(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(fits).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("m_{name}") }
}

/// An FMU file, which may lie in a package.
fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let (file, mut entries) = archives::split(path);
    let Some(last) = entries.pop() else { return std::fs::read(path).map_err(Error::io("copy", path)) };
    let outer = entries.iter().fold(file.display().to_string(), |outer, entry| format!("{outer}!{entry}"));
    let found = archives::Archive::open(Path::new(&outer))?.read(&last, archives::MAX_INNER_SIZE)?;
    found.ok_or_else(|| Error::misuse(format!("`{outer}` has no `{last}`")))
}

/// The system file with all settings written out, and the FMUs it names beside it.
fn resources(file: &SystemSpec) -> Result<Vec<File>> {
    let failed = |reason: String| Error::Plan { path: plan::SYSTEM.into(), reason };
    let mut table: toml::Table =
        toml::from_str(&file.to_toml()).map_err(|error| failed(error.to_string()))?;
    let mut files: Vec<File> = Vec::new();
    let mut copied: Vec<(PathBuf, String)> = Vec::new();
    for (subsystem, path) in file.fmus() {
        let name = match copied.iter().find(|(other, _)| *other == path) {
            Some((_, name)) => name.clone(),
            None => {
                let name = format!("fmus/{}-{}.fmu", copied.len() + 1, identifier(&subsystem));
                let content = bytes_of(&path)?;
                files.push(File { name: name.clone(), content });
                copied.push((path, name.clone()));
                name
            }
        };
        let entry = table.get_mut("subsystems").and_then(|all| all.get_mut(&subsystem));
        if let Some(entry) = entry.and_then(toml::Value::as_table_mut) {
            entry.insert("fmu".into(), toml::Value::String(name));
            // Inside an FMU there is no program of koppel that could be a process of its own.
            ISOLATION_KEYS.iter().for_each(|key| drop(entry.remove(*key)));
        }
    }
    if let Some(run) = table.get_mut("run").and_then(toml::Value::as_table_mut) {
        run.remove("stop_when");
        ISOLATION_KEYS.iter().for_each(|key| drop(run.remove(*key)));
    }
    let text = toml::to_string(&table).map_err(|error| failed(error.to_string()))?;
    files.insert(0, File { name: plan::SYSTEM.into(), content: text.into_bytes() });
    Ok(files)
}

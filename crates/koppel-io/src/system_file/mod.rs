//! System files: subsystems, connections and the run, in TOML.
//!
//! ```text
//! text -> tree (every key and value with its place) -> settings -> system
//!          ^ options of the command line are put into the tree
//! ```
//!
//! Every mistake becomes one [`Mistake`]: the file, the place, what is wrong, and what is known instead. Errors of the
//! engine are led back to the text that caused them (`locate.rs`). Those of parts that do not depend on each other (`[run]`, each
//! subsystem, each connection, each input) are collected and told in one go.
//!
//! | file           | what                                                       |
//! | -------------- | ---------------------------------------------------------- |
//! | `mistake.rs`   | a mistake and its place                                    |
//! | `tree.rs`      | TOML as a tree with places                                 |
//! | `fields.rs`    | typed access to tables, unknown keys refused               |
//! | `decode/`      | serde settings (couplings, solvers, signals) from a node   |
//! | `run.rs`       | `[run]` and `[[at]]`                                       |
//! | `subsystem.rs` | `[subsystems.*]`                                           |
//! | `isolation.rs` | FMUs in processes of their own                             |
//! | `models.rs`    | models of subsystems from files of their own                |
//! | `wiring.rs`    | `[[connections]]` and `[[inputs]]`                         |
//! | `auto.rs`      | settings that koppel chooses                               |
//! | `overrides.rs` | settings that replace those of the file                    |
//! | `variant.rs`   | the same system with other settings, again and again       |
//! | `monolith.rs`  | the system uncut, as a reference                           |
//! | `locate.rs`    | from an error of the engine to the text that caused it     |
//! | `structure/`   | the same tree from a system structure (SSP), and back      |
//! | `apply.rs`     | chosen settings, written into the file                     |
//! | `reads.rs`     | files that the system reads                                |
//! | `resolved.rs`  | all settings as TOML again, defaults written out           |

mod apply;
mod auto;
mod black_box;
mod decode;
mod document;
mod fields;
mod isolation;
mod locate;
mod log;
mod mistake;
mod models;
mod monolith;
mod other_kinds;
mod overrides;
mod reads;
mod resolved;
mod run;
mod structure;
mod subsystem;
mod tree;
mod variant;
mod wiring;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use koppel::analysis::{FilterChoice, choose_filter};
use koppel::diagnostic::Remark;
use koppel::identify::ProbeStore;
use koppel::plan::{Choice, Steps};
use koppel::run::{Copies, Preparation, Reading, RunConfig, Simulation};
use koppel::system::{Connection, FilterConfig, System, SystemBuilder};
use koppel_fmi::import::Without;
use koppel_fmi::probe::Capability;

use crate::probe_cache::ProbeCache;
use crate::replay::Journals;
use crate::trials::Trials;
use crate::{Error, Result};
pub use auto::brief;
pub use decode::decode_tagged;
pub use document::Document;
pub use fields::Fields;
pub use log::FmuLog;
pub use mistake::{Mark, Marks, Mistake, Mistakes, Span, known_names};
pub use monolith::MONOLITH;
pub use structure::{Exported, export, is_structure, load_structure};
use subsystem::{Purpose, Wanted};
pub use tree::{Entry, Node, Value};
pub use variant::{Place, parse_part};
use wiring::{Input, Link};

/// A system file that has been read and checked.
#[derive(Clone, Debug)]
pub struct SystemFile {
    /// Title, or empty.
    pub title: String,
    /// Description, or empty.
    pub description: String,
    /// Everything about the run.
    pub run: RunConfig,
    document: Document,
    links: Vec<Link>,
    inputs: Vec<Input>,
    log: Option<FmuLog>,
    /// How FMUs are isolated that say nothing themselves.
    isolation: isolation::Settings,
    /// Where FMUs that cannot save their state log what they are given.
    journals: Option<Journals>,
    /// Where what is found by exciting FMUs is kept.
    cache: Option<Arc<ProbeCache>>,
    /// Which steps may be taken.
    steps: Steps,
    /// What koppel chose in place of `auto`.
    chosen: Option<Box<Choice>>,
    /// True if that is a coupling, not a step alone.
    has_chosen_coupling: bool,
    /// What is known of its FMUs by trial.
    trials: Arc<Trials>,
    /// True if its runs are trials: FMUs are in processes of their own.
    is_trial: bool,
    /// What FMUs are known to fail at, by subsystem.
    lacks: BTreeMap<String, Without>,
}

/// Reads a system file and builds the system once, so that its mistakes are found now.
///
/// # Errors
///
/// If the file cannot be read or holds a mistake; the error tells file, line and column.
pub fn load(path: &Path) -> Result<SystemFile> {
    load_with(path, &[])
}

/// Reads a system file, some of whose settings are replaced; what they give may be missing in the file.
///
/// # Errors
///
/// If the file cannot be read, or it or a setting holds a mistake.
pub fn load_with(path: &Path, settings: &[Setting]) -> Result<SystemFile> {
    let text = other_kinds::read(path)?;
    let mut document = Document::new(&text, path, &path.display().to_string())?;
    overrides::apply_all(&mut document, settings)?;
    SystemFile::checked(document)
}

/// A setting that replaces one of the file: `left.m`, `left.x` (start value), `left.solver.step`, `run.step`, `title`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What is set.
    pub name: String,
    /// TOML, or a bare word.
    pub value: String,
    /// Shown in messages, such as `--set`.
    pub origin: String,
}

/// Reads the text of a system file; `path` is shown in messages, and files it names are looked for beside it.
///
/// # Errors
///
/// If the text holds a mistake; the error tells file, line and column.
pub fn parse(text: &str, path: &Path) -> Result<SystemFile> {
    parse_from(&path.display().to_string(), text, path)
}

/// The same for settings that do not stand in the file at `path` but in `place`, which messages name.
///
/// # Errors
///
/// If the text holds a mistake; the error tells place, line and column.
pub fn parse_from(place: &str, text: &str, path: &Path) -> Result<SystemFile> {
    SystemFile::checked(Document::new(text, path, place)?)
}

const KEYS: [&str; 7] = ["title", "description", "run", "subsystems", "connections", "inputs", "at"];

impl SystemFile {
    fn read(mut document: Document) -> Result<Self> {
        models::include(&mut document)?;
        Self::settings(&document, None).map_err(|marks| document.mistakes(marks))
    }

    /// Reads the settings and builds the system once; mistakes of the settings and of the subsystems are told together.
    fn checked(mut document: Document) -> Result<Self> {
        models::include(&mut document)?;
        match Self::settings(&document, None) {
            Ok(file) => file.build_for(Purpose::Check).map(|_| file),
            Err(mut marks) => {
                let (_, others) = subsystem::build_all(&document, &subsystem::unread);
                marks.join(others);
                Err(document.mistakes(marks))
            }
        }
    }

    /// `inputs` that are known already are not read again: they may come from files.
    fn settings(document: &Document, inputs: Option<&[Input]>) -> std::result::Result<Self, Marks> {
        let mut marks = of_study(document)?;
        let root = document.root.fields_with("a system file", &KEYS, &mut marks)?;
        let text = |key| root.get(key).map_or(Ok(String::new()), |node| Ok(node.text(key)?.to_owned()));
        // A section whose name is misspelt is not missing, too.
        let is_sure = marks.is_empty();
        for key in ["run", "subsystems"].into_iter().filter(|_| is_sure) {
            root.need(key).map_err(|mark| mark.hint("`koppel new` writes a system file to start from"))?;
        }
        let subsystems = root.get("subsystems").map_or(Ok(&[][..]), |node| node.table("subsystems"));
        let subsystems = subsystems.map_err(|mark| mark.hint("write [subsystems.NAME], once for each"))?;
        if let (true, Some(node)) = (subsystems.is_empty(), root.get("subsystems")) {
            marks.add(
                Mark::new(node.span.clone(), "the system has no subsystems").hint(
                    "add one: [subsystems.left] with model = \"linear\" or a name from `koppel models`",
                ),
            );
        }
        for entry in subsystems {
            marks.note(subsystem::check_name(&entry.name, &entry.key, "a subsystem"));
        }
        let links = wiring::links(root.get("connections"), &mut marks);
        let inputs = match inputs {
            Some(known) => known.to_vec(),
            None => wiring::inputs(root.get("inputs"), &document.folder, &mut marks),
        };
        let (title, description) = (marks.note(text("title")), marks.note(text("description")));
        let run = root.get("run").and_then(|node| {
            let isolation = marks.note(isolation::read(node));
            let run = run::read(&root, &links).map_err(|others| marks.join(others)).ok();
            run.zip(isolation)
        });
        let Some(((mut run, steps), isolation)) = run else { return Err(marks) };
        marks.note(run::spare(&mut run.coupling, subsystems));
        marks.or(())?;
        let (title, description) = (title.unwrap_or_default(), description.unwrap_or_default());
        let document = document.clone();
        Ok(SystemFile {
            title,
            description,
            run,
            document,
            links,
            inputs,
            log: None,
            isolation,
            journals: None,
            cache: None,
            steps,
            chosen: None,
            has_chosen_coupling: false,
            trials: Arc::default(),
            is_trial: false,
            lacks: BTreeMap::new(),
        })
    }

    /// Builds the system; may be called again and again. What FMUs declare is believed.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn build(&self) -> Result<System> {
        self.build_for(Purpose::Any)
    }

    fn build_for(&self, purpose: Purpose<'_>) -> Result<System> {
        let mut builder = SystemBuilder::new();
        let setting = |index: usize, entry: &tree::Entry| subsystem::Setting {
            step: self.run.step * f64::from(self.run.every.get(&entry.name).copied().unwrap_or(1)),
            log: self.log.as_ref(),
            isolation: self.isolation,
            purpose,
            without: self.lacks.get(&entry.name),
            journal: self.journals.as_ref().map(|journals| journals.of(index, &entry.name)),
        };
        let (subsystems, marks) = subsystem::build_all(&self.document, &setting);
        marks.or(()).map_err(|marks| self.document.mistakes(marks))?;
        for (name, model) in subsystems {
            builder = builder.add_boxed(name, model);
        }
        for link in &self.links {
            let mut connection = link.connection.clone();
            if is_open(&connection) {
                // Until it is chosen, any filter tells where loops are broken.
                connection.filter = Some(FilterConfig::pt2(1.0 / self.run.step));
            }
            builder = builder.connect(connection);
        }
        for input in &self.inputs {
            for signal in &input.signals {
                builder = builder.external(&input.to, signal.clone());
            }
        }
        builder.build().map_err(|error| self.document.blame(*error, &["connections", "inputs"]))
    }

    /// Builds the system and brings it to its start.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, or no consistent start is found.
    pub fn simulation(&self) -> Result<Simulation> {
        if self.is_open() {
            let mut file = self.clone();
            file.choose_settings(&|_| {})?;
            return file.simulation();
        }
        if self.connections().any(is_open) {
            let mut file = self.clone();
            file.choose_filters()?;
            return file.start();
        }
        self.start()
    }

    fn start(&self) -> Result<Simulation> {
        let wanted = self.wanted();
        let purpose = if self.is_trial { Purpose::Trial(&wanted) } else { Purpose::Run(&wanted) };
        let system = self.build_for(purpose)?;
        let failed = RefCell::new(None);
        // Copies keep no logs of their own.
        let apart = SystemFile { journals: None, log: None, ..self.clone() };
        let copies = || apart.build_for(Purpose::Copy(&wanted)).map_err(|error| auto::engine(error, &failed));
        let copies: &Copies<'_> = &copies;
        let preparation = Preparation {
            store: self.cache.as_deref().map(|cache| cache as &dyn ProbeStore),
            copies: (!self.fmus().is_empty()).then_some(copies),
        };
        Simulation::prepared(system, &self.run, preparation).map_err(|error| match failed.take() {
            Some(error) => error,
            None => self.blame(*error),
        })
    }

    /// What its runs want of FMUs: only what the method needs, and nothing of what was not tried.
    fn wanted(&self) -> Wanted<'_> {
        let makes_trials = self.is_trial || self.run.makes_trials();
        let mut capabilities = Vec::new();
        if makes_trials || self.journals.is_some() {
            capabilities.push(Capability::RollBack);
        }
        if self.journals.is_some() {
            capabilities.push(Capability::Serialization);
        }
        if makes_trials {
            capabilities.push(Capability::DirectionalDerivatives);
        }
        // Slopes inside a step, of a coupling or of a signal.
        if self.run.coupling.gives_slopes(self.run.hold) || !self.inputs.is_empty() {
            capabilities.extend([Capability::InputDerivatives, Capability::IntermediateUpdate]);
        }
        Wanted {
            capabilities,
            is_fresh: self.run.reading == Reading::Fresh,
            spared: !makes_trials,
            trials: &self.trials,
            cache: self.cache.as_deref(),
        }
    }

    /// The same system for trials: each FMU in a process of its own, whatever the file says.
    #[must_use]
    pub fn trial(&self) -> SystemFile {
        SystemFile { is_trial: true, ..self.clone() }
    }

    /// What was found of FMUs by trial since this was asked last: functions that koppel does without.
    #[must_use]
    pub fn trial_warnings(&self) -> Vec<String> {
        self.trials.warnings()
    }

    fn blame(&self, error: koppel::Error) -> Box<Error> {
        self.document.blame(error, &["run", "at", "connections", "subsystems"])
    }

    /// Puts numbers in the place of `filter = "auto"`, and tells them.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together, no consistent start is found, or a connection is in no loop.
    pub fn choose_filters(&mut self) -> Result<Vec<FilterChoice>> {
        let open: Vec<String> = self.connections().filter(|c| is_open(c)).map(|c| c.to.clone()).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut trial = self.trial().start()?;
        // What is stable at the largest step is so at smaller ones.
        let run = self.run.with_one_step(self.run.largest_step());
        let choose = |to: &String| choose_filter(&mut trial, &run, to);
        let chosen = open.iter().map(choose).collect::<koppel::Result<Vec<_>>>();
        let chosen = chosen.map_err(|error| self.blame(*error))?;
        for link in &mut self.links {
            if let Some(choice) = chosen.iter().find(|choice| choice.to == link.connection.to) {
                link.connection.filter = Some(FilterConfig::pt2(choice.omega));
            }
        }
        Ok(chosen)
    }

    /// From now on what is built logs the inputs of those FMUs that cannot save their state, so that a checkpoint can be
    /// continued all the same.
    pub fn log_inputs(&mut self, journals: Journals) {
        self.journals = Some(journals);
    }

    /// From now on what is found by exciting FMUs before a run is kept there, and taken from there.
    pub fn keep_probes(&mut self, cache: Arc<ProbeCache>) {
        self.cache = Some(cache);
    }

    /// Files in which inputs are logged, as far as there are any.
    pub fn input_logs(&self) -> Vec<PathBuf> {
        let subsystems = self.document.root.get("subsystems").map_or(&[][..], |node| node.entries());
        let logged = subsystems.iter().enumerate().filter(|(_, entry)| subsystem::is_fmu(entry));
        let paths =
            logged.filter_map(|(index, entry)| Some(self.journals.as_ref()?.of(index, &entry.name).path()));
        paths.filter(|path| path.exists()).collect()
    }

    /// Replaces one setting, whose fit with the others is checked when the system is built: `left.m`, `left.x` (start value), `left.solver`, `run.step`; the value is TOML, or a bare word.
    /// `origin` is shown in messages, such as `--set`.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value does not fit it.
    pub fn set(&mut self, name: &str, value: &str, origin: &str) -> Result<()> {
        let mut document = self.document.clone();
        overrides::apply(&mut document, name, value, origin)?;
        let (log, journals, cache) = (self.log.take(), self.journals.take(), self.cache.take());
        let (trials, is_trial, lacks) = (self.trials.clone(), self.is_trial, self.lacks.clone());
        *self = SystemFile { log, journals, cache, trials, is_trial, lacks, ..Self::read(document)? };
        Ok(())
    }

    /// Tells where the messages of FMUs go from now on.
    pub fn log_to(&mut self, log: FmuLog) {
        self.log = Some(log);
    }

    /// All settings as TOML, defaults and tables written out: read again, it gives the same run.
    #[must_use]
    pub fn to_toml(&self) -> String {
        resolved::text(self)
    }

    /// The same without a schedule and a coupling that the file leaves open.
    #[must_use]
    pub fn to_open_toml(&self) -> String {
        toml::to_string(&resolved::open_table(self)).unwrap_or_default()
    }

    /// The same settings as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        resolved::json(self)
    }

    /// The connections as they are written.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.links.iter().map(|link| &link.connection)
    }

    /// What is allowed but hardly meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<Remark> {
        let mut warnings: Vec<Remark> = run::warnings(&self.run).into_iter().map(Remark::from).collect();
        let empty = self.inputs.iter().filter(|input| input.signals.is_empty());
        warnings.extend(
            empty.map(|input| format!("[[inputs]] for `{}`: `signal` is an empty list", input.to).into()),
        );
        let RunConfig { start, stop, .. } = self.run;
        warnings.extend(self.inputs.iter().flat_map(|input| input.gaps(start, stop)).map(Remark::from));
        let subsystems = self.document.root.get("subsystems").map_or(&[][..], |node| node.entries());
        for entry in subsystems.iter().filter(|entry| subsystem::is_fmu(entry)) {
            let idle = isolation::read(&entry.node).ok().and_then(|own| own.or(self.isolation).idle_limit());
            warnings.extend(idle.map(|key| {
                format!("`{key}` does nothing for `{}`: the FMU is not isolated (isolate = true)", entry.name)
                    .into()
            }));
        }
        let names: Vec<&str> = subsystems.iter().map(|entry| entry.name.as_str()).collect();
        warnings.extend(models::missing(&self.run.coupling, &names).into_iter().map(|name| {
            Remark::new(
                format!("no model of `{name}` in the file of learned models: it is learned from nothing while the run goes on"),
                "give it time with learning = { duration = ... }, or learn it again with --save-models",
            )
        }));
        warnings
    }

    /// What was forgiven in a system structure, and other remarks on reading it: a kind such as `forgiven`, and a text.
    #[must_use]
    pub fn notices(&self) -> &[(&'static str, String)] {
        &self.document.notices
    }

    /// What koppel chose where the file leaves it open: a name such as `step`, and what and why.
    #[must_use]
    pub fn choices(&self) -> &[(&'static str, String)] {
        &self.document.choices
    }

    /// The text of the file as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        self.document.text()
    }
}

/// Refuses a study; no mistakes of anything else.
fn of_study(document: &Document) -> std::result::Result<Marks, Mark> {
    match document.root.get("factors").or(document.root.get("measures")) {
        Some(node) => Err(Mark::new(node.span.clone(), "this is a study, not a system")
            .hint("run it with `koppel study`, or name the system file it is about")),
        None => Ok(Marks::default()),
    }
}

/// True if a filter is still to be chosen.
fn is_open(connection: &Connection) -> bool {
    matches!(connection.filter, Some(FilterConfig::Auto {}))
}

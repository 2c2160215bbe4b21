//! System files: subsystems, connections and the run, in TOML.
//!
//! ```text
//! text -> tree (every key and value with its place) -> settings
//!          ^ options of the command line are put into the tree
//! ```
//!
//! [`SystemSpec`] is plain data with its places in the text: no FMU is loaded here, and no system built. `koppel-session` does that.
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
//! | `equations.rs` | subsystems that are given by equations                     |
//! | `definitions.rs` | models for several subsystems, and koppel's blocks       |
//! | `include.rs`   | parts of a system from other files                         |
//! | `map_file.rs`  | lookup tables as CSV                                       |
//! | `fmu.rs`       | subsystems that are FMUs                                   |
//! | `confirm.rs`   | runs at other steps that confirm the error             |
//! | `isolation.rs` | FMUs in processes of their own                             |
//! | `models.rs`    | models of subsystems from files of their own                |
//! | `wiring.rs`    | `[[connections]]` and `[[inputs]]`                         |
//! | `auto.rs`      | settings that koppel chooses                               |
//! | `overrides.rs` | settings that replace those of the file                    |
//! | `variant.rs`   | the same system with other settings, again and again       |
//! | `locate.rs`    | from an error of the engine to the text that caused it     |
//! | `one_fmu.rs`   | one FMU as a system                                        |
//! | `structure/`   | the same tree from a system structure (SSP), and back      |
//! | `apply.rs`     | chosen settings, written into the file                     |
//! | `reads.rs`     | files that the system reads                                |
//! | `resolved.rs`  | all settings as TOML again, defaults written out           |

mod apply;
mod auto;
mod confirm;
mod decode;
mod definitions;
mod document;
mod equations;
mod fields;
mod fmu;
mod include;
mod isolation;
mod locate;
mod map_file;
mod mistake;
mod models;
mod one_fmu;
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

use std::path::{Path, PathBuf};

use koppel::diagnostic::Remark;
use koppel::plan::Steps;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::system::{Connection, FilterConfig, Scaling};

use crate::{Error, Result};
pub use apply::apply;
pub use auto::brief;
pub use confirm::Confirm;
pub use decode::decode_tagged;
pub use document::Document;
pub use fields::Fields;
pub use fmu::FmuSpec;
pub use isolation::{Isolating, KEYS as ISOLATION_KEYS};
pub use mistake::{Mark, Marks, Mistake, Mistakes, Span, known_names};
pub use one_fmu::{is_fmu, load_fmu};
pub use reads::files_read;
pub use structure::{Exported, export, is_structure, load_structure};
pub use subsystem::SubsystemSpec;
pub use tree::{Entry, Node, Value};
pub use variant::{Place, parse_part};
use wiring::{Input, Link};

/// A coupled system and its run as plain data, every part with its place in the text it came from.
#[derive(Clone, Debug)]
pub struct SystemSpec {
    /// Title, or empty.
    pub title: String,
    /// Description, or empty.
    pub description: String,
    /// Everything about the run.
    pub run: RunConfig,
    /// Which steps may be taken.
    pub steps: Steps,
    /// How FMUs are isolated that say nothing themselves.
    pub isolating: Isolating,
    /// Whether runs at other steps confirm its error.
    pub confirm: Confirm,
    subsystems: Vec<SubsystemSpec>,
    links: Vec<Link>,
    inputs: Vec<Input>,
    document: Document,
    /// True if step, schedule and coupling were put in the place of `auto`.
    is_settled: bool,
}

/// Reads a system file.
///
/// # Errors
///
/// If the file cannot be read or holds a mistake; the error tells file, line and column.
pub fn load(path: &Path) -> Result<SystemSpec> {
    load_with(path, &[])
}

/// Reads a system file, some of whose settings are replaced; what they give may be missing in the file.
///
/// # Errors
///
/// If the file cannot be read, or it or a setting holds a mistake.
pub fn load_with(path: &Path, settings: &[Setting]) -> Result<SystemSpec> {
    let text = other_kinds::read(path)?;
    let mut document = Document::new(&text, path, &path.display().to_string())?;
    // What can be set is in the files that equations name, too.
    equations::include(&mut document)?;
    let marks = overrides::apply_all(&mut document, settings)?;
    SystemSpec::read_with(document, marks)
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
pub fn parse(text: &str, path: &Path) -> Result<SystemSpec> {
    parse_from(&path.display().to_string(), text, path)
}

/// The same for settings that do not stand in the file at `path` but in `place`, which messages name.
///
/// # Errors
///
/// If the text holds a mistake; the error tells place, line and column.
pub fn parse_from(place: &str, text: &str, path: &Path) -> Result<SystemSpec> {
    SystemSpec::read(Document::new(text, path, place)?)
}

/// Sections that the wiring stands in.
const WIRING: [&str; 2] = ["connections", "inputs"];
/// Sections that the settings of the run are about.
const RUN: [&str; 4] = ["run", "at", "connections", "subsystems"];
const KEYS: [&str; 9] =
    ["title", "description", "run", "subsystems", "connections", "inputs", "at", "models", "include"];

impl SystemSpec {
    fn read(document: Document) -> Result<Self> {
        Self::read_with(document, Marks::default())
    }

    /// The same where mistakes are known already: they are reported together.
    fn read_with(mut document: Document, mut marks: Marks) -> Result<Self> {
        equations::include(&mut document)?;
        models::include(&mut document)?;
        match Self::settings(&document, None) {
            Ok(spec) if marks.is_empty() => Ok(spec),
            read => {
                marks.note(read);
                Err(document.mistake(marks))
            }
        }
    }

    /// `inputs` that are known already are not read again: they may come from files.
    fn settings(document: &Document, inputs: Option<&[Input]>) -> std::result::Result<Self, Marks> {
        of_study(document)?;
        let mut root = document.root.fields("a system file", &KEYS)?;
        // An empty file lacks everything: one message is enough.
        let missing = ["run", "subsystems"].into_iter().find(|key| root.get(key).is_none());
        if let Some(key) = missing {
            let needed =
                root.need(key).map_err(|marks| marks.hint("`koppel new` writes a system file to start from"));
            root.note(needed);
        }
        let entries = root.read("subsystems", |node| {
            let entries = node.table("subsystems");
            let entries = entries.map_err(|mark| mark.hint("write [subsystems.NAME], once for each"))?;
            match entries {
                [] => Err(Mark::new(node.span.clone(), "the system has no subsystems").hint(
                    "add one: [subsystems.left] with model = \"linear\" or a name from `koppel models`",
                )),
                _ => Ok(entries),
            }
        });
        let read = |entry: &Entry| root.note(SubsystemSpec::read(entry, &document.folder));
        let subsystems: Vec<SubsystemSpec> = entries.unwrap_or_default().iter().filter_map(read).collect();
        let mut marks = Marks::default();
        let links = wiring::links(root.get("connections"), &mut marks);
        let inputs = match inputs {
            Some(known) => known.to_vec(),
            None => wiring::inputs(root.get("inputs"), &document.folder, &mut marks),
        };
        let mut text = |key| root.read(key, |node| node.text(key).map(str::to_owned));
        let (title, description) = (text("title"), text("description"));
        let run = root.get("run").and_then(|node| {
            let isolating = marks.note(isolation::read(node, &document.folder));
            let confirm = marks.note(confirm::read(node));
            let run = marks.note(run::read(&root, &links));
            run.zip(isolating).zip(confirm)
        });
        root.note(marks.or(()));
        if root.has_mistakes() {
            // Nothing will be built: what is wrong with equations is found here.
            for one in subsystems.iter().filter(|one| one.fmu.is_none()) {
                root.note(one.model());
            }
        }
        let Some((((mut run, steps), isolating), confirm)) = root.or(run)? else {
            return Err(Marks::default());
        };
        run::spare(&mut run.coupling, &subsystems);
        let (title, description) = (title.unwrap_or_default(), description.unwrap_or_default());
        let document = document.clone();
        Ok(SystemSpec {
            title,
            description,
            run,
            steps,
            isolating,
            confirm,
            subsystems,
            links,
            inputs,
            document,
            is_settled: false,
        })
    }

    /// The subsystems, in the order of the file.
    #[must_use]
    pub fn subsystems(&self) -> &[SubsystemSpec] {
        &self.subsystems
    }

    /// FMUs that the system file names, with the subsystems they are.
    #[must_use]
    pub fn fmus(&self) -> Vec<(String, PathBuf)> {
        let path = |one: &SubsystemSpec| Some((one.name.clone(), one.fmu.as_ref()?.path.clone()));
        self.subsystems.iter().filter_map(path).collect()
    }

    /// External signals by the input they go to.
    pub fn signals(&self) -> impl Iterator<Item = (&str, &ExternalConfig, &Scaling)> {
        self.inputs.iter().flat_map(|input| {
            input.signals.iter().enumerate().map(|(k, signal)| (input.to.as_str(), signal, input.scaling(k)))
        })
    }

    /// Makes marks readable, all in one error.
    #[must_use]
    pub fn mistake(&self, marks: impl Into<Marks>) -> Box<Error> {
        self.document.mistake(marks)
    }

    /// Mistakes of subsystems, and errors of the engine about the wiring and about the run, at the texts that caused them.
    ///
    /// # Errors
    ///
    /// If there are any.
    pub fn refuse(&self, marks: Marks, wiring: Vec<koppel::Error>, run: Vec<koppel::Error>) -> Result<()> {
        let (mut marks, mut nowhere) = (marks, None);
        let wiring = wiring.into_iter().map(|error| (error, &WIRING[..]));
        for (error, sections) in wiring.chain(run.into_iter().map(|error| (error, &RUN[..]))) {
            match self.document.marks(&error, sections) {
                Some(found) => marks.join(found),
                None => _ = nowhere.get_or_insert(error),
            }
        }
        match nowhere {
            Some(error) if marks.is_empty() => Err(Box::new(Error::Engine(Box::new(error)))),
            _ => marks.or(()).map_err(|marks| self.mistake(marks)),
        }
    }

    /// An error of the engine, at the text that caused it.
    #[must_use]
    pub fn blame(&self, error: koppel::Error) -> Box<Error> {
        self.document.blame(error, &RUN)
    }

    /// The filter of the connection to `to` from now on.
    pub fn put_filter(&mut self, to: &str, filter: FilterConfig) {
        for link in self.links.iter_mut().filter(|link| link.connection.to == to) {
            link.connection.filter = Some(filter.clone());
        }
    }

    /// Puts settings in the place of those that were open.
    pub fn settle(&mut self, run: RunConfig) {
        self.run = run;
        self.steps = Steps::Given;
        self.is_settled = true;
    }

    /// Replaces one setting, whose fit with the others is checked when the system is built: `left.m`, `left.x` (start value), `left.solver`, `run.step`; the value is TOML, or a bare word.
    /// `origin` is shown in messages, such as `--set`.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or the value does not fit it.
    pub fn set(&mut self, name: &str, value: &str, origin: &str) -> Result<()> {
        let mut document = self.document.clone();
        overrides::apply(&mut document, name, value, origin).map_err(|marks| document.mistake(marks))?;
        *self = Self::read(document)?;
        Ok(())
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
        for (name, fmu) in self.subsystems.iter().filter_map(|one| Some((&one.name, one.fmu.as_ref()?))) {
            let idle = fmu.isolating.clone().or(self.isolating.clone()).idle_limit();
            warnings.extend(idle.map(|key| {
                format!("`{key}` does nothing for `{name}`: the FMU is not isolated (isolate = true)").into()
            }));
        }
        let names: Vec<&str> = self.subsystems.iter().map(|one| one.name.as_str()).collect();
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

/// Refuses a study.
fn of_study(document: &Document) -> std::result::Result<(), Mark> {
    match document.root.get("factors").or(document.root.get("measures")) {
        Some(node) => Err(Mark::new(node.span.clone(), "this is a study, not a system")
            .hint("run it with `koppel study`, or name the system file it is about")),
        None => Ok(()),
    }
}

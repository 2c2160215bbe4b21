//! System files: subsystems, connections and the run, in TOML.
//!
//! ```text
//! text -> tree (every key and value with its place) -> settings -> system
//!          ^ options of the command line are put into the tree
//! ```
//!
//! Every mistake becomes one [`Mistake`]: the file, the place, what is wrong, and what is known instead. Errors of the
//! engine are led back to the text that caused them (`locate.rs`).
//!
//! | file           | what                                                       |
//! | -------------- | ---------------------------------------------------------- |
//! | `mistake.rs`   | a mistake and its place                                    |
//! | `tree.rs`      | TOML as a tree with places                                 |
//! | `fields.rs`    | typed access to tables, unknown keys refused               |
//! | `decode.rs`    | serde settings (couplings, solvers, signals) from a node   |
//! | `run.rs`       | `[run]` and `[[at]]`                                       |
//! | `subsystem.rs` | `[subsystems.*]`                                           |
//! | `wiring.rs`    | `[[connections]]` and `[[inputs]]`                         |
//! | `overrides.rs` | settings that replace those of the file                    |
//! | `locate.rs`    | from an error of the engine to the text that caused it     |
//! | `resolved.rs`  | all settings as TOML again, defaults written out           |

mod decode;
mod document;
mod fields;
mod locate;
mod mistake;
mod overrides;
mod resolved;
mod run;
mod subsystem;
mod tree;
mod wiring;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use koppel::run::{RunConfig, Simulation};
use koppel::system::{Connection, System, SystemBuilder};

use crate::{Error, Result};
use document::Document;
use mistake::Mark;
pub use mistake::Mistake;
use tree::Node;
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
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let mut document = Document::new(&text, path)?;
    for Setting { name, value, origin } in settings {
        overrides::apply(&mut document, name, value, origin)?;
    }
    let file = SystemFile::read(document)?;
    file.build()?;
    Ok(file)
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
    let file = SystemFile::read(Document::new(text, path)?)?;
    file.build()?;
    Ok(file)
}

const KEYS: [&str; 7] = ["title", "description", "run", "subsystems", "connections", "inputs", "at"];

impl SystemFile {
    fn read(document: Document) -> Result<Self> {
        Self::settings(&document).map_err(|mark| document.mistake(mark))
    }

    fn settings(document: &Document) -> std::result::Result<Self, Mark> {
        let root = document.root.fields("a system file", &KEYS)?;
        let text = |key| root.get(key).map_or(Ok(String::new()), |node| Ok(node.text(key)?.to_owned()));
        let subsystems = root.need("subsystems")?.table("subsystems")?;
        if subsystems.is_empty() {
            return Err(Mark::new(root.need("subsystems")?.span.clone(), "the system has no subsystems")
                .hint("add one: [subsystems.left] with model = \"linear\" or a name from `koppel models`"));
        }
        subsystems
            .iter()
            .try_for_each(|entry| subsystem::check_name(&entry.name, &entry.key, "a subsystem"))?;
        let links = wiring::links(root.get("connections"))?;
        let inputs = wiring::inputs(root.get("inputs"), &document.folder)?;
        let run = run::read(&root, &links)?;
        let (title, description) = (text("title")?, text("description")?);
        Ok(SystemFile { title, description, run, document: document.clone(), links, inputs })
    }

    /// Builds the system; may be called again and again.
    ///
    /// # Errors
    ///
    /// If the parts do not fit together.
    pub fn build(&self) -> Result<System> {
        let mut builder = SystemBuilder::new();
        let subsystems = self.document.root.get("subsystems").map_or(&[][..], |node| node.entries());
        for entry in subsystems {
            let model =
                subsystem::build(entry, &self.document.folder).map_err(|mark| self.document.mistake(mark))?;
            builder = builder.add_boxed(&entry.name, model);
        }
        for link in &self.links {
            builder = builder.connect(link.connection.clone());
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
        let system = self.build()?;
        Simulation::new(system, &self.run)
            .map_err(|error| self.document.blame(*error, &["run", "at", "connections", "subsystems"]))
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
        *self = Self::read(document)?;
        Ok(())
    }

    /// All settings as TOML, defaults and tables written out: read again, it gives the same run.
    #[must_use]
    pub fn to_toml(&self) -> String {
        resolved::text(self)
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
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = run::warnings(&self.run);
        let empty = self.inputs.iter().filter(|input| input.signals.is_empty());
        warnings
            .extend(empty.map(|input| format!("[[inputs]] for `{}`: `signal` is an empty list", input.to)));
        warnings
    }

    /// Files with tables that the system file names.
    #[must_use]
    pub fn tables(&self) -> Vec<PathBuf> {
        let inputs = self.document.root.get("inputs").map_or(&[][..], Node::items);
        let signals = inputs.iter().filter_map(|input| input.get("signal"));
        let files = signals.flat_map(|signal| match signal.items() {
            [] => std::slice::from_ref(signal),
            list => list,
        });
        let names = files.filter_map(|signal| signal.get("file")?.text("file").ok());
        names.map(|name| self.document.folder.join(name)).collect()
    }

    /// FMUs that the system file names, with the subsystems they are.
    #[must_use]
    pub fn fmus(&self) -> Vec<(String, PathBuf)> {
        let entries = self.document.root.get("subsystems").map_or(&[][..], Node::entries);
        let file = |entry: &tree::Entry| {
            let file = entry.node.get("fmu")?.text("fmu").ok()?;
            Some((entry.name.clone(), self.document.folder.join(file)))
        };
        entries.iter().filter_map(file).collect()
    }

    /// The text of the file as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        self.document.text()
    }
}

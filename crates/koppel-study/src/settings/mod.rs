//! The study file.
//!
//! | file           | what                                     |
//! | -------------- | ---------------------------------------- |
//! | `factor.rs`    | what is varied                           |
//! | `plan.rs`      | which values are tried together          |
//! | `measure.rs`   | the measures of each run                 |
//! | `reference.rs` | what runs are compared with              |

mod factor;
mod measure;
mod plan;
mod reference;

use std::path::{Path, PathBuf};

use koppel_io::system_file::{Document, Entry, Fields, Mark, Marks, Node, Span, Value as Toml, files_read};
use koppel_io::{Error as Io, Result};
use koppel_session::Session;
use serde::{Deserialize, Serialize};

pub use factor::{Factor, Scale, Source, Value};
pub use measure::{Combine, Figure, Kind as MeasureKind, Limit, Measure, Statistic};
pub use plan::{Plan, PlanKind};
pub use reference::{Kind as ReferenceKind, Reference};

/// A study file that has been read and checked.
#[derive(Clone, Debug)]
pub struct Study {
    /// Title, or the name of the file.
    pub title: String,
    /// The file.
    pub path: PathBuf,
    /// The system with its own settings.
    pub system: Session,
    /// Runs begin even if a loop is not zero-stable.
    pub accepts_unstable: bool,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// Which values are tried together.
    pub plan: Plan,
    /// What runs are compared with.
    pub reference: Option<Reference>,
    /// The measures of each run.
    pub measures: Vec<Measure>,
    /// How results are looked at.
    pub analysis: Analysis,
    document: Document,
    system_path: Option<PathBuf>,
}

/// `[analysis]`: how results are looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Measures that are analysed; all but times if none is named.
    pub measures: Vec<String>,
    /// Runs count as nearly best up to this much above the best, as a share of it.
    pub nearly_best: f64,
    /// So many runs count as nearly best at least.
    pub at_least: usize,
}

const KEYS: [&str; 9] = [
    "title",
    "description",
    "system",
    "accept_unstable",
    "factors",
    "plan",
    "reference",
    "measures",
    "analysis",
];

/// Reads a study file and the system it is about.
///
/// # Errors
///
/// If a file cannot be read or holds a mistake; the error tells file, line and column.
pub fn load(path: &Path) -> Result<Study> {
    let text = std::fs::read_to_string(path).map_err(Io::io("read", path))?;
    let document = Document::new(&text, path, &path.display().to_string())?;
    let marked = |marks: Marks| document.mistake(marks);
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    if let Some(node) = document.root.get("subsystems") {
        let mark = Mark::new(node.span.clone(), "this is a system, not a study");
        return Err(document.mistake(mark.hint(
            "run it with `koppel run`; a study names it with system = \"FILE.toml\" and varies it with [factors]",
        )));
    }
    let root = document.root.fields("a study file", &KEYS).map_err(Marks::from);
    let root = root.and_then(Fields::checked).map_err(marked)?;
    let (mut system, system_path) = match root.need("system").map_err(marked)? {
        Node { value: Toml::Table(_), .. } => (Session::part(&document, "system")?, None),
        node => {
            let file = folder.join(node.text("system").map_err(|mark| document.mistake(mark))?);
            match Session::load(&file, &[]) {
                Ok(system) => (system, Some(file)),
                Err(error) if matches!(*error, Io::Io { .. }) => {
                    return Err(document.mistake(Mark::of(node.span.clone(), &*error)));
                }
                Err(error) => return Err(error),
            }
        }
    };
    // Runs are compared with each other: what nobody asked for must not make them differ.
    system.spec.hold_if_unasked()?;
    let mut study = Study {
        title: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_path_buf(),
        system,
        accepts_unstable: false,
        factors: Vec::new(),
        plan: Plan { kind: PlanKind::FullFactorial, runs: 1, seed: 1 },
        reference: None,
        measures: Vec::new(),
        analysis: Analysis { measures: Vec::new(), nearly_best: 0.1, at_least: 1 },
        document: document.clone(),
        system_path,
    };
    study.read(&folder).map_err(|marks| document.mistake(marks))?;
    Ok(study)
}

impl Study {
    /// All mistakes are reported together.
    fn read(&mut self, folder: &Path) -> std::result::Result<(), Marks> {
        let document = self.document.clone();
        let mut root = document.root.fields("a study file", &KEYS)?;
        if let Some(title) = root.read("title", |node| node.text("title")) {
            self.title = title.to_owned();
        }
        let accepts = root.read("accept_unstable", |node| node.flag("accept_unstable"));
        self.accepts_unstable = accepts.unwrap_or(false);
        let entries = root.want("factors", |node| match node.table("[factors]")? {
            [] => Err(Mark::new(node.span.clone(), "the study varies nothing")
                .hint("write such as \"run.step\" = [1e-3, 2e-3] below [factors]")),
            entries => Ok(entries),
        });
        for entry in entries {
            self.factors.extend(root.note(self.factor(entry)));
        }
        self.reference = root.read("reference", |node| reference::read(node, &self.system.spec, folder));
        // Plan and expressions depend on all factors.
        let are_known = self.factors.len() == entries.len();
        let plan = plan::read(root.get("plan"), are_known.then_some(&self.factors));
        self.plan = root.note(plan).unwrap_or(self.plan.clone());
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let before = root.get("measures").map_or(0, |node| node.entries().len());
        self.measures = root.want("measures", |node| measure::read(node, &self.factors, &names));
        let first = self.measures.iter().find(|measure| measure.needs_reference());
        if let (None, Some(measure)) = (root.get("reference"), first) {
            let message = format!("measure `{}` needs something to compare with", measure.name);
            let hint =
                "add [reference] with monolithic = true, set = { \"run.step\" = 1e-5 } or file = \"r.csv\"";
            root.note(Err::<(), _>(Mark::new(measure.span.clone(), message).hint(hint)));
        }
        if self.measures.len() == before {
            let analysis = analysis(root.get("analysis"), &self.measures);
            self.analysis = root.note(analysis).unwrap_or(self.analysis.clone());
        }
        root.or(())
    }

    fn factor(&self, entry: &Entry) -> std::result::Result<Factor, Marks> {
        let factor = factor::read(entry, &self.system.spec)?;
        match factor.name.as_str() {
            "run" | "failure" | "ended_by" => {
                let message = format!("the name `{}` is taken by another column", factor.name);
                Err(Mark::new(factor.span, message).into())
            }
            _ => Ok(factor),
        }
    }

    /// Mistakes at places of the study file.
    #[must_use]
    pub fn mistake(&self, marks: impl Into<Marks>) -> Box<Io> {
        self.document.mistake(marks)
    }

    /// The same error, shown at a place of the study file.
    #[must_use]
    pub fn blame(&self, error: &Io, span: &Span) -> Box<Io> {
        self.document.mistake(moved(error, span))
    }

    /// Everything in the study file that results depend on.
    pub(crate) fn relevant(&self) -> String {
        let is_relevant = |name: &&&str| !["title", "description", "analysis"].contains(name);
        let keys = KEYS.iter().filter(is_relevant);
        let part = |key: &&str| self.document.root.get(key).map(|node| format!("{key} = {}\n", node.plain()));
        keys.filter_map(part).collect()
    }

    /// Files the results depend on besides the study file: the system file, what it reads, and the reference.
    #[must_use]
    pub fn reads(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.system_path.iter().cloned().collect();
        all.extend(files_read(&self.system.spec));
        if let Some(Reference { kind: ReferenceKind::File { path, .. }, .. }) = &self.reference {
            all.push(path.clone());
        }
        all
    }
}

fn analysis(node: Option<&Node>, measures: &[Measure]) -> std::result::Result<Analysis, Marks> {
    let known: Vec<String> = measures.iter().map(|measure| measure.name.clone()).collect();
    let default = measures.iter().filter(|m| m.is_repeatable).map(|m| m.name.clone()).collect();
    let mut analysis = Analysis { measures: default, nearly_best: 0.1, at_least: 1 };
    let Some(node) = node else { return Ok(analysis) };
    let mut fields = node.fields("[analysis]", &["measures", "nearly_best", "at_least"])?;
    if let Some(list) = fields.read("measures", |node| node.list("measures")) {
        let named = |name: &Node| match name.text("measures")? {
            text if known.iter().any(|known| known == text) => Ok(text.to_owned()),
            text => Err(Mark::unknown(name.span.clone(), "measure", text, &known)),
        };
        analysis.measures = list.iter().filter_map(|name| fields.note(named(name))).collect();
    }
    analysis.nearly_best = fields.number("nearly_best", 0.1);
    let at_least = fields.read("at_least", |node| match node.value {
        Toml::Integer(count @ 1..=1_000_000) => Ok(count as usize),
        _ => Err(node.wanted("at_least", "a whole number above zero")),
    });
    analysis.at_least = at_least.unwrap_or(1);
    fields.or(analysis)
}

/// An error of the system file as a mark of the study file.
pub(crate) fn moved(error: &Io, span: &Span) -> Mark {
    Mark::of(span.clone(), error)
}

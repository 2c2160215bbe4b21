//! `[reference]`: what runs are compared with.
//!
//! ```toml
//! [reference]
//! monolithic = true                       # the equations of all subsystems, solved as one system
//! set = { "run.step" = 1e-5 }              # or the same system with other settings
//! file = "reference.csv"                   # or a result file
//! ```

use std::path::{Path, PathBuf};

use koppel::solver::SolverConfig;
use koppel_io::results::{Table, read_table};
use koppel_io::system_file::{Entry, Mark, Marks, Node, Place, Span, SystemSpec, Value as Toml};

type Result<T> = std::result::Result<T, Marks>;

/// What runs are compared with.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the keys of a reference")]
pub enum Kind {
    /// The system uncut, at the communication points of the run.
    Monolithic { solver: Option<SolverConfig> },
    /// The same system with these settings.
    Settings(Vec<(Place, String)>),
    /// A result file.
    File { path: PathBuf, table: Table },
}

/// What runs are compared with, and where it stands in the study file.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What it is.
    pub kind: Kind,
    /// Its place.
    pub span: Span,
}

/// Reads `[reference]`.
pub(super) fn read(node: &Node, system: &SystemSpec, folder: &Path) -> Result<Reference> {
    let fields = node.fields("[reference]", &["monolithic", "solver", "set", "file"])?.checked()?;
    let given: Vec<&str> =
        ["monolithic", "set", "file"].into_iter().filter(|key| fields.get(key).is_some()).collect();
    let [only] = given[..] else {
        let message = format!("[reference] gives {} sources", given.len());
        let hint = "give one of: monolithic = true, set = { \"run.step\" = 1e-5 }, file = \"reference.csv\"";
        return Err(Mark::new(node.span.clone(), message).hint(hint).into());
    };
    if let (Some(solver), true) = (fields.get("solver"), only != "monolithic") {
        return Err(Mark::new(solver.span.clone(), "`solver` goes with monolithic = true").into());
    }
    let kind = match only {
        "monolithic" => {
            if !matches!(fields.need("monolithic")?.value, Toml::Bool(true)) {
                return Err(fields.need("monolithic")?.wanted("monolithic", "true").into());
            }
            Kind::Monolithic { solver: fields.get("solver").map(solver).transpose()? }
        }
        "set" => {
            let mut marks = Marks::default();
            let mut one = |entry: &Entry| {
                let place = system.place(&entry.name, "reference");
                let place = marks.note(place.map_err(|error| super::moved(&error, &entry.key)))?;
                Some((place, entry.node.plain().to_string()))
            };
            let all = fields.need("set")?.table("set")?.iter().filter_map(&mut one).collect();
            marks.or(Kind::Settings(all))?
        }
        _ => {
            let file = fields.need("file")?;
            let path = folder.join(file.text("file")?);
            let table = read_table(&path).map_err(|error| {
                let mark = Mark::of(file.span.clone(), &*error);
                Mark { message: format!("the reference cannot be used: {error}"), ..mark }
            })?;
            Kind::File { path, table }
        }
    };
    Ok(Reference { kind, span: node.span.clone() })
}

/// A name, or a table with `method`.
fn solver(node: &Node) -> Result<SolverConfig> {
    koppel_io::system_file::decode_tagged(node, "solver", "method")
}

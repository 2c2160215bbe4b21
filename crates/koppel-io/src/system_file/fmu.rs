//! FMUs as subsystems: the keys of `[subsystems.NAME]` with `fmu = "FILE.fmu"`.

use std::path::{Path, PathBuf};

use koppel::diagnostic::Diagnostic;
use koppel::solver::SolverConfig;
use koppel_fmi::archive;
use koppel_fmi::description::Description;
use koppel_fmi::import::Value as Start;

use super::decode::decode_tagged;
use super::isolation::{self, Isolating};
use super::mistake::{Mark, Marks, Span};
use super::other_kinds;
use super::tree::{Entry, Node, Value};

type Result<T> = std::result::Result<T, Marks>;

/// The keys.
pub(super) const KEYS: [&str; 14] = [
    "fmu",
    "interface",
    "parameters",
    "solver",
    "substeps",
    "isolate",
    "step_timeout",
    "memory_limit",
    "sandbox",
    "network",
    "write",
    "read",
    "probe",
    "continuous",
];
/// Values of `interface`.
const INTERFACES: [&str; 2] = ["co-simulation", "model-exchange"];

/// An FMU as the system file describes it.
#[derive(Clone, Debug)]
pub struct FmuSpec {
    /// The file, or its place inside a package.
    pub path: PathBuf,
    /// Start values of parameters and variables.
    pub start_values: Vec<(String, Start)>,
    /// Steps of the FMU in a communication step in which inputs move, if they are given.
    pub substeps: Option<u32>,
    /// Discrete variables that are coupled as continuous ones.
    pub continuous: Vec<String>,
    /// How it is isolated, as far as it says so itself.
    pub isolating: Isolating,
    solver: Option<SolverConfig>,
    is_model_exchange: Option<bool>,
    spans: Spans,
}

/// Where its keys stand.
#[derive(Clone, Debug)]
struct Spans {
    file: Span,
    solver: Option<Span>,
    substeps: Option<Span>,
    values: Vec<(String, Span)>,
}

/// Reads the keys.
pub(super) fn read(entry: &Entry, folder: &Path) -> Result<FmuSpec> {
    for (key, hint) in [
        ("model", "leave out one of them"),
        ("start", "start values of an FMU's variables stand below `parameters`, with its parameters"),
    ] {
        if let Some(node) = entry.node.get(key) {
            let problem = format!("subsystem `{}` is an FMU, which has no `{key}` here", entry.name);
            return Err(Mark::new(node.span.clone(), problem).hint(hint).into());
        }
    }
    let mut fields = entry.node.fields(&format!("subsystem `{}`", entry.name), &KEYS)?;
    let values = fields.read("parameters", |node| node.table("parameters")).unwrap_or_default();
    let start =
        |value: &Entry| Some((value.name.clone(), fields.note(start_value(&value.name, &value.node))?));
    let start_values = values.iter().filter_map(start).collect();
    let span = |key: &str| entry.node.get(key).map(|node| node.span.clone());
    let spans = Spans {
        file: span("fmu").unwrap_or_default(),
        solver: span("solver"),
        substeps: span("substeps"),
        values: values.iter().map(|value| (value.name.clone(), value.key.clone())).collect(),
    };
    let spec = FmuSpec {
        path: folder.join(fields.text("fmu")),
        start_values,
        substeps: fields.read("substeps", |node| match node.value {
            Value::Integer(count @ 1..=1_000_000) => Ok(count as u32),
            _ => Err(node.wanted("substeps", "a whole number from 1 to 1000000")),
        }),
        continuous: fields.read("continuous", names).unwrap_or_default(),
        isolating: fields.note(isolation::read(&entry.node, folder)).unwrap_or_default(),
        solver: fields.read("solver", |node| decode_tagged(node, "solver", "method")),
        is_model_exchange: fields.read("interface", interface),
        spans,
    };
    fields.or(spec)
}

fn names(node: &Node) -> Result<Vec<String>> {
    node.list("continuous")?.iter().map(|name| Ok(name.text("continuous")?.to_owned())).collect()
}

fn interface(node: &Node) -> Result<bool> {
    match node.text("interface")? {
        "co-simulation" => Ok(false),
        "model-exchange" => Ok(true),
        other => {
            let known = INTERFACES.map(ToOwned::to_owned);
            Err(Mark::unknown(node.span.clone(), "interface", other, &known).into())
        }
    }
}

impl FmuSpec {
    /// True if koppel solves its equations: as it is asked for, else where the FMU has no co-simulation.
    #[must_use]
    pub fn is_model_exchange(&self, description: &Description) -> bool {
        let only = description.co_simulation.is_none() && description.model_exchange.is_some();
        self.is_model_exchange.unwrap_or(only)
    }

    /// The solver of model exchange, if one is given.
    ///
    /// # Errors
    ///
    /// If a key does not go with the interface.
    pub fn solver(&self, description: &Description) -> std::result::Result<Option<SolverConfig>, Mark> {
        let is_model_exchange = self.is_model_exchange(description);
        if let (false, Some(span)) = (is_model_exchange, &self.spans.solver) {
            let has_both = description.co_simulation.is_some() && description.model_exchange.is_some();
            let message = "`solver` does not go with a co-simulation FMU, which brings its own";
            let hint =
                if has_both { "add `interface = \"model-exchange\"`, or remove it" } else { "remove it" };
            return Err(Mark::new(span.clone(), message).hint(hint));
        }
        if let (true, Some(span)) = (is_model_exchange, &self.spans.substeps) {
            let message = "`substeps` does not go with model exchange: inputs are followed inside the solver";
            return Err(Mark::new(span.clone(), message).hint("remove it"));
        }
        Ok(self.solver)
    }

    /// An error of the FMU, at the key that caused it.
    #[must_use]
    pub fn blame(&self, error: &koppel_fmi::Error) -> Mark {
        let variable = error.place().variable;
        let is_named = |(name, _): &&(String, Span)| variable.as_ref() == Some(name);
        let of_solver =
            self.spans.solver.as_ref().filter(|_| matches!(error, koppel_fmi::Error::Solver { .. }));
        let named = || self.spans.values.iter().find(is_named).map(|(_, span)| span);
        let span = of_solver.or_else(named).unwrap_or(&self.spans.file);
        let is_crash = matches!(error, koppel_fmi::Error::Ended(_));
        let mark = Mark { is_crash, ..Mark::of(span.clone(), error) };
        match mark.hints.is_empty() {
            true => mark.hint_if(other_kinds::missing(&archive::split(&self.path).0)),
            false => mark,
        }
    }
}

/// A number, a text, true and false, or a list of them, for a variable of an FMU; the rows of a matrix follow each other.
fn start_value(name: &str, node: &Node) -> Result<Start> {
    Ok(match &node.value {
        Value::Text(text) => text.as_str().into(),
        Value::Bool(value) => Start::Boolean(*value),
        Value::List(list) => {
            let values = list.iter().map(|node| start_value(name, node)).collect::<Result<Vec<_>>>()?;
            let flat = values.into_iter().flat_map(|value| match value {
                Start::List(row) => row,
                single => vec![single],
            });
            Start::List(flat.collect())
        }
        // What a floating-point number does not hold exactly stays whole.
        Value::Integer(number) if number.unsigned_abs() > 1 << 53 => Start::Integer(*number),
        Value::Integer(_) | Value::Float(_) => node.number(name)?.into(),
        _ => return Err(node.wanted(name, "a number, text, true, false, or a list of these").into()),
    })
}

//! `[subsystems.*]`: matrices or a built-in model, with a solver; or an FMU.

use std::collections::BTreeMap;
use std::path::Path;

use koppel::linalg::Matrix;
use koppel::models;
use koppel::solver::SolverConfig;
use koppel::system::unit::Unit;
use koppel::system::{LinearOde, Ode, OdeModel, StateSpace, Subsystem, Variable};
use koppel_fmi::import::{self, Options};
use koppel_fmi::{Fmu, isolate};

use super::decode::decode_tagged;
use super::fields::Fields;
use super::isolation;
use super::locate;
use super::mistake::{Mark, Span};
use super::tree::{Entry, Node, Value};
use crate::replay::{Journal, Replayed};

type Result<T> = std::result::Result<T, Mark>;

/// Keys of a subsystem given by matrices.
const LINEAR: [&str; 10] = ["model", "solver", "start", "A", "B", "C", "D", "inputs", "outputs", "x0"];
/// Keys of a built-in model.
const BUILT_IN: [&str; 4] = ["model", "solver", "start", "parameters"];
/// Keys of an FMU.
const FMU: [&str; 6] = ["fmu", "parameters", "substeps", "isolate", "step_timeout", "memory_limit"];

/// Names stand in messages, headers and other names: they must be seen.
pub(super) fn check_name(name: &str, span: &Span, what: &str) -> Result<()> {
    let problem = match name {
        _ if name.trim().is_empty() => "is empty",
        _ if name.chars().any(char::is_control) => "has control characters",
        _ => return Ok(()),
    };
    Err(Mark::new(span.clone(), format!("the name of {what} {problem}"))
        .hint("use letters, digits, `_`, `-`"))
}

/// Keys that this subsystem may have.
pub(super) fn keys(entry: &Entry) -> &'static [&'static str] {
    let model = entry.node.get("model").and_then(|node| node.text("model").ok());
    if is_fmu(entry) {
        return &FMU;
    }
    if model == Some("linear") { &LINEAR } else { &BUILT_IN }
}

/// True if the subsystem is given by a file.
pub(super) fn is_fmu(entry: &Entry) -> bool {
    entry.node.get("fmu").is_some()
}

/// The subsystem, ready to be wired; files are looked for in `folder`. An FMU that does not say how it is isolated is so as
/// `isolation` says, and one that cannot save its state logs its inputs in `journal`.
pub(super) fn build(
    entry: &Entry,
    folder: &Path,
    isolation: isolation::Settings,
    journal: Option<Journal>,
) -> Result<Box<dyn Subsystem>> {
    if is_fmu(entry) {
        return fmu(entry, folder, isolation, journal);
    }
    let (ode, solver) = parts(entry)?;
    let model = OdeModel::new(ode, &solver).map_err(|error| locate::within(&error, &entry.node))?;
    Ok(Box::new(model))
}

/// An instance of an FMU with its start values.
fn fmu(
    entry: &Entry,
    folder: &Path,
    isolation: isolation::Settings,
    journal: Option<Journal>,
) -> Result<Box<dyn Subsystem>> {
    let fields = entry.node.fields(&format!("subsystem `{}`", entry.name), &FMU)?;
    let file = fields.need("fmu")?;
    let mut options = Options { name: entry.name.clone(), ..Options::default() };
    let values = fields.get("parameters").map_or(Ok(&[][..]), |node| node.table("parameters"))?;
    for value in values {
        options.start_values.push((value.name.clone(), start_value(value)?));
    }
    if let Some(node) = fields.get("substeps") {
        options.substeps = match node.value {
            Value::Integer(count @ 1..=1_000_000) => count as u32,
            _ => return Err(node.wanted("substeps", "a whole number from 1 to 1000000")),
        };
    }
    let failed = |error: Box<koppel_fmi::Error>| {
        let message = error.to_string();
        let named = values.iter().find(|value| message.contains(&format!("`{}`", value.name)));
        let mark = Mark::new(named.map_or(&file.span, |value| &value.key).clone(), message);
        match error.hint() {
            Some(hint) => mark.hint(hint),
            None => mark,
        }
    };
    let fmu = Fmu::open(&folder.join(file.text("fmu")?)).map_err(failed)?;
    let instance = match isolation::read(&entry.node)?.or(isolation).isolation() {
        Some(isolation) => isolate::host(&fmu, &options, &isolation),
        None => import::instantiate_any(&fmu, &options),
    };
    let instance = instance.map_err(failed)?;
    Ok(match journal.filter(|_| !fmu.saves_as_bytes()) {
        Some(journal) => Box::new(Replayed::new(instance, &entry.name, journal)),
        None => instance,
    })
}

/// A number, a text, or true and false, for a variable of an FMU.
fn start_value(entry: &Entry) -> Result<koppel_fmi::import::Value> {
    Ok(match &entry.node.value {
        Value::Text(text) => text.as_str().into(),
        Value::Bool(value) => f64::from(u8::from(*value)).into(),
        _ => entry.node.number(&entry.name)?.into(),
    })
}

/// Equations and solver, not yet put together.
pub(super) fn parts(entry: &Entry) -> Result<(Box<dyn Ode>, SolverConfig)> {
    let what = format!("subsystem `{}`", entry.name);
    if is_fmu(entry) {
        return Err(Mark::new(entry.key.clone(), format!("{what} is an FMU: its equations are its own")));
    }
    let model = match entry.node.get("model") {
        Some(model) => model.text("model")?,
        None => {
            return Err(Mark::new(entry.key.clone(), format!("{what} needs `model`"))
                .hint("model = \"linear\" with matrices A, B, C, D, or a name from `koppel models`; or fmu = \"FILE.fmu\""));
        }
    };
    let (ode, fields) = if model == "linear" {
        let fields = entry.node.fields(&what, &LINEAR)?;
        (linear(&entry.name, &entry.node, &fields)?, fields)
    } else {
        let ode = built_in(model, &entry.node)?;
        (ode, entry.node.fields(&what, &BUILT_IN)?)
    };
    let solver = match fields.get("solver") {
        Some(node) => decode_tagged(node, "solver", "method")?,
        None if ode.linear().is_some() => SolverConfig::Exact {},
        None => SolverConfig::default(),
    };
    Ok((ode, solver))
}

fn built_in(model: &str, node: &Node) -> Result<Box<dyn Ode>> {
    let mut parameters = BTreeMap::new();
    if let Some(table) = node.get("parameters") {
        for entry in table.table("parameters")? {
            parameters.insert(entry.name.clone(), entry.node.number(&entry.name)?);
        }
    }
    models::build(model, &parameters).map_err(|error| {
        let mark = locate::within(&error, node);
        if mark.message.starts_with("unknown model") {
            let hint = mark.hint.clone().unwrap_or_default();
            return mark
                .hint(format!("{hint}, and `linear` with matrices; `koppel models` tells about each"));
        }
        mark
    })
}

fn linear(name: &str, node: &Node, fields: &Fields<'_>) -> Result<Box<dyn Ode>> {
    let inputs = ports(fields.get("inputs"), "inputs")?;
    let outputs = ports(fields.get("outputs"), "outputs")?;
    let matrix = |key: &str, rows: usize, columns: usize| match fields.get(key) {
        Some(node) => node.matrix(key),
        None => Ok(Matrix::zeros(rows, columns)),
    };
    let a = matrix("A", 0, 0)?;
    let has_states = ["A", "B", "C", "x0"].iter().any(|key| fields.get(key).is_some());
    if has_states || fields.get("D").is_none() {
        fields.need("A")?;
        fields.need("C")?;
    }
    let b = matrix("B", a.rows(), if a.rows() > 0 { 0 } else { inputs.len() })?;
    let c = matrix("C", outputs.len(), a.rows())?;
    let d = matrix("D", c.rows(), b.cols())?;
    let states = a.rows();
    let matrices = StateSpace::new(name, a, b, c, d).map_err(|error| locate::within(&error, node))?;
    let x0 = fields.get("x0").map_or(Ok(vec![0.0; states]), |node| node.numbers("x0"))?;
    let ode = LinearOde::new(matrices, inputs, outputs, &x0).map_err(|error| locate::within(&error, node))?;
    Ok(Box::new(ode))
}

/// Names, or tables with a name and more.
fn ports(node: Option<&Node>, what: &str) -> Result<Vec<Variable>> {
    let list = node.map_or(Ok(&[][..]), |node| node.list(what))?;
    list.iter().map(|node| port(node, what)).collect()
}

fn port(node: &Node, what: &str) -> Result<Variable> {
    if let Value::Text(name) = &node.value {
        check_name(name, &node.span, "a port")?;
        return Ok(Variable::new(name));
    }
    node.table(what).map_err(|_| node.wanted(what, "a list of names or of tables with `name`"))?;
    let fields = node.fields(what, &["name", "unit", "start", "nominal", "description"])?;
    let name = fields.need("name")?;
    check_name(name.text("name")?, &name.span, "a port")?;
    let mut variable = Variable::new(name.text("name")?).start(fields.number("start", 0.0)?);
    if let Some(unit) = fields.get("unit") {
        let text = unit.text("unit")?;
        Unit::parse(text).map_err(|error| Mark::from_text(unit.span.clone(), &error.to_string()))?;
        variable = variable.unit(text);
    }
    if let Some(text) = fields.get("description") {
        variable = variable.about(text.text("description")?);
    }
    variable.nominal = fields.get("nominal").map(|node| node.number("nominal")).transpose()?;
    Ok(variable)
}

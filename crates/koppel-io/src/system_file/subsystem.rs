//! `[subsystems.*]`: matrices or a built-in model, with a solver; or an FMU.

use std::collections::BTreeMap;

use koppel::linalg::Matrix;
use koppel::models;
use koppel::solver::SolverConfig;
use koppel::system::{LinearOde, Ode, OdeModel, StateSpace, Variable};
use koppel::unit::Unit;

use super::decode::decode_tagged;
use super::equations;
use super::fields::Fields;
use super::fmu::{self, FmuSpec};
use super::locate;
use super::mistake::{Mark, Marks, Span};
use super::tree::{Entry, Node, Value};

type Result<T> = std::result::Result<T, Marks>;

/// Keys of a subsystem given by matrices.
const LINEAR: [&str; 11] =
    ["model", "solver", "start", "A", "B", "C", "D", "inputs", "outputs", "x0", "probe"];
/// Keys of a built-in model.
const BUILT_IN: [&str; 5] = ["model", "solver", "start", "parameters", "probe"];
/// Names stand in messages, headers and other names: they must be seen.
pub(super) fn check_name(name: &str, span: &Span, what: &str) -> Result<()> {
    let problem = match name {
        _ if name.trim().is_empty() => "is empty",
        _ if name.chars().any(char::is_control) => "has control characters",
        _ => return Ok(()),
    };
    Err(Mark::new(span.clone(), format!("the name of {what} {problem}"))
        .hint("use letters, digits, `_`, `-`")
        .into())
}

/// Keys that this subsystem may have.
pub(super) fn keys(entry: &Entry) -> &'static [&'static str] {
    let model = entry.node.get("model").and_then(|node| node.text("model").ok());
    if is_fmu(entry) {
        return &fmu::KEYS;
    }
    match model {
        Some("linear") => &LINEAR,
        Some(equations::EQUATIONS) => &equations::KEYS,
        _ => &BUILT_IN,
    }
}

/// True if the subsystem is given by a file.
pub(super) fn is_fmu(entry: &Entry) -> bool {
    entry.node.get("fmu").is_some()
}

/// A subsystem as the system file describes it.
#[derive(Clone, Debug)]
pub struct SubsystemSpec {
    /// Its name.
    pub name: String,
    /// Its file and settings, if it is an FMU; else it is given by equations.
    pub fmu: Option<FmuSpec>,
    /// False if it is not to be excited nor tried, true if it may be in any case.
    pub probe: Option<bool>,
    entry: Entry,
}

impl SubsystemSpec {
    /// Reads one subsystem; files that it names are looked for in `folder`.
    pub(super) fn read(entry: &Entry, folder: &std::path::Path) -> Result<Self> {
        let mut marks = Marks::default();
        marks.note(check_name(&entry.name, &entry.key, "a subsystem"));
        let fmu = is_fmu(entry).then(|| fmu::read(entry, folder)).transpose();
        let probe = entry.node.get("probe").map(|node| node.flag("probe")).transpose();
        let (fmu, probe) = (marks.note(fmu).flatten(), marks.note(probe).flatten());
        marks.or(SubsystemSpec { name: entry.name.clone(), fmu, probe, entry: entry.clone() })
    }

    /// Its model, if it is given by equations.
    ///
    /// # Errors
    ///
    /// If a matrix, a parameter or the solver does not fit, or it is an FMU.
    pub fn model(&self) -> Result<OdeModel> {
        let (ode, solver) = self.equations()?;
        OdeModel::new(ode, &solver).map_err(|error| locate::within(&error, &self.entry.node).into())
    }

    /// Its equations and solver, not yet put together.
    ///
    /// # Errors
    ///
    /// If a matrix or a parameter does not fit, or it is an FMU.
    pub fn equations(&self) -> Result<(Box<dyn Ode>, SolverConfig)> {
        parts(&self.entry)
    }
}

/// Equations and solver, not yet put together.
pub(super) fn parts(entry: &Entry) -> Result<(Box<dyn Ode>, SolverConfig)> {
    let what = format!("subsystem `{}`", entry.name);
    if is_fmu(entry) {
        return Err(
            Mark::new(entry.key.clone(), format!("{what} is an FMU: its equations are its own")).into()
        );
    }
    let model = match entry.node.get("model") {
        Some(model) => model.text("model")?,
        None => {
            return Err(Mark::new(entry.key.clone(), format!("{what} needs `model`"))
                .hint("model = \"linear\" with matrices A, B, C, D, \"equations\" with your own, or a name from `koppel models`; or fmu = \"FILE.fmu\"").into());
        }
    };
    let mut fields = entry.node.fields(&what, keys(entry))?;
    let ode = match model {
        "linear" => linear(&entry.name, &entry.node, &fields),
        equations::EQUATIONS => equations::equations(&entry.node, &fields),
        _ => built_in(model, &entry.node),
    };
    let ode = fields.note(ode);
    let solver = fields.read("solver", |node| decode_tagged(node, "solver", "method"));
    let Some(ode) = ode else { return Err(fields.or(()).err().unwrap_or_default()) };
    let is_linear = ode.linear().is_some();
    let default = if is_linear { SolverConfig::Exact {} } else { SolverConfig::default() };
    fields.or((ode, solver.unwrap_or(default)))
}

fn built_in(model: &str, node: &Node) -> Result<Box<dyn Ode>> {
    let (mut parameters, mut marks) = (BTreeMap::new(), Marks::default());
    for entry in node.get("parameters").map_or(Ok(&[][..]), |table| table.table("parameters"))? {
        parameters
            .extend(marks.note(entry.node.number(&entry.name)).map(|value| (entry.name.clone(), value)));
    }
    // A wrong name says nothing of the others.
    loop {
        let error = match models::build(model, &parameters) {
            Ok(ode) => return marks.or(ode),
            Err(error) => error,
        };
        let mark = locate::within(&error, node);
        match *error {
            koppel::Error::Unknown { kind: "model", .. } => {
                marks.add(mark.and(", and `linear` with matrices, `equations` with your own; `koppel models` tells about each"));
                return Err(marks);
            }
            koppel::Error::Unknown { name, .. } if parameters.remove(&name).is_some() => marks.add(mark),
            _ => {
                marks.add(mark);
                return Err(marks);
            }
        }
    }
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
    let mut fields = node.fields(what, &["name", "unit", "start", "nominal", "description"])?;
    let name = fields.want("name", |node| {
        let name = node.text("name")?;
        check_name(name, &node.span, "a port").map(|()| name.to_owned())
    });
    let mut variable = Variable::new(&name).start(fields.number("start", 0.0));
    let unit = fields.read("unit", |node| {
        let text = node.text("unit")?;
        Unit::parse(text).map_err(|error| Mark::of(node.span.clone(), &error)).map(|_| text)
    });
    if let Some(unit) = unit {
        variable = variable.unit(unit);
    }
    if let Some(text) = fields.read("description", |node| node.text("description")) {
        variable = variable.about(text);
    }
    variable.nominal = fields.read("nominal", |node| node.number("nominal"));
    fields.or(variable)
}

//! `[subsystems.*]`: matrices or a built-in model, with a solver; or an FMU.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use koppel::diagnostic::Diagnostic;
use koppel::linalg::Matrix;
use koppel::models;
use koppel::solver::SolverConfig;
use koppel::system::unit::Unit;
use koppel::system::{Dependencies, LinearOde, Ode, OdeModel, StateSpace, Subsystem, Variable};
use koppel_fmi::import::{self, Deferred, Options, Solving, Value as Start, Without};
use koppel_fmi::probe::Capability;
use koppel_fmi::{Fmu, archive, isolate};

use super::decode::decode_tagged;
use super::document::Document;
use super::fields::Fields;
use super::isolation;
use super::locate;
use super::mistake::{Mark, Marks, Span};
use super::other_kinds;
use super::tree::{Entry, Node, Value};
use crate::probe_cache::ProbeCache;
use crate::replay::{Journal, Replayed};
use crate::trials::Trials;

type Result<T> = std::result::Result<T, Mark>;

/// Keys of a subsystem given by matrices.
const LINEAR: [&str; 11] =
    ["model", "solver", "start", "A", "B", "C", "D", "inputs", "outputs", "x0", "probe"];
/// Keys of a built-in model.
const BUILT_IN: [&str; 5] = ["model", "solver", "start", "parameters", "probe"];
/// Keys of an FMU.
const FMU: [&str; 10] = [
    "fmu",
    "interface",
    "parameters",
    "solver",
    "substeps",
    "isolate",
    "step_timeout",
    "memory_limit",
    "probe",
    "continuous",
];
/// Values of `interface`.
const INTERFACES: [&str; 2] = ["co-simulation", "model-exchange"];

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

/// What a subsystem is built in.
pub(super) struct Setting<'a> {
    /// Its communication step.
    pub(super) step: f64,
    /// Where the messages of FMUs go.
    pub(super) log: Option<&'a super::FmuLog>,
    /// How an FMU is isolated that does not say so itself.
    pub(super) isolation: isolation::Settings,
    /// What it is built for.
    pub(super) purpose: Purpose<'a>,
    /// What an FMU is known to fail at.
    pub(super) without: Option<&'a Without>,
    /// Where an FMU that cannot save its state logs its inputs.
    pub(super) journal: Option<Journal>,
}

/// What an FMU is instantiated for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// To be wired and checked only: there is no instance.
    Check,
    /// Whatever comes: what it declares is believed.
    Any,
    /// A run, which does without what fails in trials.
    Run(&'a Wanted<'a>),
    /// Trials: in a process of its own.
    Trial(&'a Wanted<'a>),
    /// The same, made only when it is initialised.
    Copy(&'a Wanted<'a>),
}

/// What a run wants of its FMUs.
pub(super) struct Wanted<'a> {
    /// Optional functions that must hold, but for `Reevaluation`, which is asked of FMUs that may feed inputs through.
    pub(super) capabilities: Vec<Capability>,
    /// True if outputs are read with the inputs of their own instant.
    pub(super) is_fresh: bool,
    /// True if no more is asked of FMUs than to take steps.
    pub(super) spared: bool,
    pub(super) trials: &'a Trials,
    pub(super) cache: Option<&'a ProbeCache>,
}

/// How a subsystem is checked while the settings of the run are not known.
pub(super) fn unread(_index: usize, _entry: &Entry) -> Setting<'static> {
    let (isolation, purpose) = (isolation::Settings::default(), Purpose::Check);
    Setting { step: 1.0, log: None, isolation, purpose, without: None, journal: None }
}

/// A subsystem and its name.
type Named<'d> = (&'d str, Box<dyn Subsystem>);

/// All subsystems with their names, ready to be wired, and what is wrong with the others. For anything but a check the first mistake
/// is the last.
pub(super) fn build_all<'d, 's>(
    document: &'d Document,
    setting: &dyn Fn(usize, &Entry) -> Setting<'s>,
) -> (Vec<Named<'d>>, Marks) {
    let (mut all, mut marks) = (Vec::new(), Marks::default());
    let entries = document.root.get("subsystems").map_or(&[][..], Node::entries);
    for (index, entry) in entries.iter().enumerate() {
        let setting = setting(index, entry);
        let is_check = matches!(setting.purpose, Purpose::Check);
        let built = marks.note(build(entry, &document.folder, setting));
        all.extend(built.map(|model| (entry.name.as_str(), model)));
        if !marks.is_empty() && !is_check {
            break;
        }
    }
    (all, marks)
}

/// The subsystem, ready to be wired. Files are looked for in `folder`.
fn build(entry: &Entry, folder: &Path, setting: Setting<'_>) -> Result<Box<dyn Subsystem>> {
    if is_fmu(entry) {
        return fmu(entry, folder, setting);
    }
    let (ode, solver) = parts(entry)?;
    let model = OdeModel::new(ode, &solver).map_err(|error| locate::within(&error, &entry.node))?;
    Ok(Box::new(model))
}

/// An instance of an FMU with its start values.
fn fmu(entry: &Entry, folder: &Path, setting: Setting<'_>) -> Result<Box<dyn Subsystem>> {
    let Setting { step, log, isolation, purpose, without, journal } = setting;
    for (key, hint) in [
        ("model", "leave out one of them"),
        ("start", "start values of an FMU's variables stand below `parameters`, with its parameters"),
    ] {
        if let Some(node) = entry.node.get(key) {
            let problem = format!("subsystem `{}` is an FMU, which has no `{key}` here", entry.name);
            return Err(Mark::new(node.span.clone(), problem).hint(hint));
        }
    }
    let fields = entry.node.fields(&format!("subsystem `{}`", entry.name), &FMU)?;
    let file = fields.need("fmu")?;
    let mut options = Options {
        name: entry.name.clone(),
        step: Some(step),
        log: log.map(|log| log.sink.clone()),
        debug_logging: log.is_some_and(|log| log.is_debug),
        without: without.cloned().unwrap_or_default(),
        ..Options::default()
    };
    let values = fields.get("parameters").map_or(Ok(&[][..]), |node| node.table("parameters"))?;
    for value in values {
        options.start_values.push((value.name.clone(), start_value(&value.name, &value.node)?));
    }
    if let Some(node) = fields.get("substeps") {
        options.substeps = match node.value {
            Value::Integer(count @ 1..=1_000_000) => count as u32,
            _ => return Err(node.wanted("substeps", "a whole number from 1 to 1000000")),
        };
    }
    if let Some(Node { value: Value::Bool(is_allowed), .. }) = fields.get("probe") {
        options.probe = Some(*is_allowed);
    }
    if let Some(node) = fields.get("continuous") {
        let names = node.list("continuous")?.iter().map(|name| Ok(name.text("continuous")?.to_owned()));
        options.continuous = names.collect::<Result<_>>()?;
    }
    let path = folder.join(file.text("fmu")?);
    let failed = |error: Box<koppel_fmi::Error>| {
        let variable = error.place().variable;
        let named = values.iter().find(|value| variable.as_ref() == Some(&value.name));
        let of_solver = matches!(*error, koppel_fmi::Error::Solver { .. }).then(|| fields.get("solver"));
        let span = match (of_solver.flatten(), named) {
            (Some(solver), _) => &solver.span,
            (None, Some(value)) => &value.key,
            (None, None) => &file.span,
        };
        let is_crash = matches!(*error, koppel_fmi::Error::Ended(_));
        let mark = Mark { is_crash, ..Mark::of(span.clone(), &*error) };
        match mark.hints.is_empty() {
            true => mark.hint_if(other_kinds::missing(&archive::split(&path).0)),
            false => mark,
        }
    };
    let fmu = Fmu::open(&path).map_err(failed)?;
    if is_model_exchange(&fields, &fmu)? {
        let solver = fields.get("solver").map(|node| decode_tagged(node, "solver", "method"));
        options.solving = Solving::Koppel(solver.transpose()?);
    }
    let isolation = isolation::read(&entry.node)?.or(isolation);
    if let Purpose::Run(wanted) | Purpose::Trial(wanted) | Purpose::Copy(wanted) = purpose {
        let capabilities = wanted.capabilities_of(&fmu, &options);
        let Wanted { trials, cache, .. } = wanted;
        options.without = trials.without(&fmu, &options, &capabilities, &isolation.limits(), *cache);
        options.spared = wanted.spared;
    }
    let instance = match (purpose, isolation.isolation()) {
        (Purpose::Check, _) => {
            Deferred::new(&fmu, &options, not_in_a_check).map(|one| Box::new(one) as Box<dyn Subsystem>)
        }
        (Purpose::Trial(_), _) => apart(&fmu, &options, &isolation.of_trials()),
        (Purpose::Copy(_), _) => {
            let (of, with, isolation) = (fmu.clone(), options.clone(), isolation.of_trials());
            let make = move || apart(&of, &with, &isolation);
            Deferred::new(&fmu, &options, make).map(|one| Box::new(one) as Box<dyn Subsystem>)
        }
        (Purpose::Any | Purpose::Run(_), Some(isolation)) => isolate::host(&fmu, &options, &isolation),
        (Purpose::Any | Purpose::Run(_), None) => import::instantiate_any(&fmu, &options),
    };
    let instance = instance.map_err(failed)?;
    // Messages are not logged: such an FMU is not replayed.
    let ports = instance.ports();
    let has_messages = !(ports.message_inputs.is_empty() && ports.message_outputs.is_empty());
    let can_replay = !fmu.saves_as_bytes(&options) && !has_messages;
    Ok(match journal.filter(|_| can_replay) {
        Some(journal) => Box::new(Replayed::new(instance, &entry.name, journal)),
        None => instance,
    })
}

/// An instance in a process of its own, where that can be had.
fn apart(
    fmu: &Arc<Fmu>,
    options: &Options,
    isolation: &isolate::Isolation,
) -> koppel_fmi::Result<Box<dyn Subsystem>> {
    use koppel_fmi::Error;
    match isolate::host(fmu, options, isolation) {
        Err(error) if matches!(*error, Error::NoWorker | Error::NoIsolation) => {
            import::instantiate_any(fmu, options)
        }
        hosted => hosted,
    }
}

fn not_in_a_check() -> koppel_fmi::Result<Box<dyn Subsystem>> {
    Err(koppel_fmi::Error::NotStarted { instance: "a system that is only checked".into() }.into())
}

impl Wanted<'_> {
    /// What must hold of one FMU. One that is not to be tried is believed.
    fn capabilities_of(&self, fmu: &Fmu, options: &Options) -> Vec<Capability> {
        let is_only_one =
            fmu.interface(options.solving).is_some_and(|i| i.can_be_instantiated_only_once_per_process);
        if options.probe == Some(false) || is_only_one && options.probe != Some(true) {
            return Vec::new();
        }
        let mut all = self.capabilities.clone();
        // A stiff solver takes the FMU's own Jacobian.
        if let Solving::Koppel(Some(SolverConfig::Stiff(_))) = options.solving {
            all.push(Capability::DirectionalDerivatives);
        }
        let feeds_through =
            || import::ports(fmu.description()).outputs.iter().any(|y| y.depends != Dependencies::None);
        // Model exchange is made of such readings.
        if self.is_fresh && options.solving == Solving::Own && feeds_through() {
            all.extend([Capability::Reevaluation, Capability::Freshness]);
        }
        all
    }
}

/// The interface asked for, else co-simulation where the FMU has it; other keys must go with it.
fn is_model_exchange(fields: &Fields<'_>, fmu: &Fmu) -> Result<bool> {
    let has_both = fmu.description().co_simulation.is_some() && fmu.description().model_exchange.is_some();
    let is_model_exchange = match fields.get("interface") {
        None => fmu.description().co_simulation.is_none() && fmu.description().model_exchange.is_some(),
        Some(node) => match node.text("interface")? {
            "co-simulation" => false,
            "model-exchange" => true,
            other => {
                let known = INTERFACES.map(ToOwned::to_owned);
                return Err(Mark::unknown(node.span.clone(), "interface", other, &known));
            }
        },
    };
    if !is_model_exchange && let Some(node) = fields.get("solver") {
        let message = "`solver` does not go with a co-simulation FMU, which brings its own";
        let hint = if has_both { "add `interface = \"model-exchange\"`, or remove it" } else { "remove it" };
        return Err(Mark::new(node.span.clone(), message).hint(hint));
    }
    if is_model_exchange && let Some(node) = fields.get("substeps") {
        let message = "`substeps` does not go with model exchange: inputs are followed inside the solver";
        return Err(Mark::new(node.span.clone(), message).hint("remove it"));
    }
    Ok(is_model_exchange)
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
        _ => return Err(node.wanted(name, "a number, text, true, false, or a list of these")),
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
        match *error {
            koppel::Error::Unknown { kind: "model", .. } => {
                mark.and(", and `linear` with matrices; `koppel models` tells about each")
            }
            _ => mark,
        }
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
        Unit::parse(text).map_err(|error| Mark::of(unit.span.clone(), &error))?;
        variable = variable.unit(text);
    }
    if let Some(text) = fields.get("description") {
        variable = variable.about(text.text("description")?);
    }
    variable.nominal = fields.get("nominal").map(|node| node.number("nominal")).transpose()?;
    Ok(variable)
}

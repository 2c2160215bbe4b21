//! `[[connections]]` and `[[inputs]]`.

use std::path::Path;

use koppel::coupling::CouplingConfig;
use koppel::error::closest;
use koppel::signal::external::{External, ExternalConfig, Interpolation};
use koppel::system::{Connection, Scaling, UnitRule};
use koppel::unit::Unit;

use super::decode::decode_tagged;
use super::mistake::{Mark, Marks};
use super::run;
use super::tree::{Entry, Node, Value};
use crate::results::{Table, first_name, read_table, row_line};

type Result<T> = std::result::Result<T, Marks>;

/// A connection, with a coupling of its own if it has one.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) coupling: Option<CouplingConfig>,
}

/// External signals of one input, summed.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) to: String,
    pub(super) signals: Vec<ExternalConfig>,
    /// Gain, offset and unit of their sum.
    pub(super) scaling: Scaling,
    /// Those of the further signals: the offset counts once.
    further: Scaling,
    /// Per signal, the file its points come from, as it is written.
    files: Vec<Option<String>>,
}

impl Input {
    /// What becomes of the values of signal `index`.
    pub(super) fn scaling(&self, index: usize) -> &Scaling {
        if index == 0 { &self.scaling } else { &self.further }
    }

    /// Tables that do not cover the run from `start` to `stop`, in words: their outermost values hold there.
    pub(super) fn gaps(&self, start: f64, stop: f64) -> Vec<String> {
        let with_files = self.signals.iter().zip(&self.files);
        with_files.filter_map(|(signal, file)| self.gap(signal, file.as_deref(), start, stop)).collect()
    }

    fn gap(&self, signal: &ExternalConfig, file: Option<&str>, start: f64, stop: f64) -> Option<String> {
        let ExternalConfig::Table { times, values, interpolation } = signal else { return None };
        let (first, last) = (*times.first()?, *times.last()?);
        let margin = 1e-9 * (stop - start);
        // Written by hand, a table may end in a value that is meant to last.
        let lasts = file.is_none()
            && (*interpolation == Interpolation::Previous
                || values.len() == 1
                || values[values.len() - 1] == values[values.len() - 2]);
        let what = file.map_or("its table".to_owned(), |file| format!("its table `{file}`"));
        let to = &self.to;
        if last < stop - margin && !lasts {
            return Some(format!(
                "[[inputs]] for `{to}`: {what} ends at t = {last} s, before the stop at {stop} s: its last value holds from there on"
            ));
        }
        (first > start + margin && file.is_some()).then(|| {
            format!(
                "[[inputs]] for `{to}`: {what} begins at t = {first} s, after the start at {start} s: its first value holds until then"
            )
        })
    }
}

/// Tables that are written one by one.
pub(super) fn tables<'a>(node: Option<&'a Node>, key: &str) -> Result<&'a [Node]> {
    let list = node.map_or(Ok(&[][..]), |node| node.list(key));
    list.map_err(|mark| mark.hint(format!("write [[{key}]], once for each")).into())
}

pub(super) fn links(node: Option<&Node>, marks: &mut Marks) -> Vec<Link> {
    let list = marks.note(tables(node, "connections")).unwrap_or_default();
    list.iter().filter_map(|node| marks.note(link(node))).collect()
}

fn link(node: &Node) -> Result<Link> {
    let mut fields = node
        .fields("[[connections]]", &["from", "to", "gain", "offset", "units", "map", "filter", "coupling"])?;
    let connection = Connection {
        from: fields.want("from", sources),
        to: fields.text("to"),
        gain: fields.number("gain", 1.0),
        offset: fields.number("offset", 0.0),
        units: fields.read("units", unit_rule).unwrap_or(UnitRule::Convert),
        map: fields.read("map", pairs).unwrap_or_default(),
        filter: fields.read("filter", |node| decode_tagged(node, "filter", "kind")),
    };
    let coupling = fields.read("coupling", run::coupling);
    fields.or(Link { connection, coupling })
}

fn sources(node: &Node) -> Result<Vec<String>> {
    match &node.value {
        Value::Text(name) => Ok(vec![name.clone()]),
        Value::List(list) if !list.is_empty() => {
            list.iter().map(|name| Ok(name.text("from")?.to_owned())).collect()
        }
        _ => {
            Err(node.wanted("from", "an output such as \"left.x\", or a list of outputs to be summed").into())
        }
    }
}

fn unit_rule(node: &Node) -> Result<UnitRule> {
    match node.text("units")? {
        "convert" => Ok(UnitRule::Convert),
        "ignore" => Ok(UnitRule::Ignore),
        other => {
            let known = ["convert".into(), "ignore".into()];
            Err(Mark::unknown(node.span.clone(), "rule", other, &known).into())
        }
    }
}

/// A table of pairs, `[[0, 1], [1, 0]]`.
fn pairs(node: &Node) -> Result<Vec<(f64, f64)>> {
    let pair = |node: &Node| match node.numbers("map")?.as_slice() {
        [from, to] => Ok((*from, *to)),
        _ => Err(node.wanted("map", "a list of pairs such as [[0, 1], [1, 0]]").into()),
    };
    node.list("map")?.iter().map(pair).collect()
}

pub(super) fn inputs(node: Option<&Node>, folder: &Path, marks: &mut Marks) -> Vec<Input> {
    let list = marks.note(tables(node, "inputs")).unwrap_or_default();
    list.iter().filter_map(|node| marks.note(input(node, folder))).collect()
}

fn input(node: &Node, folder: &Path) -> Result<Input> {
    let mut fields = node.fields("[[inputs]]", &["to", "signal", "unit", "gain", "offset"])?;
    let nodes = fields.want("signal", |node| match &node.value {
        Value::List(list) => Ok::<_, Mark>(list.as_slice()),
        _ => Ok(std::slice::from_ref(node)),
    });
    let signals = nodes.iter().filter_map(|node| fields.note(signal(node, folder))).collect();
    let file = |node: &Node| Some(node.get("file")?.text("file").ok()?.to_owned());
    let files = nodes.iter().map(file).collect();
    let to = fields.text("to");
    let unit = fields.read("unit", |node| {
        let text = node.text("unit")?;
        Unit::parse(text).map_err(|error| Mark::of(node.span.clone(), &error)).map(|_| text.to_owned())
    });
    let (gain, offset) = (fields.number("gain", 1.0), fields.number("offset", 0.0));
    let scaling = Scaling { unit, gain, offset, is_difference: false };
    let further = Scaling { offset: 0.0, is_difference: true, ..scaling.clone() };
    fields.or(Input { to, signals, scaling, further, files })
}

fn signal(node: &Node, folder: &Path) -> Result<ExternalConfig> {
    let config = if node.get("file").is_some() {
        table(node, folder)?
    } else {
        decode_tagged(node, "signal", "kind")?
    };
    External::new(&config).map_err(|error| Mark::of(node.span.clone(), &error))?;
    Ok(config)
}

/// Points from a file: the columns are read, then the rest is a table like any other.
fn table(node: &Node, folder: &Path) -> Result<ExternalConfig> {
    let fields = node.fields("a signal from a file", &["kind", "file", "time", "column", "interpolation"])?;
    let fields = fields.checked()?;
    let kind = fields.need("kind")?;
    if kind.text("kind")? != "table" {
        return Err(Mark::new(kind.span.clone(), "only kind = \"table\" is read from a file").into());
    }
    let file = fields.need("file")?;
    let path = folder.join(file.text("file")?);
    let read = read_table(&path);
    let mut points = read
        .map_err(|error| Mark::of(file.span.clone(), &*error).hint_if(super::other_kinds::missing(&path)))?;
    points.columns.iter_mut().for_each(|(name, _)| *name = name.trim().to_owned());
    let values = values(&points, fields.get("column"), node)?;
    let times = match fields.get("time") {
        Some(name) if first_column(&path).as_deref() != Some(name.text("time")?.trim()) => {
            column(&points, name)?
        }
        _ => points.time.clone(),
    };
    check_points(&times, &values).map_err(|(row, problem)| {
        let line = row_line(&path, row).map_or(format!("row {}", row + 1), |line| format!("line {line}"));
        Mark::new(file.span.clone(), format!("`{}`, {line}: {problem}", path.display()))
    })?;
    let mut plain = node.clone();
    if let Value::Table(entries) = &mut plain.value {
        entries.retain(|entry| entry.name == "kind" || entry.name == "interpolation");
        entries.push(numbers("times", &times, node));
        entries.push(numbers("values", &values, node));
    }
    decode_tagged(&plain, "signal", "kind")
}

/// Numbers must be finite and times must not fall; else the row and what is wrong with it.
fn check_points(times: &[f64], values: &[f64]) -> std::result::Result<(), (usize, String)> {
    for (row, (time, value)) in times.iter().zip(values).enumerate() {
        if let Some(number) = [time, value].into_iter().find(|number| !number.is_finite()) {
            return Err((row, format!("{number} is not finite")));
        }
        if row > 0 && *time < times[row - 1] {
            let before = times[row - 1];
            return Err((row, format!("the time {time} s lies before the time above it, {before} s")));
        }
    }
    Ok(())
}

/// Name of the first column: of a CSV file as its header says, of a Parquet file always `time`.
fn first_column(path: &Path) -> Option<String> {
    if path.extension().is_some_and(|extension| extension != "csv") {
        return Some("time".into());
    }
    first_name(path)
}

fn numbers(name: &str, values: &[f64], at: &Node) -> Entry {
    let number = |value: &f64| Node { span: at.span.clone(), value: Value::Float(*value) };
    let node = Node { span: at.span.clone(), value: Value::List(values.iter().map(number).collect()) };
    Entry { name: name.to_owned(), key: at.span.clone(), node }
}

/// The named column, or the only one there is.
fn values(points: &Table, name: Option<&Node>, signal: &Node) -> Result<Vec<f64>> {
    match (name, &points.columns[..]) {
        (Some(name), _) => column(points, name),
        (None, [(_, values)]) => Ok(values.clone()),
        (None, columns) => {
            let names: Vec<String> = columns.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = "a signal from a file with several columns needs `column`";
            Err(Mark::new(signal.span.clone(), message).hint(format!("columns: {}", names.join(", "))).into())
        }
    }
}

fn column(points: &Table, name: &Node) -> Result<Vec<f64>> {
    let wanted = name.text("column")?.trim();
    let known: Vec<String> = points.columns.iter().map(|(name, _)| name.clone()).collect();
    let found = points.column(wanted).map(<[f64]>::to_vec);
    let columns = format!("columns: `{}`", known.join("`, `"));
    let hint =
        closest(wanted, &known).map_or(columns.clone(), |best| format!("did you mean `{best}`? {columns}"));
    found.ok_or_else(|| Mark::unknown(name.span.clone(), "column", wanted, &known).hint(hint).into())
}

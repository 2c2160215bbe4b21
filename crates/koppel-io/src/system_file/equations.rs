//! `model = "equations"`: a text of equations, what is declared beside it, and its lookup tables.
//!
//! Before anything is read, files that a subsystem names join the document like options do: `equations_file` becomes `equations`,
//! and `file` of a table its points. So their mistakes are shown at their places, and what is printed again needs no file.

use std::path::Path;

use koppel::equations::{
    Between, Declaration, Equations, Kind, MapConfig, Mistake, Outside, Source, Spot, Value as Given,
};
use koppel::system::Ode;
use koppel::unit::Unit;

use super::definitions;
use super::document::Document;
use super::fields::Fields;
use super::include;
use super::map_file;
use super::mistake::{Mark, Marks, Span, known_names};
use super::tree::{Entry, Node, Value};
use crate::{Error, Result};

type Marked<T> = std::result::Result<T, Marks>;

/// What a system file calls such a model.
pub(super) const EQUATIONS: &str = "equations";
/// Keys of a subsystem that is given by equations.
pub(super) const KEYS: [&str; 12] = [
    "model",
    "solver",
    "start",
    "parameters",
    "inputs",
    "outputs",
    "units",
    "equations",
    "equations_file",
    "tables",
    "every",
    "probe",
];

/// True if the subsystem is given by equations.
pub(super) fn is_of(node: &Node) -> bool {
    node.get("model").and_then(|model| model.text("model").ok()) == Some(EQUATIONS)
}

/// Start values without those that are formulas, and without names that are no variables: they are told with the equations.
pub(super) fn numbers(start: &Node) -> Node {
    let mut numbers = start.clone();
    if let Value::Table(entries) = &mut numbers.value {
        entries.retain(|entry| !matches!(entry.node.value, Value::Text(_)));
    }
    numbers
}

/// Puts included files, models and the files that equations name into the tree, so that a place in a text is one in the document.
pub(super) fn include(document: &mut Document) -> Result<()> {
    let mut root = document.root.clone();
    let mut marks = Marks::default();
    marks.note(include::join(document, &mut root));
    marks.note(definitions::resolve(document, &mut root));
    marks.or(()).map_err(|marks| document.mistake(marks))?;
    document.root = root;
    Ok(())
}

/// Reads the files that a model names.
pub(super) fn expand(document: &mut Document, node: &mut Node) -> Marked<()> {
    let Value::Table(entries) = &mut node.value else { return Ok(()) };
    let mut marks = Marks::default();
    if let Some(at) = entries.iter().position(|entry| entry.name == "equations_file") {
        if entries.iter().any(|entry| entry.name == "equations") {
            let what = "`equations` and `equations_file` exclude each other";
            return Err(Mark::new(entries[at].key.clone(), what).into());
        }
        let name = entries[at].node.text("equations_file")?.to_owned();
        let (text, start) = read(document, &name, &entries[at].node.span)?;
        let span = start..start + text.len();
        entries[at].name = "equations".into();
        entries[at].node = Node { span, value: Value::Text(text) };
    }
    for entry in entries.iter_mut() {
        match (entry.name.as_str(), &mut entry.node.value) {
            ("equations", Value::Text(text)) if entry.node.span.len() != text.len() => {
                if let Some(begin) = document.written(&entry.node.span).find(text.as_str()) {
                    let start = entry.node.span.start + begin;
                    entry.node.span = start..start + text.len();
                }
            }
            ("tables", Value::Table(tables)) => {
                for table in tables {
                    marks.note(points(document, &mut table.node));
                }
            }
            _ => {}
        }
    }
    marks.or(())
}

/// The text of a file, and where it begins in the document.
fn read(document: &mut Document, name: &str, span: &Span) -> Marked<(String, usize)> {
    let path = document.folder.join(name);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Mark::of(span.clone(), &*Error::io("read", Path::new(&path))(error)))?;
    // As TOML reads texts.
    let text = text.replace("\r\n", "\n");
    let start = document.add(&path.display().to_string(), &text);
    document.files.push(path);
    Ok((text, start))
}

/// Puts the points of a table's file in its place.
fn points(document: &mut Document, table: &mut Node) -> Marked<()> {
    let Some(file) = table.get("file").cloned() else { return Ok(()) };
    if let Some(key) = ["x", "y", "z"].iter().find(|key| table.get(key).is_some()) {
        let what = format!("`file` gives the points: `{key}` beside it is one too many");
        return Err(Mark::new(file.span.clone(), what).into());
    }
    let (text, start) = read(document, file.text("file")?, &file.span)?;
    let moved = |mark: Mark| Mark { span: mark.span.start + start..mark.span.end + start, ..mark };
    let read = map_file::read(&text).map_err(|marks| marks.into_iter().map(moved).collect::<Marks>())?;
    if let Value::Table(entries) = &mut table.value {
        entries.retain(|entry| entry.name != "file");
        let node = |value: Value| Node { span: file.span.clone(), value };
        let list = |numbers: Vec<f64>| {
            node(Value::List(numbers.into_iter().map(|number| node(Value::Float(number))).collect()))
        };
        let mut put = |name: &str, node: Node| {
            entries.push(Entry { name: name.into(), key: file.span.clone(), node });
        };
        put("x", list(read.x));
        match read.y {
            None => put("y", list(read.values)),
            Some(y) => {
                let rows = read.values.chunks(y.len().max(1)).map(|row| list(row.to_vec())).collect();
                put("y", list(y));
                put("z", node(Value::List(rows)));
            }
        }
    }
    Ok(())
}

/// The equations of a subsystem.
pub(super) fn equations(node: &Node, fields: &Fields<'_>) -> Marked<Box<dyn Ode>> {
    let mut marks = Marks::default();
    let text =
        marks.note(fields.need("equations").map_err(|marks| {
            marks.hint("equations = \"\"\" der(x) = v \"\"\", or equations_file = \"FILE\"")
        }));
    let text = text.and_then(|node| marks.note(node.text("equations")));
    let mut source = Source::new(text.unwrap_or_default());
    let kinds = [("parameters", Kind::Parameter), ("inputs", Kind::Input), ("outputs", Kind::Output)];
    for (key, kind) in kinds {
        source.declarations.extend(marks.note(declarations(fields.get(key), key, kind)).unwrap_or_default());
    }
    for (key, read) in [("start", start as Read), ("units", units)] {
        source.declarations.extend(marks.note(variables(fields.get(key), key, read)).unwrap_or_default());
    }
    for entry in fields.get("tables").map_or(&[][..], Node::entries) {
        source.maps.extend(marks.note(map(entry)));
    }
    source.every = fields.get("every").and_then(|node| marks.note(node.number("every")));
    marks.or(())?;
    let found = Equations::new(&source);
    found
        .map(|model| Box::new(model) as Box<dyn Ode>)
        .map_err(|mistakes| mistakes.into_iter().map(|mistake| mark(mistake, node)).collect())
}

/// A mistake at its place in the document.
fn mark(mistake: Mistake, node: &Node) -> Mark {
    let Mistake { spot, what, hint, unknown } = mistake;
    let mut mark = Mark::new(place(&spot, node), what);
    mark.hints.extend(hint);
    if let Some((name, known)) = unknown {
        mark.hints.push(known_names(&name, &known));
        mark.known = known;
    }
    mark
}

fn place(spot: &Spot, node: &Node) -> Span {
    let text = node.get("equations");
    match spot {
        Spot::Text(span) => text.map_or(node.span.clone(), |text| match &text.value {
            Value::Text(whole) if whole.len() == text.span.len() => {
                text.span.start + span.start..text.span.start + span.end
            }
            _ => text.span.clone(),
        }),
        Spot::Declared(kind, name) => declared(*kind, name, node).unwrap_or_else(|| node.span.clone()),
        Spot::Whole => text.map_or(node.span.clone(), |text| text.span.clone()),
    }
}

/// Where a name is declared beside the text.
fn declared(kind: Kind, name: &str, node: &Node) -> Option<Span> {
    let keys: &[&str] = match kind {
        Kind::Parameter => &["parameters"],
        Kind::Input => &["inputs"],
        Kind::Output => &["outputs"],
        Kind::Variable => &["start", "units"],
        Kind::Map => &["tables"],
        Kind::Every => return node.get("every").map(|every| every.span.clone()),
    };
    keys.iter().filter_map(|key| node.get(key)).find_map(|table| {
        let entry = table.entries().iter().find(|entry| entry.name == name).map(|entry| entry.key.clone());
        let is_it = |item: &&Node| {
            item.text("").is_ok_and(|text| text == name)
                || item.get("name").is_some_and(|own| own.text("").is_ok_and(|text| text == name))
        };
        entry.or_else(|| table.items().iter().find(is_it).map(|item| item.span.clone()))
    })
}

/// Parameters, inputs or outputs: a list of names or of tables with a name, or a table by name.
fn declarations(node: Option<&Node>, what: &str, kind: Kind) -> Marked<Vec<Declaration>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let mut marks = Marks::default();
    let found = match &node.value {
        Value::Table(entries) => {
            let one = |entry: &Entry| marks.note(declaration(&entry.name, &entry.node, kind, &[]));
            entries.iter().filter_map(one).collect()
        }
        Value::List(items) if kind != Kind::Parameter => {
            let one = |item: &Node| {
                marks.note(match &item.value {
                    Value::Text(name) => Ok(Declaration::new(kind, name)),
                    Value::Table(_) => match item.get("name") {
                        Some(name) => name
                            .text("name")
                            .map_err(Marks::from)
                            .and_then(|name| declaration(name, item, kind, &["name"])),
                        None => {
                            Err(Mark::new(item.span.clone(), format!("one of `{what}` has no `name`")).into())
                        }
                    },
                    _ => Err(item.wanted(what, "a list of names, or a table such as { F = \"N\" }").into()),
                })
            };
            items.iter().filter_map(one).collect()
        }
        _ if kind == Kind::Parameter => return Err(node.wanted(what, "a table such as { m = 1200 }").into()),
        _ => return Err(node.wanted(what, "a list of names, or a table such as { F = \"N\" }").into()),
    };
    marks.or(found)
}

/// A number, a text (the formula of a parameter, the unit of a port), or a table with more.
fn declaration(name: &str, node: &Node, kind: Kind, more: &[&str]) -> Marked<Declaration> {
    let mut found = Declaration::new(kind, name);
    match &node.value {
        Value::Integer(_) | Value::Float(_) if kind == Kind::Parameter => {
            found.value = Some(Given::Number(node.number(name)?));
        }
        Value::Text(text) if kind == Kind::Parameter => found.value = Some(Given::Formula(text.clone())),
        Value::Text(text) => found.unit = unit(node, text)?,
        Value::Table(_) => {
            let value = if kind == Kind::Parameter { "value" } else { "start" };
            let mut keys = vec!["unit", "description", "nominal"];
            keys.extend(more);
            if kind != Kind::Output {
                keys.push(value);
            }
            let mut fields = node.fields(&format!("`{name}`"), &keys)?;
            found.value = fields.read(value, given);
            found.unit = fields.read("unit", |node| unit(node, node.text("unit")?)).flatten();
            found.nominal = fields.read("nominal", |node| node.number("nominal"));
            let about = fields.read("description", |node| node.text("description").map(str::to_owned));
            found.about = about.unwrap_or_default();
            fields.or(())?;
        }
        _ if kind == Kind::Parameter => {
            return Err(node.wanted(name, "a number, a formula in quotes, or a table with `value`").into());
        }
        _ => return Err(node.wanted(name, "a unit in quotes, or a table such as { unit = \"N\" }").into()),
    }
    Ok(found)
}

fn given(node: &Node) -> std::result::Result<Given, Mark> {
    match &node.value {
        Value::Text(text) => Ok(Given::Formula(text.clone())),
        _ => node.number("value").map(Given::Number),
    }
}

/// A unit that is understood.
fn unit(node: &Node, text: &str) -> std::result::Result<Option<String>, Mark> {
    Unit::parse(text).map(|_| Some(text.to_owned())).map_err(|error| Mark::of(node.span.clone(), &error))
}

type Read = fn(&mut Declaration, &Node) -> std::result::Result<(), Mark>;

fn start(found: &mut Declaration, node: &Node) -> std::result::Result<(), Mark> {
    found.value = Some(given(node)?);
    Ok(())
}

fn units(found: &mut Declaration, node: &Node) -> std::result::Result<(), Mark> {
    found.unit = unit(node, node.text("unit")?)?;
    Ok(())
}

/// Start values or units of variables, by name.
fn variables(node: Option<&Node>, what: &str, read: Read) -> Marked<Vec<Declaration>> {
    let mut marks = Marks::default();
    let entries = node.map_or(Ok(&[][..]), |node| node.table(what))?;
    let one = |entry: &Entry| {
        let mut found = Declaration::new(Kind::Variable, &entry.name);
        marks.note(read(&mut found, &entry.node)).map(|()| found)
    };
    let found = entries.iter().filter_map(one).collect();
    marks.or(found)
}

/// A lookup table.
fn map(entry: &Entry) -> Marked<MapConfig> {
    let what = format!("table `{}`", entry.name);
    let mut fields = entry.node.fields(&what, &["x", "y", "z", "file", "interpolation", "outside"])?;
    let numbers = |node: &Node, key: &str| node.numbers(key);
    let x = fields.want("x", |node| numbers(node, "x"));
    let y = fields.want("y", |node| numbers(node, "y"));
    let rows = fields.read("z", |node| -> std::result::Result<Vec<f64>, Mark> {
        let rows = node.list("z")?;
        let mut values = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let row_values = row.numbers("z")?;
            if row_values.len() != y.len() {
                let message = format!(
                    "row {} of `z` has {} values, `y` has {} points",
                    index + 1,
                    row_values.len(),
                    y.len()
                );
                return Err(Mark::new(row.span.clone(), message)
                    .hint("`z` has one row for each x, and in it one value for each y"));
            }
            values.extend(row_values);
        }
        Ok(values)
    });
    let between = fields.read("interpolation", |node| match node.text("interpolation")? {
        "linear" => Ok(Between::Linear),
        "monotone" => Ok(Between::Monotone),
        _ => Err(node.wanted("interpolation", "\"linear\" or \"monotone\"")),
    });
    let outside = fields.read("outside", |node| match node.text("outside")? {
        "clamp" => Ok(Outside::Clamp),
        "extrapolate" => Ok(Outside::Extrapolate),
        "refuse" => Ok(Outside::Refuse),
        _ => Err(node.wanted("outside", "\"clamp\", \"extrapolate\" or \"refuse\"")),
    });
    let has_rows = fields.get("z").is_some();
    let (y, values) = if has_rows { (Some(y), rows.unwrap_or_default()) } else { (None, y) };
    let (between, outside) = (between.unwrap_or_default(), outside.unwrap_or_default());
    fields.or(MapConfig { name: entry.name.clone(), x, y, values, between, outside })
}

//! A system file as a system structure package.
//!
//! Components, connections and start values are written as the standard has them; everything else (the run, signals,
//! sums of outputs) rides in koppel's annotation. Running the package gives the same numbers, bit for bit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use koppel_fmi::archive::{self, Archive};
use koppel_fmi::description::{Causality, Description, Start};
use koppel_ssp::model::{Connection, End, Implementation, Version};
use koppel_ssp::{ComponentDescription, PackageFile, Payload, SystemDescription, Tolerance, write_ssp};

use super::super::mistake::Mark;
use super::super::tree::{Entry, Node, Value};
use super::super::{SystemSpec, isolation, resolved, subsystem};
use super::types::{Element, GivenValue, Types};
use crate::{Error, Result};

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Components.
    pub components: usize,
    /// FMUs packed; components may share one.
    pub fmus: usize,
    /// What other tools will not see.
    pub notes: Vec<String>,
}

/// Writes a system file whose subsystems are FMUs as a package, with its FMUs inside.
///
/// # Errors
///
/// If a subsystem is no FMU, an FMU cannot be read, or the standard has no words for a connection.
pub fn export(file: &SystemSpec, out: &Path, version: Version) -> Result<Exported> {
    let entries = file.document.root.get("subsystems").map_or(&[][..], Node::entries);
    check_fmus(entries)?;
    let mut packing = Packing { file, version, types: Types::new(version), fmus: Vec::new() };
    let marked = |mark: Mark| file.document.mistake(mark);
    let parts: Vec<Part> = entries.iter().map(|e| packing.part(e)).collect::<Marked<_>>().map_err(marked)?;
    let (connections, kept) = packing.connections(&parts)?;
    let note =
        |kept: &Kept| format!("{}, which SSP does not know: it is kept in koppel's annotation", kept.why);
    let mut notes: Vec<String> = kept.iter().map(note).collect();
    if let Some(toml::Value::Array(inputs)) = resolved::open_table(file).get("inputs") {
        let to =
            inputs.iter().filter(|input| is_from_file(input)).filter_map(|input| input.get("to")?.as_str());
        notes.extend(to.map(|to| {
            format!("the signal of `{to}` comes from a file, which no package can name: say it in a settings file beside the package")
        }));
    }
    let name = if file.title.is_empty() {
        out.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    } else {
        file.title.clone()
    };
    let files = packing.files()?;
    let system = SystemDescription {
        name,
        description: (!file.description.is_empty()).then(|| file.description.clone()),
        version,
        components: parts.into_iter().map(|part| part.component).collect(),
        connections,
        units: packing.types.units,
        enumerations: packing.types.enumerations,
        start: Some(file.run.start),
        stop: Some(file.run.stop),
        settings: Some(settings(file, &kept)),
        ..SystemDescription::default()
    };
    write_ssp(out, &system, &files).map_err(|error| super::refused(out, error, Tolerance::Tolerant))?;
    Ok(Exported { components: system.components.len(), fmus: files.len(), notes })
}

/// True for a signal that is read from a file.
fn is_from_file(input: &toml::Value) -> bool {
    let signals = input.get("signal");
    let one = |signal: &toml::Value| signal.get("file").is_some();
    signals.is_some_and(|signal| one(signal) || signal.as_array().is_some_and(|list| list.iter().any(one)))
}

type Marked<T> = std::result::Result<T, Mark>;

fn check_fmus(entries: &[Entry]) -> Result<()> {
    let native: Vec<String> =
        entries.iter().filter(|e| !subsystem::is_fmu(e)).map(|e| format!("`{}`", e.name)).collect();
    if native.is_empty() {
        return Ok(());
    }
    let (are, models) =
        if native.len() == 1 { ("is", "a model of koppel") } else { ("are", "models of koppel") };
    let message = format!("{} {are} {models} itself, which other tools cannot run", native.join(", "));
    let hint = "make FMUs of them with `koppel fmu export`, and name those with fmu = \"FILE.fmu\"";
    Err(Box::new(Error::Structure { message, hints: vec![hint.to_owned()] }))
}

/// A component, with what its FMU says.
struct Part {
    component: ComponentDescription,
    description: Description,
}

/// A connection that rides in the annotation: the input it leads to, and why.
struct Kept {
    to: String,
    why: String,
}

struct Packing<'a> {
    file: &'a SystemSpec,
    version: Version,
    types: Types,
    /// Files on disk and their names in the package.
    fmus: Vec<(PathBuf, String)>,
}

impl Packing<'_> {
    fn part(&mut self, entry: &Entry) -> Marked<Part> {
        let Some(node) = entry.node.get("fmu") else {
            return Err(Mark::new(entry.key.clone(), "is no FMU"));
        };
        let path = self.file.document.folder.join(node.text("fmu")?);
        let mut description =
            Description::open(&path).map_err(|error| Mark::new(node.span.clone(), error.to_string()))?;
        let values = entry.node.get("parameters").map_or(&[][..], Node::entries);
        let values: Vec<(&Entry, GivenValue)> = values
            .iter()
            .map(|value| Ok((value, wanted(&value.node, &value.name)?)))
            .collect::<Marked<_>>()?;
        values.iter().for_each(|(value, wanted)| resize(&mut description, &value.name, wanted));
        let connectors = self.types.connectors(&description);
        let mut parameters = Vec::new();
        for (value, wanted) in &values {
            let found = self.types.parameter(&description, &value.name, wanted);
            parameters.push(found.map_err(|problem| {
                let name = format!("{}.{}", entry.name, value.name);
                Mark::new(value.key.clone(), format!("the value of `{name}` cannot be written: {problem}"))
            })?);
        }
        let component = ComponentDescription {
            name: entry.name.clone(),
            description: description.description.clone(),
            source: Some(self.packed(&path)),
            implementation: match entry.node.get("interface").and_then(|node| node.text("interface").ok()) {
                Some("model-exchange") => Implementation::ModelExchange,
                Some("co-simulation") => Implementation::CoSimulation,
                _ => Implementation::Any,
            },
            connectors,
            parameters,
        };
        Ok(Part { component, description })
    }

    /// The name of an FMU in the package; the same file is packed once.
    fn packed(&mut self, path: &Path) -> String {
        if let Some((_, name)) = self.fmus.iter().find(|(known, _)| known == path) {
            return name.clone();
        }
        let text = path.to_string_lossy();
        let last = text.rsplit(['/', '\\', '!']).next().unwrap_or_default();
        let stem = last.strip_suffix(".fmu").unwrap_or(last);
        let stem: String = stem.chars().map(|c| if c == ':' || c.is_control() { '_' } else { c }).collect();
        let is_free = |name: &String| !self.fmus.iter().any(|(_, n)| n.to_lowercase() == name.to_lowercase());
        let numbered = (2..).map(|k| format!("resources/{stem}_{k}.fmu"));
        let names = std::iter::once(format!("resources/{stem}.fmu")).chain(numbered);
        let name = names.into_iter().find(is_free).unwrap_or_default();
        self.fmus.push((path.into(), name.clone()));
        name
    }

    fn files(&self) -> Result<Vec<PackageFile>> {
        let one = |(path, name): &(PathBuf, String)| {
            let payload = match archive::split(path) {
                (file, inside) if inside.is_empty() => Payload::File(file),
                _ => Payload::Bytes(unpacked(path)?),
            };
            Ok(PackageFile { path: name.clone(), payload })
        };
        self.fmus.iter().map(one).collect()
    }

    /// Connections as the standard has them; and those it has no words for, with the reason.
    fn connections(&self, parts: &[Part]) -> Result<(Vec<Connection>, Vec<Kept>)> {
        let places: HashMap<&str, &Part> = parts.iter().map(|p| (p.component.name.as_str(), p)).collect();
        let (mut connections, mut kept) = (Vec::new(), Vec::new());
        for connection in self.file.connections() {
            let to = &connection.to;
            let [from] = connection.from.as_slice() else {
                kept.push(Kept { to: to.clone(), why: format!("`{to}` gets a sum of outputs") });
                continue;
            };
            if connection.filter.is_some() {
                kept.push(Kept { to: to.clone(), why: format!("`{to}` gets a filtered output") });
                continue;
            }
            let end = |name: &str| {
                self.end(name, &places).map_err(|problem| {
                    let message = format!("connection `{from}` -> `{to}`: {problem}");
                    Box::new(Error::Structure { message, hints: Vec::new() })
                })
            };
            let ends = [end(from)?, end(to)?];
            let variable = |end: &End| &places[end.element.as_deref().unwrap_or("")].description;
            let variables = [0, 1].map(|side| (variable(&ends[side]), ends[side].connector.as_str()));
            let transformation = match self.types.transformation(connection, variables) {
                Ok(transformation) => transformation,
                Err(why) => {
                    kept.push(Kept {
                        to: to.clone(),
                        why: format!("the connection `{from}` -> `{to}` {why}"),
                    });
                    continue;
                }
            };
            let suppress_unit_conversion = connection.units == koppel::system::UnitRule::Ignore;
            let [start, end] = ends;
            connections.push(Connection {
                start,
                end,
                transformation,
                suppress_unit_conversion,
                ..Connection::default()
            });
        }
        Ok((connections, kept))
    }

    /// `component.variable`, or an element `component.variable[1,2]` of an array.
    fn end(&self, name: &str, parts: &HashMap<&str, &Part>) -> std::result::Result<End, String> {
        let split =
            name.rmatch_indices('.').find_map(|(dot, _)| Some((parts.get(&name[..dot])?, &name[dot + 1..])));
        let Some((part, variable)) = split else { return Err(format!("there is no subsystem of `{name}`")) };
        let element = Some(part.component.name.clone());
        if part.description.find(variable).is_some() {
            return Ok(End { element, connector: variable.to_owned(), indices: Vec::new() });
        }
        let array = variable.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
        let indices =
            array.and_then(|(_, list)| list.split(',').map(|k| k.parse().ok()).collect::<Option<_>>());
        match (array, indices) {
            (Some((array, _)), Some(_)) if self.version == Version::One => {
                Err(format!("SSP 1.0 has no elements of arrays (`{array}`); write SSP 2.0 with --ssp 2"))
            }
            (Some((array, _)), Some(indices)) => Ok(End { element, connector: array.to_owned(), indices }),
            _ => Err(format!("the FMU has no variable `{variable}`")),
        }
    }
}

/// A number, true and false, a text, or a list of these.
fn wanted(node: &Node, name: &str) -> Marked<GivenValue> {
    let element = match &node.value {
        Value::List(list) => {
            let parts =
                list.iter().map(|node| Ok(wanted(node, name)?.elements)).collect::<Marked<Vec<_>>>()?;
            return Ok(GivenValue { elements: parts.into_iter().flatten().collect(), is_list: true });
        }
        Value::Text(text) => Element::Text(text.clone()),
        Value::Bool(value) => Element::Number(f64::from(u8::from(*value))),
        _ => Element::Number(node.number(name)?),
    };
    Ok(GivenValue { elements: vec![element], is_list: false })
}

/// Arrays have the size that a structural parameter is given.
fn resize(description: &mut Description, name: &str, wanted: &GivenValue) {
    let Some(at) = description.find(name) else { return };
    let variable = &mut description.variables[at];
    if let (Causality::StructuralParameter, [Element::Number(size)]) =
        (variable.causality, &wanted.elements[..])
    {
        variable.start = Some(Start::Integers(vec![*size as i128]));
    }
}

/// The bytes of an FMU that lies in a package.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let failed = |message: String| Box::new(Error::Structure { message, hints: Vec::new() });
    let text = path.to_string_lossy();
    let (outer, entry) = text.rsplit_once('!').unwrap_or((&text, ""));
    let read = Archive::open(Path::new(outer)).and_then(|mut a| a.read(entry, archive::MAX_INNER_SIZE));
    let read = read.map_err(|error| failed(error.to_string()))?;
    read.ok_or_else(|| failed(format!("there is no `{entry}` in `{outer}`")))
}

/// What the standard does not say: the run, signals, changes, other settings of components, connections of koppel's own.
fn settings(file: &SystemSpec, kept: &[Kept]) -> String {
    let mut table = resolved::open_table(file);
    if let Some(toml::Value::Table(subsystems)) = table.get_mut("subsystems") {
        for (_, subsystem) in subsystems.iter_mut() {
            if let toml::Value::Table(keys) = subsystem {
                keys.retain(|key, _| key != "fmu" && key != "parameters");
            }
        }
        subsystems.retain(|_, subsystem| subsystem.as_table().is_some_and(|keys| !keys.is_empty()));
    }
    if let Some(toml::Value::Array(connections)) = table.get_mut("connections") {
        connections.retain(|c| {
            c.get("to").and_then(|to| to.as_str()).is_some_and(|to| kept.iter().any(|kept| kept.to == to))
        });
    }
    // What the reader of the package decides, and what would lead out of it.
    let is_theirs = |key: &str, value: &toml::Value| {
        isolation::KEYS.contains(&key) && !(key == "isolate" && value.as_bool() == Some(true))
    };
    if let Some(toml::Value::Table(run)) = table.get_mut("run") {
        run.retain(|key, value| !is_theirs(key, value));
    }
    if let Some(toml::Value::Table(subsystems)) = table.get_mut("subsystems") {
        for keys in subsystems.iter_mut().filter_map(|(_, one)| one.as_table_mut()) {
            keys.retain(|key, value| !is_theirs(key, value));
        }
        subsystems.retain(|_, subsystem| subsystem.as_table().is_some_and(|keys| !keys.is_empty()));
    }
    if let Some(toml::Value::Array(inputs)) = table.get_mut("inputs") {
        inputs.retain(|input| !is_from_file(input));
    }
    table.retain(|_, value| match value {
        toml::Value::Table(keys) => !keys.is_empty(),
        toml::Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    toml::to_string(&table).unwrap_or_default()
}

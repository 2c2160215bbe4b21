//! koppel's own settings of a structure: the annotation, the file beside it, and what neither of them says.

use std::path::Path;

use koppel_ssp::{Components, FlatConnection, SETTINGS_ANNOTATION, Ssp};

use super::super::document::Document;
use super::super::isolation;
use super::super::mistake::{Mark, Marks};
use super::super::tree::{self, Entry, Node, Value};
use super::beside;
use super::import::entry;
use crate::{Error, Result};

type Marked<T> = std::result::Result<T, Marks>;

/// Keys of koppel's settings: a system file that adds to the structure.
const KEYS: [&str; 7] = ["title", "description", "run", "subsystems", "connections", "inputs", "at"];

/// Adds the settings of the annotation, then those of the file beside the structure.
pub(super) fn add(document: &mut Document, path: &Path, ssp: &Ssp) -> Result<()> {
    let mut sources = Vec::new();
    let default = ["start", "stop"].map(|key| (key, time(&document.root, key)));
    if let Some(text) = ssp.settings() {
        let place = format!("{} (annotation {SETTINGS_ANNOTATION})", ssp.structure().file);
        overlay(document, &place, &text, Origin::Package)?;
        sources.push("the annotation".to_owned());
    }
    let file = beside(path);
    if file.exists() {
        let text = std::fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        overlay(document, &file.display().to_string(), &text, Origin::User)?;
        sources.push(format!("`{}`", file.display()));
    }
    if sources.is_empty() {
        sources.push("defaults".into());
    }
    let sources = sources.join(", then ");
    document.choices.push(("settings", format!("from {sources}")));
    for (key, default) in default {
        let given = time(&document.root, key);
        if let (Some(default), Some(given)) = (default, given)
            && default != given
        {
            let why =
                format!("{given} s, from {sources}; the structure's default experiment has {default} s");
            document.choices.push((key, why));
        }
    }
    Ok(())
}

/// Start or stop as the tree has it now.
fn time(root: &Node, key: &str) -> Option<f64> {
    root.get("run")?.get(key)?.number(key).ok()
}

/// Who says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The author of the package, who may not decide what it may do on this machine.
    Package,
    /// The user.
    User,
}

fn overlay(document: &mut Document, place: &str, text: &str, origin: Origin) -> Result<()> {
    let offset = document.add(place, text);
    let parsed = tree::parse(text).map_err(|mark| {
        let span = mark.span.start + offset..mark.span.end + offset;
        document.mistake(Mark { span, ..mark })
    });
    let mut node = parsed?;
    node.shift(offset as isize);
    let checked = check(&document.root, &node);
    checked.map_err(|mark| document.mistake(mark))?;
    if origin == Origin::Package {
        without_files(&node).map_err(|mark| document.mistake(mark))?;
        for key in harmless(&mut node) {
            let text = format!("{key} in the package: isolation and its limits are yours to set");
            document.notices.push(("ignored", text));
        }
    }
    merge(&mut document.root, node);
    Ok(())
}

/// Settings add to what the structure has: no other subsystems, no other FMUs.
fn check(root: &Node, settings: &Node) -> Marked<()> {
    let mut fields = settings.fields("koppel's settings of a structure", &KEYS)?;
    let names: Vec<String> = root
        .get("subsystems")
        .map_or(&[][..], Node::entries)
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    let entries = fields.read("subsystems", |node| node.table("subsystems")).unwrap_or_default();
    for entry in entries {
        if !names.contains(&entry.name) {
            let mark = Mark::unknown(entry.key.clone(), "component of the structure", &entry.name, &names);
            fields.note(Err::<(), _>(mark));
        }
        for key in entry.node.entries().iter().filter(|key| matches!(key.name.as_str(), "fmu" | "model")) {
            let message = format!("`{}` of a component is said by the structure", key.name);
            fields.note(Err::<(), _>(Mark::new(key.key.clone(), message)));
        }
    }
    fields.or(())
}

/// Removes what would lift limits of FMUs, or open something to them; what was removed. That they are isolated may be said.
fn harmless(settings: &mut Node) -> Vec<String> {
    let mut removed = Vec::new();
    let Value::Table(sections) = &mut settings.value else { return removed };
    let mut clean = |node: &mut Node, whose: &str| {
        let Value::Table(entries) = &mut node.value else { return };
        entries.retain(|entry| {
            let isolates = entry.name == "isolate" && matches!(entry.node.value, Value::Bool(true));
            let stays = isolates || !isolation::KEYS.contains(&entry.name.as_str());
            if !stays {
                removed.push(format!("`{}` of {whose}", entry.name));
            }
            stays
        });
    };
    for section in sections {
        match (section.name.as_str(), &mut section.node.value) {
            ("run", _) => clean(&mut section.node, "[run]"),
            ("subsystems", Value::Table(all)) => {
                all.iter_mut().for_each(|one| clean(&mut one.node, &format!("`{}`", one.name)));
            }
            _ => {}
        }
    }
    removed
}

/// A package names no files of the machine.
fn without_files(node: &Node) -> Marked<()> {
    let mut marks = Marks::default();
    for entry in node.entries() {
        if matches!(entry.name.as_str(), "file" | "equations_file" | "include") {
            let mark = Mark::new(
                entry.key.clone(),
                format!("a package cannot name files of this machine (`{}`)", entry.name),
            );
            marks.add(mark.hint("say it in a file of your own beside the package"));
        }
        marks.note(without_files(&entry.node));
    }
    node.items().iter().for_each(|item| _ = marks.note(without_files(item)));
    marks.or(())
}

/// Tables join, lists are continued, everything else is replaced.
fn merge(into: &mut Node, from: Node) {
    match (&mut into.value, from.value) {
        (Value::Table(old), Value::Table(new)) => {
            for Entry { name, key, node } in new {
                match old.iter_mut().find(|entry| entry.name == name) {
                    Some(known) if continues(&name) || matches!(known.node.value, Value::Table(_)) => {
                        merge(&mut known.node, node);
                    }
                    Some(known) => *known = Entry { name, key, node },
                    None => old.push(Entry { name, key, node }),
                }
            }
        }
        (Value::List(old), Value::List(new)) => old.extend(new),
        (old, new) => {
            *old = new;
            into.span = from.span;
        }
    }
}

/// Lists of the whole system; others, such as what is recorded, are replaced.
fn continues(name: &str) -> bool {
    matches!(name, "connections" | "inputs" | "at")
}

/// Chooses the step if nobody did, and leads signals for the top system's inputs to the components.
pub(super) fn complete(document: &mut Document, path: &Path, components: &Components) -> Marked<()> {
    let at = document.root.span.clone();
    let given = |key: &str| document.root.get("run").is_some_and(|run| run.get(key).is_some());
    let name = beside(path);
    let elsewhere = |key: &str| {
        let option = format!("give it with --{key}");
        format!("{option}, or write [run] with `{key}` to `{}`", name.display())
    };
    if !given("stop") {
        return Err(Mark::new(at, "the structure has no default stop time").hint(elsewhere("stop")).into());
    }
    if !given("step") {
        let steps = components.flat.components.iter().zip(&components.descriptions);
        let steps = steps.filter_map(|(component, description)| {
            let step = description.default_experiment.as_ref()?.step_size?;
            (step.is_finite() && step > 0.0).then_some((step, &component.name))
        });
        let Some((step, component)) = steps.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            let message = "no communication step is given, and no FMU proposes one";
            return Err(Mark::new(at, message).hint(elsewhere("step")).into());
        };
        let why = format!("{step} s, the smallest that an FMU proposes (`{component}`); --step changes it");
        document.choices.push(("step", why));
        let node = Node { span: at.clone(), value: Value::Float(step) };
        document.root.put(&["run", "step"], &at, node);
    }
    lead_signals(&mut document.root, components)
}

/// `to = "throttle"`, an input of the top system, becomes the inputs it is connected with.
fn lead_signals(root: &mut Node, components: &Components) -> Marked<()> {
    let flat = &components.flat;
    let Value::Table(entries) = &mut root.value else { return Ok(()) };
    let Some(inputs) = entries.iter_mut().find(|entry| entry.name == "inputs") else { return Ok(()) };
    let Value::List(list) = &mut inputs.node.value else { return Ok(()) };
    let mut led = Vec::new();
    for node in list.drain(..) {
        let to = node.get("to").and_then(|to| Some((to.text("to").ok()?.to_owned(), to.span.clone())));
        let top = to.filter(|(to, _)| flat.inputs.iter().any(|input| input.name == *to));
        let Some((name, span)) = top else {
            led.push(node);
            continue;
        };
        let is_from = |c: &&FlatConnection| c.from.component.is_none() && c.from.connector == name;
        for connection in flat.connections.iter().filter(is_from).filter(|c| c.to.component.is_some()) {
            let target = flat.port_name(&connection.to);
            if (connection.factor, connection.offset) != (1.0, 0.0) || connection.mapping.is_some() {
                let message = format!("a signal for `{name}` would be transformed on its way to `{target}`");
                return Err(Mark::new(span, message)
                    .hint(format!("give the signal to `{target}` itself"))
                    .into());
            }
            let mut copy = node.clone();
            copy.put(&["to"], &span, entry("to", &span, Value::Text(target)).node);
            led.push(copy);
        }
    }
    *list = led;
    Ok(())
}

//! `model = { file = "models.toml" }`: models of subsystems from a file of their own.
//!
//! The file joins the document like an option does, so that its mistakes are shown at their place, and its models become
//! settings of the method: what is learned as `learned`, matrices as `models`.

use koppel::coupling::CouplingConfig;
use koppel::identify::{GivenInterface, GivenStateSpace, Learned};

use std::collections::{BTreeMap, BTreeSet};

use super::decode::decode;
use super::document::Document;
use super::mistake::{Mark, Marks, Span};
use super::tree::{self, Entry, Node, Value};
use crate::{Error, Result};

type Marked<T> = std::result::Result<T, Marks>;

/// Keys beside `file`.
const OTHERS: [&str; 3] = ["file", "forgetting", "covariance"];

/// Reads every model file that a coupling names.
pub(super) fn include(document: &mut Document) -> Result<()> {
    let mut root = document.root.clone();
    let known: Vec<String> = root
        .get("subsystems")
        .map_or(&[][..], Node::entries)
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    let mut result = Ok(());
    each_coupling(&mut root, &mut |coupling| {
        if result.is_ok() {
            result = expand(document, coupling, &known);
        }
    });
    result?;
    document.root = root;
    Ok(())
}

/// Calls `act` for the coupling of the run, those inside `mixed`, and those of connections.
fn each_coupling(root: &mut Node, act: &mut impl FnMut(&mut Node)) {
    let Value::Table(sections) = &mut root.value else { return };
    for section in sections {
        match (section.name.as_str(), &mut section.node.value) {
            ("run", Value::Table(entries)) => {
                for coupling in entries.iter_mut().filter(|entry| entry.name == "coupling") {
                    within(&mut coupling.node, act);
                }
            }
            ("connections", Value::List(links)) => {
                let tables = links.iter_mut().filter_map(|link| match &mut link.value {
                    Value::Table(entries) => entries.iter_mut().find(|entry| entry.name == "coupling"),
                    _ => None,
                });
                tables.for_each(|coupling| within(&mut coupling.node, act));
            }
            _ => {}
        }
    }
}

fn within(coupling: &mut Node, act: &mut impl FnMut(&mut Node)) {
    act(coupling);
    let Value::Table(entries) = &mut coupling.value else { return };
    for entry in entries {
        match (entry.name.as_str(), &mut entry.node.value) {
            ("default", Value::Table(_)) => act(&mut entry.node),
            ("connections", Value::Table(methods)) => methods.iter_mut().for_each(|one| act(&mut one.node)),
            _ => {}
        }
    }
}

/// Puts the models of the file that this coupling names, if it names one, into its settings.
fn expand(document: &mut Document, coupling: &mut Node, known: &[String]) -> Result<()> {
    let Some(model) = coupling.get("model").filter(|model| model.get("file").is_some()).cloned() else {
        return Ok(());
    };
    let read = |document: &Document| -> Marked<(String, Span)> {
        let name = model.fields("a model from a file", &OTHERS)?.checked()?.need("file")?;
        Ok((name.text("file")?.to_owned(), name.span.clone()))
            .map(|(name, span)| (document.folder.join(name).display().to_string(), span))
    };
    let (place, span) = read(document).map_err(|mark| document.mistake(mark))?;
    let text = std::fs::read_to_string(&place).map_err(|error| {
        let error = Error::io("read", std::path::Path::new(&place))(error);
        document.mistake(Mark::of(span, &*error))
    })?;
    let start = document.add(&place, &text);
    document.files.push(place.into());
    let moved = |mark: Mark| Mark { span: mark.span.start + start..mark.span.end + start, ..mark };
    let mut models = tree::parse(&text).map_err(|mark| document.mistake(moved(mark)))?;
    models.shift(start.cast_signed());
    let settings = settings(&models, &model, known).map_err(|mark| document.mistake(mark))?;
    if let Value::Table(entries) = &mut coupling.value {
        entries.retain(|entry| !["model", "learned", "models"].contains(&entry.name.as_str()));
        entries.extend(settings);
    }
    Ok(())
}

/// `model`, and `learned` or `models`.
fn settings(models: &Node, model: &Node, known: &[String]) -> Marked<Vec<Entry>> {
    let at = &model.span;
    let entry = |name: &str, value: Value| Entry {
        name: name.into(),
        key: at.clone(),
        node: Node { span: at.clone(), value },
    };
    let Some(first) = models.entries().first() else {
        let mark = Mark::new(models.span.clone(), "there is no model in this file");
        let hint =
            "a table for each subsystem, such as [left] with S_y and S_u, or a file written by --save-models";
        return Err(mark.hint(hint).into());
    };
    let (method, mut marks) = (kind(first)?, Marks::default());
    for one in models.entries() {
        if !known.contains(&one.name) {
            marks.add(Mark::unknown(one.key.clone(), "subsystem", &one.name, known));
        } else if marks.note(kind(one)).is_some_and(|other| other != method) {
            let message = format!("`{}` and `{}` have models of different kinds", first.name, one.name);
            marks.add(
                Mark::new(one.key.clone(), message)
                    .hint("in one file all models are learned by the same method, or all are matrices"),
            );
        } else {
            marks.note(check(one));
        }
    }
    marks.or(())?;
    let own = |key: &str| model.entries().iter().find(|entry| entry.name == key).cloned();
    let others: Vec<Entry> = OTHERS[1..].iter().filter_map(|key| own(key)).collect();
    if let Some(wrong) = others.first().filter(|_| method != Some("rls")) {
        let message = format!("`{}` goes with models that were learned by \"rls\"", wrong.name);
        return Err(Mark::new(wrong.key.clone(), message).into());
    }
    let table = Value::Table(models.entries().to_vec());
    Ok(match method {
        None => vec![entry("model", Value::Text("given".into())), entry("models", table)],
        Some(method) => {
            let mut source = vec![entry("identify", Value::Text(method.into()))];
            let copied = if method == "rls" { &["N", "M"][..] } else { &["order", "window", "rows"] };
            source.extend(
                first.node.entries().iter().filter(|one| copied.contains(&one.name.as_str())).cloned(),
            );
            source.extend(others);
            vec![entry("model", Value::Table(source)), entry("learned", table)]
        }
    })
}

/// Subsystems of which a coupling that starts from learned models has none.
pub(super) fn missing<'a>(coupling: &CouplingConfig, known: &[&'a str]) -> BTreeSet<&'a str> {
    let parts = coupling.parts();
    let learned = parts.iter().filter_map(|part| part.models()).map(|own| own.learned);
    let lacks =
        |learned: &BTreeMap<String, Learned>, name: &str| !learned.is_empty() && !learned.contains_key(name);
    learned.flat_map(|learned| known.iter().copied().filter(|name| lacks(learned, name))).collect()
}

/// How a model was learned; nothing if it is given as matrices.
fn kind(entry: &Entry) -> Marked<Option<&'static str>> {
    match entry.node.get("identify") {
        None => Ok(None),
        Some(node) => match node.text("identify")? {
            "rls" => Ok(Some("rls")),
            "moesp" => Ok(Some("moesp")),
            other => {
                let known = ["rls".to_owned(), "moesp".to_owned()];
                Err(Mark::unknown(node.span.clone(), "method", other, &known).into())
            }
        },
    }
}

/// Everything that can be seen without the subsystem.
fn check(entry: &Entry) -> Marked<()> {
    let what = format!("the model of `{}`", entry.name);
    let node = &entry.node;
    node.table(&what)?;
    if node.get("identify").is_some() {
        let learned: Learned = decode(node, &what)?;
        if learned.step() <= 0.0 {
            let step = node.get("step").unwrap_or(node);
            return Err(Mark::new(step.span.clone(), format!("`step` of {what} must be above zero")).into());
        }
        return Ok(());
    }
    for one in node.entries().iter().filter(|one| one.name != "c") {
        if ["A", "B", "C", "D", "S_y", "S_u", "S_d"].contains(&one.name.as_str()) {
            one.node.matrix(&one.name)?;
        }
    }
    if node.get("A").is_some() {
        decode::<GivenStateSpace>(node, &what).map(|_| ())
    } else if node.get("S_y").is_some() {
        decode::<GivenInterface>(node, &what).map(|_| ())
    } else {
        let hint = "give S_y, S_u (S_d, c) of y' = S_y y + S_u u + S_d u' + c, or A, B, C (D), or use a file written by --save-models";
        Err(Mark::new(entry.key.clone(), format!("{what} is of no known kind")).hint(hint).into())
    }
}

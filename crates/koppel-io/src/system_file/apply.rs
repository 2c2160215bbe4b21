//! Settings that were chosen, written into the file they belong to.
//!
//! Only what changes is touched: every other character stays, comments above all. What is written is read again before the
//! file is replaced, and refused unless it means what was chosen.
//!
//! Methods of single connections are written where the connection stands; what stands elsewhere, as in a system
//! structure, is written in `[run]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use koppel::coupling::CouplingConfig;
use koppel::plan::Candidate;
use koppel::run::ScheduleConfig;
use toml_edit::{DocumentMut, Item, TableLike, Value as Edited};

use super::document::Document;
use super::{SystemSpec, auto, is_structure, load_structure, models, parse, run, structure, wiring};
use crate::results::write_whole;
use crate::{Error, Result};

/// Writes chosen settings into a system file that was read as this text, or into the file of settings beside a system structure, and
/// tells which. The file is replaced as a whole or not at all.
///
/// # Errors
///
/// If the file was changed since it was read, cannot be written, or cannot say what was chosen.
pub fn apply(read: &SystemSpec, path: &Path, chosen: &Candidate) -> Result<PathBuf> {
    match is_structure(path) {
        true => beside(path, chosen),
        false => within(read.text(), path, chosen),
    }
}

fn within(read: &str, path: &Path, chosen: &Candidate) -> Result<PathBuf> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    if text != read {
        return Err(refused(path, "it was changed since it was read", "tune it again"));
    }
    let edited = edited(&text, path, chosen)?;
    if !is_meant(&parse(&edited, path)?, chosen) {
        return Err(refused(path, "its layout leaves no place for them", "set them by hand"));
    }
    write_whole(path, &edited)?;
    Ok(path.to_path_buf())
}

/// The structure itself is left as it is.
fn beside(path: &Path, chosen: &Candidate) -> Result<PathBuf> {
    let target = structure::beside(path);
    let old = match target.exists() {
        true => Some(std::fs::read_to_string(&target).map_err(Error::io("read", &target))?),
        false => None,
    };
    write_whole(&target, &edited(old.as_deref().unwrap_or_default(), &target, chosen)?)?;
    let read = load_structure(path, &[], koppel_ssp::Tolerance::Tolerant);
    if read.as_ref().is_ok_and(|file| is_meant(file, chosen)) {
        return Ok(target);
    }
    match old {
        Some(old) => write_whole(&target, &old)?,
        None => std::fs::remove_file(&target).map_err(Error::io("remove", &target))?,
    }
    read?;
    Err(refused(&target, "something else in the structure's settings has the last word", "set them by hand"))
}

fn is_meant(file: &SystemSpec, chosen: &Candidate) -> bool {
    let plain = |coupling: &CouplingConfig| -> (CouplingConfig, BTreeMap<String, CouplingConfig>) {
        let (default, mut own) = parts(coupling);
        own.retain(|_, method| *method != default);
        (default, own)
    };
    let run = &file.run;
    run.step == chosen.step
        && run.schedule == chosen.schedule
        && plain(&run.coupling) == plain(&chosen.coupling)
}

/// The default of a coupling, and what connections have of their own.
fn parts(coupling: &CouplingConfig) -> (CouplingConfig, BTreeMap<String, CouplingConfig>) {
    match coupling {
        CouplingConfig::Mixed { default, connections } => ((**default).clone(), connections.clone()),
        other => (other.clone(), BTreeMap::new()),
    }
}

/// What the text says now.
struct Now {
    step: Option<f64>,
    schedule: ScheduleConfig,
    coupling: CouplingConfig,
    connections: BTreeMap<String, CouplingConfig>,
}

impl Now {
    fn of(text: &str, path: &Path) -> Result<Self> {
        let mut document = Document::new(text, path, &path.display().to_string())?;
        models::include(&mut document)?;
        let run = document.root.get("run");
        let of = |key: &str| run.and_then(|run| run.get(key));
        let read = || -> std::result::Result<Now, super::Marks> {
            let mut marks = super::Marks::default();
            let written = document.root.get("connections").filter(|list| !list.items().is_empty());
            let links = wiring::links(written, &mut marks);
            marks.or(())?;
            let own = links.into_iter().filter_map(|link| Some((link.connection.to, link.coupling?)));
            Ok(Now {
                // Nothing if it was still to be chosen.
                step: of("step").and_then(|node| node.number("step").ok()),
                schedule: of("schedule").map_or(Ok(ScheduleConfig::PARALLEL), run::schedule)?,
                coupling: of("coupling").map_or_else(|| Ok(auto::unsaid()), run::coupling)?,
                connections: own.collect(),
            })
        };
        read().map_err(|marks| document.mistake(marks))
    }
}

/// The text with the chosen settings in it.
fn edited(text: &str, path: &Path, chosen: &Candidate) -> Result<String> {
    let now = Now::of(text, path)?;
    let unreadable = |error: toml_edit::TomlError| refused(path, error.message(), "set them by hand");
    let mut document: DocumentMut = text.parse().map_err(unreadable)?;
    let (default, mut own) = parts(&chosen.coupling);
    for link in links(&mut document) {
        let Some(to) = link.get("to").and_then(|to| to.as_str()).map(ToOwned::to_owned) else { continue };
        let wanted = own.remove(&to);
        let old = now.connections.get(&to);
        if wanted.is_some() || old.is_some() {
            put_coupling(link, old, wanted.as_ref().unwrap_or(&default)).map_err(|why| why.at(path))?;
        }
    }
    let whole = match own.is_empty() {
        true => default,
        false => CouplingConfig::Mixed { default: Box::new(default), connections: own },
    };
    let run = document.entry("run").or_insert_with(toml_edit::table);
    let Some(run) = run.as_table_like_mut() else {
        return Err(refused(path, "`run` is no table", "set them by hand"));
    };
    if now.step != Some(chosen.step) {
        put(run, "step", number(chosen.step));
    }
    if now.schedule != chosen.schedule {
        put(run, "schedule", value(&chosen.schedule));
    }
    if now.coupling != whole {
        put_coupling(run, Some(&now.coupling), &whole).map_err(|why| why.at(path))?;
    }
    let edited = with_comments(text, document);
    // Lines end as they did.
    Ok(if text.contains("\r\n") { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited })
}

/// Tables of connections, however they are written.
fn links(document: &mut DocumentMut) -> Vec<&mut dyn TableLike> {
    match document.get_mut("connections") {
        Some(Item::ArrayOfTables(list)) => list.iter_mut().map(|table| table as &mut dyn TableLike).collect(),
        Some(Item::Value(Edited::Array(list))) => {
            let tables = list.iter_mut().filter_map(Edited::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}

/// A coupling that no text can say.
struct Inexpressible(&'static str);

impl Inexpressible {
    fn at(self, path: &Path) -> Box<Error> {
        refused(
            path,
            &format!("the models of `{}` come from a file", self.0),
            "keep that method with --keep method",
        )
    }
}

/// Puts a coupling under its key; of the same method only what differs is touched.
fn put_coupling(
    table: &mut dyn TableLike,
    old: Option<&CouplingConfig>,
    new: &CouplingConfig,
) -> std::result::Result<(), Inexpressible> {
    const KEY: &str = "coupling";
    if old == Some(new) && table.contains_key(KEY) {
        return Ok(());
    }
    let wanted = settings(new);
    let before = old.filter(|old| old.name() == new.name()).map(settings);
    if let (Some(before), Some(there)) = (before, table.get_mut(KEY).and_then(Item::as_table_like_mut)) {
        for key in before.keys().filter(|key| !wanted.contains_key(*key)) {
            there.remove(key);
        }
        for (key, value) in wanted.iter().filter(|(key, value)| before.get(*key) != Some(value)) {
            put(there, key, inline(value));
        }
        return Ok(());
    }
    if ["learned", "models"].iter().any(|key| wanted.contains_key(*key)) {
        return Err(Inexpressible(new.name()));
    }
    put(table, KEY, inline(&auto::brief(new)));
    Ok(())
}

/// All settings of a coupling.
fn settings(coupling: &CouplingConfig) -> toml::Table {
    toml::Table::try_from(coupling).unwrap_or_default()
}

fn value(settings: &impl serde::Serialize) -> Edited {
    toml::Value::try_from(settings).map_or_else(|_| Edited::from(""), |value| inline(&value))
}

/// On one line.
fn inline(value: &toml::Value) -> Edited {
    value.to_string().parse().unwrap_or_else(|_| Edited::from(value.to_string()))
}

/// As short as it can be read.
fn number(number: f64) -> Edited {
    let text = if (1e-4..1e6).contains(&number) { format!("{number:?}") } else { format!("{number:e}") };
    text.parse().unwrap_or_else(|_| Edited::from(number))
}

/// Replaces a value and keeps what stands around it, or adds it.
fn put(table: &mut dyn TableLike, key: &str, mut new: Edited) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) => {
            table.remove(key);
            table.insert(key, Item::Value(new));
        }
        None => {
            let last = table.iter_mut().last().and_then(|(_, item)| item.as_value_mut());
            // The blank before the brace that ends an inline table stays before it.
            if let Some(last) = last
                && last.decor().suffix().and_then(|suffix| suffix.as_str()) == Some(" ")
            {
                last.decor_mut().set_suffix("");
                new.decor_mut().set_suffix(" ");
            }
            table.insert(key, Item::Value(new));
        }
    }
}

/// The text of the document; comments that stood inside what was replaced come before the settings of the run.
fn with_comments(before: &str, mut document: DocumentMut) -> String {
    let text = document.to_string();
    let mut kept = comments(&text);
    let mut lost = String::new();
    for comment in comments(before) {
        match kept.iter().position(|known| *known == comment) {
            Some(at) => {
                kept.remove(at);
            }
            None => lost += &format!("{comment}\n"),
        }
    }
    if lost.is_empty() {
        return text;
    }
    let Some(table) = document.get_mut("run").and_then(Item::as_table_mut) else { return text };
    let Some(mut key) = ["coupling", "schedule", "step"]
        .into_iter()
        .find(|key| table.contains_value(key))
        .and_then(|key| table.key_mut(key))
    else {
        return text;
    };
    let decor = key.leaf_decor_mut();
    let old = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
    decor.set_prefix(old + &lost);
    document.to_string()
}

/// All comments of a text, in order.
fn comments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
        at += match quote {
            Some(quote) => quote.len() + quoted(&rest[quote.len()..], quote),
            None if rest.starts_with('#') => {
                let comment = rest.lines().next().unwrap_or(rest);
                found.push(comment.trim_end());
                comment.len()
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    found
}

/// How far a text in quotes reaches, with the quotes at its end.
fn quoted(text: &str, quote: &str) -> usize {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(quote) {
            return at + quote.len();
        }
        let is_escape = quote.starts_with('"') && rest.starts_with('\\');
        let mut characters = rest.chars();
        at += characters.next().map_or(1, char::len_utf8);
        if is_escape {
            at += characters.next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

fn refused(path: &Path, reason: &str, hint: &str) -> Box<Error> {
    let (path, reason, hint) = (path.to_path_buf(), reason.to_owned(), hint.to_owned());
    Box::new(Error::NotApplied { path, reason, hint })
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;

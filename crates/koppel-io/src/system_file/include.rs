//! `include`: parts of a system from other files.
//!
//! ```toml
//! include = ["models.toml", { file = "axle.toml", as = "front", parameters = { wheel.m = 30.0 } }]
//! ```
//!
//! The file of an entry may have `[models.*]`, `[subsystems.*]`, `[[connections]]`, `[[inputs]]` and `include` of its own; files that it
//! names are looked for beside it. With `as`, its subsystems get that name and a dot before theirs, so that one file can be included
//! several times, and its models are its own. All of it joins the tree: what is printed again names no file.

use std::path::{Path, PathBuf};

use super::definitions::{self, entries_mut, set, take};
use super::document::Document;
use super::mistake::{Mark, Marks, Span};
use super::tree::{self, Entry, Node, Value};
use crate::Error;

type Marked<T> = std::result::Result<T, Marks>;

/// What an included file may have.
const KEYS: [&str; 7] = ["title", "description", "include", "models", "subsystems", "connections", "inputs"];
/// Keys that name files.
const FILES: [&str; 3] = ["equations_file", "file", "fmu"];

/// Puts the included files into the tree.
pub(super) fn join(document: &mut Document, root: &mut Node) -> Marked<()> {
    let folder = document.folder.clone();
    join_below(document, root, &folder, &mut Vec::new())
}

/// The same for a tree that stands in `folder`; `path` are the files around it.
fn join_below(
    document: &mut Document,
    root: &mut Node,
    folder: &Path,
    path: &mut Vec<PathBuf>,
) -> Marked<()> {
    let Some(include) = take(root, "include") else { return Ok(()) };
    let items = match &include.node.value {
        Value::List(items) => items.clone(),
        Value::Text(_) | Value::Table(_) => vec![include.node.clone()],
        _ => return Err(include.node.wanted("include", "a file, or a list of files").into()),
    };
    let mut marks = Marks::default();
    for item in &items {
        let joined = Item::read(item).and_then(|item| item.join(document, root, folder, path));
        marks.note(joined);
    }
    marks.or(())
}

/// One entry of `include`.
struct Item {
    file: String,
    span: Span,
    name: Option<String>,
    parameters: Vec<Entry>,
}

impl Item {
    fn read(node: &Node) -> Marked<Item> {
        if let Value::Text(file) = &node.value {
            return Ok(Item { file: file.clone(), span: node.span.clone(), name: None, parameters: vec![] });
        }
        node.table("include").map_err(|_| {
            node.wanted("include", "a file, or a table such as { file = \"axle.toml\", as = \"front\" }")
        })?;
        let mut fields = node.fields("an entry of `include`", &["file", "as", "parameters"])?;
        let file = fields.want("file", |node| node.text("file").map(str::to_owned));
        let span = fields.get("file").map_or(node.span.clone(), |node| node.span.clone());
        let name = fields.read("as", |node| {
            let name = node.text("as")?;
            super::subsystem::check_name(name, &node.span, "an included file").map(|()| name.to_owned())
        });
        let parameters = fields.read("parameters", |node| node.table("parameters").map(<[Entry]>::to_vec));
        fields.or(Item { file, span, name, parameters: parameters.unwrap_or_default() })
    }

    fn join(
        &self,
        document: &mut Document,
        root: &mut Node,
        folder: &Path,
        path: &mut Vec<PathBuf>,
    ) -> Marked<()> {
        let place = folder.join(&self.file);
        let text = std::fs::read_to_string(&place).map_err(|error| {
            let hint = super::other_kinds::missing(&place);
            Mark::of(self.span.clone(), &*Error::io("read", &place)(error)).hint_if(hint)
        })?;
        let whole = place.canonicalize().unwrap_or_else(|_| place.clone());
        if path.contains(&whole) {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let names: Vec<String> = path.iter().chain([&whole]).map(|one| name(one)).collect();
            let what = format!("`{}` includes itself: {}", self.file, names.join(" -> "));
            return Err(Mark::new(self.span.clone(), what).into());
        }
        let start = document.add(&place.display().to_string(), &text);
        document.files.push(place.clone());
        let moved = |mark: Mark| Mark { span: mark.span.start + start..mark.span.end + start, ..mark };
        let mut tree = tree::parse(&text).map_err(moved)?;
        tree.shift(start.cast_signed());
        tree.fields("an included file", &KEYS)?.checked()?;
        let own = place.parent().map(Path::to_path_buf).unwrap_or_default();
        // What this file includes is looked for beside it, and rebased by itself.
        if own != document.folder {
            rebase(&mut tree, &relative(&own, &document.folder));
        }
        path.push(whole);
        let inner = join_below(document, &mut tree, &own, path);
        path.pop();
        inner?;
        self.give_parameters(&mut tree)?;
        if let Some(name) = &self.name {
            definitions::resolve(document, &mut tree)?;
            rename(&mut tree, name);
        }
        add(root, tree)
    }

    /// `parameters = { wheel.m = 30.0 }` changes those of subsystem `wheel`.
    fn give_parameters(&self, tree: &mut Node) -> Marked<()> {
        let mut marks = Marks::default();
        let names: Vec<String> = tree
            .get("subsystems")
            .map_or(&[][..], Node::entries)
            .iter()
            .map(|one| one.name.clone())
            .collect();
        for given in &self.parameters {
            let subsystems = entries_mut(tree, "subsystems");
            let found = subsystems.and_then(|all| all.iter_mut().find(|one| one.name == given.name));
            let Some(subsystem) = found else {
                marks.add(Mark::unknown(given.key.clone(), "subsystem", &given.name, &names));
                continue;
            };
            let Some(values) = marks.note(
                given
                    .node
                    .table(&given.name)
                    .map_err(|mark| mark.hint("write parameters = { SUBSYSTEM.PARAMETER = VALUE }")),
            ) else {
                continue;
            };
            let mut parameters = subsystem
                .node
                .get("parameters")
                .cloned()
                .unwrap_or_else(|| Node { span: given.node.span.clone(), value: Value::Table(vec![]) });
            for value in values {
                set(&mut parameters, &value.name, &value.key, value.node.clone());
            }
            set(&mut subsystem.node, "parameters", &given.key, parameters);
        }
        marks.or(())
    }
}

/// A folder as it is named from another one.
fn relative(folder: &Path, from: &Path) -> PathBuf {
    match folder.strip_prefix(from) {
        Ok(rest) => rest.to_path_buf(),
        Err(_) => folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()),
    }
}

/// Files that the tree names are looked for in `folder`.
fn rebase(node: &mut Node, folder: &Path) {
    match &mut node.value {
        Value::Table(entries) => {
            for entry in entries.iter_mut().filter(|entry| entry.name != "include") {
                match &mut entry.node.value {
                    Value::Text(file) if FILES.contains(&entry.name.as_str()) => {
                        *file = folder.join(&file).display().to_string();
                    }
                    _ => rebase(&mut entry.node, folder),
                }
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| rebase(item, folder)),
        _ => {}
    }
}

/// Puts `name` before the names of subsystems.
fn rename(tree: &mut Node, name: &str) {
    let longer = |own: &str| format!("{name}.{own}");
    for entry in entries_mut(tree, "subsystems").into_iter().flatten() {
        entry.name = longer(&entry.name);
    }
    let rename_end = |node: &mut Node| match &mut node.value {
        Value::Text(end) => *end = longer(end),
        Value::List(ends) => ends.iter_mut().for_each(|end| {
            if let Value::Text(end) = &mut end.value {
                *end = longer(end);
            }
        }),
        _ => {}
    };
    let Value::Table(sections) = &mut tree.value else { return };
    for section in sections.iter_mut().filter(|one| ["connections", "inputs"].contains(&one.name.as_str())) {
        let Value::List(links) = &mut section.node.value else { continue };
        for link in links {
            let Value::Table(entries) = &mut link.value else { continue };
            let ends = entries.iter_mut().filter(|entry| ["from", "to"].contains(&entry.name.as_str()));
            ends.for_each(|entry| rename_end(&mut entry.node));
        }
    }
}

/// Adds the sections of an included tree to those that are there.
fn add(root: &mut Node, tree: Node) -> Marked<()> {
    let mut marks = Marks::default();
    let Value::Table(sections) = tree.value else { return Ok(()) };
    for section in sections {
        if ["title", "description"].contains(&section.name.as_str()) {
            continue;
        }
        let Value::Table(all) = &mut root.value else { return Ok(()) };
        let Some(known) = all.iter_mut().find(|known| known.name == section.name) else {
            all.push(section);
            continue;
        };
        match (&mut known.node.value, section.node.value) {
            (Value::Table(known), Value::Table(own)) => {
                for entry in own {
                    if known.iter().any(|other| other.name == entry.name) {
                        let what = format!(
                            "`{}` is defined twice, here and where this file is included",
                            entry.name
                        );
                        let hint =
                            "give the file a name of its own: include = [{ file = .., as = \"NAME\" }]";
                        marks.add(Mark::new(entry.key, what).hint(hint));
                    } else {
                        known.push(entry);
                    }
                }
            }
            (Value::List(known), Value::List(own)) => known.extend(own),
            // What is of the wrong kind is told when it is read.
            _ => {}
        }
    }
    marks.or(())
}

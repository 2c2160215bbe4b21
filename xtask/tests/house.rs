//! The inside of rooms: files of `run` import each other in one direction, the methods of a type stand in few files, and every file is a module.
//!
//! A `mod.rs` that only declares and re-exports is looked through: an import leads to the file that has the name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Methods of a type stand in at most so many files.
const MOST_FILES: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Source files below a folder, by their path in it, without modules of tests.
fn sources(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, inside)) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{inside}{}", path.file_name().unwrap().to_string_lossy());
            if path.is_dir() {
                folders.push((path, format!("{name}/")));
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                found.insert(name, code);
            }
        }
    }
    found.retain(|name, _| !name.split('/').any(|part| part == "tests"));
    found
}

/// All paths of a `use`, groups expanded.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let (before, group) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap()]);
    let (mut level, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices().chain([(group.len(), ',')]) {
        match letter {
            '{' => level += 1,
            '}' => level -= 1,
            ',' if level == 0 => {
                let part = group[begin..at].trim();
                begin = at + 1;
                if !part.is_empty() {
                    found.extend(paths(part).into_iter().map(|path| format!("{before}{path}")));
                }
            }
            _ => {}
        }
    }
    found
}

/// The paths a file imports.
fn imports(code: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let statements = code.split(';').filter_map(|statement| {
        let at = statement.rfind("use ").filter(|at| {
            let before = statement[..*at].trim_end();
            before.is_empty() || before.ends_with([')', '}', ']', ';']) || before.ends_with("pub")
        })?;
        Some(&statement[at + 4..])
    });
    statements.flat_map(paths).collect()
}

/// Which files of a room each of them imports; `room` is its folder.
fn edges(files: &BTreeMap<String, String>, room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let file_of = |module: &[String]| {
        let path = module.join("/");
        let names = [format!("{path}.rs"), format!("{path}/mod.rs"), "mod.rs".to_owned()];
        let names = if module.is_empty() { &names[2..] } else { &names[..2] };
        names.iter().find(|name| files.contains_key(*name)).cloned()
    };
    let mut found = BTreeMap::new();
    for (file, code) in files.iter().filter(|(file, _)| !file.ends_with("mod.rs")) {
        let own: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let mut uses = BTreeSet::new();
        for path in imports(code) {
            let mut segments: Vec<&str> = path.split("::").collect();
            let mut module = own.clone();
            match segments[0] {
                "super" => {
                    while segments.first() == Some(&"super") {
                        segments.remove(0);
                        if module.pop().is_none() {
                            module = vec!["..".into()];
                        }
                    }
                }
                "crate" if segments.get(1) == Some(&room) => {
                    segments.drain(..2);
                    module.clear();
                }
                _ => continue,
            }
            for name in segments {
                module.push(name.to_owned());
                if file_of(&module).is_some() {
                    continue;
                }
                module.pop();
                // Not a module: a name, perhaps of a child of this one.
                let exported = file_of(&module).filter(|file| file.ends_with("mod.rs")).and_then(|file| {
                    let all = imports(&files[&file]);
                    all.into_iter().find(|path| path.rsplit("::").next() == Some(name))
                });
                if let Some(path) = exported {
                    let inner: Vec<&str> = path.split("::").collect();
                    module.extend(inner[..inner.len() - 1].iter().map(|part| (*part).to_owned()));
                }
                break;
            }
            if let Some(other) = file_of(&module).filter(|other| other != file) {
                uses.insert(other);
            }
        }
        found.insert(file.clone(), uses);
    }
    found
}

/// A cycle of imports, if there is one.
fn cycle(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn walk(
        at: &str,
        edges: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|file| file == at) {
            return Some(way[begin..].to_vec());
        }
        if !done.insert(at.to_owned()) {
            return None;
        }
        way.push(at.to_owned());
        let found = edges.get(at).into_iter().flatten().find_map(|next| walk(next, edges, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|file| walk(file, edges, &mut Vec::new(), &mut done))
}

#[test]
fn no_file_of_run_imports_itself_through_others() {
    let files = sources(&root().join("crates/koppel/src/run"));
    let edges = edges(&files, "run");
    assert!(edges.len() > 15 && edges["drive.rs"].contains("run.rs"), "{edges:?}");
    assert!(edges["recording.rs"].contains("scheme/scheme.rs"), "mod.rs is looked through: {edges:?}");
    assert_eq!(cycle(&edges), None);
}

#[test]
fn cycles_are_found() {
    let file = |name: &str, code: &str| (name.to_owned(), code.to_owned());
    let files = BTreeMap::from([
        file("mod.rs", "mod a;\nmod b;\nmod deep;\npub use a::A;\n"),
        file("a.rs", "use super::b::{self, B};\n"),
        file("b.rs", "use crate::run::deep::D;\n"),
        file("deep/mod.rs", "mod d;\npub(super) use d::D;\n"),
        file("deep/d.rs", "use super::super::A;\n"),
    ]);
    let found = cycle(&edges(&files, "run")).unwrap();
    assert_eq!(found, ["a.rs", "b.rs", "deep/d.rs"]);
}

/// Files with an `impl Type {`, by type.
fn implementations(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, code) in files {
        for line in code.lines().filter(|line| line.starts_with("impl") && !line.contains(" for ")) {
            let mut rest = line["impl".len()..].trim_start();
            if rest.starts_with('<') {
                let mut level = 0;
                let end = rest.find(|letter| {
                    level += i32::from(letter == '<') - i32::from(letter == '>');
                    level == 0
                });
                rest = rest[end.unwrap_or(0) + 1..].trim_start();
            }
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            // Modules may have types of the same name: a type belongs to the folder it stands in.
            found.entry(name).or_default().insert(file.clone());
        }
    }
    found
}

#[test]
fn methods_of_a_type_stand_in_few_files() {
    let mut split = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = folder.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for (of, files) in implementations(&sources(&path.join("src"))) {
            if files.len() > MOST_FILES {
                split.push(format!("{name}: {of} in {files:?}"));
            }
        }
    }
    assert!(split.is_empty(), "methods in more than {MOST_FILES} files:\n{}", split.join("\n"));
}

#[test]
fn every_file_is_a_module() {
    let mut strays = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = folder.unwrap().path();
        let files = sources(&path.join("src"));
        for file in files.keys().filter(|file| !file.starts_with("bin/")) {
            let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
            let (folder, name) = module.rsplit_once('/').unwrap_or(("", module));
            let parents = match folder {
                "" => ["lib.rs".to_owned(), "main.rs".to_owned()],
                _ => [format!("{folder}.rs"), format!("{folder}/mod.rs")],
            };
            let declares = |text: &String| {
                text.lines().any(|line| line.trim_end_matches(';').ends_with(&format!("mod {name}")))
            };
            let is_root = ["lib", "main"].contains(&module);
            if !is_root && !parents.iter().any(|parent| files.get(parent).is_some_and(declares)) {
                strays.push(format!("{}/{file}", path.display()));
            }
        }
    }
    assert!(strays.is_empty(), "no module declares\n{}", strays.join("\n"));
}

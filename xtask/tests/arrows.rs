//! Who uses whom: the rooms of crate `koppel` and the crates of the workspace against the drawing in `docs/architecture.md`.
//!
//! The drawing has a line `name -> used used (used)` for each; arrows go to lines above, those in parentheses are against the
//! order and still to be repaired. A use that is not drawn fails, and so does an arrow that nothing uses. Uses are read from
//! the text: paths that begin with `crate::` or that leave the room by `super::`, and dependencies in `Cargo.toml`. Tests of a
//! room may use everything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names used, by the name of the user.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One line of the drawing.
struct Line {
    name: String,
    uses: BTreeSet<String>,
    /// Those of them that are against the order.
    against: BTreeSet<String>,
}

/// The lines of a code block that begins with "```" and this word.
fn drawing(document: &str, block: &str) -> Vec<Line> {
    let begin = format!("```{block}\n");
    let from = document.find(&begin).unwrap_or_else(|| panic!("there is no block {block}")) + begin.len();
    let text = &document[from..from + document[from..].find("```").unwrap()];
    text.lines().map(line).collect()
}

fn line(text: &str) -> Line {
    let (name, uses) = text.split_once("->").unwrap_or((text, ""));
    let (along, against) = uses.split_once('(').unwrap_or((uses, ""));
    let names = |text: &str| text.trim_end_matches(')').split_whitespace().map(str::to_owned).collect();
    let against: BTreeSet<String> = names(against.trim());
    let uses = &names(along) | &against;
    Line { name: name.trim().to_owned(), uses, against }
}

/// Everything in which the drawing and what is used differ, and arrows against the order that are not marked.
fn differences(drawing: &[Line], used: &Uses) -> Vec<String> {
    let mut found = Vec::new();
    for (name, uses) in used {
        let Some(at) = drawing.iter().position(|line| line.name == *name) else {
            found.push(format!("{name} is not in the drawing"));
            continue;
        };
        let line = &drawing[at];
        found.extend(uses.difference(&line.uses).map(|other| format!("{name} -> {other} is not drawn")));
        found.extend(
            line.uses.difference(uses).map(|other| format!("{name} -> {other} is drawn, but not used")),
        );
        for other in &line.uses {
            let is_above = drawing[..at].iter().any(|line| line.name == *other);
            if is_above == line.against.contains(other) {
                let marked = if is_above { "must not" } else { "must" };
                found.push(format!("{name} -> {other} {marked} stand in parentheses"));
            }
        }
    }
    let unknown = drawing.iter().filter(|line| !used.contains_key(&line.name));
    found.extend(unknown.map(|line| format!("{} is drawn, but does not exist", line.name)));
    found
}

/// The text without comments and without modules of tests.
fn code(text: &str) -> String {
    let mut lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        let is_test = line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.ends_with('{'));
        if is_test {
            lines.by_ref().find(|line| *line == "}");
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// First names of paths that begin at the root of the crate. `depth` is how many `super` lead there.
fn paths(text: &str, depth: usize) -> Vec<String> {
    let code = code(text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        found.extend(first_names(&code[at + "crate::".len()..]));
    }
    for (at, _) in code.match_indices("super::").filter(|(at, _)| !code[..*at].ends_with("super::")) {
        let rest = code[at..].trim_start_matches("super::");
        let count = (code.len() - at - rest.len()) / "super::".len();
        if count >= depth {
            found.extend(first_names(rest));
        }
    }
    found
}

/// The name a path goes on with, or the names of its group.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut level, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => level += 1,
            ',' | '}' if level == 0 => {
                names.push(name(&group[begin..at]));
                begin = at + 1;
                if letter == '}' {
                    break;
                }
            }
            '}' => level -= 1,
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Source files below a folder with their paths in it.
fn sources(folder: &Path, inside: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{inside}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            found.extend(sources(&path, &format!("{name}/")));
        } else if name.ends_with(".rs") {
            found.push((name, read(&path)));
        }
    }
    found
}

/// Rooms of a crate and the rooms they use, from its files and their texts.
fn uses_of_rooms(files: &[(String, String)]) -> Uses {
    let room = |file: &str| file.split(['/', '.']).next().unwrap().to_owned();
    let rooms: BTreeSet<String> =
        files.iter().map(|(file, _)| room(file)).filter(|room| room != "lib").collect();
    let exported = exports(files.iter().find(|(file, _)| file == "lib.rs").map_or("", |(_, text)| text));
    let mut uses: Uses = rooms.iter().map(|room| (room.clone(), BTreeSet::new())).collect();
    for (file, text) in files.iter().filter(|(file, _)| file != "lib.rs") {
        if file.split(['/', '.']).any(|part| part == "tests") {
            continue;
        }
        let own = room(file);
        let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
        for name in paths(text, module.split('/').count()) {
            let other = exported.get(&name).cloned().unwrap_or(name);
            if other != own && rooms.contains(&other) {
                uses.get_mut(&own).unwrap().insert(other);
            }
        }
    }
    uses
}

/// What `pub use room::{Name, Other};` in lib.rs stands for, by name.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let lines = lib.lines().filter_map(|line| line.strip_prefix("pub use ")?.split_once("::"));
    let names =
        lines.flat_map(|(room, rest)| first_names(rest).into_iter().map(|name| (name, room.to_owned())));
    names.collect()
}

/// Name of a package and the members of the workspace it is built with, from its Cargo.toml.
fn uses_of_package(manifest: &str) -> (String, BTreeSet<String>) {
    let (mut section, mut name, mut uses) = ("", String::new(), BTreeSet::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let key = line.split(['.', '=', ' ']).next().unwrap();
        if section == "package" && key == "name" {
            name = line.split('"').nth(1).unwrap().to_owned();
        }
        let is_built = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
        if is_built && (key == "koppel" || key.starts_with("koppel-")) {
            uses.insert(key.to_owned());
        }
    }
    (name, uses)
}

fn packages() -> Uses {
    let folders = ["crates", "validation"].into_iter().flat_map(|folder| {
        std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path())
    });
    let folders = folders.chain([root().join("xtask")]).filter(|folder| folder.join("Cargo.toml").exists());
    folders.map(|folder| uses_of_package(&read(&folder.join("Cargo.toml")))).collect()
}

#[test]
fn rooms_use_what_is_drawn() {
    let document = read(&root().join("docs/architecture.md"));
    let used = uses_of_rooms(&sources(&root().join("crates/koppel/src"), ""));
    let found = differences(&drawing(&document, "rooms"), &used);
    assert!(found.is_empty(), "docs/architecture.md and crates/koppel/src differ:\n{}", found.join("\n"));
}

#[test]
fn crates_use_what_is_drawn() {
    let document = read(&root().join("docs/architecture.md"));
    let found = differences(&drawing(&document, "crates"), &packages());
    assert!(found.is_empty(), "docs/architecture.md and Cargo.toml differ:\n{}", found.join("\n"));
}

/// What is shipped is built without `validation/`, tests included.
#[test]
fn crates_do_not_depend_on_validation() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = folder.unwrap().path().join("Cargo.toml");
        let text = read(&manifest);
        for name in ["koppel-papers", "koppel-lmi", "koppel-experiments", "../validation"] {
            assert!(!text.contains(name), "{} names {name}", manifest.display());
        }
    }
}

/// Made-up rooms: every way to use another is seen, and what is not drawn is found.
#[test]
fn forbidden_arrows_are_found() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let allowed = [
        file("lib.rs", "pub use low::{Thing, Other};\n"),
        file("low/mod.rs", "// crate::high is only mentioned\n"),
        file("middle.rs", "use crate::Thing;\n#[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\n"),
        file("middle/tests.rs", "use crate::high::Top;\n"),
        file("high/mod.rs", "use crate::{low::Other, middle};\n"),
        file("high/deep/inside.rs", "use super::super::mod_of_high;\n"),
    ];
    let picture = drawing("```rooms\nlow\nmiddle -> low\nhigh -> low middle\n```\n", "rooms");
    assert_eq!(differences(&picture, &uses_of_rooms(&allowed)), Vec::<String>::new());
    for (name, text, expected) in [
        ("low/a.rs", "use crate::high::Top;\n", "low -> high is not drawn"),
        ("low/a.rs", "fn f() -> crate::middle::Thing {}\n", "low -> middle is not drawn"),
        ("low/a.rs", "use super::super::high;\n", "low -> high is not drawn"),
        (
            "low/a.rs",
            "use crate::{\n    low::{self, Thing},\n    high::Top,\n};\n",
            "low -> high is not drawn",
        ),
        ("middle.rs", "#[cfg(test)]\nmod tests;\nuse crate::high::Top;\n", "middle -> high is not drawn"),
        ("new.rs", "use crate::low;\n", "new is not in the drawing"),
    ] {
        let sabotaged = [&allowed[..], &[file(name, text)]].concat();
        let found = differences(&picture, &uses_of_rooms(&sabotaged));
        assert_eq!(found, [expected], "{text}");
    }
}

/// Arrows that nothing uses, cycles that are not marked, and marks that are not needed.
#[test]
fn the_drawing_cannot_be_too_generous() {
    let used = Uses::from([
        ("low".to_owned(), BTreeSet::from(["high".to_owned()])),
        ("high".to_owned(), BTreeSet::from(["low".to_owned()])),
    ]);
    let found = |text: &str| differences(&drawing(&format!("```rooms\n{text}\n```"), "rooms"), &used);
    assert_eq!(found("low -> (high)\nhigh -> low"), Vec::<String>::new());
    assert_eq!(found("low -> high\nhigh -> low"), ["low -> high must stand in parentheses"]);
    assert_eq!(found("low -> (high)\nhigh -> (low)"), ["high -> low must not stand in parentheses"]);
    assert_eq!(found("other\nlow -> (high)\nhigh -> low"), ["other is drawn, but does not exist"]);
    assert_eq!(
        found("low -> (high)\nhigh -> low more"),
        ["high -> more is drawn, but not used", "high -> more must stand in parentheses"]
    );
}

#[test]
fn dependencies_are_read() {
    let manifest = "[package]\nname = \"koppel-a\"\n[dependencies]\nkoppel.workspace = true\nserde = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\nkoppel-b = { path = \"b\" }\n[dev-dependencies]\nkoppel-c.workspace = true\n";
    let expected = BTreeSet::from(["koppel".to_owned(), "koppel-b".to_owned()]);
    assert_eq!(uses_of_package(manifest), ("koppel-a".to_owned(), expected));
}

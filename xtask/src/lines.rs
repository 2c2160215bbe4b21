//! `cargo xtask lines [REV [REV]]`: code lines of Rust per package, of the work tree or of a git revision, or two revisions compared.
//!
//! A code line holds more than comments and blanks and is not part of a test. Tests are the folders `tests`, `benches` and `fuzz`,
//! files named `tests.rs` or `*_tests.rs`, and items under `#[cfg(test)]`. Packages in `validation` and the folders `examples` are
//! counted apart. Compared with an older revision, code that stands in `validation` now is counted there in both: whole packages, by
//! their names, and files that git finds renamed.

use crate::command::{Result, program};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Code lines by section and package.
type Counts = BTreeMap<(Section, String), usize>;

/// What a code line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Shipped,
    Tasks,
    Validation,
    Moved,
}

impl Section {
    const fn name(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Tasks => "xtask",
            Self::Validation => "validation and examples",
            Self::Moved => "moved to validation",
        }
    }
}

/// The files of a revision: texts by path.
type Tree = BTreeMap<String, String>;

pub(crate) fn run(revisions: &[&str]) -> Result<()> {
    let trees = match revisions {
        [] => vec![tree(None)?],
        [..] => revisions.iter().map(|revision| tree(Some(revision))).collect::<Result<_>>()?,
    };
    let moved = match revisions {
        [old, new] => moved(&trees[0], &trees[1], &renamed(old, new)?),
        _ => BTreeSet::new(),
    };
    let counts: Vec<Counts> = trees.iter().map(|tree| count(tree, &moved)).collect();
    let heads = if revisions.is_empty() { &["work tree"] } else { revisions };
    write!(std::io::stdout(), "{}", table(heads, &counts)).map_err(|error| error.to_string())
}

/// Rust files and manifests of a revision, or of the work tree.
fn tree(revision: Option<&str>) -> Result<Tree> {
    let mut command = program("git", &["grep", "--null", "--text", "-e", ""]);
    command.args(revision.is_none().then_some("--untracked")).args(revision).args([
        "--",
        "*.rs",
        "*Cargo.toml",
    ]);
    let mut tree = Tree::new();
    let prefix = revision.map_or(String::new(), |revision| format!("{revision}:"));
    for line in git(&mut command)?.lines() {
        let (path, text) = line.split_once('\0').ok_or("git grep printed a line without a path")?;
        let file = tree.entry(path.trim_start_matches(&prefix).to_owned()).or_default();
        file.push_str(text);
        file.push('\n');
    }
    Ok(tree)
}

/// Old and new path of every file that git finds renamed.
fn renamed(old: &str, new: &str) -> Result<Vec<(String, String)>> {
    let options = ["diff", "--find-renames=40%", "-l0", "--diff-filter=R", "--name-status", old, new];
    let list = git(program("git", &options).args(["--", "*.rs"]))?;
    let paths = |line: &str| {
        let mut words = line.split('\t').skip(1).map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    Ok(list.lines().filter_map(paths).collect())
}

fn git(command: &mut std::process::Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Shipped files of the old tree that stand in `validation` in the new one.
fn moved(old: &Tree, new: &Tree, renamed: &[(String, String)]) -> BTreeSet<String> {
    let packages = |tree: &Tree, top: &str| -> BTreeMap<String, String> {
        let manifests =
            tree.iter().filter(|(path, _)| path.starts_with(top) && path.ends_with("/Cargo.toml"));
        let name = |text: &str| text.lines().find_map(|line| line.strip_prefix("name = ").map(str::to_owned));
        manifests.filter_map(|(path, text)| Some((name(text)?, path.replace("Cargo.toml", "")))).collect()
    };
    let now = packages(new, "validation/");
    let folders: Vec<String> = packages(old, "crates/")
        .into_iter()
        .filter(|(name, _)| now.contains_key(name))
        .map(|(_, at)| at)
        .collect();
    let by_package = old.keys().filter(|path| folders.iter().any(|folder| path.starts_with(folder))).cloned();
    let by_file =
        renamed.iter().filter(|(_, new)| new.starts_with("validation/")).map(|(old, _)| old.clone());
    by_package.chain(by_file).collect()
}

fn count(tree: &Tree, moved: &BTreeSet<String>) -> Counts {
    let mut counts = Counts::new();
    for (path, text) in tree.iter().filter(|(path, _)| path.ends_with(".rs") && !is_test(path)) {
        let mut parts = path.split('/');
        let (top, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let section = match top {
            "validation" => Section::Validation,
            _ if parts.next() == Some("examples") => Section::Validation,
            _ if moved.contains(path) => Section::Moved,
            "crates" => Section::Shipped,
            _ => Section::Tasks,
        };
        let package = if section == Section::Tasks { top } else { package };
        *counts.entry((section, package.to_owned())).or_default() += code_lines(text);
    }
    counts
}

fn is_test(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    let in_folder = path.split('/').any(|part| ["tests", "benches", "fuzz"].contains(&part));
    in_folder || file == "tests.rs" || file.ends_with("_tests.rs")
}

/// A row for each package, a sum for each section, the difference of two revisions.
fn table(heads: &[&str], counts: &[Counts]) -> String {
    let row = |name: &str, numbers: &[usize]| {
        let mut row = format!("{name:<28}");
        for number in numbers {
            row += &format!(" {number:>12}");
        }
        if let [old, new] = numbers {
            row += &format!(" {:>+12}", new.cast_signed() - old.cast_signed());
        }
        row + "\n"
    };
    let sum = |within: &dyn Fn(Section) -> bool| -> Vec<usize> {
        let one =
            |counts: &Counts| counts.iter().filter(|((at, _), _)| within(*at)).map(|(_, lines)| lines).sum();
        counts.iter().map(one).collect()
    };
    let mut text = format!("{:<28}", "code lines");
    for head in heads {
        text += &format!(" {head:>12}");
    }
    text += "\n";
    let keys: BTreeSet<&(Section, String)> = counts.iter().flat_map(Counts::keys).collect();
    for section in [Section::Shipped, Section::Tasks, Section::Validation, Section::Moved] {
        let keys: Vec<_> = keys.iter().filter(|(at, _)| *at == section).collect();
        if section != Section::Tasks {
            for key in &keys {
                let numbers: Vec<usize> =
                    counts.iter().map(|counts| counts.get(**key).copied().unwrap_or(0)).collect();
                text += &row(&format!("  {}", key.1), &numbers);
            }
        }
        if !keys.is_empty() {
            text += &row(section.name(), &sum(&|at| at == section));
        }
    }
    text + &row("all", &sum(&|_| true))
}

/// Lines that hold code outside of tests.
fn code_lines(text: &str) -> usize {
    let masked = mask(text);
    let code = without_tests(&masked);
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// The text with comments blanked and every character of a string or character literal replaced by a letter.
fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, filler) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ' '),
            '/' if rest.starts_with("/*") => (block_comment(rest), ' '),
            '"' => (string(rest), 's'),
            'r' if !masked.ends_with(|c: char| c.is_alphanumeric() || c == '_') || masked.ends_with('b') => {
                (raw_string(rest).unwrap_or(1), 's')
            }
            '\'' => (character(rest).unwrap_or(1), 's'),
            _ => (first.len_utf8(), first),
        };
        let fill = |c: char| if c.is_whitespace() { c } else { filler };
        // Blank lines inside a string are code.
        let fill_string = |c: char| if c == '\n' { "s\n".to_owned() } else { fill(c).to_string() };
        let (taken, left) = rest.split_at(length);
        if filler == 's' && length > 1 {
            masked.extend(taken.chars().map(fill_string));
        } else if filler == ' ' {
            masked.extend(taken.chars().map(fill));
        } else {
            masked.push_str(taken);
        }
        rest = left;
    }
    masked
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text[at..];
        let (open, close) = (rest.find("/*"), rest.find("*/"));
        match (open, close) {
            (Some(open), Some(close)) if open < close => (depth, at) = (depth + 1, at + open + 2),
            (_, Some(close)) => (depth, at) = (depth - 1, at + close + 2),
            (_, None) => return text.len(),
        }
        if depth == 0 {
            return at;
        }
    }
}

fn string(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let begin = 1 + hashes;
    if !text[begin..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin + 1..].find(&end).map_or(text.len(), |at| begin + 1 + at + end.len()))
}

/// Length of a character literal; none for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    let (_, first) = letters.next()?;
    if first == '\\' {
        letters.next()?;
        return text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map(|(at, _)| at + 3);
    }
    letters.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

/// Masked code without the items under `#[cfg(test)]`.
fn without_tests(masked: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut code = String::with_capacity(masked.len());
    let mut rest = masked;
    while let Some(at) = rest.find(MARK) {
        code.push_str(&rest[..at]);
        rest = &rest[at + MARK.len()..];
        rest = &rest[item(rest)..];
    }
    code + rest
}

/// Length of the item that the text begins with, attributes included.
fn item(text: &str) -> usize {
    let mut depth = 0_i32;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        // A field or a variant ends with a comma, or where what holds it ends.
        let ends = depth == 0 && matches!(letter, ';' | '}' | ',');
        if ends || depth < 0 {
            let end = if depth < 0 { at } else { at + 1 };
            return if text[end..].starts_with(';') { end + 1 } else { end };
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_tests_are_no_code() {
        let text = "//! Head\n\nuse a; // why\n/* one\n /* two */\n three */ fn f() {\n    let s = \"// {\";\n    let c = '{';\n\
                    \n    g::<'a'>('\\'', r#\"/* \"}\"#)\n}\n\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod t;\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\nfn last<'a>() {}\n";
        assert_eq!(code_lines(text), 7, "{}", without_tests(&mask(text)));
    }

    #[test]
    fn strings_of_several_lines_are_code() {
        assert_eq!(code_lines("const A: &str = \"one\n\n// two\n\";\n"), 4);
        assert_eq!(code_lines("const A: &str = r\"one \\\";\n// two\n"), 1);
    }

    #[test]
    fn fields_and_uses_of_tests_are_no_code() {
        assert_eq!(code_lines("struct A {\n    #[cfg(test)]\n    b: u8,\n    c: u8,\n}\n"), 3);
        assert_eq!(code_lines("#[cfg(test)]\nuse a::{b, c};\nuse d;\n"), 1);
    }

    #[test]
    fn moves_to_validation_are_no_savings() {
        let tree = |files: &[(&str, &str)]| {
            files.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect::<Tree>()
        };
        let old = tree(&[
            ("crates/a/Cargo.toml", "name = \"a\"\n"),
            ("crates/a/src/lib.rs", "fn a() {}\nfn b() {}\n"),
            ("crates/a/src/moved.rs", "fn c() {}\n"),
            ("crates/a/examples/e.rs", "fn e() {}\n"),
            ("crates/a/tests/t.rs", "fn t() {}\n"),
            ("crates/p/Cargo.toml", "name = \"p\"\n"),
            ("crates/p/src/lib.rs", "fn p() {}\n"),
        ]);
        let new = tree(&[
            ("crates/a/Cargo.toml", "name = \"a\"\n"),
            ("crates/a/src/lib.rs", "fn a() {}\n"),
            ("validation/paper/Cargo.toml", "name = \"p\"\n"),
            ("validation/paper/src/main.rs", "fn p() {}\nfn c() {}\n"),
        ]);
        let renamed = [("crates/a/src/moved.rs".to_owned(), "validation/paper/src/main.rs".to_owned())];
        let moved = moved(&old, &new, &renamed);
        let (old, new) = (count(&old, &moved), count(&new, &moved));
        let of = |counts: &Counts, section, name: &str| counts.get(&(section, name.to_owned())).copied();
        assert_eq!((of(&old, Section::Shipped, "a"), of(&new, Section::Shipped, "a")), (Some(2), Some(1)));
        assert_eq!((of(&old, Section::Moved, "a"), of(&old, Section::Moved, "p")), (Some(1), Some(1)));
        assert_eq!(
            (of(&old, Section::Validation, "a"), of(&new, Section::Validation, "paper")),
            (Some(1), Some(2))
        );
        assert!(table(&["old", "new"], &[old, new]).contains("-1\n"));
    }
}

//! `cargo xtask trace`: which functions an output passes, from the system file to the rows of the CSV file and the report.
//!
//! A small system is run twice under callgrind, without forecast and certificate, once with one output more. A function is on the path of that output if it is called,
//! or calls something, a different number of times. koppel is built without optimisation, so that no function disappears and every
//! turn of a loop calls something. Closures count as part of their function, instances of a generic function as one. Each run is
//! repeated; functions whose counts differ between repetitions (hashing, clocks) are left out.

use crate::command::{Result, cargo, must, program, replace_block, root};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Functions by file.
type Functions = BTreeMap<String, BTreeSet<String>>;

/// How often each function of koppel is called, and calls others: by file, name and other function.
type Calls = BTreeMap<(String, String), BTreeMap<String, u64>>;

/// Two masses and a spring; `left` has the outputs that are put in. Threads are used where that pays, which is measured: never here.
/// A run with a change on its way is not forecast.
const SYSTEM: &str = r#"
[run]
stop = 0.1
step = 1e-3
coupling = "zoh"
threads = "never"

[subsystems.left]
model = "linear"
A = [[0, 1], [-1e5, -0.1]]
B = [[0], [0.1]]
inputs = ["F"]
OUTPUTS

[subsystems.right]
model = "mass"

[[connections]]
from = "left.x"
to = "right.F"
gain = 100

[[connections]]
from = "right.x"
to = "left.F"

[[at]]
time = 0.05
set = { "right.m" = 2 }
"#;
const WITHOUT: &str = "C = [[1, 0], [0, 1]]\noutputs = [\"x\", \"v\"]";
const WITH: &str = "C = [[1, 0], [0, 1], [1, 1]]\noutputs = [\"x\", \"v\", \"sum\"]";

/// Writes the path to the documents; that of another program, built in the same way, is only shown.
pub(crate) fn run(other: Option<&str>) -> Result<()> {
    let koppel = match other {
        Some(koppel) => koppel.to_owned(),
        None => build()?,
    };
    let (with, again) = (calls(&koppel, "with", WITH)?, calls(&koppel, "again", WITH)?);
    let (without, and_again) = (calls(&koppel, "without", WITHOUT)?, calls(&koppel, "and-again", WITHOUT)?);
    let noise: BTreeSet<_> = changed(&with, &again).union(&changed(&without, &and_again)).cloned().collect();
    let mut functions = Functions::new();
    for (file, name) in changed(&with, &without).difference(&noise) {
        functions.entry(file.clone()).or_default().insert(name.clone());
    }
    eprintln!("{} functions are left out: their counts differ between repetitions", noise.len());
    let table = table(&functions);
    match other {
        Some(_) => writeln!(std::io::stdout(), "{table}").map_err(|error| error.to_string()),
        None => replace_block("docs/architecture.md", "trace", &table),
    }
}

/// koppel with every function and its place.
fn build() -> Result<String> {
    let settings = [
        "profile.trace.inherits=\"dev\"",
        "profile.trace.opt-level=0",
        "profile.trace.debug=\"line-tables-only\"",
        "profile.trace.package.\"*\".opt-level=1",
        "profile.trace.package.\"*\".debug=\"none\"",
    ];
    let mut command = cargo(&["build", "--profile", "trace", "--package", "koppel-cli"]);
    must(command.args(settings.iter().flat_map(|setting| ["--config", setting])))?;
    Ok(root().join("target/trace/koppel").display().to_string())
}

/// Runs the system with these outputs.
fn calls(koppel: &str, name: &str, outputs: &str) -> Result<Calls> {
    let folder = root().join("target/trace-runs");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let file = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    std::fs::write(file("toml"), SYSTEM.replace("OUTPUTS", outputs)).map_err(failed)?;
    let options = ["--tool=callgrind", "--quiet", &format!("--callgrind-out-file={}", file("calls"))];
    // What judges the run is not on the way.
    let run = [koppel, "run", &file("toml"), "--quiet", "--no-certificate", "--in-process"];
    let files = ["--out", &file("csv"), "--report", &file("html")];
    must(&mut program("valgrind", &[&options[..], &run[..], &files[..]].concat()))?;
    read(&std::fs::read_to_string(file("calls")).map_err(failed)?)
}

/// Reads what callgrind writes: names are numbered where they stand first.
fn read(text: &str) -> Result<Calls> {
    let (mut files, mut names) = (BTreeMap::new(), BTreeMap::new());
    let (mut at, mut callee, mut callee_file) = ((String::new(), String::new()), String::new(), None);
    let mut calls = Calls::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "fl" => at.0 = full(value, &mut files)?,
            "fn" => {
                at.1 = plain(&full(value, &mut names)?);
                callee_file = None;
            }
            "cfi" | "cfl" => callee_file = Some(full(value, &mut files)?),
            "fi" | "fe" => _ = full(value, &mut files)?,
            "cfn" => callee = plain(&full(value, &mut names)?),
            "calls" => {
                let count: u64 = value.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                let file = callee_file.take().unwrap_or_else(|| at.0.clone());
                let to = (file, std::mem::take(&mut callee));
                let is_inside = to == at;
                if let (Some(file), false) = (own(&at.0, &at.1), is_inside) {
                    *calls.entry((file, at.1.clone())).or_default().entry(to.1.clone()).or_default() += count;
                }
                if let (Some(file), false) = (own(&to.0, &to.1), is_inside) {
                    *calls.entry((file, to.1)).or_default().entry(String::new()).or_default() += count;
                }
            }
            _ => {}
        }
    }
    Ok(calls)
}

/// `(7) name` gives number 7 a name, `(7)` stands for it.
fn full(value: &str, known: &mut BTreeMap<String, String>) -> Result<String> {
    let (number, name) = value.split_once(')').ok_or_else(|| format!("callgrind wrote `{value}`"))?;
    if !name.is_empty() {
        known.insert(number.to_owned(), name.trim().to_owned());
    }
    known.get(number).cloned().ok_or_else(|| format!("callgrind wrote `{value}` before its name"))
}

/// The path in the repository of a function of koppel's.
fn own(file: &str, name: &str) -> Option<String> {
    let at =
        file.find("crates/koppel").filter(|_| name.trim_start_matches(['<', '&']).starts_with("koppel"))?;
    Path::new(&file[at..]).iter().any(|part| part == "src").then(|| file[at..].to_owned())
}

/// A name without closures, types that a generic function is made for, and numbers of the compiler.
fn plain(name: &str) -> String {
    let name = name.split("::{").next().unwrap_or(name);
    let name = name.split('\'').next().unwrap_or(name);
    let (mut plain, mut depth, mut rest) = (String::new(), 0, name);
    while let Some(letter) = rest.chars().next() {
        if depth > 0 || rest.starts_with("::<") {
            depth += i32::from(letter == '<') - i32::from(letter == '>');
            // `::<` opens with its last letter.
            if depth == 0 && letter == ':' && rest.starts_with("::<") {
                (depth, rest) = (1, &rest[2..]);
            }
        } else {
            plain.push(letter);
        }
        rest = &rest[letter.len_utf8()..];
    }
    plain
}

/// Functions with other numbers of calls.
fn changed(one: &Calls, other: &Calls) -> BTreeSet<(String, String)> {
    one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key)).cloned().collect()
}

fn table(functions: &Functions) -> String {
    let count: usize = functions.values().map(BTreeSet::len).sum();
    let mut text =
        format!("\n{count} functions in {} files.\n\n| file | functions |\n| --- | --- |\n", functions.len());
    for (file, names) in functions {
        let short = |name: &String| format!("`{}`", name.rsplit("::").next().unwrap_or(name));
        let names: BTreeSet<String> = names.iter().map(short).collect();
        let names: Vec<String> = names.into_iter().collect();
        text += &format!("| `{}` | {} |\n", file.trim_start_matches("crates/"), names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = "fl=(1) /home/user/crates/koppel/src/a.rs\nfn=(1) koppel::a::main\n";

    #[test]
    fn functions_that_call_more_often_are_found() {
        let text = |count: u32| {
            format!(
                "{MAIN}3 4\ncfi=(2) /rustc/vec.rs\ncfn=(2) alloc::push\ncalls={count} 7\n9 100\ncfn=(3) koppel::a::once::{{closure#0}}\ncalls=1 9\n"
            )
        };
        let (one, two) = (read(&text(1)).unwrap(), read(&text(2)).unwrap());
        let main = ("crates/koppel/src/a.rs".to_owned(), "koppel::a::main".to_owned());
        assert_eq!(changed(&one, &two), BTreeSet::from([main]));
        assert!(one.keys().any(|(_, name)| name == "koppel::a::once"), "{one:?}");
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(plain("koppel::a::f::<f64, core::Vec<u8>>::{closure#0}"), "koppel::a::f");
        assert_eq!(plain("<koppel::A as koppel::B>::row"), "<koppel::A as koppel::B>::row");
        assert_eq!(plain("koppel::f'2"), "koppel::f");
    }
}

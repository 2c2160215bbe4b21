//! What a file means, and that it means the same when written again.

use std::path::Path;

use koppel::coupling::CouplingConfig;
use koppel::record::Table;
use koppel::run::Flow;

use super::{Mistake, SystemFile, parse};
use crate::Error;

const SYSTEM: &str = r#"
title = "Two masses"
[run]
stop = 1
step = 1e-2
record = ["*"]
every = { right = 2 }
[subsystems.left]
model = "linear"
A = [[0, 1], [-40, -0.1]]
B = [[0], [0.1]]
C = [[1, 0], [0, 1]]
inputs = [{ name = "F", unit = "N", start = 2 }]
outputs = ["x", { name = "v", unit = "m/s" }]
x0 = [0.1, 0]
solver = { method = "rk4", step = 1e-3 }
[subsystems.right]
model = "mass"
parameters = { c = 30 }
start = { x = 0.2 }
[subsystems.gain]
model = "linear"
D = [[2]]
inputs = ["u"]
outputs = ["y"]
[[connections]]
from = ["left.x", "right.x"]
to = "gain.u"
gain = -1
offset = 0.5
coupling = "foh"
[[connections]]
from = "gain.y"
to = "right.F"
[[inputs]]
to = "left.F"
signal = { kind = "sine", amplitude = 1, frequency = 2 }
[[at]]
time = 0.5
set = { "right.m" = 12 }
"#;

fn read(text: &str) -> SystemFile {
    parse(text, Path::new("system.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn mistake(text: &str) -> Mistake {
    match *parse(text, Path::new("system.toml")).unwrap_err() {
        Error::File(mistake) => *mistake,
        other => panic!("{other}"),
    }
}

fn rows(file: &SystemFile) -> Table {
    let mut table = Table::default();
    file.simulation().unwrap().run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    table
}

#[test]
fn everything_is_read() {
    let file = read(SYSTEM);
    assert_eq!(file.title, "Two masses");
    assert_eq!(file.run.every["right"], 2);
    assert_eq!(file.run.at.len(), 2, "the start value and the change");
    let CouplingConfig::Mixed { connections, .. } = &file.run.coupling else {
        panic!("{:?}", file.run.coupling)
    };
    assert_eq!(connections["gain.u"].name(), "foh");
    let system = file.build().unwrap();
    assert_eq!(system.graph.names(), ["left", "right", "gain"]);
    let offset = |name: &str| system.graph.offset(system.graph.find_input(name).unwrap());
    assert_eq!((offset("gain.u"), offset("right.F_ext")), (0.5, 0.0));
    assert_eq!(offset("left.F"), 0.0, "the signal takes the place of the start value");
    assert_eq!(system.graph.wires().len(), 3);
}

#[test]
fn written_again_it_is_the_same_run() {
    let file = read(SYSTEM);
    let again = read(&file.to_toml());
    assert_eq!(rows(&file), rows(&again));
    assert_eq!(again.to_toml(), file.to_toml());
}

#[test]
fn settings_replace_those_of_the_file() {
    let mut file = read(SYSTEM);
    for (name, value) in [
        ("run.step", "0.02"),
        ("run.coupling", "soh"),
        ("run.every.right", "4"),
        ("right.m", "7"),
        ("right.x", "0.9"),
        ("left.x0", "[1, 2]"),
        ("left.F", "3"),
        ("left.solver", "exact"),
    ] {
        file.set(name, value, "--set").unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!((file.run.step, file.run.every["right"]), (0.02, 4));
    let first = &rows(&file).rows[0];
    assert_eq!(first[..3], [1.0, 2.0, 3.0 + 0.0], "left.x, left.v, left.F with the sine at zero");
    assert!(first.contains(&0.9));
    assert_eq!(file.to_json()["subsystems"]["right"]["parameters"]["m"], 7.0);
}

#[test]
fn a_mistake_knows_its_place() {
    let found = mistake(&SYSTEM.replace("\"right.x\"]", "\"rigth.x\"]"));
    assert_eq!(found.line_column(), (27, 20));
    assert_eq!(found.excerpt(), ("from = [\"left.x\", \"rigth.x\"]", 19, 5));
    assert_eq!(found.message, "unknown subsystem `rigth`");
    assert!(found.hint.unwrap().starts_with("did you mean `right`?"));
}

#[test]
fn places_count_characters_not_bytes() {
    let found = mistake("title = \"äöü\"\n[run]\nstop = 1\nstep = 1\n[subsystems.\"ä\"]\nmodel = \"ö\"\n");
    assert_eq!(found.line_column(), (6, 9));
    let found = mistake("title = \"äöü\" x");
    assert_eq!(found.line_column().0, 1);
}

#[test]
fn a_mistake_in_an_option_shows_the_option() {
    let mut file = read(SYSTEM);
    let error = file.set("run.step", "true", "--step").unwrap_err();
    let Error::File(found) = *error else { panic!("{error}") };
    assert_eq!(
        (found.place.as_str(), found.text.as_str(), found.span.clone()),
        ("--step", "run.step = true", 11..15)
    );
    assert_eq!(file.run.step, 1e-2, "a refused setting changes nothing");
}

#[test]
fn an_unknown_start_value_is_underlined() {
    let file = read(&SYSTEM.replace("start = { x = 0.2 }", "start = { q = 0.2 }"));
    let error = file.simulation().map(|_| ()).unwrap_err();
    let Error::File(found) = *error else { panic!("{error}") };
    assert_eq!((found.excerpt().1, found.excerpt().2), (10, 1));
}

/// No text makes the reader panic.
#[test]
fn broken_files_are_mistakes() {
    for cut in 0..SYSTEM.len() {
        let (before, after) = SYSTEM.split_at(cut);
        let texts = [
            before.to_owned(),
            format!("{before}{}", &after[1..]),
            format!("{before}ä{after}"),
            format!("{before}\"\"{after}"),
        ];
        for error in texts.iter().filter_map(|text| parse(text, Path::new("system.toml")).err()) {
            assert!(error.to_string().contains("system.toml:"), "{error}");
            if let Error::File(mistake) = *error {
                let _ = mistake.excerpt();
            }
        }
    }
}

#[test]
fn tables_and_unit_rules_are_read_and_written() {
    const TABLE: &str = "[run]\nstop = 1\nstep = 1\n[subsystems.a]\nmodel = \"linear\"\nD = [[1]]\ninputs = [{ name = \"u\", unit = \"m\" }]\noutputs = [{ name = \"y\", unit = \"s\" }]\n[[connections]]\nfrom = \"a.y\"\nto = \"a.u\"\n";
    let with = |line: &str| format!("{TABLE}{line}\n");
    assert!(mistake(TABLE).message.contains("does not convert"));
    let file = read(&with("units = \"ignore\""));
    assert_eq!(file.build().unwrap().graph.wires()[0].gain, 1.0);
    let file = read(&with("map = [[0, 1], [1, 0]]"));
    let again = read(&file.to_toml());
    assert_eq!(again.connections().next().unwrap().map, [(0.0, 1.0), (1.0, 0.0)]);
    assert_eq!(again.to_toml(), file.to_toml());
    for (line, words) in [
        ("units = \"ignored\"", "unknown rule `ignored`"),
        ("map = [[0, 1, 2]]", "a list of pairs"),
        ("map = [[0.5, 1]]", "no whole number"),
        ("map = [[0, 1]]\ngain = 2", "neither gain nor offset"),
    ] {
        let found = mistake(&with(line));
        assert!(found.message.contains(words), "{}", found.message);
        assert!(found.line_column().0 > 9, "{found}");
    }
}

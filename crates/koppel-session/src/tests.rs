//! What a file means, and that it means the same when written again.

use std::path::Path;

use koppel::coupling::CouplingConfig;
use koppel::diagnostic::{Diagnosis, render};
use koppel::record::Trajectory;
use koppel::run::Flow;

use koppel_io::system_file::{Mistake, Place};

use crate::{Error, Session, monolith};

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

fn read(text: &str) -> Session {
    Session::parse(text, Path::new("system.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn mistake(text: &str) -> Mistake {
    match *Session::parse(text, Path::new("system.toml")).unwrap_err() {
        Error::File(mistakes) => mistakes.first().clone(),
        other => panic!("{other}"),
    }
}

fn rows(file: &Session) -> Trajectory {
    let mut table = Trajectory::default();
    file.build_run().unwrap().run(&mut table, &mut |_| Ok(Flow::Continue)).unwrap();
    table
}

#[test]
fn everything_is_read() {
    let file = read(SYSTEM);
    assert_eq!(file.spec.title, "Two masses");
    assert_eq!(file.spec.run.every["right"], 2);
    assert_eq!(file.spec.run.at.len(), 2, "the start value and the change");
    let CouplingConfig::Mixed { connections, .. } = &file.spec.run.coupling else {
        panic!("{:?}", file.spec.run.coupling)
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
    let again = read(&file.spec.to_toml());
    assert_eq!(rows(&file), rows(&again));
    assert_eq!(again.spec.to_toml(), file.spec.to_toml());
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
    assert_eq!((file.spec.run.step, file.spec.run.every["right"]), (0.02, 4));
    let first = &rows(&file).rows[0];
    assert_eq!(first[..3], [1.0, 2.0, 3.0 + 0.0], "left.x, left.v, left.F with the sine at zero");
    assert!(first.contains(&0.9));
    assert_eq!(file.spec.to_json()["subsystems"]["right"]["parameters"]["m"], 7.0);
}

#[test]
fn a_mistake_knows_its_place() {
    let found = mistake(&SYSTEM.replace("\"right.x\"]", "\"rigth.x\"]"));
    assert_eq!(found.line_column(), (27, 20));
    assert_eq!(found.excerpt(), ("from = [\"left.x\", \"rigth.x\"]", 19, 5));
    assert_eq!(found.message, "unknown subsystem `rigth`");
    assert!(found.hints[0].starts_with("did you mean `right`?"));
}

/// Mistakes of parts that do not depend on each other are reported in one go, by their places.
#[test]
fn several_mistakes_in_one_go() {
    let text = SYSTEM
        .replace("title = \"Two masses\"", "titel = \"Two masses\"")
        .replace("stop = 1\nstep = 1e-2", "stop = true\nstep = \"small\"\nreading = \"frsh\"\nhodl = 1")
        .replace("B = [[0], [0.1]]", "B = [[0], [0.1, 1]]")
        .replace("parameters = { c = 30 }", "parameters = { cc = 30 }")
        .replace("gain = -1", "gain = \"-1\"")
        .replace("to = \"right.F\"", "two = \"right.F\"")
        .replace("frequency = 2", "frequenzy = 2")
        .replace("time = 0.5", "time = [0.5]");
    let error = Session::parse(&text, Path::new("system.toml")).unwrap_err();
    let found: Vec<(usize, usize, String)> = Diagnosis::all(&*error)
        .into_iter()
        .map(|diagnosis| (diagnosis.place.line, diagnosis.place.column, diagnosis.what))
        .collect();
    let expected = [
        (2, 1, "unknown key `titel` in a system file"),
        (4, 8, "`stop`: found `true`, expected a number"),
        (
            5,
            8,
            "`step` must be a number of seconds, \"auto\", or { at_most = 0.01 } for rows every 0.01 s, found \"small\"",
        ),
        (6, 11, "unknown value `frsh` of `reading`"),
        (7, 1, "unknown key `hodl` in [run]"),
        (13, 11, "row 2 of matrix B has 2 entries, the first row has 1"),
        (21, 16, "unknown parameter `cc`"),
        (31, 8, "`gain` must be a number, found text"),
        (36, 1, "unknown key `two` in [[connections]]"),
        (39, 42, "unknown key `frequenzy` in signal"),
        (41, 8, "`time` must be a number, found a list"),
    ];
    let expected: Vec<(usize, usize, String)> =
        expected.into_iter().map(|(line, column, what)| (line, column, what.to_owned())).collect();
    assert_eq!(found, expected);
    let unknown = &Diagnosis::all(&*error)[4];
    assert_eq!(unknown.known.first().map(String::as_str), Some("start"));
    assert!(unknown.known.contains(&"isolate".to_owned()) && !unknown.known.contains(&"at".to_owned()));
    assert!(unknown.hints[0].starts_with("did you mean `hold`?"), "{:?}", unknown.hints);
}

/// Unknown names of several connections and signals are all told.
#[test]
fn the_wiring_tells_all_its_mistakes() {
    let text = SYSTEM
        .replace("\"right.x\"]", "\"rigth.x\"]")
        .replace("to = \"right.F\"", "to = \"right.G\"")
        .replace("to = \"left.F\"", "to = \"left.x\"");
    let error = Session::parse(&text, Path::new("system.toml")).unwrap_err();
    let diagnosis: Vec<String> = Diagnosis::all(&*error).iter().map(ToString::to_string).collect();
    assert_eq!(diagnosis.len(), 3, "{diagnosis:#?}");
    assert!(diagnosis[0].starts_with("system.toml:27:20: unknown subsystem `rigth`\n"), "{}", diagnosis[0]);
    assert!(diagnosis[1].starts_with("system.toml:34:6: unknown input `right.G`\n"), "{}", diagnosis[1]);
    assert!(diagnosis[2].starts_with("system.toml:36:6: `left.x` is an output"), "{}", diagnosis[2]);
}

/// No more than anybody reads.
#[test]
fn many_mistakes_are_counted() {
    let many: String = (0..30).map(|k| format!("key{k} = 1\n")).collect();
    let error = Session::parse(&format!("{many}{SYSTEM}"), Path::new("system.toml")).unwrap_err();
    let all = Diagnosis::all(&*error);
    assert_eq!((all.len(), all[20].what.as_str()), (21, "10 more mistakes are not shown"));
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
    let found = found.first();
    assert_eq!(
        (found.place.as_str(), &*found.text, found.span.clone()),
        ("--step", "run.step = true", 11..15)
    );
    assert_eq!(file.spec.run.step, 1e-2, "a refused setting changes nothing");
}

#[test]
fn an_unknown_start_value_is_underlined() {
    let found = mistake(&SYSTEM.replace("start = { x = 0.2 }", "start = { q = 0.2 }"));
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
        for error in texts.iter().filter_map(|text| Session::parse(text, Path::new("system.toml")).err()) {
            assert!(error.to_string().contains("system.toml:"), "{error}");
            if let Error::File(mistakes) = *error {
                mistakes.iter().for_each(|mistake| assert!(mistake.excerpt().2 > 0));
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
    let again = read(&file.spec.to_toml());
    assert_eq!(again.spec.connections().next().unwrap().map, [(0.0, 1.0), (1.0, 0.0)]);
    assert_eq!(again.spec.to_toml(), file.spec.to_toml());
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

#[test]
fn settings_are_found_at_any_depth() {
    let mut file = read(SYSTEM);
    file.set(
        "run.coupling",
        "{ method = \"prestep\", model = { identify = \"rls\", N = 1, M = 1 } }",
        "--set",
    )
    .unwrap();
    file.set("run.coupling.model.N", "2", "--set").unwrap();
    file.set("run.every.right", "3", "--set").unwrap();
    file.set("connections.gain.u.gain", "-3", "--set").unwrap();
    file.set("connections.gain.u.coupling", "soh", "--set").unwrap();
    file.set("inputs.left.F.signal.amplitude", "7", "--set").unwrap();
    let text = file.spec.to_toml();
    assert!(text.contains("N = 2") && text.contains("right = 3") && text.contains("gain = -3.0"), "{text}");
    assert!(text.contains("soh") && text.contains("amplitude = 7.0"), "{text}");
    let error = render(&*file.set("connections.gain.v.gain", "1", "--set").unwrap_err());
    assert!(
        error.contains("unknown setting `connections.gain.v.gain`") && error.contains("connections.gain.u"),
        "{error}"
    );
}

/// Values put at places that were found once give what settings give one by one, and leave the file as it was.
#[test]
fn variants_of_a_file() {
    let file = read(SYSTEM);
    let places: Vec<Place> = ["right.c", "run.step", "connections.gain.u.gain"]
        .iter()
        .map(|name| file.spec.place(name, "factor").unwrap())
        .collect();
    let values: Vec<(&Place, &str)> = places.iter().zip(["35", "5e-3", "-2"]).collect();
    let variant = file.with(&values, "factor").unwrap();
    let mut same = read(SYSTEM);
    for (place, value) in &values {
        same.set(place.name(), value, "--set").unwrap();
    }
    assert_eq!(variant.spec.to_toml(), same.spec.to_toml());
    assert_eq!(rows(&variant), rows(&same));
    assert_eq!(file.spec.to_toml(), read(SYSTEM).spec.to_toml());
    assert_eq!(places.iter().map(Place::is_about_coupling).collect::<Vec<_>>(), [false, true, false]);
    let wrong = file.with(&[(&places[1], "\"fast\"")], "factor").unwrap_err().to_string();
    assert!(wrong.starts_with("factor:1:12: "), "{wrong}");
}

/// The uncut system is the limit of the cut one for small steps.
#[test]
fn the_monolith_is_the_limit_of_small_steps() {
    let text = SYSTEM.split_once("[[at]]").unwrap().0.replace("every = { right = 2 }", "");
    let mut file = read(&text);
    let names = ["left.x".to_owned(), "right.x".to_owned()];
    let mut exact = Trajectory::default();
    monolith(&file, None, &names).unwrap().run(&mut exact, &mut |_| Ok(Flow::Continue)).unwrap();
    assert_eq!(exact.times.len(), 101);
    let distance = |file: &mut Session, step: &str| {
        file.set("run.step", step, "--set").unwrap();
        file.set("run.record", "[\"left.x\", \"right.x\"]", "--set").unwrap();
        let rows = rows(file);
        let every = (rows.times.len() - 1) / 100;
        let largest = |column: usize| {
            let pairs = rows.column(column).step_by(every).zip(exact.column(column));
            pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
        };
        largest(0).max(largest(1))
    };
    let (coarse, fine) = (distance(&mut file, "1e-3"), distance(&mut file, "2.5e-4"));
    assert!(fine < 0.4 * coarse && coarse < 1e-2, "{coarse} {fine}");
}

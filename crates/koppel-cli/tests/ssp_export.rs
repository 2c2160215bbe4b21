//! `koppel ssp export`, and running what it wrote.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;
#[path = "../../koppel-fmi/tests/common/schema.rs"]
mod schema;

use common::Folder;
use common::masses::{MASS2, events, mass, masses, pack};

const TOML: &str = r#"
title = "Two masses"
[run]
stop = 0.5
step = 1e-2
coupling = "foh"
record = ["left.*", "right.x", "right.F"]

[subsystems.left]
fmu = "left.fmu"
parameters = { m = 0.3, c = 12.5, on = true, label = "a < b & c" }
substeps = 3

[subsystems.right]
fmu = "right.fmu"
parameters = { d = 0.1, x = -0.7 }

[[connections]]
from = "left.x"
to = "right.F"
gain = 0.3
offset = 0.1
coupling = "zoh"

[[connections]]
from = "right.x"
to = "left.F"

[[inputs]]
to = "left.F"
signal = { kind = "sine", amplitude = 2.0, frequency = 0.5 }

[[at]]
time = 0.25
set = { "right.c" = 3.0 }
"#;

#[test]
fn a_system_file_survives_as_a_package() {
    let folder = masses();
    folder.write("system.toml", TOML);
    for option in ["--report", "--checkpoint", "--out"] {
        let said = folder.run(&["run", "system.toml", option, "left.fmu"]);
        assert_eq!(said.code, Some(2), "{option}: {}", said.err);
    }
    folder.succeed(&["run", "system.toml", "--out", "toml.csv", "-q"]);
    assert!(folder.column("toml.csv", "left.x").iter().any(|x| (x - 1.0).abs() > 1e-2), "something moves");
    assert_eq!(folder.column("toml.csv", "left.on"), vec![1.0; 51]);
    for version in ["1", "2"] {
        let package = format!("v{version}.ssp");
        let said = folder.succeed(&["ssp", "export", "system.toml", "-o", &package, "--ssp", version]);
        said.says(&[&format!("SSP {version}.0, 2 components, 2 FMUs")]);
        folder.succeed(&["ssp", "check", &package]).says(&["conforms to the standard"]);
        validate(&folder, &package);
        // The package alone, with nothing around it.
        let other = Folder::new();
        std::fs::copy(folder.path(&package), other.path("moved.ssp")).unwrap();
        other.succeed(&["run", "moved.ssp", "--out", "ssp.csv", "-q"]);
        assert_eq!(other.read("ssp.csv"), folder.read("toml.csv"), "bit for bit");
        other.succeed(&["ssp", "export", "moved.ssp", "-o", "again.ssp", "--ssp", version]);
        other.succeed(&["run", "again.ssp", "--out", "again.csv", "-q"]);
        assert_eq!(other.read("again.csv"), folder.read("toml.csv"), "twice over");
        let said = folder.run(&["ssp", "export", "system.toml", "-o", &package]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&["exists already", "--force"]);
    }
}

/// A file of a package.
fn packed(folder: &Folder, package: &str, name: &str) -> String {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(folder.path(package)).unwrap()).unwrap();
    std::io::read_to_string(zip.by_name(name).unwrap()).unwrap()
}

/// What is written validates.
fn validate(folder: &Folder, package: &str) {
    for name in ["SystemStructure.ssd", "resources/parameters.ssv"] {
        folder.write("document.xml", &packed(folder, package, name));
        schema::validate(&folder.path("document.xml"));
    }
}

#[test]
fn a_package_goes_on_from_its_checkpoint() {
    let folder = masses();
    folder.write("system.toml", TOML);
    folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    folder.succeed(&["run", "system.ssp", "--out", "whole.csv", "-q"]);
    folder.succeed(&[
        "run",
        "system.ssp",
        "--stop",
        "0.3",
        "--out",
        "part.csv",
        "--checkpoint-every",
        "10",
        "-q",
    ]);
    folder.succeed(&["resume", "part.csv.checkpoint", "--stop", "0.5", "-q"]);
    assert_eq!(folder.read("part.csv"), folder.read("whole.csv"));
    folder.succeed(&["run", "system.ssp", "--isolate", "--out", "apart.csv", "-q"]);
    assert_eq!(folder.read("apart.csv"), folder.read("whole.csv"), "in processes of their own");
    std::fs::remove_file(folder.path("system.ssp")).unwrap();
    let said = folder.run(&["resume", "part.csv.checkpoint", "--stop", "0.6"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["--> settings in part.csv.checkpoint:", "system.ssp"]);
}

#[test]
fn a_mistake_in_an_option_is_shown_there() {
    let folder = masses();
    folder.write("system.toml", TOML);
    folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    for file in ["system.ssp", "system.toml"] {
        let said = folder.run(&["run", file, "--set", "left.m=heavy"]);
        assert_eq!(said.code, Some(2));
        said.errs_with(&["`m` is a Float64", "--> --set:1:6", "left.m = heavy"]);
        let said = folder.run(&["run", file, "--set", "left.springiness=1"]);
        said.errs_with(&["no variable `springiness`; known: `m`, `c`, `d`, `misbehave`, `label`, `F`"]);
    }
}

#[test]
fn models_of_koppel_become_fmus() {
    let folder = Folder::new();
    for name in ["two-mass", "pendulum-oscillator"] {
        let file = common::examples().join(format!("{name}.toml"));
        let file = file.to_str().unwrap();
        folder.succeed(&["run", file, "--out", "toml.csv", "-q"]);
        let package = format!("{name}.ssp");
        folder.succeed(&["ssp", "export", file, "-o", &package]);
        folder.succeed(&["ssp", "check", &package]);
        folder.succeed(&["run", &package, "--out", "ssp.csv", "-q"]);
        let ((names, expected), (other_names, seen)) = (folder.csv("toml.csv"), folder.csv("ssp.csv"));
        assert_eq!(names, other_names);
        assert_eq!(expected.len(), seen.len());
        for (a, b) in expected.iter().flatten().zip(seen.iter().flatten()) {
            assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{name}: {a} against {b}");
        }
    }
}

#[test]
fn what_cannot_become_an_fmu_is_named() {
    let folder = Folder::new();
    folder.write(
        "system.toml",
        r#"
[run]
stop = 1
step = 0.1
[subsystems.filter]
model = "linear"
A = [[-1]]
B = [[1]]
C = [[1]]
D = [[0]]
inputs = ["u"]
outputs = ["y"]
start = { "x[1]" = 2.0 }
"#,
    );
    let said = folder.run(&["ssp", "export", "system.toml", "-o", "x.ssp"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`filter.x[1]` cannot be a start value of a model alone", "`x0`"]);
    assert!(!folder.has("x.ssp"));
    let text = folder.read("system.toml").replace("start = { \"x[1]\" = 2.0 }", "x0 = [2.0]");
    folder.write("system.toml", &text);
    folder.succeed(&["ssp", "export", "system.toml", "-o", "x.ssp"]);
    folder.succeed(&["run", "system.toml", "--out", "toml.csv", "-q"]);
    folder.succeed(&["run", "x.ssp", "--out", "ssp.csv", "-q"]);
    assert_eq!(folder.csv("toml.csv"), folder.csv("ssp.csv"));
    folder.run(&["ssp", "export", "system.toml", "-o", "x.zip"]).errs_with(&["`.ssp`"]);
}

#[test]
fn sums_of_outputs_ride_in_the_annotation() {
    let folder = masses();
    folder.write("system.toml", &TOML.replace("from = \"left.x\"", "from = [\"left.x\", \"left.v\"]"));
    let said = folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    said.errs_with(&["`right.F` gets a sum of outputs"]);
    folder.succeed(&["run", "system.toml", "--out", "toml.csv", "-q"]);
    folder.succeed(&["run", "system.ssp", "--out", "ssp.csv", "-q"]);
    assert_eq!(folder.read("ssp.csv"), folder.read("toml.csv"));
}

/// What a file leaves to koppel is left to it in the package, too; what is written is kept.
#[test]
fn open_settings_stay_open() {
    let folder = masses();
    let open = TOML.replace("coupling = \"foh\"\n", "").replace("coupling = \"zoh\"\n", "");
    let native = "[run]\nstop = 0.1\nstep = 1e-3\n[subsystems.a]\nmodel = \"mass\"\n";
    for (text, run, has) in [
        (open.as_str(), "", [false, false]),
        (native, "", [false, false]),
        (native, "schedule = \"parallel\"\n", [true, false]),
        (native, "coupling = \"zoh\"\n", [false, true]),
        (native, "schedule = \"sequence\"\ncoupling = \"auto\"\n", [true, true]),
    ] {
        folder.write("system.toml", &text.replace("[run]\n", &format!("[run]\n{run}")));
        folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp", "--force"]);
        let structure = packed(&folder, "system.ssp", "SystemStructure.ssd");
        let found = ["\nschedule = ", "\n[run.coupling]"].map(|key| structure.contains(key));
        assert_eq!(found, has, "{run}: {structure}");
        folder.succeed(&["run", "system.ssp", "-q"]);
    }
}

#[test]
fn items_of_enumerations_are_written_by_name() {
    let folder = Folder::new();
    let types = "<TypeDefinitions><SimpleType name=\"Mode\"><Enumeration><Item name=\"fine\" value=\"0\"/><Item name=\"discards\" value=\"1\"/></Enumeration></SimpleType></TypeDefinitions>\n  <ModelVariables>";
    let description = MASS2
        .replace("<ModelVariables>", types)
        .replace("<Integer start=\"0\"/>", "<Enumeration declaredType=\"Mode\" start=\"0\"/>");
    mass(&folder.path("mass.fmu"), &description);
    let system = |mode: i32| {
        format!(
            "[run]\nstop = 0.6\nstep = 0.1\n[subsystems.mass]\nfmu = \"mass.fmu\"\nparameters = {{ misbehave = {mode} }}\n"
        )
    };
    for (mode, item, code) in [(0, "fine", 0), (1, "discards", 1)] {
        folder.write("system.toml", &system(mode));
        folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp", "--force"]);
        let text = packed(&folder, "system.ssp", "resources/parameters.ssv");
        assert!(text.contains(&format!("value=\"{item}\"")), "{text}");
        let said = folder.run(&["run", "system.ssp"]);
        assert_eq!(said.code, Some(code), "{}", said.err);
    }
    folder.write("system.toml", &system(7));
    let said = folder.run(&["ssp", "export", "system.toml", "-o", "system.ssp", "--force"]);
    said.errs_with(&["system.toml:6:", "`misbehave` of `mass` cannot be 7", "0 (fine)"]);
}

#[test]
fn packages_run_inside_packages() {
    let folder = masses();
    let plain =
        &TOML[..TOML.find("[[inputs]]").unwrap()].replace("\"left.*\", \"right.x\", \"right.F\"", "\"*.x\"");
    folder.write("system.toml", plain);
    folder.succeed(&["ssp", "export", "system.toml", "-o", "inner.ssp"]);
    folder.succeed(&[
        "run",
        "system.toml",
        "--set",
        "left.substeps=4",
        "--coupling",
        "zoh",
        "--out",
        "toml.csv",
        "-q",
    ]);
    let outer = r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" version="2.0" name="outer">
<ssd:System name="outer"><ssd:Elements>
<ssd:Component name="a" type="application/x-ssp-package" source="resources/inner.ssp"/>
<ssd:Component name="b" type="application/x-ssp-package" source="resources/inner.ssp"/>
</ssd:Elements></ssd:System>
<ssd:DefaultExperiment stopTime="0.5"/>
</ssd:SystemStructureDescription>"#;
    let inner = folder.bytes("inner.ssp");
    pack(
        &folder.path("outer.ssp"),
        &[("SystemStructure.ssd", outer.as_bytes()), ("resources/inner.ssp", &inner)],
    );
    let options = ["--step", "1e-2", "--coupling", "zoh", "--record", "*.x", "--out", "ssp.csv", "-q"];
    folder.succeed(&[&["run", "outer.ssp"], &options[..]].concat());
    for name in ["left.x", "right.x"] {
        let expected = folder.column("toml.csv", name);
        assert_eq!(folder.column("ssp.csv", &format!("a.{name}")), expected);
        assert_eq!(folder.column("ssp.csv", &format!("b.{name}")), expected);
    }
    folder
        .succeed(&["fmu", "info", "outer.ssp!resources/inner.ssp!resources/left.fmu"])
        .says(&["FMI version"]);
    let said = folder.run(&["fmu", "info", "outer.ssp!resources/inner.ssp!resources/lost.fmu"]);
    said.errs_with(&["outer.ssp!resources/inner.ssp", "no entry `resources/lost.fmu`"]);
}

#[test]
fn arrays_are_written_in_version_two() {
    let folder = masses();
    let system = TOML.replace("{ d = 0.1, x = -0.7 }", "{ d = 0.1, vector = [1.5, -2, 3] }");
    folder.write("system.toml", &system.replace("\"right.F\"]", "\"right.F\", \"right.vector*\"]"));
    folder.succeed(&["run", "system.toml", "--out", "toml.csv", "-q"]);
    folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    validate(&folder, "system.ssp");
    folder.succeed(&["run", "system.ssp", "--out", "ssp.csv", "-q"]);
    assert_eq!(folder.column("ssp.csv", "right.vector[2]"), [-2.0; 51]);
    assert_eq!(folder.read("ssp.csv"), folder.read("toml.csv"));
    let said = folder.run(&["ssp", "export", "system.toml", "-o", "one.ssp", "--ssp", "1"]);
    assert_eq!(said.code, Some(2));
    said.errs_with(&["`right.vector`", "SSP 1.0 has no arrays", "--ssp 2", "system.toml:"]);
}

const EVENTS: &str = r#"
[run]
stop = 0.5
step = 1e-1
coupling = "zoh"
record = ["b.u*", "a.i32_out", "b.b_out", "b.e_out"]

[subsystems.a]
fmu = "events.fmu"
parameters = { n = 3, k = [1.5, -2, 3], words = ["a < b", ""], key = "beef", e_in = 2, u = [1, 2, 3], i32_in = 2 }

[subsystems.b]
fmu = "events.fmu"
parameters = { n = 3 }

[[connections]]
from = "a.y"
to = "b.u"

[[connections]]
from = "a.i32_out"
to = "b.b_in"
map = [[0, 1], [1, 0], [2, 1]]

[[connections]]
from = "a.e_out"
to = "b.e_in"
"#;

#[test]
fn sizes_texts_and_bytes_are_written() {
    let folder = Folder::with(EVENTS);
    events(&folder.path("events.fmu"));
    folder.succeed(&["run", "system.toml", "--out", "toml.csv", "-q"]);
    let said = folder.succeed(&["ssp", "export", "system.toml", "-o", "system.ssp"]);
    said.errs_with(&["`a.i32_out` -> `b.b_in` leads from type Integer to type Boolean", "annotation"]);
    validate(&folder, "system.ssp");
    let set = packed(&folder, "system.ssp", "resources/parameters.ssv");
    for part in ["a &lt; b", "BEEF", "<ssc:Dimension size=\"3\"/>", "value=\"on\""] {
        assert!(set.contains(part), "{part} in {set}");
    }
    folder.succeed(&["run", "system.ssp", "--out", "ssp.csv", "-q"]);
    assert_eq!(folder.read("ssp.csv"), folder.read("toml.csv"), "bit for bit");
    assert_eq!(folder.column("ssp.csv", "b.b_out")[2..], [1.0; 4], "2 becomes true");
    assert!(folder.column("ssp.csv", "b.u[3]").iter().any(|u| *u != 0.0), "a third element");
    let parameters = |file: &str| {
        let plan = folder.succeed(&["run", file, "--dry-run", "--json"]).json();
        plan["settings"]["subsystems"]["a"]["parameters"].clone()
    };
    let (written, read) = (parameters("system.toml"), parameters("system.ssp"));
    for name in ["words", "key", "n"] {
        assert_eq!(read[name], written[name], "{name}");
    }
    folder.write("system.toml", &EVENTS.replace("k = [1.5, -2, 3]", "\"k[2]\" = 5"));
    let said = folder.run(&["ssp", "export", "system.toml", "-o", "system.ssp", "--force"]);
    said.errs_with(&["`a.k[2]`", "no values of single elements", "`k` as a list"]);
}

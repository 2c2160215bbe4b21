//! `koppel fmu export`: files that koppel itself takes back, and wishes that cannot be met.

mod common;

use common::Folder;
use common::masses::{MASS2, compile, pack};
use std::path::Path;
use std::process::Command;

const SYSTEM: &str = r#"
title = "Two masses"
[run]
stop = 0.1
step = 1e-3
coupling = "zoh"
[subsystems.left]
model = "mass"
parameters = { x0 = 0.1 }
[subsystems.right]
model = "spring-mass"
[[connections]]
from = "right.F"
to = "left.F"
[[connections]]
from = "left.x"
to = "right.x"
[[connections]]
from = "left.v"
to = "right.v"
"#;

fn importing(fmu: &str) -> String {
    format!("[run]\nstop = 0.1\nstep = 1e-3\n[subsystems.all]\nfmu = \"{fmu}\"\n")
}

#[test]
fn a_system_runs_inside_an_fmu_as_outside() {
    let folder = Folder::with(SYSTEM);
    folder.succeed(&["run", "system.toml", "--out", "native.csv"]);
    for version in ["2", "3"] {
        let said =
            folder.succeed(&["fmu", "export", "system.toml", "-o", "all.fmu", "--fmi", version, "--force"]);
        said.says(&["all.fmu: FMI", "co-simulation", "1 input, 3 outputs"]);
        folder.succeed(&["fmu", "info", "all.fmu"]).says(&["left.F_ext", "saves its state", "Two masses"]);
        folder.write("outer.toml", &importing("all.fmu"));
        folder.succeed(&["run", "outer.toml", "--out", "outer.csv"]);
        for name in ["left.x", "left.v", "right.F"] {
            let outer = folder.column("outer.csv", &format!("all.{name}"));
            assert_eq!(outer, folder.column("native.csv", name), "FMI {version}: {name}");
            assert!(outer.iter().any(|value| value.abs() > 1e-3), "something moves");
        }
    }
}

#[test]
fn a_model_is_written_with_its_parameters_and_solver() {
    let folder = Folder::new();
    let solver = "{ method = \"rk4\", step = 1e-4 }";
    folder.succeed(&["fmu", "export", "mass", "--set", "m=3", "--solver", solver]);
    assert!(folder.has("mass.fmu"));
    folder.succeed(&["fmu", "export", "mass", "-o", "again.fmu", "--set", "m=3", "--solver", solver]);
    assert!(folder.bytes("mass.fmu") == folder.bytes("again.fmu"), "the same bytes");
    folder.write("outer.toml", &importing("mass.fmu").replace("[subs", "record = [\"all.*\"]\n[subs"));
    folder.succeed(&["run", "outer.toml", "--out", "outer.csv"]);
    assert_eq!(folder.column("outer.csv", "all.m")[0], 3.0);
    folder.succeed(&["fmu", "export", "mass", "-o", "plain.fmu", "--plain"]);
    let said = folder.succeed(&["fmu", "info", "plain.fmu"]);
    assert!(!said.out.contains("saves its state"), "{}", said.out);
}

#[test]
fn wishes_that_cannot_be_met_get_one_message() {
    let folder = Folder::with(SYSTEM);
    let refused = |arguments: &[&str], parts: &[&str]| {
        let said = folder.run(&[&["fmu", "export"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}\n{}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
        said.errs_with(parts);
    };
    refused(&["spring-mas"], &["unknown model `spring-mas`", "did you mean `spring-mass`?"]);
    refused(&["none.toml"], &["none.toml"]);
    refused(&["mass", "--set", "M=1"], &["unknown parameter `M`", "did you mean `m`?"]);
    refused(&["mass", "--set", "m=heavy"], &["`heavy` is not a number"]);
    refused(&["mass", "--set", "m=-1"], &["must be above zero"]);
    refused(&["mass", "--solver", "magic"], &["--solver magic", "exact, adaptive"]);
    refused(&["van-der-pol", "--solver", "exact"], &["not linear"]);
    refused(&["mass", "-o", "mass.zip"], &["must end in `.fmu`", "mass.fmu"]);
    refused(&["mass", "-o", "nowhere/mass.fmu"], &["nowhere/mass.fmu"]);
    refused(&["mass", "--library", "none.so"], &["none.so", "--library", "koppel-fmu-binary"]);
    folder.write("text.so", "fmi2DoStep");
    refused(&["mass", "--library", "text.so"], &["not the library for FMUs", "text.so` cannot be loaded"]);
    let program = env!("CARGO_BIN_EXE_koppel");
    refused(&["mass", "--library", program], &["not the library for FMUs", "koppel` cannot be loaded"]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../koppel-fmi/tests/fmus/mass2.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-fPIC", "-shared", "-lm", "-o"]).args([folder.path("mass.so"), source]);
    assert!(command.status().unwrap().success());
    refused(&["mass", "--library", "mass.so"], &["mass.so` has no function `fmi3"]);
    refused(&["mass", "--fmi", "4"], &["4"]);
    refused(&["system.toml", "--solver", "exact"], &["--set SUBSYSTEM.solver"]);
    refused(&["system.toml", "--set", "left.mass=1"], &["left.mass"]);
    refused(&["system.toml", "--set", "run.record=left.m"], &["none of them is recorded"]);
    folder.write("broken.toml", &SYSTEM.replace("stop = 0.1", "stpo = 0.1"));
    refused(&["broken.toml"], &["broken.toml:4:1", "stpo"]);
    folder.write("outer.toml", &importing("gone.fmu"));
    refused(&["outer.toml"], &["gone.fmu"]);
    folder.succeed(&["fmu", "export", "mass"]);
    folder.write("outer.toml", &importing("mass.fmu"));
    refused(&["outer.toml", "-o", "mass.fmu"], &["is part of the system", "--out"]);
    refused(&["outer.toml", "-o", "mass.fmu", "--force"], &["is part of the system", "--out"]);
    refused(&["mass"], &["`mass.fmu` exists already", "--force"]);
    refused(&["system.toml", "-o", "mass.fmu"], &["`mass.fmu` exists already", "--force"]);
    let before = folder.bytes("mass.fmu");
    refused(&["mass", "--set", "m=3"], &["exists already"]);
    assert!(folder.bytes("mass.fmu") == before, "what was refused changes nothing");
    folder.succeed(&["fmu", "export", "mass", "--set", "m=3", "--force"]);
    assert!(folder.bytes("mass.fmu") != before, "replaced");
    std::fs::create_dir(folder.path("folder.fmu")).unwrap();
    refused(&["mass", "-o", "folder.fmu", "--force"], &["folder.fmu", "this is a folder"]);
    std::fs::remove_dir(folder.path("folder.fmu")).unwrap();
    let left: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().flatten().collect();
    assert_eq!(left.len(), 6, "nothing half done is left: {left:?}");
}

#[test]
fn systems_with_a_rough_coupling_take_steps_of_any_size() {
    let folder = Folder::new();
    for name in ["mixed", "pendulum-oscillator"] {
        let file = common::examples().join(format!("prestep/{name}.toml"));
        folder.succeed(&["fmu", "export", file.to_str().unwrap(), "-o", "system.fmu", "--force"]);
        folder.succeed(&["fmu", "check", "system.fmu"]).says(&["the difference vanishes with the step"]);
    }
}

/// What is told of iterated loops is no output of an FMU, and no hindrance.
#[test]
fn a_system_with_recorded_loops_is_exported() {
    let text = std::fs::read_to_string(common::examples().join("loops/iterated.toml")).unwrap();
    let folder = Folder::with(&text.replace("stop = 1.0", "stop = 0.01"));
    let said =
        folder.succeed(&["fmu", "export", "system.toml", "-o", "all.fmu", "--set", "run.record_every=1"]);
    said.says(&["1 output,"]);
    assert!(said.err.contains("recorded columns of loops are not exported"), "{}", said.err);
    folder.succeed(&["run", "system.toml", "--set", "run.record_every=1", "--out", "native.csv"]);
    folder.write("outer.toml", "[run]\nstop = 0.01\nstep = 1e-4\n[subsystems.all]\nfmu = \"all.fmu\"\n");
    folder.succeed(&["run", "outer.toml", "--out", "outer.csv"]);
    let (outer, native) =
        (folder.column("outer.csv", "all.upper.a1"), folder.column("native.csv", "upper.a1"));
    assert_eq!(outer.len(), 101);
    // To the tolerance of the iteration: inside, the loop is solved once more at the start.
    assert!(outer.iter().zip(&native).all(|(a, b)| (a - b).abs() < 1e-8 * b.abs()), "{outer:?} {native:?}");
}

/// A program that samples cannot be handed to somebody else's solver.
#[test]
fn a_model_that_samples_is_for_co_simulation_alone() {
    let folder = Folder::new();
    for version in ["2", "3"] {
        let said = folder.succeed(&["fmu", "export", "epas", "--fmi", version, "--force"]);
        said.says(&["co-simulation; 2 inputs"]);
        let solver = "solver = { method = \"rk4\", step = 2.5e-4 }";
        let system = |model: &str| {
            format!(
                "[run]\nstop = 0.5\nstep = 1e-3\nrecord = [\"s.v\", \"s.delta_s\"]\n[subsystems.s]\n{model}\n[[inputs]]\nto = \"s.T_s\"\nsignal = {{ kind = \"sweep\", amplitude = 2.5, to = 1.0, duration = 10.0 }}\n"
            )
        };
        folder.succeed(&[
            "fmu",
            "export",
            "epas",
            "--fmi",
            version,
            "--force",
            "--solver",
            &solver["solver = ".len()..],
        ]);
        folder.write("fmu.toml", &system("fmu = \"epas.fmu\""));
        folder.write("native.toml", &system(&format!("model = \"epas\"\n{solver}")));
        folder.succeed(&["run", "fmu.toml", "--out", "fmu.csv"]);
        folder.succeed(&["run", "native.toml", "--out", "native.csv"]);
        let (fmu, native) = (folder.column("fmu.csv", "s.v"), folder.column("native.csv", "s.v"));
        let largest = native.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        assert!(largest > 1e-5, "the rack moves: {largest} m/s");
        for (a, b) in fmu.iter().zip(&native) {
            assert!((a - b).abs() < 1e-6 * largest, "FMI {version}: {a} against {b}");
        }
    }
}

/// A system declares what the FMU inside keeps, and holds all of it in its own check.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn systems_declare_what_their_fmus_keep() {
    let gain = include_str!("../../koppel-fmi/tests/fixtures/gain2.xml");
    let without = |words: &[&str]| words.iter().fold(MASS2.to_owned(), |text, word| text.replace(word, ""));
    let steps = "canHandleVariableCommunicationStepSize=\"true\"";
    let (state, bytes) = ("canGetAndSetFMUstate=\"true\"", "canSerializeFMUstate=\"true\"");
    let once =
        MASS2.replace("modelIdentifier", "canBeInstantiatedOnlyOncePerProcess=\"true\" modelIdentifier");
    // What inside, and what of it the system does not declare.
    let cases: [(String, &str, &[&str], &[&str]); 5] = [
        (MASS2.into(), "mass2.c", &[], &[]),
        (without(&[bytes]), "mass2.c", &[], &["serialization"]),
        (
            without(&[state, bytes, steps, "canInterpolateInputs=\"true\""]),
            "mass2.c",
            &[],
            &["roll-back", "serialization", "input-derivatives", "variable-step-size"],
        ),
        (once, "mass2.c", &[], &["second-instance"]),
        (gain.into(), "gain2.c", &["-DLAZY"], &["roll-back", "serialization", "directional-derivatives"]),
    ];
    let folder = Folder::with(
        "[run]\nstop = 1.0\nstep = 0.01\ncoupling = \"zoh\"\n[subsystems.part]\nfmu = \"part.fmu\"\n",
    );
    for (description, source, flags, lacks) in cases {
        let library = compile(source, flags);
        let files =
            [("modelDescription.xml", description.as_bytes()), ("binaries/linux64/mass.so", &library)];
        pack(&folder.path("part.fmu"), &files);
        folder.succeed(&["fmu", "export", "system.toml", "-o", "all.fmu", "--fmi", "2", "--force"]);
        let found = folder.succeed(&["fmu", "check", "all.fmu", "--json"]).json();
        let list = found["interfaces"][0]["findings"].as_array().unwrap();
        let undeclared: Vec<&str> = list
            .iter()
            .filter(|finding| finding["declared"] == "no")
            .map(|finding| finding["capability"].as_str().unwrap())
            .collect();
        assert_eq!(undeclared, lacks, "{source} {flags:?}");
    }
}

/// One FMU inside, and the file `all.fmu` it is exported to.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn inside(description: &str, flags: &[&str], parameters: &str) -> Folder {
    let folder = Folder::with(&format!(
        "[run]\nstop = 1.0\nstep = 0.1\ncoupling = \"zoh\"\n[subsystems.part]\nfmu = \"part.fmu\"\n{parameters}\n"
    ));
    let library = compile("mass2.c", flags);
    let files = [("modelDescription.xml", description.as_bytes()), ("binaries/linux64/mass.so", &library)];
    pack(&folder.path("part.fmu"), &files);
    folder
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const EXPORT: [&str; 6] = ["fmu", "export", "system.toml", "-o", "all.fmu", "--force"];

/// What an FMU inside declares but does not keep is tried elsewhere: a crash costs a note.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn systems_do_not_declare_what_fails_inside() {
    let states = ["roll-back", "serialization"];
    let cases: [(&str, &str, &[&str]); 5] = [
        ("fmi2GetFMUstate", "CRASH", &states),
        ("fmi2SetFMUstate", "CRASH", &states),
        ("fmi2SetFMUstate", "FAIL", &states),
        ("fmi2SerializeFMUstate", "CRASH", &states[1..]),
        ("fmi2GetDirectionalDerivative", "CRASH", &["directional-derivatives"]),
    ];
    for (function, how, lacks) in cases {
        let folder = inside(MASS2, &[&format!("-DBROKEN={function}"), &format!("-DHOW={how}")], "");
        let said = folder.succeed(&EXPORT);
        said.errs_with(&["`part`", function]);
        let found = folder.succeed(&["fmu", "check", "all.fmu", "--json"]).json();
        let list = found["interfaces"][0]["findings"].as_array().unwrap();
        let of = |key: &str, value: &str| -> Vec<&str> {
            let those = list.iter().filter(|finding| finding[key] == value);
            those.map(|finding| finding["capability"].as_str().unwrap()).collect()
        };
        assert_eq!(of("declared", "no"), lacks, "{function} {how}");
        assert!(of("outcome", "failed").is_empty(), "{function} {how}: {list:?}");
    }
}

/// An FMU inside that asks to end the simulation ends it for the importer, where it stands.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn an_fmu_inside_ends_the_simulation_outside() {
    for (how, end) in [(7, 0.6), (8, 0.55)] {
        for version in ["2", "3"] {
            let folder = inside(MASS2, &[], &format!("parameters = {{ misbehave = {how} }}"));
            folder.succeed(&[&EXPORT[..], &["--fmi", version]].concat());
            folder.write("outer.toml", &importing("all.fmu").replace("0.1\nstep = 1e-3", "1.0\nstep = 0.2"));
            let said = folder.succeed(&["run", "outer.toml", "--out", "out.csv", "--json"]).json();
            assert_eq!(said["ended_by"], "all", "{said}");
            let last = *folder.column("out.csv", "time").last().unwrap();
            assert!((last - end).abs() < 1e-9, "FMI {version}: {last}");
            let x = *folder.column("out.csv", "all.part.x").last().unwrap();
            assert!((x - f64::cos(end)).abs() < 1e-6, "FMI {version}: {x}");
        }
    }
}

/// The importer repeats each step from its start: what was before may be forgotten, inside as outside.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn an_fmu_inside_may_forget_what_its_importer_will_not_restore() {
    let folder = inside(MASS2, &["-DFLAGS"], "");
    folder.succeed(&[&EXPORT[..], &["--fmi", "2"]].concat());
    folder.write(
        "outer.toml",
        "[run]\nstop = 1.0\nstep = 0.1\ncoupling = \"zoh\"\niteration = { kind = \"step\" }\n[subsystems.all]\nfmu = \"all.fmu\"\n[subsystems.one]\nmodel = \"mass\"\nparameters = { m = 1, c = 1 }\n[[connections]]\nfrom = \"all.part.x\"\nto = \"one.F\"\nunits = \"ignore\"\n[[connections]]\nfrom = \"one.x\"\nto = \"all.part.F\"\nunits = \"ignore\"\ngain = 0.1\n",
    );
    folder.succeed(&["run", "outer.toml", "--confirm", "off"]);
    let flags = folder.read("flags");
    let steps: Vec<(&str, f64, &str)> = flags
        .lines()
        .map(|line| {
            let [process, time, flag] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            (process, time.parse().unwrap(), flag)
        })
        .collect();
    // The run itself is the one that comes to the end.
    let run = steps.iter().rfind(|(_, time, _)| *time > 0.85).unwrap().0;
    let own: Vec<&(&str, f64, &str)> = steps.iter().filter(|(process, ..)| *process == run).collect();
    assert!(own.len() > 15 && own.iter().all(|(.., flag)| *flag == "1"), "{own:?}");
}

/// A unit that an FMU inside defines itself means the same outside.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn units_of_an_fmu_inside_keep_their_meaning() {
    let definition = "<Unit name=\"N\"><BaseUnit kg=\"1\" m=\"1\" s=\"-2\" factor=\"1000\"/></Unit>";
    let start = MASS2.find("<ModelVariables>").unwrap();
    let units = match MASS2.find("<UnitDefinitions>") {
        Some(_) => {
            let from = MASS2.find("<Unit name=\"N\">").unwrap();
            let to = from + MASS2[from..].find("</Unit>").unwrap() + "</Unit>".len();
            format!("{}{definition}{}", &MASS2[..from], &MASS2[to..])
        }
        None => {
            format!("{}<UnitDefinitions>{definition}</UnitDefinitions>{}", &MASS2[..start], &MASS2[start..])
        }
    };
    for version in ["2", "3"] {
        let folder = inside(&units, &[], "");
        folder.succeed(&[&EXPORT[..], &["--fmi", version]].concat());
        folder.write(
            "outer.toml",
            "[run]\nstop = 1.0\nstep = 0.1\ncoupling = \"zoh\"\n[subsystems.all]\nfmu = \"all.fmu\"\n[subsystems.spring]\nmodel = \"spring-mass\"\n[[connections]]\nfrom = \"spring.F\"\nto = \"all.part.F\"\n[[connections]]\nfrom = \"all.part.x\"\nto = \"spring.x\"\n",
        );
        folder.succeed(&["run", "outer.toml", "--out", "out.csv", "--accept-unstable"]);
        let (given, force) = (folder.column("out.csv", "all.part.F"), folder.column("out.csv", "spring.F"));
        // What it is given over a step is what was there at its start.
        let pairs: Vec<(f64, f64)> = force.iter().copied().zip(given[1..].iter().copied()).collect();
        assert!(pairs.iter().any(|(force, _)| force.abs() > 1.0), "{pairs:?}");
        for (force, given) in pairs {
            assert!((force / 1000.0 - given).abs() <= 1e-9 * force.abs(), "FMI {version}: {force} {given}");
        }
    }
}

//! FMUs that are broken, misused or misbehave, as a user meets them: each gets one message that says what, where, and, if
//! there is something to be done, what to do.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::masses::{MASS2, MASS3, compile, mass, pack};
use common::{Folder, Said};

const BINARY: &str = "binaries/linux64/mass.so";

/// A mass in an FMU, pushed by a native one.
fn system(body: &str, connections: &str) -> String {
    format!(
        r#"
[run]
stop = 1.0
step = 0.05
coupling = "zoh"
[subsystems.body]
{body}

[subsystems.spring]
model = "spring-mass"
parameters = {{ m = 1.0, c = 10.0, d = 1.0, ck = 20.0, dk = 0.5, x0 = 0.1 }}

{connections}
"#
    )
}

/// Runs and expects one message with these words.
#[track_caller]
fn refused(folder: &Folder, text: &str, options: &[&str], code: i32, words: &[&str]) -> Said {
    folder.write("system.toml", text);
    let said = folder.run(&[&["run", "system.toml"], options].concat());
    assert_eq!(said.code, Some(code), "{}", said.err);
    said.errs_with(words);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
    let temporary = std::env::temp_dir();
    assert!(!said.err.contains(&*temporary.to_string_lossy()), "{}", said.err);
    assert!(!said.err.contains("panic"), "{}", said.err);
    said
}

#[test]
fn files_that_are_no_fmus() {
    let folder = Folder::new();
    let library = compile("mass2.c", &[]);
    let file = |name: &str| folder.path(name);
    let describe = |name: &str, description: &str| {
        pack(&file(name), &[("modelDescription.xml", description.as_bytes()), (BINARY, &library)]);
    };
    describe("good.fmu", MASS2);
    folder.write("text.fmu", "no zip");
    let whole = folder.bytes("good.fmu");
    std::fs::write(file("cut.fmu"), &whole[..whole.len() * 2 / 3]).unwrap();
    pack(&file("empty.fmu"), &[(BINARY, &library)]);
    describe("xml.fmu", &MASS2.replace("</ModelVariables>", "</ModelVariable>"));
    describe("old.fmu", &MASS2.replace("fmiVersion=\"2.0\"", "fmiVersion=\"1.0\""));
    describe("token.fmu", &MASS2.replace("guid=\"{mass}\"", "guid=\"{other}\""));
    pack(
        &file("windows.fmu"),
        &[("modelDescription.xml", MASS2.as_bytes()), ("binaries/win32/mass.dll", b"MZ")],
    );
    pack(
        &file("symbol.fmu"),
        &[("modelDescription.xml", MASS2.as_bytes()), (BINARY, &compile("mass2.c", &["-DNO_RESET"]))],
    );
    pack(&file("library.fmu"), &[("modelDescription.xml", MASS2.as_bytes()), (BINARY, b"not a library")]);
    let line = MASS2.lines().position(|line| line.contains("</ModelVariables>")).unwrap() + 1;
    let place = format!("xml.fmu!modelDescription.xml:{line}:3");
    let cases: [(&str, &[&str]); 11] = [
        ("gone.fmu", &["`gone.fmu`: cannot be opened"]),
        ("text.fmu", &["`text.fmu`: is not a zip archive", "hint: an FMU is a zip archive"]),
        ("cut.fmu", &["`cut.fmu`: is a damaged zip archive, possibly truncated", "hint: copy, download"]),
        ("empty.fmu", &["has no `modelDescription.xml`", "hint: it must lie at the top of the archive"]),
        ("xml.fmu", &[&place, "malformed XML", "ModelVariables"]),
        ("old.fmu", &["FMI version `1.0` is not supported; koppel reads FMI 2.0 and FMI 3.0"]),
        (
            "windows.fmu",
            &["has no binary `mass.so` for this platform (linux64); there are: win32", "hint: ask"],
        ),
        (
            "symbol.fmu",
            &["`binaries/linux64/mass.so` has no function `fmi2Reset`", "hint: the binary does not"],
        ),
        ("library.fmu", &["`binaries/linux64/mass.so` cannot be loaded", "hint: the binary is damaged"]),
        (
            "token.fmu",
            &["fmi2Instantiate returned no instance", "wrong guid {other}", "hint: a GUID or token"],
        ),
        ("good.toml", &["`good.toml`"]),
    ];
    for (name, words) in cases {
        let words: Vec<&str> = words.iter().copied().chain(["system.toml:7:7"]).collect();
        refused(&folder, &system(&format!("fmu = \"{name}\""), ""), &[], 2, &words);
    }
    folder.write("system.toml", &system("fmu = \"good.fmu\"", ""));
    folder.succeed(&["run", "system.toml", "-q"]);
}

fn wire(from: &str, to: &str) -> String {
    format!("[[connections]]\nfrom = \"{from}\"\nto = \"{to}\"\n")
}

#[test]
fn wrong_names_types_units_and_directions() {
    let folder = Folder::new();
    mass(&folder.path("mass.fmu"), MASS2);
    let with = |parameters: &str, from: &str, to: &str| {
        system(&format!("fmu = \"mass.fmu\"\nparameters = {{ {parameters} }}"), &wire(from, to))
    };
    let cases: [(&str, &str, &str, i32, &[&str]); 8] = [
        ("lable = \"a\"", "spring.F", "body.F", 2, &["system.toml:8:16", "did you mean `label`?"]),
        (
            "m = \"two\"",
            "spring.F",
            "body.F",
            2,
            &["system.toml:8:16", "`m` is a Float64, \"two\" is not one"],
        ),
        ("m = 2.0", "spring.F", "body.G", 2, &["unknown input `body.G`", "`body.F`", "system.toml:16:6"]),
        ("m = 2.0", "body.y", "spring.x", 2, &["unknown output `body.y`", "`body.x`", "system.toml:15:8"]),
        ("m = 2.0", "spring.F", "body.x", 2, &["`body.x` is an output, where an input is needed"]),
        ("m = 2.0", "body.F", "spring.x", 2, &["`body.F` is an input, where an output is needed"]),
        ("m = 2.0", "body.x", "body.F", 2, &["system.toml:", "`m`", "`N`"]),
        (
            "m = 2.0",
            "spring.F",
            "body.on",
            1,
            &["`body` failed at t = 0 s", "`on` is a Boolean", "hint: check the connection to `body.on`"],
        ),
    ];
    for (parameters, from, to, code, words) in cases {
        refused(&folder, &with(parameters, from, to), &[], code, words);
    }
}

#[test]
fn steps_that_do_not_end_well() {
    let folder = Folder::new();
    mass(&folder.path("mass.fmu"), MASS2);
    let with = |how: u32, more: &str| {
        let body = format!("fmu = \"mass.fmu\"\nparameters = {{ misbehave = {how} }}\n{more}");
        system(&body, &wire("spring.F", "body.F"))
    };
    let log = "log: [logEvents] I refuse to pass 0.5 s";
    let cases: [(u32, i32, &[&str]); 5] = [
        (
            1,
            1,
            &["`body` discarded the step from 0.5 s to 0.55 s; it came to 0.5 s", log, "hint: use a smaller"],
        ),
        (
            2,
            1,
            &["`body` failed at t = 0.5 s", "fmi2DoStep returned error", log, "hint: the FMU itself failed"],
        ),
        (
            3,
            1,
            &["`body` failed at t = 0.5 s", "fmi2DoStep returned fatal", log, "hint: the FMU itself failed"],
        ),
        (
            4,
            1,
            &[
                "`body` failed at t = 0.5 s",
                "fmi2DoStep returned pending",
                log,
                "hint: FMUs that step asynch",
            ],
        ),
        (5, 2, &["subsystem `body`, variable `x` became NaN at t = 0.55 s"]),
    ];
    for (how, code, words) in cases {
        refused(&folder, &with(how, ""), &["--out", "kept.csv"], code, words);
        assert_eq!(folder.column("kept.csv", "body.x").len(), 11, "rows up to then are kept");
    }
    let words =
        ["`body` crashed with SIGSEGV", "in fmi2DoStep", "from t = 0.5 s to t = 0.55 s", "inputs: F = "];
    refused(&folder, &with(10, "isolate = true"), &[], 1, &words);
    let words = ["`body` did not return", "0.3 s", "fmi2DoStep"];
    refused(&folder, &with(13, ""), &["--isolate", "--step-timeout", "0.3"], 1, &words);
}

#[test]
fn an_only_once_fmu_is_used_once() {
    let folder = Folder::new();
    let once = "canBeInstantiatedOnlyOncePerProcess=\"true\" canGetAndSetFMUstate";
    mass(&folder.path("once.fmu"), &MASS2.replace("canGetAndSetFMUstate", once));
    let two =
        |more: &str| system("fmu = \"once.fmu\"", &format!("[subsystems.other]\nfmu = \"once.fmu\"\n{more}"));
    let words = ["can be instantiated only once per process, and is in use", "hint: run all but one"];
    refused(&folder, &two(""), &[], 2, &words);
    folder.write("system.toml", &two("isolate = true"));
    folder.succeed(&["run", "system.toml", "-q"]);
}

#[test]
fn one_that_asks_for_it_ends_the_run() {
    let folder = Folder::new();
    mass(&folder.path("body.fmu"), MASS2);
    // After half of the step from 0.5 s, and after all of it.
    for (how, end) in [(6, 0.525), (7, 0.55)] {
        let body = format!("fmu = \"body.fmu\"\nparameters = {{ misbehave = {how} }}");
        for options in [&[][..], &["--isolate"]] {
            folder.write("system.toml", &system(&body, ""));
            let run = ["run", "system.toml", "--out", "kept.csv"];
            let said = folder.run(&[&run[..], options].concat());
            assert_eq!(said.code, Some(0), "{}", said.err);
            let words = format!("at t = {end} s: `body` asks to end the simulation");
            assert!(said.out.contains(&words), "{}", said.out);
            let times = folder.column("kept.csv", "time");
            assert!((times.last().unwrap() - end).abs() < 1e-9, "{times:?}");
            let said = folder.run(&[&run[..], &["--json"], options].concat());
            let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            assert_eq!((&json["status"], &json["ended_by"]), (&"stopped".into(), &"body".into()));
        }
    }
}

#[test]
fn scheduled_execution_is_named() {
    let folder = Folder::new();
    let description = MASS3.replace("<CoSimulation", "<ScheduledExecution");
    mass(&folder.path("body.fmu"), &description);
    let words = ["offers scheduled execution only, which koppel does not drive", "hint: export it for"];
    refused(&folder, &system("fmu = \"body.fmu\"", ""), &[], 2, &words);
}

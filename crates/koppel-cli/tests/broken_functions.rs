//! FMUs whose optional functions crash, hang, fail or end the process: the run is that of FMUs which do not declare them.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::Folder;
use common::masses::{MASS2, compile, pack};

const BINARY: &str = "binaries/linux64/mass.so";

/// Two masses on springs, with a spring between them.
const SYSTEM: &str = r#"
[run]
stop = 2.0
step = 0.05
coupling = "zoh"
step_timeout = 0.1

[subsystems.left]
fmu = "mass.fmu"
parameters = { c = 10.0, d = 0.5 }

[subsystems.right]
fmu = "mass.fmu"
parameters = { c = 20.0, d = 0.3 }

[[connections]]
from = "right.x"
to = "left.F"
gain = 5.0

[[connections]]
from = "left.x"
to = "right.F"
gain = 5.0
"#;

/// A folder with the system and its FMU.
fn folder(description: &str, flags: &[&str]) -> Folder {
    let folder = Folder::with(SYSTEM);
    let files = [("modelDescription.xml", description.as_bytes()), (BINARY, &compile("mass2.c", flags))];
    pack(&folder.path("mass.fmu"), &files);
    folder
}

/// The description without these words.
fn without(words: &[&str]) -> String {
    // Both masses are pushed in m: the gain has no unit.
    let plain = MASS2.replace(" unit=\"N\"", "").replace(" unit=\"m\"", "");
    words.iter().fold(plain, |text, word| {
        assert!(text.contains(&format!("{word}=\"true\"")), "{word}");
        text.replace(&format!("{word}=\"true\""), "")
    })
}

/// The rows of a run.
#[track_caller]
fn rows(folder: &Folder, options: &[&str]) -> (String, String) {
    let said = folder.succeed(&[&["run", "system.toml", "--out", "out.csv"], options].concat());
    (folder.read("out.csv"), said.err)
}

const STATES: [&str; 2] = ["canGetAndSetFMUstate", "canSerializeFMUstate"];

#[test]
fn a_run_with_a_given_method_makes_one_instance_and_calls_nothing_optional() {
    // Any optional function ends the process.
    for function in ["fmi2GetFMUstate", "fmi2GetDirectionalDerivative", "fmi2Reset"] {
        let folder = folder(&without(&[]), &["-DCOUNT=1", &format!("-DBROKEN={function}"), "-DHOW=CRASH"]);
        for coupling in ["zoh", "nepce"] {
            let (_, said) = rows(&folder, &["--coupling", coupling, "--confirm", "off"]);
            assert!(!said.contains("tried"), "{said}");
        }
        let instances = folder.read("instances");
        assert!(instances.lines().count() == 4, "two masses, two runs: {instances}");
    }
}

/// A study makes one instance of each FMU for each run, and one to prepare itself.
#[test]
fn a_study_makes_one_instance_for_each_run() {
    let folder = folder(&without(&[]), &["-DCOUNT=1"]);
    folder.write(
        "study.toml",
        "system = \"system.toml\"\n[factors]\n\"run.step\" = [0.05, 0.1, 0.2]\n[measures]\nend = { of = \"left.x\", take = \"final\" }\n",
    );
    folder.succeed(&["study", "study.toml", "--out", "s", "--quiet"]);
    let instances = folder.read("instances");
    assert_eq!(instances.lines().count(), 2 * (3 + 1), "{instances}");
}

/// Each run that confirms the error has its own instances, and the report needs none.
#[test]
fn each_run_that_confirms_the_error_makes_one_more_instance() {
    let folder = folder(&without(&[]), &["-DCOUNT=1"]);
    let (_, said) = rows(&folder, &["--coupling", "zoh", "--confirm", "off", "--report", "r.html"]);
    let instances = folder.read("instances").lines().count();
    assert_eq!(instances, 2, "{said}");
    let (_, said) = rows(&folder, &["--coupling", "zoh", "--confirm", "always", "--report", "r.html"]);
    let more = folder.read("instances").lines().count() - instances;
    assert!([4, 6].contains(&more), "two masses, the run and one or two others: {more} {said}");
}

/// States that come back but for their last digits are good enough for trials, which must not touch the run.
#[test]
fn neither_auto_nor_the_certificate_changes_a_run() {
    let folder = folder(&without(&["providesDirectionalDerivative"]), &["-DROUGH_STATE"]);
    folder.write("system.toml", &SYSTEM.replace("step_timeout = 0.1\n", ""));
    let run = |options: &[&str]| -> (String, serde_json::Value) {
        let said = folder.succeed(&[&["run", "system.toml", "--out", "out.csv", "--json"], options].concat());
        (folder.read("out.csv"), serde_json::from_str(&said.out).unwrap())
    };
    let (auto, summary) = run(&["--coupling", "auto"]);
    // What it has chosen, given: nothing is tried.
    let pinned: Vec<String> = serde_json::from_value(summary["auto"]["pin"].clone()).unwrap();
    let settings: Vec<String> =
        pinned.iter().map(|line| format!("run.{}", line.replace(" = ", "="))).collect();
    let mut options = vec!["--no-certificate"];
    settings.iter().for_each(|setting| options.extend(["--set", setting]));
    assert!(auto == run(&options).0, "trials change rows: {settings:?}");
    options.push("--isolate");
    assert!(auto == run(&options).0, "isolation changes rows");
}

/// Runs with an FMU that lacks something, and with one in which it is broken so.
fn as_good_as_none(function: &str, lacks: &[&str], how: &str) {
    let plain = folder(&without(lacks), &[]);
    let broken = folder(&without(&[]), &[&format!("-DBROKEN={function}"), &format!("-DHOW={how}")]);
    for coupling in ["foh", "vfps"] {
        let options = ["--coupling", coupling];
        let ((expected, _), (found, said)) = (rows(&plain, &options), rows(&broken, &options));
        assert!(expected == found, "{function} {how} {coupling}\n{said}");
        // Told once for each mass, with the call.
        let report = said.matches("koppel does not use it").count();
        let is_needed = coupling == "vfps" || function == "fmi2SetRealInputDerivatives";
        assert!(report == if is_needed { 2 } else { 0 }, "{function} {how} {coupling}: {said}");
        assert!(!is_needed || said.contains(function), "{function} {how}: {said}");
        assert!(!is_needed || how != "CRASH" || said.contains("SIGSEGV"), "{said}");
    }
}

#[test]
fn broken_states_are_as_good_as_none() {
    for (function, how) in
        [("fmi2GetFMUstate", "CRASH"), ("fmi2SetFMUstate", "CRASH"), ("fmi2SetFMUstate", "FAIL")]
    {
        as_good_as_none(function, &STATES, how);
    }
    // What needs roll-back is refused, with the reason.
    let broken = folder(&without(&[]), &["-DBROKEN=fmi2SetFMUstate", "-DHOW=CRASH"]);
    let system = broken.read("system.toml");
    broken.write("system.toml", &system.replace("coupling", "iteration = { kind = \"step\" }\ncoupling"));
    let said = broken.run(&["run", "system.toml"]);
    assert!(said.code == Some(2) && said.err.contains("fmi2SetFMUstate"), "{:?} {}", said.code, said.err);
}

#[test]
fn states_that_cannot_be_freed_are_as_good_as_none() {
    as_good_as_none("fmi2FreeFMUstate", &STATES, "CRASH");
}

#[test]
fn broken_serialization_is_as_good_as_none() {
    let options = ["--checkpoint-every", "10", "--checkpoint", "state"];
    let (expected, _) = rows(&folder(&without(&STATES[1..]), &[]), &options);
    for function in ["fmi2SerializedFMUstateSize", "fmi2SerializeFMUstate", "fmi2DeSerializeFMUstate"] {
        for how in ["CRASH", "FAIL"] {
            let broken = folder(&without(&[]), &[&format!("-DBROKEN={function}"), &format!("-DHOW={how}")]);
            let (found, said) = rows(&broken, &options);
            assert!(expected == found && said.contains(function), "{function} {how}\n{said}");
        }
    }
}

#[test]
fn broken_derivatives_are_as_good_as_none() {
    for (function, lack) in [
        ("fmi2GetDirectionalDerivative", "providesDirectionalDerivative"),
        ("fmi2SetRealInputDerivatives", "canInterpolateInputs"),
    ] {
        as_good_as_none(function, &[lack], "CRASH");
        as_good_as_none(function, &[lack], "FAIL");
    }
}

#[test]
fn functions_that_hang_or_leave_cost_a_message() {
    let plain = folder(&without(&STATES), &[]);
    let (expected, _) = rows(&plain, &["--coupling", "vfps"]);
    for how in ["HANG", "LEAVE"] {
        let broken = folder(&without(&[]), &["-DBROKEN=fmi2GetFMUstate", &format!("-DHOW={how}")]);
        let (found, said) = rows(&broken, &["--coupling", "vfps"]);
        assert!(expected == found, "{how}\n{said}");
        assert!(said.contains("fmi2GetFMUstate"), "{said}");
        // Known from now on.
        let begin = std::time::Instant::now();
        let (again, said) = rows(&broken, &["--coupling", "vfps"]);
        assert!(expected == again && said.contains("fmi2GetFMUstate"), "{said}");
        assert!(begin.elapsed().as_secs_f64() < 2.0, "it was tried again");
    }
}

#[test]
fn nothing_koppel_does_dies_of_a_broken_function() {
    for function in ["fmi2GetFMUstate", "fmi2SetFMUstate", "fmi2GetDirectionalDerivative"] {
        let broken = folder(&without(&[]), &[&format!("-DBROKEN={function}"), "-DHOW=CRASH"]);
        for command in [
            &["run", "system.toml", "--coupling", "auto"][..],
            &["run", "system.toml", "--coupling", "auto", "--step", "auto"],
            &["run", "system.toml", "--coupling", "vfps", "--confirm", "always"],
            &["run", "system.toml", "--checkpoint-every", "10"],
            &["check", "system.toml"],
            &["tune", "system.toml", "--evaluations", "50"],
            &["probe", "system.toml"],
        ] {
            let said = broken.succeed(command);
            assert!(!said.err.contains("panic"), "{command:?}: {}", said.err);
        }
        let said = broken.run(&["fmu", "check", "mass.fmu"]);
        assert!(said.code == Some(1) && said.out.contains(function), "{}\n{}", said.out, said.err);
        assert!(said.out.contains("SIGSEGV") && said.out.contains("variable step size"), "{}", said.out);
    }
}

#[test]
fn a_study_says_once_what_is_done_without() {
    let broken = folder(&without(&[]), &["-DBROKEN=fmi2SetFMUstate", "-DHOW=CRASH"]);
    // The first value needs no states.
    let study = "title = \"Two couplings\"\nsystem = \"system.toml\"\n[factors]\n\"run.coupling\" = [\"zoh\", \"vfps\"]\n\"left.d\" = [0.1, 0.2, 0.3]\n[measures]\npeak = { of = \"left.x\", take = \"max\" }\n";
    broken.write("study.toml", study);
    let said = broken.succeed(&["study", "study.toml", "--threads", "2"]);
    assert!(said.out.contains("6 of 6, 0 failed"), "{}", said.out);
    assert_eq!(said.err.matches("koppel does not use it").count(), 2, "one for each mass: {}", said.err);
    // So it is with real inputs that are held because they are declared discrete.
    let discrete = without(&[]).replacen("variability=\"continuous\"", "variability=\"discrete\"", 1);
    let held = folder(&discrete, &[]);
    held.write("study.toml", &study.replace("\"vfps\"", "\"foh\""));
    let said = held.succeed(&["study", "study.toml"]);
    assert_eq!(said.err.matches("declare them discrete").count(), 1, "{}", said.err);
    for command in ["check", "run"] {
        let said = held.succeed(&[command, "system.toml", "--set", "run.coupling=foh"]);
        assert_eq!(said.err.matches("declare them discrete").count(), 1, "{command}: {}", said.err);
    }
}

#[test]
fn a_step_that_hangs_after_a_state_was_restored_is_a_failed_trial() {
    let plain = folder(&without(&STATES), &[]);
    let (expected, _) = rows(&plain, &["--coupling", "vfps"]);
    let broken = folder(&without(&[]), &["-DBROKEN=fmi2SetFMUstate", "-DHOW=LATER"]);
    let (found, said) = rows(&broken, &["--coupling", "vfps"]);
    assert!(expected == found && said.contains("did not return within 2 s in fmi2DoStep"), "{said}");
    // Without a time of the user's own, what plain steps take says how long a trial may.
    let system = broken.read("system.toml").replace("step_timeout = 0.1\n", "");
    broken.write("system.toml", &system);
    let begin = std::time::Instant::now();
    let (found, said) = rows(&broken, &["--coupling", "vfps", "--no-cache"]);
    assert!(expected == found && said.contains("did not return within 5 s in fmi2DoStep"), "{said}");
    assert!(begin.elapsed().as_secs_f64() < 15.0);
}

#[test]
fn outputs_that_may_be_old_are_all_named_once() {
    // Nothing is said of dependencies, and the acceleration is computed in steps only.
    let silent = without(&[])
        .replace(" dependencies=\"\"", "")
        .replace(
            "name=\"a\" valueReference=\"6\" causality=\"local\"",
            "name=\"a\" valueReference=\"6\" causality=\"output\" variability=\"continuous\"",
        )
        .replace("</Outputs>", "<Unknown index=\"7\"/></Outputs>");
    let (_, said) = rows(&folder(&silent, &["-DLIE_FEED"]), &[]);
    let report: Vec<&str> = said.lines().filter(|line| line.contains("one communication step old")).collect();
    assert!(report.len() == 2 && report[0].contains("`a` stays at"), "{said}");
    assert!(!said.contains("`x` stays") && !said.contains("`v` stays"), "{said}");
    // Where steps have one size, nothing tells states and inputs apart.
    let fixed = silent.replace("canHandleVariableCommunicationStepSize=\"true\"", "");
    let (_, said) = rows(&folder(&fixed, &["-DLIE_FEED"]), &[]);
    let report: Vec<&str> = said.lines().filter(|line| line.contains("one communication step old")).collect();
    assert!(report.len() == 2 && report[0].contains("each of `x`, `v`, `a` stays"), "{said}");
    // What follows its inputs at once, or depends on states alone, is nothing to speak of.
    let (_, said) = rows(&folder(&silent, &[]), &[]);
    assert!(!said.contains("one communication step old"), "{said}");
}

#[test]
fn an_fmu_with_one_licence_runs_with_every_method() {
    // With feed-through, so that there is a loop to be judged.
    let description = without(&[]).replace("index=\"2\" dependencies=\"\"", "index=\"2\" dependencies=\"1\"");
    let folder = folder(&description, &["-DLICENCE"]);
    let native = "model = \"linear\"\nD = [[0.5]]\ninputs = [\"F\"]\noutputs = [\"x\"]";
    let system = SYSTEM.replacen("fmu = \"mass.fmu\"\nparameters = { c = 20.0, d = 0.3 }", native, 1);
    folder.write("system.toml", &system);
    for coupling in ["zoh", "vfps", "auto"] {
        let said = folder.succeed(&["run", "system.toml", "--coupling", coupling, "--reading", "stale"]);
        if coupling == "zoh" {
            assert!(said.err.contains("zero-stability was not judged"), "{}", said.err);
            assert!(said.err.contains("no licence left"), "{}", said.err);
        }
    }
    for command in ["check", "tune", "probe"] {
        let said = folder.run(&[command, "system.toml"]);
        assert!(said.code.is_some_and(|code| code < 3), "{command}: {}", said.err);
    }
}

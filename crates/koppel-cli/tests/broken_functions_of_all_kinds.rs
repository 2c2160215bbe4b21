//! Broken optional functions in FMI 3.0 co-simulation and in model exchange: the run is that of FMUs which do not declare them.
//! `broken_functions.rs` is about FMI 2.0 co-simulation.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::Folder;
use common::masses::{MASS3, compile, pack};

/// FMUs of one kind.
#[derive(Clone, Copy)]
struct Kind {
    source: &'static str,
    description: &'static str,
    /// Words of the description: states and their serialization, directional derivatives.
    states: [&'static str; 2],
    derivatives: &'static str,
    /// Prefix of its functions, and how the standard writes "state".
    prefix: &'static str,
    state: &'static str,
    /// Parameters, input and output of the parts of the system, and settings of both.
    parts: [&'static str; 2],
    ports: (&'static str, &'static str),
    settings: &'static str,
}

const EXCHANGE2: Kind = Kind {
    source: "exchange2.c",
    description: include_str!("../../koppel-fmi/tests/fixtures/exchange2.xml"),
    states: ["canGetAndSetFMUstate", "canSerializeFMUstate"],
    derivatives: "providesDirectionalDerivative",
    prefix: "fmi2",
    state: "FMUstate",
    parts: ["p2 = 10.0, p3 = 0.5", "p2 = 20.0, p3 = 0.3"],
    ports: ("u", "x1"),
    settings: "",
};

const EXCHANGE3: Kind = Kind {
    source: "exchange3.c",
    description: include_str!("../../koppel-fmi/tests/fixtures/exchange3.xml"),
    states: ["canGetAndSetFMUState", "canSerializeFMUState"],
    derivatives: "providesDirectionalDerivatives",
    prefix: "fmi3",
    state: "FMUState",
    ..EXCHANGE2
};

const MASS: Kind = Kind {
    source: "mass3.c",
    description: MASS3,
    parts: ["c = 10.0, d = 0.5", "c = 20.0, d = 0.3"],
    ports: ("F", "x"),
    ..EXCHANGE3
};

impl Kind {
    fn function(&self, name: &str) -> String {
        format!("{}{}", self.prefix, name.replace("State", self.state))
    }

    /// The description without these words.
    fn without(&self, words: &[&str]) -> String {
        let own = format!("modelIdentifier=\"mass\" {}=\"true\"", self.derivatives);
        let all = match self.description.contains(self.derivatives) {
            true => self.description.to_owned(),
            false => self.description.replace("modelIdentifier=\"mass\"", &own),
        };
        words.iter().fold(all, |text, word| {
            assert!(text.contains(&format!("{word}=\"true\"")), "{word}");
            text.replace(&format!("{word}=\"true\""), "")
        })
    }

    /// A folder with two such FMUs, coupled.
    fn folder(&self, description: &str, flags: &[&str]) -> Folder {
        let Kind { parts, ports: (input, output), settings, .. } = self;
        let mut system =
            "[run]\nstop = 1.0\nstep = 0.05\ncoupling = \"zoh\"\nstep_timeout = 0.1\n".to_owned();
        for (name, parameters) in ["left", "right"].iter().zip(parts) {
            system += &format!(
                "[subsystems.{name}]\nfmu = \"mass.fmu\"\nparameters = {{ {parameters} }}\n{settings}\n"
            );
        }
        for (from, to) in [("left", "right"), ("right", "left")] {
            system +=
                &format!("[[connections]]\nfrom = \"{from}.{output}\"\nto = \"{to}.{input}\"\ngain = 5.0\n");
        }
        let folder = Folder::with(&system);
        let platform = if self.prefix == "fmi2" { "linux64" } else { "x86_64-linux" };
        let binary = format!("binaries/{platform}/mass.so");
        let library = compile(self.source, &[flags, &["-DMODEL=OSCILLATOR"]].concat());
        pack(
            &folder.path("mass.fmu"),
            &[("modelDescription.xml", description.as_bytes()), (&binary, &library)],
        );
        folder
    }

    fn broken(&self, function: &str, how: &str) -> Folder {
        self.folder(&self.without(&[]), &[&format!("-DBROKEN={function}"), &format!("-DHOW={how}")])
    }

    /// Runs an FMU in which a function is broken so, and one that does not declare it.
    #[track_caller]
    fn is_as_good_as_none(&self, name: &str, lacks: &[&str], hows: &[&str], options: &[&str]) {
        let function = self.function(name);
        let (expected, _) = rows(&self.folder(&self.without(lacks), &[]), options);
        for how in hows {
            let (found, said) = rows(&self.broken(&function, how), options);
            let what = format!("{} {function} {how} {options:?}\n{said}", self.source);
            assert!(expected == found, "{what}");
            // Told once for each part, with the call and the signal.
            assert!(said.matches("koppel does not use it").count() == 2, "{what}");
            assert!(*how == "LATER" || said.contains(&function), "{what}");
            assert!(*how != "CRASH" || said.contains("SIGSEGV"), "{what}");
            assert!(!["HANG", "LATER"].contains(how) || said.contains("did not return within"), "{what}");
        }
    }

    fn breaks_states(&self) {
        let vfps = ["--coupling", "vfps"];
        for name in ["GetState", "SetState"] {
            self.is_as_good_as_none(name, &self.states, &["CRASH", "FAIL"], &vfps);
        }
        self.is_as_good_as_none("FreeState", &self.states, &["CRASH"], &vfps);
        // What needs roll-back is refused, with the reason.
        let function = self.function("SetState");
        let broken = self.broken(&function, "CRASH");
        let system = broken.read("system.toml");
        broken.write("system.toml", &system.replace("coupling", "iteration = { kind = \"step\" }\ncoupling"));
        let said = broken.run(&["run", "system.toml"]);
        let reason = said.err.lines().find(|line| line.starts_with("error")).unwrap_or_default();
        assert!(said.code == Some(2) && reason.contains(&function), "{:?} {}", said.code, said.err);
    }

    fn breaks_serialization(&self) {
        let second = if self.prefix == "fmi2" { "DeSerializeState" } else { "DeserializeState" };
        for name in ["SerializedStateSize", "SerializeState", second] {
            let options = ["--checkpoint-every", "7", "--checkpoint", "state"];
            self.is_as_good_as_none(name, &self.states[1..], &["CRASH", "FAIL"], &options);
        }
    }

    fn breaks_derivatives(&self, options: &[&str]) {
        self.is_as_good_as_none("GetDirectionalDerivative", &[self.derivatives], &["CRASH", "FAIL"], options);
    }
}

/// The rows of a run.
#[track_caller]
fn rows(folder: &Folder, options: &[&str]) -> (String, String) {
    let said = folder.succeed(&[&["run", "system.toml", "--out", "out.csv"], options].concat());
    (folder.read("out.csv"), said.err)
}

#[test]
fn states_of_fmi_3_co_simulation() {
    MASS.breaks_states();
    MASS.breaks_serialization();
}

#[test]
fn derivatives_of_fmi_3_co_simulation() {
    MASS.breaks_derivatives(&["--coupling", "vfps"]);
    // Inputs that are set inside a step, where the FMU asks for them.
    let options = ["--coupling", "foh"];
    let lacks = ["providesIntermediateUpdate"];
    MASS.is_as_good_as_none("SetFloat64", &lacks, &["CRASH", "FAIL", "HANG"], &options);
}

#[test]
fn states_of_fmi_2_model_exchange() {
    EXCHANGE2.breaks_states();
    EXCHANGE2.breaks_serialization();
}

#[test]
fn states_of_fmi_3_model_exchange() {
    EXCHANGE3.breaks_states();
    EXCHANGE3.breaks_serialization();
}

#[test]
fn derivatives_of_model_exchange() {
    for kind in [EXCHANGE2, EXCHANGE3] {
        kind.breaks_derivatives(&["--coupling", "vfps"]);
        let stiff = Kind { settings: "solver = { method = \"stiff\" }\n", ..kind };
        stiff.breaks_derivatives(&["--coupling", "zoh"]);
    }
}

#[test]
fn functions_of_co_simulation_that_hang_or_let_the_next_step_hang() {
    MASS.is_as_good_as_none("SetState", &MASS.states, &["HANG", "LATER"], &["--coupling", "vfps"]);
}

#[test]
fn functions_of_model_exchange_that_hang_or_let_the_next_step_hang() {
    let vfps = ["--coupling", "vfps"];
    EXCHANGE2.is_as_good_as_none("GetState", &EXCHANGE2.states, &["HANG"], &vfps);
    EXCHANGE3.is_as_good_as_none("SetState", &EXCHANGE3.states, &["LATER"], &vfps);
    let stiff = Kind { settings: "solver = { method = \"stiff\" }\n", ..EXCHANGE3 };
    stiff.is_as_good_as_none(
        "GetDirectionalDerivative",
        &[stiff.derivatives],
        &["HANG", "LATER"],
        &["--coupling", "zoh"],
    );
}

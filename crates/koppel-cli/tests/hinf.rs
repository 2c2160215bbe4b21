//! The H-infinity coupling between FMUs: black boxes that show what happens inside a step, and plain ones that do not.

mod common;

use common::Folder;

const FIRST: &str = "m=4.98 c=328 d=4.28 ck=17.3 dk=2.8";
const SECOND: &str = "m=6.09 c=224 d=3.01";
const SOLVER: &str = "{ method = \"rk4\", step = 1e-3 }";

/// Dual mass of the kind of Chen et al. 2021, 4.1, pushed once; `first` and `second` are lines of TOML.
fn system(first: &str, second: &str) -> String {
    format!(
        r#"[run]
stop = 4.0
step = 0.05
coupling = "zoh"
reading = "stale"
record = ["first.F", "second.v"]
[subsystems.first]
{first}
[subsystems.second]
{second}
[[connections]]
from = "second.v"
to = "first.v"
[[connections]]
from = "first.F"
to = "second.F"
[[inputs]]
to = "second.F_ext"
signal = {{ kind = "pulses", amplitude = 1.0, period = 100.0, width = 0.1, start = 0.5 }}
"#
    )
}

fn native(model: &str, parameters: &str) -> String {
    let list: Vec<String> = parameters.split(' ').map(|p| p.replace('=', " = ")).collect();
    format!("model = \"{model}\"\nparameters = {{ {} }}\nsolver = {SOLVER}", list.join(", "))
}

fn export(folder: &Folder, model: &str, parameters: &str, more: &[&str]) {
    let mut arguments = vec!["fmu", "export", model, "--force", "--solver", SOLVER];
    for parameter in parameters.split(' ') {
        arguments.extend(["--set", parameter]);
    }
    arguments.extend_from_slice(more);
    folder.succeed(&arguments);
}

/// Largest difference of the force, relative to its range.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let range = b.iter().fold(f64::MIN, |m, x| m.max(*x)) - b.iter().fold(f64::MAX, |m, x| m.min(*x));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / range
}

#[test]
fn fmus_are_coupled_like_models() {
    let folder = Folder::new();
    let models = system(&native("velocity-spring-mass", FIRST), &native("mass", SECOND));
    folder.write("native.toml", &models);
    let force = |file: &str, coupling: &str, more: &[&str]| {
        let mut arguments = vec!["run", file, "--coupling", coupling, "--out", "r.csv"];
        arguments.extend_from_slice(more);
        let said = folder.succeed(&arguments);
        (folder.column("r.csv", "first.F"), said.out + &said.err)
    };
    let fine = force("native.toml", "foh", &["--step", "1e-3", "--record-every", "50"]).0;
    let (zoh, hinf) = (force("native.toml", "zoh", &[]).0, force("native.toml", "hinf", &[]).0);
    let gain = distance(&zoh, &fine);
    assert!(distance(&zoh, &hinf) > 0.05, "the coupling changes the run");
    let fmus = system("fmu = \"velocity-spring-mass.fmu\"", "fmu = \"mass.fmu\"");
    folder.write("fmus.toml", &fmus);
    for (what, more, route, tolerance) in [
        ("FMI 3", &["--fmi", "3"][..], "intermediate update", 1e-6),
        ("FMI 2", &["--fmi", "2"], "derivatives", 1e-6),
        // Inputs of plain FMUs are constant on each sub-step, with the same mean.
        ("FMI 3, plain", &["--fmi", "3", "--plain"], "sub-steps", 0.03),
        ("FMI 2, plain", &["--fmi", "2", "--plain"], "sub-steps", 0.03),
    ] {
        export(&folder, "velocity-spring-mass", FIRST, more);
        export(&folder, "mass", SECOND, more);
        let (found, said) = force("fmus.toml", "hinf", &[]);
        assert!(said.contains(route), "{what} goes by {route}: {said}");
        let off = distance(&found, &hinf);
        assert!(off < tolerance, "{what}: {off} from the models");
        assert!(off < 0.2 * gain, "{what}: {off}, and zero-order hold is wrong by {gain}");
    }
}

/// Directional derivatives of FMUs, once they have stood their test, spare Newton's method its differences.
#[test]
fn loops_of_fmus_use_their_derivatives() {
    let folder = Folder::new();
    let evaluations = |more: &[&str]| {
        for (name, parameters) in
            [("first", "a=-0.9 b=0.5 c=3 d=1 x0=1"), ("second", "a=-1 b=10 c=-31 d=-0.9")]
        {
            let file = format!("{name}.fmu");
            let out = [more, &["--out", &file]].concat();
            export(&folder, "feedthrough", parameters, &out);
        }
        let text = "[run]\nstop = 0.1\nstep = 1e-3\ncoupling = \"zoh\"\nrecord = [\"first.y\", \"loops*\"]\n\
            iteration = { kind = \"outputs\", acceleration = \"newton\", reuse = false }\n\
            [subsystems.first]\nfmu = \"first.fmu\"\n[subsystems.second]\nfmu = \"second.fmu\"\n\
            [[connections]]\nfrom = \"second.y\"\nto = \"first.u\"\n\
            [[connections]]\nfrom = \"first.y\"\nto = \"second.u\"\n";
        folder.write("loop.toml", text);
        folder.succeed(&["run", "loop.toml", "--out", "r.csv"]);
        (folder.column("r.csv", "loops[1].iterations"), folder.column("r.csv", "first.y"))
    };
    for version in ["2", "3"] {
        let (known, y) = evaluations(&["--fmi", version]);
        let (unknown, same) = evaluations(&["--fmi", version, "--plain"]);
        // The guess, the difference by its one unknown, the solution.
        assert_eq!(known.iter().copied().fold(0.0, f64::max), 2.0, "FMI {version}");
        assert_eq!(unknown.iter().copied().fold(0.0, f64::max), 3.0, "FMI {version}");
        assert!(distance(&y, &same) < 1e-7, "FMI {version}");
    }
}

//! Exported FMUs in FMPy, an importer koppel did not write: its validation, and trajectories against the native models.
//!
//! All FMUs are written first, with what koppel computes without FMI; one Python process (`check_exports.py`) then goes
//! through them. The Python environment is made by `make_fmus.py`; without it the test says so and stops.

#[path = "../../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;

use super::{example, model, number, options, run, system};
use koppel::models;
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{OdeModel, Subsystem};
use koppel_fmu::export::{Export, FmiVersion};
use koppel_session::Session;
use prepared::prepared;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const STEP: f64 = 2e-3;
const STEPS: usize = 12;
/// Micro step of the model-exchange comparison; both sides use Runge-Kutta 4.
const MICRO: f64 = 1e-4;

/// Inputs of a step and their slopes: all different, none zero.
fn excitation(k: usize, inputs: usize) -> (Vec<f64>, Vec<f64>) {
    let phase = |i: usize| 40.0 * STEP * k as f64 + i as f64;
    let values = (0..inputs).map(|i| 0.2 * phase(i).sin() + 0.05).collect();
    let slopes = (0..inputs).map(|i| 3.0 * phase(i).cos()).collect();
    (values, slopes)
}

/// Outputs at the start and after each step.
fn trajectory(name: &str, solver: &SolverConfig, is_moving: bool) -> Vec<Vec<f64>> {
    let mut model = OdeModel::new(models::build(name, &BTreeMap::new()).unwrap(), solver).unwrap();
    let (inputs, outputs) = (model.ports().inputs.len(), model.ports().outputs.len());
    let mut samples = Samples::new(Request::Nothing, outputs);
    let mut y = vec![0.0; outputs];
    model.initialize(0.0).unwrap();
    model.read(Some(&excitation(0, inputs).0), &mut y).unwrap();
    let mut rows = vec![y.clone()];
    for k in 0..STEPS {
        let step = Step { index: k as u64, start: STEP * k as f64, size: STEP };
        let (values, slopes) = excitation(k, inputs);
        let pairs = values.iter().zip(&slopes).flat_map(|(value, slope)| [*value, *slope]);
        let coefficients: Vec<f64> = if is_moving { pairs.collect() } else { values };
        let terms = if is_moving { 2 } else { 1 };
        let segment = Segment::new(&step, inputs, terms, &coefficients);
        model.step(&step, &segment, &mut y, &mut samples).unwrap();
        rows.push(y.clone());
    }
    rows
}

fn names(list: &[koppel::system::Variable]) -> Vec<&str> {
    list.iter().map(|variable| variable.name.as_str()).collect()
}

fn model_entry(folder: &Path, name: &str, version: FmiVersion) -> Value {
    let ode = models::build(name, &BTreeMap::new()).unwrap();
    let default = if ode.linear().is_some() { SolverConfig::Exact {} } else { SolverConfig::default() };
    let ports = ode.ports();
    let excitation: Vec<_> = (0..STEPS).map(|k| excitation(k, ports.inputs.len())).collect();
    json!({
        "fmu": model(folder, name, &[], None, &options(version, false)),
        "version": number(version),
        "step": STEP,
        "micro": MICRO,
        "inputs": names(&ports.inputs),
        "outputs": names(&ports.outputs),
        "states": names(&ports.locals[..ode.continuous()]),
        "excitation": excitation,
        "constant": trajectory(name, &default, false),
        "moving": trajectory(name, &default, true),
        "samples": ode.period().is_some(),
        "exchange": trajectory(name, &SolverConfig::Rk4 { step: MICRO }, false),
    })
}

/// A system with the rows of its outputs, as it is and with parameters changed.
fn system_entry(
    folder: &Path,
    name: &str,
    file: &Session,
    version: FmiVersion,
    change: &[(&str, f64)],
) -> Value {
    let rows = |file: &Session| {
        let (names, times, rows) = run(file);
        let is_output = |name: &String| {
            let system = file.build().unwrap();
            system.graph.find_output(name).is_ok()
        };
        let places: Vec<usize> = (0..names.len()).filter(|k| is_output(&names[*k])).collect();
        let outputs: Vec<String> = places.iter().map(|k| names[*k].clone()).collect();
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| places.iter().map(|k| row[*k]).collect()).collect();
        (outputs, times, rows)
    };
    let (outputs, times, expected) = rows(file);
    let mut changed = file.clone();
    for (name, value) in change {
        changed.set(name, &value.to_string(), "test").unwrap();
    }
    json!({
        "fmu": system(folder, name, file, &options(version, false)),
        "version": number(version),
        "step": file.spec.run.step,
        "outputs": outputs,
        "times": times,
        "rows": expected,
        "change": change.iter().copied().collect::<BTreeMap<_, _>>(),
        "changed": rows(&changed).2,
    })
}

/// A system one of whose subsystems is an FMU.
fn with_fmu_inside(folder: &Path, fmu: &str, parameters: &str) -> Session {
    let text = format!(
        r#"
title = "An FMU & a native model"
[run]
stop = 0.5
step = 1e-2
coupling = "zoh"
[subsystems.body]
fmu = "{fmu}"
parameters = {parameters}
[subsystems.spring]
model = "spring-mass"
parameters = {{ m = 1.0, c = 10.0, d = 1.0, ck = 20.0, dk = 0.5, x0 = 0.1 }}
[[connections]]
from = "spring.F"
to = "body.F"
[[connections]]
from = "body.x"
to = "spring.x"
[[connections]]
from = "body.v"
to = "spring.v"
"#
    );
    Session::parse(&text, &folder.join("inside.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// Equations with events of all kinds, alone in a system: state events, time events, a delay.
const EVENTS: [(&str, &str); 3] = [
    (
        "ball",
        "parameter g = 9.81 [m/s2], e = 0.8
         output h [m], v [m/s], n
         state h = 1, v = 0
         der(h) = v
         der(v) = -g
         when h < 0 then v = -e * v; n = n + 1 end",
    ),
    (
        "thermostat",
        "output T, on
         state T = 20
         discrete on = 1
         der(T) = -0.5 * (T - 5) + 12 * on
         when T > 21 then on = 0 end
         when T < 19 then on = 1 end",
    ),
    (
        "sampled",
        "output x, u, late
         state x = 1
         der(x) = -x + u
         when every(0.13, 0.05) then u = 0.5 * u - 0.2 * x end
         late = delay(x, 0.4)",
    ),
];

/// The FMU of such equations, and the rows of a native run.
fn events_entry(folder: &Path, (name, text): (&str, &str), version: FmiVersion) -> Value {
    let text = format!(
        "[run]\nstop = 2.0\nstep = 0.02\ncoupling = \"zoh\"\n[subsystems.{name}]\nmodel = \"equations\"\n\
         solver = {{ method = \"adaptive\", rtol = 1e-11, atol = 1e-13 }}\nequations = \"\"\"{text}\"\"\"\n"
    );
    let file = Session::parse(&text, &folder.join("alone.toml")).unwrap_or_else(|error| panic!("{error}"));
    let (names, times, rows) = run(&file);
    let export = Export::subsystem(&file.spec, name, None).unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join(format!("{name}-{}.fmu", number(version)));
    export.write(&options(version, false), &path).unwrap();
    let outputs: Vec<String> = names.iter().map(|one| one.replace(&format!("{name}."), "")).collect();
    json!({ "fmu": path, "version": number(version), "step": 0.02, "outputs": outputs, "times": times, "rows": rows })
}

/// Open inputs that act on outputs at once, through two subsystems, not linearly.
fn chain(folder: &Path) -> Session {
    let text = r#"
[run]
stop = 0.1
step = 1e-3
coupling = "zoh"
[subsystems.spring]
model = "progressive-spring-mass"
parameters = { x0 = 0.1 }
[subsystems.gain]
model = "linear"
D = [[2.0, -3.0]]
inputs = ["u", "w"]
outputs = ["y"]
[[connections]]
from = "spring.F"
to = "gain.u"
"#;
    Session::parse(text, &folder.join("chain.toml")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn fmpy_accepts_every_export_of_fmi_2_and_gets_the_same_numbers() {
    fmpy_accepts_every_export(FmiVersion::Fmi2);
}

#[test]
fn fmpy_accepts_every_export_of_fmi_3_and_gets_the_same_numbers() {
    fmpy_accepts_every_export(FmiVersion::Fmi3);
}

fn fmpy_accepts_every_export(version: FmiVersion) {
    let Some(python) = prepared("venv/bin/python") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let blocks = ["pid", "pt2", "lugre-friction", "dc-motor", "tank", "spring-damper", "lookup-2d"];
    let names = models::catalogue().iter().map(|entry| entry.name).chain(blocks);
    let entries: Vec<_> = names.map(|name| model_entry(folder, name, version)).collect();
    let events = EVENTS.map(|equations| events_entry(folder, equations, version));
    let mut systems = Vec::new();
    for (name, stop) in [
        ("dual-mass", "0.1"),
        ("feedthrough-pair", "0.1"),
        ("quarter-truck-wheel-force", "0.1"),
        ("pendulum-oscillator", "0.1"),
        ("lugre-mass", "0.1"),
        ("helicopter", "2.0"),
    ] {
        let file = example(name, &[("run.stop", stop)]);
        let change: &[_] = if name == "feedthrough-pair" { &[("first.b", 0.7)] } else { &[] };
        systems.push(system_entry(folder, name, &file, version, change));
    }
    let mass = model(folder, "mass", &[], None, &options(version, false));
    let mass = mass.file_name().unwrap().to_str().unwrap();
    let inside = with_fmu_inside(folder, mass, "{ m = 2.0, c = 30.0, d = 0.5, x0 = 1.0 }");
    let name = format!("koppel-{}-inside", number(version));
    systems.push(system_entry(folder, &name, &inside, version, &[("spring.m", 3.0)]));
    systems.push(system_entry(folder, "chain", &chain(folder), version, &[("spring.m", 7.0)]));
    if version == FmiVersion::Fmi3 {
        std::fs::copy(prepared::folder().join("Oscillator2.fmu"), folder.join("Oscillator2.fmu")).unwrap();
        let inside = with_fmu_inside(folder, "Oscillator2.fmu", "{ m = 2.0, c = 30.0, d = 0.5 }");
        systems.push(system_entry(folder, "foreign-inside", &inside, version, &[("spring.m", 3.0)]));
    }
    let fmu = model(folder, "mass", &[], None, &options(version, true));
    let plain = [json!({ "version": number(version), "fmu": fmu })];
    let manifest = json!({ "models": entries, "systems": systems, "plain": plain, "events": events });
    let manifest_path = folder.join("manifest.json");
    std::fs::write(&manifest_path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_exports.py");
    let output = Command::new(python).arg(script).arg(&manifest_path).output().unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    eprintln!("{said}");
    assert!(output.status.success(), "{said}\n{complained}");
}

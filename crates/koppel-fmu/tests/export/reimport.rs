//! Exported FMUs, imported again: the numbers are those of the native models.

use super::{VERSIONS, example, model, options, run, system};
use koppel::coupling::{CouplingConfig, StartUp};
use koppel::models;
use koppel::run::{Run, RunConfig, ScheduleConfig};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, Horizon, OdeModel, Snapshot, Subsystem, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{CoSimulation, Options, Value};
use koppel_fmu::export::FmiVersion;
use koppel_session::Session;
use std::path::Path;

fn imported(path: &Path, values: &[(&str, f64)]) -> CoSimulation {
    let start_values = values.iter().map(|(name, value)| ((*name).into(), Value::Number(*value))).collect();
    let options = Options { name: "part".into(), start_values, ..Options::default() };
    CoSimulation::new(&Fmu::open(path).unwrap(), &options).unwrap_or_else(|error| panic!("{error}"))
}

fn native(name: &str, values: &[(&str, f64)], solver: &SolverConfig) -> OdeModel {
    let values = values.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    OdeModel::new(models::build(name, &values).unwrap(), solver).unwrap()
}

const MASS: [(&str, f64); 2] = [("x0", 0.1), ("m", 12.0)];
const SPRING: [(&str, f64); 2] = [("x0", -0.05), ("ck", 2e5)];

/// All outputs of the dual mass after every step.
fn dual_mass(mass: Box<dyn Subsystem>, spring: Box<dyn Subsystem>, config: &RunConfig) -> Vec<f64> {
    let system = SystemBuilder::new()
        .add_boxed("mass", mass)
        .add_boxed("spring", spring)
        .connect(Connection::new("spring.F", "mass.F"))
        .connect(Connection::new("mass.x", "spring.x"))
        .connect(Connection::new("mass.v", "spring.v"));
    let mut run = Run::new(system.build().unwrap(), config).unwrap();
    let mut all = Vec::new();
    while !run.is_done() {
        run.advance().unwrap();
        (0..2).for_each(|id| all.extend_from_slice(run.outputs(id)));
    }
    all
}

#[test]
fn a_dual_mass_of_exported_models_is_the_native_one() {
    let folder = tempfile::tempdir().unwrap();
    let solvers = [SolverConfig::Exact {}, SolverConfig::Rk4 { step: 1e-5 }];
    for version in VERSIONS {
        for solver in solvers {
            let with = options(version, false);
            let mass = model(folder.path(), "mass", &[], Some(solver), &with);
            let spring = model(folder.path(), "spring-mass", &[], Some(solver), &with);
            for coupling in [CouplingConfig::zoh(), CouplingConfig::foh(StartUp::default())] {
                for schedule in [ScheduleConfig::PARALLEL, ScheduleConfig::SEQUENCE] {
                    let config =
                        RunConfig { coupling: coupling.clone(), schedule, ..RunConfig::new(0.02, 1e-4) };
                    let expected = dual_mass(
                        Box::new(native("mass", &MASS, &solver)),
                        Box::new(native("spring-mass", &SPRING, &solver)),
                        &config,
                    );
                    let found = dual_mass(
                        Box::new(imported(&mass, &MASS)),
                        Box::new(imported(&spring, &SPRING)),
                        &config,
                    );
                    compare(&found, &expected, 3, &format!("{version:?} {solver} {config:?}"));
                }
            }
        }
    }
}

/// Values may differ by 1e-12 of the largest of their column.
fn compare(found: &[f64], expected: &[f64], width: usize, what: &str) {
    assert_eq!(found.len(), expected.len());
    for column in 0..width {
        let of = |list: &[f64]| list.iter().skip(column).step_by(width).copied().collect::<Vec<_>>();
        let (found, expected) = (of(found), of(expected));
        let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(scale > 0.0, "{what}: something moves in column {column}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 1e-12 * scale,
                "{what}, {column}: {found} against {expected}"
            );
        }
    }
}

/// One step under constant inputs.
fn step(subsystem: &mut dyn Subsystem, index: u64, inputs: &[f64], outputs: &mut [f64]) {
    let step = Step { index, start: 1e-3 * index as f64, size: 1e-3 };
    let mut samples = Samples::new(Request::Nothing, outputs.len());
    let segment = Segment::new(&step, inputs.len(), 1, inputs);
    subsystem.step(&step, &segment, outputs, &mut samples).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn states_are_kept_and_moved_to_other_instances() {
    let folder = tempfile::tempdir().unwrap();
    let file = example("feedthrough-pair", &[("run.coupling", "foh")]);
    for version in VERSIONS {
        let with = options(version, false);
        let lugre = model(folder.path(), "lugre-mass", &[], None, &with);
        let pair = system(folder.path(), "pair", &file, &with);
        for path in [lugre, pair] {
            let mut instance = imported(&path, &[]);
            let (inputs, width) = (instance.ports().inputs.len(), instance.ports().outputs.len());
            let mut outputs = vec![0.0; width];
            instance.initialize(0.0).unwrap();
            (0..3).for_each(|k| step(&mut instance, k, &vec![0.3; inputs], &mut outputs));
            let mut snapshot = Snapshot::new(Horizon::Anywhere);
            instance.save(&mut snapshot).unwrap();
            let mut go_on = |instance: &mut CoSimulation| {
                (3..6).for_each(|k| step(instance, k, &vec![0.7; inputs], &mut outputs));
                outputs.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
            };
            let first = go_on(&mut instance);
            instance.restore(&snapshot).unwrap();
            assert_eq!(go_on(&mut instance), first, "{}", path.display());
            let mut other = imported(&path, &[]);
            other.initialize(0.0).unwrap();
            other.restore(&snapshot).unwrap();
            assert_eq!(go_on(&mut other), first, "{} in another instance", path.display());
            let mark = snapshot.bytes.windows(7).position(|bytes| bytes == b" state ").unwrap();
            let mut older = snapshot.clone();
            older.bytes[mark + 7] -= 1;
            let error = instance.restore(&older).unwrap_err();
            assert!(error.to_string().contains("another version of koppel"), "{error}");
            snapshot.bytes.truncate(60);
            assert!(instance.restore(&snapshot).is_err(), "half a state");
            snapshot.bytes.clear();
            assert!(instance.restore(&snapshot).is_err(), "no state at all");
        }
        let plain = model(folder.path(), "mass", &[], None, &options(version, true));
        let mut instance = imported(&plain, &[]);
        instance.initialize(0.0).unwrap();
        assert!(instance.save(&mut Snapshot::default()).is_err());
    }
}

/// A system inside an FMU inside a system: the inner one is the whole, driven through its open input.
#[test]
fn a_container_takes_inputs_that_move() {
    let folder = tempfile::tempdir().unwrap();
    let text = |signal: &str| {
        format!(
            r#"
[run]
stop = 0.2
step = 1e-3
coupling = "foh"
[subsystems.mass]
model = "mass"
parameters = {{ x0 = 0.01, m = 12.0 }}
[subsystems.spring]
model = "spring-mass"
[[connections]]
from = "spring.F"
to = "mass.F"
[[connections]]
from = "mass.x"
to = "spring.x"
[[connections]]
from = "mass.v"
to = "spring.v"
{signal}"#
        )
    };
    let signal = |to: &str| {
        format!(
            "[[inputs]]\nto = \"{to}\"\nsignal = {{ kind = \"ramp\", start = 0.0, stop = 1.0, from = 10.0, to = 5000.0 }}\n"
        )
    };
    let parse = |text: &str| Session::parse(text, &folder.path().join("system.toml")).unwrap();
    let (names, _, expected) = run(&parse(&text(&signal("mass.F_ext"))));
    let inner = parse(&text(""));
    for version in VERSIONS {
        let path = system(folder.path(), "inner", &inner, &options(version, false));
        let outer = |more: &str| {
            let file = path.file_name().unwrap().to_str().unwrap();
            let text = format!(
                "[run]\nstop = 0.2\nstep = {more}\n[subsystems.all]\nfmu = \"{file}\"\n{}",
                signal("all.mass.F_ext")
            );
            run(&parse(&text))
        };
        let (outer_names, _, found) = outer("1e-3");
        for name in ["mass.x", "mass.v", "spring.F"] {
            let place = names.iter().position(|n| n == name).unwrap();
            let outer_place = outer_names.iter().position(|n| *n == format!("all.{name}")).unwrap();
            let of = |rows: &[Vec<f64>], place: usize| rows.iter().map(|row| row[place]).collect::<Vec<_>>();
            compare(&of(&found, outer_place), &of(&expected, place), 1, &format!("{version:?} {name}"));
        }
        // Steps of the importer that are no multiples cut the steps inside: close, and at the same end.
        let (_, times, cut) = outer("1.7e-3");
        assert!((times.last().unwrap() - 0.2).abs() < 1e-12);
        let (place, outer_place) = (
            names.iter().position(|n| n == "mass.x").unwrap(),
            outer_names.iter().position(|n| n == "all.mass.x").unwrap(),
        );
        let (a, b) = (cut.last().unwrap()[outer_place], expected.last().unwrap()[place]);
        assert!(a != b && (a - b).abs() < 0.05 * b.abs(), "{a} against {b}");
    }
}

#[test]
fn wrong_use_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "mass", &[], None, &options(FmiVersion::Fmi3, false));
    let mut instance = imported(&path, &[("m", -1.0)]);
    let error = instance.initialize(0.0).unwrap_err().to_string();
    assert!(error.contains("must be above zero"), "{error}");
    let mut instance = imported(&path, &[]);
    instance.initialize(0.0).unwrap();
    let mut outputs = [0.0; 2];
    step(&mut instance, 0, &[0.0; 2], &mut outputs);
    let late = Step { index: 9, start: 0.5, size: 1e-3 };
    let mut samples = Samples::new(Request::Nothing, 2);
    let segment = Segment::new(&late, 2, 1, &[0.0; 2]);
    let error = instance.step(&late, &segment, &mut outputs, &mut samples).unwrap_err().to_string();
    assert!(error.contains("starts at 0.5 s, but this FMU is at 0.001 s"), "{error}");
}

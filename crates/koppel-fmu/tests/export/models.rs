//! Model-based couplings of FMUs: the run is that of the native models, and says where the models came from.

use super::{VERSIONS, model, options};
use koppel::coupling::{CorrectorConfig, CouplingConfig, PrestepConfig};
use koppel::identify::{GivenModel, InterfaceModel, ModelConfig};
use koppel::models;
use koppel::run::{Reading, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{Connection, OdeModel, Subsystem, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, instantiate_any};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const STEP: f64 = 1e-3;

fn coupling(text: &str) -> CouplingConfig {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn config(coupling: &CouplingConfig, step: f64) -> RunConfig {
    let reading = Reading::Stale;
    RunConfig { coupling: coupling.clone(), reading, ..RunConfig::new(30.0 * step, step) }
}

/// All outputs after every step, and the words about the subsystems.
fn dual_mass(parts: [Box<dyn Subsystem>; 2], config: &RunConfig) -> Result<(Vec<f64>, String), String> {
    let [mass, spring] = parts;
    let system = SystemBuilder::new()
        .add_boxed("mass", mass)
        .add_boxed("spring", spring)
        .connect(Connection::new("spring.F", "mass.F"))
        .connect(Connection::new("mass.x", "spring.x"))
        .connect(Connection::new("mass.v", "spring.v"));
    let mut run = Run::new(system.build().unwrap(), config).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    while !run.is_done() {
        run.advance().map_err(|error| error.to_string())?;
        (0..2).for_each(|id| all.extend_from_slice(run.outputs(id)));
    }
    let words = run.statistics().shares.iter().map(|share| share.solver.clone()).collect::<Vec<_>>();
    Ok((all, words.join("\n")))
}

const NAMES: [&str; 2] = ["mass", "spring-mass"];
const VALUES: [&[(&str, f64)]; 2] =
    [&[("x0", 0.01), ("m", 12.0)], &[("x0", -0.02), ("ck", 2e5), ("dk", 200.0)]];

fn native(solver: &SolverConfig) -> [Box<dyn Subsystem>; 2] {
    [0, 1].map(|k| -> Box<dyn Subsystem> {
        let values = VALUES[k].iter().map(|(name, value)| ((*name).into(), *value)).collect();
        Box::new(OdeModel::new(models::build(NAMES[k], &values).unwrap(), solver).unwrap())
    })
}

fn imported(paths: &[PathBuf; 2], solving: Solving, step: f64) -> [Box<dyn Subsystem>; 2] {
    in_substeps(paths, solving, step, Options::default().substeps)
}

fn in_substeps(paths: &[PathBuf; 2], solving: Solving, step: f64, substeps: u32) -> [Box<dyn Subsystem>; 2] {
    [0, 1].map(|k| {
        let values = VALUES[k].iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let options = Options {
            name: NAMES[k].into(),
            start_values: values.collect(),
            solving,
            step: Some(step),
            substeps,
            ..Options::default()
        };
        instantiate_any(&Fmu::open(&paths[k]).unwrap(), &options).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// Largest difference, as a part of the largest value of its column.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let column =
        |list: &[f64], column: usize| list.iter().skip(column).step_by(3).copied().collect::<Vec<_>>();
    let of = |k: usize| {
        let (found, expected) = (column(found, k), column(expected, k));
        let scale = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(scale > 0.0, "something moves in column {k}");
        let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        apart.fold(0.0_f64, |most, apart| if apart.is_nan() { apart } else { most.max(apart) }) / scale
    };
    (0..3).map(of).fold(0.0, f64::max)
}

const COUPLINGS: [&str; 12] = [
    r#"{"method":"prestep","model":"derivatives"}"#,
    r#"{"method":"prestep","model":{"derivatives":5},"error_equation":"carried"}"#,
    r#"{"method":"corrector","model":"derivatives","error_equation":"carried"}"#,
    r#"{"method":"nepce"}"#,
    r#"{"method":"prestep","model":{"identify":"rls"},"learning":{"kind":"hold","duration":0.01}}"#,
    r#"{"method":"prestep","model":{"derivatives":"auto"},"input":"constant"}"#,
    r#"{"method":"prestep","model":"derivatives","error_equation":"reset","intermediate":false}"#,
    r#"{"method":"prestep","model":{"identify":"moesp","order":1,"window":30,"rows":2},"learning":{"duration":0.01}}"#,
    r#"{"method":"corrector","model":{"identify":"rls"},"error_equation":"reset","learning":{"duration":0.01}}"#,
    r#"{"method":"mixed","default":{"method":"foh"},"connections":{"mass.F":{"method":"prestep","model":"derivatives"}}}"#,
    r#"{"method":"nepce","gain":0.8,"anti_aliasing":true}"#,
    r#"{"method":"zoh"}"#,
];

/// Methods that integrate outputs over the points of each solver.
fn is_integrating(text: &str) -> bool {
    text.contains("nepce") || text.contains("corrector") && text.contains("rls")
}

#[test]
fn a_dual_mass_of_fmus_is_coupled_like_the_native_one() {
    let folder = tempfile::tempdir().unwrap();
    let solver = SolverConfig::Rk4 { step: 1e-5 };
    let mut seen: Vec<Vec<f64>> = Vec::new();
    for version in VERSIONS {
        let with = options(version, false);
        let paths = NAMES.map(|name| model(folder.path(), name, &[], Some(solver), &with));
        for solving in [Solving::Own, Solving::Koppel(Some(solver))] {
            for text in COUPLINGS {
                let config = config(&coupling(text), STEP);
                let (expected, _) = dual_mass(native(&solver), &config).unwrap();
                let (found, words) = dual_mass(imported(&paths, solving, STEP), &config).unwrap();
                let apart = difference(&found, &expected);
                // The points of its solver an FMU does not show: their integral is taken on four sub-steps, with an error of
                // the size of (ω h)² / 12 of what moves at ω (0.0016 seen, 0.019 with both ends alone). On a hundred, those
                // of the solver, it is the same.
                if is_integrating(text) && solving == Solving::Own {
                    assert!(apart <= 2e-3, "{version:?} {text} in four parts: {apart:e}");
                    let (found, _) = dual_mass(in_substeps(&paths, solving, STEP, 100), &config).unwrap();
                    let apart = difference(&found, &expected);
                    assert!(apart <= 1e-9, "{version:?} {text} in a hundred parts: {apart:e}");
                } else {
                    assert!(apart <= 1e-9, "{version:?} {solving:?} {text}: {apart:e}");
                }
                let is_asked = text.contains("derivatives");
                assert_eq!(
                    words.matches("linear model by directional derivatives").count(),
                    2 * usize::from(is_asked),
                    "{words}"
                );
                seen.push(expected);
            }
        }
    }
    // The methods really differ from each other.
    for pair in seen[..COUPLINGS.len()].windows(2) {
        assert!(difference(&pair[0], &pair[1]) > 1e-6);
    }
}

/// Models that are given serve FMUs as they serve native models: here those of a native run, of its last step.
#[test]
fn given_models_serve_fmus() {
    let folder = tempfile::tempdir().unwrap();
    let solver = SolverConfig::Rk4 { step: 1e-5 };
    let mut given = BTreeMap::new();
    for (name, mut part) in ["mass", "spring"].into_iter().zip(native(&solver)) {
        let matrices = part.linear().unwrap();
        given.insert(
            name.to_owned(),
            GivenModel::from(&InterfaceModel::from_state_space(name, &matrices).unwrap()),
        );
    }
    let prestep =
        PrestepConfig { model: ModelConfig::Given, models: given.clone(), ..PrestepConfig::default() };
    let corrector =
        CorrectorConfig { model: ModelConfig::Given, models: given, ..CorrectorConfig::default() };
    for version in VERSIONS {
        let with = options(version, false);
        let paths = NAMES.map(|name| model(folder.path(), name, &[], Some(solver), &with));
        for coupling in [CouplingConfig::from(prestep.clone()), CouplingConfig::from(corrector.clone())] {
            let config = config(&coupling, STEP);
            let (expected, _) = dual_mass(native(&solver), &config).unwrap();
            let (found, _) = dual_mass(imported(&paths, Solving::Own, STEP), &config).unwrap();
            let apart = difference(&found, &expected);
            // The constants that the pre-step method needs are measured by trial steps: 1.2e-9 seen.
            assert!(apart <= 1e-8, "{version:?} {coupling:?}: {apart:e}");
        }
    }
}

/// The same FMU, which now hides that it gives derivatives.
fn without_derivatives(path: &Path) -> PathBuf {
    let hidden = path.with_extension("hidden.fmu");
    let mut from = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut to = zip::ZipWriter::new(std::fs::File::create(&hidden).unwrap());
    for index in 0..from.len() {
        let mut entry = from.by_index(index).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if entry.name().unwrap() == "modelDescription.xml" {
            let text = String::from_utf8(content).unwrap();
            assert!(text.contains("providesDirectionalDerivative"));
            content = text.replace("providesDirectionalDerivative", "doesNot").into_bytes();
        }
        let name = entry.name().unwrap().into_owned();
        to.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        to.write_all(&content).unwrap();
    }
    to.finish().unwrap();
    hidden
}

/// Model exchange by differences is as good as exact; trial steps fit a model of the outputs, which is another one where
/// outputs do not determine the states (here the force of the spring): its run is as near to the truth.
#[test]
fn fmus_without_derivatives_are_differenced_or_tried() {
    let folder = tempfile::tempdir().unwrap();
    let solver = SolverConfig::Rk4 { step: 1e-5 };
    for step in [STEP, 5.0 * STEP] {
        // The truth by tiny steps.
        let fine = RunConfig { step: 1e-6, ..config(&coupling(r#"{"method":"foh"}"#), step) };
        let (truth, _) = dual_mass(native(&SolverConfig::Exact {}), &fine).unwrap();
        let each = (step / 1e-6).round() as usize;
        let truth: Vec<f64> = truth.chunks(3).skip(each - 1).step_by(each).flatten().copied().collect();
        for version in VERSIONS {
            let with = options(version, false);
            let paths = NAMES.map(|name| model(folder.path(), name, &[], Some(solver), &with));
            let hidden = [without_derivatives(&paths[0]), without_derivatives(&paths[1])];
            // The corrector is not stable at the larger step.
            for text in &COUPLINGS[..if step == STEP { 3 } else { 2 }] {
                let config = config(&coupling(text), step);
                let (expected, _) = dual_mass(native(&solver), &config).unwrap();
                let by_koppel = imported(&hidden, Solving::Koppel(Some(solver)), step);
                let (found, words) = dual_mass(by_koppel, &config).unwrap();
                let apart = difference(&found, &expected);
                assert!(apart <= 1e-7, "{version:?} {step} {text}: {apart:e}");
                assert_eq!(words.matches("linear model by finite differences").count(), 2, "{words}");
                let (tried, words) = dual_mass(imported(&hidden, Solving::Own, step), &config).unwrap();
                assert_eq!(
                    words.matches("linear model by trial steps from saved states").count(),
                    2,
                    "{words}"
                );
                let (own, native) = (difference(&tried, &truth), difference(&expected, &truth));
                assert!(own <= 1.5 * native, "{version:?} {step} {text}: {own:e} against {native:e}");
            }
        }
    }
}

#[test]
fn an_fmu_that_tells_nothing_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for version in VERSIONS {
        let paths = NAMES.map(|name| model(folder.path(), name, &[], None, &options(version, true)));
        let refused = dual_mass(imported(&paths, Solving::Own, STEP), &config(&coupling(COUPLINGS[0]), STEP))
            .unwrap_err();
        for words in [
            "`spring` offers no derivatives that could be used",
            "canGetAndSetFMUState",
            "identify = \"rls\"",
        ] {
            assert!(refused.contains(words), "{refused}");
        }
        // Learned models need nothing of it.
        dual_mass(imported(&paths, Solving::Own, STEP), &config(&coupling(COUPLINGS[4]), STEP)).unwrap();
    }
}

//! Problems whose subsystems are native models or FMUs of several makers, and how large a step a coupling allows on them.

use crate::cases::{Case, case};
use koppel::coupling::CouplingConfig;
use koppel::record::Trajectory;
use koppel::run::{Flow, Run, RunConfig};
use koppel::solver::SolverConfig;
use koppel::system::{System, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{self, Options};
use koppel_fmu::export::{self, Export, FmiVersion, library};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A problem with the steps it is tried at, in ms, and how its FMUs of pythonfmu are called.
pub(crate) struct Problem {
    pub(crate) name: &'static str,
    pub(crate) case: Case,
    pub(crate) steps: &'static [f64],
    pub(crate) python: &'static str,
    references: RefCell<HashMap<u64, Reference>>,
}

fn problem(name: &'static str, of: &str, python: &'static str, steps: &'static [f64]) -> Problem {
    Problem { name, case: case(of).unwrap(), steps, python, references: RefCell::default() }
}

pub(crate) fn problems() -> Vec<Problem> {
    let mut all = vec![
        problem(
            "dual mass, linear (2e5, 200)",
            "dual-mass",
            "DualMass",
            &[0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0],
        ),
        problem(
            "pendulum-oscillator",
            "pendulum-oscillator",
            "Pendulum",
            &[2.0, 4.0, 8.0, 16.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 200.0],
        ),
        problem(
            "helicopter",
            "helicopter",
            "Helicopter",
            &[20.0, 60.0, 100.0, 120.0, 150.0, 200.0, 300.0, 400.0, 500.0],
        ),
        problem(
            "quarter truck",
            "quarter-truck",
            "QuarterTruck",
            &[2.0, 4.0, 8.0, 10.0, 20.0, 40.0, 60.0, 100.0, 150.0, 200.0, 300.0],
        ),
        problem(
            "feed-through pair",
            "feedthrough-pair",
            "Feedthrough",
            &[0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0, 500.0],
        ),
        problem(
            "PI-PT1 (10, 10, 1)",
            "control-loop",
            "ControlLoop",
            &[10.0, 20.0, 30.0, 50.0, 70.0, 100.0, 200.0, 300.0, 500.0, 1000.0],
        ),
        problem(
            "LuGre mass, stick-slip",
            "lugre-mass",
            "Lugre",
            &[2.0, 4.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0],
        ),
        problem(
            "van der Pol + spring mass",
            "van-der-pol",
            "VanDerPol",
            &[10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0],
        ),
    ];
    all[0].case.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    // Euler's method with a fixed step would have FMUs with other micro steps compared with its own error.
    for (number, stop) in [(0, None), (1, None), (2, Some(30.0))] {
        let Case { parts, run, .. } = &mut all[number].case;
        let solver = if number == 1 { SolverConfig::default() } else { SolverConfig::Exact {} };
        parts.iter_mut().for_each(|part| part.solver = solver);
        run.stop = stop.unwrap_or(run.stop);
    }
    all
}

/// What the subsystems are.
pub(crate) enum Kind {
    Native,
    /// Exported with this version of FMI, plain or not.
    Exported(FmiVersion, bool),
    /// Built by pythonfmu.
    Python(PathBuf),
}

impl Problem {
    /// FMUs in the order of the parts; none for native models.
    pub(crate) fn fmus(&self, kind: &Kind, folder: &Path) -> Vec<PathBuf> {
        let export = |version: FmiVersion, is_plain: bool| {
            let without = if is_plain { export::Feature::OPTIONAL.to_vec() } else { vec![] };
            let options = export::Options { version, without, library: library::find(None).unwrap() };
            let one = move |part: &crate::cases::Part| {
                let number = if version == FmiVersion::Fmi2 { 2 } else { 3 };
                let name = format!("{}-{}-{number}-{is_plain}.fmu", self.python, part.name);
                let path = folder.join(name);
                let export = Export::model(&part.model, &part.parameters, Some(part.solver)).unwrap();
                export.write(&options, &path).unwrap_or_else(|error| panic!("{error}"));
                path
            };
            self.case.parts.iter().map(one).collect()
        };
        match kind {
            Kind::Native => Vec::new(),
            Kind::Exported(version, is_plain) => export(*version, *is_plain),
            Kind::Python(folder) => {
                let capital = |name: &str| name[..1].to_uppercase() + &name[1..];
                let file = |name: &str| folder.join(format!("{}{}.fmu", self.python, capital(name)));
                self.case.parts.iter().map(|part| file(&part.name)).collect()
            }
        }
    }

    fn system(&self, fmus: &[PathBuf]) -> System {
        if fmus.is_empty() {
            return self.case.system().unwrap();
        }
        let mut builder = SystemBuilder::new();
        for (part, fmu) in self.case.parts.iter().zip(fmus) {
            let options = Options { name: part.name.clone(), ..Options::default() };
            let fmu = Fmu::open(fmu).unwrap_or_else(|error| panic!("{error}"));
            let instance = import::instantiate_any(&fmu, &options);
            builder = builder.add_boxed(&part.name, instance.unwrap_or_else(|error| panic!("{error}")));
        }
        builder = self.case.connections.iter().fold(builder, |b, connection| b.connect(connection.clone()));
        builder = self.case.externals.iter().fold(builder, |b, (to, signal)| b.external(to, signal.clone()));
        builder.build().unwrap()
    }

    /// Outputs of the monolithic reference at the communication points of a step of so many ms, subsystem by subsystem.
    fn exact(&self, step: f64) -> Reference {
        let config =
            RunConfig { step: step * 1e-3, coupling: CouplingConfig::zoh(), ..self.case.run.clone() };
        let native = self.case.system().unwrap();
        let mut monolith = Run::new(self.case.reference().unwrap(), &config).unwrap();
        let table = trajectory_of(&mut monolith).unwrap();
        let of = |id: usize| {
            let outputs = native.graph.outputs_of(id).map(|output| native.graph.output_name(output));
            outputs.map(|name| (column(&monolith, &table, &format!("monolith.{name}")), name)).collect()
        };
        (0..native.subsystems.len()).map(of).collect()
    }

    /// Per subsystem the mean over its outputs and communication points of |y - y_ref| / (range of y_ref), then the
    /// Euclidean norm over subsystems; infinite where the run failed. The step is in ms.
    pub(crate) fn error(&self, fmus: &[PathBuf], coupling: &CouplingConfig, step: f64) -> f64 {
        let mut known = self.references.borrow_mut();
        let exact = known.entry(step.to_bits()).or_insert_with(|| self.exact(step));
        let config = RunConfig { step: step * 1e-3, coupling: coupling.clone(), ..self.case.run.clone() };
        let Ok(mut run) = Run::new(self.system(fmus), &config) else { return f64::INFINITY };
        let Some(seen) = trajectory_of(&mut run) else { return f64::INFINITY };
        let error = |(exact, name): &(Vec<f64>, String)| {
            let seen = column(&run, &seen, name);
            let (low, high) =
                exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            let sum: f64 = seen.iter().zip(exact).skip(1).map(|(a, b)| (a - b).abs()).sum();
            sum / (exact.len() - 1) as f64 / if high > low { high - low } else { 1.0 }
        };
        let mean =
            |outputs: &Vec<(Vec<f64>, String)>| outputs.iter().map(error).sum::<f64>() / outputs.len() as f64;
        let norm = exact.iter().map(mean).map(|mean| mean * mean).sum::<f64>().sqrt();
        if norm.is_finite() { norm } else { f64::INFINITY }
    }

    /// Errors at all steps up to the first that is above 5 %.
    pub(crate) fn errors(&self, fmus: &[PathBuf], coupling: &CouplingConfig) -> Vec<f64> {
        let mut errors = Vec::new();
        for step in self.steps {
            errors.push(self.error(fmus, coupling, *step));
            if errors.last().is_some_and(|error| *error > LIMIT) {
                break;
            }
        }
        errors
    }

    /// The largest step with an error of at most 5 % there and at all smaller ones, in words.
    pub(crate) fn largest(&self, errors: &[f64]) -> String {
        match errors.iter().filter(|error| **error <= LIMIT).count() {
            0 => format!("< {}", self.steps[0]),
            all if all == self.steps.len() => format!(">= {}", self.steps[all - 1]),
            good => self.steps[good - 1].to_string(),
        }
    }
}

/// Largest error that is good.
const LIMIT: f64 = 0.05;

/// Per subsystem its outputs at the communication points, with their names.
type Reference = Vec<Vec<(Vec<f64>, String)>>;

fn column(run: &Run, table: &Trajectory, name: &str) -> Vec<f64> {
    let at = run.columns().iter().position(|column| column.name == name).unwrap();
    table.column(at).collect()
}

/// A run to its end.
fn trajectory_of(run: &mut Run) -> Option<Trajectory> {
    let mut table = Trajectory::default();
    run.run(&mut table, &mut |_| Ok(Flow::Continue)).ok().map(|_| table)
}

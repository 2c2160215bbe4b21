//! Prints the largest step at which VFPS is within 5 % of the reference, by how inputs that move reach the subsystems.
//!
//! `cargo run --release --package koppel-fmu --example fmu_steps [-- --errors]`
//!
//! FMUs are exported by koppel, and taken from `target/test-fmus` (or where `KOPPEL_TEST_FMUS` says) as
//! `crates/koppel-fmi/tests/make_fmus.py` builds them with pythonfmu.

#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::unwrap_used, reason = "an example that cannot go on has failed")]

use koppel::coupling::{Against, CouplingConfig, StartUp, VfpsConfig};
use koppel::models::cases::{Case, case};
use koppel::record::Table;
use koppel::run::{Flow, RunConfig, Simulation};
use koppel::system::{System, SystemBuilder};
use koppel_fmi::Fmu;
use koppel_fmi::import::{self, Options};
use koppel_fmu::export::{self, Export, FmiVersion, library};
use std::path::{Path, PathBuf};

/// A problem with the steps it is tried at, in ms, and how its FMUs of pythonfmu are called.
struct Problem {
    name: &'static str,
    case: Case,
    steps: &'static [f64],
    python: &'static str,
}

fn problems() -> [Problem; 4] {
    let mut dual_mass = case("dual-mass").unwrap();
    dual_mass.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    [
        Problem {
            name: "dual mass, linear (2e5, 200)",
            case: dual_mass,
            steps: &[0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0],
            python: "DualMass",
        },
        Problem {
            name: "quarter truck",
            case: case("quarter-truck").unwrap(),
            steps: &[2.0, 4.0, 8.0, 10.0, 20.0, 40.0, 60.0, 100.0, 150.0, 200.0, 300.0],
            python: "QuarterTruck",
        },
        Problem {
            name: "PI-PT1 (10, 10, 1)",
            case: case("control-loop").unwrap(),
            steps: &[10.0, 20.0, 30.0, 50.0, 70.0, 100.0, 200.0, 300.0, 500.0, 1000.0],
            python: "ControlLoop",
        },
        Problem {
            name: "van der Pol + spring mass",
            case: case("van-der-pol").unwrap(),
            steps: &[10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0],
            python: "VanDerPol",
        },
    ]
}

/// What the subsystems are.
enum Kind {
    Native,
    /// Exported with this version of FMI, plain or not.
    Exported(FmiVersion, bool),
    /// Built by pythonfmu.
    Python(PathBuf),
}

impl Problem {
    /// FMUs in the order of the parts; none for native models.
    fn fmus(&self, kind: &Kind, folder: &Path) -> Vec<PathBuf> {
        let export = |version: FmiVersion, is_plain: bool| {
            let options = export::Options { version, is_plain, library: library::find(None).unwrap() };
            let one = move |part: &koppel::models::cases::Part| {
                let number = if version == FmiVersion::Two { 2 } else { 3 };
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

    /// Per subsystem the mean over its outputs and communication points of |y - y_ref| / (range of y_ref), then the
    /// Euclidean norm over subsystems; infinite where the run failed.
    fn error(&self, fmus: &[PathBuf], coupling: &CouplingConfig, step: f64) -> f64 {
        let config = RunConfig { step: step * 1e-3, coupling: coupling.clone(), ..self.case.run.clone() };
        let native = self.case.system().unwrap();
        let names: Vec<Vec<String>> = (0..native.subsystems.len())
            .map(|id| native.graph.outputs_of(id).map(|o| native.graph.output_name(o)).collect())
            .collect();
        let zoh = RunConfig { coupling: CouplingConfig::Zoh {}, ..config.clone() };
        let mut monolith = Simulation::new(self.case.reference().unwrap(), &zoh).unwrap();
        let exact = run(&mut monolith).unwrap();
        let Ok(mut simulation) = Simulation::new(self.system(fmus), &config) else { return f64::INFINITY };
        let Some(seen) = run(&mut simulation) else { return f64::INFINITY };
        let column = |simulation: &Simulation, table: &Table, name: &str| -> Vec<f64> {
            let at = simulation.columns().iter().position(|column| column.name == name).unwrap();
            table.column(at).collect()
        };
        let error = |name: &String| {
            let exact = column(&monolith, &exact, &format!("monolith.{name}"));
            let seen = column(&simulation, &seen, name);
            let (low, high) =
                exact.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            let sum: f64 = seen.iter().zip(&exact).skip(1).map(|(a, b)| (a - b).abs()).sum();
            sum / (exact.len() - 1) as f64 / if high > low { high - low } else { 1.0 }
        };
        let mean = |names: &Vec<String>| names.iter().map(error).sum::<f64>() / names.len() as f64;
        let norm = names.iter().map(mean).map(|mean| mean * mean).sum::<f64>().sqrt();
        if norm.is_finite() { norm } else { f64::INFINITY }
    }

    /// The largest step with an error of at most 5 % there and at all smaller ones, in words.
    fn largest(&self, fmus: &[PathBuf], couplings: &[CouplingConfig]) -> String {
        let largest = |coupling: &CouplingConfig| {
            let good = self.steps.iter().take_while(|step| self.error(fmus, coupling, **step) <= 0.05);
            good.last().copied().unwrap_or(0.0)
        };
        let found = couplings.iter().map(largest).fold(0.0, f64::max);
        if self.steps.last() == Some(&found) { format!(">= {found}") } else { found.to_string() }
    }
}

/// A run to its end.
fn run(simulation: &mut Simulation) -> Option<Table> {
    let mut table = Table::default();
    simulation.run(&mut table, &mut |_| Ok(Flow::Continue)).ok().map(|_| table)
}

fn main() {
    let with_errors = std::env::args().any(|argument| argument == "--errors");
    let vfps = CouplingConfig::Vfps(VfpsConfig::default());
    let signal_based = [
        CouplingConfig::Zoh {},
        CouplingConfig::Foh { start: StartUp::Constant },
        CouplingConfig::Nepce { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false },
    ];
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-fmus");
    let python = std::env::var_os("KOPPEL_TEST_FMUS").map_or(default, PathBuf::from);
    let kinds = [
        ("native", Kind::Native),
        ("FMI 3, intermediate update", Kind::Exported(FmiVersion::Three, false)),
        ("FMI 2, input derivatives", Kind::Exported(FmiVersion::Two, false)),
        ("FMI 2, `--plain`", Kind::Exported(FmiVersion::Two, true)),
        ("FMI 3, `--plain`", Kind::Exported(FmiVersion::Three, true)),
        ("pythonfmu", Kind::Python(python.clone())),
    ];
    let folder = tempfile::tempdir().unwrap();
    println!(
        "| problem | best of ZOH, FOH, NEPCE | {} |",
        kinds.each_ref().map(|(name, _)| *name).join(" | ")
    );
    println!("|{}", " --- |".repeat(kinds.len() + 2));
    for problem in problems() {
        let mut cells = vec![problem.name.to_owned(), problem.largest(&[], &signal_based)];
        for (name, kind) in &kinds {
            let fmus = problem.fmus(kind, folder.path());
            if fmus.iter().any(|fmu| !fmu.exists()) {
                eprintln!("no FMUs in {}: run crates/koppel-fmi/tests/make_fmus.py first", python.display());
                cells.push("not built".into());
                continue;
            }
            if with_errors {
                let one = |step: &f64| format!("{step}: {:.4}", problem.error(&fmus, &vfps, *step));
                let errors: Vec<String> = problem.steps.iter().map(one).collect();
                eprintln!("{}, {name}: {}", problem.name, errors.join("  "));
            }
            cells.push(problem.largest(&fmus, std::slice::from_ref(&vfps)));
        }
        println!("| {} |", cells.join(" | "));
    }
}

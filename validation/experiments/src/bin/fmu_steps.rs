//! Prints the largest step at which VFPS is within 5 % of the reference, by how inputs that move reach the subsystems.
//!
//! `cargo run --release --package koppel-experiments --bin fmu_steps [-- [--errors] [PROBLEM]]`
//!
//! FMUs are exported by koppel, and taken from `target/test-fmus` (or where `KOPPEL_TEST_FMUS` says) as
//! `crates/koppel-fmi/tests/make_fmus.py` builds them with pythonfmu.

#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::unwrap_used, reason = "an experiment that cannot go on has failed")]

#[path = "../../../../crates/koppel/tests/common/cases/mod.rs"]
mod cases;
#[path = "../../../../crates/koppel-fmi/tests/common/prepared.rs"]
mod prepared;
#[path = "../../../../crates/koppel-fmu/tests/vfps/problems.rs"]
mod problems;

use koppel::coupling::{Against, CouplingConfig, NepceConfig, StartUp, VfpsConfig};
use koppel_fmu::export::FmiVersion;
use problems::{Kind, problems};

fn main() {
    let with_errors = std::env::args().any(|argument| argument == "--errors");
    let vfps = CouplingConfig::from(VfpsConfig::default());
    let signal_based = [
        CouplingConfig::zoh(),
        CouplingConfig::foh(StartUp::Constant),
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false }),
    ];
    let python = prepared::folder();
    let kinds = [
        ("native", Kind::Native),
        ("FMI 3, intermediate update", Kind::Exported(FmiVersion::Fmi3, false)),
        ("FMI 2, input derivatives", Kind::Exported(FmiVersion::Fmi2, false)),
        ("FMI 2, `--plain`", Kind::Exported(FmiVersion::Fmi2, true)),
        ("FMI 3, `--plain`", Kind::Exported(FmiVersion::Fmi3, true)),
        ("pythonfmu", Kind::Python(python.clone())),
    ];
    let folder = tempfile::tempdir().unwrap();
    println!(
        "| problem | best of ZOH, FOH, NEPCE | {} |",
        kinds.each_ref().map(|(name, _)| *name).join(" | ")
    );
    println!("|{}", " --- |".repeat(kinds.len() + 2));
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str()));
    for problem in problems().into_iter().filter(|problem| is_wanted(problem.name)) {
        let by_signals = signal_based.iter().map(|coupling| problem.errors(&[], coupling));
        let best = by_signals.max_by_key(Vec::len).unwrap_or_default();
        let mut cells = vec![problem.name.to_owned(), problem.largest(&best)];
        for (name, kind) in &kinds {
            let fmus = problem.fmus(kind, folder.path());
            if fmus.iter().any(|fmu| !fmu.exists()) {
                eprintln!("no FMUs in {}: run crates/koppel-fmi/tests/make_fmus.py first", python.display());
                cells.push("not built".into());
                continue;
            }
            let errors = problem.errors(&fmus, &vfps);
            if with_errors {
                let one = |(step, error): (&f64, &f64)| format!("{step}: {error:.4}");
                let errors: Vec<String> = problem.steps.iter().zip(&errors).map(one).collect();
                eprintln!("{}, {name}: {}", problem.name, errors.join("  "));
            }
            cells.push(problem.largest(&errors));
        }
        println!("| {} |", cells.join(" | "));
    }
}

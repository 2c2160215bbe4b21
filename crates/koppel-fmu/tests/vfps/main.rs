//! VFPS on exported FMUs, and on those of pythonfmu: steps as large as with native models.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../koppel/tests/common/cases/mod.rs"]
mod cases;
#[path = "../../../koppel-fmi/tests/common/prepared.rs"]
mod prepared;
#[expect(dead_code, reason = "the experiment `fmu_steps` uses more of it")]
mod problems;

use koppel::coupling::{CouplingConfig, VfpsConfig};
use koppel_fmu::export::FmiVersion;
use prepared::prepared;
use problems::{Kind, problems};

/// The step in ms that must be within 5 %.
const WANTED: [(&str, f64); 6] = [
    ("dual mass", 20.0),
    ("quarter truck", 100.0),
    ("PI-PT1", 500.0),
    ("feed-through pair", 200.0),
    ("van der Pol", 100.0),
    ("pendulum", 60.0),
];

fn reaches(kind: &Kind) {
    let folder = tempfile::tempdir().unwrap();
    let vfps = CouplingConfig::from(VfpsConfig::default());
    for (name, step) in WANTED {
        let problem = problems().into_iter().find(|problem| problem.name.starts_with(name)).unwrap();
        let fmus = problem.fmus(kind, folder.path());
        let error = problem.error(&fmus, &vfps, step);
        assert!(error <= 0.05, "{} at {step} ms: {error}", problem.name);
    }
}

#[test]
fn exported_fmus() {
    reaches(&Kind::Exported(FmiVersion::Fmi2, false));
    reaches(&Kind::Exported(FmiVersion::Fmi3, false));
}

#[test]
fn plain_fmus() {
    reaches(&Kind::Exported(FmiVersion::Fmi2, true));
    reaches(&Kind::Exported(FmiVersion::Fmi3, true));
}

#[test]
fn fmus_of_pythonfmu() {
    if prepared("DualMassLeft.fmu").is_some() {
        reaches(&Kind::Python(prepared::folder()));
    }
}

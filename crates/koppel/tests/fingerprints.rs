//! The built-in cases and every coupling method keep their results, to the last bit where machines agree on it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/cases/mod.rs"]
mod cases;
#[path = "common/couplings.rs"]
mod couplings;
#[path = "common/fingerprint.rs"]
mod fingerprint;
#[path = "common/methods.rs"]
mod methods;

use crate::cases::{Case, case, cases};
use couplings::couplings;
use fingerprint::Fingerprints;
use koppel::coupling::Hold;
use koppel::record::Trajectory;
use koppel::run::{Reading, Run, RunConfig, ScheduleConfig};
use koppel::solver::SolverConfig;
use std::path::{Path, PathBuf};

/// Cases without sine, exponential, powers, eigenvalues or singular values.
const PLAIN_CASES: &[&str] = &[
    "dual-mass",
    "random-dual-mass",
    "two-mass",
    "undamped-two-mass",
    "control-loop",
    "integral-loop",
    "feedthrough-pair",
    "quarter-truck",
];

/// The same for methods: those that extrapolate what has arrived, on cases of that kind.
const PLAIN_METHODS: &[&str] = &[
    "two-mass/zoh",
    "two-mass/foh",
    "two-mass/soh",
    "two-mass/relaxed",
    "two-mass/anti-aliasing",
    "two-mass/nepce",
];

/// The compensator for weights of order 3 amplifies kicks so much that the round-off of its design, 1e-16, becomes 3e-7 of the
/// result.
const ROUGH_METHODS: &[&str] = &["nonlinear-dual-mass/hinf/11"];

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints").join(name)
}

/// Rows of a run, up to where it fails if it does.
fn add(all: &mut Fingerprints, name: &str, case: &Case, config: &RunConfig) {
    let mut run = Run::new(case.system().unwrap(), config).unwrap();
    let mut table = Trajectory::default();
    run.record(&mut table).unwrap();
    while !run.is_done() && run.advance().is_ok() {
        run.record(&mut table).unwrap();
    }
    let mut rows = table.rows;
    rows.iter_mut().zip(&table.times).for_each(|(row, time)| row.push(*time));
    all.add(name, run.columns().iter().map(|column| column.name.as_str()), &rows);
}

#[test]
fn cases_keep_their_results() {
    let mut all = Fingerprints::new(PLAIN_CASES, &[]);
    for name in cases() {
        let case = case(name).unwrap();
        add(&mut all, name, &case, &case.run);
    }
    all.compare(&table("cases.txt"));
}

/// A linear case, solved exactly, and one with a progressive spring and kicks.
#[test]
fn methods_keep_their_results() {
    let mut linear = case("two-mass").unwrap();
    linear.parts.iter_mut().for_each(|part| part.solver = SolverConfig::Exact {});
    let mut all = Fingerprints::new(PLAIN_METHODS, ROUGH_METHODS);
    for (case, of) in [(linear, "first.x"), (case("nonlinear-dual-mass").unwrap(), "left.F")] {
        let list = couplings(of);
        methods::assert_every_method("tests/fingerprints.rs", list.iter());
        for (number, coupling) in list.iter().enumerate() {
            for (schedule, reading, hold) in [
                (ScheduleConfig::PARALLEL, Reading::Fresh, Hold::Constant),
                (ScheduleConfig::SEQUENCE, Reading::Stale, Hold::Continuous),
            ] {
                let name = format!("{}/{}/{number}/{reading:?}", case.name, coupling.name());
                let stop = 50.0 * case.run.step;
                let config = RunConfig {
                    coupling: coupling.clone(),
                    schedule,
                    reading,
                    hold,
                    ..RunConfig::new(stop, case.run.step)
                };
                add(&mut all, &name, &case, &config);
            }
        }
    }
    all.compare(&table("methods.txt"));
}

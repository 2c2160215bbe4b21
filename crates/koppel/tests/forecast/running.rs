//! Forecast limits of methods against runs a little below and above them.

use super::linear;
use crate::cases::{Case, case};
use crate::methods::assert_every_method;
use koppel::analysis::{Scan, stable_steps};
use koppel::coupling::{
    AntiAliasingConfig, CorrectorConfig, CouplingConfig, HinfConfig, NepceConfig, PrestepConfig,
    RelaxedConfig, VfpsConfig,
};
use koppel::run::{Reading, Run, RunConfig};

const STEPS: usize = 6000;

/// Whether movement between communication points in the last tenth of a run is more than in an earlier one.
fn grows(case: &Case, run: &RunConfig, step: f64) -> bool {
    let config = RunConfig { step, stop: step * STEPS as f64, ..run.clone() };
    let mut run = Run::new(case.system().unwrap(), &config).unwrap();
    let mut moved = Vec::with_capacity(STEPS);
    let outputs =
        |run: &Run| -> Vec<f64> { (0..run.graph().len()).flat_map(|id| run.outputs(id).to_vec()).collect() };
    let mut before = outputs(&run);
    for _ in 0..STEPS {
        // A value leaves the range of numbers.
        if run.advance().is_err() {
            return true;
        }
        let now = outputs(&run);
        moved.push(now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max));
        before = now;
    }
    let largest = |from: usize| moved[from..from + STEPS / 10].iter().copied().fold(0.0, f64::max);
    // Two integrators in a row drift by the same in each step, but for round-off: that is no growth.
    largest(STEPS * 9 / 10) > 1.001 * largest(STEPS / 2).max(1e-9)
}

#[test]
fn runs_turn_unstable_where_the_forecast_says() {
    let methods = [
        CouplingConfig::soh(Default::default()),
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Default::default(), anti_aliasing: false }),
        CouplingConfig::from(RelaxedConfig { alpha: 0.5 }),
        CouplingConfig::from(AntiAliasingConfig { order: 0 }),
        CouplingConfig::from(CorrectorConfig::default()),
        CouplingConfig::from(PrestepConfig::default()),
        CouplingConfig::from(HinfConfig { limit: f64::INFINITY, ..HinfConfig::default() }),
        CouplingConfig::from(VfpsConfig::default()),
    ];
    // `limits.rs` has the other holds.
    let holds = [CouplingConfig::zoh(), CouplingConfig::foh(Default::default())];
    assert_every_method("tests/forecast/running.rs", methods.iter().chain(&holds));
    let mut compared = Vec::new();
    for name in ["control-loop", "quarter-truck", "quarter-truck-wheel-force", "two-mass"] {
        let case = case(name).unwrap();
        let system = linear(&case);
        for coupling in &methods {
            let run = RunConfig { coupling: coupling.clone(), reading: Reading::Stale, ..case.run.clone() };
            let scan =
                Scan { from: case.run.step, to: 300.0 * case.run.step, per_decade: 20, accuracy: 1e-3 };
            let method = coupling.name();
            let found = stable_steps(&system, &run, scan).unwrap_or_else(|e| panic!("{name}, {method}: {e}"));
            let Some(first) = found.first().filter(|first| first.from_is_open) else {
                compared
                    .push((format!("{name}, {method}: never"), [false, grows(&case, &run, case.run.step)]));
                continue;
            };
            if first.to_is_open {
                compared.push((format!("{name}, {method}: always"), [grows(&case, &run, first.to), true]));
                continue;
            }
            let seen = [0.98, 1.02].map(|factor| grows(&case, &run, factor * first.to));
            compared.push((format!("{name}, {method}: {}", first.to), seen));
        }
    }
    let wrong: Vec<_> = compared.iter().filter(|(_, seen)| *seen != [false, true]).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\nof {compared:#?}");
    assert!(compared.len() >= 12, "{}", compared.len());
}

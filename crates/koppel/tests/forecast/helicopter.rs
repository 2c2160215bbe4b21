//! The helicopter with exact interface models, surrogates of 8 and 20 states: which of the method's forms is stable is told before the
//! run.

use super::linear;
use crate::cases::case;
use koppel::analysis::StepMatrix;
use koppel::coupling::{ConstantConfig, CouplingConfig, PrestepConfig};
use koppel::run::RunConfig;

/// Without their constant step 3 is unstable (spectral radius 1.06 at 0.3 s) and the method without it stable (0.99987); with measured
/// constants all of it is (0.99957). So it is in the runs: `papers/helicopter.rs`.
#[test]
fn the_forecast_says_which_form_is_stable() {
    let case = case("helicopter").unwrap();
    let system = linear(&case);
    for step in [0.1, 0.2, 0.3] {
        let radius = |constant, modified| {
            let prestep = PrestepConfig { constant, modified, ..PrestepConfig::default() };
            let coupling = CouplingConfig::from(prestep);
            let run = RunConfig { coupling, step, ..case.run.clone() };
            StepMatrix::of(&system, &run).unwrap().spectrum().unwrap().radius
        };
        let full = radius(ConstantConfig::None, false);
        let modified = radius(ConstantConfig::None, true);
        let measured = radius(ConstantConfig::Measured, false);
        assert!(full > 1.01 && modified < 1.0 && measured < 1.0, "{step}: {full} {modified} {measured}");
    }
}

//! Learned models beyond the first order: recursive least squares of order two, MOESP, and the corrector on learned models.

use super::{global_error, prestep, stale};
use crate::cases::case;
use koppel::coupling::{CorrectorConfig, CouplingConfig, ErrorEquationConfig, LearningConfig, PrestepConfig};
use koppel::identify::{ModelConfig, MoespConfig, RlsConfig};
use koppel::run::RunConfig;

fn moesp(order: usize, window: usize) -> ModelConfig {
    ModelConfig::Moesp(MoespConfig { order: Some(order), window, rows: None })
}

fn rls(outputs: usize, inputs: usize) -> ModelConfig {
    ModelConfig::Rls(RlsConfig { outputs, inputs, ..RlsConfig::default() })
}

/// Learns for `duration` by zero-order hold, switches in `switch`.
fn learned(model: ModelConfig, duration: f64, switch: f64) -> PrestepConfig {
    let learning = Some(LearningConfig { duration, switch, ..LearningConfig::default() });
    PrestepConfig { model, learning, ..PrestepConfig::default() }
}

/// Linear dual mass (2e5, 200) after 150 steps of learning: what is left is the error of those. Seen at 0.2 and 0.5 ms: zoh 0.057,
/// 0.228; MOESP of order 2 0.0104, 0.0719, of order 1 0.21, 0.11; recursive least squares N = M = 1 0.0107, 0.0657, N = M = 2
/// 0.0105, 0.0728.
#[test]
fn regression_moesp_of_the_right_order_serves_the_dual_mass() {
    let mut case = case("dual-mass").unwrap();
    case.parts[1].parameters.extend([("ck".to_owned(), 2e5), ("dk".to_owned(), 200.0)]);
    for (step, limit) in [(2e-4, 0.2), (5e-4, 0.35)] {
        let error = |coupling| global_error(&case, &stale(coupling, 0.3, step));
        let with = |model| error(CouplingConfig::from(learned(model, 150.0 * step, 0.005)));
        let zoh = error(CouplingConfig::zoh());
        for model in [moesp(2, 200), moesp(3, 200), rls(2, 2), rls(2, 3)] {
            let seen = with(model);
            assert!(seen < limit * zoh, "{step}, {model:?}: {seen}, zoh {zoh}");
        }
        assert!(with(moesp(2, 200)) < with(moesp(1, 200)));
    }
}

/// Progressive spring with kicks at 1 ms, Table 3.13 of Genser 2020: order 1, window 778, learning 0.29 s, switch 0.004 s,
/// thresholds 1.72 and 4.22. An independent implementation saw it worse than zero-order hold, and so it is here: 0.144 against 0.068. Of order 4, that of
/// both masses, it is better: 0.034; recursive least squares reaches 0.031.
#[test]
fn regression_moesp_with_table_3_13_is_worse_than_hold_and_better_of_higher_order() {
    let case = case("nonlinear-dual-mass").unwrap();
    let error = |coupling| global_error(&case, &stale(coupling, 1.0, 1e-3));
    let with = |order: usize| {
        let mut config = learned(moesp(order, 778), 0.29, 0.004);
        if let Some(learning) = &mut config.learning {
            (learning.modified_above, learning.hold_above) = (1.72, 4.22);
        }
        error(prestep(|own| *own = config))
    };
    let zoh = error(CouplingConfig::zoh());
    let [first, fourth] = [1, 4].map(with);
    assert!(first > 1.5 * zoh && first < 3.0 * zoh, "{first}, zoh {zoh}");
    assert!(fourth < 0.6 * zoh, "{fourth}, zoh {zoh}");
}

/// Helicopter. Recursive least squares of order 2: 0.011, 0.016, 0.062 at 0.08, 0.1, 0.16 s where order 1 has 0.028, 0.037,
/// 0.110 and zero-order hold is lost from 0.146 s on. The corrector on learned models, reset every step: 0.021, 0.028, 0.091;
/// carried it is unstable at all of them (thesis: worse than hold from 0.08 s on).
#[test]
fn regression_second_order_models_and_the_corrector_on_the_helicopter() {
    let case = case("helicopter").unwrap();
    for (step, order_two, corrector) in [(0.08, 0.015, 0.03), (0.1, 0.02, 0.035), (0.16, 0.08, 0.12)] {
        let error = |coupling| global_error(&case, &RunConfig { coupling, step, ..case.run.clone() });
        let seen = error(CouplingConfig::from(learned(rls(2, 2), 12.0, 1.0)));
        assert!(seen < order_two, "{step}: {seen}");
        let with = |error_equation| {
            let PrestepConfig { model, learning, .. } = learned(rls(1, 1), 12.0, 1.0);
            let config = CorrectorConfig { model, learning, error_equation, ..CorrectorConfig::default() };
            error(CouplingConfig::from(config))
        };
        let seen = with(ErrorEquationConfig::Reset);
        assert!(seen < corrector, "{step}: {seen}");
        assert!(with(ErrorEquationConfig::Carried) > 1.0);
    }
}

/// Helicopter by MOESP of order 6, all samples: 0.014 at 0.1 s against 0.046 by zero-order hold and 0.037 by recursive least squares
/// of order 1. At 0.16 s, learned from 75 samples of an oscillation that grows, it is unstable at this order and off by 0.24
/// at order 4 with two block rows: recursive least squares is the more robust one, as the thesis says.
#[test]
fn regression_moesp_on_the_helicopter() {
    let case = case("helicopter").unwrap();
    let model = ModelConfig::Moesp(MoespConfig { order: Some(6), window: 3000, rows: Some(3) });
    let error = |coupling| global_error(&case, &RunConfig { coupling, step: 0.1, ..case.run.clone() });
    let seen = error(CouplingConfig::from(learned(model, 12.0, 1.0)));
    let zoh = error(CouplingConfig::zoh());
    assert!(seen < 0.02 && seen < 0.5 * zoh, "{seen}, zoh {zoh}");
}

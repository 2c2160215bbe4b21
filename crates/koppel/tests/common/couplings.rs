//! Every coupling method, in the settings that have code of their own.

use koppel::coupling::{
    Against, AntiAliasingConfig, CorrectorConfig, CouplingConfig, ErrorEquationConfig, HinfConfig,
    LearningConfig, LearningKind, NepceConfig, PrestepConfig, RelaxedConfig, Shape, StartUp, VfpsConfig,
};
use koppel::hinf::HoldOrder;
use koppel::identify::{ModelConfig, MoespConfig, RlsConfig};
use std::collections::BTreeMap;

/// Every method; a new one gets a row here. `of` is the input that gets another method where methods are mixed.
pub(crate) fn couplings(of: &str) -> Vec<CouplingConfig> {
    let only_there = |coupling| BTreeMap::from([(of.to_owned(), coupling)]);
    let mixed = only_there(CouplingConfig::foh(StartUp::Constant));
    let derivatives = PrestepConfig { model: ModelConfig::Derivatives, ..PrestepConfig::default() };
    let seldom = PrestepConfig {
        model: ModelConfig::DerivativesEvery(3),
        error_equation: ErrorEquationConfig::Carried,
        error_steps: 5,
        input: Shape::Constant,
        ..derivatives.clone()
    };
    let when_bad = PrestepConfig { model: ModelConfig::DerivativesAbove(1e-3), ..seldom.clone() };
    // Learned at a third of the step, then used at once.
    let learned = PrestepConfig {
        model: ModelConfig::Rls(RlsConfig::default()),
        error_equation: ErrorEquationConfig::Carried,
        learning: Some(LearningConfig {
            kind: LearningKind::SmallStep,
            parts: 3,
            duration: 1e-3,
            ..LearningConfig::default()
        }),
        ..PrestepConfig::default()
    };
    let by_moesp = PrestepConfig {
        model: ModelConfig::Moesp(MoespConfig { order: Some(2), window: 70, rows: Some(3) }),
        learning: Some(LearningConfig { duration: 1e-3, ..LearningConfig::default() }),
        ..learned.clone()
    };
    let learned_corrector = CorrectorConfig {
        model: ModelConfig::Rls(RlsConfig { outputs: 2, inputs: 2, ..RlsConfig::default() }),
        learning: by_moesp.learning,
        error_equation: ErrorEquationConfig::Reset,
        ..CorrectorConfig::default()
    };
    let corrector =
        CorrectorConfig { model: ModelConfig::Derivatives, error_steps: 5, ..CorrectorConfig::default() };
    vec![
        CouplingConfig::from(NepceConfig { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false }),
        CouplingConfig::from(NepceConfig { gain: 0.7, against: Against::Applied, anti_aliasing: true }),
        CouplingConfig::from(corrector),
        CouplingConfig::from(derivatives.clone()),
        CouplingConfig::from(seldom),
        CouplingConfig::from(when_bad),
        CouplingConfig::from(learned),
        CouplingConfig::from(by_moesp),
        CouplingConfig::from(learned_corrector),
        CouplingConfig::Mixed {
            default: Box::new(CouplingConfig::zoh()),
            connections: only_there(CouplingConfig::from(derivatives)),
        },
        CouplingConfig::from(HinfConfig::default()),
        CouplingConfig::from(HinfConfig {
            hold: HoldOrder::Soh,
            weight_order: 3,
            samples: 4,
            pieces: 3,
            ..HinfConfig::default()
        }),
        CouplingConfig::from(VfpsConfig { nodes: 4.into(), ..VfpsConfig::default() }),
        CouplingConfig::Mixed {
            default: Box::new(CouplingConfig::foh(StartUp::Constant)),
            connections: only_there(CouplingConfig::from(VfpsConfig {
                nodes: 3.into(),
                ..VfpsConfig::default()
            })),
        },
        CouplingConfig::zoh(),
        CouplingConfig::foh(StartUp::Constant),
        CouplingConfig::foh(StartUp::Reduced),
        CouplingConfig::soh(StartUp::Constant),
        CouplingConfig::soh(StartUp::Reduced),
        CouplingConfig::from(RelaxedConfig { alpha: 0.4 }),
        CouplingConfig::from(AntiAliasingConfig { order: 0 }),
        CouplingConfig::from(AntiAliasingConfig { order: 1 }),
        CouplingConfig::Mixed { default: Box::new(CouplingConfig::zoh()), connections: mixed },
    ]
}

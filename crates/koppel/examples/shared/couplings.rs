//! Every coupling with its defaults, for tables.

use koppel::coupling::{
    Against, CorrectorConfig, CouplingConfig, HinfConfig, Nodes, PrestepConfig, StartUp, VfpsConfig,
};
use koppel::identify::{ModelConfig, RlsConfig};

/// Names, settings, and the sub-steps of one step: pieces in which inputs are given.
pub(crate) fn couplings() -> Vec<(&'static str, CouplingConfig, usize)> {
    let rls = ModelConfig::Rls(RlsConfig::default());
    let prestep = |model| CouplingConfig::Prestep(PrestepConfig { model, ..PrestepConfig::default() });
    let corrector =
        |model| CouplingConfig::Corrector(CorrectorConfig { model, ..CorrectorConfig::default() });
    let vfps =
        |nodes: usize| CouplingConfig::Vfps(VfpsConfig { nodes: nodes.into(), ..VfpsConfig::default() });
    let hinf = HinfConfig::default();
    let pieces = hinf.pieces;
    vec![
        ("ZOH", CouplingConfig::Zoh {}, 1),
        ("FOH", CouplingConfig::Foh { start: StartUp::Constant }, 1),
        (
            "NEPCE",
            CouplingConfig::Nepce { gain: 1.0, against: Against::Extrapolated, anti_aliasing: false },
            1,
        ),
        ("SOH", CouplingConfig::Soh { start: StartUp::Constant }, 1),
        ("corrector", corrector(ModelConfig::Derivatives), 1),
        ("pre-step, exact", prestep(ModelConfig::Derivatives), 1),
        ("pre-step, RLS", prestep(rls), 1),
        ("H-infinity", CouplingConfig::Hinf(hinf), pieces),
        ("VFPS, 1 node", vfps(1), 1),
        (
            "VFPS, auto nodes",
            CouplingConfig::Vfps(VfpsConfig { nodes: Nodes::Auto, ..VfpsConfig::default() }),
            0,
        ),
        ("VFPS, steps once", CouplingConfig::Vfps(VfpsConfig { trials: 1, ..VfpsConfig::default() }), 10),
        ("VFPS", vfps(10), 10),
    ]
}

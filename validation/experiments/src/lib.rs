//! Experiments behind the figures in `bench` and `docs`, one binary each: `cargo run --release --package koppel-experiments --bin NAME`.
//!
//! | binary            | what it prints                                                                  | where it is kept |
//! | ----------------- | ------------------------------------------------------------------------------- | ---------------- |
//! | `steps`, `fresh`  | largest steps of every coupling, on known and on fresh problems                 | `bench/vfps.md`  |
//! | `reprobing`       | what probing again inside a run could gain at most                              | `bench/vfps.md`  |
//! | `friction_limits` | what limits the step on the mass with LuGre friction                            |                  |
//! | `fmu_steps`       | largest steps of VFPS on FMUs                                                   | `docs/vfps.md`   |
//! | `auto_figures`    | what `auto` chooses, beside a grid of methods and steps                         | `docs/auto.md`   |
//! | `hinf_figures`    | random dual masses, vehicle and steering under the H∞ coupling                  | `bench/hinf.md`  |
//! | `calibration`     | verdicts on runs of random systems, beside the truth                            | `bench/calibration.md` |
//! | `mutations`       | mutated archives, descriptions, structures and packages for the readers         | `bench/proof.md` |
//! | `result_speed`    | rows per second of each result format                                           |                  |
//! | `report`          | a report of a made-up run                                                       |                  |
//!
//! Problems that tests of the product use too stand beside those tests. The library holds what several binaries share.

use koppel::coupling::{
    Against, CorrectorConfig, CouplingConfig, HinfConfig, NepceConfig, Nodes, PrestepConfig, StartUp,
    VfpsConfig,
};
use koppel::identify::{ModelConfig, RlsConfig};

/// Every coupling with its defaults, for tables: names, settings, and the sub-steps of one step: pieces in which inputs are given.
pub fn couplings() -> Vec<(&'static str, CouplingConfig, usize)> {
    let rls = ModelConfig::Rls(RlsConfig::default());
    let prestep = |model| CouplingConfig::from(PrestepConfig { model, ..PrestepConfig::default() });
    let corrector = |model| CouplingConfig::from(CorrectorConfig { model, ..CorrectorConfig::default() });
    let vfps =
        |nodes: usize| CouplingConfig::from(VfpsConfig { nodes: nodes.into(), ..VfpsConfig::default() });
    let hinf = HinfConfig::default();
    let pieces = hinf.pieces;
    vec![
        ("ZOH", CouplingConfig::zoh(), 1),
        ("FOH", CouplingConfig::foh(StartUp::Constant), 1),
        (
            "NEPCE",
            CouplingConfig::from(NepceConfig {
                gain: 1.0,
                against: Against::Extrapolated,
                anti_aliasing: false,
            }),
            1,
        ),
        ("SOH", CouplingConfig::soh(StartUp::Constant), 1),
        ("corrector", corrector(ModelConfig::Derivatives), 1),
        ("pre-step, exact", prestep(ModelConfig::Derivatives), 1),
        ("pre-step, RLS", prestep(rls), 1),
        ("H-infinity", CouplingConfig::from(hinf), pieces),
        ("VFPS, 1 node", vfps(1), 1),
        (
            "VFPS, auto nodes",
            CouplingConfig::from(VfpsConfig { nodes: Nodes::Auto, ..VfpsConfig::default() }),
            0,
        ),
        ("VFPS, steps once", CouplingConfig::from(VfpsConfig { trials: 1, ..VfpsConfig::default() }), 10),
        ("VFPS", vfps(10), 10),
    ]
}

//! Chen et al. 2021.

use super::monte_carlo::{seeds, unstable};
use koppel::coupling::{CouplingConfig, HinfConfig, StartUp};

fn hinf(disc: f64) -> CouplingConfig {
    CouplingConfig::Hinf(HinfConfig { disc: Some(disc), limit: f64::INFINITY, ..HinfConfig::default() })
}

/// 400 of the 10 000 systems of `cargo xtask proof`, against an independent implementation's parts.
#[test]
fn parts_of_random_dual_masses_that_become_unstable() {
    let seeds = seeds(0, 400);
    let start = StartUp::Constant;
    for (coupling, expected) in [
        (CouplingConfig::Zoh {}, 0.216),
        (CouplingConfig::Foh { start }, 0.369),
        (CouplingConfig::Soh { start }, 0.666),
        (hinf(1e-3), 0.167),
        (hinf(5e-3), 0.185),
    ] {
        let (part, deviation) = unstable(&coupling, &seeds);
        println!("{}: {part:.4} ± {deviation:.4}, expected {expected}", coupling.name());
        assert!((part - expected).abs() < 3.0 * deviation, "{coupling:?}: {part} ± {deviation}");
    }
}

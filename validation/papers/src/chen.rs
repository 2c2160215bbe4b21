//! Chen et al. 2021: coupling by H∞ synthesis.

mod masses;
mod signals;
mod steering;

use koppel::coupling::{CouplingConfig, HinfConfig, StartUp};

use crate::paper::Stage;

pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "coupling errors", seconds: [1.0, 1.0], make: signals::exhibits },
    Stage { name: "random dual masses", seconds: [20.0, 3.0], make: masses::tables },
    Stage { name: "four printed dual masses", seconds: [1.0, 0.5], make: masses::figures },
    Stage { name: "vehicle and steering", seconds: [4.0, 2.0], make: steering::exhibits },
];

const START: StartUp = StartUp::Constant;

fn hinf(change: impl FnOnce(&mut HinfConfig)) -> CouplingConfig {
    let mut config = HinfConfig::default();
    change(&mut config);
    CouplingConfig::from(config)
}

/// Names and couplings of the paper's tables, its H∞ method with the general set-up.
fn methods() -> [(&'static str, CouplingConfig); 4] {
    [
        ("ZOH", CouplingConfig::zoh()),
        ("FOH", CouplingConfig::foh(START)),
        ("SOH", CouplingConfig::soh(START)),
        ("H∞", hinf(|_| {})),
    ]
}

//! Quarter truck and the mass on a rough rail.

use super::Case;
use super::oscillators::foh;
use crate::run::RunConfig;
use crate::signal::external::ExternalConfig;
use crate::solver::SolverConfig;

const EXACT: SolverConfig = SolverConfig::Exact {};

/// A kerb of 5 cm, climbed within 50 ms.
const KERB: ExternalConfig = ExternalConfig::Ramp { start: 0.2, stop: 0.25, from: 0.0, to: 0.05 };

/// The chassis returns the force.
pub(super) fn quarter_truck() -> Case {
    Case::new("Quarter truck, the chassis returns the force", RunConfig::new(3.0, 2e-3))
        .part("chassis", "chassis", &[], EXACT)
        .part("wheel", "wheel", &[], EXACT)
        .connect("wheel.z", "chassis.z")
        .connect("wheel.v", "chassis.v")
        .connect("chassis.F", "wheel.F")
        .external("wheel.road", KERB)
}

/// The wheel returns the force.
pub(super) fn quarter_truck_wheel_force() -> Case {
    Case::new("Quarter truck, the wheel returns the force", RunConfig::new(3.0, 5e-3))
        .part("chassis", "chassis-mass", &[], EXACT)
        .part("wheel", "wheel-suspension", &[], EXACT)
        .connect("chassis.z", "wheel.z")
        .connect("chassis.v", "wheel.v")
        .connect("wheel.F", "chassis.F")
        .external("wheel.road", KERB)
}

/// Chen et al. 2021, (18), pulled to and fro.
pub(super) fn lugre_mass() -> Case {
    let command = ExternalConfig::Sine {
        amplitude: 0.05,
        frequency: 1.0,
        phase: 0.0,
        offset: 0.0,
        start: None,
        stop: None,
    };
    let run = RunConfig { coupling: foh(), ..RunConfig::new(3.0, 1e-3) };
    Case::new("Mass on a rough rail, pulled through a spring", run)
        .part("driver", "driver", &[], EXACT)
        .part("mass", "lugre-mass", &[], SolverConfig::default())
        .connect("mass.x", "driver.x")
        .connect("mass.v", "driver.v")
        .connect("driver.F", "mass.F")
        .external("driver.w", command)
}

//! Quarter truck, the mass on a rough rail, and the vehicle with its steering.

use super::Case;
use super::oscillators::foh;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;

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

/// Chen et al. 2021, 4.2, with a single-track vehicle in place of the multibody one: a torque of 2.5 N.m whose
/// frequency grows from 0 to `highest`, in Hz, within 10 s.
pub(super) fn epas(highest: f64) -> Case {
    let torque = ExternalConfig::Sweep {
        amplitude: 2.5,
        from: 0.0,
        to: highest,
        duration: 10.0,
        start: 0.0,
        offset: 0.0,
    };
    let solver = SolverConfig::Rk4 { step: 2.5e-4 };
    let title = if highest > 1.0 {
        "Vehicle and its power-assisted steering, torque to 3 Hz (Chen et al. 2021, 4.2)"
    } else {
        "Vehicle and its power-assisted steering, torque to 1 Hz (Chen et al. 2021, 4.2)"
    };
    Case::new(title, RunConfig::new(10.0, 0.02))
        .part("steering", "epas", &[], solver)
        .part("vehicle", "bicycle", &[], solver)
        .connect("steering.v", "vehicle.v")
        .connect("vehicle.F", "steering.F_r")
        .external("steering.T_s", torque)
}

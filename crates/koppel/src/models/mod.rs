//! Benchmark models by name.
//!
//! A model is a table of ports and parameters and its equations: a [`ModelEntry`]. A [`Block`] is a text of equations. [`build`] turns
//! either into an [`Ode`].

mod blocks;
mod control;
mod entry;
mod friction;
mod helicopter;
mod helicopter_matrices;
mod masses;
mod pendulums;
mod scalar;
mod steering;
mod vehicle;

pub use blocks::{Block, block, blocks};
pub use entry::{Allowed, ModelEntry, Parameter, Port, State};

use crate::error::{Error, Result};
use crate::solver::SolverConfig;
use crate::system::{Ode, OdeModel};
use std::collections::BTreeMap;

static CATALOGUE: &[ModelEntry] = &[
    masses::MASS,
    masses::SPRING_MASS,
    masses::PROGRESSIVE_SPRING_MASS,
    masses::DISPLACEMENT_MASS,
    masses::VELOCITY_SPRING_MASS,
    pendulums::PENDULUM,
    pendulums::OSCILLATOR,
    pendulums::UPPER_PENDULUM,
    pendulums::LOWER_PENDULUM,
    helicopter::HELICOPTER,
    helicopter::CONTROLLER,
    control::PI_CONTROLLER,
    control::PT1,
    vehicle::CHASSIS,
    vehicle::WHEEL,
    vehicle::CHASSIS_MASS,
    vehicle::WHEEL_SUSPENSION,
    scalar::FEEDTHROUGH,
    masses::VAN_DER_POL,
    friction::LUGRE_MASS,
    friction::DRIVER,
    steering::EPAS,
    steering::BICYCLE,
];

/// Every model there is.
pub fn catalogue() -> &'static [ModelEntry] {
    CATALOGUE
}

/// The model of this name.
pub fn entry(name: &str) -> Result<&'static ModelEntry> {
    CATALOGUE
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::Unknown { kind: "model", name: name.into(), known: names() }.into())
}

/// The names of all models and blocks.
pub fn names() -> Vec<String> {
    let entries = CATALOGUE.iter().map(|entry| entry.name);
    entries.chain(blocks().iter().map(|block| block.name)).map(String::from).collect()
}

/// One line about a model or a block.
pub fn description(name: &str) -> Result<&'static str> {
    match block(name) {
        Some(block) => Ok(block.description()),
        None => Ok(entry(name)?.description),
    }
}

/// The equations of a model; parameters that are not given take their defaults.
pub fn build(name: &str, parameters: &BTreeMap<String, f64>) -> Result<Box<dyn Ode>> {
    match block(name) {
        Some(block) => Ok(Box::new(block.build(parameters)?)),
        None => entry(name)?.build(parameters),
    }
}

/// A model with its solver, ready to be wired; parameters that are not given take their defaults.
pub fn subsystem(name: &str, parameters: &[(&str, f64)], solver: &SolverConfig) -> Result<OdeModel> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    OdeModel::new(build(name, &parameters)?, solver)
}

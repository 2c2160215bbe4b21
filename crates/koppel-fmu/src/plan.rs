//! What an exported FMU is, as its resources say: `resources/koppel.toml`.

use crate::error::{Error, Result};
use koppel::models;
use koppel::solver::SolverConfig;
use koppel::system::{Ode, VariableKind};
use koppel_fmi::import::Without;
use koppel_io::system_file::SystemSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the plan lies in the resources.
pub(crate) const FILE: &str = "koppel.toml";
/// Where the system of a container, or the one subsystem, lies.
pub(crate) const SYSTEM: &str = "system.toml";

/// An FMU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// guid or instantiation token.
    pub(crate) token: String,
    pub(crate) abilities: Abilities,
    pub(crate) content: Content,
    /// What FMUs inside declare but failed at when it was tried, by subsystem.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) lacks: BTreeMap<String, Without>,
}

/// What runs inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Content {
    /// One built-in model.
    Model(ModelPlan),
    /// One subsystem, which stands alone in a system file.
    Subsystem {},
    /// A whole system, with its files beside it.
    System {},
}

/// A built-in model with its solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelPlan {
    pub(crate) name: String,
    pub(crate) solver: SolverConfig,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, f64>,
}

/// What the FMU offers beyond the bare minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Abilities {
    /// Its state can be kept and taken back.
    pub(crate) state: bool,
    /// Its state can be written as bytes.
    pub(crate) serialize: bool,
    /// Directional (and, in FMI 3.0, adjoint) derivatives.
    pub(crate) derivatives: bool,
    /// Inputs that move inside a step: derivatives (FMI 2.0), intermediate update (FMI 3.0).
    pub(crate) moving_inputs: bool,
}

impl Abilities {
    pub(crate) const ALL: Abilities =
        Abilities { state: true, serialize: true, derivatives: true, moving_inputs: true };
}

impl ModelPlan {
    /// Its equations and solver.
    pub(crate) fn equations(&self) -> Result<(Box<dyn Ode>, SolverConfig)> {
        Ok((models::build(&self.name, &self.parameters)?, self.solver))
    }
}

/// Equations and solver of the only subsystem of a system file, with its start values.
pub(crate) fn subsystem(spec: &SystemSpec) -> Result<(Box<dyn Ode>, SolverConfig)> {
    let one = spec.subsystems().first().ok_or_else(|| Error::misuse("there is no subsystem"))?;
    let (mut ode, solver) = one.equations().map_err(|marks| spec.mistake(marks))?;
    for (name, value) in spec.run.at.iter().flat_map(|change| &change.set) {
        let own = name.strip_prefix(&one.name).and_then(|name| name.strip_prefix('.')).unwrap_or(name);
        let ports = ode.ports();
        let state = ports.find(VariableKind::Local, own);
        match ports.find(VariableKind::Parameter, own) {
            Some(index) => ode.set_parameter(index, *value)?,
            // Equations know their start values.
            None if state.is_some_and(|index| ports.locals[index].start == *value) => {}
            None => return Err(Error::Start { name: name.clone() }.into()),
        }
    }
    Ok((ode, solver))
}

impl Plan {
    /// Reads the plan in a folder of resources.
    pub(crate) fn read(resources: &Path) -> Result<Plan> {
        let path = resources.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        toml::from_str(&text).map_err(|error| Error::Plan { path, reason: error.to_string() }.into())
    }
}

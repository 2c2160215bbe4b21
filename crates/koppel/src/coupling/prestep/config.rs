//! Settings of the pre-step method as plain data.

use super::Prestep;
use crate::coupling::model_based::{ErrorEquationConfig, ErrorSettings, Goal, OdeMethod};
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::coupling::prestep_discrete::{DiscreteSettings, PrestepDiscrete};
use crate::coupling::{Coupling, Hold};
use crate::error::{Error, Result};
use crate::identify::{GivenModel, Learned, ModelConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of the inputs over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A line that begins at the newest value.
    #[default]
    Linear,
    /// One value.
    Constant,
    /// One value with the mean of the line.
    Energy,
}

/// Where the constant of a model comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConstantConfig {
    /// From the rates of the outputs at each communication point.
    #[default]
    Measured,
    /// Zero, as in the papers: right only for systems that rest at zero.
    None,
}

/// In which units the input optimisation weighs errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// As the numbers stand.
    #[default]
    Si,
    /// Relative to nominal values.
    Nominal,
}

/// Settings of the pre-step method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrestepConfig {
    /// Where models come from.
    pub model: ModelConfig,
    /// The models' constants.
    pub constant: ConstantConfig,
    /// Step 1.
    pub error_equation: ErrorEquationConfig,
    /// Whether step 1 uses intermediate values.
    pub intermediate: bool,
    /// How step 1 is solved.
    pub error_solver: OdeMethod,
    /// Parts of the step in which step 1 is solved.
    pub error_steps: u32,
    /// How step 2 is solved.
    pub extrapolation: OdeMethod,
    /// Parts of the step in which step 2 is solved by Euler.
    pub extrapolation_steps: u32,
    /// Form of the inputs.
    pub input: Shape,
    /// What step 3 aims at.
    pub objective: Goal,
    /// Leaves step 3 out.
    pub modified: bool,
    /// Parts of the trapezoidal rule for the matrices of step 3; 0 is exact.
    pub matrix_steps: u32,
    /// Units of step 3.
    pub weights: Weights,
    /// Phases: learned models need them; for others, when their quality says that they are not to be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearningConfig>,
    /// Learned models to start from, by subsystem.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub learned: BTreeMap<String, Learned>,
    /// Models for `model = "given"`, by subsystem.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, GivenModel>,
}

impl Default for PrestepConfig {
    fn default() -> Self {
        PrestepConfig {
            model: ModelConfig::default(),
            constant: ConstantConfig::default(),
            error_equation: ErrorEquationConfig::default(),
            intermediate: true,
            error_solver: OdeMethod::default(),
            error_steps: 20,
            extrapolation: OdeMethod::default(),
            extrapolation_steps: 100,
            input: Shape::default(),
            objective: Goal::default(),
            modified: false,
            matrix_steps: 0,
            weights: Weights::default(),
            learning: None,
            learned: BTreeMap::new(),
            models: BTreeMap::new(),
        }
    }
}

impl PrestepConfig {
    /// Refuses settings that make no sense.
    pub(in crate::coupling) fn check(&self) -> Result<()> {
        let positive = [
            ("prestep.error_steps", self.error_steps),
            ("prestep.extrapolation_steps", self.extrapolation_steps),
        ];
        if let Some((what, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(bad(what, value, "must be at least 1"));
        }
        let at_end = matches!(self.objective, Goal::End | Goal::Trapezoid);
        if !at_end && self.extrapolation == OdeMethod::Euler {
            return Err(bad(
                "prestep.extrapolation",
                "euler",
                "goes with objective = \"end\" or \"trapezoid\"",
            ));
        }
        if !at_end && self.matrix_steps > 0 {
            let problem = "goes with objective = \"end\" or \"trapezoid\"";
            return Err(bad("prestep.matrix_steps", self.matrix_steps, problem));
        }
        Ok(())
    }

    /// The method in continuous time, or in discrete time on learned models.
    pub(in crate::coupling) fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        let Some(identify) = self.model.identify() else {
            if !self.learned.is_empty() {
                let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
                return Err(bad("prestep", "learned", problem));
            }
            if self.learning.is_some_and(|learning| learning.kind == LearningKind::SmallStep) {
                let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
                return Err(bad("prestep.learning.kind", "small-step", problem));
            }
            return Ok(Box::new(Prestep::new(self)?));
        };
        Ok(Box::new(PrestepDiscrete::new(DiscreteSettings {
            source: self.model,
            identify,
            learning: self.learning.unwrap_or_default(),
            error_equation: self.error_equation,
            intermediate: self.intermediate,
            modified: self.modified,
            learned: self.learned.clone(),
            hold,
        })?))
    }

    pub(super) fn error_settings(&self) -> ErrorSettings {
        ErrorSettings {
            kind: self.error_equation,
            solver: self.error_solver,
            steps: self.error_steps,
            intermediate: self.intermediate,
        }
    }
}

fn bad(what: &str, value: impl ToString, problem: &str) -> Box<Error> {
    Error::Setting { what: what.into(), value: value.to_string(), problem: problem.into() }.into()
}

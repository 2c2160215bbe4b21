//! Settings of the pre-step method as plain data.

use super::Prestep;
use crate::coupling::method::{Method, MethodInfo, ModelSettings, Search, SettingInfo};
use crate::coupling::model_based::{ErrorEquationConfig, ErrorSettings, Goal, OdeMethod};
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::coupling::prestep_discrete::{DiscreteSettings, PrestepDiscrete};
use crate::coupling::{Coupling, CouplingConfig, Hold};
use crate::error::{Result, bad};
use crate::identify::{GivenModel, IdentifyConfig, Learned, ModelConfig};
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

/// The method, as it is listed.
pub(in crate::coupling) static PRESTEP: MethodInfo = MethodInfo {
    settings: &[
        SettingInfo::new("model", "where models come from", "\"exact\""),
        SettingInfo::new(
            "constant",
            "the models' constants: `measured` at each communication point, or `none`",
            "\"measured\"",
        ),
        SettingInfo {
            name: "error_equation",
            line: "step 1: `off`, `carried` from step to step, or `reset`",
            default: "\"off\"",
            search: Some(Search { values: "\"off\", \"carried\"", count: 2, coarse: (0, 1) }),
        },
        SettingInfo::new("intermediate", "whether step 1 uses intermediate values", "true"),
        SettingInfo::new("error_solver", "how step 1 is solved: `exact` or `euler`", "\"exact\""),
        SettingInfo::new("error_steps", "parts of the step in which step 1 is solved", "20"),
        SettingInfo::new("extrapolation", "how step 2 is solved: `exact` or `euler`", "\"exact\""),
        SettingInfo::new(
            "extrapolation_steps",
            "parts of the step in which step 2 is solved by Euler",
            "100",
        ),
        SettingInfo::new("input", "form of the inputs: `linear`, `constant` or `energy`", "\"linear\""),
        SettingInfo::new(
            "objective",
            "what step 3 aims at: `end`, `midpoint`, `trapezoid` or `integral`",
            "\"end\"",
        ),
        SettingInfo::new("modified", "leaves step 3 out", "false"),
        SettingInfo::new(
            "matrix_steps",
            "parts of the trapezoidal rule for the matrices of step 3; 0 is exact",
            "0",
        ),
        SettingInfo::new("weights", "units of step 3: `si`, or `nominal` values", "\"si\""),
        SettingInfo::new("learning", "phases of learned models", ""),
        SettingInfo::new("learned", "learned models to start from, by subsystem", ""),
        SettingInfo::new("models", "models for `model = \"given\"`, by subsystem", ""),
    ],
    order: "2",
    changes_step: Some("with known models"),
    rank: 40,
    candidates: || vec![PrestepConfig::default().into(), PrestepConfig::default().carried().into()],
    ..MethodInfo::new::<PrestepConfig>(
        "prestep",
        "model-based pre-step: inputs that lead each subsystem to the predicted coupled outputs",
    )
};

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
        self.learning.map_or(Ok(()), |learning| learning.check())
    }

    /// Refuses settings that mean nothing to learned models, which are difference equations.
    fn check_learned(&self) -> Result<()> {
        let unlike = |is: bool, what: &str, value: &str, problem: &str| {
            if is { Err(bad(&format!("prestep.{what}"), value, problem)) } else { Ok(()) }
        };
        let no_equation =
            "goes with models that are not learned: of difference equations nothing is integrated";
        unlike(self.extrapolation == OdeMethod::Euler, "extrapolation", "euler", no_equation)?;
        unlike(self.error_solver == OdeMethod::Euler, "error_solver", "euler", no_equation)?;
        unlike(self.matrix_steps > 0, "matrix_steps", &self.matrix_steps.to_string(), no_equation)?;
        let no_inside =
            "goes with models that are not learned: learned ones know outputs at communication points only";
        unlike(self.objective == Goal::Midpoint, "objective", "midpoint", no_inside)?;
        unlike(self.objective == Goal::Integral, "objective", "integral", no_inside)?;
        let no_mean =
            "goes with models that are not learned; use \"constant\", or \"linear\" for what `hold` says";
        unlike(self.input == Shape::Energy, "input", "energy", no_mean)?;
        let own = "goes with models that are not learned: learned ones have a constant of their own";
        unlike(self.constant == ConstantConfig::None, "constant", "none", own)?;
        unlike(self.error_steps == 0, "error_steps", "0", "must be at least 1")
    }

    fn discrete(&self, identify: IdentifyConfig, hold: Hold) -> DiscreteSettings {
        DiscreteSettings {
            source: self.model,
            identify,
            learning: self.learning.unwrap_or_default(),
            error_equation: self.error_equation,
            intermediate: self.intermediate,
            nominal: self.weights == Weights::Nominal,
            modified: self.modified,
            only_distance: false,
            learned: self.learned.clone(),
            hold: if self.input == Shape::Constant { Hold::Constant } else { hold },
        }
    }

    /// The same with an error equation that goes on from step to step.
    fn carried(&self) -> Self {
        PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..self.clone() }
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

impl Method for PrestepConfig {
    fn info(&self) -> &'static MethodInfo {
        &PRESTEP
    }

    /// In continuous time on known models, in discrete time on learned ones.
    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        self.model.check()?;
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
        self.check_learned()?;
        Ok(Box::new(PrestepDiscrete::new(self.discrete(identify, hold))?))
    }

    /// On learned models it gives one value per step.
    fn takes_hold(&self) -> bool {
        self.model.identify().is_some()
    }

    fn gives_slopes(&self, _hold: Hold) -> bool {
        true
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        self.model.refuse_learning(PRESTEP.name)?;
        Ok(Some(PrestepConfig { learning: None, ..self.clone() }.into()))
    }

    fn for_nonlinear(&self) -> Option<CouplingConfig> {
        Some(PrestepConfig { model: ModelConfig::Derivatives, ..self.clone() }.into())
    }

    fn at_level(&self, level: usize) -> Option<CouplingConfig> {
        let off = PrestepConfig { error_equation: ErrorEquationConfig::Off, ..self.clone() };
        Some(if level == 0 { off } else { self.carried() }.into())
    }

    fn words(&self) -> String {
        match self.error_equation {
            ErrorEquationConfig::Off => PRESTEP.name.into(),
            ErrorEquationConfig::Carried | ErrorEquationConfig::Reset => "prestep with error equation".into(),
        }
    }

    fn models(&self) -> Option<ModelSettings<'_>> {
        let PrestepConfig { model, constant, learning, learned, models, .. } = self;
        Some(ModelSettings { model: *model, constant: Some(*constant), learning: *learning, learned, models })
    }
}

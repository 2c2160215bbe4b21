//! Settings of the pre-step method as plain data.

use super::Prestep;
use super::learned::LearnedPrestep;
use crate::coupling::learned_models::LearnedSettings;
use crate::coupling::method::{Method, MethodInfo, ModelSettings, Search, SettingInfo};
use crate::coupling::model_based::{ErrorEquationConfig, ErrorSettings};
use crate::coupling::phase::{LearningConfig, LearningKind};
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
        SettingInfo::new("model", "source of the models", "\"exact\""),
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
        SettingInfo::new("error_steps", "parts of the step in which step 1 is solved", "20"),
        SettingInfo::new("input", "form of the inputs: `linear` or `constant`", "\"linear\""),
        SettingInfo::new("modified", "leaves step 3 out", "false"),
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
    /// Parts of the step in which step 1 is solved.
    pub error_steps: u32,
    /// Form of the inputs.
    pub input: Shape,
    /// Leaves step 3 out.
    pub modified: bool,
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
            error_steps: 20,
            input: Shape::default(),
            modified: false,
            weights: Weights::default(),
            learning: None,
            learned: BTreeMap::new(),
            models: BTreeMap::new(),
        }
    }
}

impl PrestepConfig {
    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        if self.error_steps == 0 {
            return Err(bad("prestep.error_steps", 0, "must be at least 1"));
        }
        self.learning.map_or(Ok(()), |learning| learning.check())
    }

    fn learned_settings(&self, identify: IdentifyConfig, hold: Hold) -> LearnedSettings {
        LearnedSettings {
            source: self.model,
            identify,
            learning: self.learning.unwrap_or_default(),
            error_equation: self.error_equation,
            intermediate: self.intermediate,
            modified: self.modified,
            learned: self.learned.clone(),
            hold: if self.input == Shape::Constant { Hold::Constant } else { hold },
        }
    }

    /// The same with an error equation that goes on from step to step.
    fn carried(&self) -> Self {
        PrestepConfig { error_equation: ErrorEquationConfig::Carried, ..self.clone() }
    }

    pub(super) fn error_settings(&self) -> ErrorSettings {
        ErrorSettings { kind: self.error_equation, steps: self.error_steps, intermediate: self.intermediate }
    }
}

impl Method for PrestepConfig {
    fn info(&self) -> &'static MethodInfo {
        &PRESTEP
    }

    /// In continuous time on known models, in discrete time on learned ones.
    fn build(&self, hold: Hold) -> Result<Box<dyn Coupling>> {
        self.model.check()?;
        self.check()?;
        let Some(identify) = self.model.identify() else {
            if !self.learned.is_empty() {
                let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
                return Err(bad("prestep", "learned", problem));
            }
            if self.learning.is_some_and(|learning| learning.kind == LearningKind::SmallStep) {
                let problem = "goes with a model that is learned: model = { identify = \"rls\" }";
                return Err(bad("prestep.learning.kind", "small-step", problem));
            }
            return Ok(Box::new(Prestep::new(self)));
        };
        if self.constant == ConstantConfig::None {
            let problem = "goes with models that are not learned: learned ones have a constant of their own";
            return Err(bad("prestep.constant", "none", problem));
        }
        let settings = self.learned_settings(identify, hold);
        Ok(Box::new(LearnedPrestep::new(settings, self.weights == Weights::Nominal)?))
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

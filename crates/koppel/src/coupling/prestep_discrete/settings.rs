//! What the discrete pre-step method is built from.

use crate::coupling::model_based::ErrorEquationConfig;
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::coupling::{Hold, ModelNeeds};
use crate::error::{Result, bad};
use crate::identify::{GivenModel, IdentifyConfig, Learned, ModelConfig, RlsConfig};
use std::collections::BTreeMap;

/// What the method is built from.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct DiscreteSettings {
    /// Where models come from, for the review.
    pub(in crate::coupling) source: ModelConfig,
    /// How they are learned, unless they are known.
    pub(in crate::coupling) identify: Option<IdentifyConfig>,
    /// Whether thresholds and phases were asked for.
    pub(in crate::coupling) has_phases: bool,
    pub(in crate::coupling) learning: LearningConfig,
    pub(in crate::coupling) error_equation: ErrorEquationConfig,
    pub(in crate::coupling) intermediate: bool,
    /// Parts of the step in which step 1 is solved; with none, once a step.
    pub(in crate::coupling) parts: Option<u32>,
    /// Weighs step 3 by nominal values.
    pub(in crate::coupling) nominal: bool,
    /// Models of known equations in place of learned ones.
    pub(in crate::coupling) known: Option<ModelNeeds>,
    pub(in crate::coupling) modified: bool,
    /// Only δ is wanted: step 3 is never taken, and no phase is named after that.
    pub(in crate::coupling) only_distance: bool,
    /// Models of an earlier run, by subsystem.
    pub(in crate::coupling) learned: BTreeMap<String, Learned>,
    /// Models that came with the settings, by subsystem.
    pub(in crate::coupling) models: BTreeMap<String, GivenModel>,
    pub(in crate::coupling) hold: Hold,
}

/// Refuses settings that make no sense.
pub(super) fn check(settings: &DiscreteSettings) -> Result<()> {
    settings.identify.map_or(Ok(()), |identify| identify.check())?;
    settings.learned.iter().try_for_each(|(name, learned)| learned.check(name))?;
    let learning = &settings.learning;
    learning.check()?;
    let is_first_order = matches!(
        settings.identify,
        None | Some(IdentifyConfig::Rls(RlsConfig { outputs: 1, inputs: 1, .. }))
    );
    if settings.parts.is_some() && !is_first_order {
        let problem = "needs N = 1 and M = 1: only those are carried to parts";
        return Err(bad("prestep.recursion", true, problem));
    }
    match settings.identify.and_then(|identify| identify.bound_to_its_step()) {
        Some(reason) if learning.kind == LearningKind::SmallStep => {
            Err(bad("learning.kind", "small-step", reason))
        }
        _ => Ok(()),
    }
}

//! What the discrete pre-step method is built from.

use crate::coupling::Hold;
use crate::coupling::model_based::ErrorEquationConfig;
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::error::{Result, bad};
use crate::identify::{IdentifyConfig, Learned, ModelConfig};
use std::collections::BTreeMap;

/// What the method is built from.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct DiscreteSettings {
    /// Where models come from, for the review.
    pub(in crate::coupling) source: ModelConfig,
    /// How they are learned.
    pub(in crate::coupling) identify: IdentifyConfig,
    pub(in crate::coupling) learning: LearningConfig,
    pub(in crate::coupling) error_equation: ErrorEquationConfig,
    pub(in crate::coupling) intermediate: bool,
    /// Weighs step 3 by nominal values.
    pub(in crate::coupling) nominal: bool,
    pub(in crate::coupling) modified: bool,
    /// Only δ is wanted: step 3 is never taken, and no phase is named after that.
    pub(in crate::coupling) only_distance: bool,
    /// Models of an earlier run, by subsystem.
    pub(in crate::coupling) learned: BTreeMap<String, Learned>,
    pub(in crate::coupling) hold: Hold,
}

/// Refuses settings that make no sense.
pub(super) fn check(settings: &DiscreteSettings) -> Result<()> {
    settings.identify.check()?;
    settings.learned.iter().try_for_each(|(name, learned)| learned.check(name))?;
    let learning = &settings.learning;
    learning.check()?;
    match settings.identify.bound_to_its_step() {
        Some(reason) if learning.kind == LearningKind::SmallStep => {
            Err(bad("learning.kind", "small-step", reason))
        }
        _ => Ok(()),
    }
}

//! What the discrete pre-step method is built from.

use crate::coupling::Hold;
use crate::coupling::model_based::ErrorEquationConfig;
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::error::{Error, Result};
use crate::identify::{IdentifyConfig, Learned, ModelConfig};
use std::collections::BTreeMap;

/// What the method is built from.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct DiscreteSettings {
    /// Where models come from, for the review.
    pub(in crate::coupling) source: ModelConfig,
    pub(in crate::coupling) identify: IdentifyConfig,
    pub(in crate::coupling) learning: LearningConfig,
    pub(in crate::coupling) error_equation: ErrorEquationConfig,
    pub(in crate::coupling) intermediate: bool,
    pub(in crate::coupling) modified: bool,
    /// Models of an earlier run, by subsystem.
    pub(in crate::coupling) learned: BTreeMap<String, Learned>,
    pub(in crate::coupling) hold: Hold,
}

/// Refuses settings that make no sense.
pub(super) fn check(settings: &DiscreteSettings) -> Result<()> {
    let bad = |what: &str, value: String, problem: &str| -> Result<()> {
        Err(Error::Setting { what: what.into(), value, problem: problem.into() }.into())
    };
    settings.identify.check()?;
    let learning = &settings.learning;
    for (what, value) in [("learning.duration", learning.duration), ("learning.switch", learning.switch)] {
        if !(value >= 0.0 && value.is_finite()) {
            return bad(what, value.to_string(), "must be 0 or more");
        }
    }
    if learning.parts == 0 {
        return bad("learning.parts", "0".into(), "must be at least 1");
    }
    match settings.identify.bound_to_its_step() {
        Some(reason) if learning.kind == LearningKind::SmallStep => {
            bad("learning.kind", "small-step".into(), reason)
        }
        _ => Ok(()),
    }
}

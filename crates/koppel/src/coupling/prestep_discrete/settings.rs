//! What the discrete pre-step method is built from.

use crate::coupling::model_based::ErrorEquationConfig;
use crate::coupling::phase::{LearningConfig, LearningKind};
use crate::coupling::{Hold, ModelNeeds};
use crate::error::{Error, Result};
use crate::identify::{Learned, RlsConfig};
use std::collections::BTreeMap;

/// What the method is built from.
#[derive(Clone, Debug)]
pub(in crate::coupling) struct DiscreteSettings {
    pub(in crate::coupling) rls: RlsConfig,
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
    /// Models of an earlier run, by subsystem.
    pub(in crate::coupling) learned: BTreeMap<String, Learned>,
    pub(in crate::coupling) hold: Hold,
}

/// Refuses settings that make no sense.
pub(super) fn check(settings: &DiscreteSettings) -> Result<()> {
    let bad = |what: &str, value: String, problem: &str| -> Result<()> {
        Err(Error::Setting { what: what.into(), value, problem: problem.into() }.into())
    };
    let RlsConfig { outputs, inputs, forgetting, covariance } = settings.rls;
    if inputs == 0 {
        return bad("model.M", inputs.to_string(), "must be at least 1");
    }
    if !(forgetting > 0.0 && forgetting <= 1.0) {
        return bad("model.forgetting", forgetting.to_string(), "must lie in (0, 1]");
    }
    if !(covariance > 0.0 && covariance.is_finite()) {
        return bad("model.covariance", covariance.to_string(), "must be positive");
    }
    let learning = &settings.learning;
    for (what, value) in [("learning.duration", learning.duration), ("learning.switch", learning.switch)] {
        if !(value >= 0.0 && value.is_finite()) {
            return bad(what, value.to_string(), "must be 0 or more");
        }
    }
    if learning.parts == 0 {
        return bad("learning.parts", "0".into(), "must be at least 1");
    }
    let is_first_order = (outputs, inputs) == (1, 1);
    if settings.parts.is_some() && settings.known.is_none() && !is_first_order {
        return bad("prestep.recursion", "true".into(), "needs N = 1 and M = 1: only those are rescaled");
    }
    let is_rescaled = learning.kind == LearningKind::SmallStep;
    if is_rescaled && !is_first_order {
        return bad("learning.kind", "small-step".into(), "needs N = 1 and M = 1: only those are rescaled");
    }
    Ok(())
}

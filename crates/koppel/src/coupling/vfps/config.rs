//! Settings of VFPS as plain data.

use super::Vfps;
use super::nodes::Nodes;
use crate::coupling::phase::LearningConfig;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most parts of a step.
const MOST_NODES: usize = 1000;

/// Settings of VFPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VfpsConfig {
    /// Equal parts of a step between which inputs are linear.
    pub nodes: Nodes,
    /// Subsystems that are not excited before the run: what they do is learned while it goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spare: Vec<String>,
    /// How often a step is taken at most, where every subsystem can go back to its begin; 1 is once.
    pub trials: usize,
    /// Quality figure from which plain extrapolation need not be clearly better than the coupled prediction to be used.
    pub modified_above: f64,
    /// Quality figure from which inputs are extrapolated.
    pub hold_above: f64,
}

impl Default for VfpsConfig {
    fn default() -> Self {
        VfpsConfig {
            nodes: Nodes::Fixed(10),
            spare: Vec::new(),
            trials: 8,
            modified_above: 0.08,
            hold_above: 0.4,
        }
    }
}

impl VfpsConfig {
    /// The thresholds, as other methods have them.
    pub(super) fn thresholds(&self) -> LearningConfig {
        LearningConfig {
            modified_above: self.modified_above,
            hold_above: self.hold_above,
            ..LearningConfig::default()
        }
    }

    pub(in crate::coupling) fn build(&self) -> Result<Box<Vfps>> {
        let nodes = self.nodes.at_first();
        if !(1..=MOST_NODES).contains(&nodes) {
            return Err(Error::Setting {
                what: "vfps.nodes".into(),
                value: nodes.to_string(),
                problem: format!("must lie between 1 and {MOST_NODES}"),
            }
            .into());
        }
        self.thresholds().check()?;
        Ok(Box::new(Vfps::new(self.clone())))
    }
}

//! Settings of VFPS as plain data.

use super::Vfps;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most parts of a step.
const MOST_NODES: usize = 1000;

/// Settings of VFPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VfpsConfig {
    /// Equal parts of a step between which inputs are linear.
    pub nodes: usize,
    /// Subsystems that are not excited before the run: what they do is learned while it goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spare: Vec<String>,
}

impl Default for VfpsConfig {
    fn default() -> Self {
        VfpsConfig { nodes: 10, spare: Vec::new() }
    }
}

impl VfpsConfig {
    pub(in crate::coupling) fn build(&self) -> Result<Box<Vfps>> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(Error::Setting {
                what: "vfps.nodes".into(),
                value: self.nodes.to_string(),
                problem: format!("must lie between 1 and {MOST_NODES}"),
            }
            .into());
        }
        Ok(Box::new(Vfps::new(self.clone())))
    }
}

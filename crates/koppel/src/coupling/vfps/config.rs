//! Settings of VFPS as plain data.

use super::Vfps;
use super::nodes::Nodes;
use crate::coupling::method::{Method, MethodInfo, Preparation, SettingInfo};
use crate::coupling::phase::LearningConfig;
use crate::coupling::{Coupling, CouplingConfig, Hold};
use crate::error::{Result, bad};
use serde::{Deserialize, Serialize};

/// Most parts of a step.
const MOST_NODES: usize = 1000;

/// The method, as it is listed.
pub(in crate::coupling) static VFPS: MethodInfo = MethodInfo {
    page: Some("vfps.md"),
    settings: &[
        SettingInfo::new("nodes", "equal parts of a step between which inputs are linear, or \"auto\"", "10"),
        SettingInfo::new("spare", "subsystems that are not probed before the run", ""),
        SettingInfo::new(
            "trials",
            "maximum number of trials per step, if every subsystem can roll back",
            "8",
        ),
        SettingInfo::new(
            "modified_above",
            "quality figure above which extrapolation may replace the prediction without being clearly better",
            "0.08",
        ),
        SettingInfo::new("hold_above", "quality figure above which inputs are extrapolated", "0.4"),
    ],
    order: "2",
    preparation: Preparation::Excitation,
    rank: 70,
    is_dense: true,
    ..MethodInfo::new::<VfpsConfig>(
        "vfps",
        "velocity-form pre-step: predicts the coupled system with models from probing every subsystem before the run",
    )
};

/// Settings of VFPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VfpsConfig {
    /// Equal parts of a step between which inputs are linear.
    pub nodes: Nodes,
    /// Subsystems that are not excited before the run: what they do is learned while it goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spare: Vec<String>,
    /// How often a step is taken at most, where every subsystem can roll back to its start; 1 is once.
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
}

impl Method for VfpsConfig {
    fn info(&self) -> &'static MethodInfo {
        &VFPS
    }

    fn build(&self, _hold: Hold) -> Result<Box<dyn Coupling>> {
        let nodes = self.nodes.at_first();
        if !(1..=MOST_NODES).contains(&nodes) {
            return Err(bad("vfps.nodes", nodes, &format!("must lie between 1 and {MOST_NODES}")));
        }
        self.thresholds().check()?;
        Ok(Box::new(Vfps::new(self.clone())))
    }

    fn linear(&self) -> std::result::Result<Option<CouplingConfig>, String> {
        Err("`vfps` uses models of probed subsystems and adapts them during the run".into())
    }

    fn nodes(&self) -> Option<Nodes> {
        Some(self.nodes)
    }

    fn sparing(&self, subsystem: &str) -> Option<CouplingConfig> {
        let is_known = self.spare.iter().any(|known| known == subsystem);
        (!is_known).then(|| {
            let mut spare = self.spare.clone();
            spare.push(subsystem.to_owned());
            VfpsConfig { spare, ..self.clone() }.into()
        })
    }
}

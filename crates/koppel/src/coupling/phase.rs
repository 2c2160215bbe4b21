//! When a learned model is trusted.
//!
//!   learning -> switch -> full while ε < `modified_above`, modified while ε < `hold_above`, signal-based above
//!
//! ε is the models' quality (2.93). During the switch the inputs are a blend of both methods,
//!
//!   f = (tanh(-5 + 10 (t - t_s) / T_s) + 1) / 2
//!
//! | symbol   | meaning                       |
//! | t_s, T_s | begin and length of the switch |
//!
//! Genser 2020, 2.4.2 to 2.4.4.

use serde::{Deserialize, Serialize};

/// What is done while the models are being learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearningKind {
    /// Signal-based coupling at the run's step: right only where that is stable.
    #[default]
    Hold,
    /// Signal-based coupling at a fraction of the step; the models are then rescaled.
    SmallStep,
}

/// The signal-based coupling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalBased {
    /// The newest value.
    #[default]
    Zoh,
    /// The line through the newest two, at the end of the step.
    Foh,
}

/// Phases of a run with learned models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearningConfig {
    /// How the learning phase is coupled.
    pub kind: LearningKind,
    /// The signal-based coupling.
    pub signal_based: SignalBased,
    /// Length of the learning phase, s.
    pub duration: f64,
    /// Length of the switch, s.
    pub switch: f64,
    /// Parts of a step while learning with small steps.
    pub parts: u32,
    /// Quality above which step 3 is left out.
    pub modified_above: f64,
    /// Quality above which the coupling is signal-based.
    pub hold_above: f64,
}

impl Default for LearningConfig {
    fn default() -> Self {
        LearningConfig {
            kind: LearningKind::default(),
            signal_based: SignalBased::default(),
            duration: 0.0,
            switch: 0.0,
            parts: 10,
            modified_above: 0.21,
            hold_above: 3.54,
        }
    }
}

/// How the inputs of one step are found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Phase {
    /// Share of the model-based method: 0 while learning, 1 after the switch.
    pub(super) share: f64,
    /// Whether step 3 is left out.
    pub(super) is_modified: bool,
}

impl LearningConfig {
    /// The phase at `time` after the start, with models of this quality.
    pub(super) fn phase(&self, time: f64, quality: f64) -> Phase {
        // Times are sums of steps: one that is meant to be the end of a phase may be off by round-off.
        let since = time - self.duration * (1.0 - 1e-9);
        if since < 0.0 || quality.is_nan() || quality >= self.hold_above {
            return Phase { share: 0.0, is_modified: false };
        }
        let share =
            if since < self.switch { 0.5 * ((-5.0 + 10.0 * since / self.switch).tanh() + 1.0) } else { 1.0 };
        Phase { share, is_modified: quality >= self.modified_above }
    }
}

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
//! Genser 2020, 2.4.2 to 2.4.4. Without thresholds of its own a method uses none: its models are always trusted.

use crate::error::{Result, bad};
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

/// What a step was: numbers of the column `coupling.phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// 0: signal-based, because the models are still being learned.
    #[default]
    Learning,
    /// 1: a blend of both.
    Switch,
    /// 2: the whole method.
    Full,
    /// 3: without step 3.
    Modified,
    /// 4: signal-based, because the models are not trusted.
    Hold,
}

impl PhaseKind {
    /// All of them; the place is the number.
    pub const ALL: [Self; 5] =
        [PhaseKind::Learning, PhaseKind::Switch, PhaseKind::Full, PhaseKind::Modified, PhaseKind::Hold];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["learning", "switch", "full", "modified", "hold"][self as usize]
    }
}

/// How the inputs of one step are found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Phase {
    /// Share of the model-based method: 0 while learning, 1 after the switch.
    pub(super) share: f64,
    /// Whether step 3 is left out.
    pub(super) is_modified: bool,
    /// What it is called.
    pub(super) kind: PhaseKind,
}

impl Phase {
    /// The whole method.
    pub(super) const FULL: Self = Phase { share: 1.0, is_modified: false, kind: PhaseKind::Full };

    /// Leaves step 3 out.
    pub(super) fn modify(&mut self) {
        self.is_modified = true;
        if self.kind == PhaseKind::Full {
            self.kind = PhaseKind::Modified;
        }
    }

    /// For a method that has no step 3: nothing is left out of it.
    pub(super) fn ignore_step_three(&mut self) {
        self.is_modified = false;
        if self.kind == PhaseKind::Modified {
            self.kind = PhaseKind::Full;
        }
    }

    /// Puts the models aside for this step.
    pub(super) fn give_up(&mut self) {
        self.share = 0.0;
        self.kind = PhaseKind::Hold;
    }
}

/// Most parts of a step while learning.
const MOST_PARTS: u32 = 100_000;

impl LearningConfig {
    /// Refuses settings that make no sense.
    pub(super) fn check(&self) -> Result<()> {
        for (what, value) in [("learning.duration", self.duration), ("learning.switch", self.switch)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(bad(what, value, "must be 0 or more"));
            }
        }
        let limits =
            [("learning.modified_above", self.modified_above), ("learning.hold_above", self.hold_above)];
        if let Some((what, value)) = limits.into_iter().find(|(_, value)| value.is_nan() || *value < 0.0) {
            return Err(bad(what, value, "must be 0 or more"));
        }
        if !(1..=MOST_PARTS).contains(&self.parts) {
            return Err(bad("learning.parts", self.parts, &format!("must lie between 1 and {MOST_PARTS}")));
        }
        Ok(())
    }

    /// The phase at `time` after the start, with models of this quality.
    pub(super) fn phase(&self, time: f64, quality: f64) -> Phase {
        // Times are sums of steps: one that is meant to be the end of a phase may be off by round-off.
        let since = time - self.duration * (1.0 - 1e-9);
        if since < 0.0 {
            return Phase::default();
        }
        let kind = self.verdict(quality);
        if kind == PhaseKind::Hold {
            return Phase { share: 0.0, is_modified: false, kind };
        }
        let is_modified = kind == PhaseKind::Modified;
        if since < self.switch {
            let share = 0.5 * ((-5.0 + 10.0 * since / self.switch).tanh() + 1.0);
            return Phase { share, is_modified, kind: PhaseKind::Switch };
        }
        Phase { share: 1.0, is_modified, kind }
    }

    /// What models of this quality are good for; none is NaN.
    pub fn verdict(&self, quality: f64) -> PhaseKind {
        if quality.is_nan() || quality >= self.hold_above {
            PhaseKind::Hold
        } else if quality >= self.modified_above {
            PhaseKind::Modified
        } else {
            PhaseKind::Full
        }
    }
}

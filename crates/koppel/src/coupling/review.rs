//! What a run has shown of the models behind a method: how well each predicted, and what was done about it.

use super::View;
use super::channel::norm;
use super::phase::{LearningConfig, PhaseKind};
use crate::identify::ModelConfig;
use serde::{Deserialize, Serialize};

/// What is known of one subsystem's model at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReview {
    /// Name of the subsystem.
    pub subsystem: String,
    /// States behind the outputs, if there are more of them: then an exact model is a surrogate.
    pub hidden_states: Option<usize>,
    /// Largest error of a prediction relative to the range of the outputs (Genser 2020, (2.92)); NaN if there was none.
    pub worst: f64,
    /// When that was.
    pub time: f64,
    /// Mean of it, each step counted as 1 at most.
    pub mean: f64,
    /// What a model of the mean quality is good for, by the thresholds: the worst comes from the first movement, when ranges are
    /// still small. Nothing if no step was predicted.
    pub verdict: Option<PhaseKind>,
    /// How often its matrices were taken, or given; a learned model is never taken.
    pub taken: u64,
    /// Outputs whose data cannot tell the parameters apart (2.3.3), with the figure.
    pub not_excited: Vec<(String, f64)>,
}

/// What a run has shown of the models of its coupling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Where the models come from.
    pub source: String,
    /// Steps in each phase, by the numbers of [`PhaseKind`]; nothing if the method has no phases.
    pub phases: Option<[u64; 5]>,
    /// Thresholds that were applied: without step 3 from the first, signal-based from the second.
    pub thresholds: Option<(f64, f64)>,
    /// Whether step 3 was left out by a setting.
    pub is_modified: bool,
    /// Worst quality of all together (2.93).
    pub worst: f64,
    /// Sub-steps taken by all subsystems while they were excited before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probing: Option<u64>,
    /// By subsystem, in the order in which they move.
    pub models: Vec<ModelReview>,
}

impl Review {
    /// True if the models were learned during the run.
    pub fn is_learned(&self) -> bool {
        ["rls", "moesp"].contains(&self.source.as_str())
    }
}

/// Notes of a run; no part of its state.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    worst: Vec<f64>,
    when: Vec<f64>,
    sum: Vec<f64>,
    count: Vec<u64>,
    worst_of_all: f64,
    phases: [u64; 5],
    /// When something was noted last.
    last: f64,
}

impl Notes {
    pub(super) fn new(subsystems: usize) -> Self {
        Notes {
            worst: vec![f64::NAN; subsystems],
            when: vec![f64::NAN; subsystems],
            sum: vec![0.0; subsystems],
            count: vec![0; subsystems],
            worst_of_all: f64::NAN,
            phases: [0; 5],
            last: f64::NAN,
        }
    }

    /// Notes the step that has ended and the phase of the one ahead. While models are being learned their quality says
    /// nothing of what they are good for later.
    pub(super) fn note(&mut self, time: f64, quality: &[f64], phase: PhaseKind) {
        // A step that was taken back and begins again has been noted.
        if std::mem::replace(&mut self.last, time) == time {
            return;
        }
        self.phases[phase as usize] += 1;
        if phase == PhaseKind::Learning {
            return;
        }
        for (id, figure) in quality.iter().enumerate().filter(|(_, figure)| !figure.is_nan()) {
            // The first movement is measured against a range that has hardly begun.
            self.sum[id] += figure.min(1.0);
            self.count[id] += 1;
            if self.worst[id].is_nan() || self.worst[id] < *figure {
                self.worst[id] = *figure;
                self.when[id] = time;
            }
        }
        self.worst_of_all = self.worst_of_all.max(norm(quality));
    }

    /// The review of the run so far.
    pub(super) fn review(
        &self,
        view: &View<'_>,
        source: ModelConfig,
        learning: Option<LearningConfig>,
    ) -> Review {
        let thresholds = learning.unwrap_or_default();
        let mean = |id: usize| self.sum[id] / self.count[id] as f64;
        let model = |id: usize| ModelReview {
            subsystem: view.graph.name(id).into(),
            hidden_states: view.models.hidden_states(id),
            worst: self.worst[id],
            time: self.when[id],
            mean: mean(id),
            verdict: (self.count[id] > 0).then(|| thresholds.verdict(mean(id))),
            taken: view.models.taken(id),
            not_excited: Vec::new(),
        };
        Review {
            source: source.name().into(),
            phases: learning.map(|_| self.phases),
            thresholds: learning.map(|learning| (learning.modified_above, learning.hold_above)),
            is_modified: false,
            worst: self.worst_of_all,
            probing: None,
            models: (0..self.worst.len()).map(model).collect(),
        }
    }
}

//! What the run has shown of the models behind its coupling.

use koppel::coupling::{ModelReview, PhaseKind, Review};

use super::super::{Grid, significant};
use super::Summary;

impl Summary {
    /// Facts about models: where they come from, phases, what they lack.
    pub(super) fn model_facts(&self) -> Vec<(&'static str, String)> {
        let Some(review) = &self.models else { return Vec::new() };
        let mut facts = Vec::new();
        if let Some(counts) = review.phases {
            let steps = PhaseKind::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
            let steps: Vec<String> =
                steps.map(|(phase, count)| format!("{count} {}", phase.name())).collect();
            facts.push(("phases", format!("steps: {}", steps.join(", "))));
        }
        for model in &review.models {
            facts.extend(model_words(review, model).map(|text| ("models", text)));
        }
        for model in review.models.iter().filter(|model| !model.not_excited.is_empty()) {
            let one = |(output, figure): &(String, f64)| match figure {
                0.0 => format!("{output} (something behind it never moved)"),
                _ => format!("{output} (smallest eigenvalue {} of the largest)", significant(*figure, 2)),
            };
            let outputs: Vec<String> = model.not_excited.iter().map(one).collect();
            facts.push(("models", format!("not excited enough: {}", outputs.join(", "))));
        }
        facts
    }

    /// Quality of each model.
    pub(in crate::output) fn qualities(&self) -> Grid {
        let mut grid = Grid::new(&["model of", "worst error", "of the range at t/s", "mean", "good for"]);
        for model in self.models.iter().flat_map(|review| &review.models) {
            if model.worst.is_nan() {
                let none = String::new;
                grid.row([model.subsystem.clone(), "never used".into(), none(), none(), none()]);
                continue;
            }
            let verdict = match model.verdict {
                PhaseKind::Hold => "nothing (hold)",
                PhaseKind::Modified => "steps 1 and 2 (modified)",
                _ => "all steps (full)",
            };
            grid.row([
                model.subsystem.clone(),
                significant(model.worst, 3),
                significant(model.time, 6),
                significant(model.mean, 3),
                verdict.into(),
            ]);
        }
        grid
    }
}

/// A model that is a surrogate or predicts badly, and what was done about it.
fn model_words(review: &Review, model: &ModelReview) -> Option<String> {
    let name = &model.subsystem;
    let surrogate = model.hidden_states.map(|states| {
        format!(
            "`{name}` is a surrogate: {states} states behind fewer outputs, so step 3 on it may be unstable"
        )
    });
    let bad = match model.verdict {
        _ if model.worst.is_nan() => None,
        PhaseKind::Hold => {
            Some(format!("`{name}` is bad: its error reached {}", significant(model.worst, 3)))
        }
        PhaseKind::Modified => {
            Some(format!("`{name}` is doubtful: its error reached {}", significant(model.worst, 3)))
        }
        _ => None,
    };
    let text = match (bad, surrogate) {
        (Some(bad), Some(surrogate)) => format!("{bad}; {surrogate}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => return None,
    };
    let done = match (review.thresholds, review.is_modified) {
        (Some((modified, hold)), _) => {
            format!("put aside by thresholds: step 3 from {modified}, the model from {hold}")
        }
        (None, true) => "step 3 is left out (modified = true)".into(),
        (None, false) => {
            "nothing acts on it: leave step 3 out (modified = true), or set thresholds (learning)".into()
        }
    };
    Some(format!("{text}; {done}"))
}

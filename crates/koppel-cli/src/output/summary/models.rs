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
        if let Some(steps) = review.probing {
            facts.push(("probing", format!("{steps} sub-steps before the run")));
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
        let is_probed = self.models.as_ref().is_some_and(|review| review.probing.is_some());
        let names = if is_probed {
            ["subsystem", "mean quality figure", "worst", "at t/s", "coupling"]
        } else {
            ["model of", "mean error", "worst, of the range", "at t/s", "good for"]
        };
        let mut grid = Grid::new(&names);
        for model in self.models.iter().flat_map(|review| &review.models) {
            if model.worst.is_nan() {
                let none = String::new;
                grid.row([model.subsystem.clone(), "not measured".into(), none(), none(), none()]);
                continue;
            }
            let verdict = match model.verdict {
                PhaseKind::Hold if is_probed => "not to be trusted",
                PhaseKind::Modified if is_probed => "doubtful",
                _ if is_probed => "good",
                PhaseKind::Hold => "nothing (hold)",
                PhaseKind::Modified => "steps 1 and 2 (modified)",
                _ => "all steps (full)",
            };
            grid.row([
                model.subsystem.clone(),
                significant(model.mean, 3),
                significant(model.worst, 3),
                significant(model.time, 6),
                verdict.into(),
            ]);
        }
        grid
    }
}

/// A model that predicts badly, why, and what was done about it.
fn model_words(review: &Review, model: &ModelReview) -> Option<String> {
    let what = match model.verdict {
        _ if model.mean.is_nan() => return None,
        PhaseKind::Hold => "bad",
        PhaseKind::Modified => "doubtful",
        _ => return None,
    };
    if review.probing.is_some() {
        let (modified, hold) = review.thresholds.unwrap_or((f64::INFINITY, f64::INFINITY));
        return Some(format!(
            "`{}` is {what}: quality figure {} on average; results are doubtful from {modified} on, inputs are extrapolated from \
             {hold} on; use a smaller step",
            model.subsystem,
            significant(model.mean, 2)
        ));
    }
    let mut text = format!(
        "`{}` is {what}: it is off by {} of the range on average",
        model.subsystem,
        significant(model.mean, 2)
    );
    if let Some(states) = model.hidden_states {
        text += &format!(
            "; it is a surrogate, for {states} states behind fewer outputs, on which step 3 may be unstable"
        );
    }
    text += &match (review.thresholds, review.is_modified) {
        (Some((modified, hold)), _) => {
            format!("; step 3 is left out from {modified} on, the model from {hold} on")
        }
        (None, true) => "; step 3 is left out (modified = true)".into(),
        (None, false) => {
            "; nothing acts on it: leave step 3 out (modified = true), or set thresholds (learning)".into()
        }
    };
    Some(text)
}

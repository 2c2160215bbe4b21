//! What the run has shown of the models behind its coupling.

use koppel::coupling::{ModelReview, PhaseKind, Review};

use super::super::{Grid, significant};

/// Facts about models: where they come from, phases, what they lack.
pub(super) fn facts(review: &Review, repetitions: u64) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(counts) = review.phases {
        let steps = PhaseKind::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
        let steps: Vec<String> = steps.map(|(phase, count)| format!("{count} {}", phase.name())).collect();
        facts.push(("phases", format!("steps: {}", steps.join(", "))));
        if counts[PhaseKind::Learning as usize] == counts.iter().sum::<u64>() {
            let text = "never used: the learning phase (`learning.duration`) is as long as the run";
            facts.push(("models", text.into()));
        }
    }
    if let Some(steps) = review.probing {
        facts.push(("probing", format!("{steps} sub-steps before the run")));
    }
    if repetitions > 0 {
        facts.push(("repeated", format!("{} repeated steps", repetitions)));
    }
    for model in &review.models {
        facts.extend(model_words(review, model).map(|text| ("models", text)));
    }
    for model in review.models.iter().filter(|model| !model.not_excited.is_empty()) {
        let one = |(output, figure): &(String, f64)| match figure {
            0.0 => format!("{output} (a signal it depends on never changed)"),
            _ => format!("{output} (smallest eigenvalue {} of the largest)", significant(*figure, 2)),
        };
        let outputs: Vec<String> = model.not_excited.iter().map(one).collect();
        facts.push(("models", format!("not excited enough: {}", outputs.join(", "))));
    }
    facts
}

/// Quality of each model.
pub(super) fn qualities(review: Option<&Review>) -> Grid {
    let mut grid =
        Grid::new(&["model of", "taken", "mean error", "worst, of the range", "at t/s", "good for"]);
    let all = review.iter().flat_map(|review| review.models.iter().map(move |model| (review, model)));
    for (review, model) in all {
        let taken = match model.taken {
            _ if review.probing.is_some() => "probed".to_owned(),
            0 if review.is_learned() => "learned".to_owned(),
            0 => "never".to_owned(),
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let verdict = match model.verdict {
            None => {
                let none = String::new;
                let figure = "not measured".into();
                grid.row([model.subsystem.clone(), taken, figure, none(), none(), "unknown".into()]);
                continue;
            }
            Some(PhaseKind::Hold) => "nothing (hold)",
            Some(PhaseKind::Modified) if review.probing.is_some() => "doubtful results",
            Some(_) if review.probing.is_some() => "all (full)",
            Some(PhaseKind::Modified) => "steps 1 and 2 (modified)",
            Some(_) => "all steps (full)",
        };
        grid.row([
            model.subsystem.clone(),
            taken,
            significant(model.mean, 3),
            significant(model.worst, 3),
            significant(model.time, 6),
            verdict.into(),
        ]);
    }
    grid
}

/// A model that predicts badly, why, and what was done about it.
fn model_words(review: &Review, model: &ModelReview) -> Option<String> {
    let what = match model.verdict? {
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
        "`{}` is {what}: its mean error is {} of the range",
        model.subsystem,
        significant(model.mean, 2)
    );
    if let Some(states) = model.hidden_states {
        text +=
            &format!("; it is a surrogate for {states} states with fewer outputs, so step 3 may be unstable");
    }
    text += &match (review.thresholds, review.is_modified) {
        (Some((modified, hold)), _) => {
            format!("; step 3 is left out from {modified} on, the model from {hold} on")
        }
        (None, true) => "; step 3 is left out (modified = true)".into(),
        (None, false) => {
            "; no threshold is set: leave step 3 out (modified = true), or set thresholds (learning)".into()
        }
    };
    Some(text)
}

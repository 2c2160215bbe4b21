//! What was chosen in place of `auto`, and why.

use koppel::diagnostic::in_one_line;

use koppel::coupling::Save;
use koppel::plan::{Basis, Choice, TriedSettings};
use koppel_session::Session;
use serde_json::{Value, json};

use super::significant;

/// In pairs, for the summary.
pub(super) fn facts(session: &Session) -> Vec<(&'static str, String)> {
    let Some(choice) = session.chosen() else { return Vec::new() };
    let error = match choice.error {
        Some(error) => format!("predicted error {} (target {})", percent(error), percent(choice.aim.error)),
        None if choice.basis == Basis::Nothing => {
            let reason = choice.warnings.first().map_or("no model is known", String::as_str);
            return vec![
                ("auto", format!("{}: {reason}", choice.chosen.words())),
                ("pinned by", session.pin().join(", ")),
            ];
        }
        None => "error unknown".to_owned(),
    };
    let calls = significant(choice.calls, 3);
    let mut facts = vec![(
        "auto",
        format!("{}: {error}, {}; chosen with {calls} calls", choice.chosen.words(), basis(choice)),
    )];
    let others = choice.tried.iter().filter(|tried| tried.keeps && tried.method != choice.chosen.method());
    let others: Vec<String> = others.take(2).map(|tried| words(tried, choice)).collect();
    if !others.is_empty() {
        facts.push(("next best", others.join("; ")));
    }
    facts.push(("pinned by", session.pin().join(", ")));
    facts
}

/// Everything, for programs.
pub(crate) fn auto_document(session: &Session) -> Option<Value> {
    let choice = session.chosen()?;
    let mut document = json!(choice);
    document["pin"] = json!(session.pin());
    Some(document)
}

/// Everything that was tried, and what could not be.
pub(crate) fn explanation(choice: &Choice) -> Vec<(&'static str, String)> {
    let tried = choice.tried.iter().map(|tried| ("tried", words(tried, choice)));
    let refused = choice.refused.iter().map(|one| {
        let reason = in_one_line(&one.reason, 1);
        ("refused", format!("{}: {reason}", one.method))
    });
    tried.chain(refused).collect()
}

fn words(tried: &TriedSettings, choice: &Choice) -> String {
    let error = tried.error.map_or("not stable".to_owned(), |error| format!("error {}", percent(error)));
    let cost = tried.cost.map_or(String::new(), |cost| format!(", {}", cost_words(cost, choice.aim.save)));
    let keeps = if tried.keeps { "" } else { ", above the target" };
    format!("{}, {} s: {error}{cost}{keeps}", tried.method, significant(tried.step, 4))
}

fn cost_words(cost: f64, save: Save) -> String {
    match save {
        Save::Time | Save::Calls => format!("{} calls", significant(cost, 4)),
        Save::Communications => format!("{} communications", significant(cost, 4)),
    }
}

fn basis(choice: &Choice) -> String {
    match choice.basis {
        Basis::Forecast => "by the forecast".to_owned(),
        Basis::LinearModels => "by the forecast on linear models".to_owned(),
        Basis::Pilots => "by runs of copies".to_owned(),
        Basis::Nothing => "without a forecast".to_owned(),
    }
}

fn percent(part: f64) -> String {
    format!("{} %", significant(100.0 * part, 2))
}

//! What serde refuses is told by its parts and at its place, inside tagged tables, too.

use koppel::coupling::CouplingConfig;
use koppel::run::RunConfig;
use koppel::signal::external::ExternalConfig;
use koppel::solver::SolverConfig;

use super::*;
use crate::system_file::tree::parse;

/// The fault of what is written behind `v = `, and the text it points at.
fn fault<T: DeserializeOwned>(text: &str) -> (Refusal, String) {
    let whole = format!("v = {text}");
    let root = parse(&whole).unwrap();
    match read::<T>(root.get("v").unwrap()) {
        Ok(_) => panic!("{text} is accepted"),
        Err(fault) => (fault.refusal, whole[fault.span].to_owned()),
    }
}

/// The same in words.
fn words<T: DeserializeOwned>(text: &str, what: &str) -> (String, String) {
    let whole = format!("v = {text}");
    let root = parse(&whole).unwrap();
    let marks = decode::<T>(root.get("v").unwrap(), what).map(|_| ()).unwrap_err();
    let mark = marks.into_iter().next().unwrap();
    (mark.message, whole[mark.span].to_owned())
}

#[test]
fn unknown_keys_have_their_place_and_the_names_that_are_known() {
    let (refusal, at) = fault::<CouplingConfig>("{ method = \"foh\", strat = \"reduced\" }");
    assert_eq!(at, "strat");
    assert_eq!(refusal, Refusal::UnknownKey { name: "strat".into(), known: vec!["start"] });
    let (refusal, at) = fault::<CouplingConfig>(
        "{ method = \"prestep\", model = { identify = \"rls\", forgettin = 0.9, N = 1 } }",
    );
    assert!(matches!(refusal, Refusal::UnknownKey { known, .. } if known.contains(&"forgetting")));
    assert_eq!(at, "forgettin");
}

/// The value that is wrong is found among others that are the same.
#[test]
fn the_culprit_is_found_among_its_likes() {
    let text = "{ kind = \"step\", time = 1.5, before = true, after = true }";
    assert_eq!(fault::<ExternalConfig>(text).1, "true");
    let whole = "v = { kind = \"sine\", amplitude = \"1\", offset = 1, frequency = \"1\", phase = \"1\" }";
    let root = parse(whole).unwrap();
    let found = read::<ExternalConfig>(root.get("v").unwrap()).map(|_| ()).err().unwrap();
    assert_eq!(found.key.as_deref(), Some("amplitude"));
    assert_eq!(found.span.start, whole.find("\"1\"").unwrap());
    // Lists have no value to be known by.
    let whole = "v = { kind = \"table\", times = [0, 1], values = [[0, 1], [2]] }";
    let root = parse(whole).unwrap();
    let found = read::<ExternalConfig>(root.get("v").unwrap()).map(|_| ()).err().unwrap();
    assert_eq!((found.span.start, found.key.as_deref()), (whole.rfind("[0, 1]").unwrap(), Some("values")));
}

#[test]
fn tags_may_come_last() {
    let (refusal, at) = fault::<SolverConfig>("{ step = \"small\", method = \"euler\" }");
    assert!(matches!(refusal, Refusal::Wrong { found: Found::Text(text), .. } if text == "small"));
    assert_eq!(at, "\"small\"");
}

#[test]
fn inside_of_others() {
    let text = "{ method = \"mixed\", connections = { \"a.u\" = { method = \"zoh\" }, \"b.u\" = { method = \"relaxed\", alpha = \"x\" } } }";
    let (message, at) = words::<CouplingConfig>(text, "coupling");
    assert_eq!(
        (message.as_str(), at.as_str()),
        ("`alpha`: found the text \"x\", expected a number", "\"x\"")
    );
    let text = text.replace("\"zoh\"", "\"zho\"");
    let (message, at) = words::<CouplingConfig>(&text, "coupling");
    assert_eq!((message.as_str(), at.as_str()), ("unknown coupling `zho`", "\"zho\""));
}

#[test]
fn names_are_listed_where_something_else_stands() {
    let run = |more: &str| words::<RunConfig>(&format!("{{ stop = 1, step = 1, {more} }}"), "[run]");
    let (message, at) = run("hold = 1");
    assert_eq!(
        (message.as_str(), at.as_str()),
        ("`hold` must be \"constant\" or \"continuous\", found a number", "1")
    );
    let (message, at) = run("start = 2020-01-01");
    assert_eq!((message.as_str(), at.as_str()), ("`start`: found a date, expected a number", "2020-01-01"));
    let (message, _) = words::<CouplingConfig>("{ method = 3 }", "coupling");
    assert!(message.starts_with("`method` must be \"zoh\" or \"foh\" or "), "{message}");
    let (message, at) = words::<CouplingConfig>("{ method = \"foh\", start = 1 }", "coupling");
    assert!(message.starts_with("`start` must be \""), "{message}");
    assert_eq!(at, "1");
}

#[test]
fn what_is_missing_is_named() {
    let (refusal, at) = fault::<RunConfig>("{ stop = 1 }");
    assert_eq!((refusal, at.as_str()), (Refusal::MissingKey("step".into()), "{ stop = 1 }"));
    let text = "{ method = \"mixed\" }";
    assert_eq!(fault::<CouplingConfig>(text), (Refusal::MissingKey("connections".into()), text.into()));
}

/// Mistakes in words keep their place, too.
#[test]
fn words_of_the_library() {
    let text = "{ method = \"prestep\", error_steps = 1, model = { above = 1 } }";
    let (message, at) = words::<CouplingConfig>(text, "coupling");
    assert_eq!(at, "{ above = 1 }", "{message}");
    assert_eq!(message, "`model`: `above` goes with derivatives = \"auto\"");
}

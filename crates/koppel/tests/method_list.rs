//! The list of methods against what it says: settings as they are read, their defaults, and the tables of the documentation.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/couplings.rs"]
mod couplings;

use couplings::couplings;
use koppel::coupling::{CouplingConfig, MethodInfo, RelaxedConfig, method, methods};
use serde::de::{self, Deserialize};
use std::path::Path;

fn read(text: &str) -> Result<CouplingConfig, String> {
    let table: toml::Table = toml::from_str(text).unwrap();
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Words between backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

#[test]
fn settings_are_those_that_are_read() {
    for info in methods() {
        let error = read(&format!("method = \"{}\"\nnobody = 1", info.name)).unwrap_err();
        let known: Vec<&str> = info.settings.iter().map(|setting| setting.name).collect();
        assert!(error.starts_with("unknown field `nobody`"), "{error}");
        assert_eq!(quoted(&error)[1..], known, "{}", info.name);
    }
}

#[test]
fn defaults_are_those_that_are_taken() {
    for info in methods() {
        let usual = read(&format!("method = \"{}\"", info.name)).unwrap();
        assert_eq!(usual, (info.usual)());
        let written = toml::Table::try_from(&usual).unwrap();
        assert_eq!(written["method"].as_str(), Some(info.name));
        for setting in info.settings {
            let value = written.get(setting.name).map(ToString::to_string).unwrap_or_default();
            assert_eq!(value, setting.default, "{}.{}", info.name, setting.name);
        }
        assert_eq!(written.len(), 1 + info.settings.iter().filter(|one| !one.default.is_empty()).count());
        assert_eq!(read(&written.to_string()).unwrap(), usual);
        assert!(info.settings.iter().filter(|one| one.search.is_some()).count() <= 1);
        assert!((info.candidates)().iter().all(|one| one.name() == info.name));
    }
}

#[test]
fn the_name_may_stand_anywhere_and_mistakes_are_told_as_serde_does() {
    let prestep =
        read("modified = true\nmethod = \"prestep\"\nmodel = { identify = \"rls\", N = 2 }").unwrap();
    assert_eq!(prestep, read(&toml::to_string(&prestep).unwrap()).unwrap());
    assert_eq!(prestep, serde_json::from_str(&serde_json::to_string(&prestep).unwrap()).unwrap());
    assert_eq!(
        serde_json::to_string(&CouplingConfig::from(RelaxedConfig { alpha: 0.25 })).unwrap(),
        r#"{"method":"relaxed","alpha":0.25}"#
    );
    let mixed = "method = \"mixed\"\nconnections = { \"a.u\" = { method = \"foh\" } }";
    assert_eq!(read(mixed).unwrap(), read(&toml::to_string(&read(mixed).unwrap()).unwrap()).unwrap());
    let names: Vec<String> = CouplingConfig::METHODS.iter().map(|(name, _)| format!("`{name}`")).collect();
    let unknown = format!("unknown variant `zho`, expected one of {}", names.join(", "));
    for (text, message) in [
        ("method = \"zho\"", unknown.as_str()),
        ("alpha = 0.5", "missing field `method`"),
        ("method = 3", "invalid type: integer `3`, expected variant identifier"),
        ("method = \"zoh\"\nx = 1", "unknown field `x`, there are no fields"),
        ("method = \"relaxed\"\nalph = 1", "unknown field `alph`, expected `alpha`"),
        ("method = \"relaxed\"\nalpha = \"x\"", "invalid type: string \"x\", expected f64"),
        ("method = \"foh\"\nstart = \"x\"", "unknown variant `x`, expected `constant` or `reduced`"),
        ("method = \"foh\"\nstart = 1", "invalid type: integer `1`, expected string or map"),
        ("method = \"mixed\"", "missing field `connections`"),
    ] {
        assert_eq!(read(text).unwrap_err(), message, "{text}");
    }
}

/// An error that tells which part of serde raised it.
#[derive(Debug, PartialEq)]
enum Raised {
    Words(String),
    Type,
    Variant(usize),
    Field(usize),
    Missing,
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Raised {}

impl de::Error for Raised {
    fn custom<T: std::fmt::Display>(words: T) -> Self {
        Raised::Words(words.to_string())
    }

    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Raised::Type
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Raised::Variant(known.len())
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Raised::Field(known.len())
    }

    fn missing_field(_: &'static str) -> Self {
        Raised::Missing
    }
}

/// Whoever reads a file is told by its parts what is wrong with a coupling, not in words.
#[test]
fn errors_reach_the_reader_by_their_parts() {
    let raised = |entries: &[(&'static str, &'static str)]| {
        let table = de::value::MapDeserializer::<_, Raised>::new(entries.iter().copied());
        CouplingConfig::deserialize(table).unwrap_err()
    };
    assert_eq!(raised(&[("method", "zho")]), Raised::Variant(CouplingConfig::METHODS.len()));
    assert_eq!(raised(&[("method", "vfps"), ("node", "auto")]), Raised::Field(5));
    assert_eq!(raised(&[("start", "late"), ("method", "foh")]), Raised::Variant(2));
    assert_eq!(raised(&[("alpha", "x"), ("method", "relaxed")]), Raised::Type);
    assert_eq!(raised(&[("method", "mixed")]), Raised::Missing);
    assert_eq!(raised(&[]), Raised::Missing);
}

/// `docs/couplings.md` has what the list says. `KOPPEL_UPDATE_SNAPSHOTS=1` writes it.
#[test]
fn the_documentation_has_the_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/couplings.md");
    let old = std::fs::read_to_string(&path).unwrap();
    let mut new = old.clone();
    for (name, text) in [("methods", method_table()), ("settings", setting_table())] {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let (from, to) = (new.find(&begin).unwrap() + begin.len(), new.find(&end).unwrap());
        new.replace_range(from..to, &text);
    }
    if std::env::var_os("KOPPEL_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &new).unwrap();
        return;
    }
    assert!(new == old, "docs/couplings.md differs from the list; KOPPEL_UPDATE_SNAPSHOTS=1 writes\n\n{new}");
}

/// Methods that a page names between two of its texts, in its order.
fn named(page: &str, from: &str, to: &str) -> Vec<&'static str> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let begin = text.find(from).unwrap_or_else(|| panic!("{page} has no `{from}`"));
    let part = &text[begin..begin + text[begin..].find(to).unwrap_or_else(|| panic!("{page} has no `{to}`"))];
    quoted(part).into_iter().filter_map(|name| Some(method(name)?.name)).collect()
}

fn names(is_meant: impl Fn(&MethodInfo) -> bool) -> Vec<&'static str> {
    methods().into_iter().filter(|info| is_meant(info)).map(|info| info.name).collect()
}

/// Sentences that name some of the methods name those that the list does.
#[test]
fn other_pages_agree_with_the_list() {
    let agree = |page: &str, from: &str, to: &str, expected: Vec<&str>| {
        let known = names(|_| true);
        let mut found = named(page, from, to);
        if page != "auto.md" {
            found.sort_by_key(|name| known.iter().position(|other| other == name));
        }
        assert_eq!(found, expected, "docs/{page} names these methods after `{from}`; the list has others");
    };
    agree("trials.md", "| `zoh`", "|\n", names(|info| info.only_extrapolates));
    agree("trials.md", "| `iteration`", "| model exchange", names(|info| !info.only_extrapolates));
    agree("adaptive-step.md", "**Methods.**", "koppel refuses", names(|info| info.changes_step.is_some()));
    agree("adaptive-step.md", "koppel refuses", "* **Subsystems", names(|info| info.changes_step.is_none()));
    let from = "over the step are interpolated";
    agree("loops.md", from, "other couplings", names(|info| info.interpolates.is_some()));
    let mut tried: Vec<_> = methods().into_iter().filter(|info| !(info.candidates)().is_empty()).collect();
    tried.sort_by_key(|info| info.rank);
    let tried = tried.into_iter().map(|info| info.name).collect();
    agree("auto.md", "**Candidates**", "in a parallel schedule", tried);
    let untried = names(|info| (info.candidates)().is_empty());
    agree("check.md", "other method that `auto` considers (not", ")", untried);
    agree(
        "tune.md",
        "default all that this system can use.",
        "`vfps`",
        names(|info| info.search().is_some()),
    );
    agree("couplings.md", "methods that give one value per step:", "With `constant`", with_hold(true));
    agree("couplings.md", "one step late.", "Booleans", with_hold(false));
}

/// Methods that take the setting `hold`, or do not, with some of their settings.
fn with_hold(is_taken: bool) -> Vec<&'static str> {
    let all = couplings("a.in");
    let is_meant =
        |info: &MethodInfo| all.iter().any(|one| one.name() == info.name && one.takes_hold() == is_taken);
    names(is_meant)
}

fn method_table() -> String {
    let mut text = "| method | what it does | settings | order |\n| --- | --- | --- | --- |\n".to_owned();
    let line = |info: &MethodInfo| {
        let page = info
            .page
            .map_or_else(String::new, |page| format!("; see [{}]({page})", page.trim_end_matches(".md")));
        let settings: Vec<String> = info.settings.iter().map(|one| format!("`{}`", one.name)).collect();
        let settings = settings.join(", ");
        let gap = if settings.is_empty() { "" } else { " " };
        format!("| `{}` | {}{page} |{gap}{settings} | {} |\n", info.name, info.line, info.order)
    };
    methods().iter().for_each(|info| text += &line(info));
    for (name, about, settings, order) in [
        ("mixed", "", "`default`, `connections`", "that of its lowest"),
        ("auto", "; see [auto](auto.md)", "`error`, `save`", "that of the chosen one"),
    ] {
        let (_, line) = CouplingConfig::METHODS.iter().find(|(known, _)| *known == name).unwrap();
        text += &format!("| `{name}` | {line}{about} | {settings} | {order} |\n");
    }
    text
}

fn setting_table() -> String {
    let head = "| method | setting | default | meaning | `tune` tries |\n| --- | --- | --- | --- | --- |\n";
    let mut text = head.to_owned();
    for info in methods() {
        for setting in info.settings {
            let default =
                if setting.default.is_empty() { "none".into() } else { format!("`{}`", setting.default) };
            let tried = setting.search.map_or_else(String::new, |search| format!(" {}", search.values));
            text += &format!(
                "| `{}` | `{}` | {default} | {} |{tried} |\n",
                info.name, setting.name, setting.line
            );
        }
    }
    text
}

//! `[run]` and `[[at]]`: everything about the run.

use std::collections::BTreeMap;

use koppel::coupling::CouplingConfig;
use koppel::record::Record;
use koppel::run::{Change, RunConfig, ScheduleConfig};

use super::decode::{decode, decode_tagged};
use super::fields::Fields;
use super::mistake::Mark;
use super::tree::{Entry, Node, Value};
use super::wiring::Link;

type Result<T> = std::result::Result<T, Mark>;

/// Reads the settings of the run; couplings of single connections join those of the run.
pub(super) fn read(root: &Fields<'_>, links: &[Link]) -> Result<RunConfig> {
    let node = root.need("run")?;
    let mut plain = Vec::new();
    let mut config = RunConfig::new(1.0, 1.0);
    for entry in node.table("[run]")? {
        match entry.name.as_str() {
            "schedule" => config.schedule = schedule(&entry.node)?,
            "coupling" => config.coupling = coupling(&entry.node)?,
            "record" => config.record = record(&entry.node)?,
            _ => plain.push(entry.clone()),
        }
    }
    let rest = Node { span: node.span.clone(), value: Value::Table(plain) };
    let rest: RunConfig = decode(&rest, "[run]").map_err(all_keys)?;
    let at = changes(root, rest.start)?;
    let RunConfig { schedule, record, coupling, .. } = config;
    Ok(RunConfig { schedule, record, coupling: mixed(coupling, links), at, ..rest })
}

/// Changes have a section of their own: `at` is no key of `[run]`.
fn all_keys(mark: Mark) -> Mark {
    let hint = mark.hint.map(|hint| hint.replace(", `at`", ""));
    Mark { hint, ..mark }
}

/// A coupling by its name, or a table with its settings.
pub(super) fn coupling(node: &Node) -> Result<CouplingConfig> {
    let mut node = node.clone();
    if let Value::Table(entries) = &mut node.value {
        entries.iter_mut().for_each(expand);
    }
    decode_tagged(&node, "coupling", "method")
}

/// Inside `mixed`, a bare name stands for a method without settings.
fn expand(entry: &mut Entry) {
    match (entry.name.as_str(), &mut entry.node.value) {
        ("default", Value::Text(_)) => spell_out(&mut entry.node),
        ("connections", Value::Table(entries)) => entries.iter_mut().for_each(|one| spell_out(&mut one.node)),
        _ => {}
    }
}

fn spell_out(node: &mut Node) {
    if let Value::Text(_) = node.value {
        let method = Entry { name: "method".into(), key: node.span.clone(), node: node.clone() };
        node.value = Value::Table(vec![method]);
    }
}

fn mixed(coupling: CouplingConfig, links: &[Link]) -> CouplingConfig {
    let own = links.iter().filter_map(|l| Some((l.connection.to.clone(), l.coupling.clone()?)));
    let own: BTreeMap<String, CouplingConfig> = own.collect();
    match coupling {
        coupling if own.is_empty() => coupling,
        CouplingConfig::Mixed { default, mut connections } => {
            connections.extend(own);
            CouplingConfig::Mixed { default, connections }
        }
        coupling => CouplingConfig::Mixed { default: Box::new(coupling), connections: own },
    }
}

fn schedule(node: &Node) -> Result<ScheduleConfig> {
    let names = |list: &[Node]| -> Result<Vec<String>> {
        list.iter().map(|name| Ok(name.text("schedule")?.to_owned())).collect()
    };
    match &node.value {
        Value::Text(name) => {
            match name.as_str() {
                "parallel" => Ok(ScheduleConfig::PARALLEL),
                "sequence" => Ok(ScheduleConfig::SEQUENCE),
                _ => {
                    let known = ["parallel".to_owned(), "sequence".to_owned()];
                    let mark = Mark::unknown(node.span.clone(), "schedule", name, &known);
                    let hint = mark.hint.clone().unwrap_or_default();
                    Err(mark.hint(hint + ", or a list of subsystems such as [\"a\", \"b\"] or [[\"a\", \"b\"], [\"c\"]]"))
                }
            }
        }
        Value::List(list) if list.iter().any(|group| matches!(group.value, Value::List(_))) => {
            let groups = list.iter().map(|group| match &group.value {
                Value::List(members) => names(members),
                _ => names(std::slice::from_ref(group)),
            });
            Ok(ScheduleConfig::Groups(groups.collect::<Result<_>>()?))
        }
        Value::List(list) => Ok(ScheduleConfig::Order(names(list)?)),
        _ => Err(node.wanted("schedule", "\"parallel\", \"sequence\" or a list of subsystems")),
    }
}

fn record(node: &Node) -> Result<Record> {
    match &node.value {
        Value::Text(pattern) => Ok(Record::One(pattern.clone())),
        Value::List(list) => {
            let patterns = list.iter().map(|pattern| Ok(pattern.text("record")?.to_owned()));
            Ok(Record::Many(patterns.collect::<Result<_>>()?))
        }
        _ => Err(node.wanted("record", "\"all\", a name, a pattern, or a list of them")),
    }
}

/// Start values of subsystems, then `[[at]]`.
fn changes(root: &Fields<'_>, start: f64) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for entry in root.need("subsystems")?.table("subsystems")? {
        if let Some(values) = entry.node.get("start") {
            let set = numbers(values, "start", &format!("{}.", entry.name))?;
            changes.push(Change { time: start, set });
        }
    }
    let list = root.get("at").map_or(Ok(&[][..]), |node| node.list("at"))?;
    for node in list {
        let fields = node.fields("[[at]]", &["time", "set"])?;
        let time = fields.need("time")?.number("time")?;
        changes.push(Change { time, set: numbers(fields.need("set")?, "set", "")? });
    }
    Ok(changes)
}

fn numbers(node: &Node, what: &str, prefix: &str) -> Result<BTreeMap<String, f64>> {
    node.table(what)?.iter().map(|e| Ok((format!("{prefix}{}", e.name), e.node.number(&e.name)?))).collect()
}

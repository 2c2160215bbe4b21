//! `[run]` and `[[at]]`: everything about the run.

use std::collections::BTreeMap;

use koppel::coupling::{CouplingConfig, Hold};
use koppel::plan::Steps;
use koppel::record::Record;
use koppel::run::{Change, RunConfig, ScheduleConfig};

use super::auto;
use super::decode::{Fault, Refusal, decode, decode_tagged, read_all};
use super::equations;
use super::fields::Fields;
use super::mistake::{Mark, Marks};
use super::subsystem::SubsystemSpec;
use super::tree::{Entry, Node, Value};
use super::wiring::Link;
use super::{confirm, isolation};

type Result<T> = std::result::Result<T, Marks>;

/// Reads the settings of the run, and which steps may be taken; couplings of single connections join those of the run.
pub(super) fn read(root: &Fields<'_>, links: &[Link]) -> Result<(RunConfig, Steps)> {
    let node = root.need("run")?;
    let (mut plain, mut steps, mut marks) = (Vec::new(), Steps::Given, Marks::default());
    let mut config = RunConfig { coupling: auto::unsaid(), ..RunConfig::new(1.0, 1.0) };
    for entry in node.table("[run]")? {
        let value = &entry.node;
        match entry.name.as_str() {
            "schedule" => set(&mut config.schedule, schedule(value), &mut marks),
            "coupling" => set(&mut config.coupling, coupling(value), &mut marks),
            "record" => set(&mut config.record, record(value), &mut marks),
            "adaptive" => set(&mut config.adaptive, decode(value, "`adaptive`").map(Some), &mut marks),
            "iteration" => {
                set(&mut config.iteration, decode_tagged(value, "iteration", "kind").map(Some), &mut marks);
            }
            "step" if value.number("step").is_err() => {
                set(&mut steps, auto::steps(value), &mut marks);
                let node = Node { span: value.span.clone(), value: Value::Float(1.0) };
                plain.push(Entry { node, ..entry.clone() });
            }
            name if isolation::KEYS.contains(&name) || name == confirm::KEY => {}
            "at" => marks.add(
                Mark::new(entry.key.clone(), "unknown key `at` in [run]")
                    .hint("changes have a section of their own: [[at]] with `time` and `set`"),
            ),
            "every" if value.table("every").is_err() => {
                marks.add(value.wanted("every", "a table such as { road = 4 }"));
            }
            _ => plain.push(entry.clone()),
        }
    }
    let rest = Node { span: node.span.clone(), value: Value::Table(plain) };
    let rest: Option<RunConfig> = marks.note(read_all(&rest, in_words));
    let start = rest.as_ref().map_or(0.0, |rest| rest.start);
    let at = changes(root, start, &mut marks);
    let Some(rest) = rest else { return Err(marks) };
    let step = auto::first_step(steps, &rest);
    let RunConfig { schedule, record, coupling, iteration, adaptive, .. } = config;
    let coupling = mixed(coupling, links);
    let run = RunConfig { step, schedule, record, iteration, adaptive, coupling, at, ..rest };
    marks.or((run, steps))
}

/// Takes a value, or keeps what is wrong with it.
fn set<T>(place: &mut T, value: std::result::Result<T, impl Into<Marks>>, marks: &mut Marks) {
    if let Some(value) = marks.note(value) {
        *place = value;
    }
}

/// Changes have a section of their own: `at` is no key of `[run]`. Those about isolation and confirmation are. What is missing can also be said on
/// the command line.
fn in_words(mut fault: Fault) -> Mark {
    if let Refusal::UnknownKey { known, .. } = &mut fault.refusal {
        let own = || [&isolation::KEYS[..], &[confirm::KEY]].concat();
        let instead = |key: &'static str| if key == "at" { own() } else { vec![key] };
        *known = known.iter().copied().flat_map(instead).collect();
    }
    let missing = match &fault.refusal {
        Refusal::MissingKey(name) => ["step", "stop"].into_iter().find(|key| key == name),
        _ => None,
    };
    let hint = missing.map(|key| format!("write it below [run], or give it with --{key}"));
    fault.mark("[run]").hint_if(hint)
}

/// Settings that do nothing, or not what they seem to say.
pub(super) fn warnings(run: &RunConfig) -> Vec<String> {
    let mut warnings = Vec::new();
    for Change { time, .. } in &run.at {
        if *time >= run.stop {
            let stop = run.stop;
            warnings.push(format!(
                "[[at]] at t = {time} s comes no earlier than the stop at {stop} s: it does nothing"
            ));
        } else if *time < run.start {
            let start = run.start;
            warnings.push(format!(
                "[[at]] at t = {time} s comes before the start at {start} s: it acts at the start"
            ));
        }
    }
    if run.hold == Hold::Continuous && !run.coupling.takes_hold() {
        warnings.push(
            "hold = \"continuous\" does nothing: no method of this coupling gives one value per step".into(),
        );
    }
    warnings
}

/// Subsystems with `probe = false` are spared by methods that excite subsystems before the run.
pub(super) fn spare(coupling: &mut CouplingConfig, subsystems: &[SubsystemSpec]) {
    for one in subsystems.iter().filter(|one| one.probe == Some(false)) {
        *coupling = coupling.sparing(&one.name);
    }
}

/// A coupling by its name, or a table with its settings.
pub(super) fn coupling(node: &Node) -> Result<CouplingConfig> {
    let mut node = node.clone();
    if let Value::Table(entries) = &mut node.value {
        entries.iter_mut().try_for_each(expand)?;
    }
    let coupling: CouplingConfig = decode_tagged(&node, "coupling", "method")?;
    auto::check(&coupling, &node)?;
    Ok(coupling)
}

/// Inside `mixed`, a bare name stands for a method without settings.
fn expand(entry: &mut Entry) -> Result<()> {
    match (entry.name.as_str(), &mut entry.node.value) {
        ("default", _) => method(&entry.name, &mut entry.node),
        ("connections", Value::Table(entries)) => {
            entries.iter_mut().try_for_each(|one| method(&one.name, &mut one.node))
        }
        _ => Ok(()),
    }
}

fn method(name: &str, node: &mut Node) -> Result<()> {
    node.spell_out();
    let Some(method) = node.get("method") else {
        node.table(name).map_err(|_| node.wanted(name, "a name or a table with `method`"))?;
        return Err(Mark::new(node.span.clone(), format!("`{name}` needs `method`")).into());
    };
    match &method.value {
        Value::Text(method) if method == "mixed" => {
            Err(Mark::new(node.span.clone(), format!("`{name}` cannot itself be mixed"))
                .hint("name each connection in the one table `connections`")
                .into())
        }
        _ => Ok(()),
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

/// Who moves when: a name, or a list of subsystems or of groups of them.
pub(super) fn schedule(node: &Node) -> Result<ScheduleConfig> {
    let names = |list: &[Node]| -> Result<Vec<String>> {
        list.iter().map(|name| Ok(name.text("schedule")?.to_owned())).collect()
    };
    match &node.value {
        Value::Text(name) => match name.as_str() {
            "parallel" => Ok(ScheduleConfig::PARALLEL),
            "sequence" => Ok(ScheduleConfig::SEQUENCE),
            _ => {
                let known = ["parallel".to_owned(), "sequence".to_owned()];
                let more = ", or a list of subsystems such as [\"a\", \"b\"] or [[\"a\", \"b\"], [\"c\"]]";
                Err(Mark::unknown(node.span.clone(), "schedule", name, &known).and(more).into())
            }
        },
        Value::List(list) if list.iter().any(|group| matches!(group.value, Value::List(_))) => {
            let groups = list.iter().map(|group| match &group.value {
                Value::List(members) if members.is_empty() => {
                    Err(Mark::new(group.span.clone(), "a group of the schedule is empty")
                        .hint("name its subsystems, or leave it out")
                        .into())
                }
                Value::List(members) => names(members),
                _ => names(std::slice::from_ref(group)),
            });
            Ok(ScheduleConfig::Groups(groups.collect::<Result<_>>()?))
        }
        Value::List(list) => Ok(ScheduleConfig::Order(names(list)?)),
        _ => Err(node.wanted("schedule", "\"parallel\", \"sequence\" or a list of subsystems").into()),
    }
}

fn record(node: &Node) -> Result<Record> {
    match &node.value {
        Value::Text(pattern) => Ok(Record::One(pattern.clone())),
        Value::List(list) => {
            let patterns = list.iter().map(|pattern| Ok(pattern.text("record")?.to_owned()));
            Ok(Record::Many(patterns.collect::<Result<_>>()?))
        }
        _ => Err(node.wanted("record", "\"all\", a name, a pattern, or a list of them").into()),
    }
}

/// Start values of subsystems, then `[[at]]`.
fn changes(root: &Fields<'_>, start: f64, marks: &mut Marks) -> Vec<Change> {
    let mut changes = Vec::new();
    for entry in root.get("subsystems").map_or(&[][..], Node::entries) {
        if let Some(values) = entry.node.get("start") {
            // Formulas are read with the equations.
            let values = if equations::is_of(&entry.node) { &equations::numbers(values) } else { values };
            let set = marks.note(numbers(values, "start", &format!("{}.", entry.name)));
            changes.extend(set.map(|set| Change { time: start, set }));
        }
    }
    let list = marks.note(super::wiring::tables(root.get("at"), "at")).unwrap_or_default();
    changes.extend(list.iter().filter_map(|node| marks.note(change(node))));
    changes
}

fn change(node: &Node) -> Result<Change> {
    let mut fields = node.fields("[[at]]", &["time", "set"])?;
    let time = fields.want("time", |node| node.number("time"));
    let set = fields.want("set", |node| numbers(node, "set", ""));
    fields.or(Change { time, set })
}

fn numbers(node: &Node, what: &str, prefix: &str) -> Result<BTreeMap<String, f64>> {
    let number = |entry: &Entry| match entry.node.entries().first() {
        // To TOML, a dot outside quotes opens a table.
        Some(inner) => {
            let name = format!("{}.{}", entry.name, inner.name);
            Err(Mark::new(entry.key.clone(), format!("`{name}` must be written in quotes here"))
                .hint(format!("write {what} = {{ \"{name}\" = ... }}")))
        }
        None => Ok((format!("{prefix}{}", entry.name), entry.node.number(&entry.name)?)),
    };
    let mut marks = Marks::default();
    let numbers = node.table(what)?.iter().filter_map(|entry| marks.note(number(entry))).collect();
    marks.or(numbers)
}

//! What a run does, in words: for the dry run and the summary.

use koppel::run::{StepSizes, Watched};
use koppel_session::Session;
use serde_json::Value;

use super::{auto, joined, significant};

/// Settings that change the numbers of a run, in pairs.
pub(super) fn facts(session: &Session, settings: &Value) -> Vec<(&'static str, String)> {
    let run = &settings["run"];
    let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let mut facts = vec![
        ("coupling", inline(&run["coupling"])),
        ("inputs", format!("reading {}, hold {}", text("reading"), text("hold"))),
    ];
    if let Some(adaptive) = &session.spec.run.adaptive {
        let what = match adaptive.on {
            Watched::Defect => "defects below",
            Watched::Power => "residual power below",
        };
        facts.push(("adaptive step", format!("{what} {}", significant(adaptive.tolerance, 3))));
    }
    if run["iteration"].is_object() {
        facts.push(("iteration", iteration(&run["iteration"])));
    }
    facts.extend(auto::facts(session));
    facts.extend(session.spec.choices().iter().cloned());
    if let Some(condition) = &session.spec.run.stop_when {
        facts.push(("stop when", condition.clone()));
    }
    let signals = signals(settings);
    if !signals.is_empty() {
        facts.push(("signals", joined(&signals, ", ")));
    }
    match changes(settings) {
        0 => {}
        1 => facts.push(("changes", "1 value is set at a given time".into())),
        count => facts.push(("changes", format!("{count} values are set at given times"))),
    }
    facts
}

/// How the time is cut: steps, and a last one that is shorter.
pub(super) fn steps(session: &Session, steps: u64) -> String {
    let run = &session.spec.run;
    if let Some(adaptive) = &run.adaptive {
        let (least, most) = (significant(run.step, 15), significant(adaptive.max, 15));
        return format!("at most {steps} {} of {least} to {most} s", plural(steps, "step", "steps"));
    }
    let last = run.stop - run.start - (steps.saturating_sub(1)) as f64 * run.step;
    let each = format!("{steps} {} of {} s", plural(steps, "step", "steps"), significant(run.step, 15));
    // Times are rounded, the more the larger they are.
    let rounding = 4.0 * f64::EPSILON * run.start.abs().max(run.stop.abs());
    if last < run.step * (1.0 - 1e-9) - rounding {
        format!("{each}, the last one shortened to {} s", significant(last, 6))
    } else {
        each
    }
}

/// The steps that were taken, if their length changed.
pub(super) fn taken(steps: u64, sizes: &StepSizes) -> String {
    let StepSizes { changes, smallest, largest, mean, missed } = sizes;
    let changed = plural(*changes, "change", "changes");
    let each = |size: &f64| significant(*size, 3);
    let late = match missed {
        0 => String::new(),
        missed => format!(", {missed} above the tolerance"),
    };
    format!(
        "{steps} of {} to {} s, {} s on average, {changes} {changed}{late}",
        each(smallest),
        each(largest),
        each(mean)
    )
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", plural(count, "", "s"))
}

pub(super) fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// Values that `[[at]]` sets.
pub(super) fn changes(settings: &Value) -> usize {
    let list = settings["at"].as_array().into_iter().flatten();
    list.filter_map(|change| change["set"].as_object()).map(serde_json::Map::len).sum()
}

/// Inputs with signals from outside, and their kinds: `right.F_ext: step + table`.
fn signals(settings: &Value) -> Vec<String> {
    let one = |input: &Value| {
        let kinds = input["signal"].as_array().into_iter().flatten().filter_map(|s| s["kind"].as_str());
        let kinds = kinds.collect::<Vec<_>>().join(" + ");
        (!kinds.is_empty()).then(|| format!("{}: {kinds}", input["to"].as_str().unwrap_or_default()))
    };
    settings["inputs"].as_array().into_iter().flatten().filter_map(one).collect()
}

/// An iteration as `outputs by broyden, tolerance 1e-8`.
fn iteration(iteration: &Value) -> String {
    let text = |key: &str| iteration[key].as_str().unwrap_or_default().to_owned();
    format!(
        "{} by {}, tolerance {:e}, otherwise {}",
        text("kind"),
        text("acceleration"),
        iteration["tolerance"].as_f64().unwrap_or_default(),
        text("otherwise")
    )
}

/// A coupling as `foh, start constant`.
fn inline(coupling: &Value) -> String {
    let Some(table) = coupling.as_object() else { return coupling.to_string() };
    let method = table.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    let rest = table.iter().filter(|(key, _)| *key != "method").map(|(key, value)| match value {
        // Matrices of models are no reading matter.
        Value::Object(models) if key == "learned" || key == "models" => {
            let names: Vec<&str> = models.keys().map(String::as_str).collect();
            format!("{key} {}", names.join(" and "))
        }
        Value::String(text) => format!("{key} {text}"),
        Value::Object(_) if key == "connections" || key == "default" => format!("{key}: {}", nested(value)),
        other => format!("{key} {other}"),
    });
    std::iter::once(method).chain(rest).collect::<Vec<_>>().join(", ")
}

fn nested(value: &Value) -> String {
    if value.get("method").is_some() {
        return inline(value);
    }
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, coupling)| format!("{name} {}", inline(coupling))).collect::<Vec<_>>().join("; ")
}

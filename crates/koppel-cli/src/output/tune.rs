//! What `koppel tune` has found: a table, or JSON.

use koppel::diagnostic::in_one_line;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use koppel::analysis::Forecast;
use koppel::coupling::CouplingConfig;
use koppel::plan::pareto::{Point, room};
use koppel::plan::tune::{Objective, Tuned as Found, Tuning};
use koppel::run::ScheduleConfig;
use koppel_session::Session;
use serde_json::{Value, json};

use super::forecast::percent;
use super::{Grid, SHOWN, quoted, significant};
use crate::commands::Verification;

/// What was found, and what was done with it.
pub(crate) struct Tuned<'a> {
    pub(crate) session: &'a Session,
    pub(crate) found: &'a Tuning,
    /// The recommended row, and what runs of copies have shown.
    pub(crate) verification: &'a Verification,
    /// Methods that cannot be used, and why.
    pub(crate) left_out: &'a [(String, String)],
    /// The wanted error.
    pub(crate) wanted: f64,
    pub(crate) forecast: &'a Forecast,
    /// The row that was written, and where.
    pub(crate) applied: Option<(usize, PathBuf)>,
}

/// Most characters of a schedule or a mixed coupling in the table.
const LONGEST: usize = 40;

impl Tuned<'_> {
    /// For readers.
    pub(crate) fn text(&self, plot: Option<&Path>) -> String {
        let mut text = String::new();
        if !self.session.spec.title.is_empty() {
            let _ = writeln!(text, "{}", self.session.spec.title);
        }
        text.push_str(&self.summary());
        for (method, reason) in self.left_out {
            let _ = writeln!(text, "  left out          {method}: {}", in_one_line(reason, 1));
        }
        text.push_str(&self.table());
        let _ = writeln!(text, "{}", self.to_take());
        if let Some((row, path)) = &self.applied {
            let _ = writeln!(text, "row {} was written into {}", row + 1, quoted(path));
        }
        if let Some(path) = plot {
            let _ = writeln!(text, "drawn in {}", quoted(path));
        }
        text
    }

    fn chosen(&self) -> Option<usize> {
        self.verification.row
    }

    fn summary(&self) -> String {
        let found = self.found;
        let names: Vec<&str> = found.objectives.iter().map(|objective| objective.name()).collect();
        let how = match found.is_complete {
            true => format!("all {} combinations were evaluated", found.judged),
            false => format!(
                "{} of about {} combinations were evaluated",
                found.judged,
                significant(found.combinations, 2)
            ),
        };
        let (from, to) = found.steps;
        let steps = if from == to { format!("{from} s") } else { format!("{from} to {to} s") };
        format!(
            "{} settings that no others beat in {}\n  {how}, steps {steps}\n",
            found.front.len(),
            joined(&names)
        )
    }

    fn table(&self) -> String {
        let has_error = self.found.front.iter().any(|one| one.score.error.is_some());
        let has_consistency = self.found.objectives.contains(&Objective::Consistency);
        let mut header = vec!["row", "step", "coupling", "schedule", "radius"];
        header.extend(has_error.then_some("error"));
        header.extend(has_consistency.then_some("consistency"));
        header.extend(["calls", ""]);
        let mut grid = Grid::new(&header);
        let rows = self.rows();
        let mut add = |number: String, one: &Found, mark: &str| {
            let score = &one.score;
            let mut cells = vec![
                number,
                format!("{} s", significant(one.candidate.step, 3)),
                coupling(&one.candidate.coupling),
                schedule(&one.candidate.schedule),
                significant(score.spectral_radius, 4),
            ];
            cells.extend(has_error.then(|| {
                score.error.map_or(String::new(), |error| format!("{} %", significant(100.0 * error, 2)))
            }));
            cells.extend(
                has_consistency.then(|| score.consistency.map_or(String::new(), |c| significant(c, 3))),
            );
            cells.extend([significant(score.cost.calls, 4), mark.to_owned()]);
            grid.add(cells);
        };
        for row in &rows {
            let one = &self.found.front[*row];
            let mark = match (self.chosen() == Some(*row), one.is_own) {
                (true, true) => "recommended; current",
                (true, false) => "recommended",
                (false, true) => "current",
                (false, false) => "",
            };
            add((row + 1).to_string(), one, mark);
        }
        let is_listed = self.found.front.iter().any(|one| one.is_own);
        if let Some(own) = self.found.own.as_ref().filter(|_| !is_listed) {
            add(String::new(), own, if own.score.is_stable { "current" } else { "current: unstable" });
        }
        let rest = self.found.front.len() - rows.len();
        match rest {
            0 => grid.whole(),
            _ => format!("{}  ... and {rest} more between them; --json lists all\n", grid.whole()),
        }
    }

    /// Rows that are shown: of many those with most room between them.
    fn rows(&self) -> Vec<usize> {
        let front = &self.found.front;
        if front.len() <= SHOWN {
            return (0..front.len()).collect();
        }
        let value = |one: &Found, objective: &Objective| objective.of(&one.score).unwrap_or(f64::INFINITY);
        let point = |one: &Found| Point::of(self.found.objectives.iter().map(|o| value(one, o)).collect());
        let points: Vec<Point> = front.iter().map(point).collect();
        let mut left: Vec<usize> = (0..front.len()).collect();
        while left.len() > SHOWN {
            // One at a time: what goes makes room for its neighbours.
            let room = room(&points, &left);
            let is_kept = |at: usize| self.chosen() == Some(left[at]) || front[left[at]].is_own;
            let free = (0..left.len()).filter(|at| !is_kept(*at));
            let Some(least) = free.min_by(|a, b| room[*a].total_cmp(&room[*b])) else { break };
            left.remove(least);
        }
        left
    }

    /// What runs of copies have shown, and which row to take.
    fn to_take(&self) -> String {
        let wanted = percent(self.wanted);
        let mut text = String::new();
        for (row, reason) in &self.verification.refused {
            let _ = writeln!(text, "row {} is not recommended: {reason}", row + 1);
        }
        let knows_errors = self.found.front.iter().any(|one| one.score.error.is_some());
        let confirmed = self.verification.confirmed.as_ref();
        let shown = confirmed.map_or("", |verified| verified.certificate.reason.as_str());
        let last = match self.chosen() {
            Some(row) if knows_errors => format!(
                "row {} is the cheapest that meets the error target of {wanted}, confirmed by a run of a copy ({shown}): --apply writes it",
                row + 1
            ),
            Some(row) => format!(
                "row {} is closest to the best in all objectives, confirmed by a run of a copy ({shown}): --apply writes it",
                row + 1
            ),
            None if !self.verification.refused.is_empty() => {
                "no row is recommended: what was predicted did not hold in runs of copies".to_owned()
            }
            None => format!("no row meets the error target of {wanted}: --apply N writes row N"),
        };
        text + &last
    }

    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let found = self.found;
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|(method, reason)| json!({ "method": method, "reason": reason }))
            .collect();
        let front: Vec<Value> =
            found.front.iter().enumerate().map(|(at, one)| row(Some(at + 1), one)).collect();
        let applied = self.applied.as_ref();
        let refused = self.verification.refused.iter();
        let refused: Vec<Value> =
            refused.map(|(row, reason)| json!({ "row": row + 1, "reason": reason })).collect();
        json!({
            "title": self.session.spec.title,
            "objectives": found.objectives,
            "front": front,
            "own": found.own.as_ref().map(|own| row(None, own)),
            "chosen": self.chosen().map(|at| at + 1),
            "error_target": self.wanted,
            "combinations": found.combinations,
            "evaluated": found.judged,
            "is_complete": found.is_complete,
            "steps": [found.steps.0, found.steps.1],
            "left_out": left_out,
            "trusted": self.forecast.holds(),
            "reason": self.forecast.reason,
            "linearised": self.forecast.linearised,
            "verified": self.verification.confirmed.as_ref().map(|verified| json!(verified.certificate)),
            "refused": refused,
            "applied": applied.map(|(row, path)| json!({ "row": row + 1, "file": path })),
        })
    }
}

fn row(number: Option<usize>, one: &Found) -> Value {
    let score = &one.score;
    json!({
        "row": number,
        "step": one.candidate.step,
        "coupling": one.candidate.coupling,
        "schedule": one.candidate.schedule,
        "spectral_radius": Some(score.spectral_radius).filter(|radius| radius.is_finite()),
        "is_stable": score.is_stable,
        "error": score.error.filter(|error| error.is_finite()),
        "consistency": score.consistency,
        "steps": score.cost.steps,
        "calls": score.cost.calls,
        "is_own": one.is_own,
    })
}

fn joined(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// `relaxed (alpha 0.6)`; of a mixed one what is not too long.
fn coupling(config: &CouplingConfig) -> String {
    let CouplingConfig::Mixed { default, connections } = config else { return method(config) };
    let own: Vec<String> = connections.iter().map(|(to, own)| format!("{to} {}", method(own))).collect();
    let all = format!("{}; {}", method(default), own.join("; "));
    if all.chars().count() <= 2 * LONGEST {
        return all;
    }
    let mut names: Vec<&str> = connections.values().map(CouplingConfig::name).collect();
    names.sort_unstable();
    names.dedup();
    format!("{}; {} of {} connections", method(default), names.join(", "), connections.len())
}

/// The name with what is not as usual.
fn method(config: &CouplingConfig) -> String {
    let name = config.name();
    let settings = |config: &CouplingConfig| match serde_json::to_value(config) {
        Ok(Value::Object(all)) => all,
        _ => serde_json::Map::new(),
    };
    let usual: Option<CouplingConfig> = serde_json::from_value(json!({ "method": name })).ok();
    let usual = usual.as_ref().map(settings).unwrap_or_default();
    let said = settings(config).into_iter().filter(|(key, value)| usual.get(key) != Some(value));
    let plain = |value: Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let said: Vec<String> = said.map(|(key, value)| format!("{key} {}", plain(value))).collect();
    let said = said.join(", ");
    match said.chars().count() {
        0 => name.to_owned(),
        1..=LONGEST => format!("{name} ({said})"),
        _ => format!("{name} (own settings)"),
    }
}

/// `parallel`, `sequence`, or names: groups stand in brackets.
fn schedule(config: &ScheduleConfig) -> String {
    let (text, stages) = match config {
        ScheduleConfig::Named(_) => return config.words().to_owned(),
        ScheduleConfig::Order(names) => (names.join(", "), names.len()),
        ScheduleConfig::Groups(groups) => {
            let group = |group: &Vec<String>| match group.as_slice() {
                [one] => one.clone(),
                many => format!("[{}]", many.join(" ")),
            };
            (groups.iter().map(group).collect::<Vec<_>>().join(", "), groups.len())
        }
    };
    if text.chars().count() <= LONGEST { text } else { format!("{stages} stages") }
}

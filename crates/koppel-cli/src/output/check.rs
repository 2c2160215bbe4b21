//! What `koppel check` has found.

use koppel::diagnostic::{Diagnostic, hint_line};
use std::fmt::Write as _;
use std::path::Path;

use koppel::analysis::{
    FilterChoice, Forecast, LoopReport, LoopStability, StepLoopReport, StructureReport, Verdict,
    ZeroStability,
};
use koppel_session::{Advice, Session};
use serde::Serialize;
use serde_json::Value;

use super::auto::{auto_document, explanation};
use super::{joined, quoted, significant};

/// A system that was looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    status: &'static str,
    title: String,
    /// The run in three lines.
    advice: Advice,
    /// Verdict, spectral radius, stability radius, stable steps.
    #[serde(flatten)]
    forecast: Forecast,
    /// If the step adapts: the largest, at which all of this is judged, and the smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<Limits>,
    /// True if disturbances of all loops die out, however small the step.
    zero_stable: bool,
    /// The largest factor from one communication point to the next.
    zero_stability_radius: f64,
    loops: Vec<Loop>,
    subsystems: Value,
    connections: Value,
    /// Subsystems that feed each other: what an iteration of steps repeats.
    step_loops: Vec<StepLoopReport>,
    filters: Vec<FilterChoice>,
    iteration: Value,
    reading: Value,
    coupling: Value,
    schedule: Value,
    /// What was chosen in place of `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<Value>,
    /// The same in words.
    #[serde(skip)]
    auto_words: Vec<(&'static str, String)>,
    /// What can be done about loops that are not zero-stable.
    remedies: Vec<String>,
}

/// Limits of a step that adapts.
#[derive(Debug, Serialize)]
struct Limits {
    largest: Limit,
    smallest: Limit,
}

/// A step that was judged.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    /// In s.
    pub(crate) step: f64,
    pub(crate) verdict: Verdict,
    pub(crate) spectral_radius: Option<f64>,
}

impl Limit {
    fn words(&self) -> String {
        let verdict = serde_json::to_value(self.verdict).unwrap_or_default();
        let radius = self.spectral_radius.map_or("unknown".into(), |radius| significant(radius, 4));
        let verdict = verdict.as_str().unwrap_or_default();
        format!("{} s: {verdict}, spectral radius {radius}", significant(self.step, 4))
    }
}

/// A loop, where it is cut, and whether it is stable.
#[derive(Debug, Serialize)]
struct Loop {
    #[serde(flatten)]
    report: LoopReport,
    gain: f64,
    radius: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    zero_stable: bool,
    can_iterate_outputs: bool,
    can_iterate_steps: bool,
}

impl Loop {
    fn new((report, stability): (LoopReport, LoopStability)) -> Self {
        Loop {
            gain: stability.gain,
            radius: stability.radius,
            problem: stability.problem,
            zero_stable: stability.is_stable,
            // Filtered, it is no algebraic loop any more: its steps can be repeated all the same.
            can_iterate_outputs: !report.is_filtered,
            can_iterate_steps: report.without_roll_back.is_empty(),
            report,
        }
    }

    fn text(&self, number: usize) -> String {
        let LoopReport { path, torn, is_smallest_cut, is_filtered, without_roll_back, .. } = &self.report;
        let mut text = format!("  loop {number}            {path}\n");
        let radius = self.radius.map_or("unknown".into(), |radius| significant(radius, 6));
        let verdict = match (self.zero_stable, &self.problem) {
            (true, _) => "zero-stable".to_owned(),
            (false, None) => "not zero-stable".to_owned(),
            (false, Some(problem)) => format!("not judged: {problem}"),
        };
        let _ =
            writeln!(text, "    radius          {radius} ({verdict}), gain {}", significant(self.gain, 6));
        let cut = if *is_smallest_cut { "the smallest cut" } else { "a cut found by a heuristic" };
        let _ = writeln!(text, "    torn at         {} ({cut})", joined(torn, ", "));
        let outputs = if *is_filtered { "not needed, a filter breaks it" } else { "can be iterated" };
        let steps = match without_roll_back.as_slice() {
            [] => "can be iterated".to_owned(),
            list => format!("cannot: `{}` cannot roll back", list.join("`, `")),
        };
        let _ = writeln!(text, "    outputs         {outputs}");
        let _ = writeln!(text, "    steps           {steps}");
        text
    }
}

impl Check {
    pub(crate) fn new(
        session: &Session,
        structure: StructureReport,
        stability: ZeroStability,
        filters: Vec<FilterChoice>,
        (forecast, smallest): (Forecast, Option<Limit>),
        wanted: f64,
    ) -> Self {
        let Forecast { verdict, spectral_radius, .. } = forecast;
        let largest = Limit { step: session.spec.run.step, verdict, spectral_radius };
        let settings = session.spec.to_json();
        let run = &settings["run"];
        let refused = stability.refuse_unstable(&session.spec.run).err();
        let remedies = refused.map(|error| error.hints()).unwrap_or_default();
        let ZeroStability { zero_stable, zero_stability_radius, loops, .. } = stability;
        Check {
            status: "checked",
            title: session.spec.title.clone(),
            advice: Advice::of_forecast(&forecast, session.spec.run.step, wanted),
            adaptive: smallest.map(|smallest| Limits { largest, smallest }),
            forecast,
            zero_stable,
            zero_stability_radius,
            subsystems: serde_json::to_value(&structure.subsystems).unwrap_or_default(),
            connections: serde_json::to_value(&structure.connections).unwrap_or_default(),
            step_loops: structure.step_loops,
            loops: structure.loops.into_iter().zip(loops).map(Loop::new).collect(),
            filters,
            iteration: run["iteration"].clone(),
            reading: run["reading"].clone(),
            coupling: run["coupling"].clone(),
            schedule: run["schedule"].clone(),
            auto: auto_document(session),
            auto_words: auto_words(session),
            remedies,
        }
    }

    /// What is to be expected of the run.
    pub(crate) fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// Whether the run is stable at its step, if the step adapts at its limits, and not refused.
    pub(crate) fn is_stable(&self) -> bool {
        let limits = self.adaptive.iter().flat_map(|limits| [&limits.largest, &limits.smallest]);
        let all = limits.map(|limit| limit.verdict).chain([self.forecast.verdict]);
        self.zero_stable && all.into_iter().all(|verdict| verdict == Verdict::Stable)
    }

    pub(crate) fn text(&self, wanted: f64, drawings: &[&Path]) -> String {
        let mut text = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        for (name, words) in self.advice.lines() {
            let _ = writeln!(text, "  {name:17} {words}");
        }
        for (name, value) in &self.auto_words {
            let _ = writeln!(text, "  {name:17} {value}");
        }
        text.push_str(&super::forecast::text(&self.forecast, wanted));
        if let Some(Limits { largest, smallest }) = &self.adaptive {
            let _ = writeln!(
                text,
                "  {:17} {} (the verdicts above are for this step)",
                "largest step",
                largest.words()
            );
            let _ = writeln!(text, "  {:17} {}", "smallest step", smallest.words());
        }
        for subsystem in self.subsystems.as_array().into_iter().flatten() {
            let name = subsystem["name"].as_str().unwrap_or_default();
            let _ = writeln!(text, "  {name:17} {}", feed_through(subsystem));
        }
        for (number, l) in self.loops.iter().enumerate() {
            text.push_str(&l.text(number + 1));
        }
        for l in &self.step_loops {
            let can = match l.without_roll_back.as_slice() {
                [] => format!("steps can be iterated on {}", joined(&l.torn, ", ")),
                list => format!("steps cannot be iterated: `{}` cannot roll back", list.join("`, `")),
            };
            let _ = writeln!(text, "  {:17} {can}", joined(&l.members, " <-> "));
        }
        self.filters.iter().for_each(|choice| {
            let _ = writeln!(text, "  {}", choice.words());
        });
        let verdict = match (self.loops.is_empty(), self.zero_stable) {
            (true, _) => "zero-stable: there is no algebraic loop".to_owned(),
            (false, true) => {
                format!("zero-stable: largest radius {}", significant(self.zero_stability_radius, 6))
            }
            (false, false) => {
                format!("not zero-stable: radius {}", significant(self.zero_stability_radius, 6))
            }
        };
        let remedies: String = self.remedies.iter().map(|way| hint_line(way)).collect();
        let _ = writeln!(text, "{verdict}{remedies}");
        drawings.iter().for_each(|path| {
            let _ = writeln!(text, "wrote {}", quoted(path));
        });
        text
    }
}

/// What was chosen, and what was not.
fn auto_words(session: &Session) -> Vec<(&'static str, String)> {
    let explained = session.chosen().map(explanation).unwrap_or_default();
    super::auto::facts(session)
        .into_iter()
        .filter(|(name, _)| *name != "next best")
        .chain(explained)
        .collect()
}

/// What follows what at once, and where that is known from.
fn feed_through(subsystem: &Value) -> String {
    let pairs = subsystem["feed_through"].as_array().into_iter().flatten().map(|pair| {
        let by: Vec<&str> = pair[1].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("{} => {}", by.join(", "), pair[0].as_str().unwrap_or_default())
    });
    let pairs: Vec<String> = pairs.collect();
    let source = match subsystem["source"].as_str().unwrap_or_default() {
        "declared" => return "no feed-through".to_owned(),
        "derivatives" => "by derivatives",
        _ => "by probing",
    };
    match pairs.is_empty() {
        true => format!("no feed-through found ({source})"),
        false => format!("{} ({source})", joined(&pairs, "; ")),
    }
}

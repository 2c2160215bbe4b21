//! The forecast of `koppel check` in words.

use std::fmt::Write as _;

use koppel::analysis::{
    Blame, Excitation, Forecast, Found, Interval, Limit, ModelTrust, Recommendation, Robustness, Verdict,
};
use koppel::run::ScheduleConfig;
use koppel::workbench::Identified;

use super::{joined, significant};

/// Lines of a list that are written out.
const LISTED: usize = 8;

/// The verdict in one line, then what it is drawn from.
pub(super) fn text(forecast: &Forecast, wanted: f64) -> String {
    let mut text = verdict(forecast);
    let mut line = |label: &str, words: &str| {
        let _ = writeln!(text, "  {label:17} {words}");
    };
    forecast
        .trust
        .models
        .iter()
        .filter(|model| !model.is_exact)
        .for_each(|model| line("model", &trust(model)));
    if let Some(time) = forecast.trust.walked_to {
        line("linearised", &format!("at the start and up to t = {} s", significant(time, 4)));
    }
    if let Some(doubt) = forecast.trust.doubt.as_ref().filter(|_| forecast.verdict != Verdict::Untrusted) {
        line("not known", &format!("error and better settings: {doubt}"));
    }
    if let Some(radius) = forecast.stability_radius.filter(|radius| *radius > 0.0 && forecast.holds()) {
        line("stability radius", &significant(radius, 3));
    }
    if let Some(mode) = forecast.modes.first().filter(|_| forecast.verdict != Verdict::Stable) {
        let outputs = joined(&mode.outputs, ", ");
        line("largest mode", &format!("{} Hz, visible at {outputs}", significant(mode.frequency, 3)));
    }
    if let Some(error) = &forecast.error {
        let worst = error.outputs.first().map_or("", |worst| worst.output.as_str());
        let after = match error.excitation {
            Excitation::Run => "",
            Excitation::Disturbance => " after a disturbance of all states",
        };
        let words = format!(
            "{} of its range at {worst}, over {} s{after}",
            percent(error.overall),
            significant(error.horizon, 4)
        );
        line("predicted error", &words);
    }
    if let Some(stiffness) = forecast.stiffness.as_ref().filter(|_| forecast.holds()) {
        let words = format!(
            "{}: time constants from {} to {} s",
            significant(stiffness.ratio, 2),
            significant(stiffness.fastest, 2),
            significant(stiffness.slowest, 2)
        );
        line("stiffness", &words);
    }
    if let Some(cost) = &forecast.cost {
        let words = format!(
            "{} macro steps, {} calls of subsystems",
            significant(cost.steps, 4),
            significant(cost.calls, 4)
        );
        line("cost", &words);
    }
    forecast
        .limits
        .iter()
        .for_each(|limit| line(if limit.is_own { "stable steps" } else { "" }, &steps(limit)));
    list(&mut line, "for error", &format!(" {}", percent(wanted)), &forecast.recommended, recommended);
    list(&mut line, "blame", "", &forecast.blame, blamed);
    forecast.left_out.iter().enumerate().for_each(|(place, words)| {
        line(if place == 0 { "left out" } else { "" }, words);
    });
    if let Some(robustness) = &forecast.robustness {
        robust(&mut line, robustness);
    }
    text
}

fn list<T>(
    line: &mut impl FnMut(&str, &str),
    label: &str,
    more: &str,
    items: &[T],
    words: impl Fn(&T) -> String,
) {
    for (place, item) in items.iter().take(LISTED).enumerate() {
        line(&if place == 0 { format!("{label}{more}") } else { String::new() }, &words(item));
    }
    if items.len() > LISTED {
        line("", &format!("and {} more", items.len() - LISTED));
    }
}

fn verdict(forecast: &Forecast) -> String {
    let radius = forecast.spectral_radius.map_or("infinite".into(), |radius| significant(radius, 6));
    let at = if forecast.holds() { "" } else { " at the start" };
    let found = match forecast.found {
        Some(Found::Running) => ", from runs of linear models: the method learns during the run",
        _ => "",
    };
    match forecast.verdict {
        Verdict::Stable if forecast.grows_by_itself => {
            format!(
                "stable: it grows only because the system itself is unstable (spectral radius {radius})\n"
            )
        }
        Verdict::Stable => format!("stable: spectral radius {radius} per step{at}{found}\n"),
        Verdict::Unstable => {
            let growth = forecast.spectral_radius.map_or(f64::INFINITY, |radius| 100.0 * (radius - 1.0));
            let growth = significant(growth, 2);
            let when = forecast.reason.as_ref().map_or(String::new(), |when| format!(" {when}"));
            format!(
                "unstable{when}: disturbances grow by {growth} % per step{at} (spectral radius {radius}{found})\n"
            )
        }
        Verdict::Marginal => {
            format!("marginal: disturbances neither grow nor decay (spectral radius {radius})\n")
        }
        Verdict::Untrusted => {
            format!("untrusted: {}\n", forecast.reason.as_deref().unwrap_or("no model is known"))
        }
    }
}

fn trust(model: &ModelTrust) -> String {
    let ModelTrust { subsystem, source, .. } = model;
    if let Some(found) = &model.identified {
        let run = model.error.map_or(String::new(), |error| format!(", {} over the run", percent(error)));
        return identified(subsystem, found) + &run;
    }
    match model.error {
        None => format!("{subsystem}: by {source}, not compared with the run"),
        Some(error) => {
            format!("{subsystem}: by {source}, error over the first steps {}", percent(error))
        }
    }
}

fn identified(subsystem: &str, found: &Identified) -> String {
    let states = match found.order {
        0 => "no states".into(),
        1 => "1 state".into(),
        order => format!("{order} states"),
    };
    let work = match found.from_cache {
        true => "known from an earlier run".into(),
        false => format!("{} steps, {} s", found.step_calls, significant(found.seconds, 2)),
    };
    let error = percent(found.error);
    format!("{subsystem}: identified by probing ({states}; {work}), error {error} on validation data")
}

fn recommended(item: &Recommendation) -> String {
    let error = item.error.map_or("unknown".into(), percent);
    format!(
        "{} s ({}, {}): error {error}, {} calls per simulated second",
        significant(item.step, 3),
        item.method,
        schedule(&item.schedule),
        significant(item.cost.calls_per_second, 3)
    )
}

fn blamed(item: &Blame) -> String {
    let error = item.error.map_or(String::new(), |error| format!(", error {}", percent(error)));
    let finding = match (item.restores_stability, item.halves_error) {
        (true, _) => ": restores stability",
        (false, true) => ": halves the error",
        (false, false) => "",
    };
    format!("{}, if ideal: radius {}{error}{finding}", item.connection, significant(item.spectral_radius, 4))
}

fn robust(line: &mut impl FnMut(&str, &str), robustness: &Robustness) {
    let variation = percent(robustness.variation);
    let label = format!("± {variation}");
    let verdict = match (robustness.survives, robustness.survives_together) {
        (true, true) => "stays stable, whichever parameters change".to_owned(),
        (true, false) => "stays stable if any one parameter changes, not if all do".to_owned(),
        (false, _) => {
            let broken = robustness.parameters.iter().filter(|range| !range.survives);
            let names: Vec<String> = broken.map(|range| range.parameter.clone()).collect();
            format!("becomes unstable if these change: {}", joined(&names, ", "))
        }
    };
    line(&label, &verdict);
    if let Some(radius) = robustness.stability_radius {
        line("", &format!("all at once: unstable beyond {}", percent(radius)));
    }
    for range in robustness.parameters.iter().filter(|range| range.stability_radius.is_some()).take(LISTED) {
        let ends = match range.stable_between {
            [Some(low), Some(high)] => {
                format!("stable from {} to {}", significant(low, 3), significant(high, 3))
            }
            [Some(low), None] => format!("stable from {}", significant(low, 3)),
            [None, Some(high)] => format!("stable up to {}", significant(high, 3)),
            [None, None] => continue,
        };
        line("", &format!("{} = {}: {ends}", range.parameter, significant(range.value, 4)));
    }
    for (parameter, reason) in robustness.left_out.iter().take(LISTED) {
        line("", &format!("{parameter} was not varied: {reason}"));
    }
}

pub(super) fn percent(part: f64) -> String {
    if part > 0.0 && part < 1e-5 {
        return "below 0.001 %".into();
    }
    format!("{} %", significant(100.0 * part, 2))
}

fn schedule(schedule: &ScheduleConfig) -> String {
    schedule.words().to_owned()
}

fn steps(limit: &Limit) -> String {
    let steps = match (&limit.problem, limit.intervals.as_slice()) {
        (Some(problem), _) if limit.is_refused => format!("none: {problem}"),
        (Some(problem), _) => format!("unknown: {problem}"),
        (None, []) => "none of those tried".to_owned(),
        (None, intervals) => intervals.iter().map(interval).collect::<Vec<_>>().join(" or "),
    };
    format!("{steps} ({}, {})", limit.method, schedule(&limit.schedule))
}

fn interval(interval: &Interval) -> String {
    let (from, to) = (significant(interval.from, 4), significant(interval.to, 4));
    match (interval.from_is_open, interval.to_is_open) {
        (true, true) => format!("all from {from} to {to} s"),
        (true, false) => format!("up to {to} s"),
        (false, true) => format!("from {from} s"),
        (false, false) => format!("{from} to {to} s"),
    }
}

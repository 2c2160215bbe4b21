//! The forecast of `koppel check` in words.

use std::fmt::Write as _;

use koppel::analysis::{Forecast, Interval, Limit, Verdict};

use super::{joined, significant};

/// The verdict in one line, then what it is drawn from.
pub(super) fn text(forecast: &Forecast) -> String {
    let radius = forecast.spectral_radius.map_or(String::new(), |radius| significant(radius, 6));
    let mut text = match forecast.verdict {
        Verdict::Stable => format!("stable: spectral radius {radius} per step\n"),
        Verdict::Unstable => {
            let growth = forecast.spectral_radius.map_or(f64::NAN, |radius| 100.0 * (radius - 1.0));
            let growth = significant(growth, 2);
            format!("unstable: disturbances grow by {growth} % per step (spectral radius {radius})\n")
        }
        Verdict::Marginal => {
            format!("marginal: disturbances neither grow nor die out (spectral radius {radius})\n")
        }
        Verdict::Untrusted => {
            format!("untrusted: {}\n", forecast.reason.as_deref().unwrap_or("nothing is known"))
        }
    };
    if !forecast.linearised.is_empty() {
        let _ = writeln!(
            text,
            "  linearised        {}: holds near the start",
            joined(&forecast.linearised, ", ")
        );
    }
    if let Some(radius) = forecast.stability_radius.filter(|radius| *radius > 0.0) {
        let _ = writeln!(text, "  stability radius  {}", significant(radius, 3));
    }
    if let Some(mode) = forecast.modes.first().filter(|_| forecast.verdict != Verdict::Stable) {
        let _ = writeln!(
            text,
            "  largest mode      {} Hz, seen by {}",
            significant(mode.frequency, 3),
            joined(&mode.outputs, ", ")
        );
    }
    forecast.limits.iter().for_each(|limit| text.push_str(&line(limit)));
    text
}

fn line(limit: &Limit) -> String {
    let schedule = match serde_json::to_value(&limit.schedule) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "own order".to_owned(),
    };
    let steps = match (&limit.problem, limit.intervals.as_slice()) {
        (Some(problem), _) => format!("not known: {problem}"),
        (None, []) => "none of those tried".to_owned(),
        (None, intervals) => intervals.iter().map(interval).collect::<Vec<_>>().join(" or "),
    };
    let label = if limit.is_own { "stable steps" } else { "" };
    format!("  {label:17} {steps} ({}, {schedule})\n", limit.method)
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

//! Stable steps of every method and schedule as a map (SVG): one bar each over the communication step.

use std::fmt::Write as _;

use koppel::analysis::{Forecast, Limit};
use koppel::run::ScheduleConfig;

use crate::report::escape;

const LEFT: f64 = 190.0;
const RIGHT: f64 = 760.0;
const TOP: f64 = 58.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;

/// The map, as a whole SVG document; `step` is the run's own.
#[must_use]
pub fn svg(title: &str, forecast: &Forecast, step: f64) -> String {
    let (low, high) = range(&forecast.limits, step);
    let place = |value: f64| {
        let part = (value / low).ln() / (high / low).ln();
        LEFT + part.clamp(0.0, 1.0) * (RIGHT - LEFT)
    };
    let rows = forecast.limits.len() as f64;
    let bottom = TOP + rows * ROW;
    let mut body = String::new();
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escape(words))
    };
    body.push_str(&text(LEFT, 20.0, "start", title));
    for power in low.log10().ceil() as i32..=high.log10().floor() as i32 {
        let x = place(10_f64.powi(power));
        let _ = writeln!(
            body,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ddd\"/>"
        );
        body.push_str(&text(x, bottom + 16.0, "middle", &format!("1e{power}")));
    }
    for (row, limit) in forecast.limits.iter().enumerate() {
        let y = TOP + row as f64 * ROW + (ROW - BAR) / 2.0;
        body.push_str(&text(LEFT - 10.0, y + BAR - 3.0, "end", &label(limit)));
        let mut bar = |from: f64, to: f64, colour: &str| {
            let width = (to - from).max(0.5);
            let _ = writeln!(
                body,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
            );
        };
        match &limit.problem {
            Some(_) => bar(LEFT, RIGHT, UNKNOWN),
            None => {
                bar(LEFT, RIGHT, UNSTABLE);
                limit.intervals.iter().for_each(|stable| bar(place(stable.from), place(stable.to), STABLE));
            }
        }
        if let Some(problem) = &limit.problem {
            body.push_str(&text(LEFT + 6.0, y + BAR - 3.0, "start", problem));
        }
        let fits =
            |r: &&koppel::analysis::Recommendation| r.method == limit.method && r.schedule == limit.schedule;
        if let Some(recommended) = forecast.recommended.iter().find(fits) {
            let (x, middle) = (place(recommended.step), y + BAR / 2.0);
            let _ = writeln!(
                body,
                "<circle cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"4\" fill=\"#000\"><title>recommended: {} s</title></circle>",
                recommended.step
            );
        }
    }
    let x = place(step);
    let _ = writeln!(
        body,
        "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>",
        TOP - 8.0
    );
    body.push_str(&text(x, TOP - 12.0, "middle", &format!("step of the run: {step} s")));
    body.push_str(&text((LEFT + RIGHT) / 2.0, bottom + 36.0, "middle", "communication step in s"));
    let legend = [(STABLE, "stable"), (UNSTABLE, "unstable"), (UNKNOWN, "not known")];
    for (k, (colour, words)) in legend.into_iter().enumerate() {
        let (x, y) = (LEFT + 110.0 * k as f64, bottom + 50.0);
        let _ =
            writeln!(body, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        body.push_str(&text(x + 18.0, y + 11.0, "start", words));
    }
    let y = bottom + 56.0;
    let _ = writeln!(body, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#000\"/>", LEFT + 336.0);
    body.push_str(&text(LEFT + 348.0, bottom + 61.0, "start", "recommended"));
    let height = bottom + 76.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {height:.0}\" width=\"800\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"800\" height=\"{height:.0}\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

/// Told apart by those who do not see all colours, too.
const STABLE: &str = "#009e73";
const UNSTABLE: &str = "#f0c8b4";
const UNKNOWN: &str = "#dddddd";

/// The steps that are known of.
fn range(limits: &[Limit], step: f64) -> (f64, f64) {
    let known = limits.iter().flat_map(|limit| &limit.intervals).flat_map(|i| [i.from, i.to]);
    let (low, high) = known.fold((step / 10.0, step * 10.0), |(l, h), value| (l.min(value), h.max(value)));
    (low, high * 1.2)
}

fn label(limit: &Limit) -> String {
    let schedule = match &limit.schedule {
        schedule if *schedule == ScheduleConfig::PARALLEL => "parallel",
        schedule if *schedule == ScheduleConfig::SEQUENCE => "sequence",
        _ => "own order",
    };
    let own = if limit.is_own { " (the run)" } else { "" };
    format!("{}, {schedule}{own}", limit.method)
}

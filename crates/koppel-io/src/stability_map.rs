//! Stable steps of every method and schedule as a map (SVG): one bar each over the communication step.

use koppel::analysis::{Forecast, Limit, Recommendation};
use koppel::run::ScheduleConfig;

use crate::canvas::{Axis, Canvas, Frame, Scale};

const LEFT: f64 = 190.0;
const RIGHT: f64 = 760.0;
const TOP: f64 = 58.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;

/// The map, as a whole SVG document; `step` is the run's own.
#[must_use]
pub fn svg(title: &str, forecast: &Forecast, step: f64) -> String {
    let bottom = TOP + forecast.limits.len() as f64 * ROW;
    let names: Vec<String> = forecast.limits.iter().map(label).collect();
    let frame = Frame {
        x: Axis::between(Scale::Logarithmic, range(&forecast.limits, step), [LEFT, RIGHT]),
        // The first row is at the top.
        y: Axis::names(&names, [TOP, bottom]),
    };
    let place = |value: f64| frame.x.place(value).unwrap_or(LEFT).clamp(LEFT, RIGHT);
    let mut canvas = Canvas::default();
    canvas.text(LEFT, 20.0, "start", title);
    frame.draw(&mut canvas);
    for (row, limit) in forecast.limits.iter().enumerate() {
        let y = TOP + row as f64 * ROW + (ROW - BAR) / 2.0;
        let mut bar =
            |from: f64, to: f64, fill: &str| canvas.rect([from, y], [(to - from).max(0.5), BAR], fill);
        match &limit.problem {
            Some(problem) => {
                bar(LEFT, RIGHT, UNKNOWN);
                canvas.text(LEFT + 6.0, y + BAR - 3.0, "start", problem);
            }
            None => {
                bar(LEFT, RIGHT, UNKNOWN);
                let [from, to] = limit.scanned.unwrap_or([0.0, 0.0]);
                bar(place(from), place(to), UNSTABLE);
                limit.unknown.iter().for_each(|gap| bar(place(gap[0]), place(gap[1]), UNKNOWN));
                limit.intervals.iter().for_each(|stable| bar(place(stable.from), place(stable.to), STABLE));
            }
        }
        let fits = |r: &&Recommendation| r.method == limit.method && r.schedule == limit.schedule;
        if let Some(Recommendation { step, .. }) = forecast.recommended.iter().find(fits) {
            canvas.point([place(*step), y + BAR / 2.0], 4.0, "black", &format!("recommended: {step} s"));
        }
    }
    let x = place(step);
    canvas.add(format_args!(
        "<path d=\"M{x:.1} {:.1}V{bottom:.1}\" stroke=\"black\" stroke-dasharray=\"4 3\"/>",
        TOP - 8.0
    ));
    canvas.text(x, TOP - 12.0, "middle", &format!("step of the run: {step} s"));
    canvas.text((LEFT + RIGHT) / 2.0, bottom + 36.0, "middle", "communication step in s");
    for (k, (fill, words)) in
        [(STABLE, "stable"), (UNSTABLE, "unstable"), (UNKNOWN, "not determined")].iter().enumerate()
    {
        let x = LEFT + 110.0 * k as f64;
        canvas.rect([x, bottom + 50.0], [12.0, 12.0], fill);
        canvas.text(x + 18.0, bottom + 61.0, "start", words);
    }
    canvas.point([LEFT + 376.0, bottom + 56.0], 4.0, "black", "");
    canvas.text(LEFT + 388.0, bottom + 61.0, "start", "recommended");
    canvas.svg(800.0, bottom + 76.0)
}

/// Distinguishable for readers who do not see all colours, too.
const STABLE: &str = "#009e73";
const UNSTABLE: &str = "#f0c8b4";
const UNKNOWN: &str = "#dddddd";

/// The steps that are known of.
fn range(limits: &[Limit], step: f64) -> [f64; 2] {
    let known = limits.iter().flat_map(|limit| &limit.intervals).flat_map(|i| [i.from, i.to]);
    let (low, high) = known.fold((step / 10.0, step * 10.0), |(l, h), value| (l.min(value), h.max(value)));
    [low, high * 1.2]
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

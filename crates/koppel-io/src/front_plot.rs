//! The best settings as a picture (SVG): one panel for each objective, over the cost if that counts.

use koppel::plan::tune::{Objective, Tuned, Tuning};

use crate::canvas::{Axis, Canvas, Frame, Scale, colour};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 46.0;
const LEGEND: f64 = 170.0;

/// The picture; `chosen` is the index of the recommended settings.
#[must_use]
pub fn svg(title: &str, tuning: &Tuning, chosen: Option<usize>) -> String {
    let across =
        if tuning.objectives.contains(&Objective::Cost) { Objective::Cost } else { tuning.objectives[0] };
    let mut up: Vec<Objective> = tuning.objectives.iter().copied().filter(|one| *one != across).collect();
    if up.is_empty() {
        up.push(Objective::Radius);
    }
    let methods = methods(&tuning.front);
    let mut canvas = Canvas::default();
    for (panel, objective) in up.iter().enumerate() {
        draw(&mut canvas, panel as f64 * (WIDTH + LEFT), [across, *objective], tuning, chosen, &methods);
    }
    let right = up.len() as f64 * (WIDTH + LEFT) + 16.0;
    let names = methods.iter().map(String::as_str).chain(["the current settings", "recommended"]);
    for (row, name) in names.enumerate() {
        let at = [right, TOP + 12.0 + 18.0 * row as f64];
        match row.checked_sub(methods.len()) {
            None => canvas.point(at, 4.0, colour(row), ""),
            Some(0) => cross(&mut canvas, at),
            Some(_) => ring(&mut canvas, at),
        }
        canvas.text(right + 12.0, at[1] + 4.0, "start", name);
    }
    canvas.text(LEFT, 22.0, "start", title);
    canvas.svg(right + LEGEND, TOP + HEIGHT + 46.0)
}

fn draw(
    canvas: &mut Canvas,
    offset: f64,
    [across, up]: [Objective; 2],
    tuning: &Tuning,
    chosen: Option<usize>,
    methods: &[String],
) {
    let value = |one: &Tuned, objective: Objective| objective.of(&one.score).unwrap_or(f64::NAN);
    let (left, right, bottom) = (LEFT + offset, WIDTH + offset, TOP + HEIGHT);
    let frame = Frame {
        x: Axis::new(scale(across), tuning.front.iter().map(|one| value(one, across)), [left, right]),
        y: Axis::new(scale(up), tuning.front.iter().map(|one| value(one, up)), [bottom, TOP]),
    };
    frame.draw(canvas);
    canvas.text(0.5 * (left + right), bottom + 36.0, "middle", words(across));
    canvas.text(left, TOP - 8.0, "start", words(up));
    let place = |one: &Tuned| frame.place(value(one, across), value(one, up));
    for (at, one) in tuning.front.iter().enumerate() {
        let Some(point) = place(one) else { continue };
        let row = methods.iter().position(|method| *method == method_of(one)).unwrap_or(0);
        canvas.point(point, 4.0, colour(row), &format!("{}: {}", at + 1, one.candidate.words()));
        if chosen == Some(at) {
            ring(canvas, point);
        }
    }
    // Where it lies beyond the front it is not drawn: the front has the room.
    let is_inside = |[x, y]: &[f64; 2]| (left..=right).contains(x) && (TOP..=bottom).contains(y);
    let own = tuning.own.as_ref().filter(|own| own.score.is_stable).and_then(place).filter(is_inside);
    if let Some(point) = own {
        cross(canvas, point);
    }
}

fn cross(canvas: &mut Canvas, [x, y]: [f64; 2]) {
    canvas.path(&format!("M{:.1} {:.1}l8 8m0 -8l-8 8", x - 4.0, y - 4.0), "black", 1.0);
}

fn ring(canvas: &mut Canvas, [x, y]: [f64; 2]) {
    canvas.path(&format!("M{:.1} {y:.1}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0", x - 7.0), "black", 1.0);
}

fn scale(objective: Objective) -> Scale {
    match objective {
        Objective::Radius => Scale::Linear,
        Objective::Consistency | Objective::Error | Objective::Cost => Scale::Logarithmic,
    }
}

fn words(objective: Objective) -> &'static str {
    match objective {
        Objective::Radius => "spectral radius per step",
        Objective::Consistency => "relative consistency",
        Objective::Error => "predicted error over the range of each output",
        Objective::Cost => "calls of subsystems",
    }
}

/// The method of most connections, and whether some have another one.
fn method_of(one: &Tuned) -> String {
    match &one.candidate.coupling {
        koppel::coupling::CouplingConfig::Mixed { default, .. } => format!("{} and others", default.name()),
        coupling => coupling.name().to_owned(),
    }
}

fn methods(front: &[Tuned]) -> Vec<String> {
    let mut all: Vec<String> = front.iter().map(method_of).collect();
    all.sort_unstable();
    all.dedup();
    all
}

//! The best settings as a picture (SVG): one panel for each objective, over the cost if that counts.

use std::fmt::Write as _;

use koppel::plan::tune::{Objective, Tuned, Tuning};

use crate::plot::{Axis, COLOURS, Scale, escaped, label};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 46.0;
const LEGEND: f64 = 170.0;

/// The picture; `chosen` is the place of the settings to take.
#[must_use]
pub fn svg(title: &str, tuning: &Tuning, chosen: Option<usize>) -> String {
    let across =
        if tuning.objectives.contains(&Objective::Cost) { Objective::Cost } else { tuning.objectives[0] };
    let mut up: Vec<Objective> = tuning.objectives.iter().copied().filter(|one| *one != across).collect();
    if up.is_empty() {
        up.push(Objective::Radius);
    }
    let methods = methods(&tuning.front);
    let mut body = String::new();
    for (panel, objective) in up.iter().enumerate() {
        draw(&mut body, panel as f64 * (WIDTH + LEFT), [across, *objective], tuning, chosen, &methods);
    }
    let right = up.len() as f64 * (WIDTH + LEFT) + 16.0;
    for (row, method) in methods.iter().enumerate() {
        let y = TOP + 12.0 + 18.0 * row as f64;
        let _ = writeln!(body, "<circle cx=\"{right}\" cy=\"{y}\" r=\"4\" fill=\"{}\"/>", colour(row));
        text(&mut body, right + 12.0, y + 4.0, "start", method);
    }
    let y = TOP + 12.0 + 18.0 * methods.len() as f64;
    let _ = writeln!(body, "<path d=\"M{} {}l8 8m0 -8l-8 8\" stroke=\"#000\"/>", right - 4.0, y - 4.0);
    text(&mut body, right + 12.0, y + 4.0, "start", "the run as it stands");
    let y = y + 18.0;
    let _ = writeln!(body, "<circle cx=\"{right}\" cy=\"{y}\" r=\"7\" fill=\"none\" stroke=\"#000\"/>");
    text(&mut body, right + 12.0, y + 4.0, "start", "to take");
    text(&mut body, LEFT, 22.0, "start", title);
    let (width, height) = (right + LEGEND, TOP + HEIGHT + BOTTOM);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn draw(
    body: &mut String,
    offset: f64,
    [across, up]: [Objective; 2],
    tuning: &Tuning,
    chosen: Option<usize>,
    methods: &[String],
) {
    let value = |one: &Tuned, objective: Objective| objective.of(&one.score).unwrap_or(f64::NAN);
    let (left, right, bottom) = (LEFT + offset, WIDTH + offset, TOP + HEIGHT);
    let x = Axis::new(scale(across), tuning.front.iter().map(|one| value(one, across)), [left, right]);
    let y = Axis::new(scale(up), tuning.front.iter().map(|one| value(one, up)), [bottom, TOP]);
    for tick in x.ticks() {
        let Some(at) = x.place(tick) else { continue };
        let _ = writeln!(body, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
        text(body, at, bottom + 16.0, "middle", &label(tick));
    }
    for tick in y.ticks() {
        let Some(at) = y.place(tick) else { continue };
        let _ = writeln!(body, "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>");
        text(body, left - 6.0, at + 4.0, "end", &label(tick));
    }
    let _ = writeln!(body, "<path d=\"M{left} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#000\"/>");
    text(body, 0.5 * (left + right), bottom + 36.0, "middle", words(across));
    text(body, left, TOP - 8.0, "start", words(up));
    let place = |one: &Tuned| Some((x.place(value(one, across))?, y.place(value(one, up))?));
    for (at, one) in tuning.front.iter().enumerate() {
        let Some((cx, cy)) = place(one) else { continue };
        let row = methods.iter().position(|method| *method == method_of(one)).unwrap_or(0);
        let _ = writeln!(
            body,
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{}\"><title>{}: {}</title></circle>",
            colour(row),
            at + 1,
            escaped(&one.candidate.words())
        );
        if chosen == Some(at) {
            let _ = writeln!(
                body,
                "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"7\" fill=\"none\" stroke=\"#000\"/>"
            );
        }
    }
    // Where it lies beyond the front it is not drawn: the front has the room.
    let is_inside = |(cx, cy): &(f64, f64)| (left..=right).contains(cx) && (TOP..=bottom).contains(cy);
    if let Some((cx, cy)) =
        tuning.own.as_ref().filter(|own| own.score.is_stable).and_then(place).filter(is_inside)
    {
        let _ =
            writeln!(body, "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"#000\"/>", cx - 4.0, cy - 4.0);
    }
}

fn text(body: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ =
        writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
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

fn colour(row: usize) -> &'static str {
    COLOURS[row % COLOURS.len()]
}

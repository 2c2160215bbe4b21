//! A system as a drawing (SVG): subsystems as boxes, connections as arrows, algebraic loops in red.
//!
//! Subsystems stand in columns along the connections; those of one loop stand side by side. Arrows that lead back pass below.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use koppel::analysis::{StructureReport, ZeroStability};

use crate::canvas::Canvas;

const WIDTH: f64 = 170.0;
const LINE: f64 = 15.0;
const GAP: (f64, f64) = (120.0, 46.0);
const MARGIN: f64 = 30.0;
/// Labels of one arrow that are written out.
const LABELS: usize = 4;

struct Shape {
    x: f64,
    y: f64,
    height: f64,
}

/// All connections between two subsystems.
#[derive(Default)]
struct Arrow {
    labels: Vec<String>,
    is_in_loop: bool,
    is_filtered: bool,
}

/// The drawing, as a whole SVG document.
#[must_use]
pub fn svg(structure: &StructureReport, stability: &ZeroStability) -> String {
    let names: Vec<&str> = structure.subsystems.iter().map(|s| s.name.as_str()).collect();
    let owner = |port: &str| {
        let fits = |name: &&str| port.strip_prefix(*name).is_some_and(|rest| rest.starts_with('.'));
        let found = names.iter().enumerate().filter(|(_, name)| fits(name));
        found.max_by_key(|(_, name)| name.len()).map(|(place, _)| place)
    };
    let mut arrows: BTreeMap<(usize, usize), Arrow> = BTreeMap::new();
    for connection in &structure.connections {
        let (Some(from), Some(to)) = (owner(&connection.from), owner(&connection.to)) else { continue };
        let arrow = arrows.entry((from, to)).or_default();
        arrow.labels.push(connection.from[names[from].len() + 1..].to_owned());
        arrow.is_in_loop |= connection.is_in_loop;
        arrow.is_filtered |= connection.is_filtered;
    }
    let columns = columns(names.len(), &arrows);
    let shapes = place(structure, &columns);
    let lowest = shapes.iter().map(|s| s.y + s.height).fold(0.0, f64::max);
    let right = shapes.iter().map(|s| s.x + WIDTH).fold(0.0, f64::max);
    // Arrows that lead back reach beyond the boxes on both sides.
    let deepest = 22.0 * arrows.keys().filter(|(from, to)| shapes[*to].x <= shapes[*from].x).count() as f64;
    let beyond = (reach(deepest) - MARGIN / 2.0).max(0.0);
    let mut canvas = Canvas::default();
    canvas.add(format_args!("{STYLE}<g transform=\"translate({beyond} 0)\">"));
    let mut depth = 0.0;
    for ((from, to), arrow) in &arrows {
        draw_arrow(&mut canvas, &shapes, (*from, *to), arrow, lowest, &mut depth);
    }
    for (shape, subsystem) in shapes.iter().zip(&structure.subsystems) {
        draw_box(&mut canvas, shape, &subsystem.name, &notes(subsystem));
    }
    let legend = legend(stability);
    let height = lowest + depth + MARGIN + LINE * (legend.len() as f64 + 1.0);
    for (k, line) in legend.iter().enumerate() {
        canvas.text(MARGIN, height - MARGIN / 2.0 - LINE * (legend.len() - 1 - k) as f64, "start", line);
    }
    canvas.add(format_args!("</g>"));
    let longest = legend.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = (right + MARGIN).max(2.0 * MARGIN + 6.6 * longest as f64);
    canvas.svg(width + 2.0 * beyond, height + MARGIN / 2.0)
}

/// How far an arrow that leads back at this depth reaches beyond the boxes.
fn reach(depth: f64) -> f64 {
    24.0 + depth / 3.0
}

const STYLE: &str = r##"<style>
text { font-size: 11px; fill: #444; } .name text { font-size: 14px; font-weight: bold; fill: black; } .box { fill: #f4f7fb; stroke: #34506e; }
.arrow { fill: none; stroke: #5a6b7d; stroke-width: 1.4; } .loop { stroke: #c62828; stroke-width: 2; } .filtered { stroke-dasharray: 6 4; }
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker></defs>
"##;

/// In which column each subsystem stands: after all that feed it, unless it feeds them too.
fn columns(count: usize, arrows: &BTreeMap<(usize, usize), Arrow>) -> Vec<usize> {
    // Longest paths along arrows that lead on in the order of the list, which is the order in which subsystems move.
    let mut columns = vec![0; count];
    for (from, to) in arrows.keys().filter(|(from, to)| from < to) {
        columns[*to] = columns[*to].max(columns[*from] + 1);
    }
    columns
}

fn place(structure: &StructureReport, columns: &[usize]) -> Vec<Shape> {
    let mut next: BTreeMap<usize, f64> = BTreeMap::new();
    let shape = |(subsystem, column): (&_, &usize)| {
        let height = 30.0 + LINE * notes(subsystem).len() as f64;
        let y = next.entry(*column).or_insert(MARGIN);
        let shape = Shape { x: MARGIN + *column as f64 * (WIDTH + GAP.0), y: *y, height };
        *y += height + GAP.1;
        shape
    };
    structure.subsystems.iter().zip(columns).map(shape).collect()
}

/// What is written below the name: which outputs follow which inputs at once.
fn notes(subsystem: &koppel::analysis::SubsystemReport) -> Vec<String> {
    let mut notes: Vec<String> = subsystem
        .feed_through
        .iter()
        .take(LABELS)
        .map(|(output, by)| shortened(&format!("{} => {output}", by.join(", "))))
        .collect();
    match subsystem.feed_through.len().saturating_sub(LABELS) {
        0 => {}
        more => notes.push(format!("... and {more} more")),
    }
    notes
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 26;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 3).chain("...".chars()).collect()
}

fn draw_box(canvas: &mut Canvas, shape: &Shape, name: &str, notes: &[String]) {
    let Shape { x, y, height } = shape;
    canvas.add(format_args!(
        r#"<rect class="box" x="{x}" y="{y}" width="{WIDTH}" height="{height}" rx="6"/><g class="name">"#
    ));
    canvas.text(x + 10.0, y + 20.0, "start", &shortened(name));
    canvas.add(format_args!("</g>"));
    for (k, note) in notes.iter().enumerate() {
        canvas.text(x + 10.0, y + 20.0 + LINE * (k + 1) as f64, "start", note);
    }
}

fn draw_arrow(
    canvas: &mut Canvas,
    shapes: &[Shape],
    (from, to): (usize, usize),
    arrow: &Arrow,
    lowest: f64,
    depth: &mut f64,
) {
    let (a, b) = (&shapes[from], &shapes[to]);
    let (start, end) = ((a.x + WIDTH, a.y + a.height * 0.4), (b.x, b.y + b.height * 0.4));
    let (path, label) = if end.0 > start.0 {
        let bend = 0.5 * (end.0 - start.0);
        let path = format!(
            "M{} {} C{} {} {} {} {} {}",
            start.0,
            start.1,
            start.0 + bend,
            start.1,
            end.0 - bend,
            end.1,
            end.0,
            end.1
        );
        (path, (0.5 * (start.0 + end.0), 0.5 * (start.1 + end.1) - 5.0))
    } else {
        *depth += 22.0;
        let (low, reach) = (lowest + *depth, reach(*depth));
        let (start, end) = ((start.0, a.y + a.height * 0.75), (end.0, b.y + b.height * 0.75));
        let path = format!("M{} {} h{reach} V{low} H{} V{} h{reach}", start.0, start.1, end.0 - reach, end.1);
        (path, (0.5 * (start.0 + end.0), low - 4.0))
    };
    let mut class = "arrow".to_owned();
    for (is_so, name) in [(arrow.is_in_loop, " loop"), (arrow.is_filtered, " filtered")] {
        if is_so {
            class.push_str(name);
        }
    }
    let mut text = arrow.labels[..arrow.labels.len().min(LABELS)].join(", ");
    if arrow.labels.len() > LABELS {
        let _ = write!(text, " and {} more", arrow.labels.len() - LABELS);
    }
    canvas.add(format_args!(r#"<path class="{class}" d="{path}" marker-end="url(#tip)"/>"#));
    canvas.text(label.0, label.1, "middle", &text);
}

fn legend(stability: &ZeroStability) -> Vec<String> {
    let mut lines = vec![
        "red: algebraic loop; dashed: behind a filter; a => b: b follows a at the same instant".to_owned(),
    ];
    for l in &stability.loops {
        let radius = l.radius.map_or("unknown".into(), |radius| format!("{radius:.4}"));
        let verdict = if l.is_stable { "stable" } else { "not zero-stable" };
        lines.push(format!("{}: radius {radius}, {verdict}", l.path));
    }
    lines
}

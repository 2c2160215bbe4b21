//! What every picture (SVG) is drawn with: shapes, texts, axes, legends.

use koppel::signal::Bounds;
use std::fmt::{Arguments, Write as _};

use crate::number::significant;
use crate::report::escape;

/// Distinguishable for readers who do not see all colours, too.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// The colour of the k-th thing of its kind.
pub(crate) fn colour(k: usize) -> &'static str {
    COLOURS[k % COLOURS.len()]
}

/// A picture on its way.
#[derive(Default)]
pub(crate) struct Canvas(String);

impl Canvas {
    /// Adds an element.
    pub(crate) fn add(&mut self, element: Arguments<'_>) {
        let _ = writeln!(self.0, "{element}");
    }

    /// Words at a place, which is their `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, words: &str) {
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(words)
        ));
    }

    /// The same, turned about the place.
    pub(crate) fn turned(&mut self, [x, y]: [f64; 2], degrees: f64, anchor: &str, words: &str) {
        self.add(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate({degrees})\" text-anchor=\"{anchor}\">{}</text>",
            escape(words)
        ));
    }

    /// A line that is not filled.
    pub(crate) fn path(&mut self, path: &str, stroke: &str, width: f64) {
        self.add(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// A line through points; it breaks where one is missing.
    pub(crate) fn line(&mut self, points: impl Iterator<Item = Option<[f64; 2]>>, stroke: &str) {
        let (mut path, mut letter) = (String::new(), 'M');
        for point in points {
            let Some([x, y]) = point else {
                letter = 'M';
                continue;
            };
            let _ = write!(path, "{letter}{x:.2} {y:.2}");
            letter = 'L';
        }
        self.path(&path, stroke, 1.6);
    }

    /// A filled rectangle.
    pub(crate) fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], fill: &str) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        ));
    }

    /// A point, which tells `title` to a pointing device.
    pub(crate) fn point(&mut self, [x, y]: [f64; 2], radius: f64, fill: &str, title: &str) {
        let title =
            if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
        self.add(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\">{title}</circle>"
        ));
    }

    /// The whole document.
    pub(crate) fn svg(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.0
        )
    }
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten; what is not above zero is left out.
    Logarithmic,
}

/// One axis: from value to place.
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Places of `low` and `high`.
    ends: [f64; 2],
    /// Of values 0, 1, ..., if they are no numbers.
    names: Option<Vec<String>>,
}

/// Most names along an axis, and the longest.
const NAMES: f64 = 24.0;
const LONGEST: usize = 18;

impl Axis {
    /// An axis that holds all values; one by powers of ten begins and ends with one.
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>, ends: [f64; 2]) -> Self {
        let usable = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let Bounds { low, high } = Bounds::of(usable);
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let (low, high) = match scale {
            Scale::Logarithmic => {
                let (low, high) = (low.log10().floor(), high.log10().ceil());
                (10_f64.powf(low), 10_f64.powf(high.max(low + 1.0)))
            }
            Scale::Linear if low == high => (low - 1.0, high + 1.0),
            Scale::Linear => (low, high),
        };
        Axis { scale, low, high, ends, names: None }
    }

    /// An axis from one number to another.
    pub(crate) fn between(scale: Scale, [low, high]: [f64; 2], ends: [f64; 2]) -> Self {
        Axis { scale, low, high, ends, names: None }
    }

    /// Names; the k-th belongs to the value k.
    pub(crate) fn names(names: &[String], ends: [f64; 2]) -> Self {
        let high = names.len().max(1) as f64 - 0.5;
        Axis { scale: Scale::Linear, low: -0.5, high, ends, names: Some(names.to_vec()) }
    }

    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        part.is_finite().then(|| self.ends[0] + part * (self.ends[1] - self.ends[0]))
    }

    /// Places with a label.
    fn ticks(&self) -> Vec<(f64, String)> {
        if let Some(names) = &self.names {
            let every = (names.len() as f64 / NAMES).ceil().max(1.0) as usize;
            let ticks = names.iter().enumerate().step_by(every);
            return ticks.filter_map(|(k, name)| Some((self.place(k as f64)?, cut(name)))).collect();
        }
        let values: Vec<f64> = match self.scale {
            Scale::Logarithmic => {
                let (low, high) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
                let every = ((high - low) / 8 + 1) as usize;
                (low..=high).step_by(every).map(|power| 10_f64.powi(power)).collect()
            }
            Scale::Linear => {
                let rough = (self.high - self.low) / 6.0;
                let power = 10_f64.powf(rough.log10().floor());
                let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
                let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power);
                // Ends that are off by round-off count.
                let (first, last) = (self.low / step - 1e-9, self.high / step + 1e-9);
                let (first, last) = (first.ceil() as i64, last.floor() as i64);
                (first..=last).map(|k| k as f64 * step).collect()
            }
        };
        values.into_iter().filter_map(|value| Some((self.place(value)?, significant(value, 4)))).collect()
    }
}

fn cut(name: &str) -> String {
    match name.chars().count() {
        count if count > LONGEST => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        _ => name.to_owned(),
    }
}

/// Two axes.
pub(crate) struct Frame {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Frame {
    /// Where a point lies.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([self.x.place(x)?, self.y.place(y)?])
    }

    /// Lines and labels of both axes; `lines` along the axes themselves.
    pub(crate) fn draw(&self, canvas: &mut Canvas) {
        let ([left, right], [bottom, top]) = (self.x.ends, self.y.ends);
        for (at, label) in self.x.ticks() {
            if self.x.names.is_some() {
                canvas.turned([at, bottom + 14.0], -35.0, "end", &label);
            } else {
                canvas.path(&format!("M{at:.1} {top}V{bottom}"), "#ddd", 1.0);
                canvas.text(at, bottom + 16.0, "middle", &label);
            }
        }
        for (at, label) in self.y.ticks() {
            if self.y.names.is_none() {
                canvas.path(&format!("M{left} {at:.1}H{right}"), "#ddd", 1.0);
            }
            canvas.text(left - 6.0, at + 4.0, "end", &label);
        }
        canvas.path(&format!("M{left} {top}V{bottom}H{right}"), "black", 1.0);
    }

    /// What stands above, below and beside the axes.
    pub(crate) fn label(&self, canvas: &mut Canvas, title: &str, x: &str, y: &str) {
        let (middle, centre) =
            (0.5 * (self.x.ends[0] + self.x.ends[1]), 0.5 * (self.y.ends[0] + self.y.ends[1]));
        canvas.text(middle, 22.0, "middle", title);
        canvas.text(middle, HEIGHT - 10.0, "middle", x);
        canvas.turned([16.0, centre], -90.0, "middle", y);
    }

    /// The names of lines, beside the axes.
    pub(crate) fn legend<'a>(&self, canvas: &mut Canvas, names: impl Iterator<Item = &'a String>) {
        let (right, top) = (self.x.ends[1], self.y.ends[1]);
        for (k, name) in names.enumerate() {
            let y = top + 10.0 + 18.0 * k as f64;
            canvas.path(&format!("M{} {y}h22", right + 14.0), colour(k), 2.0);
            canvas.text(right + 42.0, y + 4.0, "start", &cut(name));
        }
    }
}

/// Size of pictures with one frame.
pub(crate) const WIDTH: f64 = 760.0;
pub(crate) const HEIGHT: f64 = 420.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_or_names() {
        let labels = |axis: &Axis| axis.ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        let axis = Axis::new(Scale::Logarithmic, [1e-4, 1.0].into_iter(), [0.0, 1.0]);
        assert_eq!((labels(&axis).len(), axis.place(1e-2)), (5, Some(0.5)));
        let axis = Axis::new(Scale::Linear, [0.0, 0.6].into_iter(), [0.0, 1.0]);
        assert_eq!(labels(&axis), ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]);
        let axis = Axis::names(&["short".into(), "a".repeat(20)], [0.0, 4.0]);
        assert_eq!(labels(&axis), ["short".to_owned(), "a".repeat(17) + "…"]);
        assert_eq!((axis.place(0.0), axis.place(1.0)), (Some(1.0), Some(3.0)));
    }
}

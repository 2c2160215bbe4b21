//! Lines or bars over the levels of a factor, which stand side by side at equal distances.

use std::fmt::Write as _;

use super::{HEAD, escaped, label};
use crate::analysis::short;

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Points joined by lines.
    Lines,
    /// Bars from zero.
    Bars,
}

/// A picture over levels.
pub struct Levels {
    /// Above the picture.
    pub title: String,
    /// Below the horizontal axis.
    pub x: String,
    /// Beside the vertical axis.
    pub y: String,
    /// Names along the horizontal axis.
    pub levels: Vec<String>,
    /// Name for the legend, and a value per level; NaN is a gap.
    pub series: Vec<(String, Vec<f64>)>,
    /// Lines or bars.
    pub mark: Mark,
}

const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];
/// Left, right, top, bottom.
const AREA: [f64; 4] = [80.0, 580.0, 40.0, 340.0];
/// Series that are in the legend.
const SHOWN: usize = 16;

impl Levels {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = AREA;
        let all = || self.series.iter().flat_map(|(_, values)| values).copied().filter(|v| v.is_finite());
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let axis = Axis::new(low, high, self.mark);
        let count = self.levels.len().max(1) as f64;
        let x = |k: usize| left + (k as f64 + 0.5) / count * (right - left);
        let y = |value: f64| bottom - axis.part(value) * (bottom - top);
        let mut out = String::from(HEAD);
        let mut add = |line: std::fmt::Arguments<'_>| writeln!(out, "{line}").unwrap_or(());
        for tick in axis.ticks() {
            let at = y(tick);
            add(format_args!("<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>"));
            add(format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                short(tick)
            ));
        }
        let every = (self.levels.len() as f64 / 24.0).ceil().max(1.0) as usize;
        for (k, name) in self.levels.iter().enumerate().step_by(every) {
            add(format_args!(
                "<text transform=\"translate({:.1} {}) rotate(-35)\" text-anchor=\"end\" font-size=\"10\">{}</text>",
                x(k),
                bottom + 14.0,
                label(name)
            ));
        }
        for (k, (name, values)) in self.series.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            match self.mark {
                Mark::Bars => {
                    let wide = 0.8 * (right - left) / count;
                    for (level, value) in values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                        let (from, to) = (y(value.max(axis.low)), y(axis.low));
                        let from_x = x(level) - 0.5 * wide;
                        add(format_args!(
                            "<rect x=\"{from_x:.1}\" y=\"{from:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                            to - from
                        ));
                    }
                }
                Mark::Lines => {
                    let mut path = String::new();
                    let mut letter = 'M';
                    for (level, value) in values.iter().enumerate() {
                        if !value.is_finite() {
                            letter = 'M';
                            continue;
                        }
                        let (x, y) = (x(level), y(*value));
                        write!(path, "{letter}{x:.1} {y:.1}").unwrap_or(());
                        letter = 'L';
                        add(format_args!(
                            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>"
                        ));
                    }
                    add(format_args!(
                        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
                    ));
                }
            }
            if self.series.len() > 1 && k < SHOWN {
                let at = top + 10.0 + 18.0 * k as f64;
                add(format_args!(
                    "<path d=\"M{} {at}h22\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                    right + 14.0
                ));
                add(format_args!(
                    "<text x=\"{}\" y=\"{}\" font-size=\"11\">{}</text>",
                    right + 42.0,
                    at + 4.0,
                    label(name)
                ));
            }
        }
        add(format_args!("<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>"));
        let middle = 0.5 * (left + right);
        add(format_args!(
            "<text x=\"{middle}\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">{}</text>",
            escaped(&self.title)
        ));
        add(format_args!(
            "<text x=\"{middle}\" y=\"412\" text-anchor=\"middle\">{}</text>",
            escaped(&self.x)
        ));
        let centre = 0.5 * (top + bottom);
        add(format_args!(
            "<text transform=\"translate(16 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        ));
        out.push_str("</svg>\n");
        out
    }
}

/// The vertical axis; by the logarithm where lines span more than two decades.
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Axis {
    fn new(low: f64, high: f64, mark: Mark) -> Self {
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        if mark == Mark::Bars {
            return Axis { low: low.min(0.0), high: if high > 0.0 { high } else { 1.0 }, is_log: false };
        }
        if low > 0.0 && high / low > 100.0 {
            let (low, high) = (10_f64.powf(low.log10().floor()), 10_f64.powf(high.log10().ceil()));
            return Axis { low, high, is_log: true };
        }
        let room = if high > low { 0.04 * (high - low) } else { high.abs().max(1.0) * 0.5 };
        Axis { low: low - room, high: high + room, is_log: false }
    }

    fn part(&self, value: f64) -> f64 {
        if self.is_log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            return (low..=high)
                .step_by(((high - low) / 8 + 1) as usize)
                .map(|power| 10_f64.powi(power))
                .collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= rough).unwrap_or(power);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|k| k as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_on_zero_and_the_largest_reaches_the_top() {
        let picture = Levels {
            title: "t".into(),
            x: "x".into(),
            y: "y".into(),
            levels: vec!["a".into(), "b".into()],
            series: vec![("n".into(), vec![5.0, 10.0])],
            mark: Mark::Bars,
        };
        let svg = picture.svg();
        assert!(svg.contains("y=\"190.0\" width=\"200.0\" height=\"150.0\""), "{svg}");
        assert!(svg.contains("y=\"40.0\" width=\"200.0\" height=\"300.0\""), "{svg}");
    }

    #[test]
    fn decades_are_even() {
        let axis = Axis::new(1e-4, 1.0, Mark::Lines);
        assert!(axis.is_log && (axis.part(1e-2) - 0.5).abs() < 1e-12);
        assert_eq!(axis.ticks().len(), 5);
    }
}

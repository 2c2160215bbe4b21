//! Numbers by two lists of names as coloured cells.

use std::fmt::Write as _;

use super::{HEAD, escaped, label};
use crate::analysis::short;

/// A heat map.
pub struct HeatMap {
    /// Above the picture.
    pub title: String,
    /// Name of the horizontal axis.
    pub x: String,
    /// Name of the vertical axis.
    pub y: String,
    /// Names along the horizontal axis.
    pub columns: Vec<String>,
    /// Names along the vertical axis, from the bottom.
    pub rows: Vec<String>,
    /// By column, then row; NaN is left blank.
    pub values: Vec<Vec<f64>>,
}

/// Dark blue to yellow: lightness grows evenly, also for those who do not see all colours.
const COLOURS: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];

impl HeatMap {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let (left, top, width, height) = (150.0, 40.0, 480.0, 300.0);
        let all = || self.values.iter().flatten().copied().filter(|v| v.is_finite());
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (wide, high_cell) =
            (width / self.columns.len().max(1) as f64, height / self.rows.len().max(1) as f64);
        let mut out = String::from(HEAD);
        let mut add = |line: std::fmt::Arguments<'_>| writeln!(out, "{line}").unwrap_or(());
        let middle = left + 0.5 * width;
        add(format_args!(
            "<text x=\"{middle}\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">{}</text>",
            escaped(&self.title)
        ));
        for (i, column) in self.values.iter().enumerate() {
            for (j, value) in column.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                // The first row is at the bottom, as on an axis.
                let (x, y) = (left + i as f64 * wide, top + height - (j + 1) as f64 * high_cell);
                let part = if high > low { (value - low) / (high - low) } else { 0.5 };
                let colour = colour(part);
                add(format_args!(
                    "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{wide:.2}\" height=\"{high_cell:.2}\" fill=\"{colour}\"/>"
                ));
                if wide >= 44.0 && high_cell >= 16.0 {
                    let ink = if part > 0.6 { "black" } else { "white" };
                    let (x, y) = (x + 0.5 * wide, y + 0.5 * high_cell + 4.0);
                    add(format_args!(
                        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"{ink}\" font-size=\"10\">{}</text>",
                        short(*value)
                    ));
                }
            }
        }
        let every = |count: usize, room: f64| (count as f64 * room).ceil().max(1.0) as usize;
        for (i, name) in self.columns.iter().enumerate().step_by(every(self.columns.len(), 1.0 / 24.0)) {
            let (x, y) = (left + (i as f64 + 0.5) * wide, top + height + 12.0);
            add(format_args!(
                "<text transform=\"translate({x:.1} {y:.1}) rotate(-35)\" text-anchor=\"end\" font-size=\"10\">{}</text>",
                label(name)
            ));
        }
        for (j, name) in self.rows.iter().enumerate().step_by(every(self.rows.len(), 1.0 / 24.0)) {
            let y = top + height - (j as f64 + 0.5) * high_cell + 4.0;
            add(format_args!(
                "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\" font-size=\"10\">{}</text>",
                left - 6.0,
                label(name)
            ));
        }
        add(format_args!(
            "<text x=\"{middle}\" y=\"412\" text-anchor=\"middle\">{}</text>",
            escaped(&self.x)
        ));
        let centre = top + 0.5 * height;
        add(format_args!(
            "<text transform=\"translate(16 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        ));
        if low <= high {
            for k in 0..50 {
                let y = top + height * (1.0 - f64::from(k + 1) / 50.0);
                let colour = colour((f64::from(k) + 0.5) / 50.0);
                add(format_args!(
                    "<rect x=\"650\" y=\"{y:.1}\" width=\"16\" height=\"6.2\" fill=\"{colour}\"/>"
                ));
            }
            for (value, y) in [(high, top + 10.0), (low, top + height)] {
                add(format_args!("<text x=\"672\" y=\"{y}\" font-size=\"11\">{}</text>", short(value)));
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn colour(part: f64) -> String {
    let place = part.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let at = (place as usize).min(COLOURS.len() - 2);
    let mix = |k: usize| COLOURS[at][k] + (place - at as f64) * (COLOURS[at + 1][k] - COLOURS[at][k]);
    format!("#{:02x}{:02x}{:02x}", mix(0).round() as u8, mix(1).round() as u8, mix(2).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cell_is_yellow_and_gaps_stay_white() {
        let map = HeatMap {
            title: "a < b".into(),
            x: "x".into(),
            y: "y".into(),
            columns: vec!["1".into(), "2".into()],
            rows: vec!["3".into()],
            values: vec![vec![7.0], vec![f64::NAN]],
        };
        let svg = map.svg();
        assert!(svg.contains("a &lt; b") && svg.matches("height=\"300.00\"").count() == 1, "{svg}");
        assert_eq!((colour(0.0).as_str(), colour(1.0).as_str()), ("#440154", "#fde725"));
        assert_eq!(colour(0.5), "#21918c");
    }
}

//! Numbers by two lists of names as coloured cells.

use crate::canvas::{Axis, Canvas, Frame, HEIGHT, WIDTH};
use crate::number::significant;
use koppel::signal::Bounds;

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
        let (top, height) = (40.0, 300.0);
        let all = self.values.iter().flatten().copied().filter(|v| v.is_finite());
        let Bounds { low, high } = Bounds::of(all);
        let (x, y) =
            (Axis::names(&self.columns, [150.0, 630.0]), Axis::names(&self.rows, [top + height, top]));
        let frame = Frame { x, y };
        let size = [480.0 / self.columns.len().max(1) as f64, height / self.rows.len().max(1) as f64];
        let mut canvas = Canvas::default();
        frame.draw(&mut canvas);
        for (i, column) in self.values.iter().enumerate() {
            for (j, value) in column.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                let Some([x, y]) = frame.place(i as f64, j as f64) else { continue };
                let part = if high > low { (value - low) / (high - low) } else { 0.5 };
                canvas.rect([x - 0.5 * size[0], y - 0.5 * size[1]], size, &colour(part));
                if size[0] >= 44.0 && size[1] >= 16.0 {
                    let (ink, y) = (if part > 0.6 { "black" } else { "white" }, y + 4.0);
                    canvas.add(format_args!(
                        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"{ink}\" font-size=\"10\">{}</text>",
                        significant(*value, 4)
                    ));
                }
            }
        }
        frame.label(&mut canvas, &self.title, &self.x, &self.y);
        if low <= high {
            for k in 0..50 {
                let y = top + height * (1.0 - f64::from(k + 1) / 50.0);
                canvas.rect([650.0, y], [16.0, 6.2], &colour((f64::from(k) + 0.5) / 50.0));
            }
            for (value, y) in [(high, top + 10.0), (low, top + height)] {
                canvas.text(672.0, y, "start", &significant(value, 4));
            }
        }
        canvas.svg(WIDTH, HEIGHT)
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
        assert!(svg.contains("a &lt; b") && svg.matches("height=\"300.0\"").count() == 1, "{svg}");
        assert_eq!((colour(0.0).as_str(), colour(1.0).as_str()), ("#440154", "#fde725"));
        assert_eq!(colour(0.5), "#21918c");
    }
}

//! Lines or bars over the levels of a factor, which stand side by side at equal distances.

use crate::canvas::{Axis, Canvas, Frame, HEIGHT, Scale, WIDTH, colour};
use koppel::signal::Bounds;

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

/// Series that are in the legend.
const SHOWN: usize = 16;

impl Levels {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let frame = Frame { x: Axis::names(&self.levels, [80.0, 580.0]), y: self.axis([340.0, 40.0]) };
        let mut canvas = Canvas::default();
        frame.draw(&mut canvas);
        for (k, (_, values)) in self.series.iter().enumerate() {
            let places = values.iter().enumerate().map(|(level, value)| frame.place(level as f64, *value));
            match self.mark {
                Mark::Bars => {
                    let wide = 0.8 * 500.0 / self.levels.len().max(1) as f64;
                    for [x, y] in places.flatten() {
                        canvas.rect([x - 0.5 * wide, y], [wide, 340.0 - y], colour(k));
                    }
                }
                Mark::Lines => {
                    places.clone().flatten().for_each(|point| canvas.point(point, 2.6, colour(k), ""));
                    canvas.line(places, colour(k));
                }
            }
        }
        if self.series.len() > 1 {
            frame.legend(&mut canvas, self.series.iter().map(|(name, _)| name).take(SHOWN));
        }
        frame.label(&mut canvas, &self.title, &self.x, &self.y);
        canvas.svg(WIDTH, HEIGHT)
    }

    /// The vertical axis: of bars from zero, of lines by the logarithm where they span more than two decades.
    fn axis(&self, ends: [f64; 2]) -> Axis {
        let all = self.series.iter().flat_map(|(_, values)| values).copied().filter(|v| v.is_finite());
        let Bounds { low, high } = Bounds::of(all);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        if self.mark == Mark::Bars {
            let high = if high > 0.0 { high } else { 1.0 };
            return Axis::between(Scale::Linear, [low.min(0.0), high], ends);
        }
        if low > 0.0 && high / low > 100.0 {
            return Axis::new(Scale::Logarithmic, [low, high].into_iter(), ends);
        }
        let room = if high > low { 0.04 * (high - low) } else { high.abs().max(1.0) * 0.5 };
        Axis::between(Scale::Linear, [low - room, high + room], ends)
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
}

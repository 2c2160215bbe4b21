//! Curves as an SVG picture.

pub use crate::canvas::Scale;
use crate::canvas::{Axis, Canvas, Frame, HEIGHT, WIDTH, colour};

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// x and y; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// Curves with their axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above the picture.
    pub title: String,
    /// Below the horizontal axis.
    pub x: String,
    /// Beside the vertical axis.
    pub y: String,
    /// Of x and y.
    pub scale: [Scale; 2],
    /// The lines, in the order of the legend.
    pub curves: Vec<Curve>,
}

impl Plot {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.curves.iter().flat_map(|curve| &curve.points);
        let frame = Frame {
            x: Axis::new(self.scale[0], all().map(|point| point.0), [70.0, 600.0]),
            y: Axis::new(self.scale[1], all().map(|point| point.1), [370.0, 40.0]),
        };
        let mut canvas = Canvas::default();
        frame.draw(&mut canvas);
        frame.label(&mut canvas, &self.title, &self.x, &self.y);
        for (k, curve) in self.curves.iter().enumerate() {
            canvas.line(curve.points.iter().map(|(x, y)| frame.place(*x, *y)), colour(k));
        }
        frame.legend(&mut canvas, self.curves.iter().map(|curve| &curve.name));
        canvas.svg(WIDTH, HEIGHT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scale: [Scale; 2], points: Vec<(f64, f64)>) -> String {
        let curves = vec![Curve { name: "a < b".into(), points }];
        Plot { title: "t & u".into(), x: "x".into(), y: "y".into(), scale, curves }.svg()
    }

    #[test]
    fn ends_of_a_line_lie_on_the_corners() {
        let svg = plot([Scale::Linear; 2], vec![(0.0, -1.0), (2.0, 3.0)]);
        assert!(svg.contains("M70.00 370.00L600.00 40.00"), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("t &amp; u"));
    }

    #[test]
    fn decades_are_even_and_gaps_break_the_line() {
        let svg = plot([Scale::Logarithmic; 2], vec![(1e-2, 1e-4), (1.0, 1.0), (0.1, f64::NAN), (1.0, 1e-2)]);
        assert!(svg.contains("M70.00 370.00L600.00 40.00M600.00 205.00"), "{svg}");
        assert!(svg.contains(">0.01</text>") && svg.contains(">0.0001</text>"));
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        assert!(plot([Scale::Linear, Scale::Logarithmic], Vec::new()).ends_with("</svg>\n"));
    }
}

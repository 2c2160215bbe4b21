//! Curves as an SVG picture.

use std::fmt::Write as _;

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten; what is not above zero is left out.
    Logarithmic,
}

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

/// Place of the axes in the picture: left, right, top, bottom.
const AREA: [f64; 4] = [70.0, 600.0, 40.0, 370.0];
/// Told apart by those who do not see all colours, too.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// One axis: from value to place.
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Places of `low` and `high`.
    ends: [f64; 2],
}

impl Axis {
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>, ends: [f64; 2]) -> Self {
        let usable = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let (low, high) = match scale {
            Scale::Logarithmic => {
                let (low, high) = (low.log10().floor(), high.log10().ceil());
                (10_f64.powf(low), 10_f64.powf(high.max(low + 1.0)))
            }
            Scale::Linear if low == high => (low - 1.0, high + 1.0),
            Scale::Linear => (low, high),
        };
        Axis { scale, low, high, ends }
    }

    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        part.is_finite().then(|| self.ends[0] + part * (self.ends[1] - self.ends[0]))
    }

    /// Values with a line and a number.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Logarithmic => {
                let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                let every = ((high - low) / 8 + 1) as usize;
                (low..=high).step_by(every).map(|power| 10_f64.powi(power)).collect()
            }
            Scale::Linear => {
                let rough = (self.high - self.low) / 6.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= rough);
                let step = step.unwrap_or(power);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step).floor() as i64;
                (first..=last).map(|k| k as f64 * step).collect()
            }
        }
    }
}

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = AREA;
        let all = || self.curves.iter().flat_map(|curve| &curve.points);
        let x = Axis::new(self.scale[0], all().map(|point| point.0), [left, right]);
        let y = Axis::new(self.scale[1], all().map(|point| point.1), [bottom, top]);
        let mut out = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 420\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"760\" height=\"420\" fill=\"white\"/>\n",
        );
        let mut add = |line: std::fmt::Arguments<'_>| writeln!(out, "{line}").unwrap_or(());
        for value in x.ticks() {
            let Some(at) = x.place(value) else { continue };
            add(format_args!("<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/>"));
            add(format_args!(
                "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                label(value)
            ));
        }
        for value in y.ticks() {
            let Some(at) = y.place(value) else { continue };
            add(format_args!("<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>"));
            add(format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                label(value)
            ));
        }
        add(format_args!("<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>"));
        let middle = 0.5 * (left + right);
        add(format_args!(
            "<text x=\"{middle}\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">{}</text>",
            escaped(&self.title)
        ));
        add(format_args!(
            "<text x=\"{middle}\" y=\"406\" text-anchor=\"middle\">{}</text>",
            escaped(&self.x)
        ));
        let centre = 0.5 * (top + bottom);
        add(format_args!(
            "<text transform=\"translate(16 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        ));
        for (k, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let path = path(curve, &x, &y);
            add(format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"));
            let at = top + 10.0 + 18.0 * k as f64;
            add(format_args!(
                "<path d=\"M{} {at}h22\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                right + 14.0
            ));
            add(format_args!(
                "<text x=\"{}\" y=\"{}\">{}</text>",
                right + 42.0,
                at + 4.0,
                escaped(&curve.name)
            ));
        }
        out.push_str("</svg>\n");
        out
    }
}

/// One line; it breaks where points are missing.
fn path(curve: &Curve, x: &Axis, y: &Axis) -> String {
    let mut path = String::new();
    let mut is_broken = true;
    for (a, b) in &curve.points {
        match (x.place(*a), y.place(*b)) {
            (Some(a), Some(b)) => {
                let letter = if is_broken { 'M' } else { 'L' };
                write!(path, "{letter}{a:.2} {b:.2}").unwrap_or(());
                is_broken = false;
            }
            _ => is_broken = true,
        }
    }
    path
}

pub(crate) fn label(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
        assert!(svg.contains(">0.01</text>") && svg.contains(">1e-4</text>"));
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        assert!(plot([Scale::Linear, Scale::Logarithmic], Vec::new()).ends_with("</svg>\n"));
    }
}

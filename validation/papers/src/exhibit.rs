//! One table or figure of a paper: our numbers, the paper's, and how they compare.

use koppel_io::plot::{Curve, Plot, Scale};
use koppel_io::results::Cells;

/// What comparing has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ours is the paper's, as far as it can be read.
    Agrees,
    /// It is not, and why.
    Differs(String),
    /// The text gives nothing to compare with.
    NotDescribed,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Verdict::Agrees => "agrees".into(),
            Verdict::Differs(reason) => format!("differs: {reason}"),
            Verdict::NotDescribed => "not described in the text".into(),
        }
    }

    /// One word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs(_) => "differs",
            Verdict::NotDescribed => "not described",
        }
    }
}

/// One number or statement, ours and the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub what: String,
    /// What koppel finds.
    pub ours: String,
    /// What the paper says.
    pub paper: String,
    /// How far ours may lie from it.
    pub within: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// How far a number may lie from a printed one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Within {
    /// Half a unit of the last printed digit, or what else is said.
    Absolute(f64),
    /// A share of it.
    Relative(f64),
}

/// What is said where a difference was not foreseen.
const UNKNOWN: &str = "the reason is not known";

impl Comparison {
    /// A printed number.
    pub(crate) fn number(what: impl Into<String>, ours: f64, paper: f64, within: Within) -> Self {
        let (limit, words) = match within {
            Within::Absolute(limit) => (limit, format!("± {}", short(limit))),
            Within::Relative(share) => (share * paper.abs(), format!("± {} %", short(100.0 * share))),
        };
        let is_close = (ours - paper).abs() <= limit * (1.0 + 1e-9);
        let verdict = if is_close { Verdict::Agrees } else { Verdict::Differs(UNKNOWN.into()) };
        Comparison { what: what.into(), ours: short(ours), paper: short(paper), within: words, verdict }
    }

    /// What the text says about a figure; `seen` are the numbers it was judged by.
    pub(crate) fn statement(paper: impl Into<String>, holds: bool, seen: impl Into<String>) -> Self {
        let verdict = if holds { Verdict::Agrees } else { Verdict::Differs(UNKNOWN.into()) };
        Comparison {
            what: "statement".into(),
            ours: seen.into(),
            paper: paper.into(),
            within: String::new(),
            verdict,
        }
    }

    /// The reason, if it differs.
    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        if let Verdict::Differs(known) = &mut self.verdict {
            *known = reason.into();
        }
        self
    }

    pub(crate) fn what(mut self, what: impl Into<String>) -> Self {
        self.what = what.into();
        self
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Name of its file, without ending.
    pub name: String,
    /// The SVG document.
    pub svg: String,
}

/// One table or figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exhibit {
    /// As in the paper: `Table 3.4`, `Figures 3.53 to 3.56`, `(70)`.
    pub number: String,
    /// What it shows.
    pub title: String,
    /// How ours was made.
    pub how: String,
    /// What `--quick` leaves out; empty if nothing.
    pub reduced: String,
    /// Data: name of the file without ending, and its columns.
    pub data: Vec<(String, Vec<(String, Cells)>)>,
    /// Pictures.
    pub drawings: Vec<Drawing>,
    /// Ours beside the paper's.
    pub comparisons: Vec<Comparison>,
}

impl Exhibit {
    pub(crate) fn new(number: &str, title: &str, how: impl Into<String>) -> Self {
        Exhibit { number: number.into(), title: title.into(), how: how.into(), ..Exhibit::default() }
    }

    /// The verdict over all comparisons: agrees only if every one does.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut reasons: Vec<&str> = Vec::new();
        for comparison in &self.comparisons {
            if let Verdict::Differs(reason) = &comparison.verdict
                && !reasons.contains(&reason.as_str())
            {
                reasons.push(reason);
            }
        }
        match (self.comparisons.is_empty(), reasons.is_empty()) {
            (true, _) => Verdict::NotDescribed,
            (_, true) => Verdict::Agrees,
            _ => Verdict::Differs(reasons.join("; ")),
        }
    }

    /// Its name as part of a file name: `table-3.4`.
    #[must_use]
    pub fn slug(&self) -> String {
        let letters = self.number.to_lowercase();
        let parts = letters.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }

    pub(crate) fn compare(mut self, comparison: Comparison) -> Self {
        self.comparisons.push(comparison);
        self
    }

    pub(crate) fn compare_all(mut self, all: impl IntoIterator<Item = Comparison>) -> Self {
        self.comparisons.extend(all);
        self
    }

    pub(crate) fn table(mut self, name: &str, columns: Vec<(String, Cells)>) -> Self {
        self.data.push((name.into(), columns));
        self
    }

    pub(crate) fn drawing(mut self, name: &str, svg: String) -> Self {
        self.drawings.push(Drawing { name: name.into(), svg });
        self
    }

    pub(crate) fn reduced(mut self, is_quick: bool, what: &str) -> Self {
        if is_quick {
            self.reduced = what.into();
        }
        self
    }

    /// Curves, drawn and kept as data: one file with all curves if they share x, else one each.
    pub(crate) fn curves(mut self, name: &str, plot: Plot) -> Self {
        let xs = |curve: &Curve| curve.points.iter().map(|p| p.0.to_bits()).collect::<Vec<_>>();
        let is_shared = plot.curves.windows(2).all(|two| xs(&two[0]) == xs(&two[1]));
        let column = |curve: &Curve| Cells::Numbers(curve.points.iter().map(|p| p.1).collect());
        let first =
            |curve: &Curve| (plot.x.clone(), Cells::Numbers(curve.points.iter().map(|p| p.0).collect()));
        match plot.curves.first() {
            Some(one) if is_shared => {
                let own = plot.curves.iter().map(|curve| (curve.name.clone(), column(curve)));
                let columns = std::iter::once(first(one)).chain(own).collect();
                self.data.push((name.into(), columns));
            }
            _ => {
                for curve in &plot.curves {
                    let columns = vec![first(curve), (curve.name.clone(), column(curve))];
                    self.data.push((format!("{name}-{}", slug(&curve.name)), columns));
                }
            }
        }
        self.drawings.push(Drawing { name: name.into(), svg: plot.svg() });
        self
    }
}

fn slug(text: &str) -> String {
    let letters = text.to_lowercase();
    let parts = letters.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

/// A plot in one expression: title, names of the axes, their scales, curves.
pub(crate) fn plot(title: &str, [x, y]: [&str; 2], scale: [Scale; 2], curves: Vec<Curve>) -> Plot {
    Plot { title: title.into(), x: x.into(), y: y.into(), scale, curves }
}

pub(crate) fn curve(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    Curve { name: name.into(), points: points.into_iter().collect() }
}

pub(crate) fn numbers(name: &str, values: impl IntoIterator<Item = f64>) -> (String, Cells) {
    (name.into(), Cells::Numbers(values.into_iter().collect()))
}

pub(crate) fn texts<T: Into<String>>(name: &str, values: impl IntoIterator<Item = T>) -> (String, Cells) {
    (name.into(), Cells::Texts(values.into_iter().map(|text| Some(text.into())).collect()))
}

/// Four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor();
    let trimmed = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text.into() }
    };
    if !(-4.0..6.0).contains(&exponent) {
        let text = format!("{value:.3e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(mantissa));
    }
    let decimals = (3.0 - exponent).max(0.0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_within_its_limit_and_no_further() {
        let verdict = |ours| Comparison::number("x", ours, 0.45, Within::Absolute(0.005)).verdict;
        assert_eq!(verdict(0.455), Verdict::Agrees);
        assert!(matches!(verdict(0.4551), Verdict::Differs(_)));
        assert!(matches!(verdict(f64::NAN), Verdict::Differs(_)));
    }

    #[test]
    fn one_difference_is_enough_and_reasons_are_told_once() {
        let close = Comparison::number("x", 1.0, 1.0, Within::Relative(0.1));
        let far = || Comparison::number("y", 2.0, 1.0, Within::Relative(0.1)).because("another grid");
        let exhibit = Exhibit::new("Figure 1", "t", "h");
        assert_eq!(exhibit.verdict(), Verdict::NotDescribed);
        let exhibit = exhibit.compare(close);
        assert_eq!(exhibit.verdict(), Verdict::Agrees);
        let exhibit = exhibit.compare(far()).compare(far());
        assert_eq!(exhibit.verdict().words(), "differs: another grid");
    }

    #[test]
    fn names_of_files() {
        assert_eq!(Exhibit::new("Figures 3.53 to 3.56", "", "").slug(), "figures-3.53-to-3.56");
        assert_eq!(Exhibit::new("(63), (64)", "", "").slug(), "63-64");
    }

    #[test]
    fn four_digits() {
        let report = [0.0, 17.0, 0.012345, 1.5e-7, 123_456.0].map(short);
        assert_eq!(report, ["0", "17", "0.01235", "1.5e-7", "123456"]);
    }
}

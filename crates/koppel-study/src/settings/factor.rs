//! `[factors]`: what is varied, and over which values.
//!
//! ```toml
//! [factors]
//! "run.step" = [1e-3, 2e-3]                                   # a list
//! "right.ck" = { from = 1e4, to = 1e6, steps = 9, log = true } # a range
//! "left.m" = { distribution = "normal", mean = 10, deviation = 1 }
//! lag = { paths = ["run.coupling.model.N", "run.coupling.model.M"], values = [1, 2] }
//! ```

use koppel_io::system_file::{Entry, Fields, Mark, Marks, Node, Place, Span, SystemSpec, Value as Toml};
use serde::{Deserialize, Serialize};

use crate::design::normal_quantile;

type Result<T> = std::result::Result<T, Marks>;

/// How a factor is spaced and drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Numbers, evenly.
    Linear,
    /// Numbers, by their logarithm.
    Logarithmic,
    /// Names.
    Names,
}

/// One value of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// As TOML.
    pub text: String,
    /// For tables and plots.
    pub label: String,
    /// If it is a number.
    pub number: Option<f64>,
}

impl Value {
    fn of(node: &Node) -> Self {
        let text = match &node.value {
            // The shortest digits, not 300 zeros.
            Toml::Float(number) => format!("{number:?}"),
            _ => node.plain().to_string(),
        };
        let number = node.number("").ok();
        let label = match &node.value {
            Toml::Text(text) => text.clone(),
            _ => text.clone(),
        };
        Value { text, label, number }
    }

    fn number(number: f64, is_whole: bool) -> Self {
        let text = if is_whole { format!("{}", number.round() as i64) } else { format!("{number:?}") };
        Value { label: text.clone(), text, number: Some(if is_whole { number.round() } else { number }) }
    }
}

/// Where the values of a factor come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are the keys of a factor")]
pub enum Source {
    /// These, with their weights where they are drawn.
    List { values: Vec<Value>, weights: Vec<f64> },
    /// Evenly spaced, or by their logarithm.
    Range { from: f64, to: f64, steps: usize, is_log: bool, is_whole: bool },
    /// Drawn evenly between two numbers, or by their logarithm.
    Uniform { low: f64, high: f64, is_log: bool },
    /// Drawn from the bell curve.
    Normal { mean: f64, deviation: f64 },
}

impl Source {
    /// The values of a factorial plan; none for what can only be drawn.
    #[must_use]
    pub fn levels(&self) -> Option<Vec<Value>> {
        match self {
            Source::List { values, .. } => Some(values.clone()),
            Source::Range { from, to, steps, is_log, is_whole } => {
                let last = (*steps as f64 - 1.0).max(1.0);
                let at = |k: usize| match k {
                    0 => *from,
                    k if k + 1 == *steps => *to,
                    k => between(*from, *to, k as f64 / last, *is_log),
                };
                let mut levels: Vec<Value> = (0..*steps).map(|k| Value::number(at(k), *is_whole)).collect();
                // There may be fewer whole numbers than steps.
                levels.dedup_by(|a, b| a.text == b.text);
                Some(levels)
            }
            Source::Uniform { .. } | Source::Normal { .. } => None,
        }
    }

    /// The value that a share `u` of all draws lies below, 0 < u < 1; for a list its number too.
    #[must_use]
    pub fn quantile(&self, u: f64) -> (Option<usize>, Value) {
        match self {
            Source::List { values, weights } => {
                let whole: f64 = weights.iter().sum();
                let mut left = u * whole;
                let found = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                let index = found.unwrap_or(values.len() - 1);
                (Some(index), values[index].clone())
            }
            Source::Range { from, to, is_log, is_whole, .. } if *is_whole => {
                let number = between(*from - 0.5, *to + 0.5, u, false).round().clamp(*from, *to);
                (None, Value::number(if *is_log { between(*from, *to, u, true) } else { number }, true))
            }
            Source::Range { from: low, to: high, is_log, .. } | Source::Uniform { low, high, is_log } => {
                (None, Value::number(between(*low, *high, u, *is_log), false))
            }
            Source::Normal { mean, deviation } => {
                (None, Value::number(mean + deviation * normal_quantile(u), false))
            }
        }
    }

    /// How it is spaced.
    #[must_use]
    pub fn scale(&self) -> Scale {
        match self {
            Source::List { values, .. } if values.iter().any(|value| value.number.is_none()) => Scale::Names,
            Source::Range { is_log: true, .. } | Source::Uniform { is_log: true, .. } => Scale::Logarithmic,
            _ => Scale::Linear,
        }
    }

    /// True if it can only be drawn.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.levels().is_none()
    }
}

fn between(from: f64, to: f64, part: f64, is_log: bool) -> f64 {
    if is_log { from * (to / from).powf(part) } else { from + (to - from) * part }
}

/// Something that is varied.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Name of its column.
    pub name: String,
    /// The settings that get its value.
    pub places: Vec<Place>,
    /// Its values.
    pub source: Source,
    /// Where it stands in the study file.
    pub span: Span,
}

const KEYS: [&str; 15] = [
    "path",
    "paths",
    "values",
    "labels",
    "weights",
    "from",
    "to",
    "steps",
    "log",
    "whole",
    "distribution",
    "low",
    "high",
    "mean",
    "deviation",
];

/// Reads one entry of `[factors]`.
pub(super) fn read(entry: &Entry, system: &SystemSpec) -> Result<Factor> {
    let node = &entry.node;
    let mut paths = vec![(entry.name.clone(), entry.key.clone())];
    if let Some(path) = node.get("path") {
        paths = vec![(path.text("path")?.to_owned(), path.span.clone())];
    }
    if let Some(list) = node.get("paths") {
        let one = |path: &Node| Ok((path.text("paths")?.to_owned(), path.span.clone()));
        paths = list.list("paths")?.iter().map(one).collect::<Result<_>>()?;
        if paths.is_empty() {
            return Err(Mark::new(list.span.clone(), format!("factor `{}` has no path", entry.name)).into());
        }
    }
    let mut marks = Marks::default();
    let source = marks.note(source(&entry.name, node));
    let place = |(path, span): &(String, Span)| {
        marks.note(system.place(path, "factor").map_err(|error| super::moved(&error, span)))
    };
    let places = paths.iter().filter_map(place).collect();
    let (name, span) = (entry.name.clone(), entry.key.clone());
    match (source, marks.or(())) {
        (Some(source), Ok(())) => Ok(Factor { name, places, source, span }),
        (_, marks) => Err(marks.err().unwrap_or_default()),
    }
}

fn source(name: &str, node: &Node) -> Result<Source> {
    if let Toml::List(list) = &node.value {
        return listed(name, node, list, None, None);
    }
    node.table(name).map_err(|_| {
        Mark::new(node.span.clone(), format!("factor `{name}` has one value only"))
            .hint("give a list such as [1, 2], a range { from = 1, to = 2, steps = 5 }, or a distribution")
    })?;
    let mut fields = node.fields(&format!("factor `{name}`"), &KEYS)?.checked()?;
    if let Some(kind) = fields.get("distribution") {
        return distribution(name, node, kind, fields);
    }
    if let Some(values) = fields.get("values") {
        return listed(name, values, values.list("values")?, fields.get("labels"), fields.get("weights"));
    }
    let mut end = |key: &str| fields.want(key, |node| node.number(key));
    let (from, to) = (end("from"), end("to"));
    let mut flag = |key: &str| fields.read(key, |node| node.flag(key)).unwrap_or(false);
    let (is_log, is_whole) = (flag("log"), flag("whole"));
    let steps = fields.read("steps", |node| match node.value {
        Toml::Integer(count @ 1..=1_000_000) => Ok(count as usize),
        Toml::Integer(0) => Err(empty(name, &node.span, "it has no steps")),
        _ => Err(node.wanted("steps", "a whole number from 1 to 1000000")),
    });
    let steps = steps.unwrap_or(5);
    fields.or(())?;
    if from > to || (from == to && steps > 1) {
        return Err(empty(name, &node.span, &format!("{from} does not lie below {to}")).into());
    }
    positive(name, is_log, from, &node.span)?;
    Ok(Source::Range { from, to, steps, is_log, is_whole })
}

fn empty(name: &str, span: &Span, why: &str) -> Mark {
    Mark::new(span.clone(), format!("the range of factor `{name}` is empty: {why}"))
        .hint("give it at least one value")
}

fn positive(name: &str, is_log: bool, low: f64, span: &Span) -> Result<()> {
    if is_log && low <= 0.0 {
        let message = format!("factor `{name}` is spaced by its logarithm, but begins at {low}");
        let mark = Mark::new(span.clone(), message);
        return Err(mark.hint("begin above zero, or leave out the logarithm").into());
    }
    Ok(())
}

fn listed(
    name: &str,
    node: &Node,
    list: &[Node],
    labels: Option<&Node>,
    weights: Option<&Node>,
) -> Result<Source> {
    if list.is_empty() {
        return Err(empty(name, &node.span, "the list has no values").into());
    }
    let mut values: Vec<Value> = list.iter().map(Value::of).collect();
    let fits = |other: &Node, count: usize, what: &str| {
        let message = format!("factor `{name}` has {} values, but {count} {what}", list.len());
        if count == list.len() { Ok(()) } else { Err(Marks::from(Mark::new(other.span.clone(), message))) }
    };
    if let Some(labels) = labels {
        let texts = labels.list("labels")?;
        fits(labels, texts.len(), "labels")?;
        for (value, label) in values.iter_mut().zip(texts) {
            value.label = label.text("labels")?.to_owned();
            value.number = None;
        }
    }
    if let Some(at) = (1..values.len()).find(|at| values[..*at].iter().any(|v| v.label == values[*at].label))
    {
        let message = format!("factor `{name}` has the value `{}` twice", values[at].label);
        return Err(Mark::new(list[at].span.clone(), message).into());
    }
    let weights = match weights {
        None => vec![1.0; values.len()],
        Some(weights) => {
            let numbers = weights.numbers("weights")?;
            fits(weights, numbers.len(), "weights")?;
            if numbers.iter().any(|w| *w < 0.0) || numbers.iter().sum::<f64>() <= 0.0 {
                let message = "weights are not below zero, and one of them is above";
                return Err(Mark::new(weights.span.clone(), message).into());
            }
            numbers
        }
    };
    Ok(Source::List { values, weights })
}

fn distribution(name: &str, node: &Node, kind: &Node, mut fields: Fields<'_>) -> Result<Source> {
    let mut both = |one: &str, other: &str| -> (f64, f64) {
        (fields.want(one, |node| node.number(one)), fields.want(other, |node| node.number(other)))
    };
    match kind.text("distribution")? {
        shape @ ("uniform" | "log-uniform") => {
            let ((low, high), is_log) = (both("low", "high"), shape == "log-uniform");
            fields.or(())?;
            if low >= high {
                return Err(empty(name, &node.span, &format!("{low} does not lie below {high}")).into());
            }
            positive(name, is_log, low, &node.span)?;
            Ok(Source::Uniform { low, high, is_log })
        }
        "normal" => {
            let (mean, deviation) = both("mean", "deviation");
            fields.or(())?;
            if deviation <= 0.0 {
                return Err(empty(name, &node.span, "`deviation` is not above zero").into());
            }
            Ok(Source::Normal { mean, deviation })
        }
        "choice" => {
            let values = fields.need("values")?;
            listed(name, values, values.list("values")?, fields.get("labels"), fields.get("weights"))
        }
        other => {
            let known = ["uniform", "log-uniform", "normal", "choice"].map(ToOwned::to_owned);
            Err(Mark::unknown(kind.span.clone(), "distribution", other, &known).into())
        }
    }
}

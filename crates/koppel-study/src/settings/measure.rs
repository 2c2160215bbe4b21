//! `[measures]`: what is told of each run.
//!
//! ```toml
//! [measures]
//! error = { error = "all" }                           # against the reference
//! peak = { of = "abs(left.x - 0.1)", take = "max" }    # of a signal, or an expression of signals
//! stable = { stable = "bounded", limit = 10 }
//! radius = { forecast = "spectral-radius" }
//! certain = { certificate = "error" }
//! iterations = { figure = "iterations" }
//! score = "error * iterations"                         # of measures above, and factors
//! ```

use koppel::expression::Expression;
use koppel_io::system_file::{Entry, Mark, Node, Span, Value as Toml};

use super::factor::Factor;

type Result<T> = std::result::Result<T, Mark>;

/// What is taken of a course over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Take {
    Final,
    Max,
    Min,
    Mean,
    Rms,
    Range,
    Integral,
}

/// How the errors of several signals become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Mean over the signals of a subsystem, Euclidean norm over subsystems: Genser 2020, (3.9) and (3.10).
    Norm,
    /// The largest.
    Max,
    /// The mean.
    Mean,
}

/// What counts as bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many times the largest value of the reference.
    Times(f64),
    /// The number itself.
    Below(f64),
}

/// Numbers that are told of a run, by its statistics, its step matrix or its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Figure {
    Steps,
    Iterations,
    Halvings,
    Seconds,
    Defect,
    SpectralRadius,
    StabilityRadius,
    Consistency,
    CertifiedError,
    MostError,
    Trusted,
    Wrong,
}

impl Figure {
    /// True if the certificate tells it.
    pub(crate) fn is_of_certificate(self) -> bool {
        CERTIFICATES.iter().any(|(_, figure)| *figure == self)
    }
}

/// What a measure measures.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the keys of a measure")]
pub enum Kind {
    /// A signal, or an expression of signals.
    Signal { of: Expression, take: Take },
    /// The difference from the reference; no signals means all outputs.
    Error { signals: Vec<String>, take: Take, is_relative: bool, combine: Combine },
    /// 1 if the run came to its end and these signals stayed within a limit, else 0; no signals means all outputs.
    Bounded { signals: Vec<String>, limit: Limit },
    /// 1 if the step matrix has all eigenvalues inside the unit circle, else 0.
    ForecastStable,
    /// A number of the run or its forecast.
    Figure(Figure),
    /// An expression of earlier measures and factors that are numbers.
    Expression(Expression),
}

/// One number per run.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Name of its column.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its value in a run that failed.
    pub failed: Option<f64>,
    /// What is above counts as this.
    pub most: Option<f64>,
    /// Whether two runs of the same settings give the same number.
    pub is_repeatable: bool,
    /// Where it stands in the study file.
    pub span: Span,
}

impl Measure {
    /// True if it needs a reference.
    #[must_use]
    pub fn needs_reference(&self) -> bool {
        matches!(&self.kind, Kind::Error { .. } | Kind::Bounded { limit: Limit::Times(_), .. })
    }

    /// True for measures that are 1 or 0.
    #[must_use]
    pub fn is_stability(&self) -> bool {
        matches!(&self.kind, Kind::Bounded { .. } | Kind::ForecastStable)
    }
}

const TAKES: [(&str, Take); 7] = [
    ("final", Take::Final),
    ("max", Take::Max),
    ("min", Take::Min),
    ("mean", Take::Mean),
    ("rms", Take::Rms),
    ("range", Take::Range),
    ("integral", Take::Integral),
];
const COMBINE: [(&str, Combine); 3] =
    [("norm", Combine::Norm), ("max", Combine::Max), ("mean", Combine::Mean)];
const FIGURES: [(&str, Figure); 5] = [
    ("steps", Figure::Steps),
    ("iterations", Figure::Iterations),
    ("halvings", Figure::Halvings),
    ("seconds", Figure::Seconds),
    ("defect", Figure::Defect),
];
const FORECASTS: [(&str, Figure); 3] = [
    ("spectral-radius", Figure::SpectralRadius),
    ("stability-radius", Figure::StabilityRadius),
    ("consistency", Figure::Consistency),
];
const CERTIFICATES: [(&str, Figure); 4] = [
    ("error", Figure::CertifiedError),
    ("most", Figure::MostError),
    ("trusted", Figure::Trusted),
    ("wrong", Figure::Wrong),
];

fn chosen<T: Copy>(node: &Node, what: &'static str, known: &[(&str, T)]) -> Result<T> {
    let name = node.text(what)?;
    let names: Vec<String> = known.iter().map(|(name, _)| (*name).to_owned()).collect();
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| Mark::unknown(node.span.clone(), what, name, &names))
}

/// Reads `[measures]`.
pub(super) fn read(node: &Node, factors: &[Factor]) -> Result<Vec<Measure>> {
    let mut measures: Vec<Measure> = Vec::new();
    for entry in node.table("[measures]")? {
        let taken = factors.iter().any(|factor| factor.name == entry.name);
        if taken || ["run", "failure", "ended_by"].contains(&entry.name.as_str()) {
            let message = format!("the name `{}` is taken by another column", entry.name);
            return Err(Mark::new(entry.key.clone(), message));
        }
        let measure = one(entry, &measures, factors)?;
        measures.push(measure);
    }
    if measures.is_empty() {
        return Err(Mark::new(node.span.clone(), "the study measures nothing")
            .hint("write such as final = { of = \"left.x\", take = \"final\" } below [measures]"));
    }
    Ok(measures)
}

fn one(entry: &Entry, before: &[Measure], factors: &[Factor]) -> Result<Measure> {
    let node = &entry.node;
    let measure = |kind: Kind, failed, most| Measure {
        name: entry.name.clone(),
        is_repeatable: is_repeatable(&kind, before),
        kind,
        failed,
        most,
        span: entry.key.clone(),
    };
    if let Toml::Text(text) = &node.value {
        let expression = parse(text, node)?;
        let numeric = |factor: &&Factor| factor.source.scale() != super::factor::Scale::Names;
        let known: Vec<String> = before
            .iter()
            .map(|measure| measure.name.clone())
            .chain(factors.iter().filter(numeric).map(|factor| factor.name.clone()))
            .collect();
        if let Some(name) = expression.names().iter().find(|name| !known.contains(name)) {
            return Err(Mark::unknown(node.span.clone(), "measure above or numeric factor", name, &known));
        }
        return Ok(measure(Kind::Expression(expression), None, None));
    }
    let what = format!("measure `{}`", entry.name);
    let keys = [
        "of",
        "error",
        "stable",
        "forecast",
        "certificate",
        "figure",
        "take",
        "relative",
        "combine",
        "limit",
        "below",
        "signals",
        "failed",
        "most",
    ];
    let fields = node.fields(&what, &keys)?;
    let most = fields.get("most").map(|node| node.number("most")).transpose()?;
    let failed = fields.get("failed").map(|node| node.number("failed")).transpose()?.or(most);
    let take = |default: Take| fields.get("take").map_or(Ok(default), |node| chosen(node, "take", &TAKES));
    let always = ["failed", "most"];
    let allow = |allowed: &[&str]| -> Result<()> {
        match node
            .entries()
            .iter()
            .find(|e| !always.contains(&e.name.as_str()) && !allowed.contains(&e.name.as_str()))
        {
            None => Ok(()),
            Some(wrong) => {
                Err(Mark::new(wrong.key.clone(), format!("`{}` does not go with {what}", wrong.name))
                    .hint(format!("with `{}` go: `{}`", allowed[0], allowed[1..].join("`, `"))))
            }
        }
    };
    let kind = if let Some(of) = fields.get("of") {
        allow(&["of", "take"])?;
        Kind::Signal { of: parse(of.text("of")?, of)?, take: take(Take::Final)? }
    } else if let Some(signals) = fields.get("error") {
        allow(&["error", "take", "relative", "combine"])?;
        let is_relative = match fields.get("relative").map(|node| (&node.value, node)) {
            None => true,
            Some((Toml::Bool(value), _)) => *value,
            Some((_, node)) => return Err(node.wanted("relative", "true or false")),
        };
        let combine =
            fields.get("combine").map_or(Ok(Combine::Norm), |node| chosen(node, "combine", &COMBINE))?;
        Kind::Error { signals: names(signals, "error")?, take: take(Take::Mean)?, is_relative, combine }
    } else if let Some(stable) = fields.get("stable") {
        match chosen(stable, "stable", &[("bounded", true), ("forecast", false)])? {
            false => {
                allow(&["stable"])?;
                Kind::ForecastStable
            }
            true => {
                allow(&["stable", "limit", "below", "signals"])?;
                let limit = match (fields.get("limit"), fields.get("below")) {
                    (_, Some(below)) => Limit::Below(below.number("below")?),
                    (Some(limit), None) => Limit::Times(limit.number("limit")?),
                    (None, None) => Limit::Times(10.0),
                };
                let signals = fields.get("signals").map_or(Ok(Vec::new()), |node| names(node, "signals"))?;
                Kind::Bounded { signals, limit }
            }
        }
    } else if let Some(forecast) = fields.get("forecast") {
        allow(&["forecast"])?;
        Kind::Figure(chosen(forecast, "forecast", &FORECASTS)?)
    } else if let Some(certificate) = fields.get("certificate") {
        allow(&["certificate"])?;
        Kind::Figure(chosen(certificate, "certificate", &CERTIFICATES)?)
    } else if let Some(figure) = fields.get("figure") {
        allow(&["figure"])?;
        Kind::Figure(chosen(figure, "figure", &FIGURES)?)
    } else {
        return Err(Mark::new(entry.key.clone(), format!("{what} says not what it measures"))
            .hint("give one of: `of`, `error`, `stable`, `forecast`, `certificate`, `figure`"));
    };
    Ok(measure(kind, failed, most))
}

/// Times are not, nor is what is made of them.
fn is_repeatable(kind: &Kind, before: &[Measure]) -> bool {
    match kind {
        Kind::Figure(Figure::Seconds) => false,
        Kind::Expression(expression) => {
            let of = |name: &String| before.iter().find(|measure| measure.name == *name);
            expression.names().iter().filter_map(of).all(|measure| measure.is_repeatable)
        }
        _ => true,
    }
}

/// `"all"`, a name, or a list of names.
fn names(node: &Node, what: &str) -> Result<Vec<String>> {
    match &node.value {
        Toml::Text(text) if text == "all" => Ok(Vec::new()),
        Toml::Text(text) => Ok(vec![text.clone()]),
        Toml::List(list) if !list.is_empty() => {
            list.iter().map(|name| Ok(name.text(what)?.to_owned())).collect()
        }
        _ => Err(node.wanted(what, "\"all\", a signal, or a list of signals")),
    }
}

fn parse(text: &str, node: &Node) -> Result<Expression> {
    Expression::parse(text).map_err(|error| Mark::of(node.span.clone(), &error))
}

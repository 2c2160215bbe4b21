//! `[measures]`: the measures of each run.
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
use koppel_io::system_file::{Entry, Mark, Marks, Node, Span, Value as Toml};

use super::factor::Factor;

type Result<T> = std::result::Result<T, Marks>;

/// What is taken of a course over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Statistic {
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
    Signal { of: Expression, take: Statistic },
    /// The difference from the reference; no signals means all outputs.
    Error { signals: Vec<String>, take: Statistic, is_relative: bool, combine: Combine },
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

const TAKES: [(&str, Statistic); 7] = [
    ("final", Statistic::Final),
    ("max", Statistic::Max),
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("rms", Statistic::Rms),
    ("range", Statistic::Range),
    ("integral", Statistic::Integral),
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

/// One of several names.
pub(super) fn chosen<T: Copy>(node: &Node, what: &str, known: &[(&str, T)]) -> Result<T> {
    let name = node.text(what)?;
    let names: Vec<String> = known.iter().map(|(name, _)| (*name).to_owned()).collect();
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| Mark::unknown(node.span.clone(), what, name, &names).into())
}

/// Reads `[measures]`; `names` are those of all factors, also of those that have mistakes.
pub(super) fn read(node: &Node, factors: &[Factor], names: &[String]) -> Result<Vec<Measure>> {
    let (mut measures, mut marks) = (Vec::new(), Marks::default());
    let entries = node.table("[measures]")?;
    // Expressions may be of any that have mistakes.
    let mut unsure: Vec<&str> = names.iter().map(String::as_str).collect();
    unsure.retain(|name| !factors.iter().any(|factor| factor.name == *name));
    for entry in entries {
        if names.contains(&entry.name) || ["run", "failure", "ended_by"].contains(&entry.name.as_str()) {
            let message = format!("the name `{}` is taken by another column", entry.name);
            marks.add(Mark::new(entry.key.clone(), message));
        }
        match marks.note(one(entry, &measures, factors, &unsure)) {
            Some(measure) => measures.extend(measure),
            None => unsure.push(&entry.name),
        }
    }
    if entries.is_empty() {
        return Err(Mark::new(node.span.clone(), "the study measures nothing")
            .hint("write such as final = { of = \"left.x\", take = \"final\" } below [measures]")
            .into());
    }
    marks.or(measures)
}

/// Reads one measure; nothing for an expression of what has mistakes.
fn one(entry: &Entry, before: &[Measure], factors: &[Factor], unsure: &[&str]) -> Result<Option<Measure>> {
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
        let unknown = |name: &&String| !known.contains(name) && !unsure.contains(&name.as_str());
        let kind = "measure above or numeric factor";
        let unknown = expression.names().iter().filter(unknown);
        let marks: Marks = unknown.map(|name| Mark::unknown(node.span.clone(), kind, name, &known)).collect();
        let is_sure = !expression.names().iter().any(|name| unsure.contains(&name.as_str()));
        return marks.or(is_sure.then(|| measure(Kind::Expression(expression), None, None)));
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
    let mut fields = node.fields(&what, &keys)?;
    let most = fields.read("most", |node| node.number("most"));
    let failed = fields.read("failed", |node| node.number("failed")).or(most);
    let take = fields.read("take", |node| chosen(node, "take", &TAKES));
    let is_relative = fields.read("relative", |node| node.flag("relative")).unwrap_or(true);
    let combine = fields.read("combine", |node| chosen(node, "combine", &COMBINE)).unwrap_or(Combine::Norm);
    let limit = fields.read("limit", |node| node.number("limit")).map(Limit::Times);
    let limit = fields.read("below", |node| node.number("below")).map(Limit::Below).or(limit);
    let limit = limit.unwrap_or(Limit::Times(10.0));
    let (allowed, kind) = if fields.get("of").is_some() {
        let of = fields.read("of", |of| parse(of.text("of")?, of));
        (&["of", "take"][..], of.map(|of| Kind::Signal { of, take: take.unwrap_or(Statistic::Final) }))
    } else if fields.get("error").is_some() {
        let signals = fields.read("error", |node| names(node, "error")).unwrap_or_default();
        let take = take.unwrap_or(Statistic::Mean);
        (
            &["error", "take", "relative", "combine"][..],
            Some(Kind::Error { signals, take, is_relative, combine }),
        )
    } else if fields.get("stable").is_some() {
        let signals = fields.read("signals", |node| names(node, "signals")).unwrap_or_default();
        let known = [("bounded", true), ("forecast", false)];
        match fields.read("stable", |node| chosen(node, "stable", &known)) {
            Some(false) => (&["stable"][..], Some(Kind::ForecastStable)),
            _ => (&["stable", "limit", "below", "signals"][..], Some(Kind::Bounded { signals, limit })),
        }
    } else {
        let figures: [(&[&str], &[_]); 3] =
            [(&["forecast"], &FORECASTS), (&["certificate"], &CERTIFICATES), (&["figure"], &FIGURES)];
        let Some((key, known)) = figures.into_iter().find(|(key, _)| fields.get(key[0]).is_some()) else {
            fields.checked()?;
            return Err(Mark::new(entry.key.clone(), format!("{what} does not say what to measure"))
                .hint("give one of: `of`, `error`, `stable`, `forecast`, `certificate`, `figure`")
                .into());
        };
        let figure = fields.read(key[0], |node| chosen(node, key[0], known));
        (key, figure.map(Kind::Figure))
    };
    let goes =
        |name: &str| !keys.contains(&name) || ["failed", "most"].contains(&name) || allowed.contains(&name);
    for wrong in node.entries().iter().filter(|entry| !goes(&entry.name)) {
        let message = format!("`{}` does not go with {what}", wrong.name);
        let hint = format!("with `{}` go: `{}`", allowed[0], allowed[1..].join("`, `"));
        fields.note(Err::<(), _>(Mark::new(wrong.key.clone(), message).hint(hint)));
    }
    fields.or(kind.map(|kind| measure(kind, failed, most)))
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
        _ => Err(node.wanted(what, "\"all\", a signal, or a list of signals").into()),
    }
}

fn parse(text: &str, node: &Node) -> Result<Expression> {
    Expression::parse(text).map_err(|error| Mark::of(node.span.clone(), &error).into())
}

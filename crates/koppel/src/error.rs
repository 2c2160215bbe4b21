//! What can go wrong, in words a user can act on.

use crate::diagnostic::{Diagnosis, Diagnostic, Place, Seconds};
use crate::expression::ExpressionError;
use crate::linalg::LinalgError;
use crate::signal::external::ExternalError;
use crate::solver::SolverError;
use crate::unit::UnitError;
use std::fmt;

/// The library's result type.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// A user's mistake or a subsystem's failure. Bugs of koppel itself are panics, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Error {
    #[error("unknown {kind} `{name}`{}", known_names(.known, .name))]
    Unknown { kind: &'static str, name: String, known: Vec<String> },

    #[error("{kind} `{name}` is defined twice")]
    Duplicate { kind: &'static str, name: String },

    #[error(
        "input `{input}` is connected by two entries; sum the sources in one: from = [\"{first}\", \"{second}\"]"
    )]
    ConnectedTwice { input: String, first: String, second: String },

    #[error("{what}: `{value}` {problem}")]
    Setting { what: String, value: String, problem: String },

    #[error("parameter `{name}` of model `{model}`: `{value}` {problem}")]
    Parameter { model: String, name: String, value: f64, problem: String },

    #[error("block `{name}`: {problem}")]
    Block { name: String, problem: String },

    #[error("connection `{from}` -> `{to}`: {problem}")]
    Connection { from: String, to: String, problem: String },

    #[error("`{name}` is {found}, where {wanted} is needed")]
    WrongPort { name: String, found: &'static str, wanted: &'static str },

    #[error("connection `{from}` -> `{to}`: {source}")]
    ConnectionUnit { from: String, to: String, source: UnitError },

    #[error("{place}: {source}")]
    Unit { place: String, source: UnitError },

    #[error(
        "subsystem `{subsystem}`: matrix {matrix} is {found_rows}x{found_cols}, expected {rows}x{cols} ({reason})"
    )]
    MatrixShape {
        subsystem: String,
        matrix: &'static str,
        found_rows: usize,
        found_cols: usize,
        rows: usize,
        cols: usize,
        reason: &'static str,
    },

    #[error("`{place}` is not finite ({value})")]
    NotFinite { place: String, value: f64 },

    #[error("subsystem `{subsystem}`, variable `{variable}` became {value} at t = {at} s{}", .inputs.words(), at = Seconds(*.time))]
    BecameNonFinite { subsystem: String, variable: String, value: f64, time: f64, inputs: LastInputs },

    #[error(
        "`{output}`, about {value} at t = {at} s, exceeds 2^53 and cannot be represented exactly, but the output is {used}", at = Seconds(*.time))]
    NotExact { output: String, value: f64, time: f64, used: &'static str },

    #[error("subsystem `{subsystem}` failed at t = {at} s: {source}", at = Seconds(*.time))]
    Subsystem { subsystem: String, time: f64, source: Box<Error> },

    /// It asks to end the run. Where it names the time it has `reached`, it stands there and its outputs are those of then.
    #[error("{text}")]
    Terminated { reached: Option<f64>, text: String },

    #[error("predicting the inputs failed at t = {at} s: {source}", at = Seconds(*.time))]
    Prediction { time: f64, source: Box<Error> },

    #[error(
        "the loop {path} was not solved at t = {at} s: after {iterations} evaluations the relative residual is {residual:.3e}, of `{worst}`", at = Seconds(*.time))]
    LoopNotSolved { path: String, time: f64, residual: f64, iterations: usize, worst: String },

    #[error("after re-initialisation, `{variable}` is {found}, not its start value {wanted}")]
    NotPutBack { variable: String, found: f64, wanted: f64 },

    #[error("subsystem `{subsystem}` cannot be restored after it was probed before the run: {source}")]
    Probed { subsystem: String, source: Box<Error> },

    #[error("subsystem `{subsystem}` cannot roll back, but step iteration needs it (t = {at} s): {reason}", at = Seconds(*.time))]
    CannotRollBack { subsystem: String, time: f64, reason: String },

    #[error(
        "the run is not zero-stable: the loop {path} multiplies disturbances by {radius:.4} from one communication point to the next, however small the step (t = {at} s)", at = Seconds(*.time))]
    NotZeroStable { path: String, radius: f64, time: f64, ways: Vec<String> },

    #[error("connection `{connection}`: its map has no entry for {value} (t = {at} s)", at = Seconds(*.time))]
    Unmapped { connection: String, value: f64, time: f64 },

    #[error("equation of `{}`: {}{} (t = {at} s)", .trouble.variable, .trouble.reason, .trouble.written(), at = Seconds(*.time))]
    Equation { trouble: Trouble, time: f64 },

    #[error("endless event iteration: {action} {repeated} (t = {at} s)", at = Seconds(*.time))]
    Chattering { action: String, repeated: String, time: f64 },

    #[error("{what} is not possible: {reason}")]
    Unsupported { what: Subject, reason: String },

    #[error("{what}: {source}")]
    Linalg { what: String, source: LinalgError },

    #[error(transparent)]
    Solver(#[from] SolverError),

    #[error("external input of `{input}`: {source}")]
    External { input: String, source: ExternalError },

    #[error("in `{text}`: {source}")]
    Expression { text: String, source: ExpressionError },

    #[error("{source}")]
    Foreign { source: Box<dyn std::error::Error + Send + Sync>, hint: Option<String> },

    #[error("{source}")]
    Recorder { source: Box<dyn std::error::Error + Send + Sync> },

    /// Mistakes of parts that do not depend on each other.
    #[error("{first}{}", and_more(.others.len()))]
    Several { first: Box<Error>, others: Vec<Error> },
}

/// An operation whose result is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The variable whose equation it is.
    pub variable: String,
    /// The operation, as it is written.
    pub operation: String,
    /// Its line among the equations, counted from 1; 0 if it is not known.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Trouble {
    fn written(&self) -> String {
        match (self.operation.as_str(), self.line) {
            ("", _) => String::new(),
            (operation, 0) => format!(" in `{operation}`"),
            (operation, line) => format!(" in `{operation}`, line {line} of its equations"),
        }
    }
}

/// What an error is about, in words, and the name among them that the user gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    text: String,
    name: Option<String>,
}

impl Subject {
    /// What is said of something with a name.
    pub fn named(name: &str, text: impl Into<String>) -> Self {
        Subject { text: text.into(), name: Some(name.to_owned()) }
    }

    /// The name of a subsystem, a variable or a setting, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl From<String> for Subject {
    fn from(text: String) -> Self {
        Subject { text, name: None }
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The last inputs of a subsystem before one of its variables became infinite or NaN.
#[derive(Clone, Debug, PartialEq)]
pub enum LastInputs {
    /// Not determined yet.
    Unknown,
    /// All were finite; the largest of them, if there is any.
    Finite(Option<(String, f64)>),
    /// This one was not finite.
    NotFinite(String),
}

/// Inputs beyond this diverge: an unstable coupling is to blame, not what the subsystem makes of them.
const DIVERGING: f64 = 1e9;

impl LastInputs {
    /// True if a subsystem should be able to handle them.
    fn are_plausible(&self) -> bool {
        match self {
            LastInputs::Finite(largest) => largest.as_ref().is_none_or(|(_, value)| value.abs() < DIVERGING),
            LastInputs::NotFinite(_) | LastInputs::Unknown => false,
        }
    }

    fn words(&self) -> String {
        match self {
            LastInputs::Unknown => String::new(),
            LastInputs::Finite(None) => "; it has no inputs".into(),
            LastInputs::Finite(Some((name, value))) => {
                let which =
                    if self.are_plausible() { "from finite inputs" } else { "driven by diverging inputs" };
                format!(", {which} (largest: `{name}` = {})", short(*value))
            }
            LastInputs::NotFinite(name) => format!(", from an input that is not finite (`{name}`)"),
        }
    }
}

/// Four digits.
fn short(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.parse::<f64>() {
        Ok(rounded) if (1e-3..1e6).contains(&rounded.abs()) || rounded == 0.0 => rounded.to_string(),
        _ => text,
    }
}

impl From<SolverError> for Box<Error> {
    fn from(source: SolverError) -> Self {
        Box::new(Error::Solver(source))
    }
}

impl Error {
    /// What the user can do about it, when there is more to say than the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::BecameNonFinite { inputs, subsystem, .. } if inputs.are_plausible() => Some(format!(
                "`{subsystem}` itself computed it: check its parameters, its start values and these inputs; if koppel solves it, use a smaller solver step"
            )),
            Error::BecameNonFinite { .. } => Some(
                "the coupling or the subsystem's own solver is unstable: use a smaller communication step, another coupling, or a smaller solver step"
                    .into(),
            ),
            Error::Equation { .. } => Some(
                "look at the parameters, the start values and the inputs; guard against it with `max` or `if`, or write the equation in another form".into(),
            ),
            Error::Chattering { .. } => Some(
                "add hysteresis, or a discrete variable that stops the motion at low speed".into(),
            ),
            Error::NotExact { .. } => Some(
                "whole numbers are exact up to 2^53; leave it out of connections, `record` and `stop_when`".into(),
            ),
            Error::LoopNotSolved { .. } => {
                Some("use other start values, another acceleration or more iterations (run.iteration), or break the loop with a filter or a state".into())
            }
            Error::Probed { subsystem, .. } => Some(format!(
                "exclude it from probing: write probe = false below [subsystems.{subsystem}]; or use another coupling"
            )),
            Error::CannotRollBack { .. } => Some(
                "use iteration = { kind = \"outputs\" }, which repeats no step, or an FMU with canGetAndSetFMUState".into(),
            ),
            Error::NotZeroStable { ways, .. } => ways.first().cloned(),
            Error::Unit { source, .. } | Error::ConnectionUnit { source, .. } => source.hint(),
            Error::Solver(source) => source.hint(),
            Error::External { source, .. } => source.hint(),
            Error::Expression { source, .. } => source.hint(),
            Error::Several { first, .. } => first.hint(),
            Error::Prediction { source, .. } => source.hint().or_else(|| {
                Some("use a smaller communication step, other models, or another coupling".into())
            }),
            Error::Subsystem { source, .. } => source.hint(),
            Error::Foreign { hint, .. } => hint.clone(),
            _ => None,
        }
    }
}

impl Diagnostic for Error {
    fn what(&self) -> String {
        match self {
            Error::Several { first, .. } => first.what(),
            other => other.to_string(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Error::BecameNonFinite { subsystem, variable, .. } => {
                Place::subsystem(subsystem).variable(variable)
            }
            Error::MatrixShape { subsystem, .. }
            | Error::Probed { subsystem, .. }
            | Error::CannotRollBack { subsystem, .. } => Place::subsystem(subsystem),
            Error::Subsystem { subsystem, source, .. } => {
                Place { subsystem: Some(subsystem.clone()), ..source.place() }
            }
            Error::WrongPort { name: variable, .. }
            | Error::ConnectedTwice { input: variable, .. }
            | Error::NotFinite { place: variable, .. }
            | Error::NotExact { output: variable, .. }
            | Error::LoopNotSolved { worst: variable, .. }
            | Error::NotPutBack { variable, .. }
            | Error::External { input: variable, .. }
            | Error::Connection { to: variable, .. }
            | Error::ConnectionUnit { to: variable, .. } => Place::default().variable(variable),
            Error::Parameter { name, .. } => Place::default().variable(name),
            Error::Equation { trouble, .. } => Place::default().variable(&trouble.variable),
            Error::Prediction { source, .. } => source.place(),
            Error::Several { first, .. } => first.place(),
            _ => Place::default(),
        }
    }

    fn time(&self) -> Option<f64> {
        match self {
            Error::BecameNonFinite { time, .. }
            | Error::Equation { time, .. }
            | Error::Chattering { time, .. }
            | Error::NotExact { time, .. }
            | Error::Subsystem { time, .. }
            | Error::Prediction { time, .. }
            | Error::LoopNotSolved { time, .. }
            | Error::CannotRollBack { time, .. }
            | Error::NotZeroStable { time, .. }
            | Error::Unmapped { time, .. } => Some(*time),
            Error::Terminated { reached, .. } => *reached,
            Error::Solver(source) => source.time(),
            Error::Several { first, .. } => first.time(),
            _ => None,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Error::NotZeroStable { ways, .. } => ways.clone(),
            Error::Subsystem { source, .. } => source.hints(),
            other => other.hint().into_iter().collect(),
        }
    }

    fn known(&self) -> Vec<String> {
        match self {
            Error::Unknown { known, .. } => known.clone(),
            Error::Unit { source, .. } | Error::ConnectionUnit { source, .. } => source.known(),
            Error::Subsystem { source, .. } | Error::Prediction { source, .. } => source.known(),
            _ => Vec::new(),
        }
    }

    fn others(&self) -> Vec<Diagnosis> {
        match self {
            Error::Several { others, .. } => others.iter().map(|error| Diagnosis::of(error)).collect(),
            _ => Vec::new(),
        }
    }
}

impl Error {
    /// The mistakes that it stands for.
    pub fn each(self) -> Vec<Error> {
        match self {
            Error::Several { first, others } => std::iter::once(*first).chain(others).collect(),
            only => vec![only],
        }
    }

    /// The first of several mistakes, and the others.
    pub(crate) fn several(all: impl IntoIterator<Item = Error>) -> Result<()> {
        let each = all.into_iter().flat_map(Error::each);
        let mut all = each.collect::<Vec<_>>().into_iter();
        match (all.next(), all.len()) {
            (None, _) => Ok(()),
            (Some(only), 0) => Err(only.into()),
            (Some(first), _) => Err(Error::Several { first: first.into(), others: all.collect() }.into()),
        }
    }
}

fn and_more(count: usize) -> String {
    if count == 1 { " (and 1 more mistake)".into() } else { format!(" (and {count} more mistakes)") }
}

/// A setting that cannot be taken.
pub(crate) fn bad(what: &str, value: impl ToString, problem: &str) -> Box<Error> {
    Error::Setting { what: what.into(), value: value.to_string(), problem: problem.into() }.into()
}

/// Suggests the names closest to `name`, or lists what is known when nothing is close.
fn known_names(known: &[String], name: &str) -> String {
    if known.is_empty() {
        return "; there are none".into();
    }
    let close = closest(name, known);
    let shown: Vec<_> = known.iter().take(30).map(|k| format!("`{k}`")).collect();
    let list = format!("known: {}{}", shown.join(", "), if known.len() > 30 { ", ..." } else { "" });
    match close {
        Some(best) => format!("; did you mean `{best}`? ({list})"),
        None => format!(" ({list})"),
    }
}

/// The known name that is most like `name`, if any is like it at all.
pub fn closest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .iter()
        .map(|k| (strsim::osa_distance(&wanted, &k.to_lowercase()), k))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, k)| *distance <= 1 + k.len().max(name.len()) / 4)
        .map(|(_, k)| k.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_suggest_the_closest() {
        let known = ["left.x".to_owned(), "left.v".to_owned(), "right.F".to_owned()];
        assert_eq!(closest("left.y", &known), Some("left.x"));
        assert_eq!(closest("rigth.F", &known), Some("right.F"));
        assert_eq!(closest("something else", &known), None);
        let methods = ["zoh".to_owned(), "foh".to_owned(), "stop".to_owned(), "step".to_owned()];
        assert_eq!(closest("zho", &methods), Some("zoh"));
        assert_eq!(closest("stpe", &methods), Some("step"));
    }
}

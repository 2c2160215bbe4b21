//! Errors and remarks as values: what, where, when, what to do about it, and which names are known.
//!
//! Every error of koppel is a [`Diagnostic`]. Its text (`Display`) says what is wrong and no more: hints are values of their own,
//! and so are places. [`Diagnosis`] is the same as plain data, for JSON and for [`Diagnosis::draw`], the one way in which messages
//! are drawn.

mod draw;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use draw::{Ink, hint_line, in_one_line, render, visible};

/// Something to be told to a user: an error, with all that is known of it.
pub trait Diagnostic: fmt::Display {
    /// The error that it only carries: what it does not say itself is asked of that one.
    fn inner(&self) -> Option<&dyn Diagnostic> {
        None
    }

    /// What is wrong.
    fn what(&self) -> String {
        self.inner().map_or_else(|| self.to_string(), Diagnostic::what)
    }

    /// Where.
    fn place(&self) -> Place {
        self.inner().map(Diagnostic::place).unwrap_or_default()
    }

    /// When, as time of the simulation in s.
    fn time(&self) -> Option<f64> {
        self.inner().and_then(Diagnostic::time)
    }

    /// What to do about it, one sentence each.
    fn hints(&self) -> Vec<String> {
        self.inner().map(Diagnostic::hints).unwrap_or_default()
    }

    /// The names there are, where an unknown one was given.
    fn known(&self) -> Vec<String> {
        self.inner().map(Diagnostic::known).unwrap_or_default()
    }

    /// Further mistakes that were found together with this one.
    fn others(&self) -> Vec<Diagnosis> {
        self.inner().map(Diagnostic::others).unwrap_or_default()
    }
}

/// Where something is wrong, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// A file, or an option of the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, counted from 1; 0 for the whole file.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: usize,
    /// The column of that line, counted from 1 in characters.
    #[serde(skip_serializing_if = "is_zero")]
    pub column: usize,
    /// What is written there.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
    /// A subsystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subsystem: Option<String>,
    /// A variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Place {
    /// True if nothing is known.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        *self == Place::default()
    }

    /// A whole file.
    #[must_use]
    pub fn file(path: &std::path::Path) -> Self {
        Place { file: Some(path.display().to_string()), ..Place::default() }
    }

    /// A subsystem.
    #[must_use]
    pub fn subsystem(name: &str) -> Self {
        Place { subsystem: Some(name.to_owned()), ..Place::default() }
    }

    /// The same with a variable.
    #[must_use]
    pub fn variable(self, name: &str) -> Self {
        Place { variable: Some(name.to_owned()), ..self }
    }
}

/// A line of a text, part of which is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line.
    pub line: String,
    /// Characters before the part.
    pub before: usize,
    /// Characters of the part.
    pub width: usize,
}

/// A diagnostic as plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnosis {
    /// What is wrong.
    #[serde(rename = "message")]
    pub what: String,
    /// What to do about it.
    pub hints: Vec<String>,
    /// Where.
    #[serde(skip_serializing_if = "Place::is_nowhere")]
    pub place: Place,
    /// When, as time of the simulation in s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Names that are known where an unknown one was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

impl Diagnosis {
    /// What is known of an error.
    #[must_use]
    pub fn of(error: &dyn Diagnostic) -> Self {
        let hints = error.hints();
        Diagnosis {
            what: error.what(),
            hints,
            place: error.place(),
            time: error.time(),
            known: error.known(),
        }
    }

    /// The same of all mistakes that were found together.
    #[must_use]
    pub fn all(error: &dyn Diagnostic) -> Vec<Self> {
        std::iter::once(Diagnosis::of(error)).chain(error.others()).collect()
    }

    /// In words, with what to do about it if that is known.
    #[must_use]
    pub fn words(what: impl Into<String>, hint: Option<String>) -> Self {
        Diagnosis { what: what.into(), hints: hint.into_iter().collect(), ..Diagnosis::default() }
    }
}

/// A remark on something that goes on all the same, and what can be done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Remark {
    /// What is to be said.
    pub text: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Remark {
    /// A remark with what can be done.
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Remark { text: text.into(), hint: Some(hint.into()) }
    }
}

impl From<String> for Remark {
    fn from(text: String) -> Self {
        Remark { text, hint: None }
    }
}

impl From<&String> for Remark {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<&str> for Remark {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Remark> for Remark {
    fn from(remark: &Remark) -> Self {
        remark.clone()
    }
}

/// The text, and the hint on a line of its own.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.hint.iter().try_for_each(|hint| f.write_str(&hint_line(hint)))
    }
}

/// A time of the simulation in messages, in s: up to 12 digits, so that sums of steps do not show their rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded: f64 = format!("{:.11e}", self.0).parse().unwrap_or(self.0);
        match rounded.abs() {
            0.0 | 1e-4..1e7 => write!(f, "{rounded}"),
            _ if rounded.is_finite() => write!(f, "{rounded:e}"),
            _ => write!(f, "{rounded}"),
        }
    }
}
